"""The value types of structural search and rewriting. Lines and columns count from 1, columns in characters."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from callgate.words.changes import ChangeSet
from callgate.words.noun import noun


class ScanProgress(Protocol):
    """Called from several threads with the number of finished files; ``Run.progress`` is one."""

    def __call__(self, *, current: int, total: int) -> None: ...


def silent(*, current: int, total: int) -> None:
    """A progress callback that does nothing."""


SkipKind = Literal["syntax", "size", "encoding", "unreadable", "crashed", "pattern", "language", "link", "ignored"]

NAMED = 20
"""Skipped files of each kind, and overlaps, that are listed; the rest is counted."""


@noun
class ScanLimits:
    """The limits of a scan.

    files         files that are examined
    matches       matches that are returned
    file_bytes    bytes of a file
    characters    characters that are shown of a match
    file_seconds  seconds for one file
    """

    files: int = 10_000
    matches: int = 1_000
    file_bytes: int = 1_000_000
    characters: int = 2_000
    file_seconds: float = 10.0


STANDARD = ScanLimits()


@noun
class ScanScope:
    """The files to examine: those at or below ``paths`` (without any, all below the root), in one ``language``, matched
    by a ``glob`` in ``.gitignore`` syntax."""

    paths: Sequence[str] = ()
    language: str | None = None
    glob: str | None = None


EVERYWHERE = ScanScope()


@noun
class Op:
    """A pattern and its replacement."""

    pattern: str
    rewrite: str


@noun
class Match:
    """A match; ``after`` is the code that replaces ``text``, and ``op`` the index of its op."""

    path: str
    line: int
    column: int
    text: str
    after: str = ""
    op: int = 0


@noun
class Overlap:
    """Two replacements of the same text; ``held``: the file is not changed because of it."""

    path: str
    first: Match
    second: Match
    held: bool


@noun
class SkippedFile:
    """A file, or with a trailing slash a folder, that was not examined, and why."""

    path: str
    kind: SkipKind
    reason: str


@noun
class SkippedFiles:
    """The number of skipped files of each kind, and the first of them by name."""

    counts: Mapping[SkipKind, int]
    named: tuple[SkippedFile, ...]


@noun
class Cut:
    """A limit that was reached: the file at that point, and the number of remaining items."""

    limit: Literal["files", "matches"]
    at: str
    more: int


@noun
class SearchResult:
    """The result of a search.

    count  all matches, including those beyond the limit
    files  examined files
    hints  notes about a suspicious pattern
    """

    matches: tuple[Match, ...]
    count: int
    files: int
    files_matched: int
    skipped: SkippedFiles
    cuts: tuple[Cut, ...] = ()
    hints: tuple[str, ...] = ()


@noun
class RewrittenFile:
    path: str
    replacements: tuple[Match, ...]
    count: int


@noun
class Rewritten:
    """The result of a rewrite.

    changes    all that would be written, without files held back by ``overlaps``, ``skipped`` or ``cuts``
    rewritten  the same for display, file by file
    """

    changes: ChangeSet
    rewritten: tuple[RewrittenFile, ...]
    files: int
    skipped: SkippedFiles
    overlaps: tuple[Overlap, ...] = ()
    overlap_count: int = 0
    cuts: tuple[Cut, ...] = ()
    hints: tuple[str, ...] = ()
