"""Where daemons stand, in the words of `antiphon status`."""

from antiphon.tools.status_command import _placed, _together

SITES = {"one": "west", "two": "west", "three": "east"}


def test_sites_are_named_where_there_are_several() -> None:
    answer = {
        "daemon": "two",
        "sites": SITES,
        "members": ["one", "two", "three"],
        "segments": [["one", "two"], ["three"]],
    }
    assert _placed(answer) == "two (west)"
    assert _together(answer) == "west: one, two | east: three"


def test_one_site_needs_no_name() -> None:
    answer = {"daemon": "one", "sites": {"one": "main", "two": "main"}, "members": ["one", "two"]}
    assert _placed(answer) == "one"
    assert _together(answer) == "one, two"
