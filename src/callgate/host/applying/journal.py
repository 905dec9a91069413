"""The write-ahead journal of applies: one small file for each apply, removed after the apply has ended.

    {"root": …, "label": …, "kept": …, "files": […], "made": […], "emptied": […]}     the planned change
    ready       all contents are staged and synced: after a crash the change is completed
    failed      neither completed nor fully undone: recovery restores the other files
    finished    all files are new; temporary files may be left
    undone      all files are old; temporary files and folders may be left

The first line is written before any file is created, every other line after its state is on disk.

Locks on the workspace and its parent folders also serialize applies of programs and hosts with different journals.
"""

import json
import os
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, cast

from callgate.host.files import append_line, lock_file, make_folders, sync_folder, write_new
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

_LOCK = "lock"
_OPEN = ".apply"
_APPLIED = ".applied"

MOST_SECONDS = 60.0
"""The timeout for the lock. An apply takes milliseconds."""
_PAUSE = 0.002

State = Literal["staging", "ready", "failed", "finished", "undone"]
_STATES: tuple[State, ...] = ("undone", "finished", "failed", "ready")
"""The first of these states that the journal contains is the current one."""
Parts = tuple[str, ...]


@noun
class ApplyEntry:
    """The journal entry of one apply.

    kept     the name of the change in the history
    made     folders that the apply creates
    emptied  folders that the apply removes if they are empty
    """

    file: Path
    root: str = ""
    label: str = ""
    kept: str = ""
    files: tuple[dict[str, Any], ...] = ()
    made: tuple[Parts, ...] = ()
    emptied: tuple[Parts, ...] = ()
    state: State = "staging"

    @property
    def modes(self) -> dict[str, int | None]:
        """The permission bits of each file at the time of the apply, by path."""
        return {each["path"]: each["mode"] for each in self.files}

    @property
    def half_applied(self) -> bool:
        return self.state in ("ready", "failed")


@contextmanager
def lock_journal(folder: Path) -> Generator[None]:
    """Hold the lock of a journal folder, which serializes the applies of all programs that use the folder. Blocks."""
    try:
        make_folders(folder, 0o700)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise ToolFailure(
            f"Nothing was changed: the journal cannot be written in {folder}: {error.strerror}"
        ) from error
    try:
        lock_file(descriptor)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def lock_workspace(root: str) -> Generator[None]:
    """Hold an exclusive lock on the workspace and shared locks on its parent folders. Blocks. Raise ToolFailure after a
    timeout.

    Folders are locked from the top down, so that nested workspaces exclude each other without deadlocks. Folders of
    other users and file systems without locks are skipped.
    """
    with ExitStack() as held:
        for folder in (*reversed(Path(root).parents), Path(root)):
            descriptor = _opened(folder)
            if descriptor is not None:
                held.callback(os.close, descriptor)
                _lock(descriptor, folder, shared=str(folder) != root)
        yield


def _opened(folder: Path) -> int | None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:  # not readable, or the system cannot open folders
        return None
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        return None
    return descriptor


def _lock(descriptor: int, folder: Path, *, shared: bool) -> None:
    until = time.monotonic() + MOST_SECONDS
    with suppress(OSError):  # the file system has no locks
        while not lock_file(descriptor, shared=shared, waits=False):
            if time.monotonic() >= until:
                raise ToolFailure(f"Nothing was changed: another program has locked the folder {folder}")
            time.sleep(_PAUSE)


class ApplyJournal:
    """Writes the journal entry of one apply; without a folder nothing is written.

    kept  the name of the change in the history
    """

    def __init__(self, folder: Path | None, token: str, kept: str = "") -> None:
        self.token = token
        self._kept = kept
        self._file = None if folder is None else folder / f"{token}{_OPEN}"

    @property
    def is_kept(self) -> bool:
        return self._file is not None

    def begin(self, plan: Mapping[str, Any]) -> None:
        if self._file is not None:
            write_new(self._file, json.dumps({**plan, "kept": self._kept}).encode() + b"\n", 0o600)
            sync_folder(self._file.parent)

    def note(self, state: State) -> None:
        if self._file is not None:
            append_line(self._file, state.encode())

    def end(self, state: Literal["finished", "undone"], *, tidy: bool) -> None:
        """Record the outcome of the apply and sync the entry.

        Without the sync, a power failure could restore the entry, and recovery would undo later edits.

        tidy  True if no temporary files are left: the entry is removed, or, if the change has a history name, renamed
              to ``<kept>.applied`` until the history contains the change
        """
        if self._file is None:
            return
        folder = self._file.parent
        applied = folder / _applied_name(self._kept) if state == "finished" and self._kept else None
        try:
            if not tidy:
                if applied is not None:
                    with suppress(FileExistsError):
                        write_new(applied, self._file.read_bytes(), 0o600)
                self.note(state)
            elif applied is not None:
                os.replace(self._file, applied)
            else:
                os.unlink(self._file)
        except OSError:
            with suppress(OSError):
                self.note(state)
        with suppress(OSError):
            sync_folder(folder)


def open_entries(folder: Path, root: str) -> list[ApplyEntry]:
    """Return the entries of a workspace's unfinished applies. If the caller holds the journal lock, all of these
    applies were interrupted; otherwise some may be running."""
    return [each for each in _entries(folder, _OPEN).values() if each.root in ("", root)]


def applied_entries(folder: Path, session: str) -> dict[str, ApplyEntry]:
    """Return the journal entries of a session's applied changes that the history has not recorded, by their names in
    the history."""
    found = ((name.rpartition("."), entry) for name, entry in _entries(folder, _APPLIED).items())
    return {f"{of}/{number}": entry for (of, _, number), entry in found if of == session}


def _entries(folder: Path, suffix: str) -> dict[str, ApplyEntry]:
    """Return the entries of a journal folder by their names without the suffix."""
    names: list[str] = []
    with suppress(FileNotFoundError, NotADirectoryError):
        names = sorted(name for name in os.listdir(folder) if name.endswith(suffix))
    found = {name.removesuffix(suffix): _read(folder / name) for name in names}
    return {name: entry for name, entry in found.items() if entry is not None}


def forget_applied(folder: Path, kept: str) -> None:
    """Remove the entry of an applied change that the history has recorded."""
    with suppress(OSError):
        os.unlink(folder / _applied_name(kept))


def _applied_name(kept: str) -> str:
    return f"{kept.replace('/', '.')}{_APPLIED}"


def _read(file: Path) -> ApplyEntry | None:
    """Return the journal entry in a file, without an incomplete last line; None if the file does not exist."""
    try:
        *lines, _ = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return None
    try:
        plan = cast("dict[str, Any]", json.loads(lines[0]))
        return ApplyEntry(
            file=file,
            root=plan["root"],
            label=plan["label"],
            kept=plan["kept"],
            files=tuple(plan["files"]),
            made=tuple(tuple(map(str, each)) for each in plan["made"]),
            emptied=tuple(tuple(map(str, each)) for each in plan["emptied"]),
            state=cast(State, next((state for state in _STATES if state.encode() in lines), "staging")),
        )
    except (ValueError, KeyError, TypeError, IndexError):
        return ApplyEntry(file=file)
