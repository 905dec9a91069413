"""Sessions inside sessions: the questions of nested agents reach the doors of the root, at any depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from callgate.words.decisions import ApprovalPolicy, Confirmation, Question
from callgate.words.events import Event, PolicyAdded, QuestionAnswered, QuestionAsked


class Member(Protocol):
    """A session, as far as its family needs it."""

    @property
    def questions(self) -> tuple[Question, ...]: ...

    def take_answer(self, confirmation: Confirmation) -> str | None:
        """Act on an answer to a question of its own, or of one below it; otherwise say why not."""
        ...

    def adopt(self, policy: ApprovalPolicy) -> None:
        """A remembered answer that was given elsewhere in the family."""
        ...

    def relay(self, event: Event) -> None:
        """Let the doors hear of what happened further below."""
        ...

    def attend(self) -> None:
        """There is a family to tell things to."""
        ...


class Family:
    """What one session knows of those inside it, and of the one it is inside of. ``path`` labels the way from the root
    to here; two children never have one label."""

    def __init__(self, above: tuple[Family, Member] | None = None, label: str = "") -> None:
        self._above = above
        self._children: dict[str, Member] = {}
        self._label = ""
        self.path: tuple[str, ...] = ()
        if above is not None:
            family, _member = above
            self._label = family.free_label(label or "agent")
            self.path = (*family.path, self._label)

    def join(self, member: Member) -> None:
        if self._above is not None:
            family, above = self._above
            family._children[self._label] = member
            above.attend()

    def leave(self) -> None:
        if self._above is not None:
            self._above[0]._children.pop(self._label, None)

    def free_label(self, wanted: str) -> str:
        label, n = wanted, 1
        while label in self._children:
            n += 1
            label = f"{wanted}-{n}"
        return label

    @property
    def questions(self) -> Sequence[Question]:
        """Those of the sessions inside this one."""
        return [question for child in self._children.values() for question in child.questions]

    def answer(self, confirmation: Confirmation) -> str | None:
        """Hand an answer down to the session that asked."""
        label = confirmation.path[len(self.path)] if len(confirmation.path) > len(self.path) else ""
        child = self._children.get(label)
        if child is None or confirmation.path[: len(self.path)] != self.path:
            return f"no agent {' / '.join(confirmation.path)} is at work here"
        return child.take_answer(confirmation)

    def hear(self, event: Event) -> None:
        """Something happened in the session itself, or was relayed to it: what concerns the family goes on."""
        if isinstance(event, QuestionAsked | QuestionAnswered) and self._above is not None:
            self._above[1].relay(event)
        elif isinstance(event, PolicyAdded):
            for member in (*self._children.values(), *(() if self._above is None else (self._above[1],))):
                member.adopt(event.policy)
