"""The gate runs checks in order; the first check that returns a decision decides. The package ``policy`` has the
checks.

One generator runs the checks and yields every awaitable answer. ``judge`` runs the generator to its end, in a
coroutine if an answer is awaitable. ``explain`` runs the same generator without waiting and traces every step.
"""

# Checks of other packages may violate their types.
# pyright: reportUnnecessaryIsInstance=false

from asyncio import CancelledError, current_task
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any, Literal, TypeVar, cast

from callgate.core.ports import Case, Check, Hooked, Judged, Verdict
from callgate.words.calls import Rejected, Result
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Choice, Decision, Deny, Pattern, arguments_hash
from callgate.words.errors import UsageError, in_words
from callgate.words.modes import MODES, Mode

PostHook = Callable[[Case, Result], Result | Awaitable[Result]]

Requested = Callable[[Case, Ask], Awaitable[Allow | Deny | None] | None]

T = TypeVar("T")
Steps = Generator[Awaitable[Any], Any, T]
_ANSWERS = (Allow, Ask, Deny, Hooked)
_UNDECIDED = Deny("gate", "no check decided this call")
_UNASKED = object()


Trace = Callable[[Judged], None]


class CheckGate:
    """Implements Gate with a list of checks. The first check that returns a decision decides.

    checks      the checks, in order
    after       hooks that receive the result of every call and return the result for the model
    requested   called before a question is asked; may return the answer
    remembered  returns the Allow of an "always" that was given after the question was decided, or None
    choices     returns the scopes that the user can choose for an "always"
    attended    False if no user can be asked
    """

    def __init__(
        self,
        checks: Sequence[Check],
        *,
        after: Iterable[PostHook] = (),
        requested: Requested | None = None,
        remembered: Callable[[Case], Allow | None] = lambda case: None,
        choices: Callable[[Case], tuple[Choice, ...]] | None = None,
        attended: bool = True,
    ) -> None:
        self._checks = tuple(checks)
        for check in self._checks:
            if not isinstance(check, Check):
                raise UsageError(f"a gate consists of Check(name, judge), not of {type(check).__name__}")
        self._again = tuple(check for check in self._checks if check.again)
        self._walk = tuple(enumerate(self._checks))
        self._short_walk = tuple(step for step in self._walk if not step[1].idle)
        self._after = tuple(after)
        self._requested = requested
        self._attended = attended
        self.remembered = remembered
        self.choices = choices or choices_for

    # ---- before it runs -----------------------------------------------------------------------------------------

    def judge(self, case: Case) -> Decision | Awaitable[Decision]:
        for at, check in self._walk if case.policies or case.hooked is not None else self._short_walk:
            try:
                answer: Any = check.judge(case)
            except BaseException as error:
                answer = _refused(check, error)
            if answer is not None:
                if type(answer) is Allow:  # nothing to wait for, and no hook has added to it
                    return answer
                return driven(self._judged(case, None, at, answer))
        return _UNDECIDED

    def judge_again(self, case: Case) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
        return driven(self._judged_again(case)) if self._again else None

    def explain(self, case: Case, trace: Trace) -> Decision:
        """Judge without waiting. An awaitable answer, for example of hooks, is closed and traced as ``later``.

        trace  called with every step
        """
        steps = self._judged(case, trace)
        try:
            pending = next(steps)
            while True:
                close = getattr(pending, "close", None)
                if close is not None:
                    close()
                pending = steps.send(None)
        except StopIteration as over:
            return over.value

    def _judged(self, case: Case, trace: Trace | None, at: int = 0, first: Any = _UNASKED) -> Steps[Decision]:
        """Run the checks in order until one check decides. If hooks change the arguments, start again with the first
        check.

        at     the index of the check to start with
        first  the answer of this check, if it is known
        """
        checks = self._checks
        changed_by = ""
        decision: Decision | None = None
        while at < len(checks) and decision is None:
            found = yield from _answer(checks[at], case, trace, first)
            at, first = at + 1, _UNASKED
            if not isinstance(found, Hooked):
                decision = found and _with_advice(case, found, changed_by)
                continue
            taken = found.decision if isinstance(found.decision, Deny) else _with_hooked(case, found)
            if isinstance(taken, Deny):
                decision = taken
                continue
            checks, at = (*checks[: at - 1], *checks[at:]), at - 1  # hooks are asked once
            if found.arguments is not None:
                changed_by, at = found.by if found.arguments != case.arguments else changed_by, 0
            case = taken
        if trace is not None:
            for left in checks[at:]:
                trace(Judged(left.name, None, case, "skipped"))
        return self._final(case, decision or _UNDECIDED, trace)

    def _judged_again(self, case: Case) -> Steps[Deny | Ask | None]:
        for check in self._again:
            answer = yield from _answer(check, case)
            if isinstance(answer, Ask | Deny):
                return cast(Ask | Deny, self._final(case, answer, None))
        return None

    def _final(self, case: Case, decision: Decision, trace: Trace | None) -> Decision:
        """Return the decision, or a denial instead of a question if the mode never asks or no user can be asked."""
        if not isinstance(decision, Ask):
            return decision
        if MODES[case.mode].never_asks:
            denied = unasked(decision, case.mode)
        elif decision.unattended == "deny" and not self._attended:
            denied = Deny(decision.by, f"{decision.reason}; there is no user to ask", origin=decision.origin)
        else:
            return decision
        if trace is not None:
            trace(Judged(denied.by, denied, case))
        return denied

    # ---- while it waits, and afterwards -------------------------------------------------------------------------

    def requested(self, case: Case, ask: Ask) -> Awaitable[Allow | Deny | None] | None:
        return None if self._requested is None else self._requested(case, ask)

    def after(self, case: Case, result: Result) -> Result | Awaitable[Result]:
        return self._run_after(case, result) if self._after else result

    async def _run_after(self, case: Case, result: Result) -> Result:
        for hook in self._after:
            answer = hook(case, result)
            result = await answer if isawaitable(answer) else answer
        return result


