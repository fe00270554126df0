"""How figures spread: percentiles of values that stand for several things each.

Values are rounded to three digits first, so that however many rows there are, few distinct
values have to be held: half a percent is the most that a figure can be wrong by.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}
DIGITS = 3


def rounded(value: Column) -> Column:
    """To three digits; below a thousand nothing is lost."""
    whole = F.greatest(value, F.lit(0)).cast("long")
    step = F.pow(
        F.lit(10.0),
        F.greatest(F.floor(F.log10(F.greatest(whole, F.lit(1)))) - DIGITS + 1, F.lit(0)),
    )
    return (F.round(whole / step) * step).cast("long")


def spread(value: str, count: str) -> Column:
    """All percentiles and the highest value: one aggregate holds the values only once."""
    shares = F.array(*map(F.lit, (*PERCENTILES.values(), 1.0)))
    return F.percentile(value, shares, F.col(count))


def unpacked(found: Column, per: int, digits: int = 3) -> dict[str, Column]:
    """What `spread` gave, a column each, in units of `per`."""
    names = (*PERCENTILES, "max")
    return {name: F.round(found[place] / per, digits) for place, name in enumerate(names)}
