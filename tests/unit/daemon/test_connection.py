"""One client's stream, over a pair of sockets."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.daemon.connection import PIECES_MAX, READ_BYTES, Connection, Gone
from tests.real.certificates import Authority

Ends = tuple[Connection, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    connection = Connection(ours, "uid:1", 0)
    theirs.settimeout(5)
    yield connection, theirs
    connection.close()
    theirs.close()


def read_exactly(end: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = end.recv(size - len(data))
        assert piece
        data += piece
    return data


def test_what_came_is_read_and_then_nothing(ends: Ends) -> None:
    connection, theirs = ends
    assert connection.read() == b""
    theirs.sendall(b"hello")
    assert connection.read() == b"hello"
    assert connection.read() == b""


def test_what_came_before_the_end_is_read_first(ends: Ends) -> None:
    connection, theirs = ends
    theirs.sendall(b"last words")
    theirs.close()
    assert connection.read() == b"last words"
    with pytest.raises(Gone, match="disconnected"):
        connection.read()


def test_one_turn_reads_no_more_than_its_share(ends: Ends) -> None:
    connection, theirs = ends
    theirs.setblocking(False)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    total = 0
    try:
        while True:
            total += theirs.send(bytes(READ_BYTES))
    except BlockingIOError:
        pass
    read = len(connection.read())
    assert 0 < read <= READ_BYTES
    while piece := connection.read():
        assert len(piece) <= READ_BYTES
        read += len(piece)
    assert read == total


def test_news_count_when_their_last_byte_has_gone(ends: Ends) -> None:
    connection, theirs = ends
    connection.queue((b"wel", b"come"))
    connection.queue((b"view",), True)
    connection.queue((b"message",), True, 100)
    assert connection.waiting and connection.waiting_bytes == 18
    assert connection.write() == (2, 100)
    assert not connection.waiting and connection.waiting_bytes == 0
    assert read_exactly(theirs, 18) == b"welcomeviewmessage"
    assert connection.write() == (0, 0)


def test_what_the_kernel_does_not_take_waits(ends: Ends) -> None:
    connection, theirs = ends
    large = bytes(range(256)) * 40_000
    connection.queue((large,), True, 7)
    connection.queue((b"end",), True, 1)
    assert connection.write() == (0, 0)
    assert 0 < connection.waiting_bytes < len(large) + 3
    got = b""
    counted = [0, 0]
    while connection.waiting:
        got += theirs.recv(1 << 20)
        count, size = connection.write()
        counted[0] += count
        counted[1] += size
    got += read_exactly(theirs, len(large) + 3 - len(got))
    assert got == large + b"end" and counted == [2, 8]


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=50), st.booleans()), max_size=40))
def test_the_order_of_what_is_queued_is_kept(pieces: list[tuple[bytes, bool]]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = Connection(ours, "", 0)
        for data, is_news in pieces:
            connection.queue((data,), is_news, len(data))
        news = [data for data, is_news in pieces if is_news]
        assert connection.write() == (len(news), sum(map(len, news)))
        whole = b"".join(data for data, _ in pieces)
        assert read_exactly(theirs, len(whole)) == whole


def test_more_pieces_than_one_call_takes_leave_one_after_the_other(ends: Ends) -> None:
    connection, theirs = ends
    pieces = [bytes([number]) * 3 for number in range(2 * PIECES_MAX + 1)]
    for piece in pieces:
        connection.queue((piece,), True, 1)
    assert connection.write() == (len(pieces), len(pieces))
    assert read_exactly(theirs, 3 * len(pieces)) == b"".join(pieces)


def test_a_closed_peer_is_gone_for_writing_too(ends: Ends) -> None:
    connection, theirs = ends
    theirs.close()
    connection.queue((b"x",))
    with pytest.raises(Gone, match="broken pipe"):
        connection.write()


def test_tls_is_seen_by_its_first_byte_which_stays(ends: Ends) -> None:
    connection, theirs = ends
    assert not connection.starts_with_tls()
    theirs.sendall(b"\x16rest")
    assert connection.starts_with_tls()
    assert connection.read() == b"\x16rest"
    theirs.sendall(b"APHN")
    assert not connection.starts_with_tls()


def test_a_handshake_that_is_none_ends_the_connection(tmp_path: Path) -> None:
    Authority(tmp_path).sign("daemon")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "daemon.pem", tmp_path / "daemon.key")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = socket.create_connection(listener.getsockname())
        connection = Connection(listener.accept()[0], "", 0)
        assert not connection.is_private
        connection.wrap(context)
        assert connection.is_private
        assert not connection.shake_hands()
        theirs.sendall(b"\x16\x03\x01\x00\x05hello")
        with pytest.raises(Gone, match="tls"):
            while not connection.shake_hands():
                pass
        theirs.close()
        connection.close()
