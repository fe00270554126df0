"""The stream from one configuration to the next: freeze, tell, fetch, deliver, begin anew."""

from antiphon.core.bundle import Bundle
from antiphon.core.effects import (
    ChangeMade,
    Delivered,
    Emit,
    Evidence,
    Freeze,
    GroupDaemons,
    Holdings,
    Install,
    Installed,
    Part,
    Progress,
    Recover,
    Recovered,
    Send,
    Settled,
    StreamHoldings,
    Submit,
    SubmitState,
    Transitional,
    Word,
)
from antiphon.core.ids import NO_CONFIG, ConfigId, Configuration
from antiphon.core.machine import WAKEUP
from antiphon.core.positions import position
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Level
from antiphon.protocol.stream.pull import fragment_bytes
from antiphon.protocol.stream.stream import FORETASTE_MAX, State, Stream
from antiphon.wire.control import Hurry, RecoveryData, RecoveryRequest, read_control
from antiphon.wire.heard import Heard, HeardPacket, HeardToken
from antiphon.wire.packet import Envelope, open_header
from antiphon.wire.pieces import Token
from tests.unit.protocol.stream.bench import (
    BODY,
    CLUSTER,
    SETTINGS,
    bundle,
    member,
    piece,
    ring_packet,
)

OLD = ConfigId(1, *member(1), 1)
NEXT = ConfigId(2, *member(1), 2)
LATER = ConfigId(3, *member(1), 3)
Runs = tuple[tuple[int, int], ...]


class Machine:
    """The stream of daemon 2, in a configuration with 1 and 3."""

    def __init__(self, me: int = 2) -> None:
        self.me = member(me)
        self.stream = Stream(self.me, SETTINGS, Envelope(CLUSTER, self.me), Level.OFF)
        self.now = 1_000
        self.install(OLD, 1, 2, 3)
        self.tell(Settled(OLD))

    def tell(self, event: Word) -> list[Word]:
        return self.stream.handle(self.now, event)

    def install(self, config: ConfigId, *numbers: int) -> list[Word]:
        members = tuple(map(member, numbers))
        return self.tell(Install(Configuration(config, members), "evidence"))

    def hear(
        self, sender: int, link: int, *sequences: int, service: Service = Service.AGREED
    ) -> None:
        """A packet of another member with these bundles in it."""
        pieces = [piece(sequence, service) for sequence in sequences]
        packet = ring_packet(sender, OLD, link, pieces)
        self.tell(HeardPacket(packet, b"raw"))

    def freeze(self, attempt: ConfigId = NEXT) -> Holdings:
        (holdings,) = self.tell(Freeze(attempt))
        assert isinstance(holdings, Holdings)
        return holdings

    def recover(self, *told: tuple[int, Holdings]) -> list[Word]:
        attempt = told[0][1].attempt
        parts = tuple(
            Part((member(number),), 0, (one.streams[0].known,), one) for number, one in told
        )
        near = tuple((member(number).daemon, one) for number, one in told)
        return self.tell(Recover(attempt, parts, near))


def held(*runs: tuple[int, int], known: int = 0, stable: int = 0, early: Runs = ()) -> Holdings:
    """Of the one stream of a site, where stamps are sequences."""
    stamped = tuple((first, last, last) for first, last in runs)
    return Holdings(NEXT, (StreamHoldings(stamped, known, known, early),), stable, 0)


def requests(effects: list[Word]) -> list[tuple[int, RecoveryRequest]]:
    found = []
    for effect in effects:
        if isinstance(effect, Send):
            tag, _, _ = open_header(effect.packet, CLUSTER)
            message = read_control(tag, effect.packet)
            if isinstance(message, RecoveryRequest):
                found.append((effect.to, message))
    return found


def answers(effects: list[Word]) -> list[RecoveryData]:
    found = []
    for effect in effects:
        assert isinstance(effect, Send)
        tag, _, _ = open_header(effect.packet, CLUSTER)
        message = read_control(tag, effect.packet)
        assert isinstance(message, RecoveryData)
        found.append(message)
    return found


