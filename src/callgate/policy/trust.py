"""Stores which folders a user trusts, each with the fingerprint of its files.

Trust applies to one resolved path with exactly the files that were shown, not to folders above or below. After any
change of the files the user must be asked again. If the old files are restored, the folder is trusted again. A folder
without such files cannot be trusted, so that files added later are not trusted.

The user's data folder contains one record for each folder.
"""

import os
from collections.abc import Callable, Iterator
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from time import time

from callgate.formats.jsonable import to_sparse
from callgate.policy.fingerprint import Fingerprint, Seen, fingerprint
from callgate.policy.json_store import VERSION, Damaged, read_value, write_record
from callgate.policy.settings import LayerSettings
from callgate.policy.shorten import brief
from callgate.words.errors import UsageError
from callgate.words.noun import noun

_COMPARED_LINES = 1_000
_DIFF_LINES = 200
_DIFF_CHARS = 20_000


@noun
class Trusted:
    """The state of a trusted folder. ``at`` is the time of the user's answer in seconds since the epoch."""

    at: float


@noun
class Untrusted:
    """The state of a folder that is not trusted. ``why`` is the reason; empty if the user has not been asked yet."""

    why: str = ""


@noun
class ChangedFolder:
    """The state of a folder whose files differ from the trusted files. ``changed`` contains pairs of the old and new
    state of a file."""

    added: tuple[Seen, ...] = ()
    removed: tuple[Seen, ...] = ()
    changed: tuple[tuple[Seen, Seen], ...] = ()

    def describe(self) -> tuple[str, ...]:
        """Return the differences as lines. Their number and length are limited. The caller must escape the text."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[str]:
        for seen in self.added:
            yield f"new: {seen.path}"
            yield from _diff("", seen.text)
        for seen in self.removed:
            yield f"gone: {seen.path}"
        for before, after in self.changed:
            yield f"changed: {after.path} ({_short(before)} is now {_short(after)})"
            yield from _diff(before.text, after.text)


TrustState = Trusted | Untrusted | ChangedFolder


@noun
class TrustedFolder:
    """An entry in the list of trusted folders. ``problem`` says why its record cannot be used."""

    root: str
    at: float = 0.0
    files: int = 0
    problem: str = ""


class Trust:
    """The store of trusted folders. A folder with an unreadable record is not trusted."""

    def __init__(self, data: Path, *, clock: Callable[[], float] = time) -> None:
        self._folder = data / "trust"
        self._clock = clock

    def knows(self, root: Path) -> bool:
        return os.path.lexists(self._file(root))

    def state(self, root: Path) -> TrustState:
        return self.look(root)[0] if self.knows(root) else Untrusted()

    def look(self, root: Path) -> tuple[TrustState, tuple[LayerSettings, ...]]:
        """Return the trust state of the folder, and the settings that were compared. The caller must use these
        settings, because the files may change in the meantime."""
        found = fingerprint(root)
        return self._compared(root, found), found.settings

    def _compared(self, root: Path, found: Fingerprint) -> TrustState:
        file = self._file(root)
        try:
            record = read_value(file, _Record)
        except Damaged as error:
            return Untrusted(f"the trust record {file} {error}")
        if record is None:
            return Untrusted()
        if found.problem:
            return Untrusted(found.problem)
        if record.root != os.path.realpath(root):
            return Untrusted(f"{file} belongs to another folder")
        if not found.files:
            return Untrusted()
        return _compare(record.files, found.files) or Trusted(record.at)

    def trust(self, root: Path, shown: Fingerprint) -> Trusted | Untrusted:
        """Store that the user trusts the files that were shown. Return Untrusted if the files have changed after
        they were shown. Raise UsageError if the record cannot be written."""
        if shown.problem:
            return Untrusted(shown.problem)
        if not shown.files:
            return Untrusted("nothing in this folder needs trust")
        if fingerprint(root).digest != shown.digest:
            return Untrusted("it changed since it was shown: see callgate trust show")
        record = _Record(VERSION, os.path.realpath(root), self._clock(), shown.files)
        write_record(self._file(root), to_sparse(record))
        self._declined(root).unlink(missing_ok=True)
        return Trusted(record.at)

    def declined(self, root: Path) -> bool:
        """Return True if the user does not want to be asked about the folder."""
        return os.path.lexists(self._declined(root))

    def decline(self, root: Path) -> None:
        """Store that the user does not want to be asked about the folder. Raise UsageError if this cannot be
        written."""
        write_record(self._declined(root), {"v": VERSION, "root": os.path.realpath(root)})

    def revoke(self, root: Path) -> bool:
        """Remove the trust in a folder. Return False if the folder was not trusted. Raise UsageError if the record
        cannot be removed."""
        file = self._file(root)
        try:
            file.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise UsageError(f"{file} cannot be removed: {error.strerror or error}") from error
        return True

    def list(self) -> tuple[TrustedFolder, ...]:
        """Return all trusted folders sorted by path, including unreadable records."""
        found: list[TrustedFolder] = []
        for file in self._folder.glob("*.json"):
            try:
                record = read_value(file, _Record)
                found += [TrustedFolder(record.root, record.at, len(record.files))] if record else []
            except Damaged as error:
                found.append(TrustedFolder(str(file), problem=f"it {error}"))
        return tuple(sorted(found, key=lambda each: each.root))

    def _declined(self, root: Path) -> Path:
        return self._file(root).with_suffix(".declined")

    def _file(self, root: Path) -> Path:
        return self._folder / f"{sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:24]}.json"


@noun
class _Record:
    version: int
    root: str
    at: float
    files: tuple[Seen, ...]


def _compare(before: tuple[Seen, ...], after: tuple[Seen, ...]) -> ChangedFolder | None:
    old, new = {seen.path: seen for seen in before}, {seen.path: seen for seen in after}
    found = ChangedFolder(
        tuple(seen for seen in after if seen.path not in old),
        tuple(seen for seen in before if seen.path not in new),
        tuple((old[seen.path], seen) for seen in after if seen.path in old and not seen.same_content(old[seen.path])),
    )
    return None if found == ChangedFolder() else found


def _short(seen: Seen) -> str:
    runs = ", executable" if seen.executable else ""
    return f"{seen.kind} {seen.sha256[:12]}{runs}".replace(" ,", ",").strip()


def _diff(before: str | None, after: str | None) -> Iterator[str]:
    if before is None or after is None:
        yield "  (only its hash is known, because it is too large or not text)"
        return
    old, new = (text.split("\n") if text else [] for text in (before, after))
    if max(len(old), len(new)) > _COMPARED_LINES:  # comparing takes quadratic time, and the text is not trusted
        yield f"  ({len(old)} lines before and {len(new)} now: too many to compare)"
        return
    lines = list(unified_diff(old, new, lineterm="", n=2))[2:]
    room = _DIFF_CHARS
    for at, line in enumerate(lines):
        if at == _DIFF_LINES or not room:
            yield f"  ({len(lines) - at} more lines)"
            return
        yield f"  {brief(line, room)}"
        room = max(room - len(line), 0)
