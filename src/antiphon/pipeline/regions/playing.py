"""A tiling played: messages are drawn and counted packet by packet, to see what is predicted.

Who gets a message is looked up node by node in the subscriptions, and what is lost is drawn: none
of the sums of cost.py is used.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.pipeline.regions.cost import Prices
from antiphon.pipeline.regions.plan import Tiling
from antiphon.records.arrow import Batch, load

Generator = np.random.Generator


def played_cost(
    spark: SparkSession,
    interests: DataFrame,
    tiling: Tiling,
    rates: DataFrame,
    prices: Prices,
    messages: int,
    seed: int = 1,
) -> float:
    """Packets in a second, over as long as so many messages take."""
    rng = np.random.default_rng(seed)
    groups = interests.select("group").distinct().join(rates, "group", "left")
    told = groups.select("group", F.coalesce("rate", F.lit(1.0)).alias("rate"))
    rows = told.orderBy("group").collect()
    weights = np.array([row.rate for row in rows])
    seconds = float(rng.exponential(1 / weights.sum(), messages).sum())
    drawn = rng.multinomial(messages, weights / weights.sum())
    chosen = [(row.group, int(n)) for row, n in zip(rows, drawn, strict=True) if n]
    schema = f"group {told.schema['group'].dataType.simpleString()}, times long"
    sent = spark.createDataFrame(chosen, schema)
    receivers = (
        interests.join(F.broadcast(sent), "group")
        .join(tiling.nodes, "node")
        .groupBy("group", "times", "region")
        .agg(F.count("node").alias("members"))
        .join(tiling.sizes, "region")
        .select("region", "times", "members", "nodes")
    )
    traffic = receivers.mapInArrow(_played(prices, seed), "packets double")
    sizes = [row.nodes for row in tiling.sizes.select("nodes").collect()]
    control = _tokens(sizes, prices, seconds, rng)
    (row,) = traffic.agg(F.sum("packets").alias("packets")).collect()
    return (float(row.packets) + control) / seconds


def _played(prices: Prices, seed: int) -> Any:
    def play(batches: Iterable[Any]) -> Iterator[Batch]:
        """In a Python worker: every packet to every receiver, and every repair."""
        pa = load()
        for batch in batches:
            columns = [batch.column(name).to_pylist() for name in ("times", "members", "nodes")]
            at = int(batch.column("region").to_numpy().sum() % 2**31) if batch.num_rows else 0
            rng = np.random.default_rng([seed, at])
            paid = [
                _deliver(times, members, size, prices, rng)
                for times, members, size in zip(*columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays([pa.array(paid, pa.float64())], names=["packets"])

    return play


def _deliver(times: int, members: int, size: int, prices: Prices, rng: Generator) -> float:
    """A group's messages into one region: to all of it, or to the members by themselves."""
    together = prices.send + size * prices.receive
    apart = members * (prices.send + prices.receive)
    sends, receivers = (1, size) if together <= apart else (members, members)
    paid = times * (sends * prices.send + receivers * prices.receive)
    missing = int(rng.binomial(times * receivers, prices.loss))
    while missing:
        paid += missing * prices.send  # what was lost was not received, the repair that comes is
        missing = int(rng.binomial(missing, prices.loss))
    return paid


def _tokens(sizes: list[int], prices: Prices, seconds: float, rng: Generator) -> float:
    """Hops of all tokens; one that is lost is sent again."""
    hops = (np.array(sizes) + 1) * rng.poisson(prices.token * seconds, len(sizes))
    lost = rng.negative_binomial(np.maximum(hops, 1), 1 - prices.loss)
    return float(hops.sum() * (prices.send + prices.receive) + lost.sum() * prices.send)
