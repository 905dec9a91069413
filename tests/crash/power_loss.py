"""A model of power loss: records what a program does to names and contents, and builds what a disk may hold afterwards.

    strict   by the letter of POSIX: of the names changed since a folder was synced any subset is on disk, whatever
             happened in other folders; a file's content is what was synced last, or empty
    ext4     a journalling file system: names are on disk in the order of the calls up to some point, and every sync
             puts all earlier ones there

A rename inside a folder is one step in both. Folders are named by their paths, since none is renamed.
"""

import os
import random
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

Model = Literal["strict", "ext4"]


@dataclass(eq=False)
class Node:
    """A file, a folder or a link. ``versions`` are the contents and modes that were synced, with the time of each."""

    kind: Literal["file", "folder", "link"]
    versions: list[tuple[int, bytes, int]] = field(default_factory=list[tuple[int, bytes, int]])

    def at(self, time: int) -> tuple[bytes, int]:
        known = [(data, mode) for when, data, mode in self.versions if when <= time]
        return known[-1] if known else (b"", 0o600)


@dataclass(frozen=True)
class Op:
    """A change of names in one folder: each name gets a node, or None."""

    time: int
    folder: str
    names: tuple[tuple[str, Node | None], ...]


Names = dict[str, dict[str, Node]]


