"""Reads and writes small JSON files in the user's data folder: private, and replaced atomically."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from json import dumps, loads
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from callgate.formats.jsonable import from_json
from callgate.host.files import make_folders, open_regular, read_regular, replace_file
from callgate.words.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows: of two programs that write at the same time one may lose its change
    fcntl = None

T = TypeVar("T")
VERSION = 1
LARGEST = 16 * 1024 * 1024


class Damaged(Exception):
    """The file exists and cannot be used; the message says why and continues the word "it"."""


def read_record(file: Path) -> dict[str, Any] | None:
    """Return the object in the file, or None if there is no such file. Raise Damaged for anything else."""
    try:
        found = read_regular(file, LARGEST, follow=False)
        if found.is_writable_by_others:
            raise Damaged("may be written by anybody")
        if found.is_cut:
            raise Damaged("is too large")
        value = loads(found.data, parse_constant=_refuse)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Damaged(f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise Damaged("is not JSON") from None
    if not isinstance(value, dict):
        raise Damaged("is not an object")
    return cast(dict[str, Any], value)


def read_value(file: Path, kind: type[T]) -> T | None:
    """Return the record as a value type with the field ``version``, which must be VERSION; None if there is no such
    file."""
    data = read_record(file)
    if data is None:
        return None
    try:
        found = from_json(kind, data)
    except UsageError as error:
        raise Damaged(f"is damaged: {error}") from None
    if data["version"] != VERSION:
        raise Damaged("is of another version")
    return found


def write_record(file: Path, value: dict[str, Any]) -> None:
    """Replace the file atomically and sync it. UsageError if it cannot be written."""
    replace_file(file, dumps(value, indent=1, allow_nan=False).encode("ascii"), 0o600)


@contextmanager
def one_at_a_time(file: Path) -> Generator[None]:
    """Lock the record against changes by other processes. Reading needs no lock: files are replaced atomically."""
    if fcntl is None:
        yield
        return
    lock = file.with_name(f"{file.name}.lock")
    try:
        make_folders(lock.parent, 0o700)
        descriptor = open_regular(lock, os.O_RDWR | os.O_CREAT, follow=False)
    except OSError as error:
        raise UsageError(f"{lock} cannot be opened: {error.strerror or error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
