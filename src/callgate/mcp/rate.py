"""The share of our time that a server may take: a burst, then so much each second."""

from time import monotonic


class RateLimit:
    """``burst`` and ``per_second`` count messages, or whatever is spent."""

    def __init__(self, burst: float, per_second: float) -> None:
        self._burst = self._left = float(burst)
        self._per_second = per_second
        self._counted_at = monotonic()

    def spend(self, cost: float) -> float:
        """The seconds to wait before more is taken of the server; 0 while it is within its share."""
        now = monotonic()
        self._left = min(self._burst, self._left + (now - self._counted_at) * self._per_second) - cost
        self._counted_at = now
        return max(-self._left / self._per_second, 0.0)
