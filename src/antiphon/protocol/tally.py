"""What a daemon does, in numbers: rows of kind `counts`, about once a second while it works.

A packet to many counts once, for how many copies leave is the driver's affair. An idle daemon
tells less often, so that its records do not grow with time.
"""

from collections import Counter
from collections.abc import Mapping

from antiphon.core.effects import Emit
from antiphon.core.ids import NOBODY, DaemonId, Member
from antiphon.core.machine import NEVER, SECOND, Instant
from antiphon.core.trace import Kind, Level, Record
from antiphon.wire.packet import TAG_AT, Tag

BUSY_US = SECOND
IDLE_US = 10 * SECOND
NOT_WORK = frozenset({"visits", "token", "hello", "hurry", "greeting", "site_report", "site_news"})
"""What an idle daemon does, too."""

ROUND_TRIP = "round_trip_us"
"""The one name that is no count: how long it takes at present."""

Figures = Mapping[str, tuple[int, int]]
"""How many, and how many bytes, since the beginning; a name without bytes has 0."""

NOTHING = (0, 0)


class Tally:
    def __init__(self, me: Member, level: Level) -> None:
        self.due: Instant = NEVER if level == Level.OFF else 0
        """When it wants to be asked again."""

        self._me = me
        self._packets = [0] * 256
        self._bytes = [0] * 256
        self._told: dict[DaemonId, Figures] = {}
        self._told_at: Instant = -1

    def note(self, packet: bytes) -> None:
        """It leaves the node."""
        tag = packet[TAG_AT]
        self._packets[tag] += 1
        self._bytes[tag] += len(packet)

    def tell(
        self,
        now: Instant,
        stream: Figures,
        links: Mapping[DaemonId, Counter[str]],
        round_trips: Mapping[DaemonId, int],
    ) -> list[Emit]:
        """What came since the last rows; nothing if that is not worth a row yet."""
        self.due = now + BUSY_US
        if self._told_at < 0:
            self._told_at = now
            return []
        figures: Figures = {**stream, **self._sent()}
        own = self._news(NOBODY, figures)
        if NOT_WORK.issuperset(own) and now - self._told_at < IDLE_US:
            return []
        rows = [self._row(now, NOBODY, own)] if own else []
        self._told[NOBODY] = figures
        for peer, counts in sorted(links.items()):
            figures = {name: (count, 0) for name, count in counts.items()}
            if news := self._news(peer, figures):
                if peer in round_trips:
                    news[ROUND_TRIP] = (round_trips[peer], 0)
                rows.append(self._row(now, peer, news))
            self._told[peer] = figures
        self._told_at = now
        return rows

    def _sent(self) -> dict[str, tuple[int, int]]:
        return {
            tag.name.lower(): (self._packets[tag], self._bytes[tag])
            for tag in Tag
            if self._packets[tag]
        }

    def _news(self, peer: DaemonId, figures: Figures) -> dict[str, tuple[int, int]]:
        told = self._told.get(peer, {})
        news = {}
        for name, (count, size) in figures.items():
            before = told.get(name, NOTHING)
            if count > before[0]:
                news[name] = (count - before[0], size - before[1])
        return news

    def _row(self, now: Instant, peer: DaemonId, news: Figures) -> Emit:
        row = Record(Kind.COUNTS, now, self._me.daemon, self._me.incarnation)
        row.peer = peer
        row.value = now - self._told_at
        row.detail = " ".join(
            f"{name}={count}/{size}" if size else f"{name}={count}"
            for name, (count, size) in sorted(news.items())
        )
        return Emit(row)
