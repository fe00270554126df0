"""All experiments by name, in the order of the papers."""

from antiphon.tools.bench.wan.early import ring, ring_wide, three_sites
from antiphon.tools.bench.wan.experiment import Experiment
from antiphon.tools.bench.wan.fairness import fairness
from antiphon.tools.bench.wan.latency import chain, loads, sizes, table2
from antiphon.tools.bench.wan.links import false_nacks, figure5
from antiphon.tools.bench.wan.loss import table3, table4, table4_chain, tcp_under_loss
from antiphon.tools.bench.wan.order import agreed, pruning
from antiphon.tools.bench.wan.overlays import table1, table1_hop

EXPERIMENTS = {
    "three-sites": Experiment("seed 000: each source, and the detour", three_sites),
    "ring": Experiment("seed 000: one ring over the same paths", ring),
    "ring-wide": Experiment("one ring over paths with bandwidth to spare", ring_wide),
    "figure5": Experiment("messages that overtake each other on their way", figure5),
    "false-nacks": Experiment("requests for what is only late", false_nacks),
    "table1": Experiment("fan-out and tree by TCP links", table1),
    "table1-hop": Experiment("fan-out and tree by Hop", table1_hop),
    "table2": Experiment("round trips on one link", table2),
    "chain": Experiment("Figures 6 to 9: round trips along the chain", chain),
    "sizes": Experiment("Figure 10: round trips by size", sizes),
    "loads": Experiment("Figure 11: round trips under load", loads),
    "table3": Experiment("one link under loss", table3),
    "table4": Experiment("five links under loss", table4),
    "table4-chain": Experiment("five links in a chain under loss", table4_chain),
    "tcp-loss": Experiment("Hop and TCP links under loss", tcp_under_loss),
    "fairness": Experiment("an automatic rate beside kernel TCP", fairness),
    "pruning": Experiment("bytes that a site without members gets", pruning),
    "agreed": Experiment("order across idle sites", agreed),
}
