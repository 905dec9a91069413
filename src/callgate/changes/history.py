"""Stores every change on disk, with the contents of its files before and after the change, so that it can be undone.

    <folder>/<session>/changes/0001.jsonl     the change, with hashes of contents; then one line per state change
    <folder>/<session>/changes/0001.pack      the contents, concatenated
    <folder>/<session>/changes/blobs/<hash>   a content that is too large for memory

All contents of a change are in one file, because every file must be synced: with a file for each content, a change of a
thousand small files would take three times as long.
"""

import json
import os
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast, get_args

from callgate.changes.diff import summary
from callgate.formats.jsonable import from_json, to_json
from callgate.host.applying.swap import pieces
from callgate.host.files import append_line, is_running, make_folders, sync_folder, write_new
from callgate.words.changes import ChangeSet, Content, FileChange, Stored, digest, size_of
from callgate.words.errors import JournalError, UsageError
from callgate.words.noun import noun

State = Literal["staged", "applying", "applied", "discarded", "reverted"]
"""``staged`` waits to be applied or discarded. ``applying`` is in progress, or was when the process ended. ``reverted``
is not stored: it follows from an applied undo that names the change."""

LARGE = 1_000_000
"""The largest content in bytes that is kept in memory."""
_BLOBS = "blobs"
_VERSION = 1
_UNREADABLE = (ValueError, KeyError, TypeError, IndexError, AttributeError, UsageError)


@noun
class Kept:
    """A change in the history.

    number   the number of the change in the session, in the order in which changes are stored
    order    the order in which changes are applied; it differs from ``number`` for staged changes
    id       the message and the call that made it, joined by a slash
    files    the changed files, with contents as ``Stored``
    staged   True if the change was staged first: if it cannot be applied, it becomes staged again
    reverts  the numbers of the changes that this change undoes
    told     True if the model was informed about this undo
    made, emptied  as in ChangeSet
    """

    session: str
    number: int
    id: str
    label: str
    tool: str
    summary: str
    at: float
    state: State
    files: tuple[FileChange, ...]
    count: int | None = None
    staged: bool = False
    order: tuple[int, int] = (0, 0)
    reverts: tuple[int, ...] = ()
    told: bool = False
    made: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.session}/{self.number}"

    @property
    def turn(self) -> str:
        """The message whose call made the change; empty if no call of a turn made it."""
        return self.id.rpartition("/")[0]


