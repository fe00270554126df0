"""One client process of a bench: `python -m antiphon.tools.bench.worker`, started by the crew."""

import asyncio
import sys
from collections.abc import Sequence

from antiphon.core.errors import AntiphonError
from antiphon.tools.bench import aio_clients, blocking_clients
from antiphon.tools.bench.cue import Cue
from antiphon.tools.bench.plan import Failed, Post, Report, name_of
from antiphon.tools.bench.reception import DaemonsParted


def main() -> None:
    # Unbuffered, so that `has_come` sees what there is.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as heard:
        cue = Cue(heard, sys.stdout.buffer)
        posts = cue.posts()
        reports: Sequence[Report]
        try:
            reports = _run(posts, cue)
        except* (AntiphonError, TimeoutError) as errors:
            error = _first(errors)
            why = f"{name_of(posts)}: {str(error) or type(error).__name__}"
            reports = [Failed(why, isinstance(error, DaemonsParted))]
        cue.report(reports)


def _run(posts: list[Post], cue: Cue) -> Sequence[Report]:
    plan = posts[0].plan
    if plan.client not in ("nats", "zeromq") and plan.api == "asyncio":
        return asyncio.run(aio_clients.run(posts, cue))
    [post] = posts
    # The libraries of other systems are there only where they are measured.
    if plan.client == "nats":
        from antiphon.tools.bench.peers import nats_clients

        return [asyncio.run(nats_clients.run(post, cue))]
    if plan.client == "zeromq":
        from antiphon.tools.bench.peers import zeromq_clients

        return [zeromq_clients.run(post, cue)]
    return [blocking_clients.run(post, cue)]


def _first(error: BaseException) -> BaseException:
    """Of what may be a group of errors in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


if __name__ == "__main__":
    main()
