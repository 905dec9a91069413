"""Parses ``.gitignore`` and ``.ignore`` files like git and ripgrep.

Matching takes linear time in the length of the path and never backtracks: the text between two stars is matched at its
first occurrence, because a later occurrence cannot give a better match. So no ignore file can make matching slow.

File name patterns of ripgrep's ``-g`` have the same syntax, and ``{a,b}``. In ripgrep ``-g`` overrides ignore files.
Here a pattern does not: only the last segment of a pattern is passed to the program, as a file type, and the whole
pattern is matched against the output.
"""

import re
from collections.abc import Iterable, Sequence

from callgate.host.files import read_regular
from callgate.tools.structural.scan_types import LANGUAGES
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

_TOKEN = re.compile(r"\\(?P<plain>.)|(?P<stars>\*+)|\[(?P<not>[!^]?)(?P<set>\]?(?:\\.|[^\]\\])*)\]|.", re.DOTALL)
_IN_SET = re.compile(r"\\?(?P<low>.)(?:-\\?(?P<high>.))?", re.DOTALL)

AnyFolders = None
"""The segment ``**``: any number of folders."""


_MOST_BYTES = 1_000_000


@noun
class Glob:
    """One pattern of an ignore file. ``excludes`` is False if the pattern begins with ``!``. If ``folders``, only
    folders match."""

    segments: tuple[re.Pattern[str] | None, ...]
    excludes: bool
    folders: bool

    def matches(self, path: str) -> bool:
        """Return True if the path matches. The segments are compared in order; after a mismatch the last ``**`` is
        extended by one folder."""
        parts = path.split("/")
        at = done = 0
        again: tuple[int, int] | None = None
        while done < len(parts):
            segment = self.segments[at] if at < len(self.segments) else False
            if segment is AnyFolders:
                at, again = at + 1, (at + 1, done + 1)
            elif segment and segment.match(parts[done]):
                at, done = at + 1, done + 1
            elif again is not None:
                at, done = again
                again = (at, done + 1)
            else:
                return False
        return at == len(self.segments)


@noun
class IgnoreFile:
    """The patterns of one ignore file for the paths below ``folder`` (relative to the root, empty for the root). For a
    file above the root, ``lead`` is the path from its folder down to the root."""

    folder: str
    globs: tuple[Glob, ...]
    lead: str = ""


def verdict(files: Sequence[IgnoreFile], path: str, *, folder: bool) -> bool | None:
    """Return True if a path is ignored, False if it is explicitly included, and None if no pattern matches.

    The last matching pattern of the innermost file decides. ``files`` must be ordered from the outermost file; ``path``
    is relative to the root.
    """
    for file in reversed(files):
        inner = path[len(file.folder) + 1 :] if file.folder else file.lead + path
        for glob in reversed(file.globs):
            if (folder or not glob.folders) and glob.matches(inner):
                return glob.excludes
    return None


def parse_ignore(text: str, folder: str = "", lead: str = "") -> IgnoreFile:
    """Parse an ignore file. Invalid lines are skipped, as in git."""
    return IgnoreFile(folder, tuple(_globs(text.removeprefix("\ufeff").split("\n"))), lead)


def parse_glob(line: str) -> Glob | None:
    """Parse a pattern. Return None if the pattern is empty or cannot match any path."""
    excludes = not line.startswith("!")
    line = line if excludes else line[1:]
    folders = line.endswith("/") and not line.endswith("\\/")
    line = line.removesuffix("/") if folders else line
    names = line.removeprefix("/").split("/")
    if "" in names:  # no path has two slashes in a row
        return None
    if "/" not in line:
        names.insert(0, "**")
    if _is_any(names[-1]):
        names.append("*")  # everything beneath what comes before
    try:
        return Glob(tuple(AnyFolders if _is_any(name) else _segment(name) for name in names), excludes, folders)
    except (ValueError, re.error):
        return None


def _is_any(name: str) -> bool:
    return len(name) > 1 and not name.strip("*")  # for git, more stars are equivalent


def _globs(lines: Iterable[str]) -> Iterable[Glob]:
    for line in lines:
        if line.startswith("#"):
            continue
        glob = parse_glob(_without_blanks(line.removesuffix("\r")))
        if glob is not None:
            yield glob


def _without_blanks(line: str) -> str:
    bare = line.rstrip(" \t")
    escaped = (len(bare) - len(bare.rstrip("\\"))) % 2 == 1
    return line[: len(bare) + 1] if escaped else bare


def _segment(text: str) -> re.Pattern[str]:
    """Compile one path segment of a pattern to a regular expression that does not backtrack."""
    pieces = [""]
    for found in _TOKEN.finditer(text):
        if found["stars"]:
            pieces.append("")
        elif found["set"] is not None:
            pieces[-1] += _set(found["not"], found["set"])
        elif found[0] in ("[", "\\"):
            raise ValueError("[ is not closed, or \\ is the last character")
        else:
            pieces[-1] += "." if found[0] == "?" else re.escape(found["plain"] or found[0])
    first, *others = pieces
    inner = "".join(f"(?>.*?{piece})" for piece in others[:-1])
    last = f".*?{others[-1]}" if others else ""
    return re.compile(rf"{first}{inner}{last}\Z", re.DOTALL)


