"""What status says of a link."""

from typing import Any

from antiphon.tools.status_command import _details

LINK = {
    "peer": "two",
    "kind": "hop",
    "state": "up",
    "round_trip_ms": 40.25,
    "loss": 0.012,
    "rate_bits": 10_000_000,
    "waiting_bytes": 12_000,
    "unacknowledged": 7,
}


def shown(**changes: Any) -> list[str]:
    answer: dict[str, Any] = dict.fromkeys(
        ("offload", "network", "drops", "clients", "stalls", "records"), {}
    )
    answer |= {"daemon": "one", "id": 1, "pid": 2, "uptime_seconds": 3, "state": "operational"}
    answer |= {"members": ["one", "two"], "known_daemons": ["one", "two"], "silenced": []}
    answer |= {"evidence": "", "sessions": 0, "groups": 0, "links": [LINK | changes], "sites": {}}
    names, values = (list(column.cells) for column in _details(answer).columns)
    return [value for name, value in zip(names, values, strict=True) if name == "link to two"]


def test_a_link_is_told_in_a_line() -> None:
    (line,) = shown()
    assert line == (
        "hop, round trip 40.2 ms, loss 1.2 %, rate 10.00 Mbit/s, waiting 12,000 bytes, "
        "not acknowledged 7"
    )


def test_what_is_not_known_is_not_made_up() -> None:
    (line,) = shown(kind="tcp", state="dialling", rate_bits=None, round_trip_ms=None, loss=0.0)
    assert line.startswith("tcp, dialling, round trip not known yet, loss 0.0 %, waiting")
