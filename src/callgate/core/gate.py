"""Checks in order, first that applies decides; plus the few checks every runtime needs.

The room ``policy`` adds rules, hooks and path analysis as further checks. Tools never ask, doors never decide.
"""

# Checks come from outside and may not keep to their types.
# pyright: reportUnnecessaryIsInstance=false

import re
from asyncio import CancelledError, current_task
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from inspect import isawaitable
from typing import cast

from callgate.core.ports import Case, Check, Verdict
from callgate.words.calls import Result
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Choice, Decision, Deny, Effect, Pattern
from callgate.words.errors import UsageError, in_words

PostHook = Callable[[Case, Result], Result | Awaitable[Result]]

_DECISIONS = (Allow, Ask, Deny)
_PLAIN_COMMAND = re.compile(r"[A-Za-z0-9_@%+=:,./-]+(?: [A-Za-z0-9_@%+=:,./-]+)*")
"""No operator, quote, expansion or second line: anything else is not covered by a prefix."""


class DecisionGate:
    """The Gate port over a list of checks. ``attended`` says whether a person can be asked at all."""

    def __init__(
        self, checks: Sequence[Check] | None = None, *, after: Iterable[PostHook] = (), attended: bool = True
    ) -> None:
        self._checks = tuple(default_checks() if checks is None else checks)
        for check in self._checks:
            if not isinstance(check, Check):
                raise UsageError(f"a gate is made of Check(name, judge), not of {type(check).__name__}")
        self._again = tuple(check for check in self._checks if check.again)
        self._after = tuple(after)
        self._attended = attended

    def judge(self, case: Case) -> Decision | Awaitable[Decision]:
        for check in self._checks:
            try:
                verdict = check.judge(case)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                return refused(check.name, error)
            if verdict is None:
                continue
            if isinstance(verdict, _DECISIONS):
                return verdict if isinstance(verdict, Allow) else self._final(case, verdict)
            if not isawaitable(verdict):
                return refused(
                    check.name, TypeError(f"it answered {type(verdict).__name__}, wanted Allow, Ask, Deny or None")
                )
            return self._judge_on(case, check, verdict, self._checks[self._checks.index(check) + 1 :])
        return Deny("gate", "no check decided about this call")

    async def _judge_on(self, case: Case, check: Check, pending: Awaitable[Verdict], rest: Sequence[Check]) -> Decision:
        verdict = await _settled(check, pending)
        for check in rest:
            if verdict is not None:
                break
            try:
                answer = check.judge(case)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                return refused(check.name, error)
            verdict = await _settled(check, answer) if isawaitable(answer) else answer
        return Deny("gate", "no check decided about this call") if verdict is None else self._final(case, verdict)

    def judge_again(self, case: Case) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
        if not self._again:
            return None
        return self._judge_again(case, 0)

    def _judge_again(self, case: Case, start: int) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
        for position in range(start, len(self._again)):
            check = self._again[position]
            try:
                verdict = check.judge(case)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                return refused(check.name, error)
            if isawaitable(verdict):
                return self._judge_again_on(case, check, verdict, position + 1)
            if isinstance(verdict, Ask | Deny):
                return cast(Ask | Deny, self._final(case, verdict))
        return None

    async def _judge_again_on(
        self, case: Case, check: Check, pending: Awaitable[Verdict], following: int
    ) -> Deny | Ask | None:
        verdict = await _settled(check, pending)
        if isinstance(verdict, Ask | Deny):
            return cast(Ask | Deny, self._final(case, verdict))
        rest = self._judge_again(case, following)
        return await rest if isawaitable(rest) else rest

    def _final(self, case: Case, decision: Decision) -> Decision:
        if not isinstance(decision, Ask):
            return decision
        if case.mode == "dont_ask":
            return Deny("mode dont_ask", f"this would need a person's approval ({decision.reason or decision.by})")
        if decision.unattended == "deny" and not self._attended:
            return Deny(decision.by, f"{decision.reason}; nobody is there to ask")
        return decision

    def after(self, case: Case, result: Result) -> Result | Awaitable[Result]:
        return self._run_after(case, result) if self._after else result

    async def _run_after(self, case: Case, result: Result) -> Result:
        for hook in self._after:
            answer = hook(case, result)
            result = await answer if isawaitable(answer) else answer
        return result


async def _settled(check: Check, pending: Awaitable[Verdict]) -> Verdict:
    try:
        return await pending
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


def refused(by: str, error: BaseException) -> Deny:
    """An exception in a check is a denial with the exception as reason."""
    return Deny(by, f"the check failed, so the call is refused: {in_words(error)}")


def default_checks() -> tuple[Check, ...]:
    """Remembered policies, modes, the loop guard; then ``effects="none"`` is allowed and the rest is asked about."""
    return (
        Check("deny policy", _deny_policy, again=True),
        Check("plan mode", _plan_mode, again=True),
        Check("loop guard", loop_guard),
        Check("ask policy", _ask_policy),
        Check("interaction", _interaction),
        Check("mode", _mode),
        Check("allow policy", _allow_policy),
        Check("default", _default),
    )


