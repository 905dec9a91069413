"""A change of every kind, and the world before and after it."""

import os
import shutil
import stat
from pathlib import Path

from callgate.words.changes import ChangeSet, FileChange

KINDS = ("replace", "create", "delete", "rename", "mode", "link")

World = dict[str, tuple[str, bytes]]
"""Path to what it is (a mode, a link, a folder) and its content."""


def change(files: int) -> ChangeSet:
    """So many changes, of all kinds in turn, in a few folders; some of which are not there yet."""
    return ChangeSet("all at once", tuple(_change(number) for number in range(files)), id="change-1")


def _change(number: int) -> FileChange:
    path = f"f{number % 4}/{number}.txt"
    old, new = f"old {number}\n".encode(), f"new {number}\n".encode() * 50
    match KINDS[number % len(KINDS)]:
        case "replace":
            return FileChange(path, old, new)
        case "create":
            return FileChange(f"new{number % 3}/deep/{number}.txt", None, new)
        case "delete":
            return FileChange(path, old, None)
        case "rename":
            return FileChange(f"f0/moved-{number}.txt", old, new, source=path)
        case "mode":
            return FileChange(path, old, old, mode=0o755, mode_before=0o640)
        case _:
            return FileChange(path, b"old-target", b"new-target", link=True)


def make(root: Path, files: int) -> None:
    """The world before."""
    for each in change(files).files:
        if each.before is None:
            continue
        file = root / (each.source or each.path)
        file.parent.mkdir(parents=True, exist_ok=True)
        assert isinstance(each.before, bytes)
        if each.link:
            file.symlink_to(os.fsdecode(each.before))
        else:
            file.write_bytes(each.before)
            file.chmod(0o640)
    (root / "other.txt").write_bytes(b"nobody touches this")


def seen(root: Path) -> World:
    """Everything there is, so that litter shows."""
    found: World = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = ("link", os.fsencode(os.readlink(path)))
        elif path.is_dir():
            found[name] = ("folder", b"")
        else:
            found[name] = (f"{stat.S_IMODE(path.stat().st_mode):o}", path.read_bytes())
    return found


def copied(source: Path, to: Path) -> Path:
    shutil.copytree(source, to, symlinks=True)
    return to
