"""Tables of the user's own, as jobs read them."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from antiphon.core.errors import UsageError


def read_table(spark: SparkSession, path: Path, columns: tuple[str, ...]) -> DataFrame:
    """Parquet, or CSV with a head line, by its name; these columns must be there."""
    if path.suffix == ".csv":
        table = spark.read.csv(str(path), header=True, inferSchema=True)
    else:
        table = spark.read.parquet(str(path))
    missing = [name for name in columns if name not in table.columns]
    if missing:
        what = f"{path} has no column {', '.join(missing)}"
        raise UsageError("wrong_columns", what, "it needs " + " and ".join(columns))
    return table
