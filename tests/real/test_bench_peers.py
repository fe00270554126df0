"""Systems beside us, each flooded once, as short as can be, where they are installed."""

import shutil

import pytest

from antiphon.tools.bench.peers.nats import nats
from antiphon.tools.bench.peers.zeromq import zeromq
from antiphon.tools.bench.traffic import silent


@pytest.mark.parametrize("size", [100, 65_536])
def test_nats_carries_what_it_is_given(size: int) -> None:
    pytest.importorskip("nats")
    if not shutil.which("nats-server"):
        pytest.skip("needs the server of NATS")
    with nats(silent) as peer:
        assert peer.flood(size, 0.3) > 0


@pytest.mark.parametrize("size", [100, 65_536])
def test_zeromq_carries_what_it_is_given(size: int) -> None:
    pytest.importorskip("zmq")
    with zeromq(silent) as peer:
        assert peer.flood(size, 0.3) > 0
