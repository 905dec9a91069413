"""The value types of structural search and rewriting, and the supported languages.

Lines and columns are numbered from 1; columns are characters. The engine panics for an unknown language name, so all
names are checked here first.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Literal, Protocol

from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun


@noun
class Language:
    """A supported language. ``name`` is the name used by the engine; ``endings`` are file name extensions without the
    dot."""

    name: str
    aliases: tuple[str, ...]
    endings: tuple[str, ...]


def _language(name: str, aliases: str, endings: str) -> Language:
    return Language(name, tuple(aliases.split()), tuple(endings.split()))


LANGUAGES = (
    _language("bash", "sh shell", "bash bats cgi command env fcgi ksh sh tmux tool zsh"),
    _language("c", "", "c h"),
    _language("cpp", "c++ cc cxx", "cc hpp cpp c++ hh cxx cu ino"),
    _language("csharp", "cs c#", "cs"),
    _language("css", "scss", "css scss"),
    _language("dart", "", "dart"),
    _language("elixir", "ex", "ex exs"),
    _language("go", "golang", "go"),
    _language("haskell", "hs", "hs"),
    _language("hcl", "terraform", "hcl nomad tf tfvars workflow"),
    _language("html", "", "html htm xhtml"),
    _language("java", "", "java"),
    _language("javascript", "js jsx", "cjs js mjs jsx"),
    _language("json", "", "json"),
    _language("kotlin", "kt", "kt ktm kts"),
    _language("lua", "", "lua"),
    _language("markdown", "md", "markdown md"),
    _language("nix", "", "nix"),
    _language("php", "", "php"),
    _language("python", "py python3", "py py3 pyi bzl bazel"),
    _language("ruby", "rb", "rb rbw gemspec"),
    _language("rust", "rs", "rs"),
    _language("scala", "", "scala sc sbt"),
    _language("solidity", "sol", "sol"),
    _language("swift", "", "swift"),
    _language("tsx", "", "tsx"),
    _language("typescript", "ts", "ts cts mts"),
    _language("yaml", "yml", "yaml yml"),
    _language("zig", "", "zig"),
)

_BY_NAME = {name: language for language in LANGUAGES for name in (language.name, *language.aliases)}
_BY_ENDING = {ending: language for language in LANGUAGES for ending in language.endings}


def language_named(name: str) -> Language:
    """Return the language with this name. Raise ToolFailure with the supported languages if it is unknown."""
    language = _BY_NAME.get(name.strip().lower())
    if language is None:
        close = get_close_matches(name.strip().lower(), _BY_NAME, n=1)
        hint = f", did you mean {_BY_NAME[close[0]].name}?" if close else "."
        known = ", ".join(language.name for language in LANGUAGES)
        raise ToolFailure(f"Unknown language {name!r}{hint} Known languages: {known}.")
    return language


def language_of(path: str) -> Language | None:
    """Return the language of a file by its extension, or None. The comparison is case-sensitive, as in the engine."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return _BY_ENDING.get(ending) if dot and stem else None


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
class FileResult:
    """The result of examining one file.

    count          the number of all matches, or of all replacements that change something, including results that are
                   not stored
    before, after  the contents of the file, if it must be written
    flaws          notes on possible faults of a pattern that matches nothing
    """

    path: str
    language: str
    skipped: SkippedFile | None = None
    count: int = 0
    matches: tuple[Match, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    overlap_count: int = 0
    before: bytes | None = None
    after: bytes | None = None
    flaws: tuple[str, ...] = ()


@noun
class Rewritten:
    """The result of a rewrite.

    changes    the changes to write, without files omitted because of ``overlaps``, ``skipped`` or ``cuts``
    rewritten  the replacements for display, file by file
    """

    changes: ChangeSet
    rewritten: tuple[FileResult, ...]
    files: int
    skipped: SkippedFiles
    overlaps: tuple[Overlap, ...] = ()
    overlap_count: int = 0
    cuts: tuple[Cut, ...] = ()
    hints: tuple[str, ...] = ()
