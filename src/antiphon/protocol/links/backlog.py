"""What waits for its turn on a link.

A report goes before the bundles of other streams, for everybody waits for it: else what a site says
of itself would take as long as all that others send. It does not go before bundles of its own
stream. Those who heard of these by it would look for them in vain until they come.
"""

from collections import Counter, deque

OF_NO_STREAM = -1


class Backlog:
    def __init__(self) -> None:
        self.bytes = 0
        self._reports: deque[bytes] = deque()
        self._others: deque[tuple[int, bytes]] = deque()
        self._waiting: Counter[int] = Counter()
        """Of each stream, what waits among the others."""

    def __bool__(self) -> bool:
        return bool(self._reports or self._others)

    def add(self, data: bytes, stream: int = OF_NO_STREAM, is_report: bool = False) -> None:
        self.bytes += len(data)
        if is_report and not self._waiting[stream]:
            self._reports.append(data)
        else:
            self._waiting[stream] += 1
            self._others.append((stream, data))

    @property
    def first(self) -> bytes:
        return self._reports[0] if self._reports else self._others[0][1]

    def pop(self) -> bytes:
        if self._reports:
            data = self._reports.popleft()
        else:
            stream, data = self._others.popleft()
            self._waiting[stream] -= 1
        self.bytes -= len(data)
        return data
