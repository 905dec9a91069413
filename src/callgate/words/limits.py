"""Limits of a session and their defaults: the only place where either stands.

Settings files, the environment, the command line and the documentation take the defaults from here.
"""

from typing import Literal

from callgate.words.errors import ModelError, UsageError
from callgate.words.noun import noun

LARGEST_COUNT = 1_000_000
"""Of any setting that is a count."""


@noun
class ExecutorSettings:
    """``start``: ``early`` is the promise (only calls without effects before the message is whole); ``eager`` starts
    everything on arrival, ``after`` nothing before the end. ``max_message_chars`` is for all results of one message
    together. Times are in seconds."""

    max_concurrency: int = 10
    start: Literal["early", "eager", "after"] = "early"
    grace: float = 5.0
    lock_wait: float = 120.0
    max_result_chars: int = 30_000
    max_message_chars: int = 200_000
    max_error_chars: int = 10_000
    patience: float | None = None
    """Seconds that a question waits for its answer, which is no after that; None waits without a limit."""

    def message_chars(self, window: int | None) -> int:
        """The bound for all results of one message: at most as many characters as the model's window has tokens, which
        is about a third of it; half of that in a small window, where system prompt and tools take most."""
        share = self.max_message_chars if window is None else window if window >= 64_000 else window // 2
        return min(self.max_message_chars, share)

    def checked(self) -> "ExecutorSettings":
        """UsageError names the setting that cannot be."""
        counts = ("max_concurrency", "max_result_chars", "max_message_chars", "max_error_chars")
        for name in (*counts, "grace", "lock_wait"):
            value = getattr(self, name)
            kinds = (int,) if name in counts else (int, float)
            if type(value) not in kinds or value < (1 if name in counts else 0):
                raise UsageError(
                    f"{name} must be {'a whole number above 0' if name in counts else 'seconds'}, not {value!r}"
                )
        if self.patience is not None and (type(self.patience) not in (int, float) or not self.patience > 0):
            raise UsageError(f"patience must be a number of seconds above 0 or None, not {self.patience!r}")
        if self.start not in ("early", "eager", "after"):
            raise UsageError(f"start must be early, eager or after, not {self.start!r}")
        return self


@noun
class Retries:
    """Repetitions of a request that failed, at most ``most`` in a row, and the seconds before each: ``first``, then
    twice as many each time, up to ``longest``, less a random part of at most ``jitter``. What the provider asks for
    comes before that; a wait of more than ``longest_asked`` ends the run. After ``overloads`` overloads in a row the
    fallback model is asked."""

    most: int = 5
    first: float = 1.0
    longest: float = 30.0
    jitter: float = 0.25
    longest_asked: float = 120.0
    overloads: int = 3

    def delay(self, attempt: int, error: ModelError, chance: float = 0.0) -> float:
        """Before the repetition with this number; the first is 1. ``chance`` is a random number from 0 to 1."""
        if error.retry_after is not None:
            return max(0.0, error.retry_after)
        return min(self.first * 2 ** (attempt - 1), self.longest) * (1 - self.jitter * chance)


@noun
class LoopLimits:
    """Every kind of continuation counts as a turn. After so many denials in a row, or in a session, the agent pauses
    until a person lets it go on. ``held_up`` is how often in a run its end may be put off; ``retries`` are those of a
    request that failed. ``max_turns``, ``max_output_tokens`` and ``max_seconds`` are those of a run; ``max_cost`` and
    ``warn_cost`` are dollars of the whole session, over all its lives."""

    max_turns: int | None = None
    max_output_tokens: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    warn_cost: float | None = None
    max_truncations: int = 3
    denials_in_a_row: int = 3
    denials: int = 20
    held_up: int = 3
    retries: Retries = Retries()
