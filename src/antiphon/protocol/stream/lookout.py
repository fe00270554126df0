"""Is another segment late, or does something of it never come? (docs/protocols/flow.md)

Late is who has not heard of what there was some time ago, or does not hold what all had heard of
then. So a segment that stands still is late, one that waits for it is not, nor one that is far.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from antiphon.core.effects import Late, Trouble, Word
from antiphon.core.ids import NOBODY, Configuration, DaemonId
from antiphon.core.machine import MILLISECOND, Instant
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.protocol.stream.source import Source
from antiphon.protocol.stream.watch import RECEIVE_FAILURE
from antiphon.wire.reports import StreamReport

SLOW_SITE = "slow_site"

LINKS_FIRST = 2
"""Links repair what is lost, or die: only what they cannot know of is missing for longer."""

LOOKS = 8
"""So often it is looked before anybody is accused."""


class History:
    """A number that rises, and when it did, roughly."""

    def __init__(self, step_us: int) -> None:
        self._step_us = step_us
        self._steps: deque[tuple[Instant, int]] = deque(maxlen=4 * LOOKS)

    def note(self, now: Instant, value: int, passed: int) -> None:
        """It is this now; up to `passed` nobody asks any more."""
        last_at, last = self._steps[-1] if self._steps else (now - self._step_us, 0)
        if value > last and now - last_at >= self._step_us:
            self._steps.append((now, value))
        while self._steps and self._steps[0][1] <= passed:
            self._steps.popleft()

    def since(self, front: int, now: Instant) -> Instant:
        """When it went beyond this."""
        return next((at for at, value in self._steps if value > front), now)

    def skip(self, gap: Instant) -> None:
        self._steps = deque([(at + gap, value) for at, value in self._steps], self._steps.maxlen)


class Lookout:
    """Of one configuration; it reports trouble once."""

    def __init__(
        self, settings: StreamSettings, configuration: Configuration, mine: int, leading: bool
    ) -> None:
        self._failure_us = LINKS_FIRST * settings.receive_failure_us
        self._late_us = settings.slow_site_us if leading else 0
        self._leaders = [members[0].daemon for members in configuration.segments]
        self._mine = mine
        self._tops = History(self._late_us // LOOKS)
        """The highest stamp that anybody had told of."""

        self._lines = History(self._late_us // LOOKS)
        """The lowest: more nobody could hold."""

        self._lacking: dict[int, tuple[tuple[int, int], Instant]] = {}
        """Streams of which something is missing: what is here, and since when no more came."""

        self._late: tuple[DaemonId, ...] = ()
        self._troubled = False

    @property
    def period_us(self) -> int:
        return min(self._failure_us, self._late_us or self._failure_us) // LOOKS

    def skip(self, gap: Instant) -> None:
        """The process stood still, and nobody else did."""
        self._tops.skip(gap)
        self._lines.skip(gap)
        self._lacking = {one: (here, at + gap) for one, (here, at) in self._lacking.items()}

    def look(
        self,
        now: Instant,
        sources: Sequence[Source],
        reports: Mapping[int, StreamReport],
        floor: int,
    ) -> list[Word]:
        """`floor`: the highest stamp of our own stream."""
        effects: list[Word] = []
        if self._late_us:
            effects += self._look_for_late(now, reports, floor)
        return effects + self._look_for_missing(now, sources)

    def _look_for_missing(self, now: Instant, sources: Sequence[Source]) -> list[Word]:
        before, self._lacking = self._lacking, {}
        for source in sources:
            if not source.lacks:
                continue
            here = (source.chained, len(source.held))
            seen, since = before.get(source.index, (here, now))
            self._lacking[source.index] = (here, since if seen == here else now)
            if seen == here and now - since > self._failure_us:
                leader = self._leaders[source.index]
                told = f"what {leader} sent after its bundle {source.chained} does not come"
                return self._report(RECEIVE_FAILURE, NOBODY, told)
        return []

    def _look_for_late(
        self, now: Instant, reports: Mapping[int, StreamReport], floor: int
    ) -> list[Word]:
        others = [at for at in range(len(self._leaders)) if at != self._mine]
        floors = {at: reports[at].floor if at in reports else 0 for at in others}
        held = {at: reports[at].held if at in reports else 0 for at in others}
        self._tops.note(now, max(floor, *floors.values()), min(floors.values()))
        self._lines.note(now, min(floor, *floors.values()), min(held.values()))
        lags = self._lags(now, self._tops, floors) | self._lags(now, self._lines, held)
        effects: list[Word] = []
        late = tuple(self._leaders[at] for at in sorted(lags))
        if late != self._late:
            self._late = late
            effects.append(Late(late))
        if lags and max(lags.values()) > self._late_us:
            worst = max(lags, key=lambda at: (lags[at], at))
            told = f"it has not come to where others were {lags[worst] // MILLISECOND} ms ago"
            effects += self._report(SLOW_SITE, self._leaders[worst], told)
        return effects

    def _lags(self, now: Instant, history: History, fronts: Mapping[int, int]) -> dict[int, int]:
        """How late they are: those who are half as late as nobody may be."""
        ages = {at: now - history.since(front, now) for at, front in fronts.items()}
        return {at: age for at, age in ages.items() if age > self._late_us // 2}

    def _report(self, reason: str, accused: DaemonId, detail: str) -> list[Word]:
        if self._troubled:
            return []
        self._troubled = True
        return [Trouble(reason, accused, detail)]
