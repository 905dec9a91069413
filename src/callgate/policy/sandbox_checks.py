"""The two checks about the sandbox: where a command will run, and that it needs no question inside.

No argument of a call says where its command runs: the sandbox of the tool (``ToolFacts.sandbox``) decides that when
the call is judged, so that the answer to the call is about this place.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from callgate import shell
from callgate.core.capabilities import facts_of
from callgate.core.ports import Case, Check, Verdict
from callgate.policy.shorten import brief, sentence
from callgate.policy.subjects import Subject
from callgate.words.decisions import Allow, Ask

_INSIDE = "it runs inside the sandbox: {}, and writing nothing outside the workspace"
_OUTSIDE_RISK = "outside the sandbox nothing holds it back"
_MOST_NAMED = 3
_VERSION_CONTROL = frozenset(("git", "hg", "jj", "svn"))

Swept = Callable[[Case, Callable[[str], bool]], str | None]
"""The reason why a call that reads whole folders may read what it should not, unless the function hides that."""


@runtime_checkable
class PlacesCommands(Protocol):
    """A sandbox of a tool, as far as the gate needs it. ``hosts`` are the hosts that commands inside may reach."""

    @property
    def hosts(self) -> tuple[str, ...]: ...

    def hides(self, path: str) -> bool:
        """True if commands inside cannot read this path."""
        ...

    def settle(self, call_id: str, command: str, outside: str | None) -> str | None:
        """Decides where the command of this call runs, once: the same question has the same answer until it is run.
        ``outside`` is a reason why it should run outside. The answer is the reason why it does, or None: inside."""
        ...


class SandboxChecks:
    """``subject`` and ``swept`` are those of the judge; ``free``: inside, no question is needed."""

    def __init__(self, subject: Callable[[Case], Subject], swept: Swept, *, free: bool) -> None:
        self._subject = subject
        self._swept = swept
        self._free = free
        self.placing = Check("place of the command", self._place, again=True)
        """Before all others, which may end the walk. It answers nothing."""
        self.freeing = Check("sandbox", self._judge)
        """After the rules, before the default."""

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
        if not self._free or unread or subject.outside or self._swept(case, sandbox.hides) is not None:
            return None
        return Allow("sandbox", _INSIDE.format(_reach(sandbox.hosts)))

    def _outside(self, case: Case) -> str | None:
        """The reason why the command runs outside, empty if it runs inside; None if there is no sandbox or command."""
        sandbox = facts_of(case.tool).sandbox
        declared = case.traits.declared
        if not isinstance(sandbox, PlacesCommands) or declared.command is None or declared.fault is not None:
            return None
        return sandbox.settle(case.call_id, declared.command, _needs(self._subject(case))) or ""


def _reach(hosts: tuple[str, ...]) -> str:
    more = f" and {len(hosts) - _MOST_NAMED} more" if len(hosts) > _MOST_NAMED else ""
    return f"reaching only {', '.join(hosts[:_MOST_NAMED])}{more}" if hosts else "without the network"


def _needs(subject: Subject) -> str | None:
    """The reason why a command cannot do its work inside, as far as its words tell."""
    if subject.danger is not None:
        return subject.danger
    for touch in subject.outside:
        if touch.way != "read":
            return f"it would {touch.way} {brief(touch.place.spelled)}, outside the workspace"
    if subject.analysis is not None and subject.effects != "none":
        for run in shell.inside(subject.analysis).runs:
            if run.name in _VERSION_CONTROL:
                return f"{run.name} would change the repository's own records, which are read-only in the sandbox"
    return None
