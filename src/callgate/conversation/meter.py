"""Measures the requests of a session: times, speed, and the part of a request that invalidated the provider's cache."""

from collections.abc import Callable, Iterable
from math import isfinite

from callgate.conversation.ports import Model
from callgate.core.ports import Clock
from callgate.words.messages import Usage
from callgate.words.model import Request
from callgate.words.turns import Measures

Span = tuple[float, float]


class SessionMeter:
    """Measures the requests and turns of one session. No method raises or waits.

    hook_seconds  callback that returns the total time of all hooks so far
    """

    def __init__(self, clock: Clock, hook_seconds: Callable[[], float] = lambda: 0.0) -> None:
        self._clock = clock
        self._hook_seconds = hook_seconds
        self._hooks_before = 0.0
        self._before: tuple[str, Request, Usage] | None = None  # the last request with a usage
        self._request: Request | None = None
        self._model = ""
        self._usage: Usage | None = None
        self._times: list[float] = []  # of the last request: sent, first piece, end
        self._lost = ""
        self._asked_model = 0.0  # seconds since the last turn, of all attempts
        self._people = 0.0
        self._asked_at: float | None = None

    def requested(self, model: Model, request: Request) -> None:
        self._model, self._request, self._usage, self._lost = model.name, request, None, ""
        self._times = [self._clock.monotonic()]

    def streaming(self) -> None:
        """Called when the first event of the answer arrives."""
        self._times.append(self._clock.monotonic())

    def received(self, usage: Usage | None) -> None:
        self._times.append(self._clock.monotonic())
        self._asked_model += self._times[-1] - self._times[0]
        self._usage = usage
        if usage is not None and self._request is not None:
            self._lost = self._lost_by(self._model, self._request, usage)
            self._before = (self._model, self._request, usage)

    def waiting(self, *, person: bool) -> None:
        """Called with True when the turn starts to wait for the user, and with False when it continues."""
        if person and self._asked_at is None:
            self._asked_at = self._clock.monotonic()
        elif not person and self._asked_at is not None:
            self._people += self._clock.monotonic() - self._asked_at
            self._asked_at = None

    def turn_over(self, calls: Iterable[Span]) -> Measures:
        """Return the durations of a turn. ``calls`` has the start and the end of each call in wall time."""
        self.waiting(person=False)
        hooks, self._hooks_before = self._hook_seconds() - self._hooks_before, self._hook_seconds()
        people, self._people = self._people, 0.0
        model, self._asked_model = self._asked_model, 0.0
        first = rate = None
        if len(self._times) == 3:
            sent, began, ended = self._times
            first = _seconds(began - sent)
            written = 0 if self._usage is None else self._usage.output
            rate = written / (ended - began) if written and ended > began else None
        self._times = []
        return Measures(
            first_token=first,
            tokens_per_second=None if rate is None else _seconds(rate),
            model=_seconds(model),
            hooks=_seconds(hooks),
            tools=_seconds(_covered(calls)),
            people=_seconds(people),
            cache_lost=self._lost,
        )

    def _lost_by(self, model: str, request: Request, usage: Usage) -> str:
        """Return the name of the part that differs from the previous request, if fewer tokens were read from the
        cache; otherwise an empty string."""
        if self._before is None:
            return ""
        model_before, before, used = self._before
        if usage.cache_read >= used.cache_read:
            return ""
        if model != model_before:
            return "model"
        for part in ("tools", "system", "options", "tool_choice"):
            if getattr(request, part) != getattr(before, part):
                return part
        for at, (one, other) in enumerate(zip(before.messages, request.messages, strict=False), 1):
            if one is not other and one != other:
                return f"message {at}"
        return "messages removed" if len(request.messages) < len(before.messages) else "no change: the cache expired"


def _seconds(measured: float) -> float:
    """Return the measured seconds. If the value is negative or infinite because the clock jumped, return 0.0."""
    return measured if isfinite(measured) and measured > 0 else 0.0


def _covered(spans: Iterable[Span]) -> float:
    """Return the number of seconds that at least one of the spans covers."""
    total, upto = 0.0, float("-inf")
    for start, end in sorted(spans):
        if end > upto:
            total += end - (start if start > upto else upto)
            upto = end
    return total
