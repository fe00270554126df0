"""The hosts of a topology as network namespaces: a LAN in each site, a device to the others.

aph<pid>-1   aph<pid>-2   aph<pid>-3        hosts; `lan` to their site's bridge,
    |            |            |                    `wan` to the relay
    +-- site 1 --+            +-- site 2    bridges, all in aph<pid>-hub
"""

from antiphon.tools.chaos.namespaces import Namespaces, run_tool
from antiphon.tools.wan.topology import Topology, hosts_of
from antiphon.tools.wan.tun import DEVICE

ALL_SITES = "10.204.0.0/16"
MULTICAST = "224.0.0.0/4"
MTU = 1500
FORGET_METRICS = "/proc/sys/net/ipv4/tcp_no_metrics_save"
"""Connections learn nothing from those before them: measurements can be repeated."""

DEVICE_PACKETS = 4000
"""What a device holds until the relay reads. Less would lose bursts, for a TUN device does not make
senders wait; more would be a wait that nobody sees."""


class HostSpaces(Namespaces):
    """Made and removed as those of chaos are."""

    def __init__(self, topology: Topology) -> None:
        self.hosts = hosts_of(topology)
        super().__init__(len(self.hosts))
        self._topology = topology

    def _make(self) -> None:
        hub = f"aph{self._owner}-hub"
        for name in (hub, *map(self.name, self.numbers)):
            run_tool(["ip", "netns", "add", name])
        sites = {site.name: f"site{n}" for n, site in enumerate(self._topology.sites, 1)}
        lines = []
        for bridge in sites.values():
            lines += [f"link add {bridge} type bridge", f"link set {bridge} up"]
        for number, host in zip(self.numbers, self.hosts, strict=True):
            peer = f"peer name lan netns {self.name(number)}"
            lines.append(f"link add port{number} type veth {peer}")
            lines.append(f"link set port{number} master {sites[host.site]} up")
        _in(hub, lines)
        for number, host in zip(self.numbers, self.hosts, strict=True):
            run_tool([*self.inside(number), "tee", FORGET_METRICS], "1")
            lines = [f"address add {host.address}/24 broadcast + dev lan"]
            lines += ["link set lo up", "link set lan up", f"route add {MULTICAST} dev lan"]
            _in(self.name(number), lines)

    def join(self) -> None:
        """Use the relay's devices, which must be there."""
        tcp = self._topology.tcp
        for number, host in zip(self.numbers, self.hosts, strict=True):
            _in(
                self.name(number),
                [
                    f"link set {DEVICE} addrgenmode none",  # else it sends on its own
                    f"link set {DEVICE} mtu {MTU} txqueuelen {DEVICE_PACKETS} up",
                    f"route add {ALL_SITES} dev {DEVICE} src {host.address} congctl {tcp}",
                ],
            )


def _in(namespace: str, lines: list[str]) -> None:
    """Many settings by one process."""
    run_tool(["ip", "-n", namespace, "-batch", "-"], "\n".join(lines) + "\n")
