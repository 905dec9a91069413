"""Builds the list of checks of a gate: the standard checks, the checks of an embedding program, and the checks of the
sandbox.

The sandbox of a tool (``ToolFacts.sandbox``) decides during the checks whether a command runs inside or outside.
Arguments of the call never decide this, so the user's answer applies to the place that the question names.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import Any, Protocol, runtime_checkable

from callgate import shell
from callgate.core.capabilities import facts_of
from callgate.core.ports import Case, Check, Verdict
from callgate.policy.judge import DEFAULT, DENY_RULES, MODE, Judge
from callgate.policy.rules import EMPTY, Rulebook
from callgate.policy.shorten import brief, sentence
from callgate.policy.subjects import Subject
from callgate.words.decisions import Allow, Ask


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
    found: list[Check] = []
    freeing: Check | None = None
    if free is not None:
        sandbox = SandboxChecks(judge.subject, judge.unnamed_read, free=free)
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


_INSIDE = "it runs inside the sandbox: {}, and writing nothing outside the workspace"
_OUTSIDE_RISK = "outside the sandbox nothing holds it back"
_MOST_NAMED = 3
_VERSION_CONTROL = frozenset(("git", "hg", "jj", "svn"))

UnnamedReadTest = Callable[[Case, Callable[[str], bool]], str | None]
"""Return why a call that reads whole folders may read a protected file, or None. The callback returns True for files
that the sandbox hides."""


@runtime_checkable
class PlacesCommands(Protocol):
    """The interface of a tool's sandbox that the gate uses.

    hosts  the hosts that commands inside the sandbox may reach
    """

    @property
    def hosts(self) -> tuple[str, ...]: ...

    def hides(self, path: str) -> bool:
        """Return True if commands inside the sandbox cannot read the path."""
        ...

    def settle(self, call_id: str, command: str, outside: str | None) -> str | None:
        """Return why the command of the call runs outside the sandbox, or None if it runs inside. The answer for a call
        does not change until the command has run.

        outside  a reason for running the command outside, or None
        """
        ...


class SandboxChecks:
    """The checks of calls whose command may run in a sandbox.

    free  commands inside the sandbox run without a question
    """

    def __init__(self, subject: Callable[[Case], Subject], unnamed_read: UnnamedReadTest, *, free: bool) -> None:
        self._subject = subject
        self._unnamed_read = unnamed_read
        self._free = free
        self.placing = Check("place of the command", self._place, again=True)
        """The first check. It decides where the command runs and returns no verdict."""
        self.freeing = Check("sandbox", self._judge)
        """The check after the rules and before the default."""

    def _place(self, case: Case) -> Verdict:
        self._outside(case)
        return None

    def _judge(self, case: Case) -> Verdict:
        found, sandbox = self._outside(case), facts_of(case.tool).sandbox
        if found is None:
            return None
        if found:
            return Ask("sandbox", sentence(f"{found}; a yes runs it outside the sandbox"), risk=_OUTSIDE_RISK)
        subject = self._subject(case)
        unread = subject.doubt is not None and subject.doubt.kind == "unread"
        if not self._free or unread or subject.outside or self._unnamed_read(case, sandbox.hides) is not None:
            return None
        return Allow("sandbox", _INSIDE.format(_reach(sandbox.hosts)))

    def _outside(self, case: Case) -> str | None:
        """Return why the command runs outside the sandbox. Return "" if it runs inside, and None if there is no
        sandbox or no command."""
        sandbox = facts_of(case.tool).sandbox
        declared = case.traits.declared
        if not isinstance(sandbox, PlacesCommands) or declared.command is None or declared.fault is not None:
            return None
        return sandbox.settle(case.call_id, declared.command, _needs(self._subject(case))) or ""


def _reach(hosts: tuple[str, ...]) -> str:
    more = f" and {len(hosts) - _MOST_NAMED} more" if len(hosts) > _MOST_NAMED else ""
    return f"reaching only {', '.join(hosts[:_MOST_NAMED])}{more}" if hosts else "without the network"


def _needs(subject: Subject) -> str | None:
    """Return why the command cannot work inside the sandbox, according to its words; None if no reason is found."""
    if subject.danger is not None:
        return subject.danger
    for access in subject.outside:
        if access.way != "read":
            return f"it would {access.way} {brief(access.path.spelled)}, outside the workspace"
    if subject.analysis is not None and subject.effects != "none":
        for run in shell.find_inner_commands(subject.analysis).runs:
            if run.name in _VERSION_CONTROL:
                return f"{run.name} would change the repository's own records, which are read-only in the sandbox"
    return None
