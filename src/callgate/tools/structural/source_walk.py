"""Finds the source files to examine, always in the same order.

Like ast-grep's command line, the walk skips names that begin with a dot, does not follow links, and obeys
``.gitignore`` and ``.ignore``, also outside of repositories. It also skips ``node_modules``. A named file or folder is
always examined, but the rules apply below a named folder.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence

from callgate.host.beneath import OpenFolder
from callgate.host.paths import Resolver
from callgate.tools.ignore_files import Glob, IgnoreFile, parse_glob, parse_ignore, read_ignore, verdict
from callgate.tools.structural.scan_types import Language, SkippedFile, language_of
from callgate.tools.structural.source_text import GUESTS, HOST
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

_IGNORE = (".gitignore", ".ignore")
_NEVER = frozenset(("node_modules",))


@noun
class SourceFile:
    """A file to examine. ``path`` is relative to the root, with ``/`` as separator; ``language`` is the name used by
    the engine."""

    path: str
    language: str
    size: int


@noun
class Walked:
    files: tuple[SourceFile, ...]
    skipped: tuple[SkippedFile, ...]


IgnoreFiles = tuple[IgnoreFile, ...]
"""Ignore files from the outermost folder to the innermost; in one folder ``.ignore`` precedes ``.gitignore``."""


def walk(
    root: str,
    paths: Sequence[str],
    language: Language | None = None,
    glob: str | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Walked:
    """Return the files to examine. Raise ToolFailure for a path that does not exist or leads out of the root.
    Blocks."""
    walker = _Walker(Resolver(root), language, _filter(glob), stopped)
    for path in paths or (".",):
        walker.take(path)
    files = sorted(walker.files.values(), key=lambda file: file.path.split("/"))
    return Walked(tuple(files), tuple(sorted(walker.skipped.values(), key=lambda each: each.path.split("/"))))


def _filter(glob: str | None) -> Glob | None:
    if glob is None:
        return None
    parsed = parse_glob(glob.removeprefix("./"))
    if parsed is None:
        raise ToolFailure(f"The glob {glob!r} cannot match any file: write a glob such as src/**/*.py")
    return parsed


class _Walker:
    def __init__(
        self, resolver: Resolver, language: Language | None, glob: Glob | None, stopped: Callable[[], bool]
    ) -> None:
        self._resolver = resolver
        self._root = resolver.root
        self._language = language
        self._glob = glob
        self._stopped = stopped
        self.files: dict[str, SourceFile] = {}
        self.skipped: dict[str, SkippedFile] = {}

    def take(self, path: str) -> None:
        found = self._resolver.walk(path)
        if found.fault is not None:
            raise ToolFailure(f"{path!r} is not a valid path: {found.fault}")
        if not all(map(self._resolver.holds, found.hops)):
            raise ToolFailure(f"{path} is outside the workspace {self._root}")
        inner = found.resolved[len(self._root) :].strip("/")
        try:
            status = os.lstat(found.resolved)
        except OSError as error:
            raise ToolFailure(f"{path} cannot be read: {error.strerror}") from error
        if stat.S_ISDIR(status.st_mode):
            self._descend(inner)
        elif stat.S_ISREG(status.st_mode):
            known = language_of(inner)
            self._take_file(inner, status.st_size, known if self._wants(known) else self._language or known)
        else:
            raise ToolFailure(f"{path} is neither a file nor a folder")

    def _take_file(self, path: str, size: int, language: Language | None) -> None:
        """Add a named file. If a language was requested, the file is examined in this language, whatever its extension
        is."""
        if language is None:
            reason = "its extension belongs to no known language; pass the language"
            self.skipped[path] = SkippedFile(path, "language", reason)
        elif self._fits(path):
            self.files[path] = SourceFile(path, language.name, size)

    def _descend(self, top: str) -> None:
        todo = [(top, self._ignored_above(top))]
        while todo and not self._stopped():
            folder, ignored = todo.pop()
            todo += self._list(folder, self._with(ignored, folder))

    def _list(self, folder: str, ignored: IgnoreFiles) -> list[tuple[str, IgnoreFiles]]:
        folders: list[tuple[str, IgnoreFiles]] = []
        parts = folder.split("/") if folder else []
        try:
            with OpenFolder.resolved(self._root) as top, top.below(parts) as here, here.scanned() as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if self._takes_entry(entry, path, ignored):
                        folders.append((path, ignored))
        except OSError as error:
            self.skipped[folder + "/"] = SkippedFile(folder + "/", "unreadable", error.strerror or str(error))
        return folders

    def _takes_entry(self, entry: os.DirEntry[str], path: str, ignored: IgnoreFiles) -> bool:
        """Add a file to the results. Return True for a folder to search."""
        try:
            if entry.is_dir(follow_symlinks=False):
                return self._kept(path, entry.name, ignored, folder=True)
            self._consider(entry, path, ignored)
        except OSError as error:
            self.skipped[path] = SkippedFile(path, "unreadable", error.strerror or str(error))
        return False

    def _consider(self, entry: os.DirEntry[str], path: str, ignored: IgnoreFiles) -> None:
        language = language_of(entry.name)
        if language is None or not self._wants(language):
            return
        if not self._fits(path) or not self._kept(path, entry.name, ignored, folder=False):
            return
        if entry.is_symlink():
            self.skipped[path] = SkippedFile(path, "link", "is a symbolic link; pass the path of its target")
        elif entry.is_file(follow_symlinks=False):
            self.files[path] = SourceFile(path, language.name, entry.stat(follow_symlinks=False).st_size)

    def _wants(self, language: Language | None) -> bool:
        """Return True for a file of the requested language, and for an HTML file, which may contain scripts in this
        language."""
        wanted = self._language
        inside = wanted is not None and language is not None and language.name == HOST and wanted.name in GUESTS
        return wanted is None or language == wanted or inside

    def _kept(self, path: str, name: str, ignored: IgnoreFiles, *, folder: bool) -> bool:
        said = verdict(ignored, path, folder=folder)
        if said is None and name.startswith("."):
            return False
        if said or (folder and name in _NEVER and said is None):
            reason = "is excluded by an ignore file" if said else "contains third-party code"
            shown = path + "/" if folder else path
            self.skipped[shown] = SkippedFile(shown, "ignored", reason)
            return False
        return True

    def _fits(self, path: str) -> bool:
        glob = self._glob
        if glob is None:
            return True
        parts = path.split("/")
        above = any(glob.matches("/".join(parts[:depth])) for depth in range(1, len(parts)))
        return (above or (not glob.folders and glob.matches(path))) == glob.excludes

    def _ignored_above(self, folder: str) -> IgnoreFiles:
        """Return the ignore files of the folders above a folder, up to the root of the repository."""
        found = self._outside()
        parts = folder.split("/") if folder else []
        for depth in range(len(parts)):
            found = self._with(found, "/".join(parts[:depth]))
        return found

    def _outside(self) -> IgnoreFiles:
        above, lead = self._root, ""
        found: list[IgnoreFile] = []
        while not os.path.lexists(os.path.join(above, ".git")):
            above, name = os.path.split(above)
            if not name:
                return ()
            lead = f"{name}/{lead}"
            found = [*_ignore_files(above, lead=lead), *found]
        exclude = read_ignore(os.path.join(above, ".git", "info", "exclude"))
        return (parse_ignore(exclude, lead=lead), *found)

    def _with(self, ignored: IgnoreFiles, folder: str) -> IgnoreFiles:
        return (*ignored, *_ignore_files(os.path.join(self._root, folder), folder))


def _ignore_files(path: str, folder: str = "", lead: str = "") -> Iterator[IgnoreFile]:
    for name in _IGNORE:
        if text := read_ignore(os.path.join(path, name)):
            yield parse_ignore(text, folder, lead)