def _set(negated: str, inside: str) -> str:
    parts = (
        re.escape(found["low"]) + (f"-{re.escape(found['high'])}" if found["high"] else "")
        for found in _IN_SET.finditer(inside)
    )
    return f"[{'^' if negated else ''}{''.join(parts)}]"


def read_ignore(path: str) -> str:
    """Return the text of an ignore file. Return an empty text if it is not a regular file: git does not follow links
    either."""
    try:
        return read_regular(path, _MOST_BYTES, follow=False).data.decode("utf-8", "replace")
    except OSError:
        return ""


_SPECIAL = re.compile(r"[*?\[\]{}!\\]")
_MOST_PATTERNS = 200
"""The most patterns that braces may expand to."""

_TYPES = {name: tuple(f"*.{end}" for end in each.endings) for each in LANGUAGES for name in (each.name, *each.aliases)}
_TYPES["ts"] = _TYPES["typescript"] = (*_TYPES["ts"], *_TYPES["tsx"])
_TYPES["cpp"] = _TYPES["c++"] = (*_TYPES["cpp"], "*.h")
_TYPES["make"] = ("Makefile", "makefile", "GNUmakefile", "*.mk")
_TYPES["docker"] = ("Dockerfile", "Dockerfile.*", "*.dockerfile")
_TYPES["cmake"] = ("CMakeLists.txt", "*.cmake")


@noun
class NameFilter:
    """A filter of paths.

    names             globs for the last segment of a path, at least one of which must match; empty accepts all paths
    wanted, unwanted  patterns for the whole path, relative to the searched folder
    """

    names: tuple[str, ...] = ()
    wanted: tuple[Glob, ...] = ()
    unwanted: tuple[Glob, ...] = ()

    def fits(self, path: str) -> bool:
        wanted = not self.wanted or any(not glob.folders and glob.matches(path) for glob in self.wanted)
        return wanted and not (self.unwanted and _left_out(self.unwanted, path))


def _left_out(globs: Iterable[Glob], path: str) -> bool:
    parts = path.split("/")
    folders = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    return any(any(map(glob.matches, folders)) or (not glob.folders and glob.matches(path)) for glob in globs)


def name_filter(globs: Sequence[str], kind: str | None = None) -> NameFilter:
    """Return a filter made of globs. ``kind`` is a file type such as ``py`` or ``rust``; an unknown type is used as a
    file name extension."""
    names = _type(kind) if kind is not None else ()
    wanted: list[Glob] = []
    unwanted: list[Glob] = []
    last: list[str] = []
    for glob in (part for written in globs for part in expanded(written)):
        parsed = parse_glob(glob.removeprefix("./"))
        if parsed is None:
            raise ToolFailure(f"The glob {glob!r} cannot match any file: write a glob such as src/**/*.py")
        (wanted if parsed.excludes else unwanted).append(parsed)
        if parsed.excludes:
            last.append(glob.rstrip("/").rpartition("/")[2])
    told = last and all(name.strip("*") and "\\" not in name for name in last)
    return NameFilter(names or (tuple(dict.fromkeys(last)) if told else ()), tuple(wanted), tuple(unwanted))


def _type(kind: str) -> tuple[str, ...]:
    kind = kind.strip().lower().removeprefix(".")
    if not re.fullmatch(r"[\w+#-]+", kind):
        raise ToolFailure(f"{kind!r} is not a known file type: write a type such as py, ts or rust.")
    return _TYPES.get(kind, (f"*.{kind}",))


def split_base(pattern: str, path: str = ".") -> tuple[str, str]:
    """Return the folder in which a pattern searches, and the rest of the pattern anchored to this folder. The gate and
    the search both use this result."""
    pattern = pattern.removeprefix("./")
    parts = f"{pattern}**".split("/") if pattern.endswith("/") else pattern.split("/")
    plain = 0
    while plain < len(parts) - 1 and not _SPECIAL.search(parts[plain]):
        plain += 1
    base, rest = "/".join(parts[:plain]), "/".join(parts[plain:])
    if not plain:
        return path or ".", rest
    if pattern.startswith("/"):
        return base or "/", f"/{rest}"
    return base if path in ("", ".") else f"{path.rstrip('/')}/{base}", f"/{rest}"


def expanded(glob: str) -> list[str]:
    """Return all alternatives of a pattern with ``{a,b}``, which may be nested."""
    done: list[str] = []
    todo = [glob]
    while todo:
        text = todo.pop(0)
        found = re.search(r"(?<!\\)\{([^{}]*)\}", text)
        if found is None:
            done.append(text)
        else:
            todo += [text[: found.start()] + each + text[found.end() :] for each in found[1].split(",")]
        if len(done) + len(todo) > _MOST_PATTERNS:
            raise ToolFailure(f"The glob {glob!r} expands to more than {_MOST_PATTERNS} patterns: write a simpler one.")
    return list(dict.fromkeys(done))
