"""What a swarm need not meet, and why; and what is found when its counts are compared."""

from typing import NamedTuple

from antiphon.protocol.membership.membership import GatherReason
from antiphon.sim.reach import (
    ATTEMPT,
    DROP,
    GATHER,
    MEMBERSHIP,
    REFUSAL,
    SITUATION,
    SITUATIONS_MIN,
    SITUATIONS_SEEDS,
    STREAM,
    Counts,
    Pair,
    all_pairs,
)
from antiphon.sim.sites_reach import site_pairs


def _pairs(table: str, cases: str, what: str, why: str) -> dict[Pair, str]:
    return {Pair(table, case, one): why for case in cases.split() for one in what.split()}


IMPOSSIBLE: dict[Pair, str] = {
    **_pairs(
        MEMBERSHIP,
        "operational gather recover ready",
        "Holdings",
        "the stream answers Freeze in the same step in which COLLECT is entered",
    ),
    **_pairs(
        MEMBERSHIP,
        "operational",
        "Progress Recovered Evidence",
        "with Install, in the step that enters OPERATIONAL, the stream leaves recovery",
    ),
    **_pairs(
        MEMBERSHIP,
        "collect",
        "Progress Recovered Evidence",
        "with Freeze, in the step that enters COLLECT, the stream forgets earlier attempts",
    ),
    **_pairs(
        MEMBERSHIP,
        "gather",
        "Evidence",
        "others install only what all are ready for, and who is ready waits for Commit or for "
        "a higher attempt; a coordinator that gives up has not committed",
    ),
    **_pairs(
        MEMBERSHIP,
        "recover",
        "Evidence",
        "the stream knows the attempt as recovered from the step on that enters READY",
    ),
    **_pairs(
        MEMBERSHIP, "recover ready", "Trouble Late", "the ring that could be in trouble is frozen"
    ),
    **_pairs(MEMBERSHIP, "ready", "Recovered", "the stream recovers once in each attempt"),
    **_pairs(STREAM, "running", "Recover", "membership asks for it only after Freeze"),
    **_pairs(STREAM, "running", "Install", "the first finds the stream frozen, others a Freeze"),
    **_pairs(STREAM, "frozen", "SubmitState", "groups say it in the step of the Install itself"),
    **_pairs(
        STREAM,
        "frozen",
        "Settled Forget",
        "groups say it in the step of a delivery, and nothing is delivered while frozen",
    ),
}
"""Cannot happen while the machines are right: one of them met is a finding."""

ELSEWHERE: dict[Pair, str] = {
    Pair(DROP, "", "unknown_daemon"): "every simulated daemon is in the settings of all",
    **{
        Pair(DROP, "", reason): "takes a packet that is nearly right; `antiphon fuzz` makes them"
        for reason in ("malformed", "not_canonical", "bad_field", "cut_short", "wrong_size")
    },
    Pair(DROP, "", "too_late"): "takes a packet that ten thousand visits of the token overtake",
    **{
        Pair(DROP, "", reason): "takes a forged packet; `antiphon fuzz` sends them to nodes"
        for reason in (
            "false_coordinator bad_digest bad_chunk impossible_epoch impossible_token not_a_member "
            "beyond_window bad_stamp unknown_segment old_report bad_route not_relayed bad_state "
            "one_site"
        ).split()
    },
    **{
        Pair(table, "", GatherReason.SLOW_SITE.value): "is a policy, and off in most seeds"
        for table in (GATHER, ATTEMPT)
    },
    **{
        Pair(REFUSAL, "", code): "the simulated client sends only what its library packs"
        for code in ("bad_size", "malformed", "bad_field", "wrong_size", "not_canonical")
    },
}
"""Need not happen in a swarm, for other tests bring it about; it may happen."""

ONE_SITE_ONLY: dict[Pair, str] = {
    **{
        Pair(table, "", GatherReason.BLOCKED_WINDOW.value): "the swarm of one site has tiny windows"
        for table in (GATHER, ATTEMPT)
    },
    Pair(MEMBERSHIP, "collect", "Trouble"): "the swarm of one site lets two timers end at once",
    Pair(MEMBERSHIP, "recover", "Commit"): "the swarm of one site draws more of late words",
    Pair(DROP, "", "twin"): "the swarm of one site has long ways inside it",
}
"""Need not happen in the swarm over sites, for the other one meets it."""

AT_ONCE: dict[Pair, str] = {
    **_pairs(
        STREAM,
        "frozen",
        "GroupDaemons ChangeMade",
        "takes a delivery and a proposal by timers that end at once; its unit test says it",
    ),
    **_pairs(MEMBERSHIP, "collect", "Late", "takes a visit and a proposal that come at once"),
}
"""Need not happen in the swarm over sites, and cannot in the other."""


class Finding(NamedTuple):
    """A row of the report."""

    pair: Pair
    times: int
    explanation: str
    fault: str
    """Why this row is not acceptable; empty if it is."""


def findings(counts: Counts, seeds: int, sites: bool = False) -> list[Finding]:
    """All pairs, those of sites if there were several, and what was counted without being
    listed."""
    listed = [*all_pairs(), *(site_pairs() if sites else ())]
    known = set(listed)
    strange = sorted(pair for pair in counts if pair not in known)
    explained = {**IMPOSSIBLE, **ELSEWHERE, **({**ONE_SITE_ONLY, **AT_ONCE} if sites else {})}
    rows = [_finding(pair, counts[pair], seeds, explained.get(pair, "")) for pair in listed]
    return rows + [Finding(pair, counts[pair], "", "not listed in reach.py") for pair in strange]


def _finding(pair: Pair, times: int, seeds: int, explanation: str) -> Finding:
    fault = ""
    if times and pair in IMPOSSIBLE:
        fault = "should be impossible"
    elif pair.table == SITUATION and seeds >= SITUATIONS_SEEDS and times < SITUATIONS_MIN:
        fault = f"fewer than {SITUATIONS_MIN}"
    elif not times and not explanation:
        fault = "never met"
    return Finding(pair, times, "" if times else explanation, fault)
