"""The write-ahead journal of what is being applied: one small file for each apply, gone when it is done."""

import json
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, cast

from callgate.host.files import add_to, make_folders, sync_folder, write_new
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

_LOCK = "lock"
_ENDING = ".apply"
_APPLIED = ".applied"
_READY, _DONE = b"ready", b"done"

State = Literal["staging", "ready", "done"]


@noun
class Noted:
    """What a journal says. When it is ``ready`` everything was staged, so it can be finished; when it is ``done`` there
    may be something to tidy up."""

    file: Path
    root: str
    label: str
    kept: str
    steps: tuple[dict[str, Any], ...]
    folders: tuple[tuple[str, ...], ...]
    state: State


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """Nobody else applies, in this program or another, while this is held. Blocks."""
    try:
        make_folders(folder, [], 0o700)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise ToolFailure(f"Nothing was changed: no journal can be kept in {folder}: {error.strerror}") from error
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # a system without it; there, two programs may apply at once
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)


class Journal:
    """One apply on record. Without a folder nothing is on record. ``kept`` is the name of the change, if somebody wants
    to know that it was applied."""

    def __init__(self, folder: Path | None, token: str, kept: str = "") -> None:
        self.token = token
        self._folder = folder
        self._kept = kept
        self._file = None if folder is None else folder / f"{token}{_ENDING}"

    def begin(self, root: str, label: str, steps: Iterable[dict[str, Any]], folders: Iterable[tuple[str, ...]]) -> None:
        if self._file is not None and self._folder is not None:
            told = {"root": root, "label": label, "kept": self._kept}
            told |= {"steps": list(steps), "folders": [list(each) for each in folders]}
            write_new(self._file, json.dumps(told).encode() + b"\n", 0o600)
            sync_folder(self._folder)

    def ready(self) -> None:
        self._add(_READY)

    def end(self, *, applied: bool = False, clean: bool = True) -> None:
        """It is over. ``clean``: nothing is left to be removed.

        Must not come back after a power cut as if it were under way: by then the files may have gone their own way.
        """
        if self._file is None or self._folder is None:
            return
        told = self._folder / _applied_name(self._kept) if applied and self._kept else None
        try:
            if not clean:
                self._add(_DONE)
                if told is not None:
                    write_new(told, b"", 0o600)
            elif told is not None:
                os.replace(self._file, told)
            else:
                os.unlink(self._file)
        except OSError:
            with suppress(OSError):
                self._add(_DONE)
        with suppress(OSError):
            sync_folder(self._folder)

    def _add(self, line: bytes) -> None:
        if self._file is not None:
            add_to(self._file, line + b"\n")


def left_in(folder: Path, root: str) -> list[Noted]:
    """What was being applied in this workspace when a program died; whoever asks holds the lock."""
    found = [_read(folder / name) for name in sorted(os.listdir(folder)) if name.endswith(_ENDING)]
    return [each for each in found if each.root in ("", root)]


def is_applied(folder: Path, kept: str) -> bool:
    """Whether this change was applied, and nobody said yet that they know."""
    return (folder / _applied_name(kept)).exists()


def forget_applied(folder: Path, kept: str) -> None:
    """Somebody knows, and has it on record."""
    with suppress(OSError):
        os.unlink(folder / _applied_name(kept))


def _applied_name(kept: str) -> str:
    return f"{kept.replace('/', '.')}{_APPLIED}"


def _read(file: Path) -> Noted:
    """A line that was cut off counts as not written: nothing had been done then."""
    *lines, _ = file.read_bytes().split(b"\n")
    try:
        told = cast("dict[str, Any]", json.loads(lines[0]))
        folders = tuple(tuple(map(str, each)) for each in told["folders"])
        state: State = "done" if _DONE in lines else "ready" if _READY in lines else "staging"
        return Noted(file, told["root"], told["label"], told["kept"], tuple(told["steps"]), folders, state)
    except (ValueError, KeyError, TypeError, IndexError):
        return Noted(file, "", "", "", (), (), "staging")