class ChangeHistory:
    """The changes of all sessions in a folder, each stored beside the log of its session. All methods block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(
        self, changes: ChangeSet, session: str, *, now: float, state: State = "staged", reverts: tuple[int, ...] = ()
    ) -> Kept:
        """Store a change. Raise JournalError if it cannot be stored. ``reverts`` are the numbers of the changes that
        this change undoes."""
        folder = self.folder_of(session)
        try:
            make_folders(folder, 0o700)
            pack = _Pack(folder / _BLOBS)
            kept = Kept(
                session=session,
                number=0,
                id=changes.id,
                label=changes.label,
                tool=changes.tool,
                summary=summary(changes),
                at=now,
                state=state,
                files=tuple(pack.packed(change) for change in changes.files),
                count=changes.count,
                staged=state == "staged",
                reverts=reverts,
                emptied=changes.emptied,
            )
            while True:
                number = max(self._numbers(session), default=0) + 1
                kept, file = replace(kept, number=number, order=(number, 0)), self.file(session, number)
                with suppress(FileExistsError):  # another process stores one for the same session
                    write_new(file, _line({"version": _VERSION, **to_json(kept)}) + b"\n", 0o600)
                    write_new(file.with_suffix(".pack"), pack.pieces, 0o600)
                    sync_folder(folder)
                    return kept
        except OSError as error:
            raise JournalError(f"the change cannot be stored in {folder}: {error.strerror or error}") from error

    def mark_applying(self, kept: Kept, *, now: float, id: str) -> Kept:
        """Record that the call ``id`` is applying a staged change. The change becomes the last in the order of
        applying."""
        others = self.all(kept.session)
        last = max((each.order for each in others), default=kept.order)
        highest = max((each.number for each in others), default=kept.number)
        order = (highest, last[1] + 1 if last[0] == highest else 1)
        return self._add(kept, {"state": "applying", "at": now, "id": id, "order": list(order)})

    def mark(self, kept: Kept, state: State, *, now: float, applied: ChangeSet | None = None) -> Kept:
        """Record a new state of a change. ``applied`` contains the original modes and the created folders."""
        line: dict[str, Any] = {"state": state, "at": now}
        if applied is not None:
            line["modes"] = [change.mode_before for change in applied.files]
            line["owners"] = [change.owner_before for change in applied.files]
            line["made"] = list(applied.made)
        return self._add(kept, line)

    def mark_reported(self, kept: Kept) -> Kept:
        return self._add(kept, {"told": True})

    def _add(self, kept: Kept, line: dict[str, Any]) -> Kept:
        try:
            append_line(self.file(kept.session, kept.number), _line(line))
        except OSError as error:
            why = error.strerror or error
            raise JournalError(f"the new state of change {kept.name} cannot be stored: {why}") from error
        return _with_line(kept, line)

    def all(self, session: str) -> list[Kept]:
        """Return all readable changes of a session, the most recently applied one first."""
        return self.read(session)[0]

    def read(self, session: str) -> tuple[list[Kept], list[str]]:
        """Return all readable changes of a session, the last applied first, and a message for each damaged file or
        line."""
        read = [_read_file(self.file(session, number)) for number in self._numbers(session)]
        found = [kept for kept, _ in read if kept is not None]
        return _with_reverts(found), [fault for _, faults in read for fault in faults]

    def numbered(self, session: str, number: int) -> Kept | None:
        """Return the change with this number, or None if it does not exist or cannot be read."""
        return _read_file(self.file(session, number))[0]

    def load(self, kept: Kept) -> ChangeSet:
        """Return a change with its contents. Raise JournalError if a content is missing or damaged."""
        files = tuple(
            replace(change, before=self._content(kept, change.before), after=self._content(kept, change.after))
            for change in kept.files
        )
        return ChangeSet(
            label=kept.label,
            files=files,
            tool=kept.tool,
            id=kept.id,
            count=kept.count,
            made=kept.made,
            emptied=kept.emptied,
        )

    def _content(self, kept: Kept, content: Content | None) -> Content | None:
        """Return a stored content as bytes, or a large content as the path of its file. The stored path is
        ``pack:<offset>`` or ``blob``."""
        if not isinstance(content, Stored):
            return content
        if content.path == "blob":
            return Stored(content.sha256, content.size, str(self.folder_of(kept.session) / _BLOBS / content.sha256))
        try:
            with open(self.file(kept.session, kept.number).with_suffix(".pack"), "rb") as file:
                file.seek(int(content.path.removeprefix("pack:")))
                data = file.read(content.size)
        except (OSError, ValueError) as error:
            raise JournalError(f"the contents of change {kept.name} cannot be read: {error}") from error
        if sha256(data).hexdigest() != content.sha256:
            raise JournalError(f"the contents of change {kept.name} are damaged")
        return data

    def folder_of(self, session: str) -> Path:
        return self.folder / session / "changes"

    def file(self, session: str, number: int) -> Path:
        return self.folder_of(session) / f"{number:04}.jsonl"

    def _numbers(self, session: str) -> list[int]:
        names: list[str] = []
        with suppress(FileNotFoundError, NotADirectoryError):
            names = os.listdir(self.folder_of(session))
        stems = [name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl")]
        return sorted(int(stem) for stem in stems if stem.isdigit())

    def tidy_up(self, session: str) -> None:
        """Remove the temporary blob files of killed processes. Never raises."""
        with suppress(OSError):
            for path in (self.folder_of(session) / _BLOBS).glob(".*-*"):
                if not is_running(path.name.rpartition("-")[2]):
                    path.unlink()


def _with_reverts(found: list[Kept]) -> list[Kept]:
    """Return the changes sorted by order, the last applied first, with ``reverted`` set where an applied undo names the
    change. An undo that is itself reverted is ignored."""
    reverted: set[int] = set()
    told: list[Kept] = []
    for kept in sorted(found, key=lambda kept: kept.order, reverse=True):
        if kept.state == "applied" and kept.number in reverted:
            kept = replace(kept, state="reverted")
        elif kept.state == "applied":
            reverted.update(kept.reverts)
        told.append(kept)
    return told


class _Pack:
    """Collects the contents of one change, each once, and writes large contents to separate files."""

    def __init__(self, blobs: Path) -> None:
        self.pieces: list[bytes] = []
        self._blobs = blobs
        self._at: dict[str, int] = {}
        self._size = 0

    def packed(self, change: FileChange) -> FileChange:
        return replace(change, before=self._kept(change.before), after=self._kept(change.after))

    def _kept(self, content: Content | None) -> Stored | None:
        name = digest(content)
        if content is None or name is None:
            return None
        if size_of(content) > LARGE:
            self._blob(name, content)
            return Stored(name, size_of(content), "blob")
        data = content if isinstance(content, bytes) else b"".join(pieces(content))
        if name not in self._at:
            self._at[name] = self._size
            self.pieces.append(data)
            self._size += len(data)
        return Stored(name, len(data), f"pack:{self._at[name]}")

    def _blob(self, name: str, content: Content) -> None:
        if (self._blobs / name).exists():
            return
        make_folders(self._blobs, 0o700)
        half = self._blobs / f".{name}-{os.urandom(4).hex()}-{os.getpid()}"
        write_new(half, content if isinstance(content, bytes) else pieces(content), 0o600)
        os.replace(half, self._blobs / name)
        sync_folder(self._blobs)


def _line(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogateescape")


def _read_file(file: Path) -> tuple[Kept | None, list[str]]:
    """Return the change stored in a file, and the faults of the file.

    If a file has no complete line, the process ended while creating it, so nothing was changed. An incomplete last line
    is ignored; a damaged line is skipped.
    """
    try:
        *lines, _ = file.read_bytes().decode("utf-8", "surrogateescape").split("\n")
        if not lines:
            return None, []
        first = cast("dict[str, Any]", json.loads(lines[0]))
        if first.pop("version") != _VERSION:
            return None, [f"{file} was written by another version"]
        kept = from_json(Kept, first)
    except (OSError, *_UNREADABLE) as error:
        return None, [f"{file} cannot be read: {error}"]
    faults: list[str] = []
    for number, line in enumerate(lines[1:], 2):
        try:
            kept = _with_line(kept, cast("dict[str, Any]", json.loads(line)))
        except _UNREADABLE as error:
            faults.append(f"{file}: line {number} is damaged and ignored: {error}")
    return kept, faults


def _with_line(kept: Kept, line: dict[str, Any]) -> Kept:
    """Return the change after one more line of its file was applied."""
    state: State = line.get("state", kept.state)
    if state not in get_args(State):
        raise ValueError(f"unknown state {state!r}")
    files = kept.files
    if "modes" in line:
        files = tuple(replace(each, mode_before=mode) for each, mode in zip(files, line["modes"], strict=True))
    if "owners" in line:
        owners = (None if owner is None else (int(owner[0]), int(owner[1])) for owner in line["owners"])
        files = tuple(replace(each, owner_before=owner) for each, owner in zip(files, owners, strict=True))
    if "id" in line:
        first, second = line["order"]
        kept = replace(kept, id=str(line["id"]), at=float(line["at"]), order=(int(first), int(second)))
    told, made = bool(line.get("told", kept.told)), tuple(map(str, line.get("made", kept.made)))
    return replace(kept, state=state, files=files, told=told, made=made)
