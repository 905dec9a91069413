"""The text of the message that is being streamed, in a small file beside the log: not part of the record, and replaced
again and again until the message itself is on it."""

import re
from json import dumps, loads
from pathlib import Path

from callgate.core.ports import Drafted
from callgate.transcript.beside import drop_beside, read_beside, replace_beside
from callgate.transcript.masking import Masker

_UNFINISHED = re.compile(r"[!-~]*\Z")  # all secrets are made of these


def draft_path(log: Path) -> Path:
    return log.with_suffix(".draft")


def write_draft(log: Path, masker: Masker, message_id: str, text: Drafted) -> None:
    """Without its last word, which may be the beginning of a secret that nobody can recognise yet."""
    *pieces, (calls, last) = text
    pieces.append((calls, masker.finished(_UNFINISHED.sub("", last))))
    shown = [(calls, masker.text(piece)) for calls, piece in pieces if piece]
    replace_beside(draft_path(log), dumps({"message": message_id, "text": shown}))


def read_draft(log: Path) -> tuple[str, Drafted]:
    """The message it belongs to, and what is known of it."""
    try:
        found = loads(read_beside(draft_path(log)))
        return str(found["message"]), tuple((int(calls), str(piece)) for calls, piece in found["text"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return "", ()


def drop_draft(log: Path) -> None:
    drop_beside(draft_path(log))
