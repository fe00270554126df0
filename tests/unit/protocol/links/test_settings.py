"""Settings of an edge that cannot work are refused by name (SP-167, SP-169)."""

from typing import Any

import pytest

from antiphon.core.errors import ConfigError
from antiphon.protocol.links.settings import PACKET_BYTES_MIN, HopSettings
from antiphon.wire.link import LINK_OVERHEAD, OBJECT_OVERHEAD, WINDOW_MAX


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("packet_bytes", {"packet_bytes": PACKET_BYTES_MIN - 1}),
        ("packet_bytes", {"packet_bytes": 65_508}),
        ("rate_bytes", {"rate_bytes": -1}),
        ("rate_bytes", {"rate_bytes_min": 0}),
        ("rate_bytes", {"rate_bytes_min": 10, "rate_bytes_max": 9}),
        ("burst_bytes", {"burst_bytes": 1399}),
        ("burst_bytes", {"rate_bytes": 20_000_000, "burst_bytes": 16_384, "send_us": 1000}),
        ("window_objects", {"window_objects": 0}),
        ("window_objects", {"window_objects": WINDOW_MAX + 1}),
        ("ack_packets", {"ack_packets": 0}),
        ("ack_packets", {"window_objects": 16, "ack_packets": 9}),
        ("ack_short_us", {"ack_short_us": 0}),
        ("ack_short_us", {"ack_short_us": 10, "ack_long_us": 9}),
        ("nack_us", {"nack_us": 10, "nack_us_max": 9}),
        ("nack_us", {"nack_us": -1}),
        ("send_us", {"send_us": 0}),
        ("send_us", {"requests_max": 0}),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name(key: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        HopSettings(**wrong)
    assert refused.value.key == key


def test_an_object_has_at_most_a_packet_for_itself() -> None:
    settings = HopSettings(packet_bytes=1400)
    assert settings.object_bytes_max + LINK_OVERHEAD + OBJECT_OVERHEAD == 1400
    assert HopSettings(packet_bytes=PACKET_BYTES_MIN, burst_bytes=1000).nack_runs_max >= 8
