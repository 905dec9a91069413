"""Resolves paths one component at a time, as the kernel does, and records the links that it follows.

File tools, locks and rules share this resolver, so that they resolve a path to the same file. ``~`` and ``$HOME``
are not expanded.
"""

import os
import re
import stat
from functools import cached_property
from pathlib import Path

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun
from callgate.words.resolved_path import PathKind, ResolvedPath

LONGEST_PATH = 4096  # no system accepts longer paths, and resolving one would be slow
MOST_LINKS = 40  # the limit of Linux

_PLAIN = late_pattern(r"(?!~)[\w.,+@=#%*?$()\[\]{}^!&;'/~-]+", re.ASCII)  # unambiguous characters
_UNSEEN = late_pattern(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029"  # control characters
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # text direction
    r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    r"\ufff9-\ufffb\U0001d173-\U0001d17a"  # zero width
    r"\U000e0000-\U000e007f]"  # tags
)
_SURROGATE = late_pattern(r"[\ud800-\udfff]")
_TILDE = late_pattern(r"~$|~[^/]*/")
_ADDRESS = late_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://")
_OTHER_SYSTEM = late_pattern(r"[A-Za-z]:[\\/]|\\\\|\\\?\?\\")

# Links of /proc with the same target for every process that may follow them.
_STABLE_PROC_LINKS = ("self", "thread-self", "mounts", "net")


@noun
class PathWalk:
    """The result of resolving a path.

    hops   the hops, as in ResolvedPath
    fault  the reason why the path is invalid on every system; None if the path is valid
    """

    hops: tuple[str, ...]
    kind: PathKind
    fault: str | None = None

    @property
    def resolved(self) -> str:
        return self.hops[-1]


