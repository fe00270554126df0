"""One connection between two daemons: both prove who they are, then each frame is sealed.

    caller  --- hello ---------------------> called
    caller  <-- hello, an empty frame ------ called      the caller knows who was called
    caller  --- an empty frame, frames ----> called      and the called one who calls

    hello   kind u8, key u32, daemon u64, life u64, whom it is for u64, 16 random bytes
    frame   length u32, then so many bytes: AES-256-GCM, the last 16 of them the tag

Each direction of each connection has a key of its own, made from the cluster key and both
hellos. So a recording opens nowhere, and the nonce is the number of the frame. Without a
cluster key nothing is sealed or proven; that is allowed on loopback.
"""

from collections.abc import Mapping
from struct import Struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.daemon.secure.datagram import LIFE, RANDOM_BYTES, TAG_BYTES
from antiphon.daemon.secure.keys import Key
from antiphon.wire.packet import HEADER_BYTES

STREAM = 0xA4
NO_KEY = 0
HELLO = Struct(f">BIQQQ{RANDOM_BYTES}s")
LENGTH = Struct(">I")
NONCE = Struct(">4xQ")
FRAME_BYTES_MAX = 1 << 17
"""Above the largest packet of a link."""

SENDER_AT = HEADER_BYTES - LIFE.size
PURPOSE = b"antiphon daemon streams 1"


class Untrusted(Exception):
    """The connection must end: why."""


class Stream:
    """The bytes of a connection, without its socket. `key` is the cluster key to call with;
    `keys` has all that a caller may use."""

    def __init__(
        self,
        me: Member,
        called: DaemonId | None,
        key: Key | None,
        keys: Mapping[int, Key],
        random: bytes,
    ) -> None:
        self.peer: Member | None = None
        """Who is there, once that is proven."""

        self.key_id = key.id if key is not None else NO_KEY
        self.reply = b""
        """To be written before anything else; whoever writes it takes it."""

        self._me = me
        self._called = called
        self._key = key
        self._keys = keys
        self._random = random
        self._claimed: Member | None = None
        self._mine = self._hello(called) if called is not None else b""
        self.reply = self._mine
        self._buffer = bytearray()
        self._sealing: AESGCM | None = None
        self._opening: AESGCM | None = None
        self._sealed = self._opened = 0

    def _hello(self, to: DaemonId) -> bytes:
        return HELLO.pack(STREAM, self.key_id, *self._me, to, self._random)

    def seal(self, packet: bytes) -> bytes:
        if self._sealing is not None:
            packet = self._sealing.encrypt(NONCE.pack(self._sealed), packet, None)
            self._sealed += 1
        return LENGTH.pack(len(packet)) + packet

    def feed(self, data: bytes) -> list[bytes]:
        """Packets of the proven peer; Untrusted ends it."""
        self._buffer += data
        if self._claimed is None and not self._take_hello():
            return []
        packets = []
        at = 0
        buffer = self._buffer
        while len(buffer) - at >= LENGTH.size:
            length = LENGTH.unpack_from(buffer, at)[0]
            if length > (FRAME_BYTES_MAX if self.peer is not None else TAG_BYTES):
                raise Untrusted("frame_too_long")
            end = at + LENGTH.size + length
            if len(buffer) < end:
                break
            packet = self._open(bytes(buffer[at + LENGTH.size : end]))
            at = end
            if self.peer is not None:
                packets.append(self._checked(packet))
            else:
                self._prove(packet)
        del buffer[:at]
        return packets

    # Who is there?

    def _take_hello(self) -> bool:
        if self._buffer and self._buffer[0] != STREAM:
            raise Untrusted("not_sealed")
        if len(self._buffer) < HELLO.size:
            return False
        theirs = bytes(self._buffer[: HELLO.size])
        del self._buffer[: HELLO.size]
        _, key_id, daemon, life, to, _ = HELLO.unpack(theirs)
        if daemon == self._me.daemon:
            raise Untrusted("own")
        if to != self._me.daemon or (self._called is not None and daemon != self._called):
            raise Untrusted("misdirected")
        if self._called is None:
            self._choose_key(key_id)
            self._mine = self._hello(DaemonId(daemon))
            self._derive(theirs + self._mine, b"called", b"caller")
            self.reply = self._mine + self.seal(b"")
        else:
            if key_id != self.key_id:
                raise Untrusted("unknown_key")
            self._derive(self._mine + theirs, b"caller", b"called")
        self._claimed = Member(DaemonId(daemon), Incarnation(life))
        return True

    def _choose_key(self, key_id: int) -> None:
        """The caller's."""
        if self._key is None:
            if key_id != NO_KEY:
                raise Untrusted("sealed")
            return
        if key_id == NO_KEY:
            raise Untrusted("not_sealed")
        if key_id not in self._keys:
            raise Untrusted("unknown_key")
        self._key = self._keys[key_id]
        self.key_id = key_id

    def _derive(self, hellos: bytes, mine: bytes, theirs: bytes) -> None:
        if self._key is not None:
            self._sealing = _cipher(self._key.secret, hellos + mine)
            self._opening = _cipher(self._key.secret, hellos + theirs)

    def _prove(self, packet: bytes) -> None:
        if packet:
            raise Untrusted("unproven")
        self.peer = self._claimed
        if self._called is not None:
            self.reply = self.seal(b"")

    # Frames.

    def _open(self, sealed: bytes) -> bytes:
        if self._opening is None:
            return sealed
        try:
            packet = self._opening.decrypt(NONCE.pack(self._opened), sealed, None)
        except (InvalidTag, ValueError):
            raise Untrusted("bad_seal") from None
        self._opened += 1
        return packet

    def _checked(self, packet: bytes) -> bytes:
        """Nobody speaks for another in a stream."""
        assert self.peer is not None
        if len(packet) < HEADER_BYTES:
            raise Untrusted("too_short")
        if packet[SENDER_AT:HEADER_BYTES] != LIFE.pack(*self.peer):
            raise Untrusted("forged_sender")
        return packet


def _cipher(secret: bytes, purpose: bytes) -> AESGCM:
    info = PURPOSE + purpose
    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret))
