"""Parses the file name patterns of ripgrep's ``-g``: the syntax of ignore files and ``{a,b}``.

In ripgrep ``-g`` overrides ignore files. Here a pattern does not: only the last segment of a pattern is passed to the
program, as a file type, and the whole pattern is matched against the output.
"""

import re
from collections.abc import Iterable, Sequence

from callgate.tools.ignore_files import Glob, parse_glob
from callgate.tools.structural.languages import LANGUAGES
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

_SPECIAL = re.compile(r"[*?\[\]{}!\\]")
_MOST_PATTERNS = 200
"""The most patterns that braces may expand to."""

_TYPES = {
    name: tuple(f"*.{ending}" for ending in each.endings) for each in LANGUAGES for name in (each.name, *each.aliases)
}
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
