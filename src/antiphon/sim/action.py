"""What a script can do to a world: verbs and their fields, read and written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from antiphon.core.service import Service
from antiphon.sim.notation import Link, Tokens, read_time, write_parts, write_time
from antiphon.sim.places import Place
from antiphon.wire.packet import Tag

JUNK = ("garbage", "other-cluster", "other-version", "old")

VERBS: dict[str, tuple[str, ...]] = {
    # Hosts.
    "crash": ("host",),
    "stop": ("host",),
    "dead": ("host",),
    "restart": ("host",),
    "pause": ("host", "duration"),
    "slow": ("host", "duration"),
    "clock": ("host", "shift"),
    "jump": ("host", "shift"),
    # Links.
    "cut": ("sides",),
    "domains": ("sides",),
    "heal": ("link?",),
    "oneway": ("link",),
    "break": ("link",),
    "loss": ("chance", "duration", "link?"),
    "duplicate": ("chance", "duration", "link?"),
    "reorder": ("chance", "duration", "link?"),
    "corrupt": ("chance", "duration", "link?"),
    "delay": ("shift", "duration", "link?"),
    "drop": ("tag", "link", "times?", "until?"),
    "lose-forever": ("link", "times?"),
    "snap": ("link?",),
    "inject": ("junk", "link", "times?"),
    # Sessions.
    "join": ("session", "groups"),
    "leave": ("session", "groups"),
    "send": ("session", "groups", "service", "text", "times?", "size?"),
    "disconnect": ("session",),
    "reconnect": ("session",),
    "stall": ("session",),
}
"""Each verb and its fields in their order; `?` may be left out."""

LINK_VERBS = (
    "cut",
    "domains",
    "heal",
    "oneway",
    "break",
    "loss",
    "duplicate",
    "reorder",
    "corrupt",
    "delay",
    "drop",
    "lose-forever",
    "snap",
)
SESSION_VERBS = ("join", "leave", "send", "disconnect", "reconnect", "stall")
"""No faults: allowed after `quiet`."""

EVERY_LINK = Link(0, 0, False)


@dataclass(frozen=True, slots=True)
class Action:
    """What to do: a verb of VERBS and the fields that its row names."""

    verb: str
    host: Place = 0
    slot: int = 0
    """Of a session at `host`."""

    link: Link = EVERY_LINK
    sides: tuple[tuple[Place, ...], ...] = ()
    duration: int = 0
    shift: int = 0
    chance: float = 0.0
    times: int = 0
    """0: not said."""

    until: int = 0
    groups: tuple[str, ...] = ()
    service: Service = Service.AGREED
    text: str = ""
    size: int = 0
    tag: Tag = Tag.DATA
    junk: str = ""

    def __str__(self) -> str:
        words = [self.verb]
        for name in VERBS[self.verb]:
            optional = name.endswith("?")
            name = name.removesuffix("?")
            if not optional or getattr(self, name) != getattr(NOTHING, name):
                words.append(WRITERS[name](self))
        return " ".join(words)

    @property
    def places(self) -> set[Place]:
        """All that it names."""
        named = {place for side in self.sides for place in side}
        return (named | {self.host, self.link.source, self.link.target}) - {0}


NOTHING = Action("")


def read_action(tokens: Tokens) -> Action:
    verb = tokens.choice("what to do", tuple(VERBS))
    values: dict[str, Any] = {}
    for name in VERBS[verb]:
        if name.endswith("?") and not _is_next(tokens, name):
            continue
        values.update(READERS[name.removesuffix("?")](tokens))
    return Action(verb, **values)


def _is_next(tokens: Tokens, name: str) -> bool:
    word = tokens.peek()
    if name == "link?":
        return word != ""
    if name == "times?":
        return word.startswith("x")
    return word == name.removesuffix("?")


def _read_groups(tokens: Tokens) -> dict[str, Any]:
    groups = tuple(tokens.next("one or more groups").split(","))
    if not all(groups):
        raise tokens.fault("a group name is empty", "write groups as 'a' or 'a,b'")
    return {"groups": groups}


def _read_service(tokens: Tokens) -> dict[str, Any]:
    name = tokens.choice("a service", tuple(service.name.lower() for service in Service))
    return {"service": Service[name.upper()]}


def _read_tag(tokens: Tokens) -> dict[str, Any]:
    name = tokens.choice("a packet", tuple(tag.name.lower() for tag in Tag))
    return {"tag": Tag[name.upper()]}


def _read_session(tokens: Tokens) -> dict[str, Any]:
    host, slot = tokens.session()
    return {"host": host, "slot": slot}


def _read_until(tokens: Tokens) -> dict[str, Any]:
    tokens.skip("until")
    return {"until": read_time(tokens, tokens.next("a time"))}


def _read_size(tokens: Tokens) -> dict[str, Any]:
    tokens.skip("size")
    return {"size": tokens.integer("size", least=1)}


READERS: dict[str, Callable[[Tokens], dict[str, Any]]] = {
    "host": lambda tokens: {"host": tokens.place(any_allowed=False)},
    "link": lambda tokens: {"link": tokens.link()},
    "sides": lambda tokens: {"sides": tokens.sides()},
    "duration": lambda tokens: {"duration": read_time(tokens, tokens.next("a duration"))},
    "shift": lambda tokens: {"shift": read_time(tokens, tokens.next("a time"), signed=True)},
    "chance": lambda tokens: {"chance": tokens.chance()},
    "times": lambda tokens: {"times": tokens.times()},
    "until": _read_until,
    "session": _read_session,
    "groups": _read_groups,
    "service": _read_service,
    "text": lambda tokens: {"text": tokens.next("a text")},
    "size": _read_size,
    "tag": _read_tag,
    "junk": lambda tokens: {"junk": tokens.choice("what to inject", JUNK)},
}

WRITERS: dict[str, Callable[[Action], str]] = {
    "host": lambda action: str(action.host),
    "link": lambda action: str(action.link),
    "sides": lambda action: write_parts(action.sides),
    "duration": lambda action: write_time(action.duration),
    "shift": lambda action: write_time(action.shift, signed=True),
    "chance": lambda action: repr(action.chance),
    "times": lambda action: f"x{action.times}",
    "until": lambda action: f"until {write_time(action.until)}",
    "session": lambda action: f"{action.host}.{action.slot}",
    "groups": lambda action: ",".join(action.groups),
    "service": lambda action: action.service.name.lower(),
    "text": lambda action: action.text,
    "size": lambda action: f"size {action.size}",
    "tag": lambda action: action.tag.name.lower(),
    "junk": lambda action: action.junk,
}
