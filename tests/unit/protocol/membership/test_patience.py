"""Peers, penalties, pace, attempts: what membership remembers, and for how long."""

import pytest

from antiphon.core.effects import Trouble
from antiphon.core.errors import ConfigError
from antiphon.core.ids import NOBODY, ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.protocol.membership.attempt import Collection
from antiphon.protocol.membership.evidence import evidence
from antiphon.protocol.membership.pace import Pace
from antiphon.protocol.membership.peers import Peers
from antiphon.protocol.membership.penalties import Penalties
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.protocol.membership.states import NO_TROUBLE
from antiphon.wire.control import Hello, State

SETTINGS = MembershipSettings()
ONE, TWO, THREE = (Member(DaemonId(number), Incarnation(number)) for number in (1, 2, 3))
CONFIG = ConfigId(5, *ONE, 1)
RING = Configuration(CONFIG, (ONE, TWO, THREE))


def hello(trouble: str = "", epoch: int = 1) -> Hello:
    return Hello(CONFIG, ONE.daemon, False, trouble, NOBODY, epoch, (ONE,), (ONE.daemon,))


def test_a_hello_counts_until_its_sender_was_silent_too_long() -> None:
    peers = Peers(100)
    assert peers.hear(10, TWO, hello()) is True
    assert peers.hear(20, TWO, hello()) is False, "nothing new"
    assert peers.hear(30, TWO, hello(epoch=2)) is True
    assert list(peers.hellos(130)) == [TWO]
    assert peers.next_silence(130) == 131
    assert peers.hellos(131) == {}
    assert peers.hear(131, TWO, hello(epoch=2)) is True, "it is back, which is news"


def test_members_of_a_ring_count_without_a_word_until_the_ring_is_in_doubt() -> None:
    peers = Peers(100)
    peers.trust_ring(0, RING, ONE)
    assert list(peers.hellos(10_000)) == [TWO, THREE]
    assert peers.next_silence(10_000) is None
    peers.doubt_ring(10_000)
    assert list(peers.hellos(10_100)) == [TWO, THREE]
    assert peers.hellos(10_101) == {}


def test_who_was_silent_in_a_change_is_not_back_when_the_new_ring_runs() -> None:
    """From then on silence may last longer; what is past stays past."""
    peers = Peers(100)
    stranger = Member(DaemonId(9), Incarnation(9))
    peers.hear(0, stranger, hello())
    assert stranger not in peers.hellos(150)
    peers.trust_ring(150, RING, ONE)
    peers.hear_us = 1_000
    assert list(peers.hellos(160)) == [TWO, THREE]


def test_after_a_lost_ring_only_who_speaks_is_there() -> None:
    peers = Peers(100)
    peers.trust_ring(7, RING, ONE)
    peers.forget_ring()
    assert peers.hellos(8) == {}
    assert peers.last_heard(TWO) == 7
    peers.hear(9, TWO, hello())
    assert list(peers.hellos(9)) == [TWO]
    assert peers.last_heard(TWO) == 9


def test_a_new_life_takes_the_place_of_the_old_one() -> None:
    peers = Peers(100)
    peers.hear(1, TWO, hello())
    newer = Member(TWO.daemon, Incarnation(99))
    assert peers.hear(2, newer, hello()) is True
    assert list(peers.hellos(2)) == [newer]
    assert peers.hear(3, TWO, hello()) == "old_incarnation"


def test_time_that_i_slept_is_nobodys_silence() -> None:
    peers = Peers(100)
    peers.hear(10, TWO, hello())
    peers.skip(500)
    assert list(peers.hellos(610)) == [TWO]
    assert peers.hellos(611) == {}


def test_penalties_double_up_to_a_limit_and_are_forgiven_with_time() -> None:
    penalties = Penalties(SETTINGS)
    lengths = []
    now = 0
    for _ in range(9):
        penalties.punish(now, TWO.daemon)
        end = penalties.next_end(now)
        assert end is not None
        lengths.append(end - now)
        assert penalties.excludes(end - 1, TWO.daemon) and not penalties.excludes(end, TWO.daemon)
        now = end
    assert lengths[:3] == [SETTINGS.penalty_us, 2 * SETTINGS.penalty_us, 4 * SETTINGS.penalty_us]
    assert lengths[-1] == SETTINGS.penalty_us_max
    assert penalties.next_end(now) is None
    now += 100 * SETTINGS.peace_us
    penalties.punish(now, TWO.daemon)
    assert penalties.next_end(now) == now + SETTINGS.penalty_us


def test_one_failed_attempt_is_no_penalty_but_the_second_is() -> None:
    penalties = Penalties(SETTINGS)
    penalties.strike(0, TWO.daemon)
    assert not penalties.excludes(0, TWO.daemon)
    penalties.strike(1, TWO.daemon)
    assert penalties.excludes(1, TWO.daemon)


