"""Answer files: answers from other programs to questions of an open session, one file for each question.

``<session id>/answers/<key>.json`` is created atomically. While the file exists, other answers to the question are
refused. Files are written under a lock on the folder. If the lock is free, unfinished files were left by killed
programs.

An answer file may contain secrets, so only its owner can read the file, and the file is removed as soon as the
answer is in the log. The file is read only if it is a regular file of the same user and no other user can write to
it.
"""

import os
import re
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from errno import EPERM
from json import dumps
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from callgate.formats.jsonable import from_json, to_json
from callgate.host.files import lock_file, make_folders, read_regular, sync_folder, write_new
from callgate.transcript.codec import decode
from callgate.transcript.question_fold import AskedQuestion, key_of
from callgate.transcript.side_files import read_beside
from callgate.words.decisions import Confirmation
from callgate.words.errors import CallgateError, JournalError, UsageError
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

LARGEST = 4 << 20
"""The maximum size of an answer in bytes."""

_VERSION = 1
_ANSWER = late_pattern(r"[0-9a-f]{32}\.json")
_UNFINISHED = late_pattern(r"[0-9a-f]{32}[0-9a-f.]*\.tmp")
_OTHERS_MAY_WRITE = 0o022


class AnswerRefused(CallgateError):
    """An answer to a question was refused. ``first`` is the earlier answer to the question, or None."""

    def __init__(self, message: str, first: Confirmation | None = None) -> None:
        super().__init__(message)
        self.first = first


class _Unusable(Exception):
    pass


@noun
class FoundAnswers:
    """The answer files of a session.

    answers  valid answers by the keys of their questions
    faults   descriptions of invalid files, which are renamed if possible
    """

    answers: Mapping[str, Confirmation]
    faults: tuple[str, ...]


@noun
class LeftAnswer:
    """An answer file that this program wrote."""

    path: Path
    data: bytes

    @property
    def is_there(self) -> bool:
        """Return True if the file still exists and was not replaced."""
        try:
            return read_beside(self.path) == self.data
        except OSError:
            return False

    def take_back(self) -> None:
        with suppress(OSError):
            if self.is_there:
                self.path.unlink()


def answers_folder(log: Path) -> Path:
    return log.with_suffix("") / "answers"


# ---- leaving one --------------------------------------------------------------------------------------------------


def leave_answer(log: Path, asked: AskedQuestion, confirmation: Confirmation) -> LeftAnswer:
    """Write the answer file and sync it to disk. Raise AnswerRefused if the question has an answer file already."""
    data = _written(asked, confirmation)
    place = answers_folder(log)
    name, draft = f"{asked.key}.json", f"{asked.key}.tmp"
    try:
        make_folders(place, 0o700)
        with _opened(place) as folder:
            lock_file(folder)
            first = _first(folder, name)
            if first is not None:
                raise AnswerRefused(f"call {confirmation.call_id} was already answered{described(first)}", first)
            _drop_unfinished(folder)
            write_new(draft, data, 0o600, dir_fd=folder)
            try:
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                _drop_unfinished(folder)
                raise
            sync_folder(place)
    except OSError as error:
        raise JournalError(f"the answer cannot be written to {place}: {error.strerror or error}") from error
    return LeftAnswer(place / name, data)


def _first(folder: int, name: str) -> Confirmation | None:
    try:
        return _read(folder, name)
    except FileNotFoundError:
        return None
    except _Unusable:
        os.rename(name, f"{name}.bad", src_dir_fd=folder, dst_dir_fd=folder)
        return None


def _drop_unfinished(folder: int) -> None:
    for name in _names(folder, _UNFINISHED):
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)


def described(first: Confirmation | None) -> str:
    """Return the answer and its author as text; empty for None."""
    if first is None:
        return ""
    return f": {first.outcome.replace('_', ' ')}, by {first.by}" + (f" at {first.door}" if first.door else "")


