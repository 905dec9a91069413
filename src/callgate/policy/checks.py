"""The standard checks of a gate in the order of the specification, and the checks of an embedding program."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import Any

from callgate.core.ports import Case, Check, Verdict
from callgate.policy.judge import DEFAULT, DENY_RULES, MODE, Judge
from callgate.policy.rules import EMPTY, Rulebook
from callgate.words.decisions import Allow, Ask


def standard_checks(
    rulebook: Rulebook = EMPTY, *, hooks: Check | None = None, own: Sequence[Check] = (), free: bool | None = None
) -> tuple[Check, ...]:
    """The checks of a gate in their order. ``hooks`` is the check that asks the hooks and answers Hooked. ``free``
    says whether commands in a sandbox need no question; None that no tool has a sandbox.

    ``own`` are checks of an embedding program: their denials count right after deny rules, their questions as ask rules
    do, and their allows as allow rules do, after plan mode, hard safety and the ask rules.
    """
    early, late = OwnChecks(own).split() if own else ((), ())
    judge = Judge(rulebook)
    found: list[Check] = []
    freeing: Check | None = None
    if free is not None:
        from callgate.policy.sandbox_checks import SandboxChecks  # for tools with a sandbox alone

        sandbox = SandboxChecks(judge.subject, judge.swept, free=free)
        found, freeing = [sandbox.placing], sandbox.freeing
    for check in judge.checks:
        if check.name == MODE:
            found += late
        elif check.name == DEFAULT and freeing is not None:
            found.append(freeing)
        found.append(check)
        if check.name == DENY_RULES:
            found += (*early, *(() if hooks is None else (hooks,)))
    return tuple(found)


class OwnChecks:
    """Checks of an embedding program, each asked once for a case: a denial counts at once, any other answer later.

    Where a hook changes the arguments all checks are asked anew, and so are these.
    """

    def __init__(self, checks: Sequence[Check]) -> None:
        self._checks = checks
        self._answers: dict[tuple[str, str], Verdict] = {}

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
            self._answers[check.name, case.call_id] = answer
            return None
        return answer  # a denial, or something that the gate refuses

    def _late(self, name: str, case: Case) -> Verdict:
        answer = self._answers.pop((name, case.call_id), None)
        return answer if not isinstance(answer, Ask) else replace(answer, unconditional=True)
