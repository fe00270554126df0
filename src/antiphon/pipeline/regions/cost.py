"""What a tiling costs: packets that nodes send and receive in a second.

    a message to a region    1 send, and every node of it receives it, whether it wants it or not
    a message past it        to each member there by itself, where that is cheaper
    repairs                  a packet that was lost comes from a neighbour, which sends it (QS-44)
    the token of a region    once a second through all its nodes, and one answer (QS-56, QS-81)

The last is what a region costs that nobody sends to, the first what a group costs that has many
regions. Merging two trades one against what their nodes did not ask for.
"""

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


class Prices(NamedTuple):
    send: float = 1.0
    receive: float = 1.0
    loss: float = 0.01
    token: float = 1.0
    """Rounds of a token in a second."""

    @property
    def arrive(self) -> float:
        """One packet at one node, repairs included: each try may be lost again."""
        repairs = self.loss / (1 - self.loss)
        return self.receive + repairs * self.send

    def to_region(self, size: float) -> float:
        return self.send + size * self.arrive

    def to_members(self, members: float) -> float:
        return members * (self.send + self.arrive)

    def control(self, size: float) -> float:
        """A hop of the token is one packet sent and received; the answer goes to a sender."""
        return self.token * (size + 1) * (self.send + self.receive)


def costs(demand: DataFrame, sizes: DataFrame, prices: Prices) -> DataFrame:
    """For each region: size, groups, traffic and control. `demand` is (region, group, members,
    rate): how many of its nodes want it; `sizes` is (region, nodes)."""
    whole = prices.send + F.col("nodes") * prices.arrive
    each = F.col("members") * (prices.send + prices.arrive)
    paid = demand.join(sizes, "region").select(
        "region",
        (F.col("rate") * F.least(whole, each)).alias("paid"),
        (whole <= each).alias("as_region"),
    )
    traffic = paid.groupBy("region").agg(
        F.sum("paid").alias("traffic"),
        F.sum(F.col("as_region").cast("long")).alias("carried"),
        F.sum((~F.col("as_region")).cast("long")).alias("aside"),
    )
    control = prices.token * (F.col("nodes") + 1) * (prices.send + prices.receive)
    return sizes.join(traffic, "region", "left").select(
        "region",
        "nodes",
        F.coalesce("carried", F.lit(0)).alias("carried"),
        F.coalesce("aside", F.lit(0)).alias("aside"),
        F.coalesce("traffic", F.lit(0.0)).alias("traffic"),
        control.alias("control"),
    )


def total(table: DataFrame) -> dict[str, float]:
    row = table.agg(
        F.count("*").alias("regions"),
        F.sum("traffic").alias("traffic"),
        F.sum("control").alias("control"),
    ).first()
    assert row is not None, "an aggregate has a row"
    traffic, control = float(row.traffic or 0), float(row.control or 0)
    return {
        "regions": row.regions,
        "traffic": round(traffic, 1),
        "control": round(control, 1),
        "cost": round(traffic + control, 1),
    }
