"""The state of a session, read from its record."""

from collections.abc import Mapping
from typing import Any

from callgate.conversation.ledger import Ledger
from callgate.conversation.record import Record
from callgate.tools.session_state import TodoItem, folder_of, todos_of
from callgate.words.calls import ToolCall
from callgate.words.events import PromptQueued
from callgate.words.messages import Message, Spent, Usage
from callgate.words.model import WantedEffort
from callgate.words.modes import Mode


class SessionView:
    """Properties that read the ledger, so they are current at any time."""

    _record: Record

    @property
    def title(self) -> str:
        return str(self._ledger.metadata.get("title") or "")

    @property
    def tags(self) -> tuple[str, ...]:
        from callgate.transcript.session_summary import tags_of  # few sessions have any

        return tags_of(self._ledger.metadata.get("tags"))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Facts about the session itself, such as its title; see MetadataSet."""
        return self._ledger.metadata

    @property
    def mode(self) -> Mode:
        return self._ledger.mode

    @property
    def effort(self) -> WantedEffort | None:
        """The effort that was set for this session; None leaves it to settings and model."""
        return self._ledger.effort

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._ledger.messages)

    @property
    def waiting(self) -> tuple[PromptQueued, ...]:
        """The prompts that wait for the agent, in the order in which they will be delivered."""
        return tuple(self._ledger.waiting.values())

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the turn under way."""
        return tuple(entry.snapshot() for entry in self._ledger.calls.values())

    @property
    def context(self) -> Mapping[str, Any]:
        return self._ledger.context

    @property
    def todos(self) -> tuple[TodoItem, ...]:
        """The to-do list that the model keeps with TodoWrite."""
        return todos_of(self._ledger.context)

    @property
    def folder(self) -> str | None:
        """The folder in which the next command runs; None is the workspace."""
        return folder_of(self._ledger.context)

    @property
    def usage(self) -> Usage:
        return self._ledger.usage

    @property
    def costs(self) -> tuple[Spent, ...]:
        """Tokens and dollars by model, over all lives of the session, branches that were left included."""
        return tuple(self._ledger.costs.values())

    @property
    def cost(self) -> float:
        """Dollars of the whole session, as far as prices are known."""
        return self._ledger.cost
