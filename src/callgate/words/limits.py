"""Limits of a session and their defaults. Settings, options of the command line and the documentation use them."""

from dataclasses import replace
from typing import Literal

from callgate.words.errors import ModelError, UsageError
from callgate.words.noun import noun

LARGEST_COUNT = 1_000_000
"""The maximum of all settings that are counts."""


@noun
class ExecutorSettings:
    """Limits of calls. Times are in seconds, sizes in characters.

    start              ``early``: calls without effects start before the message ends; ``eager``: all calls;
                       ``after``: none
    independent        the failure of a call cancels no other call, and calls may be repeated
    grace              time in which a cancelled tool has to end
    lock_wait          maximum time that a call waits for locks
    max_message_chars  limit for all results of one message together
    patience           time after which an open question is answered no; None waits without limit
    """

    max_concurrency: int = 10
    start: Literal["early", "eager", "after"] = "early"
    independent: bool = False
    grace: float = 5.0
    lock_wait: float = 120.0
    max_result_chars: int = 30_000
    max_message_chars: int = 200_000
    max_error_chars: int = 10_000
    patience: float | None = None

    @property
    def for_program(self) -> "ExecutorSettings":
        """The settings for calls that a program makes: each is complete on its own."""
        return replace(self, start="eager", independent=True)

    def message_chars(self, window: int | None) -> int:
        """Return the limit for all results of one message: at most as many characters as the model's window has tokens,
        about a third of the window; half of that for a window below 64,000 tokens."""
        share = self.max_message_chars if window is None else window if window >= 64_000 else window // 2
        return min(self.max_message_chars, share)

    def checked(self) -> "ExecutorSettings":
        """Return the settings. Raise UsageError for an invalid one."""
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
    """Retries of a failed request. The delay doubles with each retry; a delay that the provider asks for comes first.

    most           maximum number of retries in a row
    first          first delay in seconds
    longest        maximum delay
    jitter         maximum share of the delay that is subtracted at random
    longest_asked  the run ends if the provider asks for a longer delay
    overloads      after so many overloads in a row the fallback model is used
    """

    most: int = 5
    first: float = 1.0
    longest: float = 30.0
    jitter: float = 0.25
    longest_asked: float = 120.0
    overloads: int = 3

    def delay(self, attempt: int, error: ModelError, chance: float = 0.0) -> float:
        """Return the delay before a retry; the first has number 1. ``chance`` is a random number from 0 to 1."""
        if error.retry_after is not None:
            return max(0.0, error.retry_after)
        return min(self.first * 2 ** (attempt - 1), self.longest) * (1 - self.jitter * chance)


@noun
class LoopLimits:
    """Limits of a run, and of the costs of a session.

    max_turns         limit of a run, like ``max_output_tokens`` and ``max_seconds``
    max_cost          dollars of the whole session, also before a restart; ``warn_cost`` only warns
    max_truncations   truncated messages in a row after which the run ends
    denials_in_a_row  denials after which the agent pauses until a person continues it; ``denials``: in the session
    held_up           how many times hooks may delay the end of a run
    """

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
