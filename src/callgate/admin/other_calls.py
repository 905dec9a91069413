"""Finds calls that may have changed something and have no change in the history."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from callgate.changes.history import Kept
from callgate.policy.well_known import known_traits
from callgate.transcript.lock import open_log, unreadable
from callgate.transcript.reader import all_entries
from callgate.words.calls import Result
from callgate.words.decisions import Allow, Decision
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Durable,
    Forked,
    QuestionAnswered,
    SessionOpened,
)
from callgate.words.inputs import Undo
from callgate.words.noun import noun


@noun
class OtherCall:
    """A call that may have changed something, and has no change in the history.

    what  its command, or its first text argument
    """

    id: str
    message: str
    tool: str
    what: str


class _Call:
    """The state of a call while the log is read."""

    def __init__(self, event: CallArrived) -> None:
        self.message = event.message_id
        self.id = event.call_id
        self.tool = event.name
        self.arguments: Mapping[str, Any] = event.arguments
        self.decision: Decision | None = None
        self.started = False
        self.result: Result | None = None

    @property
    def only_read(self) -> bool:
        """True if the call changed nothing outside the session."""
        if isinstance(self.decision, Allow) and self.decision.by == "default":
            return True  # the gate lets nothing else run by itself
        if self.tool == "resolve" and self.result is not None and self.result.details.get("action") == "discard":
            return True
        traits = known_traits(self.tool, self.arguments)
        return traits.effects == "none" or traits.own_state

    @property
    def had_effects(self) -> bool:
        if not self.started or self.only_read:
            return False
        return self.result is None or self.result.effects != "none"


class LoggedCalls:
    """The calls of a whole log. Rewound calls are included, because their effects on files remain."""

    def __init__(self, log: Path) -> None:
        """Read the log. Raise JournalError if the file is not a log."""
        self.workspace = ""
        self.calls: list[_Call] = []
        self._latest: dict[str, _Call] = {}
        for event in _events(log):
            self._fold(event)

    def _fold(self, event: Durable) -> None:
        match event:
            case SessionOpened():
                self.workspace = event.workspace
            case Forked():  # what stands before it was done in another session, and is for that one to undo
                self.calls.clear()
            case CallArrived():
                self._latest[event.call_id] = call = _Call(event)
                self.calls.append(call)
            case QuestionAnswered():
                self._edit(event.confirmation.call_id, event.confirmation.arguments)
            case CallDecided() if event.call_id in self._latest:
                self._latest[event.call_id].decision = event.decision
                self._edit(event.call_id, getattr(event.decision, "arguments", None))
            case CallStarted() if event.call_id in self._latest:
                self._latest[event.call_id].started = True
            case CallSettled() if event.call_id in self._latest:
                self._latest[event.call_id].result = event.result
            case _:
                pass

    def _edit(self, call_id: str, arguments: Mapping[str, Any] | None) -> None:
        if arguments is not None and call_id in self._latest:
            self._latest[call_id].arguments = arguments


def other_calls(
    logged: LoggedCalls, history: Sequence[Kept], picked: Sequence[Kept], wanted: Undo
) -> tuple[OtherCall, ...]:
    """Return the calls in the scope of an undo. ``picked`` are the changes that the undo reverts."""
    if wanted.change is not None or wanted.scope == "call":
        return ()
    calls: Iterable[_Call] = logged.calls
    if wanted.scope == "turn":
        turn = picked[0].turn if picked else logged.calls[-1].message if logged.calls else ""
        calls = (call for call in logged.calls if call.message == turn)
    kept = {each.id for each in history}
    found = (call for call in calls if call.had_effects and f"{call.message}/{call.id}" not in kept)
    return tuple(OtherCall(call.id, call.message, call.tool, next(_told(call.arguments), "")) for call in found)


def _told(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the command, then every text argument."""
    command = arguments.get("command")
    if isinstance(command, str):
        yield command
    yield from (value for value in arguments.values() if isinstance(value, str))


def workspace_of(log: Path) -> str:
    """Return the workspace of a session. Raise JournalError if the file is not a log."""
    return next((event.workspace for event in _events(log) if isinstance(event, SessionOpened)), "")


def _events(log: Path) -> Iterator[Durable]:
    try:
        fd = open_log(log, os.O_RDONLY)
    except OSError as error:
        raise unreadable(log, error) from error
    try:
        yield from (entry.event for entry in all_entries(fd) if entry.event is not None)
    finally:
        os.close(fd)