def drops(effects: list[Word]) -> list[str]:
    return [
        effect.record.reason
        for effect in effects
        if isinstance(effect, Emit) and effect.record.kind == Kind.DROP
    ]


def data(sequence: int, body: bytes = BODY, **changed: int) -> RecoveryData:
    order = (sequence, changed.pop("stamp", sequence), 0, 0, 0, 0)
    index, fragments = changed.pop("index", 0), changed.pop("fragments", 1)
    return RecoveryData(
        NEXT,
        OLD,
        member(1),
        1,
        sequence,
        1,
        4,
        False,
        False,
        order,
        0,
        (),
        (),
        index,
        fragments,
        body,
    )


def delivered(effects: list[Word]) -> list[tuple[int, bool]]:
    return [
        (effect.bundle.sequence, effect.transitional)
        for effect in effects
        if isinstance(effect, Delivered)
    ]


def test_a_frozen_stream_tells_what_it_holds() -> None:
    """SP-72: everything that is not stable everywhere."""
    machine = Machine()
    machine.hear(1, 1, 1, 2)
    machine.hear(1, 3, 4)
    machine.hear(1, 4, 6, service=Service.RELIABLE)
    holdings = machine.freeze()
    expected = held((1, 2), (4, 4), (6, 6), known=2, early=((6, 6),))
    expected.cursor = position(2, 0)
    assert holdings == expected
    assert machine.stream.state == State.FROZEN


def test_a_frozen_stream_takes_nothing_more_of_its_configuration() -> None:
    """What it told is the truth until the install."""
    machine = Machine()
    machine.freeze()
    packet = ring_packet(1, OLD, 1, [piece(1)])
    assert drops(machine.tell(HeardPacket(packet, b"raw"))) == ["frozen"]
    assert drops(machine.tell(HeardToken(member(1), OLD, Token(2)))) == ["frozen"]
    assert machine.freeze(LATER).streams[0].held == ()


def test_a_frozen_stream_sends_nothing() -> None:
    """TR-69: what is accepted meanwhile waits for the next configuration."""
    machine = Machine()
    machine.freeze()
    assert machine.tell(Submit(bundle(2, 1))) == []


def test_packets_of_another_configuration_are_dropped() -> None:
    machine = Machine()
    packet = ring_packet(1, LATER, 1, [piece(1)])
    assert drops(machine.tell(HeardPacket(packet, b"raw"))) == ["other_configuration"]
    assert drops(machine.tell(HeardToken(member(1), LATER, Token(2)))) == ["other_configuration"]
    assert drops(machine.tell(Heard(member(1), Hurry(LATER)))) == ["other_configuration"]
    request = RecoveryRequest(NEXT, OLD, 0, 0, ((1, 1),))
    assert drops(machine.tell(Heard(member(1), request))) == ["other_configuration"]
    assert drops(machine.tell(Heard(member(1), data(1)))) == ["other_configuration"]


def test_who_lacks_nothing_is_recovered_at_once() -> None:
    machine = Machine()
    machine.hear(1, 1, 1)
    mine = machine.freeze()
    assert machine.recover((2, mine), (3, held())) == [Recovered(NEXT)]


def test_what_is_missing_is_asked_from_those_who_hold_it() -> None:
    machine = Machine()
    machine.hear(1, 1, 1)
    mine = machine.freeze()
    effects = machine.recover((2, mine), (3, held((2, 3), (5, 5))))
    assert requests(effects) == [(3, RecoveryRequest(NEXT, OLD, 0, 0, ((2, 3), (5, 5))))]
    assert machine.tell(Heard(member(3), data(2))) == [Progress(NEXT)]
    assert machine.tell(Heard(member(3), data(5))) == [Progress(NEXT)]
    assert machine.tell(Heard(member(3), data(3))) == [Recovered(NEXT)]


def test_what_does_not_come_is_asked_for_again() -> None:
    machine = Machine()
    mine = machine.freeze()
    machine.recover((2, mine), (3, held((1, 2))))
    machine.tell(Heard(member(3), data(1)))
    machine.now = machine.stream.deadline()
    effects = machine.stream.handle(machine.now, WAKEUP)
    assert requests(effects) == [(3, RecoveryRequest(NEXT, OLD, 0, 0, ((2, 2),)))]


