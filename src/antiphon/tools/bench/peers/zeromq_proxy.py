"""ZeroMQ's proxy: `python -m antiphon.tools.bench.peers.zeromq_proxy FOR_SENDERS FOR_RECEIVERS`."""

import sys

import zmq


def main(for_senders: str, for_receivers: str) -> None:
    context = zmq.Context()
    senders, receivers = context.socket(zmq.XSUB), context.socket(zmq.XPUB)
    receivers.setsockopt(zmq.XPUB_NODROP, 1)
    senders.bind(for_senders)
    receivers.bind(for_receivers)
    zmq.proxy(senders, receivers)


if __name__ == "__main__":
    main(*sys.argv[1:])
