"""Scripts carried out: each verb done to a world, each step on time or when triggered."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import msgspec

from antiphon.core.ids import DaemonId
from antiphon.core.machine import NEVER
from antiphon.core.trace import Kind, Record
from antiphon.sim.action import LINK_VERBS, SESSION_VERBS, Action
from antiphon.sim.damage import garbage, of_another_cluster, of_another_version
from antiphon.sim.engine import Bug
from antiphon.sim.gates import Ways
from antiphon.sim.host import Host
from antiphon.sim.link import ANY_TIMES, Filter
from antiphon.sim.places import Lead, rank
from antiphon.sim.script import Script, Step, Trigger
from antiphon.sim.session import Session
from antiphon.sim.whereabouts import sides, ways
from antiphon.sim.workload import make_random_app
from antiphon.sim.world import MakeApp, MakeNode, MakeStoredNode, World, make_listener
from antiphon.wire.packet import Tag


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a script."""

    script: Script
    world: World

    @property
    def records(self) -> list[Record]:
        return self.world.records

    @property
    def events(self) -> int:
        return self.world.events

    @property
    def messages(self) -> int:
        return self.world.messages

    @property
    def bugs(self) -> list[Bug]:
        return self.world.bugs

    @property
    def exhausted(self) -> bool:
        """It was ended early because it took too many events."""
        return self.world.events >= self.world.events_max

    def digest(self) -> str:
        """Equal for equal runs, whatever the machine and the hash seed."""
        return digest(self.records)


def digest(records: list[Record]) -> str:
    encode = msgspec.msgpack.Encoder().encode
    total = hashlib.sha256()
    for record in records:
        total.update(encode(record))
    return total.hexdigest()


def run(
    script: Script,
    make_node: MakeNode,
    *,
    make_app: MakeApp | None = None,
    make_stored_node: MakeStoredNode | None = None,
    sink: Callable[[Record], None] | None = None,
    events_max: int | None = None,
) -> Run:
    """Play a script to its end. Without `make_app` the applications are those of the
    script's workload, or listeners that do only what the steps say. A run that takes
    `events_max` events is ended where it is, and nothing is demanded of it."""
    world = make_world(script, make_node, make_app, make_stored_node, sink)
    if events_max is not None:
        world.events_max = events_max
    if script.quiet is not None:
        world.run(script.quiet - 1)
        world.now = script.quiet
        world.quiet()
    world.run(script.until)
    if script.quiet is not None and world.events < world.events_max:
        world.finish()
    return Run(script, world)


def make_world(
    script: Script,
    make_node: MakeNode,
    make_app: MakeApp | None = None,
    make_stored_node: MakeStoredNode | None = None,
    sink: Callable[[Record], None] | None = None,
) -> World:
    """The world of a script with its steps waiting for their time."""
    if make_app is None and script.workload is not None:
        make_app = make_random_app(script.workload, script.daemons, script.sessions)
    world = World(
        make_node,
        seed=script.seed,
        daemons=script.daemons,
        sessions=script.sessions,
        network=script.network,
        sites=script.sites,
        far=script.far,
        disk=script.disk,
        make_app=make_app or make_listener,
        make_stored_node=make_stored_node,
        sink=sink,
    )
    for step in script.steps:
        if step.time == 0 and (step.trigger or step.action.verb in LINK_VERBS):
            arm(world, step)  # what the first packets and records shall meet
        else:
            world.call_at(step.time, partial(arm, world, step))
    return world


def arm(world: World, step: Step) -> None:
    """Do the step now, or when its trigger comes."""
    if step.trigger is None:
        perform(world, step.action, str(step))
    else:
        watcher = partial(_triggered, world, step, step.trigger)
        world.watch(step.trigger.kind, watcher)


def _triggered(world: World, step: Step, trigger: Trigger, record: Record) -> bool:
    if trigger.host and record.node not in world.atlas.daemons(trigger.host, world.runs):
        return False
    if trigger.reason and trigger.reason != record.reason:
        return False
    if trigger.delay:
        action = partial(_perform_late, world, step, world.quiets)
        world.call_at(world.now + trigger.delay, action)
    else:
        perform(world, step.action, str(step))
    return True


def _perform_late(world: World, step: Step, quiets: int) -> None:
    """Unless the faults are over meanwhile."""
    if world.quiets == quiets:
        perform(world, step.action, str(step))


def perform(world: World, action: Action, text: str = "") -> None:
    """Do it now; `text` is what the record says, with who leads where that is named."""
    if action.verb not in SESSION_VERBS:
        leads = sorted((each for each in action.places if isinstance(each, Lead)), key=rank)
        who = [f"{lead}={world.atlas.lead(lead.number, world.runs) or 'none'}" for lead in leads]
        world.write(Kind.FAULT, reason=text or str(action), detail=" ".join(who))
    PERFORMERS[action.verb](world, action)


# Hosts.


def _hosts(world: World, action: Action) -> list[Host]:
    return [world.hosts[daemon] for daemon in world.atlas.daemons(action.host, world.runs)]


def _crash(world: World, action: Action) -> None:
    for host in _hosts(world, action):
        world.crash(host)


def _stop(world: World, action: Action) -> None:
    for host in _hosts(world, action):
        world.leave(host)


