"""A token bucket that limits how fast the messages of a server are processed."""

from collections.abc import Callable
from time import monotonic


class RateLimit:
    """A token bucket. ``burst`` and ``per_second`` are numbers of messages or of other units of work."""

    def __init__(self, burst: float, per_second: float, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._burst = self._left = float(burst)
        self._per_second = per_second
        self._counted_at = now()

    def spend(self, cost: float) -> float:
        """Take ``cost`` tokens and return the seconds to wait before reading more."""
        self._left = self._available() - cost
        return max(-self._left / self._per_second, 0.0)

    def takes(self) -> bool:
        """Take one token and return True, or return False if the bucket is empty."""
        self._left = self._available()
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def _available(self) -> float:
        now = self._now()
        since, self._counted_at = now - self._counted_at, now
        return min(self._burst, self._left + since * self._per_second)
