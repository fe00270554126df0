"""Senders and receivers of ZeroMQ, with pyzmq: a topic, and the message.

Nothing is dropped: a sender waits at its high-water mark, and so does the proxy.
"""

import threading

import zmq

from antiphon.tools.bench.cue import PATIENCE_S, Cue
from antiphon.tools.bench.payload import END, MESSAGE, PayloadMaker, payloads_until
from antiphon.tools.bench.peers.bare import Bare
from antiphon.tools.bench.plan import Plan, Post, Received, Sent
from antiphon.tools.bench.reception import BenchFailed, Reception


def run(post: Post, cue: Cue) -> Sent | Received:
    for_senders, for_receivers = post.address.split()
    sends = post.role == "sender"
    with zmq.Context() as context, context.socket(zmq.XPUB if sends else zmq.SUB) as end:
        end.setsockopt(zmq.RCVTIMEO, int(PATIENCE_S * 1_000))
        end.connect(for_senders if sends else for_receivers)
        return (_send if sends else _receive)(end, post, cue)


def _topic(plan: Plan, what: str) -> bytes:
    return f"{plan.group_names[0]}.{what}".encode()


def _receive(subscriber: zmq.Socket[bytes], post: Post, cue: Cue) -> Received:
    plan = post.plan
    reception = Reception(plan)
    end = _topic(plan, "sent.end")
    subscriber.subscribe(_topic(plan, "sent."))
    subscriber.subscribe(_topic(plan, f"ready.{post.number}"))
    cue.ready()
    # What is sent is heard in any case; the thread has the time until the window begins.
    threading.Thread(target=_await_window, args=(reception, cue), daemon=True).start()
    try:
        while True:
            topic, payload = subscriber.recv_multipart()
            if reception.take(Bare(payload, END if topic == end else MESSAGE)):
                return reception.report()
    except zmq.Again:
        raise BenchFailed(f"gave up: {reception.standing()}") from None


def _await_window(reception: Reception, cue: Cue) -> None:
    reception.window = cue.window()


def _send(publisher: zmq.Socket[bytes], post: Post, cue: Cue) -> Sent:
    plan = post.plan
    publisher.setsockopt(zmq.XPUB_NODROP, 1)
    _await_subscriptions(publisher, plan)
    cue.ready()
    window = cue.window()
    topic = _topic(plan, "sent.message")
    number = 0
    for payload in payloads_until(window.stop, post.number, plan.size):
        number += 1
        publisher.send_multipart((topic, payload))
    end = PayloadMaker(post.number, plan.size).make(number, 0)
    publisher.send_multipart((_topic(plan, "sent.end"), end))
    return Sent(number)


def _await_subscriptions(publisher: zmq.Socket[bytes], plan: Plan) -> None:
    """What is sent before goes nowhere. Equal subscriptions reach a publisher as one, so each
    receiver has a second one of its own, after the first."""
    missing = {b"\x01" + _topic(plan, f"ready.{number}") for number in range(plan.receivers)}
    missing.add(b"\x01" + _topic(plan, "sent."))
    try:
        while missing:
            missing.discard(publisher.recv())
    except zmq.Again:
        raise BenchFailed(f"{len(missing)} subscriptions did not come") from None