class Resolver:
    """Resolves paths; relative paths start at ``root``. Never raises and never writes.

    The root is resolved once. A path that begins with the root, resolved or as it was given, starts at the resolved
    root.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = _slashes(os.path.realpath(root))
        given = _slashes(os.path.abspath(root))
        self._aliases = tuple(dict.fromkeys(name.rstrip("/") + "/" for name in (given, self.root)))

    def resolve_path(self, path: str) -> ResolvedPath:
        walk = self.walk(path)
        inside = all(map(self.holds, walk.hops))
        fault = walk.fault or oddity(path)
        return ResolvedPath(
            path, walk.hops, walk.resolved, inside=inside, kind=walk.kind, fault=fault, folds=self.folds
        )

    def normal(self, path: str) -> str:
        """Return the normalised absolute path. Two paths of the same file have the same normalised path."""
        if path in ("", "."):
            return self._normal_root  # requested by every reader of the whole workspace
        return self.folded(self.walk(path).resolved)

    def plain(self, path: str) -> str | None:
        """Return the path relative to the root, computed without file access; None if the path may be outside the
        root."""
        path = self._relative(path)
        if path[:1] == "/" or len(path) > LONGEST_PATH or ".." in path or _PLAIN.fullmatch(path) is None:
            return None
        return path

    def holds(self, path: str) -> bool:
        """Return True if a normalised absolute path is the root or below the root."""
        root, path = self._normal_root, self.folded(path)
        return path == root or path.startswith(root.rstrip("/") + "/")

    def parts_beneath(self, folder: str) -> tuple[str, ...] | None:
        """Return the components of a resolved folder relative to the root; None if the folder is outside the root."""
        resolved = self.walk(folder or ".").resolved
        return tuple(filter(None, resolved[len(self.root) :].split("/"))) if self.holds(resolved) else None

    def folded(self, path: str) -> str:
        return same_name(path) if self.folds else path

    @cached_property
    def folds(self) -> bool:
        """True if the file system ignores case, tested with the name of the root."""
        parent, name = os.path.split(self.root)
        try:
            return name.swapcase() != name and os.path.samefile(self.root, os.path.join(parent, name.swapcase()))
        except OSError:
            return False

    @cached_property
    def _normal_root(self) -> str:
        return self.folded(self.root)

    def walk(self, path: str) -> PathWalk:
        """Resolve a path, following links at every component. Missing components keep their names."""
        whole, known = self._start(path)
        fault = _unwalkable(path)
        if fault is not None:
            return PathWalk((lexical(whole),), "missing", fault)
        return _Walker(whole, known).walk()

    def _relative(self, path: str) -> str:
        """Return the path relative to the root if it begins with the root, resolved or as it was given."""
        for alias in self._aliases:
            if path.startswith(alias) or path == alias[:-1]:
                return path[len(alias) :].lstrip("/")
        return path

    def _start(self, path: str) -> tuple[str, str]:
        path = self._relative(path)
        whole = os.path.join(self.root, path)
        return whole, self.root if whole.startswith(self.root) and not os.path.isabs(path) else ""


class _Walker:
    """The state of resolving one path.

    here  the resolved path so far, without links
    todo  the remaining components in reverse order
    """

    def __init__(self, whole: str, known: str) -> None:
        self.hops = [lexical(whole)]
        self.fault: str | None = None
        self.links = 0
        self.absent = 0  # the number of missing components at the end of `here`; nothing below them exists
        self.status: os.stat_result | None = None
        self.here = self.top = "/"
        self.todo: list[str] = []
        self._go_on(whole, known)

    def _go_on(self, whole: str, known: str) -> None:
        drive, rest = os.path.splitdrive(whole)
        self.top = drive.replace(os.sep, "/") + "/"
        self.here = known or self.top
        self.todo = rest[max(len(known) - len(drive), 0) :].replace(os.sep, "/").split("/")[::-1]
        self.absent = 0

    def walk(self) -> PathWalk:
        while self.todo:
            part = self.todo.pop()
            if part == "..":
                cut = self.here.rfind("/")
                self.here = self.here[:cut] if cut >= len(self.top) else self.top
                self.absent = max(self.absent - 1, 0)
                self.status = None
            elif part not in ("", "."):
                self._enter(self.here.rstrip("/") + "/" + part, part)
        # No link follows the last hop, so its ``..`` could be removed lexically.
        return PathWalk(tuple(self.hops), self._kind(), self.fault)

    def _enter(self, path: str, part: str) -> None:
        self.status = None if self.absent else self._look(path)
        if self.status is None:
            self.absent += 1
        elif stat.S_ISLNK(self.status.st_mode) and self._follow(path, part, self.status):
            self.status = None  # the status of the link; a target of dots alone sets no other
            return
        self.here = path

    def _look(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._fail(f"the path cannot be read: {error.strerror}")
            return None

    def _follow(self, link: str, name: str, status: os.stat_result) -> bool:
        """Replace a link by its target. If the target cannot be resolved, keep the link as a component and return
        False."""
        self.links += 1
        if self.links > MOST_LINKS:
            return self._stop("the path contains a cycle of links, or too many links")
        try:
            target = os.readlink(link)
        except OSError as error:
            return self._stop(f"a link on the path cannot be read: {error.strerror}")
        if name not in _STABLE_PROC_LINKS and status.st_dev == _proc_device():
            self._fail(f"the path contains the link {link}, which is a different place for each process")
        elif (found := _UNSEEN.search(target)) is not None:
            self._fail(f"a link on the path has a target whose name contains {_character_name(found[0])}")
        whole = os.path.join(self.here, target, *reversed(self.todo))
        if len(whole) > LONGEST_PATH:
            return self._stop("the path is too long after its links are resolved")
        self.hops.append(lexical(whole))
        if os.path.isabs(target):
            self._go_on(whole, "")
        else:
            self.todo.extend(target.replace(os.sep, "/").split("/")[::-1])
        return True

    def _fail(self, fault: str) -> None:
        self.fault = self.fault or fault

    def _stop(self, fault: str) -> bool:
        self._fail(fault)
        self.status, self.absent = None, self.absent + 1
        return False

    def _kind(self) -> PathKind:
        status = self.status if self.absent or self.status is not None else self._look(self.here)
        if status is None:
            return "missing" if self.fault is None else "other"
        return kind_of(status.st_mode)


def kind_of(mode: int) -> PathKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "device"


def lexical(whole: str) -> str:
    """Remove ``.`` and ``..`` from an absolute path lexically, without file access."""
    return _slashes(os.path.normpath(whole))


def same_name(path: str) -> str:
    """Fold the case and normalise the accents of a path, so that two names are equal if a case-insensitive file
    system treats them as equal."""
    if path.isascii():
        return path.lower()
    import unicodedata  # slow to import, rarely needed

    return unicodedata.normalize("NFC", path).casefold()  # such file systems also ignore the composition of accents


def oddity(path: str) -> str | None:
    """Return the reason why a path, as written, is misleading; None if it is not misleading."""
    if _PLAIN.fullmatch(path):
        return None
    if not path:
        return "the path is empty"
    if (found := _UNSEEN.search(path)) is not None:
        return f"the path contains {_character_name(found[0])}"
    if _SURROGATE.search(path):
        return "the path contains a lone surrogate"
    if _TILDE.match(path):
        return "the path starts with ~, which only a shell expands: write the absolute path"
    if _ADDRESS.match(path):
        return "this is a URL, not a path"
    if os.sep == "/" and _OTHER_SYSTEM.match(path):
        return "the path has the syntax of another operating system"
    return next((fault for part in path.split("/") if (fault := _odd_part(part)) is not None), None)


def _odd_part(part: str) -> str | None:
    if part in ("", ".", ".."):
        return None
    if part.isspace():
        return "a part of the path is blank"
    seen = part
    if not part.isascii():
        import unicodedata  # slow to import, rarely needed

        seen = unicodedata.normalize("NFKC", part)
    if seen.strip() in (".", ".."):
        return f"a part of the path looks like {seen.strip()} but is not"
    if seen.count("/") or seen.count("\\") > part.count("\\"):
        return "a part of the path contains a character that looks like a slash"
    return None


def _character_name(character: str) -> str:
    return f"an invisible character (U+{ord(character):04X})"


def _unwalkable(path: str) -> str | None:
    if len(path) > LONGEST_PATH:
        return f"the path is longer than {LONGEST_PATH} characters"
    if "\0" in path:
        return "the path contains a NUL character"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return "the path contains a lone surrogate"
    return None


def _proc_device() -> int:
    try:
        return os.stat("/proc/self").st_dev
    except OSError:
        return -1


def _slashes(path: str) -> str:
    path = path.replace(os.sep, "/")
    if path.startswith("//") and os.sep == "/":
        # POSIX permits a special meaning of two leading slashes, which no known system uses
        path = "/" + path.lstrip("/")
    return path
