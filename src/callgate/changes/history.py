"""Every change that was applied or is to be, on disk with what the files were before: what it takes to undo it.

    <folder>/<session>/changes/0001.jsonl     the change, contents by their hash; then a line for all that became of it
    <folder>/<session>/changes/0001.pack      the contents, one behind the other
    <folder>/<session>/changes/blobs/<hash>   a content that is too large to be carried along

One file for all contents of a change, because every file costs a sync: an apply of a thousand small files would take
three times as long with one blob each.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast, get_args

from callgate.changes.summary import summary
from callgate.host.files import add_to, make_folders, sync_folder, write_new
from callgate.words.changes import ChangeSet, Content, FileChange, Stored, digest, size_of
from callgate.words.errors import JournalError, UsageError
from callgate.words.jsonable import from_json, to_json
from callgate.words.noun import noun

State = Literal["staged", "applying", "applied", "discarded", "reverted"]
"""``staged`` waits for somebody's word; ``applying`` was being applied when last heard of."""

LARGE = 1_000_000
"""Bytes; more are not carried along in memory."""
_BLOBS = "blobs"
_CHUNK = 1 << 20
_VERSION = 1


@noun
class Kept:
    """A change in the history. ``number`` counts within its session; ``id`` is the change's own: the message and the
    call that made it, with a slash between. ``files`` have their contents as ``Stored``, whether large or not."""

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
    """It was staged first: what cannot be applied then stays so."""

    @property
    def name(self) -> str:
        return f"{self.session}/{self.number}"

    @property
    def turn(self) -> str:
        """The message whose call made it; empty where it was no call of a turn."""
        return self.id.rpartition("/")[0]


class History:
    """The changes of the sessions in a folder, each among what else is kept of its session. Blocks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, changes: ChangeSet, session: str, *, now: float, state: State = "staged") -> Kept:
        """Keep a change; JournalError if it cannot be."""
        folder = self.of(session)
        try:
            make_folders(folder, [], 0o700)
            while True:
                number = max((found for found, _ in self._numbered(folder)), default=0) + 1
                with suppress(FileExistsError):  # another program, which keeps one for the same session
                    return self._save(changes, session, number, now, state)
        except OSError as error:
            raise JournalError(f"the change cannot be kept in {folder}: {error.strerror or error}") from error

    def _save(self, changes: ChangeSet, session: str, number: int, now: float, state: State) -> Kept:
        folder = self.of(session)
        pack = _Pack(folder / f"{number:04}.pack", folder / _BLOBS)
        files = tuple(pack.packed(change) for change in changes.files)
        kept = Kept(
            *(session, number, changes.id, changes.label, changes.tool, summary(changes)),
            *(now, state, files, changes.count, state == "staged"),
        )
        write_new(folder / f"{number:04}.jsonl", _line({"version": _VERSION, **to_json(kept)}), 0o600)
        pack.write()
        sync_folder(folder)
        return kept

    def mark(self, kept: Kept, state: State, *, now: float, applied: ChangeSet | None = None, id: str = "") -> Kept:
        """What became of it. ``applied`` has the modes that were found on the way; ``id`` is that of the call which now
        takes it on."""
        told: dict[str, Any] = {"state": state, "at": now, **({"id": id} if id else {})}
        if applied is not None:
            told["modes"] = [change.mode_before for change in applied.files]
        try:
            add_to(self._file(kept), _line(told))
        except OSError as error:
            raise JournalError(f"the change {kept.name} cannot be marked: {error.strerror or error}") from error
        return _told(kept, told)

    def all(self, session: str | None = None) -> list[Kept]:
        """Newest first. What cannot be read is left out: see ``faults``."""
        return [each for each in self._read(session) if isinstance(each, Kept)]

    def faults(self, session: str | None = None) -> list[str]:
        """What is in the folder and cannot be read, in words."""
        return [each for each in self._read(session) if isinstance(each, str)]

    def numbered(self, session: str, number: int) -> Kept | None:
        """None where there is none that can be read."""
        kept = _kept(self.file(session, number))
        return kept if isinstance(kept, Kept) else None

    def find(self, session: str, change: str) -> Kept | None:
        """The newest with this id."""
        return next((each for each in self.all(session) if each.id == change), None)

    def load(self, kept: Kept) -> ChangeSet:
        """The change with its contents; JournalError if one is gone or damaged."""
        files = tuple(
            replace(change, before=self._content(kept, change.before), after=self._content(kept, change.after))
            for change in kept.files
        )
        return ChangeSet(kept.label, files, kept.tool, kept.id, kept.count)

    def _content(self, kept: Kept, content: Content | None) -> Content | None:
        """In the history a content's path is ``pack:<offset>`` or ``blob``."""
        if not isinstance(content, Stored):
            return content
        if content.path == "blob":
            return Stored(content.sha256, content.size, str(self.of(kept.session) / _BLOBS / content.sha256))
        try:
            with open(self._file(kept).with_suffix(".pack"), "rb") as file:
                file.seek(int(content.path.removeprefix("pack:")))
                data = file.read(content.size)
        except (OSError, ValueError) as error:
            raise JournalError(f"the contents of change {kept.name} cannot be read: {error}") from error
        if sha256(data).hexdigest() != content.sha256:
            raise JournalError(f"the contents of change {kept.name} are damaged")
        return data

    def of(self, session: str) -> Path:
        """Where those of a session are."""
        return self.folder / session / "changes"

    def file(self, session: str, number: int) -> Path:
        return self.of(session) / f"{number:04}.jsonl"

    def _file(self, kept: Kept) -> Path:
        return self.file(kept.session, kept.number)

    def _read(self, session: str | None) -> Iterator[Kept | str]:
        found: list[tuple[float, str, int, Kept | str]] = []
        for name in self._sessions() if session is None else (session,):
            for number, file in self._numbered(self.of(name)):
                each = _kept(file)
                found.append((each.at if isinstance(each, Kept) else 0.0, name, number, each))
        found.sort(key=lambda row: row[:3], reverse=True)
        return (each for *_, each in found)

    def _sessions(self) -> Iterable[str]:
        with suppress(FileNotFoundError):
            return sorted(os.listdir(self.folder))
        return ()

    @staticmethod
    def _numbered(folder: Path) -> list[tuple[int, Path]]:
        names: list[str] = []
        with suppress(FileNotFoundError, NotADirectoryError):
            names = sorted(os.listdir(folder))
        stems = [(name.partition("."), name) for name in names]
        return [(int(stem), folder / name) for (stem, _, kind), name in stems if kind == "jsonl" and stem.isdigit()]


