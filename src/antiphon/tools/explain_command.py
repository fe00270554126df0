"""`antiphon explain`: what a code means, and the remedy."""

import difflib
import sys

import click
import msgspec

from antiphon.core.codes import CODES


@click.command()
@click.argument("code", required=False)
@click.option("--list", "only_list", is_flag=True, help="List all codes.")
@click.option("--json", "as_json", is_flag=True, help="One object of JSON per line.")
def explain(code: str | None, only_list: bool, as_json: bool) -> None:
    """Say what CODE means: of an error, of a session that was closed, of a dropped packet.

    \b
    Examples:
      antiphon explain slow
      antiphon explain --list

    \b
    Exit codes:
      0  explained
      1  there is no such code
      2  wrong usage
    """
    if only_list == (code is not None):
        raise click.UsageError("give a CODE, or --list")
    if code is None:
        for name in sorted(CODES):
            _print_row(name, as_json)
        return
    if code not in CODES:
        near = difflib.get_close_matches(code, CODES, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "see antiphon explain --list"
        click.echo(f"antiphon explain: there is no code {code!r}; {hint}", err=True)
        sys.exit(1)
    if as_json:
        _print_row(code, as_json)
        return
    known = CODES[code]
    click.echo(f"{code}: {known.summary}\n  cause   {known.cause}\n  remedy  {known.remedy}")


def _print_row(name: str, as_json: bool) -> None:
    known = CODES[name]
    if as_json:
        click.echo(msgspec.json.encode({"code": name, **known._asdict()}).decode())
    else:
        click.echo(f"{name:<22} {known.summary}")
