"""All experiments by name, in the order of the papers."""

from antiphon.tools.bench.wan.fairness import fairness
from antiphon.tools.bench.wan.order import agreed, pruning
from antiphon.tools.bench.wan.outcome import Experiment

EXPERIMENTS = {
    "fairness": Experiment("an automatic rate beside kernel TCP", fairness),
    "pruning": Experiment("bytes that a site without members gets", pruning),
    "agreed": Experiment("order across idle sites", agreed),
}