def test_strikes_are_forgiven_by_success() -> None:
    penalties = Penalties(SETTINGS)
    penalties.strike(0, TWO.daemon)
    penalties.forgive_strikes()
    penalties.strike(1, TWO.daemon)
    assert not penalties.excludes(1, TWO.daemon)


def test_hellos_are_quick_in_trouble_slow_for_a_quiet_leader_and_rare_for_the_rest() -> None:
    pace = Pace(SETTINGS)
    pace.changed_at = 1_000
    now = 1_000 + SETTINGS.calm_us // 2
    assert pace.next(now, True, False, True) == now + SETTINGS.hello_us
    assert pace.next(now, False, False, True) == now + SETTINGS.hello_slow_us
    assert pace.next(now, False, False, False) is None
    assert pace.next(now, True, True, False) == now + SETTINGS.hello_slow_us
    pace.answer(now)
    assert pace.next(now + 1, False, False, False) == now + 1 + SETTINGS.hello_us
    assert not pace.calm(1_000 + SETTINGS.calm_us)
    assert pace.calm(1_001 + SETTINGS.calm_us)


def test_hellos_keep_their_distance() -> None:
    pace = Pace(SETTINGS)
    pace.next(1_000, True, False, True)
    assert pace.earliest(1_001) == 1_000 + SETTINGS.hello_gap_us
    assert pace.earliest(1_000_000) == 1_000_000


def state(base: ConfigId = CONFIG) -> State:
    return State(CONFIG, base, 0, (), 0, 0)


def test_a_collection_is_complete_with_the_last_member() -> None:
    collection: Collection[State] = Collection(RING.members)
    assert not collection.add_state(TWO, state())
    assert not collection.add_state(TWO, state()), "once each"
    assert not collection.add_state(Member(DaemonId(9), Incarnation(9)), state())
    assert collection.silent() == [ONE, THREE]
    assert not collection.add_state(ONE, state())
    assert not collection.complete
    assert collection.add_state(THREE, state())
    assert collection.told() == (state(), state(), state())
    assert not collection.add_state(ONE, state(ConfigId(4, *ONE, 1))), "what was told stands"
    assert collection.told()[0] == state()


def test_a_collection_waits_for_everybody_to_be_ready() -> None:
    collection: Collection[State] = Collection(RING.members)
    for member in RING.members:
        collection.add_state(member, state())
    assert not collection.add_ready(Member(DaemonId(9), Incarnation(9)))
    assert [collection.add_ready(member) for member in RING.members] == [False, False, True]


def test_evidence_names_the_first_cause_and_everything_else_in_a_line() -> None:
    """Who accused whom, who came, who is gone and since when."""
    restarted = Member(TWO.daemon, Incarnation(99))
    stranger = Member(DaemonId(7), Incarnation(7))
    wish = (ONE, restarted, stranger)
    troubles = {restarted: "", stranger: "token_loss"}
    peers = Peers(hear_us=1)
    peers.hear(200_000, THREE, hello())
    regrouping = [("regrouped", "7 leads a segment")]
    own = Trouble("receive_failure", NOBODY, "nothing came")
    known = (500_000, ONE, own, RING, wish, troubles, peers, regrouping)
    cause, text = evidence(*known)
    assert cause == "receive_failure"
    for part in (
        "1 has receive_failure (nothing came)",
        "7 has token_loss",
        "2 restarted",
        "7 appeared",
        "3 is gone, unheard for 300 ms",
        "7 leads a segment",
    ):
        assert part in text
    peers.leave(400_000, THREE)
    assert "3 has left" in evidence(*known)[1]


def test_evidence_without_a_cause_is_an_unfinished_attempt() -> None:
    cause, _ = evidence(0, ONE, NO_TROUBLE, RING, RING.members, {}, Peers(hear_us=1), [])
    assert cause == "unfinished"


@pytest.mark.parametrize(
    "wrong",
    [
        {"hear_us": 3 * SETTINGS.hello_slow_us - 1},
        {"settle_us": 2 * SETTINGS.hello_us - 1},
        {"attempt_us": 4 * SETTINGS.repeat_us - 1},
        {"hear_far_us": 5 * SETTINGS.greet_us - 1},
        {"report_life_us": 2 * SETTINGS.hear_far_us - 1},
        {"settle_far_us": SETTINGS.settle_us - 1},
        {"settle_far_us": SETTINGS.attempt_far_us},
        {"attempt_far_us": 4 * SETTINGS.repeat_far_us - 1},
    ],
)
def test_times_that_do_not_fit_together_are_a_mistake_of_the_configuration(
    wrong: dict[str, int],
) -> None:
    with pytest.raises(ConfigError) as caught:
        MembershipSettings(**wrong)
    assert caught.value.key in wrong and caught.value.remedy