def _written(asked: AskedQuestion, confirmation: Confirmation) -> bytes:
    whole = {
        "v": _VERSION,
        "since": asked.since,
        "answers": asked.answers,
        "answer": to_json(confirmation),
        "token": os.urandom(8).hex(),  # makes every file different
    }
    data = dumps(whole, allow_nan=False).encode()
    if len(data) > LARGEST:
        raise UsageError(f"an answer of {len(data):,} bytes is too long: the limit is {LARGEST:,} bytes")
    return data


# ---- finding them -------------------------------------------------------------------------------------------------


def waiting_answers(log: Path) -> FoundAnswers:
    """Return all answer files of a session. Blocks; never raises."""
    answers: dict[str, Confirmation] = {}
    faults: list[str] = []
    place = answers_folder(log)
    try:
        with _opened(place) as folder:
            for name in _names(folder, _ANSWER):
                try:
                    answers[name[:32]] = _read(folder, name)
                except FileNotFoundError:  # removed by its author
                    continue
                except (OSError, _Unusable) as error:
                    with suppress(OSError):
                        lock_file(folder)
                        _first(folder, name)
                    faults.append(f"{place / name} is not a valid answer and was ignored: {_why(error)}")
    except FileNotFoundError:
        pass
    except OSError as error:
        faults.append(f"answers of other programs cannot be read from {place}: {_why(error)}")
    return FoundAnswers(answers, tuple(faults))


def read_answer(log: Path, key: str) -> Confirmation | None:
    """Return the answer in the file of a question, or None if there is no valid file. Never raises."""
    try:
        with _opened(answers_folder(log)) as folder:
            return _read(folder, f"{key}.json")
    except (OSError, _Unusable):
        return None


def forget_answers(log: Path, keys: Iterable[str]) -> None:
    """Remove the answer files of these questions. Blocks; never raises."""
    for key in keys:
        with suppress(OSError):
            (answers_folder(log) / f"{key}.json").unlink()


def tidy_answers(log: Path, keys: Collection[str]) -> None:
    """Remove temporary files of killed programs, and answer files of questions that are not in ``keys``. Never
    raises."""
    with suppress(OSError), _opened(answers_folder(log)) as folder:
        for name in _names(folder, _ANSWER):
            if name[:32] not in keys:
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)
        lock_file(folder)
        _drop_unfinished(folder)


@contextmanager
def _opened(place: Path) -> Generator[int]:
    """Open the folder for the ``with`` block. Raise OSError unless the folder belongs to this user and no other user
    can write to it."""
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(folder)
        if not S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & _OTHERS_MAY_WRITE:
            raise PermissionError(EPERM, "other users own the folder or may write to it", str(place))
        yield folder
    finally:
        os.close(folder)


def _names(folder: int, kind: re.Pattern[str]) -> list[str]:
    return sorted(name for name in os.listdir(folder) if kind.fullmatch(name))


def _read(folder: int, name: str) -> Confirmation:
    try:
        found = read_regular(name, LARGEST, follow=False, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _Unusable(error.strerror or str(error)) from None
    if found.status.st_uid != os.geteuid():
        raise _Unusable("it belongs to another user")
    if found.status.st_mode & _OTHERS_MAY_WRITE:
        raise _Unusable("other users may write to it")
    if found.is_cut:
        raise _Unusable("it is too large")
    return _confirmation(name, found.data)


def _confirmation(name: str, data: bytes) -> Confirmation:
    try:
        found: Any = decode(data.decode())
        answer = from_json(Confirmation, found["answer"])
        since, answers = found["since"], found["answers"]
        if found["v"] != _VERSION:
            raise _Unusable(f"it has version {found['v']!r} instead of {_VERSION}")
        fits = name[:32] == key_of(answer.path, answer.call_id, answer.arguments_hash, since, answers)
    except (ValueError, LookupError, TypeError, RecursionError, UsageError) as error:
        raise _Unusable(f"its content is invalid: {error}") from None
    if not fits:
        raise _Unusable("it answers another question")
    return answer


def _why(error: Exception) -> str:
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)
