"""The layout of a sealed datagram, and the keys and nonces that belong to it.

kind     u8   PACKET, CHALLENGE or PROOF; no wire version of a plain packet is that high
key      u32  which cluster key
daemon   u64  who sealed it
life     u64  its incarnation
counter  u64  rises with every datagram of a life, under whatever key
sealed        AES-256-GCM, the header above as associated data; the last 16 bytes are the tag

The nonce is the last twelve bytes of the header: half of the life, which is the same for
all that one key seals, and the counter, which is never the same.
"""

from struct import Struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from antiphon.core.ids import Member

PACKET = 0xA1
CHALLENGE = 0xA2
PROOF = 0xA3
KINDS = frozenset((PACKET, CHALLENGE, PROOF))

ORIGIN = Struct(">BIQQ")
COUNTER = Struct(">Q")
LIFE = Struct(">QQ")

ORIGIN_BYTES = ORIGIN.size
HEAD_BYTES = ORIGIN_BYTES + COUNTER.size
NONCE_AT = HEAD_BYTES - 12
LIFE_AT = ORIGIN_BYTES - LIFE.size
TAG_BYTES = 16
OVERHEAD = HEAD_BYTES + TAG_BYTES

RANDOM_BYTES = 16
CHALLENGE_BYTES = OVERHEAD + LIFE.size + RANDOM_BYTES
"""A challenge holds the life it is for, and the random bytes to be said back."""

PROOF_BYTES = OVERHEAD + RANDOM_BYTES

PURPOSE = b"antiphon daemon datagrams 1"


def cipher_of(secret: bytes, life: Member) -> AESGCM:
    """Each life of each daemon seals with a key of its own, so its counter can start at one."""
    info = PURPOSE + LIFE.pack(*life)
    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret))
