"""Finds calls that may have changed something, but for which the history has no change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from callgate.admin.sessions import opened
from callgate.changes.history import Kept
from callgate.core.call_ledger import CallLedger, Entry
from callgate.policy.well_known import known_traits
from callgate.transcript.reader import all_entries
from callgate.words.decisions import Allow
from callgate.words.errors import StateError
from callgate.words.events import CallArrived, CallDecided, CallSettled, CallStarted, Durable, Forked, SessionOpened
from callgate.words.inputs import Undo
from callgate.words.noun import noun


@noun
class OtherCall:
    """A call that may have changed something, but for which the history has no change.

    what  the command of the call, or its first text argument
    """

    id: str
    message: str
    tool: str
    what: str


def _had_effects(call: Entry) -> bool:
    """Return True if the call may have changed something outside the session."""
    if call.started_at is None:
        return False
    result = call.result
    if isinstance(call.decision, Allow) and call.decision.by == "default":
        return False  # the gate allows only reading calls by default
    if call.name == "resolve" and result is not None and result.details.get("action") == "discard":
        return False
    traits = known_traits(call.name, call.arguments)
    return traits.effects != "none" and not traits.own_state and (result is None or result.effects != "none")


class LoggedCalls:
    """All calls in a log. Rewound calls are included, because their effects on files remain."""

    def __init__(self, log: Path) -> None:
        """Read the log. Raise JournalError if the file is not a log."""
        self.workspace = ""
        self.calls: list[Entry] = []
        ledger = CallLedger()
        for event in _events(log):
            match event:
                case SessionOpened():
                    self.workspace = event.workspace
                case Forked():  # earlier calls were made in another session, which can undo them
                    self.calls.clear()
                case CallArrived():
                    ledger.fold(event)
                    self.calls.append(ledger.calls[event.call_id])
                case CallDecided() | CallStarted() | CallSettled():
                    with suppress(KeyError, StateError):  # lines before it are missing
                        ledger.fold(event)
                case _:
                    pass


def other_calls(
    logged: LoggedCalls, history: Sequence[Kept], picked: Sequence[Kept], wanted: Undo
) -> tuple[OtherCall, ...]:
    """Return the calls in the scope of an undo that may have changed something and that the undo cannot revert.
    ``picked`` has the changes that the undo reverts."""
    if wanted.change is not None or wanted.scope == "call":
        return ()
    calls: Iterable[Entry] = logged.calls
    if wanted.scope == "turn":
        turn = picked[0].turn if picked else logged.calls[-1].message_id if logged.calls else ""
        calls = (call for call in logged.calls if call.message_id == turn)
    kept = {each.id for each in history}
    found = (call for call in calls if _had_effects(call) and f"{call.message_id}/{call.id}" not in kept)
    return tuple(OtherCall(call.id, call.message_id, call.name, next(_told(call.arguments), "")) for call in found)


def _told(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the argument ``command``, then every argument that is a string."""
    command = arguments.get("command")
    if isinstance(command, str):
        yield command
    yield from (value for value in arguments.values() if isinstance(value, str))


def workspace_of(log: Path) -> str:
    """Return the workspace of a session. Raise JournalError if the file is not a log."""
    return next((event.workspace for event in _events(log) if isinstance(event, SessionOpened)), "")


def _events(log: Path) -> Iterator[Durable]:
    with opened(log) as fd:
        yield from (entry.event for entry in all_entries(fd) if entry.event is not None)
