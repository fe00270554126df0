"""Topologies that need no file: those of seeds 000 and 001, and two sites with a link.

The papers give one ping and the throughput of whole runs, but no link's delay or bandwidth.
What is between, we chose:

- Bandwidths follow from the throughputs. A fan-out sends five copies through the source's
  access link, so that link is five times the figure in Table 1 of seed 001; and each figure
  counts messages, which take about 15 % more on the network, for headers and acknowledgements.
- Delays are those of such distances then. Mae East to UCSB is set by its ping of 104 ms
  with 1024 bytes (SP-211), of which the access links' bandwidth takes nine.
- The tree of least delays is Mae East to UCSB, OSU, Rutgers and CNDS, and CNDS to Hopkins.
  One path is narrow, Mae East to OSU, as throughput along the tree was the same
  from every source.
- TCP is `reno`, the nearest to what hosts had then.
"""

from dataclasses import fields
from pathlib import Path

from antiphon.core.errors import UsageError
from antiphon.tools.wan.reading import load, parse
from antiphon.tools.wan.topology import TCP, LinkSettings, Topology

SIX_SITES = """\
# The six sites of seed 001 (SP-205), one machine each.
name = "six-sites"
tcp = "reno"

[[site]]
name = "mae-east"
up = { mbit = 3.10 }
down = { mbit = 10.0 }

[[site]]
name = "ucsb"
up = { mbit = 1.92 }
down = { mbit = 10.0 }

[[site]]
name = "osu"
up = { mbit = 4.0 }
down = { mbit = 10.0 }

[[site]]
name = "rutgers"
up = { mbit = 1.06 }
down = { mbit = 10.0 }

[[site]]
name = "cnds"
up = { mbit = 4.15 }
down = { mbit = 10.0 }

[[site]]
name = "hopkins"
up = { mbit = 4.0 }
down = { mbit = 10.0 }

# The chain of the latency tests: Mae East, UCSB, OSU, Rutgers, CNDS, Hopkins.

[[link]]
between = ["mae-east", "ucsb"]
delay_ms = 47.2
jitter_ms = 0.6

[[link]]
between = ["ucsb", "osu"]
delay_ms = 49.0
jitter_ms = 0.6

[[link]]
between = ["osu", "rutgers"]
delay_ms = 16.0
jitter_ms = 0.4

[[link]]
between = ["rutgers", "cnds"]
delay_ms = 9.0
jitter_ms = 0.3

[[link]]
between = ["cnds", "hopkins"]
delay_ms = 0.5

# All other pairs.

[[link]]
between = ["mae-east", "osu"]
delay_ms = 8.0
jitter_ms = 0.4
mbit = 0.65
queue_kb = 32
back = { mbit = 0.0 }

[[link]]
between = ["mae-east", "rutgers"]
delay_ms = 7.0
jitter_ms = 0.3

[[link]]
between = ["mae-east", "cnds"]
delay_ms = 5.0
jitter_ms = 0.3

[[link]]
between = ["mae-east", "hopkins"]
delay_ms = 6.0
jitter_ms = 0.3

[[link]]
between = ["ucsb", "rutgers"]
delay_ms = 51.0
jitter_ms = 0.6

[[link]]
between = ["ucsb", "cnds"]
delay_ms = 50.0
jitter_ms = 0.6

[[link]]
between = ["ucsb", "hopkins"]
delay_ms = 50.5
jitter_ms = 0.6

[[link]]
between = ["osu", "cnds"]
delay_ms = 17.0
jitter_ms = 0.4

[[link]]
between = ["osu", "hopkins"]
delay_ms = 17.5
jitter_ms = 0.4

[[link]]
between = ["rutgers", "hopkins"]
delay_ms = 9.5
jitter_ms = 0.3
"""

THREE_SITES = """\
# The three sites of seed 000. The way between JHU and Rutgers limits every
# tree; that between UCSB and Rutgers is worse, so a detour through UCSB costs.
name = "three-sites"
tcp = "reno"

[[site]]
name = "jhu"

[[site]]
name = "ucsb"

[[site]]
name = "rutgers"

[[link]]
between = ["jhu", "ucsb"]
delay_ms = 35.0
jitter_ms = 0.4
mbit = 1.32

[[link]]
between = ["jhu", "rutgers"]
delay_ms = 6.0
jitter_ms = 0.2
mbit = 0.87

[[link]]
between = ["ucsb", "rutgers"]
delay_ms = 39.0
jitter_ms = 0.4
mbit = 0.57
"""

TWO_SITES = "two-sites"
PRESETS = {"six-sites": SIX_SITES, "three-sites": THREE_SITES}
NAMES = [*PRESETS, TWO_SITES]


def text_of(name: str) -> str:
    """The TOML of a preset or of a file."""
    preset, _, options = name.partition(":")
    if preset == TWO_SITES:
        return _two_sites(options)
    return PRESETS[name] if name in PRESETS else Path(name).read_text(encoding="utf-8")


def topology_of(name: str) -> Topology:
    """A preset, `two-sites` with options behind a colon, or a file."""
    if name in PRESETS or name.partition(":")[0] == TWO_SITES:
        return parse(text_of(name), name)
    if not Path(name).exists():
        remedy = f"name a file, or one of {', '.join(NAMES)}"
        raise UsageError("no_topology", f"there is no topology {name!r}", remedy)
    return load(Path(name))


def _two_sites(options: str) -> str:
    """Sites `a` and `b` with one link: two-sites:delay_ms=20,mbit=10,hosts=2."""
    given = dict[str, str]()
    for option in filter(None, options.split(",")):
        key, equals, value = option.partition("=")
        if not equals or key in given:
            remedy = "write two-sites:delay_ms=20,mbit=10"
            raise UsageError("bad_option", f"{option!r} is not one option", remedy)
        given[key] = value
    hosts, tcp = given.pop("hosts", "1"), given.pop("tcp", TCP)
    known = [field.name for field in fields(LinkSettings)]
    for key in given:
        if key not in known:
            remedy = f"known: hosts, tcp, {', '.join(known)}"
            raise UsageError("bad_option", f"there is no option {key!r}", remedy)
    given.setdefault("delay_ms", "50.0")
    lines = [f'name = "{TWO_SITES}"', f'tcp = "{tcp}"', ""]
    for site in "ab":
        lines += ["[[site]]", f'name = "{site}"', f"hosts = {hosts}", ""]
    lines += ["[[link]]", 'between = ["a", "b"]', *(f"{key} = {given[key]}" for key in given)]
    return "\n".join(lines) + "\n"
