"""The largest message of each kind is still understood, and what may be asked for is bounded."""

import pytest

from antiphon.core.effects import StreamHoldings
from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member, ViewId
from antiphon.wire.body import (
    HEADS_REMEMBERED_BYTES,
    Heads,
    pack_body,
    pack_head,
    read_body,
)
from antiphon.wire.changes import (
    GROUPS_MAX,
    GroupStanding,
    GroupState,
    JoinGroup,
    SessionState,
)
from antiphon.wire.control import (
    MEMBERS_MAX,
    RUNS_MAX,
    RUNS_TOTAL_MAX,
    SEGMENTS_MAX,
    Hello,
    PacketMessage,
    Propose,
    RecoveryRequest,
    State,
)
from antiphon.wire.pieces import Token
from antiphon.wire.ring import REQUESTS_MAX
from tests.wire.messages import (
    CONFIG,
    decode_control,
    decode_token,
    encode_control,
    encode_token,
    pack_group_change,
    read_group_change,
)

LAST = 2**64 - 1
MEMBERS = tuple(Member(DaemonId(number), Incarnation(LAST)) for number in range(MEMBERS_MAX))
DAEMONS = tuple(member.daemon for member in MEMBERS)
CONFIG_MAX = ConfigId(LAST, DaemonId(LAST), Incarnation(LAST), 2**32 - 1)
RUNS = tuple((2 * number, 2 * number) for number in range(1, RUNS_MAX + 1))
STAMPED = tuple((first, last, last) for first, last in RUNS)
STREAM_MAX = StreamHoldings(STAMPED, LAST, LAST, RUNS)
VIEW = ViewId(CONFIG_MAX, LAST, LAST)


@pytest.mark.parametrize(
    "message",
    [
        Hello(CONFIG_MAX, DaemonId(LAST), True, "r" * 64, DaemonId(LAST), LAST, MEMBERS, DAEMONS),
        Propose(CONFIG_MAX, (MEMBERS,), (), "e" * 2048),
        State(CONFIG_MAX, CONFIG_MAX, 2**32 - 1, (STREAM_MAX,), LAST, LAST),
        State(CONFIG, CONFIG, 0, (StreamHoldings(((1, RUNS_TOTAL_MAX, LAST),), 0, 0, ()),), 0, 0),
        State(CONFIG, CONFIG, 0, (StreamHoldings((), 0, 0, ()),) * SEGMENTS_MAX, 0, 0),
        RecoveryRequest(CONFIG, CONFIG, 2**32 - 1, 2**32 - 1, ((LAST, LAST),)),
    ],
    ids=lambda message: type(message).__name__,
)
def test_the_largest_control_message_is_understood(message: PacketMessage) -> None:
    assert decode_control(encode_control(message)) == message


def test_a_token_with_all_its_requests_is_understood() -> None:
    """SP-179."""
    requests = tuple((3 * number, 3 * number + 1) for number in range(1, REQUESTS_MAX + 1))
    token = Token(LAST, LAST, LAST, DaemonId(LAST), 2**32 - 1, 9, LAST, LAST, DaemonId(LAST), 9)
    token.requests = requests
    assert decode_token(encode_token((CONFIG, token))) == (CONFIG, token)


@pytest.mark.parametrize("name", ["g", "g" * 255])
def test_names_up_to_the_limit_are_understood(name: str) -> None:
    """SP-34, SP-234."""
    change = JoinGroup(2**32 - 1, "n" * 64, name)
    assert read_group_change(pack_group_change(change)) == change


def test_the_state_of_many_groups_is_understood() -> None:
    groups = tuple(GroupStanding(f"g{number}", VIEW, 1, 1) for number in range(GROUPS_MAX // 64))
    state = GroupState(
        ((1, 2),), (SessionState(1, 1, "anna", groups), SessionState(2, 2, "bert", ()))
    )
    assert read_group_change(pack_group_change(state)) == state


def test_messages_of_one_bundle_go_each_to_its_own_groups() -> None:
    """SP-83, SP-89: 100 groups for one message, 1024 sorts of destinations, kinds of 16 bits."""
    table = tuple((f"g{number}",) for number in range(1023)) + (tuple(f"h{n}" for n in range(100)),)
    places = tuple(range(1024))
    kinds = tuple(range(-512, 512))
    payloads = tuple(b"%d" % number for number in places)
    opened = read_body(pack_body(table, places, kinds, payloads), 1024)
    assert (opened.table, opened.destinations) == (table, places)
    assert (opened.kinds, opened.payloads) == (kinds, payloads)


def test_tables_are_remembered_and_not_too_many_of_them() -> None:
    """P4: a sender repeats its table; ever new ones cost no more."""
    heads = Heads()
    long = tuple((f"{'g' * 200} {place}",) for place in range(100))
    remembered = []
    for number in range(2 * HEADS_REMEMBERED_BYTES // len(pack_head("me", long))):
        packed = pack_head(f"me {number}", long)
        assert heads.read(packed).table == heads.address(packed)[1].table == long
        remembered.append(sum(map(len, heads._known)))
        assert heads._known.keys() >= heads._addresses.keys()
    assert HEADS_REMEMBERED_BYTES // 2 < max(remembered) <= HEADS_REMEMBERED_BYTES
    assert heads.read(packed).table is heads.read(packed).table


@pytest.mark.parametrize("flags", [8, 15, 128])
def test_flags_that_nobody_knows_are_refused(flags: int) -> None:
    packed = bytearray(pack_head("me", (("g",),)))
    packed[3] = flags
    with pytest.raises(DecodeError, match="not_canonical"):
        Heads().read(bytes(packed))


@pytest.mark.parametrize("name", ["", "g" * 256, "g" * 100_000])
def test_a_group_state_names_groups_within_the_limit(name: str) -> None:
    """SP-234: as in every other message."""
    state = GroupState(((1, 1),), (SessionState(1, 1, "anna", (GroupStanding(name, VIEW, 1, 1),)),))
    with pytest.raises(DecodeError):
        read_group_change(pack_group_change(state))


def test_a_proposal_names_each_daemon_once() -> None:
    """A ring with a daemon in it twice has no order."""
    lives = (Member(DaemonId(3), Incarnation(1)), Member(DaemonId(3), Incarnation(2)))
    with pytest.raises(DecodeError):
        decode_control(encode_control(Propose(CONFIG, (lives,), (), "")))
