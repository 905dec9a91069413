"""Checks in order; the first that applies decides. Which checks there are is for the room ``policy`` to say.

Tools never ask, doors never decide.
"""

# Checks come from outside and may not keep to their types.
# pyright: reportUnnecessaryIsInstance=false

from asyncio import CancelledError, current_task
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any, cast

from callgate.core.ports import Case, Check, Hooked, Verdict
from callgate.words.arguments import Rejected
from callgate.words.calls import Result
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Choice, Decision, Deny, Pattern, arguments_hash
from callgate.words.errors import UsageError, in_words

PostHook = Callable[[Case, Result], Result | Awaitable[Result]]

Requested = Callable[[Case, Ask], Awaitable[Allow | Deny | None] | None]

_DECISIONS = (Allow, Ask, Deny)
_ANSWERS = (Allow, Ask, Deny, Hooked)
_UNDECIDED = Deny("gate", "no check decided about this call")


class DecisionGate:
    """The Gate port over a list of checks, judged in order: the first that answers decides.

    ``attended`` says whether a person can be asked at all. ``requested`` is told of every question before it is put,
    and may answer it. ``remembered`` says what an "always" given since then makes of a question, ``choices`` how far an
    "always" may reach.
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
                raise UsageError(f"a gate is made of Check(name, judge), not of {type(check).__name__}")
        self._again = tuple(check for check in self._checks if check.again)
        self._after = tuple(after)
        self._requested = requested
        self._attended = attended
        self.remembered = remembered
        self.choices = choices or choices_for

    # ---- before it runs -----------------------------------------------------------------------------------------

    def judge(self, case: Case) -> Decision | Awaitable[Decision]:
        for check in self._checks:
            try:
                answer = check.judge(case)
            except BaseException as error:
                answer = _failed(check, error)
            if answer is None:
                continue
            if isinstance(answer, Allow):
                return answer
            answer = _sound(check, answer)
            if isinstance(answer, _DECISIONS):
                return self._final(case, answer)
            return self._judge_on(case, self._checks.index(check), answer)
        return _UNDECIDED

    async def _judge_on(self, case: Case, at: int, answer: Verdict | Hooked | Awaitable[Verdict | Hooked]) -> Decision:
        """From a check on that has to be waited for, or is not the end of it."""
        changed_by = ""
        hooks: set[int] = set()
        while True:
            if isawaitable(answer):
                answer = await _settled(self._checks[at], answer)
            if isinstance(answer, Hooked):
                hooks.add(at)
                if isinstance(answer.decision, Deny):
                    return answer.decision
                taken = _with_hooked(case, answer)
                if isinstance(taken, Deny):
                    return taken
                if answer.arguments is not None:
                    changed_by, at = answer.by, -1  # other arguments: everything is judged again
                case, answer = taken, None
            if answer is not None:
                return self._final(case, _with_advice(case, answer, changed_by))
            at = next((each for each in range(at + 1, len(self._checks)) if each not in hooks), -1)
            if at < 0:
                return _UNDECIDED
            answer = _asked(self._checks[at], case)

    def judge_again(self, case: Case) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
        return self._judge_again(case, 0) if self._again else None

    def _judge_again(self, case: Case, start: int) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
        for position in range(start, len(self._again)):
            answer = _asked(self._again[position], case)
            if isawaitable(answer):
                return self._judge_again_on(case, position, answer)
            if isinstance(answer, Ask | Deny):
                return cast(Ask | Deny, self._final(case, answer))
        return None

    async def _judge_again_on(
        self, case: Case, position: int, pending: Awaitable[Verdict | Hooked]
    ) -> Deny | Ask | None:
        answer = await _settled(self._again[position], pending)
        if isinstance(answer, Ask | Deny):
            return cast(Ask | Deny, self._final(case, answer))
        rest = self._judge_again(case, position + 1)
        return await rest if isawaitable(rest) else rest

    def _final(self, case: Case, decision: Decision) -> Decision:
        if not isinstance(decision, Ask):
            return decision
        if case.mode == "dont_ask":
            return unasked(decision)
        if decision.unattended == "deny" and not self._attended:
            return Deny(decision.by, f"{decision.reason}; nobody is there to ask", origin=decision.origin)
        return decision

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


def _asked(check: Check, case: Case) -> Verdict | Hooked | Awaitable[Verdict | Hooked]:
    """What a check says; a failure is a denial."""
    try:
        return _sound(check, check.judge(case))
    except BaseException as error:
        return _failed(check, error)


def _failed(check: Check, error: BaseException) -> Deny:
    if isinstance(error, KeyboardInterrupt):
        raise error
    return refused(check.name, error)


def _sound(check: Check, answer: Any) -> Any:
    """The answer, if it is one."""
    if answer is None or isinstance(answer, _ANSWERS) or isawaitable(answer):
        return answer
    return refused(check.name, TypeError(f"it answered {type(answer).__name__}, wanted Allow, Ask, Deny or None"))


def _with_hooked(case: Case, hooked: Hooked) -> Case | Deny:
    """The case as the hooks left it. Arguments of theirs are read like those of a model."""
    before = case.hooked
    if before is not None:
        decision = before.decision if isinstance(before.decision, Ask) else hooked.decision
        if decision is None and hooked.arguments is None:  # an Allow was for the arguments of then
            decision = before.decision
        hooked = replace(hooked, decision=decision, context=before.context + hooked.context)
    if hooked.arguments is None:
        return replace(case, hooked=hooked)
    try:
        read = case.tool.read(hooked.arguments)
        if isinstance(read, Rejected):
            fault = "; ".join(read.errors)
            return Deny(hooked.by, f"the arguments it put in are not valid: {fault}", "blocked_by_hook")
        return replace(
            case,
            arguments=read.arguments,
            arguments_hash=arguments_hash(case.tool.spec.name, read.arguments),
            traits=case.tool.traits(read.arguments),
            hooked=hooked,
        )
    except Exception as error:
        return refused(hooked.by, error)


def _with_advice(case: Case, decision: Decision, changed_by: str) -> Decision:
    """The decision with what the hooks added to it."""
    hooked = case.hooked
    if hooked is None or isinstance(decision, Deny):
        return decision
    if changed_by and decision.arguments is None:
        decision = replace(decision, arguments=case.arguments, changed_by=changed_by)
    return replace(decision, context=decision.context + hooked.context) if hooked.context else decision


async def _settled(check: Check, pending: Awaitable[Verdict | Hooked]) -> Verdict | Hooked:
    try:
        return _sound(check, await pending)
    except BaseException as error:
        if going_down(error):
            raise
        return refused(check.name, error)


def going_down(error: BaseException) -> bool:
    """Whether what came out of an ``await`` means that the program itself is being stopped. What else a tool, a check
    or a hook raises, panics of extension modules included, is that call's affair alone."""
    if isinstance(error, CancelledError):
        task = current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt)