class _Pack:
    """Contents on their way to the disk, each once."""

    def __init__(self, file: Path, blobs: Path) -> None:
        self._file = file
        self._blobs = blobs
        self._at: dict[str, int] = {}
        self._pieces: list[bytes] = []
        self._size = 0

    def packed(self, change: FileChange) -> FileChange:
        return replace(change, before=self._kept(change.before), after=self._kept(change.after))

    def write(self) -> None:
        write_new(self._file, self._pieces, 0o600)

    def _kept(self, content: Content | None) -> Stored | None:
        name = digest(content)
        if content is None or name is None:
            return None
        if size_of(content) > LARGE:
            self._blob(name, content)
            return Stored(name, size_of(content), "blob")
        data = content if isinstance(content, bytes) else b"".join(_checked(content))
        if name not in self._at:
            self._at[name] = self._size
            self._pieces.append(data)
            self._size += len(data)
        return Stored(name, len(data), f"pack:{self._at[name]}")

    def _blob(self, name: str, content: Content) -> None:
        make_folders(self._blobs, [], 0o700)
        half = self._blobs / f".{name}-{os.urandom(4).hex()}"
        if (self._blobs / name).exists():
            return
        try:
            write_new(half, content if isinstance(content, bytes) else _checked(content), 0o600)
        except BaseException:
            with suppress(OSError):
                os.unlink(half)
            raise
        os.replace(half, self._blobs / name)
        sync_folder(self._blobs)


def _checked(content: Stored) -> Iterator[bytes]:
    """What lies there, as long as it is what it is said to be: somebody may have written to the file since."""
    seen = sha256()
    for piece in _streamed(content.path):
        seen.update(piece)
        yield piece
    if seen.hexdigest() != content.sha256:
        raise JournalError(f"{content.path} has changed since it was looked at, so it cannot be kept as it was")


def _streamed(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(_CHUNK):
            yield piece


def _line(told: dict[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n"


def _kept(file: Path) -> Kept | str:
    """A last line that was cut off does not count."""
    try:
        *lines, _ = file.read_bytes().decode("utf-8", "surrogateescape").split("\n")
        first = cast("dict[str, Any]", json.loads(lines[0]))
        if first.pop("version") != _VERSION:
            return f"{file} was written by another version"
        kept = from_json(Kept, first)
        for line in lines[1:]:
            kept = _told(kept, cast("dict[str, Any]", json.loads(line)))
        return kept
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, UsageError) as error:
        return f"{file} cannot be read: {error}"


def _told(kept: Kept, told: dict[str, Any]) -> Kept:
    if told["state"] not in get_args(State):
        raise ValueError(f"there is no state {told['state']!r}")
    files = kept.files
    if "modes" in told:
        files = tuple(replace(each, mode_before=mode) for each, mode in zip(files, told["modes"], strict=True))
    if "id" in told:
        kept = replace(kept, id=str(told["id"]), at=float(told["at"]))
    return replace(kept, state=told["state"], files=files)
