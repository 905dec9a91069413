"""What is known of a log without reading it again; see docs/decisions/0008.

A cache: it may be missing, old or broken, and is then made anew. It fits exactly one beginning of one file, since the
sum at its end covers all before.
"""

import os
from contextlib import suppress
from json import dumps, loads
from pathlib import Path

from callgate.transcript.summary import Summary
from callgate.words.errors import UsageError
from callgate.words.jsonable import from_json, to_sparse
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
    """The index as it was written, or None. Whether it fits is for the loader to find out."""
    try:
        fd = os.open(index_path(log), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            index = from_json(Index, loads(file.read()))
    except (OSError, ValueError, RecursionError, UsageError):
        return None
    ordered = all(0 <= start < end <= index.upto for start, end in index.live)
    return index if index.v == VERSION and ordered else None


def write_index(log: Path, index: Index) -> None:
    replace_cache(index_path(log), dumps(to_sparse(index), separators=(",", ":")))


def replace_cache(path: Path, text: str) -> None:
    """Replace the file as a whole. Where it cannot be written, nothing is lost: it is a cache."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(draft, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