class Recorder:
    """Everything that happens below ``world`` while it records."""

    def __init__(self, world: Path) -> None:
        self.world = os.path.realpath(world)
        self.time = 0
        self.ops: list[Op] = []
        self.syncs: list[tuple[int, str | None]] = []
        """Times of syncs; of a folder, its path."""
        self.first: Names = {}
        self._walk(self.world)
        self._now: Names = {folder: dict(names) for folder, names in self.first.items()}

    def _walk(self, folder: str) -> None:
        names = self.first[folder] = {}
        for entry in os.scandir(folder):
            names[entry.name] = _node(entry.path)
            if entry.is_dir(follow_symlinks=False):
                self._walk(entry.path)

    @contextmanager
    def recording(self, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
        real_open, real_fsync = os.open, os.fsync

        def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            known = flags & os.O_CREAT and self._lookup(path, dir_fd) is not None
            descriptor = real_open(path, flags, mode, dir_fd=dir_fd)
            if flags & os.O_CREAT and not known:
                self._do({path: Node("file")}, dir_fd)
            return descriptor

        def synced(descriptor: int) -> None:
            real_fsync(descriptor)
            self._synced(os.readlink(f"/proc/self/fd/{descriptor}"), descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", opened)
            patch.setattr(os, "fsync", synced)
            patch.setattr(os, "fdatasync", synced)
            for name, does in self._effects().items():
                patch.setattr(os, name, _then(getattr(os, name), does))
            yield

    def _effects(self) -> Mapping[str, Callable[..., None]]:
        return {
            "mkdir": lambda path, mode=0, *, dir_fd=None: self._do({path: Node("folder")}, dir_fd),
            "rmdir": lambda path, *, dir_fd=None: self._do({path: None}, dir_fd),
            "unlink": lambda path, *, dir_fd=None: self._do({path: None}, dir_fd),
            "symlink": lambda to, path, *_, dir_fd=None: self._do(
                {path: Node("link", [(0, os.fsencode(to), 0)])}, dir_fd
            ),
            "link": lambda old, new, *, src_dir_fd=None, dst_dir_fd=None, follow_symlinks=True: self._do(
                {new: self._lookup(old, src_dir_fd)}, dst_dir_fd
            ),
            "replace": lambda old, new, *, src_dir_fd=None, dst_dir_fd=None: self._do(
                {new: self._lookup(old, src_dir_fd), old: None}, dst_dir_fd
            ),
        }

    def _place(self, path: Any, dir_fd: int | None) -> tuple[str, str]:
        base = os.getcwd() if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
        folder, name = os.path.split(os.path.join(base, os.fsdecode(path)))
        return os.path.realpath(folder), name

    def _lookup(self, path: Any, dir_fd: int | None) -> Node | None:
        folder, name = self._place(path, dir_fd)
        return self._now.get(folder, {}).get(name)

    def _do(self, changes: Mapping[Any, Node | None], dir_fd: int | None) -> None:
        (folder, *others), names = zip(*(self._place(path, dir_fd) for path in changes), strict=True)
        assert all(other == folder for other in others), "no rename leaves its folder"
        if folder not in self._now:
            return
        self.time += 1
        self.ops.append(Op(self.time, folder, tuple(zip(names, changes.values(), strict=True))))
        for name, node in self.ops[-1].names:
            if node is None:
                self._now[folder].pop(name, None)
                continue
            self._now[folder][name] = node
            if node.kind == "folder":
                self._now.setdefault(os.path.join(folder, name), {})

    def _synced(self, path: str, descriptor: int) -> None:
        self.time += 1
        if path in self._now:
            self.syncs.append((self.time, path))
            return
        node = self._lookup(path, None)
        if node is not None:
            self.syncs.append((self.time, None))
            status = os.fstat(descriptor)
            node.versions.append((self.time, Path(path).read_bytes(), stat.S_IMODE(status.st_mode)))

    # ---- what may be on disk ------------------------------------------------------------------------------------

    def images(self, model: Model, seed: int, each: int) -> Iterator[tuple[str, Names, int]]:
        """What may be there after a power cut at any time, at most ``each`` for a time; with a name and that time."""
        draw, seen = random.Random(seed), set[object]()
        for time in range(self.time + 1):
            past = [op for op in self.ops if op.time <= time]
            choices = self._strict(past, time, draw, each) if model == "strict" else self._ordered(past, time)
            for ops in choices:
                names = self._built(ops)
                # The next call may have written what it then syncs.
                for data_time in (time, time + 1):
                    key = _key(names, self.world, data_time)
                    if key not in seen:
                        seen.add(key)
                        yield f"at {time}, {len(ops)} of {len(past)} changes", names, data_time

    def _ordered(self, past: list[Op], time: int) -> Iterator[list[Op]]:
        last = max((when for when, _ in self.syncs if when <= time), default=0)
        sure = sum(op.time <= last for op in past)
        yield from (past[:count] for count in range(sure, len(past) + 1))

    def _strict(self, past: list[Op], time: int, draw: random.Random, each: int) -> Iterator[list[Op]]:
        synced = {path: when for when, path in self.syncs if when <= time and path is not None}
        sure = [op for op in past if op.time <= synced.get(op.folder, 0)]
        open_ops = [op for op in past if op.time > synced.get(op.folder, 0)]
        subsets: list[list[Op]] = [[], open_ops]
        for folder in sorted({op.folder for op in open_ops}):
            subsets.append([op for op in open_ops if op.folder == folder])
            subsets.append([op for op in open_ops if op.folder != folder])
        subsets += [[op] for op in open_ops] + [[op for op in open_ops if op is not one] for one in open_ops]
        draw.shuffle(subsets)
        subsets = subsets[:each]
        while open_ops and len(subsets) < each:
            subsets.append([op for op in open_ops if draw.random() < 0.5])
        for subset in subsets:
            yield sorted([*sure, *subset], key=lambda op: op.time)

    def _built(self, ops: Iterable[Op]) -> Names:
        names: Names = {folder: dict(inside) for folder, inside in self.first.items()}
        for op in ops:
            inside = names.setdefault(op.folder, {})
            for name, node in op.names:
                if node is None:
                    inside.pop(name, None)
                else:
                    inside[name] = node
        return names

    def write(self, names: Names, time: int, into: Path) -> None:
        """The image as real files."""
        self._write(names, time, self.world, into)

    def _write(self, names: Names, time: int, folder: str, into: Path) -> None:
        into.mkdir()
        for name, node in names.get(folder, {}).items():
            data, mode = node.at(time)
            if node.kind == "folder":
                self._write(names, time, os.path.join(folder, name), into / name)
            elif node.kind == "link":
                (into / name).symlink_to(os.fsdecode(data))
            else:
                (into / name).write_bytes(data)
                (into / name).chmod(mode)


def _key(names: Names, folder: str, time: int) -> object:
    inside = names.get(folder, {})
    return tuple(
        (name, node.kind, *((_key(names, f"{folder}/{name}", time),) if node.kind == "folder" else node.at(time)))
        for name, node in sorted(inside.items())
    )


def _node(path: str) -> Node:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return Node("link", [(0, os.fsencode(os.readlink(path)), 0)])
    if stat.S_ISDIR(status.st_mode):
        return Node("folder")
    return Node("file", [(0, Path(path).read_bytes(), stat.S_IMODE(status.st_mode))])


def _then(real: Callable[..., Any], effect: Callable[..., None]) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        # A source has to be looked up before it is gone; nothing else happens in between.
        result = real(*args, **named)
        effect(*args, **named)
        return result

    return call
