"""The index of a log, which saves reading it again; see docs/decisions/0008.

A cache: it may be missing, old or broken, and is then made anew. It fits exactly one beginning of one file, since the
sum at its end covers all before.
"""

from hashlib import sha256
from json import dumps, loads
from pathlib import Path

from callgate.formats.jsonable import from_json, to_sparse
from callgate.transcript.beside import drop_beside, read_beside, replace_beside
from callgate.transcript.summary import Summary
from callgate.words.errors import UsageError
from callgate.words.noun import noun

VERSION = 1


@noun
class Index:
    """``upto``: the offset behind the last line it knows, ``n`` and ``sum`` of that line; ``live`` what to load."""

    upto: int
    n: int
    sum: str
    leaf: str | None
    live: tuple[tuple[int, int], ...]
    about: Summary
    v: int = VERSION


def index_path(log: Path) -> Path:
    return log.with_suffix(".index")


def read_index(log: Path) -> Index | None:
    """The index as it was written, or None. Whether it fits the log is for the loader to find out."""
    try:
        text, _, summed = read_beside(index_path(log)).rpartition(b"\n")
        index = from_json(Index, loads(text)) if summed == _sum(text) else None
    except (OSError, ValueError, RecursionError, UsageError):
        return None
    if index is None or index.v != VERSION:
        return None
    return index if all(0 <= start < end <= index.upto for start, end in index.live) else None


def write_index(log: Path, index: Index) -> None:
    text = dumps(to_sparse(index), separators=(",", ":"))
    replace_beside(index_path(log), f"{text}\n{_sum(text.encode()).decode()}")


def drop_index(log: Path) -> None:
    drop_beside(index_path(log))


def _sum(text: bytes) -> bytes:
    return sha256(text).hexdigest()[:32].encode()
