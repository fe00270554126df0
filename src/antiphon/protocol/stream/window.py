"""Packets of one ring: what came, what is missing, what can still be asked for."""


class LinkWindow:
    """Ring packets by link sequence, kept until every member has them (SP-177, SP-192).

    Invariant: released <= contiguous <= highest; `packets` holds everything received
    above `released`.
    """

    __slots__ = ("packets", "highest", "contiguous", "released")

    def __init__(self) -> None:
        self.packets: dict[int, bytes] = {}
        self.highest = 0
        self.contiguous = 0
        self.released = 0

    def store(self, sequence: int, packet: bytes) -> bool:
        """Keep it; False if it was here before."""
        if sequence <= self.contiguous or sequence in self.packets:
            return False
        self.packets[sequence] = packet
        if sequence > self.highest:
            self.highest = sequence
        while self.contiguous + 1 in self.packets:
            self.contiguous += 1
        return True

    def learn(self, sequence: int) -> None:
        """So many were sent: a lost tail shows at the token (SP-244)."""
        if sequence > self.highest:
            self.highest = sequence

    def missing(self, upto: int, runs_max: int) -> list[tuple[int, int]]:
        """Runs of what was sent up to `upto` and did not come."""
        runs: list[tuple[int, int]] = []
        at = self.contiguous + 1
        while at <= upto and len(runs) < runs_max:
            if at in self.packets:
                at += 1
                continue
            first = at
            while at <= upto and at not in self.packets:
                at += 1
            runs.append((first, at - 1))
        return runs

    def answer(
        self, requests: tuple[tuple[int, int], ...], most: int
    ) -> tuple[list[bytes], list[tuple[int, int]]]:
        """Whoever has a packet repeats it; what I lack or may not send stays on the list."""
        packets: list[bytes] = []
        unanswered: list[tuple[int, int]] = []
        for first, last in requests:  # none, nearly always
            for sequence in range(max(first, self.released + 1), last + 1):
                packet = self.packets.get(sequence)
                if packet is not None and len(packets) < most:
                    packets.append(packet)
                else:
                    unanswered.append((sequence, sequence))
        return packets, unanswered

    def release(self, upto: int) -> None:
        """Everybody has these."""
        while self.released < min(upto, self.contiguous):
            self.released += 1
            del self.packets[self.released]


def joined_requests(
    runs: list[tuple[int, int]], more: list[tuple[int, int]], runs_max: int
) -> tuple[tuple[int, int], ...]:
    """Two lists of runs as one: sorted, apart, and not too long for a token."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(runs + more):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged[:runs_max])
