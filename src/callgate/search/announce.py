"""Announcements of deferred tools: their names once, then what was added and removed.

What the model was told is read from the messages that it is still sent, so that a summary, a rewind, a resumed session
or a message that was taken out need nothing more: what it does not see any more is announced again, and nothing else.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from callgate.conversation.feature import Reminder
from callgate.conversation.record import Record
from callgate.conversation.reminders import reminder
from callgate.core.ports import Tool
from callgate.words.late_pattern import late_pattern

ABOUT = "tools"
"""The subject of an announcement."""
MOST_CHARS = 20_000
"""Characters of all names that the model is told; of more tools the rest is found by search alone."""

_NAME = late_pattern(r"[A-Za-z0-9_.:/-]{1,128}")
_ADDED, _REMOVED = "+ ", "- "


def sayable(name: str) -> bool:
    """True for a name that can stand in a reminder; others are found by search alone."""
    return _NAME.fullmatch(name) is not None


class Announcements:
    def __init__(self, record: Record) -> None:
        self._record = record
        self._deferred: Sequence[Tool] | None = None  # the tools and the history that were last compared
        self._state: Sequence[object] = ()

    def due(self, deferred: Sequence[Tool], loaded: Sequence[Tool] = ()) -> Sequence[Reminder]:
        """The announcement for the next request, if there is something to announce. A tool that was announced and is
        ``loaded`` in a resumed session is not gone, nor is one that a server may have once it is connected."""
        ledger = self._record.ledger
        state = (ledger, ledger.view.changes, len(ledger.about))
        if deferred is self._deferred and state == self._state:
            return ()
        self._deferred, self._state = deferred, state
        told = self.told() - {each.spec.name for each in loaded}
        names = [each.spec.name for each in deferred]
        coming = tuple(prefix for each in deferred for prefix in getattr(each, "expects", ()))
        removed = sorted(name for name in told.difference(names) if not name.startswith(coming))
        room = MOST_CHARS - sum(map(len, told)) + sum(map(len, removed))
        added: list[str] = []
        for name in sorted(name for name in names if name not in told and sayable(name)):
            if len(name) > room:
                break
            room -= len(name)
            added.append(name)
        if not added and not removed:
            return ()
        silent = len({*names}.difference(told, added))
        return (Reminder(_text(added, removed, silent, first=not told), ABOUT, "tools"),)

    def told(self) -> set[str]:
        """The names that the messages of the next request announce."""
        ledger = self._record.ledger
        about = {message_id for message_id, subject in ledger.about.items() if subject == ABOUT}
        told: set[str] = set()
        for message in ledger.history() if about else ():
            if message.id in about:
                for line in message.text.splitlines():
                    if line.startswith(_ADDED):
                        told.add(line.removeprefix(_ADDED))
                    elif line.startswith(_REMOVED):
                        told.discard(line.removeprefix(_REMOVED))
        return told


def _text(added: Iterable[str], removed: Iterable[str], silent: int, *, first: bool) -> str:
    texts = Path(__file__).with_name("announcement.md").read_text(encoding="utf-8").strip().split("\n\n")
    said, later, gone, more = texts
    parts: list[str] = []
    if added:
        parts.append("\n".join((said if first else later, *(f"{_ADDED}{name}" for name in added))))
        if silent:
            parts.append(more.format(silent))
    if removed:
        parts.append("\n".join((gone, *(f"{_REMOVED}{name}" for name in removed))))
    return reminder("\n\n".join(parts))