def _deny_policy(case: Case) -> Verdict:
    policy = matching(case, "deny")
    return policy and Deny(describe(policy), policy.note or "a remembered answer denies it")


def _ask_policy(case: Case) -> Verdict:
    policy = matching(case, "ask")
    return policy and Ask(describe(policy), policy.note or "a remembered answer wants to be asked", standing=True)


def _allow_policy(case: Case) -> Verdict:
    policy = matching(case, "allow")
    return policy and Allow(describe(policy), policy.note or "a remembered answer allows it")


def _plan_mode(case: Case) -> Verdict:
    if case.mode == "plan" and case.traits.effects != "none":
        return Deny("mode plan", "plan mode changes nothing; present the plan first")
    return None


def _interaction(case: Case) -> Verdict:
    if case.traits.requires_interaction:
        return Ask("interaction", f"{case.name} needs a person", standing=True)
    return None


def _mode(case: Case) -> Verdict:
    if case.mode == "bypass":
        return Allow("mode bypass")
    if case.mode == "accept_edits" and case.tool.previews:
        root = case.normal(".")
        places = case.traits.locks.writes
        if places and all(case.normal(path).startswith(root + "/") for path in places):
            return Allow("mode accept_edits")
    return None


_READ_ONLY = Allow("default", "the tool declares no effects")


def _default(case: Case) -> Verdict:
    if case.traits.effects == "none":
        return _READ_ONLY
    return Ask("default", f"{case.name} may change something")


def loop_guard(case: Case) -> Verdict:
    """The same call for the third time in a row, or a cycle of calls coming round for the third time."""
    recent = case.recent
    if not recent or case.arguments_hash not in recent:
        return None
    trail = [*recent, case.arguments_hash]
    for period in range(1, len(trail) // 3 + 1):
        if trail[-period:] == trail[-2 * period : -period] == trail[-3 * period : -2 * period]:
            what = "the same call" if period == 1 else f"the same {period} calls"
            return Ask(
                "loop guard",
                f"{what} in a row for the third time, ending in {case.name}",
                unattended="deny",
                standing=True,
            )
    return None


def matching(case: Case, effect: Effect) -> ApprovalPolicy | None:
    """The first policy of that effect that covers the call and has not expired."""
    for policy in case.policies:
        if policy.effect == effect and covers(policy, case):
            return policy
    return None


def policy_fault(policy: ApprovalPolicy) -> str | None:
    """What is wrong with a policy that came from outside; one with a typo must not be silently without effect."""
    if policy.effect not in ("allow", "ask", "deny"):
        return f"a policy's effect is allow, ask or deny, not {policy.effect!r}"
    if policy.scope not in ("session", "project", "user"):
        return f"a policy's scope is session, project or user, not {policy.scope!r}"
    if policy.pattern is not None and policy.pattern.kind not in ("exact", "prefix", "glob"):
        return f"a pattern is exact, prefix or glob, not {policy.pattern.kind!r}"
    return None


def covers(policy: ApprovalPolicy, case: Case) -> bool:
    if policy.tool != case.name or (policy.expires_at is not None and policy.expires_at <= case.now):
        return False
    pattern = policy.pattern
    if pattern is None:
        return True
    if pattern.kind == "exact":
        return pattern.value == case.arguments_hash
    value = case.arguments.get(pattern.field)
    if not isinstance(value, str):
        return False
    if pattern.kind == "prefix":
        words = pattern.value.split()
        return bool(words) and bool(_PLAIN_COMMAND.fullmatch(value)) and value.split()[: len(words)] == words
    root = case.normal(".").rstrip("/") + "/"
    place = case.normal(value)
    return place.startswith(root) and _glob(pattern.value).fullmatch(place[len(root) :]) is not None


def describe(policy: ApprovalPolicy) -> str:
    """Names a policy the way a decision's ``by`` does."""
    pattern = policy.pattern
    if pattern is None:
        reach = ""
    elif pattern.kind == "exact":
        reach = f"(these arguments, {pattern.value[:8]})"
    else:
        reach = f"({pattern.value}{':*' if pattern.kind == 'prefix' else ''})"
    return f"policy {policy.effect} {policy.tool}{reach} [{policy.scope}]"


def choices_for(case: Case) -> tuple[Choice, ...]:
    """How far an "always" may reach, narrowest first: exactly these arguments, then what the tool proposes."""
    exact = Choice("exactly these arguments", Pattern("exact", case.arguments_hash))
    return (exact, *case.traits.choices_for_always)


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    """``**`` crosses folders, ``*`` and ``?`` stay inside one name."""
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(wild.get(token, re.escape(token)) for token in tokens), re.DOTALL)
