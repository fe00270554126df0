"""`antiphon pipeline synthetic`."""

from pathlib import Path

import click

PLANTS = ("swap", "loss", "duplicate", "inversion", "early-safe", "comrades")


@click.command()
@click.argument("tables", type=click.Path(path_type=Path))
@click.option("--rows", default=1_000_000, show_default=True, help="About deliveries, roughly.")
@click.option("--every-service", is_flag=True, help="Not only agreed and safe messages.")
@click.option("--plant", "plants", multiple=True, type=click.Choice(PLANTS), help="A fault.")
@click.option("--run", default="synthetic", show_default=True, help="What it is called.")
def synthetic(
    tables: Path, rows: int, every_service: bool, plants: tuple[str, ...], run: str
) -> None:
    """Write a made-up history into TABLES, to see what `verify` can do.

    Fifty sessions of ten daemons in sixteen groups, twenty views with two splits and three
    crashes. It keeps every promise but for what is planted.
    """
    from antiphon.pipeline.synthetic import Plant, write_tables

    services = (0, 1, 2, 3, 4, 5) if every_service else (4, 5)
    written = write_tables(tables, rows, services, tuple(map(Plant, plants)), run)
    click.echo(f"{written:,} rows about deliveries in {tables}")
