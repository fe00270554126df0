"""What a reader is answered: every line of the table in docs/protocols/retain.md."""

from antiphon.core.ids import ConfigId, DaemonId, Incarnation
from antiphon.core.offsets import ORIGIN, Branch, Offset
from antiphon.protocol.retain.finding import Finder, Found, Gap, Range
from antiphon.protocol.retain.parts import Part
from antiphon.wire.retained import Ends


def branch(epoch: int) -> Branch:
    return Branch(ConfigId(epoch, DaemonId(1), Incarnation(1), epoch), 0)


A, B, C, D = map(branch, (1, 2, 3, 4))


def part(of: Branch, first: int, last: int, before: Ends = ()) -> Part:
    made = Part(f"log-{first}", "g", of, before)
    made.note(first, last - first + 1, 0)
    return made


def finder(*parts: Part, now: Branch = D, **known: dict[Branch, int]) -> Finder:
    return Finder(list(parts), now, known.get("tips", {}), known.get("covered", {}))


def test_what_is_here_is_given_and_no_more_than_was_asked_for() -> None:
    one = finder(part(A, 1, 10), part(A, 11, 30))
    assert one.after(Offset(A, 4), 100) == Found((Range(A, 5, 30),), Offset(A, 30))
    assert one.after(Offset(A, 4), 3) == Found((Range(A, 5, 7),), Offset(A, 7))
    found = one.after(Offset(A, 4), 100, until=Offset(A, 9))
    assert found == Found((Range(A, 5, 9),), Offset(A, 9))


def test_what_fell_out_is_named() -> None:
    one = finder(part(A, 11, 30))
    assert one.after(Offset(A, 4), 9) == Gap("trimmed", A, 5, 10, Offset(A, 10))
    assert one.earliest == Offset(A, 10)
    assert one.latest == Offset(A, 30)


def test_while_the_branch_lasts_nothing_comes_yet() -> None:
    one = finder(part(A, 1, 10), now=A)
    assert one.after(Offset(A, 10), 9) == Found((), Offset(A, 10))
    assert one.after(Offset(A, 12), 9) == Found((), Offset(A, 12)), "others may be faster"


def test_what_is_not_on_disk_yet_is_waited_for() -> None:
    one = Finder([part(A, 1, 10)], B, {A: 12}, {}, busy=True)
    assert one.after(Offset(A, 10), 9) == Found((), Offset(A, 10))
    later = Finder([part(A, 1, 10)], B, {A: 12}, {})
    assert later.after(Offset(A, 10), 9) == Gap("missing", A, 11, 12, Offset(A, 12))


def test_the_end_of_a_branch_leads_to_the_next_and_names_the_others() -> None:
    one = finder(part(A, 1, 10), part(C, 1, 5, ((A, 10), (B, 7))), now=C)
    assert one.after(Offset(A, 8), 99) == Found(
        (Range(A, 9, 10), Range(C, 1, 5)), Offset(C, 5), ((B, 7),)
    )


def test_a_reader_of_the_other_side_goes_on_where_both_meet() -> None:
    one = finder(part(A, 1, 10), part(C, 1, 5, ((A, 10), (B, 7))), now=C)
    assert one.after(Offset(B, 7), 99) == Found((Range(C, 1, 5),), Offset(C, 5), ((A, 10),))


def test_what_only_the_other_side_has_is_named() -> None:
    parts = part(A, 1, 10), part(C, 1, 5, ((A, 10), (B, 7)))
    one = finder(*parts, now=C, tips={C: 5}, covered={A: 10, B: 7})
    assert one.after(Offset(B, 4), 99) == Gap("missing", B, 5, 7, Offset(C, 0))
    assert one.after(Offset(B, 9), 99) == Gap("other_branch", B, 10, 0, Offset(C, 0))
    assert one.after(Offset(A, 12), 99) == Gap("other_branch", A, 13, 0, Offset(C, 0))


def test_a_daemon_that_was_away_does_not_pass_off_its_hole_as_an_end() -> None:
    one = finder(part(A, 1, 10), part(C, 1, 5, ((B, 7),)), now=C, covered={A: 20, B: 7})
    assert one.after(Offset(A, 10), 99) == Gap("missing", A, 11, 20, Offset(C, 0))
    assert one.after(Offset(A, 9), 99) == Found((Range(A, 10, 10),), Offset(A, 10))


def test_a_daemon_that_came_back_and_heard_of_more_says_so_before_anything_new() -> None:
    one = finder(part(A, 1, 10), now=D, tips={B: 7}, covered={A: 20})
    assert one.after(Offset(A, 10), 99) == Gap("missing", A, 11, 20, Offset(B, 7))
    assert one.after(Offset(B, 7), 99) == Found((), Offset(B, 7))


def test_a_hole_inside_a_branch_is_named() -> None:
    one = finder(part(A, 1, 10), part(A, 15, 20), now=A)
    assert one.after(Offset(A, 8), 99) == Found((Range(A, 9, 10),), Offset(A, 10))
    assert one.after(Offset(A, 10), 99) == Gap("missing", A, 11, 14, Offset(A, 14))


def test_a_branch_whose_beginning_fell_out_is_entered_by_its_name() -> None:
    one = finder(part(C, 3, 5, ((A, 10),)), now=C)
    assert one.after(Offset(A, 10), 9) == Gap("trimmed", C, 1, 2, Offset(C, 2))


def test_the_origin_is_before_a_branch_that_follows_nothing() -> None:
    empty = finder(now=A)
    assert (empty.earliest, empty.latest) == (ORIGIN, ORIGIN)
    assert empty.after(ORIGIN, 9) == Found((), ORIGIN)
    one = finder(part(A, 1, 3), now=A)
    assert one.earliest == ORIGIN
    assert one.after(ORIGIN, 9) == Found((Range(A, 1, 3),), Offset(A, 3))
    later = finder(part(C, 1, 3, ((A, 3),)), now=C)
    assert later.after(ORIGIN, 9) == Gap(
        "trimmed", Branch(ORIGIN.branch.config, 0), 1, 0, Offset(C, 0)
    )
