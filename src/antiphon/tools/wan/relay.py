"""The relay: a process that carries every packet between the sites of an emulation.

It reads whole IP packets from each host's TUN device, holds them as long as their path takes,
and writes them into the device of the host they are for. It takes orders from its owner on
standard input and ends when that ends.
"""

import ctypes
import gc
import os
import select
import socket
import sys
import time
from random import Random

import msgspec

from antiphon.tools.wan.fabric import NEVER, Fabric, Route
from antiphon.tools.wan.link import LinkModel
from antiphon.tools.wan.orders import (
    Answer,
    Begin,
    Change,
    Count,
    Counts,
    Done,
    LinkCounts,
    Order,
)
from antiphon.tools.wan.paths import paths
from antiphon.tools.wan.topology import hosts_of
from antiphon.tools.wan.tun import open_tun

PACKET_BYTES = 2048
"""More than the devices' MTU."""

BATCH = 64
"""Packets of one host before the others have their turn."""

EARLY_NS = 150_000
"""So much earlier than due packets are handed over: about what a process that sleeps takes to
wake, once for reading a packet and once for writing it."""

PRIORITY = 10
"""Of real-time processes; those that it carries packets for may have a lower one."""

TIMER_SLACK_NS = 1
PR_SET_TIMERSLACK = 29
TARGET = slice(16, 20)
"""The target's address in an IPv4 packet."""


class Relay:
    def __init__(self, begin: Begin) -> None:
        topology = begin.topology
        self._links = {
            (link.start, link.end): LinkModel(link.settings, Random(f"{begin.seed} {link.name}"))
            for link in topology.links
        }
        ways = {
            pair: tuple(self._links[link.start, link.end] for link in path.links)
            for pair, path in paths(topology).items()
        }
        hosts = hosts_of(topology)
        self._devices = [open_tun(namespace) for namespace in begin.namespaces]
        self.ports = [device.file for device in self._devices]
        self._routes: dict[int, dict[bytes, Route]] = {
            port: {
                socket.inet_aton(target.address): (ways[source.site, target.site], target_port)
                for target, target_port in zip(hosts, self.ports, strict=True)
                if target.site != source.site
            }
            for source, port in zip(hosts, self.ports, strict=True)
        }
        self._fabric = Fabric()
        self._arrived = 0
        self._strays = 0
        self._late_ns = 0
        self._late_ns_max = 0

    def wait_seconds(self) -> float | None:
        """Until something arrives."""
        deadline = self._fabric.deadline()
        if deadline == NEVER:
            return None
        return max(0.0, (deadline - EARLY_NS - time.monotonic_ns()) / 1e9)

    def hand_over(self, now: int) -> None:
        for at, port, packet in self._fabric.arrivals(now + EARLY_NS):
            late = now - at
            self._late_ns += late
            if late > self._late_ns_max:
                self._late_ns_max = late
            try:
                os.write(port, packet)
                self._arrived += 1
            except OSError:
                self._strays += 1  # its device is down, or the packet is broken

    def take(self, now: int, port: int) -> None:
        """What the host has sent. All of it counts as sent now, when nothing that came out of a
        link earlier is unknown any more: packets enter links in the order of time."""
        routes, send = self._routes[port], self._fabric.send
        for _ in range(BATCH):
            try:
                packet = os.read(port, PACKET_BYTES)
            except BlockingIOError:
                return
            route = routes.get(packet[TARGET])
            if route is None or packet[0] >> 4 != 4:
                self._strays += 1
            else:
                send(now, packet, route)

    def obey(self, order: Order) -> Answer:
        match order:
            case Change(start, end, settings):
                self._links[start, end].change(settings)
                return Done()
            case Count():
                return self._counts()
            case Begin():
                raise AssertionError("it has begun")

    def _counts(self) -> Counts:
        links = [
            (start, end, LinkCounts(one.packets, one.bytes, one.lost, one.dropped, one.reordered))
            for (start, end), one in self._links.items()
        ]
        return Counts(
            links,
            self._arrived,
            self._strays,
            sum(device.overruns() for device in self._devices),
            self._late_ns / 1000 / max(1, self._arrived),
            self._late_ns_max / 1000,
        )


def main() -> None:
    orders = sys.stdin.buffer
    first = msgspec.json.decode(orders.readline(), type=Order)
    assert isinstance(first, Begin)
    relay = Relay(first)
    _prefer_this_process()
    _answer(Done())
    own = orders.fileno()
    watched = [own, *relay.ports]
    while True:
        # Not epoll: its shortest wait is a millisecond.
        ready, _, _ = select.select(watched, [], [], relay.wait_seconds())
        now = time.monotonic_ns()
        relay.hand_over(now)
        for file in ready:
            if file != own:
                relay.take(now, file)
                continue
            line = orders.readline()
            if not line:
                return
            _answer(relay.obey(msgspec.json.decode(line, type=Order)))


def _prefer_this_process() -> None:
    """A relay that waits for the processor adds that wait to every link."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
    except PermissionError:
        pass  # in some containers; the counts tell whether it keeps up
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS)
    gc.freeze()
    gc.disable()  # there are no cycles, and a collection is a pause


def _answer(answer: Answer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
