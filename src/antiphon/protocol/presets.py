"""Settings that belong together, written as differences from LAN."""

from dataclasses import dataclass, field, replace

from antiphon.core.errors import ConfigError
from antiphon.core.ids import DaemonId
from antiphon.core.keeping import RetainSettings
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.trace import Level
from antiphon.protocol.links.settings import EdgeSettings, HopSettings
from antiphon.protocol.links.tcp_settings import TcpSettings
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.protocol.sessions.settings import SessionSettings
from antiphon.protocol.stream.settings import StreamSettings


@dataclass(frozen=True, slots=True)
class NodeSettings:
    cluster: int = 1
    """Hash of what all daemons must share; packets of another one are refused."""

    daemons: tuple[DaemonId, ...] = ()
    """Everybody who may ever take part (SP-14)."""

    sites: tuple[tuple[DaemonId, ...], ...] = ()
    """The same daemons by site; empty: all are of one."""

    edges: tuple[EdgeSettings, ...] = ()
    """Between sites, where `hop` and a weight of 1 will not do; each pair at most once."""

    level: Level = Level.VIEWS
    pause_us: int = 100 * MILLISECOND
    """Woken later than this: the process stood still, and nobody else did."""

    stream: StreamSettings = field(default_factory=StreamSettings)
    membership: MembershipSettings = field(default_factory=MembershipSettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    hop: HopSettings = field(default_factory=HopSettings)
    """Of all edges that are not listed."""

    tcp: TcpSettings = field(default_factory=TcpSettings)
    """Of TCP links of which nothing else is said."""

    retain: RetainSettings = field(default_factory=RetainSettings)
    """Which groups are kept; the same patterns at all daemons."""

    def __post_init__(self) -> None:
        if self.pause_us >= self.stream.token_loss_us:
            raise ConfigError("pause_us", "is not below token_loss_us", "lower it")
        placed = sorted(daemon for site in self.sites for daemon in site)
        if self.sites and placed != sorted(self.daemons):
            raise ConfigError("sites", "do not have each daemon once", "name all of them")
        for edge in self.edges:
            if max(edge.one, edge.two) >= len(self.sites):
                raise ConfigError("edges", f"{edge.one} and {edge.two} are not sites", "change it")
            if edge.hop.packet_bytes != self.hop.packet_bytes:
                raise ConfigError("edges", "a packet fits one edge and not another", "change it")
        if len({frozenset((edge.one, edge.two)) for edge in self.edges}) < len(self.edges):
            raise ConfigError("edges", "two are of the same sites", "leave one of them out")

    @property
    def weights(self) -> tuple[tuple[int, int, int], ...]:
        """That are set by hand: from site, to site, weight."""
        ways = [
            way
            for edge in self.edges
            for way in ((edge.one, edge.two, edge.weight), (edge.two, edge.one, edge.weight_back))
        ]
        return tuple((one, two, weight) for one, two, weight in ways if weight is not None)

    def with_room_for(self, overhead: int) -> "NodeSettings":
        """Packets that grow by so much before they leave."""
        return replace(
            self,
            stream=replace(self.stream, packet_bytes=self.stream.packet_bytes - overhead),
            hop=_sized(self.hop, self.hop.packet_bytes - overhead),
            edges=tuple(
                replace(edge, hop=_sized(edge.hop, edge.hop.packet_bytes - overhead))
                for edge in self.edges
            ),
        )

    def with_packets(self, packet_bytes: int) -> "NodeSettings":
        """Packets of this length everywhere: what a ring sends its links must carry."""
        return replace(
            self,
            stream=replace(self.stream, packet_bytes=packet_bytes),
            hop=_sized(self.hop, packet_bytes),
            edges=tuple(replace(edge, hop=_sized(edge.hop, packet_bytes)) for edge in self.edges),
        )

    def within(self, buffer_bytes: int) -> "NodeSettings":
        """A rotation of the ring fits a receive buffer, or packets are lost there. The system
        counts up to twice their bytes."""
        fits = max(4, buffer_bytes // (2 * self.stream.packet_bytes))
        ring = min(self.stream.ring_packets_max, fits)
        member = min(self.stream.member_packets_max, max(2, fits // 2))
        stream = replace(self.stream, ring_packets_max=ring, member_packets_max=member)
        return replace(self, stream=stream)


def _sized(hop: HopSettings, packet_bytes: int) -> HopSettings:
    """One packet may always leave at once."""
    burst_bytes = max(hop.burst_bytes, packet_bytes)
    return replace(hop, packet_bytes=packet_bytes, burst_bytes=burst_bytes)


LAN = NodeSettings()

SIMULATION = replace(
    LAN,
    level=Level.ALL,
    stream=StreamSettings(
        # Small packets, so that a short message is cut and a small window fills.
        packet_bytes=512,
        ring_packets_max=40,
        member_packets_max=12,
        window_packets_low=60,
        window_packets_max=160,
        control_packets_reserve=20,
        far_bytes_min=4_000,
        far_spare_us=100 * MILLISECOND,
        # A long rest: an idle ring should not eat the run.
        token_stay_us=20 * MILLISECOND,
        token_rest_us_min=20 * MILLISECOND,
        token_rest_us_max=150 * MILLISECOND,
        token_repeat_us=25 * MILLISECOND,
        token_loss_us=400 * MILLISECOND,
        receive_failure_us=2 * SECOND,
        blocked_window_us=1_500 * MILLISECOND,
    ),
    membership=MembershipSettings(
        hello_us=60 * MILLISECOND,
        hello_slow_us=400 * MILLISECOND,
        hear_us=1_300 * MILLISECOND,
        hear_alert_us=300 * MILLISECOND,
        settle_us=130 * MILLISECOND,
        greet_us=200 * MILLISECOND,
        hear_far_us=1_300 * MILLISECOND,
        report_life_us=3 * SECOND,
    ),
    sessions=SessionSettings(backlog_max=400, queue_bundle_bytes=1, courtesy_us=100 * MILLISECOND),
    tcp=TcpSettings(
        # Small, so that windows fill; short, so that breaks are found within a run.
        frame_bytes=1_000,
        window_bytes=20_000,
        dial_us=500 * MILLISECOND,
        redial_us_min=20 * MILLISECOND,
        redial_us_max=200 * MILLISECOND,
        silence_us=1 * SECOND,
        dead_us=2_500 * MILLISECOND,
    ),
)
