"""Builds the list of checks of a gate: the standard checks, the checks of an embedding program, and the checks of the
sandbox."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import Any

from callgate.core.ports import Case, Check, Hooked, Verdict
from callgate.host.threads import in_thread
from callgate.policy.judge import DEFAULT, DENY_RULES, MODE, Judge
from callgate.policy.placement import OUTSIDE_CHECK, SandboxPort, declared_sandbox, sandbox_for, unreviewed, why_outside
from callgate.policy.question_reasons import what_would_run
from callgate.policy.rules import EMPTY, Rulebook
from callgate.policy.shorten import sentence
from callgate.words.decisions import Allow, Ask
from callgate.words.modes import MODES


def standard_checks(
    rulebook: Rulebook = EMPTY, *, hooks: Check | None = None, own: Sequence[Check] = (), free: bool | None = None
) -> tuple[Check, ...]:
    """Return the checks of a gate in their order.

    hooks  the check that runs hooks
    own    checks of an embedding program: their denials are used after the deny rules, their other answers after the
           ask rules
    free   True if commands in a sandbox run without a question; None if no tool has a sandbox
    """
    early, late = OwnChecks(own).split() if own else ((), ())
    judge = Judge(rulebook)
    sandbox = None if free is None else SandboxChecks(judge, free=free)
    found: list[Check] = [] if sandbox is None else [sandbox.placing]
    for check in judge.checks:
        if check.name == MODE:
            found += late
        elif check.name == DEFAULT and sandbox is not None:
            found.append(sandbox.freeing)
        found.append(check)
        if check.name == DENY_RULES:
            found += (*early, *(() if hooks is None else (hooks,)))
        elif check.name == MODE and sandbox is not None:
            found.append(sandbox.outside)
    return tuple(found if sandbox is None else map(sandbox.naming, found))


class OwnChecks:
    """Checks of an embedding program. Each check is called once for a case. A denial is used immediately; any other
    answer is stored and used later.

    If a hook changes the arguments, all checks are called again.
    """

    def __init__(self, checks: Sequence[Check]) -> None:
        self._checks = checks
        self._answers: dict[tuple[str, tuple[str, ...], str], Verdict] = {}

    def split(self) -> tuple[tuple[Check, ...], tuple[Check, ...]]:
        return (
            tuple(Check(each.name, partial(self._early, each), again=True) for each in self._checks),
            tuple(Check(each.name, partial(self._late, each.name)) for each in self._checks),
        )

    def _early(self, check: Check, case: Case) -> Verdict | Awaitable[Verdict]:
        answer = check.judge(case)
        return self._awaited(check, case, answer) if isawaitable(answer) else self._kept(check, case, answer)

    async def _awaited(self, check: Check, case: Case, answer: Awaitable[Any]) -> Verdict:
        return self._kept(check, case, await answer)

    def _kept(self, check: Check, case: Case, answer: Any) -> Verdict:
        if answer is None or isinstance(answer, Allow | Ask):
            self._answers[check.name, case.path, case.call_id] = answer
            return None
        return answer  # a denial, or an invalid value, which the gate refuses

    def _late(self, name: str, case: Case) -> Verdict:
        answer = self._answers.pop((name, case.path, case.call_id), None)
        return answer if not isinstance(answer, Ask) else replace(answer, unconditional=True)


_INSIDE = "runs in the sandbox {}, and cannot write outside the workspace"
_OUTSIDE_RISK = "the command will run with all your permissions"
_A_YES = "answer yes to run it without the sandbox"
_MOST_NAMED = 3


class SandboxChecks:
    """The checks of calls whose command may run in a sandbox.

    free  commands inside the sandbox run without a question
    """

    def __init__(self, judge: Judge, *, free: bool) -> None:
        self._judge = judge
        self._free = free
        self.placing = Check("place of the command", self._place, again=True)
        """The first check. It decides where the command runs and returns no verdict. For the first command of a
        session it waits until the sandbox is tested."""
        self.outside = Check(OUTSIDE_CHECK, self._outside, again=True)
        """The check after the mode and before the rules. It asks whether the command may run outside the sandbox."""
        self.freeing = Check("sandbox", self._inside)
        """The check after the rules and before the default."""

    def naming(self, check: Check) -> Check:
        """Return a check with the same answers. For a command outside the sandbox, its questions state that the
        command runs outside."""

        def judge(case: Case) -> Verdict | Hooked | Awaitable[Verdict | Hooked]:
            answer = check.judge(case)
            if not isinstance(answer, Ask) or answer.by == OUTSIDE_CHECK:
                return answer
            if not (why := why_outside(self._judge.subject(case))):
                return answer
            reason = answer.reason if why in answer.reason else f"{answer.reason}; {why}"
            return replace(answer, reason=sentence(f"{reason}; {_A_YES}"), risk=answer.risk or _OUTSIDE_RISK)

        return replace(check, judge=judge)

    def _place(self, case: Case) -> Verdict | Awaitable[Verdict]:
        sandbox = declared_sandbox(case)
        if sandbox is not None and not sandbox.is_tested:
            return self._tested(sandbox, case)
        why_outside(self._judge.subject(case))
        return None

    async def _tested(self, sandbox: SandboxPort, case: Case) -> Verdict:
        note = await in_thread(sandbox.test)
        if note:
            sandbox.report(note)
        why_outside(self._judge.subject(case))
        return None

    def _outside(self, case: Case) -> Verdict:
        """Ask before a command runs outside the sandbox, unless a rule on ``Outside`` covers it. Other allow rules,
        answers of hooks and the output of commands never answer this question."""
        why = why_outside(self._judge.subject(case))
        if not why or MODES[case.mode].allows_all:
            return None
        grants = self._judge.outside_grants(case, self._judge.rules(case, "allow"))
        rule, changed = grants.of_commands(), unreviewed(self._judge.subject(case))
        if rule is not None and changed is None:
            return Allow(rule.text, rule.note or f"allowed outside the sandbox by {rule.text}", origin=rule.origin)
        reason = why if changed is None else f"{why}; {changed}"
        would = "" if changed is not None else what_would_run(grants)
        reason = sentence(f"{reason}; {_A_YES}{would}")
        return Ask(OUTSIDE_CHECK, reason, risk=_OUTSIDE_RISK, unconditional=rule is not None)

    def _inside(self, case: Case) -> Verdict:
        subject, sandbox = self._judge.subject(case), sandbox_for(case)
        if sandbox is None:
            return None
        unread = subject.doubt is not None and subject.doubt.kind == "unread"
        if not self._free or unread or subject.outside or self._judge.unnamed_read(case, sandbox.hides) is not None:
            return None
        return Allow("sandbox", _INSIDE.format(_reach(sandbox.hosts)))


def _reach(hosts: tuple[str, ...]) -> str:
    more = f" and {len(hosts) - _MOST_NAMED} more" if len(hosts) > _MOST_NAMED else ""
    return f"with network access only to {', '.join(hosts[:_MOST_NAMED])}{more}" if hosts else "without network access"
