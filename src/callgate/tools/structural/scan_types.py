"""The value types of structural search and rewriting. Lines and columns are numbered from 1; columns are characters."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from callgate.words.changes import ChangeSet
from callgate.words.noun import noun


class ScanProgress(Protocol):
    """A callback that receives the number of finished files. It is called from several threads; ``Run.progress`` can be
    used."""

    def __call__(self, *, current: int, total: int) -> None: ...


def silent(*, current: int, total: int) -> None: ...


SkipKind = Literal["syntax", "size", "encoding", "unreadable", "crashed", "pattern", "language", "link", "ignored"]

NAMED = 20
"""The most skipped files of each kind, and the most overlaps, that are listed; the others are counted."""


@noun
class ScanLimits:
    """The limits of a scan.

    files         the number of files that are examined
    matches       the number of matches that are returned
    file_bytes    the bytes of one file
    characters    the characters that are shown of one match
    file_seconds  the seconds for one file
    """

    files: int = 10_000
    matches: int = 1_000
    file_bytes: int = 1_000_000
    characters: int = 2_000
    file_seconds: float = 10.0


STANDARD = ScanLimits()


@noun
class ScanScope:
    """The files to examine: all files at or below ``paths``, or below the root if there are no paths. ``language`` and
    ``glob`` (in ``.gitignore`` syntax) restrict them."""

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
    """A match of a pattern. ``after`` is the replacement of ``text``, ``op`` the index of the op."""

    path: str
    line: int
    column: int
    text: str
    after: str = ""
    op: int = 0


@noun
class Overlap:
    """Two replacements of the same text. If ``held``, the file is not changed because of the overlap."""

    path: str
    first: Match
    second: Match
    held: bool


@noun
class SkippedFile:
    """A file, or a folder (with a trailing slash), that was not examined, with the reason."""

    path: str
    kind: SkipKind
    reason: str


@noun
class SkippedFiles:
    """The number of skipped files of each kind, and the names of the first of them."""

    counts: Mapping[SkipKind, int]
    named: tuple[SkippedFile, ...]


@noun
class Cut:
    """A limit that was reached: the file at which it was reached, and the number of remaining items."""

    limit: Literal["files", "matches"]
    at: str
    more: int


@noun
class SearchResult:
    """The result of a search.

    count  the number of all matches, including matches beyond the limit
    files  the number of examined files
    hints  notes on possible faults of the pattern
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

    changes    the changes to write, without files omitted because of ``overlaps``, ``skipped`` or ``cuts``
    rewritten  the replacements for display, file by file
    """

    changes: ChangeSet
    rewritten: tuple[RewrittenFile, ...]
    files: int
    skipped: SkippedFiles
    overlaps: tuple[Overlap, ...] = ()
    overlap_count: int = 0
    cuts: tuple[Cut, ...] = ()
    hints: tuple[str, ...] = ()
