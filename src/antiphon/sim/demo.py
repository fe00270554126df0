"""The demo: one partition and one merge, as two clients on different sides live it.

The clients are applications of the simulated world, like those that users write: what they
tell is what they were told.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import zip_longest
from random import Random

from antiphon.core.effects import Message, Transition, View
from antiphon.core.ids import DaemonId, SessionId
from antiphon.core.machine import MILLISECOND
from antiphon.core.trace import Kind, Record
from antiphon.sim.session import App, News, Session
from antiphon.sim.trial import Outcome, Trial, parse_trial, play
from antiphon.wire.body import letters

STORY = """
seed 4
daemons 5
sessions 1
network latency=800us jitter=300us loss=0.02

# Five daemons find each other; a client at each joins the group.
at 1s join 1.1 chat
at 1.1s join 2.1 chat
at 1.2s join 3.1 chat
at 1.3s join 4.1 chat
at 1.4s join 5.1 chat

# One group, one order.
at 2s send 1.1 chat agreed hello
at 2s send 3.1 chat agreed good-morning
at 2s send 5.1 chat agreed hi
at 2.2s send 2.1 chat safe is-everyone-here?
at 2.3s send 4.1 chat causal yes

# The network breaks while messages are on their way.
at 2998ms send 1.1 chat safe shall-we-deploy?
at 2999ms send 4.1 chat safe deploy-at-noon
at 2999ms send 2.1 chat agreed fine-with-me
at 2998900us cut 1 2 | 3 4 5

# Both sides go on.
at 4.5s send 1.1 chat agreed left-side-here
at 4.5s send 4.1 chat agreed right-side-here
at 4.7s send 2.1 chat safe only-two-of-us
at 4.8s send 3.1 chat safe three-over-here

# They find each other again.
at 5.5s heal
at 7s send 1.1 chat agreed there-you-are
at 7s send 5.1 chat agreed we-missed-you
at 7.2s send 4.1 chat safe as-before

quiet 8s
until 14s
"""

EYES = (DaemonId(1), DaemonId(4))
"""Whose clients tell the story: one of each side."""

PROMISES = {
    "D1": "integrity: nothing invented, nothing twice",
    "D2": "same view: delivered where it was sent",
    "D3": "self delivery",
    "D4": "virtual synchrony: who stays together sees the same",
    "D5": "view agreement",
    "D6": "transitional set: who came with me",
    "D7": "precise views: each change with its cause",
    "D8": "open groups",
    "S1": "unreliable: waits for nothing",
    "S2": "reliable",
    "S3": "fifo: in the order of each session",
    "S4": "causal: never before its cause",
    "S5": "agreed: one order, even across the partition",
    "S6": "safe: only when every member holds it",
    "P1": "one configuration in the end",
    "P2": "everything arrives in the end",
    "P3": "a slow client blocks nobody",
    "P4": "memory is bounded",
}


@dataclass(slots=True)
class Diary(App):
    """An application that writes down what it is told."""

    news: list[tuple[int, News]] = field(default_factory=list)

    def on_start(self, session: Session) -> None:
        pass

    def on_news(self, session: Session, news: News) -> None:
        self.news.append((session.now, news))

    def on_timer(self, session: Session) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a diary."""

    time: int
    kind: str
    """message, late (in a transitional view), view, or transition."""

    text: str

    @property
    def key(self) -> tuple[str, str]:
        """Equal for the same message at both, if both get it in the same part of a view."""
        return (self.kind, self.text)


@dataclass(frozen=True, slots=True)
class Demo:
    trial: Trial
    outcome: Outcome
    records: list[Record]
    diaries: dict[DaemonId, list[Entry]]

    def installs(self) -> Iterator[Record]:
        """Each configuration once, as its first member installs it, without the beginnings."""
        seen = set()
        for record in self.records:
            if record.kind is Kind.INSTALL and record.config not in seen:
                seen.add(record.config)
                if len(record.members) > 1:
                    yield record

    def side_by_side(self) -> Iterator[tuple[Entry | None, Entry | None]]:
        """Both diaries, with the same messages beside each other."""
        left, right = (self.diaries[daemon] for daemon in EYES)
        keys = [entry.key for entry in left], [entry.key for entry in right]
        matcher = SequenceMatcher(None, *keys, autojunk=False)
        for _, first, last, other_first, other_last in matcher.get_opcodes():
            ours, theirs = left[first:last], right[other_first:other_last]
            yield from zip_longest(ours, theirs)


def tell() -> Demo:
    """Play the story."""
    diaries: dict[DaemonId, Diary] = {}

    def make_app(daemon: DaemonId, slot: int, rng: Random) -> App:
        diaries[daemon] = Diary()
        return diaries[daemon]

    trial = parse_trial(STORY)
    played, outcome = play(trial, make_app=make_app)
    written = {daemon: list(_entries(diaries[daemon])) for daemon in EYES}
    return Demo(trial, outcome, played.records, written)


def _entries(diary: Diary) -> Iterator[Entry]:
    for time, news in diary.news:
        if isinstance(news, Message):
            for letter in letters(news):
                kind = "late" if news.transitional else "message"
                service = news.service.name.lower()
                text = f"{news.origin.daemon}: {letter.payload.decode()}  ({service})"
                yield Entry(time, kind, text.replace("-", " "))
        elif isinstance(news, View):
            members = _names(tuple(member for member, _ in news.members))
            text = f"view {{{members}}} by {news.cause.value}"
            if len(news.together) < len(news.members):
                text += f", {{{_names(news.together)}}} came with me"
            yield Entry(time, "view", text)
        elif isinstance(news, Transition):
            yield Entry(time, "transition", "the view ends; what is left of it:")


def _names(sessions: tuple[SessionId, ...]) -> str:
    return " ".join(str(session.daemon) for session in sessions)


def seconds(time: int) -> str:
    return f"{time // MILLISECOND / 1000:.3f}"
