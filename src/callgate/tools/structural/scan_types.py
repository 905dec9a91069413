"""The nouns of structural search and rewriting. Lines and columns count from 1, columns in characters."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from callgate.words.changes import ChangeSet
from callgate.words.noun import noun


class ScanProgress(Protocol):
    """Told how many files are done, of how many; ``Run.progress`` is one. Called from several threads."""

    def __call__(self, *, current: int, total: int) -> None: ...


def silent(*, current: int, total: int) -> None:
    """The progress that says nothing."""


SkipKind = Literal["syntax", "size", "encoding", "unreadable", "crashed", "pattern", "language", "link", "ignored"]

NAMED = 20
"""Skipped files of each kind, and overlaps, that are named; the others are counted."""


@noun
class ScanLimits:
    """``files`` that are looked at; ``matches`` that come back; ``file_bytes`` of a file; ``characters`` that are shown
    of a match; ``file_seconds`` that a file may take."""

    files: int = 10_000
    matches: int = 1_000
    file_bytes: int = 1_000_000
    characters: int = 2_000
    file_seconds: float = 10.0


STANDARD = ScanLimits()


@noun
class ScanScope:
    """The files to examine: those at ``paths`` or beneath them (all beneath the root if there are none), in one
    ``language``, and fitted by a ``glob`` of the kind that ``.gitignore`` has."""

    paths: Sequence[str] = ()
    language: str | None = None
    glob: str | None = None


EVERYWHERE = ScanScope()


@noun
class Op:
    """A pattern, and the code to put in its place."""

    pattern: str
    rewrite: str


@noun
class Match:
    """``after`` is the code that replaces ``text``, and ``op`` the number of the op that says so, from 0."""

    path: str
    line: int
    column: int
    text: str
    after: str = ""
    op: int = 0


@noun
class Overlap:
    """Two replacements that want the same text; ``held``: nothing is changed in this file because of it."""

    path: str
    first: Match
    second: Match
    held: bool


@noun
class SkippedFile:
    """A file, or with a slash at its end a folder, that was not looked into, and why."""

    path: str
    kind: SkipKind
    reason: str


@noun
class SkippedFiles:
    """Everything that was left out: how many of each kind, and the first of them by name."""

    counts: Mapping[SkipKind, int]
    named: tuple[SkippedFile, ...]


@noun
class Cut:
    """A limit that ended the work: the file at which it did, and how many more there are."""

    limit: Literal["files", "matches"]
    at: str
    more: int


@noun
class SearchResult:
    """``count`` are all matches, those that ``cuts`` left out too; ``files`` those looked at; ``hints`` say what is
    strange about the pattern."""

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
    """``changes`` is all that would be written; ``rewritten`` shows it file by file. What ``overlaps`` holds back,
    ``skipped`` leaves out or ``cuts`` cut off is not in it."""

    changes: ChangeSet
    rewritten: tuple[RewrittenFile, ...]
    files: int
    skipped: SkippedFiles
    overlaps: tuple[Overlap, ...] = ()
    overlap_count: int = 0
    cuts: tuple[Cut, ...] = ()
    hints: tuple[str, ...] = ()
