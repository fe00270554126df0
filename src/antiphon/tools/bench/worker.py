"""One client process of a bench: `python -m antiphon.tools.bench.worker`, started by the crew."""

import asyncio
import sys

from antiphon.core.errors import AntiphonError
from antiphon.tools.bench import aio_clients, blocking_clients
from antiphon.tools.bench.cue import Cue
from antiphon.tools.bench.plan import Failed, Post, Received, Report, Sent


def main() -> None:
    # Unbuffered, so that `has_come` sees what there is.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as heard:
        cue = Cue(heard, sys.stdout.buffer)
        post = cue.post()
        report: Report
        try:
            report = _run(post, cue)
        except* (AntiphonError, TimeoutError) as errors:
            report = Failed(f"{post.name}: {_first(errors)}")
        cue.report(report)


def _run(post: Post, cue: Cue) -> Sent | Received:
    # The libraries of other systems are there only where they are measured.
    if post.plan.client == "nats":
        from antiphon.tools.bench.peers import nats_clients

        return asyncio.run(nats_clients.run(post, cue))
    if post.plan.client == "zeromq":
        from antiphon.tools.bench.peers import zeromq_clients

        return zeromq_clients.run(post, cue)
    if post.plan.api == "asyncio":
        return asyncio.run(aio_clients.run(post, cue))
    return blocking_clients.run(post, cue)


def _first(error: BaseException) -> str:
    """Of what may be a group of errors in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{error or type(error).__name__}"


if __name__ == "__main__":
    main()
