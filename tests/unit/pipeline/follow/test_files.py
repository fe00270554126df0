"""What a follower has met: late segments are new, files that change are looked at again."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from antiphon.pipeline.follow.files import END, Met, between, meet, nothing


def put(folder: Path, *names: str, text: bytes = END) -> list[Path]:
    for name in names:
        (folder / name).write_bytes(text)
    return sorted(folder.iterdir())


def new(before: Met, after: Met) -> list[str]:
    return [Path(path).name for path in between(before, after)]


def test_a_late_segment_below_others_is_new(tmp_path: Path) -> None:
    first = meet(nothing(), put(tmp_path, "d1-r1-00000003.arrow", "d1-r1-00000004.arrow"))
    second = meet(first, put(tmp_path, "d1-r1-00000001.arrow"))
    assert new(nothing(), first) == ["d1-r1-00000003.arrow", "d1-r1-00000004.arrow"]
    assert new(first, second) == ["d1-r1-00000001.arrow"]
    assert second["segments"] == {str(tmp_path / "d1-r1"): [[1, 1], [3, 4]]}


def test_the_same_files_are_nothing_new(tmp_path: Path) -> None:
    first = meet(nothing(), put(tmp_path, "d1-r1-00000002.arrow", "a-b-r1-00000001.rows"))
    assert meet(first, reversed(sorted(tmp_path.iterdir()))) == first


def test_removed_segments_stay_known(tmp_path: Path) -> None:
    first = meet(nothing(), put(tmp_path, "d1-r1-00000001.arrow"))
    (tmp_path / "d1-r1-00000001.arrow").unlink()
    assert meet(first, []) == first


def test_a_journal_is_looked_at_with_every_batch_until_it_is_gone(tmp_path: Path) -> None:
    first = meet(nothing(), put(tmp_path, "d1-r1-00000001.rows", text=b"one"))
    grown = meet(first, put(tmp_path, "d1-r1-00000001.rows", text=b"one two"))
    assert grown != first and new(first, grown) == ["d1-r1-00000001.rows"]
    (tmp_path / "d1-r1-00000001.rows").unlink()
    closed = meet(grown, put(tmp_path, "d1-r1-00000001.arrow"))
    assert new(grown, closed) == ["d1-r1-00000001.arrow"]
    assert closed["others"] == {}


def test_a_copy_under_way_is_met_when_it_is_complete(tmp_path: Path) -> None:
    name = "d1-r1-00000001.arrow"
    half = meet(nothing(), put(tmp_path, name, text=b"half"))
    assert not half["segments"] and new(nothing(), half) == [name]
    whole = meet(half, put(tmp_path, name, text=b"half and half" + END))
    assert whole["segments"] and new(half, whole) == [name]


def test_names_from_which_no_path_can_be_made_again_are_kept_as_they_are(tmp_path: Path) -> None:
    names = ["d1-r1-000000001.arrow", "renamed.arrow"]
    found = meet(nothing(), put(tmp_path, *names))
    assert not found["segments"]
    assert new(nothing(), found) == names


def test_a_file_that_goes_away_meanwhile_is_passed_over(tmp_path: Path) -> None:
    gone = [tmp_path / "d1-r1-00000001.arrow", tmp_path / "d1-r1-00000002.rows"]
    assert meet(nothing(), gone) == nothing()


@given(st.lists(st.sets(st.integers(1, 20)), max_size=5))
def test_every_segment_is_in_one_batch(arrivals: list[set[int]]) -> None:
    """Whatever order they come in."""
    with TemporaryDirectory() as made:
        met, taken = nothing(), []
        for numbers in arrivals:
            files = put(Path(made), *(f"d1-r1-{number:08}.arrow" for number in numbers))
            before, met = met, meet(met, files)
            taken += new(before, met)
    every = sorted(set().union(*arrivals))
    assert sorted(taken) == [f"d1-r1-{number:08}.arrow" for number in every]
