"""The text of the message that is being streamed, in a small file beside the log: not part of the record, and replaced
again and again until the message itself is on it."""

from __future__ import annotations

from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.conversation.ports import Drafted
from callgate.transcript.beside import drop_beside, read_beside, replace_beside

if TYPE_CHECKING:
    from callgate.transcript.masking import Masker  # its patterns are costly to load


def draft_path(log: Path) -> Path:
    return log.with_suffix(".draft")


def write_draft(log: Path, masker: Masker, message_id: str, text: Drafted) -> None:
    replace_beside(draft_path(log), dumps({"message": message_id, "text": masker.draft(text)}))


def read_draft(log: Path) -> tuple[str, Drafted]:
    """The message it belongs to, and what is known of it."""
    try:
        found = loads(read_beside(draft_path(log)))
        return str(found["message"]), tuple((int(calls), str(piece)) for calls, piece in found["text"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return "", ()


def drop_draft(log: Path) -> None:
    drop_beside(draft_path(log))
