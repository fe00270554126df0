"""Which lives of which daemons are known, in bounded memory whatever arrives (P4).

A life is *asked* until it answers a challenge, then *proven*. The two never take each
other's room. Only holders of the cluster key come into either: a life is noted after a
datagram of it was authentic.
"""

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from antiphon.core.ids import Member
from antiphon.core.machine import Instant
from antiphon.daemon.secure.window import Window

LIVES_MAX = 1024
"""Of each sort; four for each daemon of the largest cluster."""

ASK_GAP_US = 50_000
"""A life is asked at most once in this time, and stays noted for at least as long."""

ANSWER_GAP_US = 10_000
"""A life's challenge is answered at most once in this time: it may be a replay."""


class Life:
    __slots__ = ("member", "challenge", "asked_at", "answered_at", "heard_at", "window", "ciphers")

    def __init__(self, now: Instant, member: Member, challenge: bytes) -> None:
        self.member = member
        self.challenge = challenge
        """Stays the same until it is answered: on a slow link the answer to the first asking
        comes after the second."""
        self.asked_at: Instant = now - ASK_GAP_US
        self.answered_at: Instant = now - ANSWER_GAP_US
        self.heard_at: Instant = now
        """When it was last asked, or once it is proven, when a packet of it was opened."""
        self.window = Window(0)
        self.ciphers: dict[int, AESGCM] = {}
        """By key id; the derived keys."""


class Lives:
    def __init__(self) -> None:
        self.proven: dict[Member, Life] = {}
        self.asked: dict[Member, Life] = {}
        """Oldest first."""

    def find(self, member: Member) -> Life | None:
        return self.proven.get(member) or self.asked.get(member)

    def room(self, now: Instant) -> bool:
        """May one more be asked? What was noted a moment ago must have time to answer; this
        also bounds all challenges together."""
        if len(self.asked) < LIVES_MAX:
            return True
        oldest = next(iter(self.asked.values()))
        return now - oldest.heard_at >= ASK_GAP_US

    def note(self, life: Life) -> None:
        if len(self.asked) >= LIVES_MAX:
            del self.asked[next(iter(self.asked))]
        self.asked[life.member] = life

    def ask(self, now: Instant, life: Life) -> None:
        """It is asked now, and the youngest again."""
        life.asked_at = life.heard_at = now
        del self.asked[life.member]
        self.asked[life.member] = life

    def prove(self, now: Instant, life: Life, counter: int) -> Life | None:
        """What was sealed before the proof may be a replay from before we were there, so
        the window starts after it. Returns the life that had to go, silent for longest."""
        del self.asked[life.member]
        gone = None
        if len(self.proven) >= LIVES_MAX:
            gone = min(self.proven.values(), key=lambda other: other.heard_at)
            del self.proven[gone.member]
        life.window = Window(counter)
        life.heard_at = now
        self.proven[life.member] = life
        return gone

    def forget_ciphers(self) -> None:
        for lives in (self.proven, self.asked):
            for life in lives.values():
                life.ciphers.clear()