def test_a_large_bundle_is_fetched_in_fragments_and_goes_on_where_it_stopped() -> None:
    machine = Machine()
    mine = machine.freeze()
    machine.recover((2, mine), (3, held((1, 1))))
    for index in (0, 2):
        part = data(1, b"%d" % index, index=index, fragments=3)
        assert machine.tell(Heard(member(3), part)) == [Progress(NEXT)]
    machine.now = machine.stream.deadline()
    again = requests(machine.stream.handle(machine.now, WAKEUP))
    assert [request.index for _, request in again] == [1]
    last = data(1, b"1", index=1, fragments=3)
    assert machine.tell(Heard(member(3), last)) == [Recovered(NEXT)]
    effects = machine.install(NEXT, 2, 3)
    bodies = [effect.bundle.body for effect in effects if isinstance(effect, Delivered)]
    assert bodies == [b"012"]


def test_a_holder_answers_with_what_it_has_in_packets_that_fit() -> None:
    machine = Machine()
    size = fragment_bytes(SETTINGS.packet_bytes)
    pieces = [piece(1, body=bytes(10)), piece(3, body=bytes(2 * size + 1))]
    packet = ring_packet(1, OLD, 1, pieces)
    machine.tell(HeardPacket(packet, b"raw"))
    machine.freeze()
    request = RecoveryRequest(NEXT, OLD, 0, 0, ((1, 3),))
    effects = machine.tell(Heard(member(3), request))
    assert [(one.order[0], one.index, one.fragments) for one in answers(effects)] == [
        (1, 0, 1),
        (3, 0, 3),
        (3, 1, 3),
        (3, 2, 3),
    ]
    packets = [effect.packet for effect in effects if isinstance(effect, Send)]
    assert max(map(len, packets)) <= SETTINGS.packet_bytes
    again = machine.tell(Heard(member(3), RecoveryRequest(NEXT, OLD, 0, 2, ((3, 3),))))
    assert [one.index for one in answers(again)] == [2]


def test_an_answer_is_bounded_whatever_was_asked() -> None:
    """P4: bounded work per request."""
    machine = Machine()
    for link in range(1, 101):
        machine.hear(1, link, link)
    machine.freeze()
    request = RecoveryRequest(NEXT, OLD, 0, 0, ((1, 1 << 20),))
    assert len(machine.tell(Heard(member(3), request))) == SETTINGS.pull_fragments


def test_what_survives_is_delivered_before_the_new_configuration_begins() -> None:
    """D2, D4: the complete part in the regular configuration, the rest in the transitional."""
    machine = Machine()
    machine.hear(1, 2, 2)  # 1 is missing, and nobody who comes along has it
    machine.hear(3, 3, 3)
    mine = machine.freeze()
    machine.recover((2, mine), (3, held((3, 3))))
    effects = machine.install(NEXT, 2, 3)
    kinds = [effect for effect in effects if isinstance(effect, Transitional | Installed)]
    assert kinds[0] == Transitional((member(2), member(3)))
    assert delivered(effects) == [(3, True)], "2 was sent by one who is gone, behind a hole"
    assert isinstance(kinds[1], Installed)
    assert (kinds[1].base, kinds[1].together) == (OLD, (member(2), member(3)))
    order = [type(effect) for effect in effects]
    assert order.index(Delivered) < order.index(Installed)


def test_if_everybody_comes_along_nothing_is_transitional() -> None:
    """S5, S6: nobody is gone who could have seen another thing."""
    machine = Machine()
    machine.hear(1, 2, 2)
    mine = machine.freeze()
    others = held((1, 1), known=1)
    machine.recover((1, others), (2, mine), (3, others))
    machine.tell(Heard(member(1), data(1)))
    effects = machine.install(NEXT, 1, 2, 3)
    assert delivered(effects) == [(1, False), (2, False)]