def unasked(ask: Ask) -> Deny:
    """What becomes of a question where nobody wants to be asked."""
    reason = f"this would need a person's approval ({ask.reason or ask.by})"
    return Deny("mode dont_ask", reason, origin=ask.origin)


def refused(by: str, error: BaseException) -> Deny:
    """An exception in a check is a denial with the exception as reason."""
    return Deny(by, f"the check failed, so the call is refused: {in_words(error)}")


def policy_fault(policy: ApprovalPolicy) -> str | None:
    """What is wrong with a policy that came from outside; one with a typo must not be silently without effect."""
    if policy.effect not in ("allow", "ask", "deny"):
        return f"a policy's effect is allow, ask or deny, not {policy.effect!r}"
    if policy.scope not in ("session", "project", "user"):
        return f"a policy's scope is session, project or user, not {policy.scope!r}"
    if policy.pattern is not None and policy.pattern.kind not in ("exact", "prefix", "glob", "rule"):
        return f"a pattern is exact, prefix, glob or rule, not {policy.pattern.kind!r}"
    return None


def choices_for(case: Case) -> tuple[Choice, ...]:
    """How far an "always" may reach, narrowest first: exactly these arguments, then what the tool proposes."""
    exact = Choice("exactly these arguments", Pattern("exact", case.arguments_hash))
    return (exact, *(case.traits.choices_for_always or ()))
