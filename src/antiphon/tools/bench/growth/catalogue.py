"""All experiments of `bench growth` by name."""

from antiphon.tools.bench.growth.experiment import Claim, Experiment, Panel, Point
from antiphon.tools.bench.plan import Plan

GROUPS = (1, 64, 1024, 8192)
DAEMONS = (1, 2, 3, 4, 6, 8)
IDLE = (1, 10, 50, 100, 200)
IDLE_PER_PROCESS = 50
RECEIVERS = (1, 5, 10, 25, 50)
RECEIVERS_PER_PROCESS = 5
"""Every message is checked for each of them, so one process is not to have them all."""

PATIENT = '[limits]\nbacklog = 1000000\nbacklog_bytes = "1GiB"\n'
"""Receivers of which two cores have too many fall behind, and are not to be cut off for it."""

PING_RATE = 100.0
LEVELS = ("off", "views", "all")

RATE = Panel("messages_per_second", "messages a second")
COST = Panel("cost_us", "µs of a daemon for a message")

groups = Experiment(
    "groups",
    "one sender, a receiver at each of three daemons, groups used in turn",
    "groups",
    tuple(Point(count, Plan(receivers=3, groups=count)) for count in GROUPS),
    (RATE, COST),
    (Claim(1024, "rate_by_first", least=0.95), Claim(8192, "rate_by_first", least=0.85)),
    side_by_side=True,
)

daemons = Experiment(
    "daemons",
    "one sender, a receiver at each daemon",
    "daemons",
    tuple(Point(count, Plan(receivers=count), daemons=count) for count in DAEMONS),
    (RATE, COST),
)

sessions = Experiment(
    "sessions",
    "one sender and one receiver at three daemons, beside sessions that do nothing",
    "idle sessions",
    tuple(
        Point(count, Plan(receivers=1, idle=count, per_process=IDLE_PER_PROCESS)) for count in IDLE
    ),
    (RATE, COST),
    (Claim(200, "cost_by_first", most=1.1),),
)

receivers = Experiment(
    "receivers",
    "one sender, so many receivers at each daemon",
    "receivers at each daemon",
    tuple(
        Point(
            count,
            Plan(receivers=count * daemons, per_process=RECEIVERS_PER_PROCESS),
            daemons=daemons,
            extra=PATIENT,
            series=name,
        )
        for daemons, name in ((1, "one daemon"), (3, "three daemons"))
        for count in RECEIVERS
    ),
    (
        Panel("deliveries_per_second", "messages a second, all receivers together"),
        Panel("delivery_cost_us", "µs of all daemons for a delivery"),
    ),
)

placing = Experiment(
    "placing",
    "one sender and three receivers, at one daemon or at a daemon each",
    "daemons",
    tuple(
        Point(at, Plan(receivers=3, rate=rate), daemons=daemons, series=load)
        for load, rate in (("flood", 0.0), ("ping", PING_RATE))
        for at, daemons in (("one for all", 1), ("one each", 3))
    ),
    (
        Panel("messages_per_second", "messages a second, flood", "flood"),
        Panel("latency_p50_ms", f"latency in ms, {PING_RATE:.0f} messages a second", "ping"),
    ),
    rows="SP-18",
)

records = Experiment(
    "records",
    "one sender, a receiver at each of three daemons, by what the daemons record",
    "level of records",
    tuple(Point(level, Plan(receivers=3), level=level) for level in LEVELS),
    (RATE, COST),
    (Claim("views", "rate_by_first", least=0.97), Claim("all", "rate_by_first", least=0.80)),
    side_by_side=True,
)

EXPERIMENTS = {one.name: one for one in (groups, daemons, sessions, receivers, placing, records)}
