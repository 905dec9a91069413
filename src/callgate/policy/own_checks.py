"""Checks of an embedding program, to stand beside the standard ones."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import Any

from callgate.core.ports import Case, Check, Verdict
from callgate.words.decisions import Allow, Ask


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
        return answer if not isinstance(answer, Ask) else replace(answer, standing=True)
