"""What operators may ask, and who may have something done."""

from pathlib import Path
from typing import Any

import pytest

from antiphon.core.errors import AntiphonError
from antiphon.daemon.process import Daemon
from antiphon.wire.client import Answer, Query
from tests.unit.daemon.lone import Lone

NOBODY_IS_ADMIN = "[clients]\nadmin = []\n"


def ask(lone: Lone, what: str, who: str = "uid:0", **arguments: Any) -> Any:
    return lone.daemon.queries.answer(who, Query(1, what, arguments))


def partition(lone: Lone, wanted: object) -> Any:
    return lone.daemon.queries.answer("uid:0", Query(1, "partition", {"with": wanted}))


def test_status_says_what_the_daemon_is_and_does(tmp_path: Path) -> None:
    with Lone(tmp_path, daemons=2) as lone:
        lone.client()
        status = ask(lone, "status")
        assert (status["daemon"], status["sessions"], status["wire_version"]) == ("one", 1, 1)
        assert status["members"] == ["one"] and status["known_daemons"] == ["one", "two"]
        assert status["records"].keys() == {"written", "dropped"}
        assert status["drops"] == {} and status["silenced"] == []
        assert status["links"] == status["leaders"] == [], "one site"


def test_groups_and_members_are_listed(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        client = lone.client("alice")
        client.join("g")
        lone.frame(client)
        assert ask(lone, "groups") == {"groups": {"g": 1}, "all": 1}
        members = ask(lone, "members", group="g")["members"]
        assert [(row["name"], row["daemon"]) for row in members] == [("alice", "one")]
        for group in ("h", 7, None):
            with pytest.raises(ValueError, match="unknown_group"):
                ask(lone, "members", group=group)


def test_a_list_of_groups_that_is_cut_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.daemon.queries.GROUPS_MAX", 2)
    with Lone(tmp_path) as lone:
        client = lone.client("alice")
        for number in range(3):
            client.join(f"g{number}")
        lone.frames(client, 3)
        answer = ask(lone, "groups")
        assert (len(answer["groups"]), answer["all"]) == (2, 3)


def test_a_question_that_is_none_names_those_that_are(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        with pytest.raises(ValueError, match="status, groups, members"):
            ask(lone, "weather")


@pytest.mark.parametrize("what", ["stop", "reload", "partition"])
def test_only_admins_change_something(tmp_path: Path, what: str) -> None:
    with Lone(tmp_path, NOBODY_IS_ADMIN) as lone:
        for who in ("", "uid:0", "token:admin"):
            with pytest.raises(ValueError, match="not_allowed"):
                ask(lone, what, who)
        lone.daemon.queries.admins = ("token:ops-*",)
        with pytest.raises(ValueError, match="not_allowed"):
            ask(lone, what, "token:bob")
        ask(lone, what, "token:ops-1")


def test_a_partition_is_drawn_and_lifted(tmp_path: Path) -> None:
    with Lone(tmp_path, daemons=3) as lone:
        assert partition(lone, ["two"]) == {"silenced": ["three"]}
        assert ask(lone, "status")["silenced"] == ["three"]
        assert partition(lone, []) == {"silenced": ["three", "two"]}
        assert ask(lone, "partition") == {"silenced": []}
        assert ask(lone, "status")["silenced"] == []


@pytest.mark.parametrize("wanted", [5, "two", {"two": 1}, ["four"], [["two"]], [None]])
def test_a_partition_with_nonsense_is_refused(tmp_path: Path, wanted: object) -> None:
    with Lone(tmp_path, daemons=3) as lone:
        with pytest.raises(ValueError, match="bad_argument|unknown_daemon"):
            partition(lone, wanted)
        assert ask(lone, "status")["silenced"] == []


def test_an_error_of_the_configuration_is_an_answer(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        lone.config.write_text("nonsense")
        with pytest.raises(AntiphonError):
            ask(lone, "reload")
        client = lone.client()
        client.say(Query(5, "reload", {}))
        answer = lone.frame(client)
        assert isinstance(answer, Answer) and answer.number == 5
        assert "cluster.toml" in answer.error


def test_stop_is_a_wish(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        daemon: Daemon = lone.daemon
        assert not daemon._stopping
        assert ask(lone, "stop") == {"stopping": "one"}
        assert daemon._stopping
