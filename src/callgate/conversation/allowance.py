"""Limits of a run: turns, output tokens, dollars and seconds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from callgate.conversation.ports import Model
from callgate.conversation.record import Record
from callgate.core.ports import Clock, Timer
from callgate.words.endings import RunReason
from callgate.words.late_pattern import late_pattern
from callgate.words.limits import LoopLimits
from callgate.words.messages import Spent, Usage
from callgate.words.model import RequestLimits

Price = Callable[[str, Usage], float | None]
"""Returns the dollars for the usage of a request to a model of this name, or None if no price is known. Must not
raise."""

FEWEST_TOKENS = 200
"""The minimum of affordable output tokens for a request."""

NEAR_THE_END = 0.8
MOST_EXTENSIONS, FEWEST_NEW_TOKENS = 3, 500
"""The number of times that a run with tokens left in its budget is continued, and the minimum output of each time."""

_AROUND = " This is a limit of the parent session."
_BUDGET = late_pattern(r"(?:^|\s)\+(\d{1,9}(?:\.\d{1,3})?)([kKmM])(?:\s|$)")


def budget_in(text: str) -> int | None:
    """Return the budget of output tokens in the first or last word of a prompt, such as ``+500k`` or ``+2m``; None
    if there is none."""
    for found in _BUDGET.finditer(text):
        if not text[: found.start()].strip() or not text[found.end() :].strip():
            return int(float(found[1]) * (1_000 if found[2] in "kK" else 1_000_000)) or None
    return None


class Allowance:
    """Measures the usage of one run and of its nested sessions, from ``begin`` to ``end``.

    Time in which the run waits for the user is not included.

    unsettled  returns the costs of messages in open turns, of this session and of nested sessions
    outer      returns the allowance of the parent session, whose limits apply too
    """

    def __init__(
        self,
        limits: LoopLimits,
        record: Record,
        clock: Clock,
        price: Price | None,
        unsettled: Callable[[], Iterable[Spent]] = lambda: (),
        outer: Callable[[], "Allowance | None"] = lambda: None,
    ) -> None:
        self._limits = limits
        self._record = record
        self._clock = clock
        self._price = price
        self._unsettled = unsettled
        self._outer = outer
        self.budget: int | None = None
        """The budget of output tokens in the prompt of the run."""
        self._warned = False  # the model was told that the budget is nearly used up
        self._extensions = self._used_before = (
            0  # continuations to use the budget, and the tokens used before the last one
        )
        self._turns = 0
        self._cost, self._written = 0.0, record.ledger.usage.output
        self._last: Usage | None = None
        self._seconds = limits.max_seconds
        self._since = 0.0
        self._timer: Timer | None = None
        self._call: Callable[[], None] = lambda: None
        self.out_of_time = False

    def begin(self, budget: int | None, call: Callable[[], None]) -> None:
        """Start a run. ``budget`` is the token budget of the prompt. ``call`` is a callback for the moment when the
        time limit is reached."""
        ledger = self._record.ledger
        self._cost, self._written = ledger.cost, ledger.usage.output
        self.budget, self._call = budget, call
        self.resume()

    def end(self) -> None:
        self.pause()
        self.budget = None

    # ---- before a request ---------------------------------------------------------------------------------------

    def reached(self, model: Model) -> tuple[RunReason, str, str] | None:
        """Return the limit that forbids another request, as reason, kind and details; None if no limit is reached."""
        limits = self._limits
        if limits.max_turns is not None and self._turns >= limits.max_turns:
            return "limit", "turns", ""
        ledger = self._record.ledger
        if limits.max_tool_calls is not None and ledger.called > limits.max_tool_calls:
            return "limit", "tool calls", f"{limits.max_tool_calls} calls were made."
        failing = max(ledger.failing.items(), key=lambda each: each[1], default=("", 0))
        if limits.max_failures is not None and failing[1] >= limits.max_failures:
            return "limit", "failures", f"{failing[0]} failed {failing[1]} times in a row."
        if self.out_of_time:
            return "limit", "seconds", f"The run has worked for {limits.max_seconds:g} s."
        return self.used_up(model)

    def used_up(
        self, model: Model, attempt: Spent | None = None, last: Usage | None = None
    ) -> tuple[RunReason, str, str] | None:
        """Return the limit of tokens or dollars that forbids a request, or None. Limits of parent sessions are
        included.

        attempt  the costs of a failed request that are not recorded
        last     the usage of the last request; by default of the last request of this session
        """
        limits, last = self._limits, last or (self._last if attempt is None else attempt.usage)
        written = self._output + (0 if attempt is None else attempt.usage.output)
        if limits.max_output_tokens is not None and written >= limits.max_output_tokens:
            return "limit", "output tokens", f"{written:,} of {limits.max_output_tokens:,} tokens were used."
        if self.budget is not None and self.budget <= written:
            return "budget", "tokens", f"{written:,} of {self.budget:,} output tokens were used."
        if limits.max_cost is not None:
            cost = self._dollars + (0.0 if attempt is None else attempt.cost or 0.0)
            affordable = self._affordable(model, cost, last)
            if cost >= limits.max_cost or (affordable is not None and affordable < FEWEST_TOKENS):
                spent = f"${cost:.2f} of ${limits.max_cost:.2f} are spent, and the next request would exceed the limit."
                return "budget", "dollars", spent
        outer = self._outer()
        found = None if outer is None else outer.used_up(model, attempt, last)
        return found and (found[0], found[1], found[2].removesuffix(_AROUND) + _AROUND)

    def request_limits(self, limits: RequestLimits, model: Model) -> RequestLimits:
        """Return limits for the next request. With these limits, its output exceeds no limit of this run or of a
        parent session."""
        self._turns += 1
        most = min(self._left(model, self._last), default=None)
        asked = limits.max_output_tokens or model.abilities.output_tokens
        if most is None or (asked is not None and asked <= most):
            return limits
        return replace(limits, max_output_tokens=most)

    def _left(self, model: Model, last: Usage | None) -> Iterator[int]:
        """Yield the remaining number of output tokens of each limit."""
        affordable = self._affordable(model, self._dollars, last)
        if affordable is not None:
            yield affordable
        for limit in (self.budget, self._limits.max_output_tokens):
            if limit is not None:
                yield limit - self._output
        outer = self._outer()
        if outer is not None:
            yield from outer._left(model, last)

    @property
    def _dollars(self) -> float:
        return self._record.ledger.cost + sum(spent.cost or 0.0 for spent in self._unsettled())

    @property
    def _output(self) -> int:
        """The output tokens of the run. The ledger already includes the message of the open turn of this session."""
        ledger = self._record.ledger
        opened = None if ledger.open_message is None else ledger.open_message.message.usage
        inside = sum(spent.usage.output for spent in self._unsettled()) - (0 if opened is None else opened.output)
        return ledger.usage.output - self._written + inside

    def _affordable(self, model: Model, cost: float, last: Usage | None) -> int | None:
        """Return the number of output tokens that the remaining dollars can pay for; None if there is no limit in
        dollars. The input is assumed to be as large as in the last request."""
        if self._price is None or self._limits.max_cost is None:
            return None
        each = self._price(model.name, Usage(output=1_000_000))
        if not each:
            return None
        again = Usage() if last is None else replace(last, output=0, reasoning=0)
        left = self._limits.max_cost - cost - (self._price(model.name, again) or 0.0)
        return max(0, int(left / each * 1_000_000))

    # ---- after a turn -------------------------------------------------------------------------------------------

    def spend(self, spent: Spent | None) -> Iterator[str]:
        """Add the costs of a turn. Yield notes for the user, each note at most once."""
        limits, before = self._limits, self._cost
        self._cost = self._record.ledger.cost
        if limits.warn_cost is not None and before < limits.warn_cost <= self._cost:
            yield f"this session has cost ${self._cost:.2f}, more than limits.warn_cost (${limits.warn_cost:.2f})"
        if spent is None:
            return
        limited = limits.warn_cost is not None or limits.max_cost is not None
        if spent.cost is None and self._last is None and limited:
            yield f"the price of {spent.model} is unknown, so cost limits do not apply to it"
        self._last = spent.usage

    def nearly_used_up(self) -> str | None:
        """Return a text for the model when a budget is nearly used up. The text is returned once; every other call
        returns None."""
        budgeted: Allowance | None = self
        while budgeted is not None and budgeted.budget is None:
            budgeted = budgeted._outer()
        if self._warned or budgeted is None or budgeted.budget is None:
            return None
        limit, used = budgeted.budget, budgeted._output
        if used < limit * NEAR_THE_END:
            return None
        self._warned = True
        return f"About {max(0, limit - used):,} of {limit:,} output tokens are left for this task: finish it now."

    def extends(self) -> str | None:
        """Return a text for a model that ended its answer with most of the budget unused; None if the run should
        end."""
        if self.budget is None or (used := self._output) >= self.budget * NEAR_THE_END:
            return None
        brought, self._used_before = used - self._used_before, used
        if self._extensions >= MOST_EXTENSIONS or (self._extensions and brought < FEWEST_NEW_TOKENS):
            return None
        self._extensions += 1
        return (
            f"{used:,} of the {self.budget:,} output tokens for this task are used. If there is more to do or"
            " to check, continue; otherwise say in one sentence that the task is done."
        )

    # ---- time ---------------------------------------------------------------------------------------------------

    def pause(self) -> None:
        if self._seconds is not None and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._seconds -= self._clock.monotonic() - self._since

    def resume(self) -> None:
        if self._seconds is not None and self._timer is None and not self.out_of_time:
            self._since = self._clock.monotonic()
            self._timer = self._clock.call_later(max(0.0, self._seconds), self._over)

    def _over(self) -> None:
        self._timer, self.out_of_time = None, True
        self._call()
