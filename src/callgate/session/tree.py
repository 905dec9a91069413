"""Sessions inside sessions: questions of nested agents reach the doors of the root, at any depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from callgate.words.decisions import ApprovalPolicy, Confirmation, Question
from callgate.words.events import Event, PolicyAdded, QuestionAnswered, QuestionAsked


class TreeMember(Protocol):
    """The part of a session that its neighbours in the tree use."""

    @property
    def questions(self) -> tuple[Question, ...]: ...

    def take_answer(self, confirmation: Confirmation) -> str | None:
        """Acts on an answer to a question of its own, or of a session below it; otherwise gives the reason why not."""
        ...

    def adopt(self, policy: ApprovalPolicy) -> None:
        """Takes over a remembered answer that was given elsewhere in the tree."""
        ...

    def relay(self, event: Event) -> None:
        """Publishes an event of a session further below."""
        ...

    def attend(self) -> None:
        """Starts listening to its own events, because a neighbour must hear of some."""
        ...


class TreeNode:
    """One session's place in the tree: its parent, its children by label, and ``path``, the labels from the root to
    here. Two children never have the same label."""

    def __init__(self, parent: tuple[TreeNode, TreeMember] | None = None, label: str = "") -> None:
        self._parent = parent
        self._children: dict[str, TreeMember] = {}
        self.label = ""
        self._label = ""
        self.path: tuple[str, ...] = ()
        if parent is not None:
            node, _member = parent
            self.label = label or "agent"
            self._label = node._free_label(self.label)
            self.path = (*node.path, self._label)

    @property
    def nested(self) -> bool:
        return self._parent is not None

    def join(self, member: TreeMember) -> None:
        if self._parent is not None:
            node, parent = self._parent
            node._children[self._label] = member
            parent.attend()

    def leave(self) -> None:
        if self._parent is not None:
            self._parent[0]._children.pop(self._label, None)

    def _free_label(self, wanted: str) -> str:
        label, n = wanted, 1
        while label in self._children:
            n += 1
            label = f"{wanted}-{n}"
        return label

    @property
    def questions(self) -> Sequence[Question]:
        """The questions of the sessions below."""
        return [question for child in self._children.values() for question in child.questions]

    def answer(self, confirmation: Confirmation) -> str | None:
        """Passes an answer down to the session that asked."""
        label = confirmation.path[len(self.path)] if len(confirmation.path) > len(self.path) else ""
        child = self._children.get(label)
        if child is None or confirmation.path[: len(self.path)] != self.path:
            return f"no agent {' / '.join(confirmation.path)} is at work here"
        return child.take_answer(confirmation)

    def hear(self, event: Event) -> None:
        """Passes on an event of this session or of one below: questions go up, remembered answers everywhere."""
        if isinstance(event, QuestionAsked | QuestionAnswered) and self._parent is not None:
            self._parent[1].relay(event)
        elif isinstance(event, PolicyAdded):
            for member in (*self._children.values(), *(() if self._parent is None else (self._parent[1],))):
                member.adopt(event.policy)
