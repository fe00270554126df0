"""[timeouts], [tuning], [hop] and [tcp]: one key for each number of the protocol's settings.

The keys are made from the settings themselves, so that there is none without a key. Times and
rates lose their unit: token_loss_us is the key token_loss.
"""

from dataclasses import fields, replace
from typing import Any, NamedTuple

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.daemon.config.declaration import COUNT_MAX, Key
from antiphon.daemon.config.values import RATE, SIZE, TIME, TIMEOUT, Kind, count
from antiphon.protocol.presets import LAN, NodeSettings

WAN = replace(
    LAN,
    pause_us=500 * MILLISECOND,
    stream=replace(
        LAN.stream,
        # A rotation takes as long as a way around the world: more may be under way.
        ring_packets_max=640,
        member_packets_max=160,
        window_packets_low=1_600,
        window_packets_max=6_400,
        delay_us_max=100 * MILLISECOND,
        token_stay_us=5 * MILLISECOND,
        token_rest_us_min=20 * MILLISECOND,
        token_rest_us_max=200 * MILLISECOND,
        token_repeat_us=150 * MILLISECOND,
        token_loss_us=1_500 * MILLISECOND,
        receive_failure_us=10 * SECOND,
        blocked_window_us=8 * SECOND,
        partial_life_us=1 * SECOND,
        pull_us=150 * MILLISECOND,
    ),
    membership=replace(
        LAN.membership,
        hello_us=150 * MILLISECOND,
        hello_slow_us=800 * MILLISECOND,
        hello_gap_us=20 * MILLISECOND,
        hear_us=2_600 * MILLISECOND,
        hear_alert_us=800 * MILLISECOND,
        settle_us=350 * MILLISECOND,
        calm_us=4 * SECOND,
        repeat_us=150 * MILLISECOND,
        attempt_us=2_500 * MILLISECOND,
        penalty_us=1 * SECOND,
    ),
)
PRESETS: dict[str, NodeSettings] = {"lan": LAN, "wan": WAN}

NODE, STREAM, MEMBERSHIP, HOP, TCP = "node", "stream", "membership", "hop", "tcp"
TOLD_ELSEWHERE = "packet_bytes"


class Dial(NamedTuple):
    """Where the number of a key goes."""

    layer: str
    field: str


def _dials(times: bool) -> dict[str, Dial]:
    found = {"pause": Dial(NODE, "pause_us")} if times else {}
    for layer in (STREAM, MEMBERSHIP):
        for each in fields(getattr(LAN, layer)):
            told_elsewhere = each.name == TOLD_ELSEWHERE or each.type is bool
            if ("_us" in each.name) == times and not told_elsewhere:
                found[each.name.replace("_us", "")] = Dial(layer, each.name)
    return found


def _hop_dials() -> dict[str, Dial]:
    return {
        each.name.replace("_us", "").replace("rate_bytes", "rate"): Dial(HOP, each.name)
        for each in fields(LAN.hop)
        if each.name != TOLD_ELSEWHERE
    }


def _hop_kind(field: str) -> Kind:
    if "rate_bytes" in field:
        return RATE
    if "_us" in field:
        return TIME if field.startswith("nack") else TIMEOUT  # a gap need not wait at all
    return SIZE if "_bytes" in field else count(1, COUNT_MAX)


def _tcp_dials() -> dict[str, Dial]:
    return {each.name.replace("_us", ""): Dial(TCP, each.name) for each in fields(LAN.tcp)}


def _tcp_kind(field: str) -> Kind:
    if "_us" in field:
        return TIMEOUT
    return SIZE if "_bytes" in field else count(1, COUNT_MAX)


def setting(preset: NodeSettings, dial: Dial) -> int:
    layer: Any = preset if dial.layer == NODE else getattr(preset, dial.layer)
    value = getattr(layer, dial.field)
    assert isinstance(value, int)
    return value


DIALS = {
    "timeouts": _dials(times=True),
    "tuning": _dials(times=False),
    "hop": _hop_dials(),
    "tcp": _tcp_dials(),
}

# Only what is off by default may be turned off.
KEYS = {
    "timeouts": {
        name: Key(TIMEOUT if setting(LAN, dial) else TIME, None, True)
        for name, dial in DIALS["timeouts"].items()
    },
    "tuning": {
        name: Key(
            SIZE if "_bytes" in name else count(min(1, setting(LAN, dial)), COUNT_MAX),
            None,
            True,
        )
        for name, dial in DIALS["tuning"].items()
    },
    "hop": {name: Key(_hop_kind(dial.field), None, True) for name, dial in DIALS["hop"].items()},
    "tcp": {name: Key(_tcp_kind(dial.field), None, True) for name, dial in DIALS["tcp"].items()},
}
"""The default is the preset's; of an edge, that of [hop]."""
