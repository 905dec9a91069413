"""Limits of a session and their defaults, which settings, command line options and the documentation use."""

from dataclasses import replace
from typing import Literal

from callgate.words.errors import ModelError, UsageError
from callgate.words.noun import noun

LARGEST_COUNT = 1_000_000
"""The maximum of all settings that are counts."""


@noun
class ExecutorSettings:
    """Limits of calls. Times are in seconds, sizes in characters.

    start              ``early``: calls without effects start before the message ends; ``eager``: all calls do;
                       ``after``: no calls do
    independent        the failure of a call does not cancel other calls, and calls may be repeated
    grace              time in which a cancelled tool has to end
    lock_wait          maximum time that a call waits for locks
    max_message_chars  limit for the total size of the results of one message
    patience           time after which an open question is answered with "no"; None waits without limit
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
        """The settings for independent calls that a program makes."""
        return replace(self, start="eager", independent=True)

    def message_chars(self, window: int | None) -> int:
        """Return the limit in characters for the total size of the results of one message.

        The limit is ``max_message_chars``, but at most the number of tokens of the context window, which is about a
        third of the window. For a window below 64,000 tokens it is at most half the number of tokens.
        """
        share = self.max_message_chars if window is None else window if window >= 64_000 else window // 2
        return min(self.max_message_chars, share)

    def checked(self) -> "ExecutorSettings":
        """Return the settings unchanged. Raise UsageError if a setting is invalid."""
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
    """Retries of a failed request. The delay doubles with each retry, unless the provider asks for a certain delay.

    most           maximum number of consecutive retries
    first          first delay in seconds
    longest        maximum delay in seconds
    jitter         maximum share of the delay that is subtracted at random
    longest_asked  the run ends if the provider asks for a longer delay, in seconds
    overloads      number of consecutive overloads after which the fallback model is used
    """

    most: int = 5
    first: float = 1.0
    longest: float = 30.0
    jitter: float = 0.25
    longest_asked: float = 120.0
    overloads: int = 3

    def delay(self, attempt: int, error: ModelError, chance: float = 0.0) -> float:
        """Return the delay in seconds before the retry with this number; the first retry has number 1. ``chance`` is
        a random number from 0 to 1."""
        if error.retry_after is not None:
            return max(0.0, error.retry_after)
        return min(self.first * 2 ** (attempt - 1), self.longest) * (1 - self.jitter * chance)


@noun
class LoopLimits:
    """Limits of a run, and of the costs of a session. None means no limit.

    max_turns          maximum number of turns of a run
    max_output_tokens  maximum number of output tokens of a run
    max_seconds        maximum duration of a run
    max_cost           maximum cost of the whole session in dollars, also across restarts
    warn_cost          cost in dollars above which the user is warned
    max_tool_calls     maximum number of tool calls of a run; further calls are not run, and the run ends
    max_failures       number of consecutive failures of one tool after which the run ends
    max_truncations    number of consecutive truncated messages after which the run ends
    denials_in_a_row   number of consecutive denials after which the agent pauses until the user continues it
    denials            number of denials, consecutive or not, after which the agent pauses
    held_up            how many times hooks may delay the end of a run
    """

    max_turns: int | None = None
    max_output_tokens: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    warn_cost: float | None = None
    max_tool_calls: int | None = None
    max_failures: int | None = None
    max_truncations: int = 3
    denials_in_a_row: int = 3
    denials: int = 20
    held_up: int = 3
    retries: Retries = Retries()
