"""Reads and writes small JSON files in the user's data folder. The files are readable only by the user and are
replaced atomically."""

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
    """The file exists but cannot be used. The message completes a sentence that begins with the name of the file,
    such as "is not JSON"."""


def read_value(file: Path, kind: type[T]) -> T | None:
    """Return the JSON object in the file as an object of the value type; None if the file does not exist. Raise
    Damaged for any other content, and if the field ``version`` is not VERSION."""
    try:
        found = read_regular(file, LARGEST, follow=False)
        if found.is_writable_by_others:
            raise Damaged("can be written by any user")
        if found.is_cut:
            raise Damaged("is too large")
        value = loads(found.data, parse_constant=refuse_constant)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Damaged(f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise Damaged("is not JSON") from None
    if not isinstance(value, dict):
        raise Damaged("is not an object")
    data = cast(dict[str, Any], value)
    try:
        found = from_json(kind, data)
    except UsageError as error:
        raise Damaged(f"is damaged: {error}") from None
    if data["version"] != VERSION:
        raise Damaged("has an unsupported version")
    return found


def write_record(file: Path, value: dict[str, Any]) -> None:
    """Replace the file atomically and sync it to disk. Raise UsageError if the file cannot be written."""
    replace_file(file, dumps(value, indent=1, allow_nan=False).encode("ascii"), 0o600)


@contextmanager
def one_at_a_time(file: Path) -> Generator[None]:
    """Lock the record against changes by other processes. Readers need no lock, because files are replaced
    atomically. Raise UsageError if the lock file cannot be opened."""
    if fcntl is None:
        yield
        return
    lock = file.with_name(f"{file.name}.lock")
    try:
        make_folders(lock.parent, 0o700)
        descriptor = open_regular(lock, os.O_RDWR | os.O_CREAT, follow=False)
    except OSError as error:
        raise UsageError(f"the lock file {lock} cannot be opened: {error.strerror or error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
