"""Senders and receivers with the blocking face of the client library."""

import time
from itertools import cycle

from antiphon.client import blocking as native
from antiphon.client.events import Message
from antiphon.client.spread import blocking as spread
from antiphon.client.spread import events as spread_events
from antiphon.core.service import Service
from antiphon.tools.bench.cue import PATIENCE_S, Cue
from antiphon.tools.bench.payload import END, MESSAGE, PayloadMaker, payloads_until
from antiphon.tools.bench.plan import Post, Received, Sent, Window
from antiphon.tools.bench.reception import BenchFailed, Reception
from antiphon.tools.bench.round_trips import RoundTrips

GLANCE_S = 0.02


Session = native.Session | spread.Session


def run(post: Post, cue: Cue) -> Sent | Received:
    with _connect(post) as session:
        return (_send if post.role == "sender" else _receive)(session, post, cue)


def _connect(post: Post) -> Session:
    if post.plan.client == "spread":
        return spread.connect(post.address, name=post.short_name, timeout=PATIENCE_S)
    return native.connect(
        post.address, name=post.name, records=post.plan.records or None, timeout=PATIENCE_S
    )


# Receivers.


def _receive(session: Session, post: Post, cue: Cue) -> Received:
    reception = Reception(post.plan)
    for group in post.plan.group_names:
        session.join(group, timeout=PATIENCE_S)
        # Views of other receivers, too: a daemon keeps only so many for a client.
        while (event := session.receive(timeout=0)) is not None:
            reception.take(event)
    cue.ready()
    echoes = post.plan.rate > 0 and post.number == 0
    waits = GLANCE_S
    is_told = False
    while True:
        event = session.receive(timeout=waits)
        if not is_told and cue.has_come():
            # Senders may have been told before: a message may be there already.
            is_told = True
            reception.window = cue.window()
            waits = post.plan.warmup + PATIENCE_S
        elif event is None and is_told:
            raise BenchFailed(f"gave up: {reception.standing()}")
        if event is None:
            continue
        if reception.take(event):
            return reception.report()
        if echoes and isinstance(event, Message | spread_events.Message) and event.kind == MESSAGE:
            session.multicast(event.sender, event.payload, service=event.service)


# Senders.


def _send(session: Session, post: Post, cue: Cue) -> Sent:
    cue.ready()
    window = cue.window()
    if post.plan.rate:
        return _ping(session, post, window)
    return _flood(session, post, window)


def _flood(session: Session, post: Post, window: Window) -> Sent:
    plan = post.plan
    groups = cycle(plan.group_names)
    service = plan.service_of(post.number)
    number = 0
    for payload in payloads_until(window.stop, post.number, plan.size):
        number += 1
        session.multicast(next(groups), payload, service=service)
    _end(session, post, number)
    return Sent(number)


def _ping(session: Session, post: Post, window: Window) -> Sent:
    plan = post.plan
    trips = RoundTrips(window)
    make = PayloadMaker(post.number, plan.size).make
    service = plan.service_of(post.number)
    groups = cycle(plan.group_names)
    number = 0
    began = time.monotonic_ns()
    while (due := began + int(number * 1e9 / plan.rate)) < window.stop:
        _hear_echoes(session, trips, due)
        number += 1
        payload = make(number, time.monotonic_ns())
        trips.sent(number, payload)
        session.multicast(next(groups), payload, service=service)
    until = time.monotonic_ns() + int(PATIENCE_S * 1e9)
    while trips and service > Service.UNRELIABLE:
        if time.monotonic_ns() > until:
            raise BenchFailed(f"{len(trips)} messages did not come back")
        _hear_echoes(session, trips, time.monotonic_ns() + int(GLANCE_S * 1e9))
    _end(session, post, number)
    return Sent(number, trips.times)


def _hear_echoes(session: Session, trips: RoundTrips, until: int) -> None:
    while (left := until - time.monotonic_ns()) > 0:
        event = session.receive(timeout=left / 1e9)
        if event is not None:
            trips.take(event)


def _end(session: Session, post: Post, last: int) -> None:
    """Receivers count on this one, so it is sent reliably."""
    plan = post.plan
    payload = PayloadMaker(post.number, plan.size).make(last, time.monotonic_ns())
    service = max(plan.service_of(post.number), Service.RELIABLE)
    session.multicast(plan.group_names[0], payload, service=service, kind=END)