def _die(world: World, action: Action) -> None:
    for host in _hosts(world, action):
        world.crash(host)
        host.dead = True


def _restart(world: World, action: Action) -> None:
    for host in _hosts(world, action):
        world.start(host)


def _pause(world: World, action: Action) -> None:
    for host in _hosts(world, action):
        _pause_one(world, host, action.duration)


def _pause_one(world: World, host: Host, duration: int) -> None:
    """Pauses that overlap are one pause, to the end of the last."""
    life = host.life
    host.paused_until = max(host.paused_until, world.now + duration)
    world.pause(host)

    def resume() -> None:
        if host.life == life and world.now >= host.paused_until:
            world.resume(host)

    world.call_at(world.now + duration, resume)


def _slow(world: World, action: Action) -> None:
    for host in _hosts(world, action):
        host.cost = action.duration


def _clock(world: World, action: Action) -> None:
    for host in _hosts(world, action):
        host.wall_offset_ms += action.shift // 1_000


def _jump(world: World, action: Action) -> None:
    for host in _hosts(world, action):
        world.jump(host, action.shift)


# Links.


def _ways(world: World, action: Action) -> Ways:
    return ways(action, world.atlas, world.runs)


def _cut(world: World, action: Action) -> None:
    world.network.cut(sides(action, world.atlas, world.runs))


def _domains(world: World, action: Action) -> None:
    world.network.set_domains(sides(action, world.atlas, world.runs))


def _heal(world: World, action: Action) -> None:
    world.network.heal(_ways(world, action))


def _oneway(world: World, action: Action) -> None:
    world.network.close(_ways(world, action))


def _break(world: World, action: Action) -> None:
    world.network.break_for_ever(_ways(world, action))


def _storm(world: World, action: Action) -> None:
    amount: Any = action.shift if action.verb == "delay" else action.chance
    storm = world.network.start_storm(action.verb, amount, _ways(world, action))
    world.call_at(world.now + action.duration, partial(world.network.end_storm, storm))


def _drop(world: World, action: Action) -> None:
    times = action.times or (ANY_TIMES if action.until else 1)
    filter = Filter(action.tag, times, action.until or NEVER)
    world.network.add_filter(filter, _ways(world, action))


def _lose_for_ever(world: World, action: Action) -> None:
    filter = Filter(Tag.DATA, action.times or 1, NEVER, for_ever=True)
    world.network.add_filter(filter, _ways(world, action))


def _snap(world: World, action: Action) -> None:
    world.pipes.snap(_ways(world, action))


JUNK_MAKERS: dict[str, Callable[[bytes, Random], bytes]] = {
    "garbage": garbage,
    "other-cluster": of_another_cluster,
    "other-version": of_another_version,
    "old": lambda packet, rng: packet,
}


def _inject(world: World, action: Action) -> None:
    """Variations of a packet that the source has sent; before it sent any, nothing."""
    for link in world.network.links(_ways(world, action)):
        sample = link.source.oldest if action.junk == "old" else link.source.sample
        for _ in range((action.times or 1) if sample else 0):
            packet = JUNK_MAKERS[action.junk](sample, world.rng)
            world.network.inject(world.now, link, packet)


# Sessions. What a closed session should do is not done, as with a process that is gone.


def _daemon(action: Action) -> DaemonId:
    assert isinstance(action.host, int), "sessions are named by number"
    return DaemonId(action.host)


def _session(world: World, action: Action) -> Session | None:
    return world.session(_daemon(action), action.slot)


def _join(world: World, action: Action) -> None:
    session = _session(world, action)
    if session is not None:
        for group in action.groups:
            session.join(group)


def _leave(world: World, action: Action) -> None:
    session = _session(world, action)
    if session is not None:
        for group in action.groups:
            session.leave(group)


def _send(world: World, action: Action) -> None:
    session = _session(world, action)
    if session is None:
        return
    for index in range(action.times or 1):
        text = action.text if not action.times else f"{action.text}{index + 1}"
        payload = text.encode().ljust(action.size)
        session.multicast(action.groups, action.service, payload)


def _disconnect(world: World, action: Action) -> None:
    session = _session(world, action)
    if session is not None:
        session.disconnect()


def _reconnect(world: World, action: Action) -> None:
    world.open(world.hosts[_daemon(action)], action.slot)


def _stall(world: World, action: Action) -> None:
    session = _session(world, action)
    if session is not None:
        session.stall()


PERFORMERS: dict[str, Callable[[World, Action], None]] = {
    "crash": _crash,
    "stop": _stop,
    "dead": _die,
    "restart": _restart,
    "pause": _pause,
    "slow": _slow,
    "clock": _clock,
    "jump": _jump,
    "cut": _cut,
    "domains": _domains,
    "heal": _heal,
    "oneway": _oneway,
    "break": _break,
    "loss": _storm,
    "duplicate": _storm,
    "reorder": _storm,
    "corrupt": _storm,
    "delay": _storm,
    "drop": _drop,
    "lose-forever": _lose_for_ever,
    "snap": _snap,
    "inject": _inject,
    "join": _join,
    "leave": _leave,
    "send": _send,
    "disconnect": _disconnect,
    "reconnect": _reconnect,
    "stall": _stall,
}
