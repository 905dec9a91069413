"""Stores the time at which a person last allowed a command outside the sandbox that may run files of the workspace."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

_MOST_COMPARED = 50_000
_NOT_COMPARED = ".git"  # commands in the sandbox cannot change it, and the gate asks about other writes to it


class ReviewedFiles:
    """The time of the last review of a workspace: the modification time of an empty file in the folder of the sandbox.

    The first session in a workspace creates the file, so that files which existed before count as reviewed. If a
    parent folder or a subfolder of the workspace was reviewed earlier, the earliest of these times is stored. The
    time is compared with the status change time (ctime) of each file, which programs cannot set.
    """

    def __init__(self, root: str, folder: Path) -> None:
        self.root = root = os.path.realpath(root)
        self._mark = folder / f"reviewed-{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}"
        with suppress(OSError):  # without the file, every such command is asked about
            self._mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            related = [
                each.stat().st_mtime_ns for each in folder.glob("reviewed-*") if _overlap(each.read_text(), root)
            ]
            with os.fdopen(os.open(self._mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(root)
            if related:
                self.advance(min(related))

    def advance(self, nanoseconds: int) -> None:
        """Store the time of a review."""
        with suppress(OSError):
            os.utime(self._mark, ns=(nanoseconds, nanoseconds))

    def first_changed(self) -> str | None:
        """Return the first file that changed since the last review, or the reason why the files cannot be compared;
        None if no file changed."""
        try:
            since = self._mark.stat().st_mtime_ns
        except OSError:
            return "the time of the last review is unknown"
        compared, todo, folder = 0, [self.root], None
        while todo:
            here = todo.pop()
            try:
                with os.scandir(here) as listed:
                    entries = sorted(listed, key=lambda each: each.name)
            except FileNotFoundError:
                continue
            except OSError:  # programs may still open files in it by their names
                return f"{os.path.relpath(here, self.root)} cannot be listed"
            for entry in entries:
                path = os.path.relpath(entry.path, self.root)
                compared += 1
                if path == _NOT_COMPARED:
                    continue
                if compared > _MOST_COMPARED:
                    return f"the workspace has more than {_MOST_COMPARED:,} files, too many to compare"
                try:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    changed_at = entry.stat(follow_symlinks=False).st_ctime_ns
                except OSError:
                    return f"{path} changed since the user last allowed this"
                todo += [entry.path] if is_folder else []
                if changed_at > since:
                    if not is_folder:
                        return f"{path} changed since the user last allowed this"
                    folder = folder or f"{path} changed since the user last allowed this"
        return folder


def _overlap(one: str, other: str) -> bool:
    """Return True if one of two folders contains the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
