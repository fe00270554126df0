"""The large run, made small: the same story with few sites."""

from itertools import takewhile

from antiphon.core.trace import Kind
from antiphon.sim.big import MESSAGES, BigRun, Chapter, control_per_pair
from antiphon.tools.big_command import by_name

SITES = 6


def test_a_small_big_run_is_judged_and_keeps_every_promise() -> None:
    """SP-16, SP-13: a daemon, a representative and a site are lost, and merge again."""
    run = BigRun(SITES, 4)
    chapters = list(run.chapters())
    assert [chapter.name for chapter in chapters if not chapter.ended] == []
    assert run.violations() == []
    assert run.sent == MESSAGES
    handed = sum(record.kind is Kind.HAND for record in run.world.records)
    assert handed > MESSAGES * (SITES - 3), "members everywhere got them"
    losses = [chapter for chapter in chapters if chapter.name.startswith("lose")]
    assert [chapter.configurations for chapter in losses] == [1, 1, 1], "one change each"


def test_a_run_that_broke_a_promise_would_be_found() -> None:
    run = BigRun(4, 1)
    list(run.chapters())
    records = run.world.records
    records.remove(next(one for one in reversed(records) if one.kind is Kind.DELIVER))
    assert {found.promise for found in run.violations()} != set()


def test_what_crosses_between_sites_in_peace_does_not_grow_with_daemons() -> None:
    """SP-16: the same sites with three times the daemons."""
    few, many = (in_peace(BigRun(4, daemons)) for daemons in (2, 6))
    for before, after in zip(few, many, strict=True):
        allowed = 1.3 * control_per_pair(before, 4) + 64
        assert control_per_pair(after, 4) <= allowed, (before, after)


def test_chapters_of_one_name_are_told_together() -> None:
    chapters = [Chapter(name, True, 1, 0.1, 1, 0, {}) for name in ("send", "idle", "send")]
    assert {name: len(told) for name, told in by_name(chapters).items()} == {"send": 2, "idle": 1}


def in_peace(run: BigRun) -> list[Chapter]:
    """Members join, send, and are silent."""
    chapters = takewhile(lambda chapter: not chapter.name.startswith("lose"), run.chapters())
    return [chapter for chapter in chapters if chapter.name != "form"]