def test_a_safe_bundle_that_is_not_known_stable_turns_the_configuration() -> None:
    """S6: told in the transitional one, when somebody is gone."""
    machine = Machine()
    machine.hear(1, 1, 1)
    machine.hear(1, 2, 2, service=Service.SAFE)
    mine = machine.freeze()
    machine.recover((2, mine), (3, held((1, 2), known=2)))
    assert delivered(machine.install(NEXT, 2, 3)) == [(2, True)]


def test_a_safe_bundle_that_another_knows_stable_stays_regular() -> None:
    """S6: everybody held it, one of us learnt so."""
    machine = Machine()
    machine.hear(1, 1, 1)
    machine.hear(1, 2, 2, service=Service.SAFE)
    mine = machine.freeze()
    machine.recover((2, mine), (3, held(known=2, stable=2)))
    assert delivered(machine.install(NEXT, 2, 3)) == [(2, False)]


def test_what_i_pledged_in_one_attempt_i_deliver_in_the_next() -> None:
    """D4: others may have installed the first one and delivered it there."""
    machine = Machine()
    machine.hear(1, 2, 2)
    mine = machine.freeze()
    assert machine.recover((2, mine), (3, held((2, 2), early=((2, 2),)))) == [Recovered(NEXT)]
    again = machine.freeze(LATER)
    assert again.streams[0].early == ((2, 2),)


def test_a_packet_of_the_configuration_i_am_ready_for_is_evidence_and_is_kept() -> None:
    machine = Machine()
    mine = machine.freeze()
    machine.recover((2, mine))
    packet = ring_packet(1, NEXT, 1, [piece(1)])
    assert machine.tell(HeardPacket(packet, b"raw")) == [Evidence(NEXT)]
    assert delivered(machine.install(NEXT, 1, 2)) == [(1, False)]


def test_few_packets_are_kept_for_a_configuration_to_come() -> None:
    """P4."""
    machine = Machine()
    mine = machine.freeze()
    machine.recover((2, mine))
    for link in range(1, FORETASTE_MAX + 50):
        packet = ring_packet(1, NEXT, link, [piece(link)])
        assert machine.tell(HeardPacket(packet, b"raw")) == [Evidence(NEXT)]
    assert len(delivered(machine.install(NEXT, 1, 2))) == FORETASTE_MAX


def test_nothing_is_kept_for_an_attempt_i_am_not_ready_for() -> None:
    machine = Machine()
    machine.freeze()
    packet = ring_packet(1, NEXT, 1, [piece(1)])
    assert drops(machine.tell(HeardPacket(packet, b"raw"))) == ["other_configuration"]


def test_what_waited_is_sent_in_the_new_configuration_from_its_beginning() -> None:
    """TR-69 to TR-73, D2: after the group state is common."""
    machine = Machine()
    machine.freeze()
    machine.tell(Submit(Bundle(machine.me, 1, 1, 1, Service.AGREED, BODY)))
    machine.recover((2, held()))
    machine.install(NEXT, 2)
    effects = machine.tell(Settled(NEXT))
    assert [one for one in delivered(effects)] == [(1, False)]


def test_a_late_settlement_of_the_old_configuration_opens_nothing() -> None:
    machine = Machine()
    machine.freeze()
    machine.tell(Submit(Bundle(machine.me, 1, 1, 1, Service.AGREED, BODY)))
    machine.recover((2, held()))
    machine.install(NEXT, 2)
    assert machine.tell(Settled(OLD)) == []


def test_the_first_configuration_has_no_past() -> None:
    machine = Machine()
    stream = Stream(machine.me, SETTINGS, Envelope(CLUSTER, machine.me), Level.OFF)
    effects = stream.handle(0, Install(Configuration(OLD, (machine.me,)), ""))
    (installed,) = [effect for effect in effects if isinstance(effect, Installed)]
    assert (installed.base, installed.together) == (NO_CONFIG, (machine.me,))
    assert not [effect for effect in effects if isinstance(effect, Transitional)]


