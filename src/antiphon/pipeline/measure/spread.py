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


def percentiles(value: str, count: str, per: int = 1, digits: int = 3) -> list[Column]:
    """A column for each, and the highest; in units of `per`."""
    found = [
        F.round(F.percentile(value, F.lit(share), F.col(count)) / per, digits).alias(name)
        for name, share in PERCENTILES.items()
    ]
    return [*found, F.round(F.max(value) / per, digits).alias("max")]