def _answer(check: Check, case: Case, trace: Trace | None = None, answer: Any = _UNASKED) -> Steps[Verdict | Hooked]:
    """Run a check and yield its answer if it is awaitable. If a check raises or returns an invalid value, return a
    Deny."""
    how: Literal["asked", "later"] = "asked"
    try:
        if answer is _UNASKED:
            answer = check.judge(case)
        if answer is not None and not isinstance(answer, _ANSWERS) and isawaitable(answer):
            how = "later"
            answer = yield answer
    except GeneratorExit:
        raise
    except BaseException as error:
        answer = _refused(check, error)
    if answer is not None and not isinstance(answer, _ANSWERS):
        wrong = TypeError(f"it returned {type(answer).__name__} instead of Allow, Ask, Deny or None")
        answer = refused(check.name, wrong)
    if trace is not None:
        trace(Judged(check.name, answer, case, how))
    return answer


def _refused(check: Check, error: BaseException) -> Deny:
    if is_shutdown(error):
        raise error
    return refused(check.name, error)


def driven(steps: Steps[T]) -> T | Awaitable[T]:
    """Run the steps to their end and return the result. If a step is awaitable, return a coroutine that runs the
    steps."""
    try:
        pending = next(steps)
    except StopIteration as over:
        return over.value
    return _waited(steps, pending)


async def _waited(steps: Steps[T], pending: Awaitable[Any]) -> T:
    try:
        while True:
            try:
                answer = await pending
            except BaseException as error:
                pending = steps.throw(error)
            else:
                pending = steps.send(answer)
    except StopIteration as over:
        return over.value
    finally:
        steps.close()


def _with_hooked(case: Case, hooked: Hooked) -> Case | Deny:
    """Return the case with the answer of the hooks. Arguments from hooks are validated in the same way as arguments
    from a model."""
    before = case.hooked
    if before is not None:
        decision = before.decision if isinstance(before.decision, Ask) else hooked.decision
        if decision is None and hooked.arguments is None:  # an Allow was for the arguments of that time
            decision = before.decision
        hooked = replace(hooked, decision=decision, context=before.context + hooked.context)
    case = replace(case, hooked=hooked)
    return case if hooked.arguments is None else with_arguments(case, hooked.arguments, hooked.by)


def with_arguments(case: Case, arguments: Mapping[str, Any], by: str) -> Case | Deny:
    """Return the case with other arguments, or a Deny if they are invalid.

    by  the name of the user interface, hook or policy that set the arguments
    """
    try:
        read = case.tool.read(arguments)
        if isinstance(read, Rejected):
            fault = "; ".join(read.errors)
            return Deny(by, f"its changed arguments are invalid: {fault}", "blocked_by_hook")
        return replace(
            case,
            arguments=read.arguments,
            arguments_hash=arguments_hash(case.tool.spec.name, read.arguments),
            traits=case.tool.traits(read.arguments),
        )
    except Exception as error:
        return refused(by, error)


def _with_advice(case: Case, decision: Decision, changed_by: str) -> Decision:
    """Return the decision with the context of the hooks and the arguments that the hooks changed."""
    hooked = case.hooked
    if hooked is None or isinstance(decision, Deny):
        return decision
    if changed_by and decision.arguments is None:
        decision = replace(decision, arguments=case.arguments, changed_by=changed_by)
    return replace(decision, context=decision.context + hooked.context) if hooked.context else decision


def is_shutdown(error: BaseException) -> bool:
    """Return True for an exception that stops the program, such as a cancel of the task or KeyboardInterrupt.

    Any other exception of a tool, a check or a hook only ends its call.
    """
    if isinstance(error, CancelledError):
        try:
            task = current_task()
        except RuntimeError:  # no loop runs
            return False
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt)


def unasked(ask: Ask, mode: Mode) -> Deny:
    """Return the denial that replaces a question in a mode that never asks."""
    reason = f"this requires the approval of the user ({ask.reason or ask.by})"
    return Deny(f"mode {mode}", reason, origin=ask.origin)


def refused(by: str, error: BaseException) -> Deny:
    """Return the denial for a check that raised an exception."""
    return Deny(by, f"the check failed, so the call is denied: {in_words(error)}")


def policy_fault(policy: ApprovalPolicy) -> str | None:
    """Return the fault of a policy that a program passed in, or None. An invalid policy must not be ignored
    silently."""
    if policy.effect not in ("allow", "ask", "deny"):
        return f"the effect of a policy must be allow, ask or deny, not {policy.effect!r}"
    if policy.scope not in ("session", "project", "user"):
        return f"the scope of a policy must be session, project or user, not {policy.scope!r}"
    if policy.pattern is not None and policy.pattern.kind not in ("exact", "prefix", "glob", "rule"):
        return f"the kind of a pattern must be exact, prefix, glob or rule, not {policy.pattern.kind!r}"
    return None


def choices_for(case: Case) -> tuple[Choice, ...]:
    """Return the scopes for an "always", narrowest first: exactly these arguments, then the scopes that the tool
    offers."""
    exact = Choice("exactly these arguments", Pattern("exact", case.arguments_hash))
    return (exact, *(case.traits.choices_for_always or ()))