def test_recovery_data_with_a_stamp_that_falls_does_not_stop_the_node() -> None:
    """A peer's mistake, whatever becomes of the attempt."""
    machine = Machine()
    mine = machine.freeze()
    machine.recover((2, mine), (3, held((1, 2))))
    machine.tell(Heard(member(3), data(1, stamp=9)))
    machine.tell(Heard(member(3), data(2, stamp=3)))


def test_tokens_hurries_and_deadlines_of_the_ring_pass_through() -> None:
    machine = Machine()
    assert machine.stream.deadline() < machine.now + 10 * SETTINGS.token_loss_us
    machine.now += 10
    sends = [
        effect
        for effect in machine.tell(HeardToken(member(1), OLD, Token(2)))
        if isinstance(effect, Send)
    ]
    assert [effect.to for effect in sends] == [3]
    assert machine.tell(Heard(member(3), Hurry(OLD))) == []
    machine.now = machine.stream.deadline()
    assert machine.stream.handle(machine.now, WAKEUP) == sends, "it is repeated"


def test_group_state_goes_before_everything() -> None:
    machine = Machine()
    machine.tell(Submit(Bundle(machine.me, 1, 1, 1, Service.AGREED, BODY)))
    machine.tell(SubmitState((b"state",)))
    machine.now += 10
    effects = machine.tell(HeardToken(member(1), OLD, Token(2)))
    assert [(one.bundle.session, one.bundle.body) for one in effects if isinstance(one, Delivered)][
        :1
    ] == [(0, b"state")]


def test_a_stream_that_never_ran_holds_nothing() -> None:
    me = member(2)
    stream = Stream(me, SETTINGS, Envelope(CLUSTER, me), Level.OFF)
    assert stream.handle(0, Freeze(NEXT)) == [Holdings(NEXT, (), 0, 0)]


def test_fragments_that_contradict_each_other_make_no_bundle() -> None:
    """All or nothing: it is asked for again from the beginning."""
    machine = Machine()
    mine = machine.freeze()
    machine.recover((2, mine), (3, held((1, 1))))
    machine.tell(Heard(member(3), data(1, b"a", index=0, fragments=4)))
    machine.tell(Heard(member(3), data(1, b"d", index=3, fragments=4)))
    effects = machine.tell(Heard(member(3), data(1, b"b", index=1, fragments=2)))
    assert Recovered(NEXT) not in effects
    machine.now = machine.stream.deadline()
    again = requests(machine.stream.handle(machine.now, WAKEUP))
    assert [(to, request.index) for to, request in again] == [(3, 0)]


def test_a_fragment_that_was_not_asked_for_or_came_before_is_ignored() -> None:
    machine = Machine()
    mine = machine.freeze()
    machine.recover((2, mine), (3, held((1, 1))))
    assert machine.tell(Heard(member(3), data(9))) == [Progress(NEXT)]
    machine.tell(Heard(member(3), data(1, b"a", index=0, fragments=2)))
    machine.tell(Heard(member(3), data(1, b"other", index=0, fragments=2)))
    effects = machine.tell(Heard(member(3), data(1, b"b", index=1, fragments=2)))
    assert effects == [Recovered(NEXT)]
    bodies = [one.bundle.body for one in machine.install(NEXT, 2, 3) if isinstance(one, Delivered)]
    assert bodies == [b"ab"]


def test_after_a_full_answer_the_rest_is_asked_for_at_once() -> None:
    machine = Machine()
    mine = machine.freeze()
    many = SETTINGS.pull_fragments
    machine.recover((2, mine), (3, held((1, many + 5))))
    asked: list[tuple[int, RecoveryRequest]] = []
    for sequence in range(1, many + 1):
        asked += requests(machine.tell(Heard(member(3), data(sequence))))
    assert [request.wanted for _, request in asked] == [((many + 1, many + 5),)]


def test_groups_may_still_speak_of_what_was_delivered_in_the_step_of_the_freeze() -> None:
    """Where a delivery and a proposal are both due, membership's timer comes first."""
    machine = Machine()
    machine.freeze()
    assert machine.tell(GroupDaemons("g", (member(3).daemon,))) == []
    assert machine.tell(ChangeMade(bundle(1, 1))) == []
    assert machine.stream.state == State.FROZEN
