"""The command that follows a daemon, as a process, until Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.client import blocking
from antiphon.core.trace import Kind
from antiphon.pipeline.session import SMALL
from antiphon.pipeline.verify.files import find_pieces, read_piece
from antiphon.records.reader import read_segments
from antiphon.tools.cluster import LocalCluster
from tests.real.waiting import until

pytestmark = pytest.mark.xdist_group("spark processes")

PATIENCE_S = 120.0


class Follower:
    """The command, in a process group of its own as at a terminal."""

    def __init__(self, source: Path, tables: Path) -> None:
        self._out = tables.with_suffix(".out")
        command = [sys.executable, "-m", "antiphon", "pipeline", "ingest", str(source)]
        command += ["--into", str(tables), "--follow", "--every", "0.5", "--json"]
        command += ["--master", "local[2]", "--memory", "1g"]
        command += [f"--conf={name}={value}" for name, value in SMALL.items()]
        with self._out.open("w") as out:
            self._process = subprocess.Popen(command, stdout=out, process_group=0)

    def __enter__(self) -> "Follower":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def await_rows(self, least: int) -> None:
        """Those of segments, and those in hand."""
        until(lambda: self._rows() >= least or self._process.poll() is not None, PATIENCE_S)
        assert self._process.poll() is None

    def _rows(self) -> int:
        batches = [json.loads(line) for line in self._out.read_text().splitlines()]
        in_hand = batches[-1]["open_rows"] if batches else 0
        return in_hand + sum(batch["rows"] for batch in batches)

    def interrupt(self) -> int:
        """Ctrl-C."""
        os.killpg(self._process.pid, signal.SIGINT)
        return self._process.wait(PATIENCE_S)


def test_a_daemon_is_followed_while_it_runs_until_ctrl_c(tmp_path: Path) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    source.mkdir()
    with LocalCluster(1, tmp_path, level="all") as cluster, Follower(source, tables) as follower:
        follower.await_rows(1)
        with blocking.connect(cluster.addresses[0]) as session:
            session.multicast("news", b"first")
        cluster.stop()
        written = [(row.kind.value, row.time) for row in read_segments([source])]
        follower.await_rows(len(written))
        assert follower.interrupt() == 0
    assert sorted(taken(tables)) == sorted(written)
    assert Kind.SUBMIT.value in {kind for kind, _ in written}


def taken(tables: Path) -> Iterator[tuple[str, int]]:
    """Kind and time of each row that counts."""
    for piece in find_pieces(tables):
        for columns in read_piece(piece):
            codes, kinds = columns.codes("kind")
            for code, time in zip(codes.tolist(), columns.longs("time").tolist(), strict=True):
                yield str(kinds[code]), time
