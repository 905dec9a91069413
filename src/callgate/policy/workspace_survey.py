"""Finds the protected files of a workspace, and the protected files that a command created.

The first search lists all folders. Later searches list only changed folders; for each other folder they call
``stat`` once.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Literal

from callgate.host.beneath import OpenFolder
from callgate.policy.protected import RENAMED, held_names, is_suspect
from callgate.words.noun import noun

Treatment = Literal["secret", "hidden", "kept"]
"""``secret`` and ``hidden``: a command cannot read the file; ``kept``: it cannot change the file. A created file is
renamed, unless it is only hidden."""
Place = Literal["", "installed", "kept"]
"""Below a folder with installed packages, below a kept folder, or elsewhere in the workspace."""
Classify = Callable[[str, str, str, Place], Treatment | None]
"""Return the treatment of a path: the end of its folder's path, its name, its absolute path, and its place."""

_INSTALLED = frozenset(("node_modules", "site-packages", ".venv", "venv", ".tox", ".nox"))
_REPOSITORY = ".git"
_SETTLED = 2_000_000_000  # nanoseconds: the coarsest clock of a file system
SECONDS = 10.0
"""The longest time for one search."""


@noun
class Sighting:
    """A protected file or folder.

    identity  the inode of the file; for a link, the inode of its target
    folder    the inode of the parent folder, which differs after the folder was replaced
    """

    treatment: Treatment
    identity: int
    folder: int
    is_link: bool = False


@noun
class Sightings:
    """The protected files of a workspace at one time.

    found    the sightings by absolute path
    unseen   a folder that was not searched because of the time limit; empty if all folders were searched
    """

    found: Mapping[str, Sighting]
    unseen: str = ""


@dataclass(slots=True)
class _Folder:
    stamp: tuple[int, int, int]
    is_settled: bool
    below: Sequence[tuple[str, str, Place]]  # path, end of the path, place
    found: Mapping[str, Sighting]


class WorkspaceSurvey:
    """Finds the protected files of a workspace. Not thread-safe."""

    def __init__(self, root: str, classify: Classify) -> None:
        self.root = root
        self._classify = classify
        self._folders: dict[str, _Folder] = {}
        self.last = Sightings({})
        """The result of the last search."""

    def look(self) -> Sightings:
        """Return the protected files. If the search takes too long, folders that were never searched are omitted;
        the next search continues with these folders."""
        known, self._folders = self._folders, {}
        end = time.monotonic() + SECONDS
        found: dict[str, Sighting] = {}
        unseen = ""
        todo: list[tuple[str, str, Place]] = [(self.root, "", "")]
        while todo:
            path, tail, place = todo.pop()
            old = known.get(path)
            if old is None and time.monotonic() > end:
                unseen = unseen or path
                continue
            try:
                here = self._folder(path, tail, place, old)
            except PermissionError:
                found[path] = Sighting("hidden", 0, 0)  # a command could change the permissions of the folder
                continue
            except OSError:  # it was removed
                continue
            self._folders[path] = here
            found.update(here.found)
            todo += here.below
        for path, each in found.items():
            if each.is_link:
                found[path] = replace(each, identity=_target(path))
        self.last = Sightings(found, unseen)
        return self.last

    def _folder(self, path: str, tail: str, place: Place, old: _Folder | None) -> _Folder:
        status = os.stat(path, follow_symlinks=False)
        stamp = (status.st_ino, status.st_ctime_ns, status.st_mtime_ns)
        if old is not None and old.is_settled and old.stamp == stamp:
            return old
        settled = max(stamp[1:]) < time.time_ns() - _SETTLED
        below: list[tuple[str, str, Place]] = []
        found: dict[str, Sighting] = {}
        with os.scandir(path) as listed:
            for entry in listed:
                treatment = self._classify(tail, entry.name, entry.path, place)
                if treatment is not None:
                    found[entry.path] = Sighting(treatment, entry.inode(), stamp[0], entry.is_symlink())
                if treatment in (None, "kept") and entry.is_dir(follow_symlinks=False) and entry.name != _REPOSITORY:
                    inner: Place = "kept" if treatment else "installed" if entry.name in _INSTALLED else place
                    below.append((entry.path, _tail(tail, entry.name), inner))
        return _Folder(stamp, settled, below, found)


def _target(link: str) -> int:
    try:
        return os.stat(link).st_ino
    except OSError:
        return 0


def _tail(folder: str, name: str) -> str:
    """Return the last two names of a path if one of them may be part of a protected path."""
    last = folder.rpartition("/")[2]
    if last and is_suspect(last):
        return f"{last}/{name}"
    return name if is_suspect(name) else ""


def created(before: Sightings, after: Sightings) -> list[str]:
    """Return the paths of protected files that were created between two searches, and of links that were changed.

    A file that was moved together with its folder was not created. A file that is new in a folder that is still the
    same was replaced from outside, because a command in the sandbox cannot replace it.
    """
    moved = {each.identity for each in before.found.values()}
    found: list[str] = []
    for path, now in after.found.items():
        then = before.found.get(path)
        if then is None:
            is_new = now.is_link or now.identity not in moved
        else:
            is_new = now.identity != then.identity and (now.folder != then.folder or then.is_link or now.is_link)
        if is_new and now.treatment != "hidden":
            found.append(path)
    return found


def watch_created(
    survey: WorkspaceSurvey, lock: AbstractContextManager[Any]
) -> Callable[[bool], tuple[dict[str, str], str]]:
    """Return a callback that finds and renames the protected files that a command in the sandbox created, so that no
    program reads them. It must be called after the command has ended. Any thread may call it.

    The argument of the callback is True to rename the created files; False if only a background command ran, because
    the user or an approved call may have created the files. The callback returns the new paths of the created files by
    their old paths, relative to the workspace, and a folder that was not searched (empty if all were searched). If the
    files are not renamed, the new paths equal the old paths.
    """
    before, root = survey.last, survey.root

    def check(rename: bool) -> tuple[dict[str, str], str]:
        with lock:
            after = survey.look()
            paths = [path for path in created(before, after) if not _is_held(path)]
            found = _rename(root, paths) if rename else {path: path for path in paths}
        return {os.path.relpath(old, root): os.path.relpath(new, root) for old, new in found.items()}, after.unseen

    return check


def _is_held(path: str) -> bool:
    """Return True for an empty folder that blocks a protected name while a command runs in the sandbox. The folder
    is read-only, so another command cannot create files in it."""
    try:
        return os.path.basename(path) in held_names() and not os.listdir(path)
    except OSError:
        return False


def _rename(root: str, paths: Iterable[str]) -> dict[str, str]:
    """Rename files and return a mapping from old paths to new paths. A file that cannot be renamed keeps its path.
    Folders that were replaced by links are not followed."""
    renamed: dict[str, str] = {}
    with OpenFolder.held(root) as top:
        for path in paths:
            *folders, name = os.path.relpath(path, root).split("/")
            renamed[path] = path
            with suppress(OSError), top.below(folders) as folder:
                new = _free_name(folder, name)
                where = folder.descriptor
                os.rename(folder.of(name), folder.of(new), src_dir_fd=where, dst_dir_fd=where)
                renamed[path] = os.path.join(os.path.dirname(path), new)
    return renamed


def _free_name(folder: OpenFolder, name: str) -> str:
    for number in count():
        new = f"{name}{RENAMED}{number or ''}"
        try:
            folder.status(new)
        except FileNotFoundError:
            return new
    raise AssertionError
