"""Keys of providers: found in the environment, by a command, in the keyring of the system or in a private file.

The file, ``callgate-keys.json`` in the data folder, holds keys only where there is no keyring; it also says for which
providers the keyring has one, because a keyring cannot be listed. Keys are never shown: ``FoundKey`` hides its own.
"""

import os
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from json import dumps, loads
from pathlib import Path
from typing import Any, Protocol, cast

from callgate.host.files import NotRegular, read_regular, replace_file
from callgate.words.errors import UsageError
from callgate.words.noun import noun

FILE = "callgate-keys.json"
SERVICE = "callgate"
_LARGEST = 1 << 20
_LONGEST_KEY = 8_192
_COMMAND_SECONDS = 30.0


@noun
class FoundKey:
    """A key, and where it was found: a variable, ``key_command``, ``keyring`` or ``file``."""

    value: str
    origin: str

    @property
    def end(self) -> str:
        """The last four characters, if the rest is long enough to stay a secret."""
        return f"…{self.value[-4:]}" if len(self.value) >= 20 else "…"

    def __repr__(self) -> str:
        return f"FoundKey({self.end}, {self.origin!r})"


class Keyring(Protocol):
    """The part of the package ``keyring`` that is used."""

    def get_password(self, service: str, username: str) -> str | None: ...

    def set_password(self, service: str, username: str, password: str) -> None: ...

    def delete_password(self, service: str, username: str) -> None: ...


def system_keyring() -> Keyring | None:
    """The keyring of the system; None without the package or a backend that keeps anything."""
    try:
        import keyring  # pyright: ignore[reportMissingImports]  # optional, and slow to load
    except ImportError:
        return None
    backend = cast(Any, keyring.get_keyring())  # pyright: ignore[reportUnknownMemberType]
    return None if backend.priority <= 0 else cast(Keyring, backend)


class KeyStore:
    """Keys that a person has stored, by the name of the provider. Without a ``folder`` nothing is stored. ``keyring``
    is called for the keyring when it is needed. Everything here blocks."""

    def __init__(self, folder: Path | None, keyring: Callable[[], Keyring | None] = system_keyring) -> None:
        self._file = None if folder is None else folder / FILE
        self._keyring = keyring

    def find(self, provider: str) -> FoundKey | None:
        """The stored key; UsageError if the file cannot be relied on."""
        kept = self._read()
        if provider in kept["keyring"]:
            keyring, value = self._keyring(), None
            with suppress(Exception):  # locked or broken, in the many ways that backends say so
                value = None if keyring is None else keyring.get_password(SERVICE, provider)
            if value:
                return FoundKey(checked_key(value), "keyring")
        value = kept["keys"].get(provider)
        return FoundKey(checked_key(value), "file") if value else None

    def store(self, provider: str, key: str) -> str:
        """Stores a key in place of an earlier one, in the keyring if there is one; gives where it is now."""
        key, kept = checked_key(key), self._read()
        self._forget(kept, provider)
        keyring = self._keyring()
        if keyring is not None:
            try:
                keyring.set_password(SERVICE, provider, key)
            except Exception:  # read-only, locked or broken
                keyring = None
        if keyring is None:
            kept["keys"][provider] = key
        else:
            kept["keyring"].append(provider)
        self._write(kept)
        return "keyring" if keyring is not None else str(self._file)

    def remove(self, provider: str) -> bool:
        """False if there was none."""
        kept = self._read()
        had = provider in kept["keys"] or provider in kept["keyring"]
        if had:
            self._forget(kept, provider)
            self._write(kept)
        return had

    def names(self) -> tuple[str, ...]:
        """The providers that a key is stored for."""
        kept = self._read()
        return tuple(sorted({*kept["keys"], *kept["keyring"]}))

    def _forget(self, kept: dict[str, Any], provider: str) -> None:
        kept["keys"].pop(provider, None)
        if provider in kept["keyring"]:
            kept["keyring"].remove(provider)
            keyring = self._keyring()
            with suppress(Exception):  # it may be gone already
                if keyring is not None:
                    keyring.delete_password(SERVICE, provider)

    def _read(self) -> dict[str, Any]:
        kept: dict[str, Any] = {"version": 1, "keys": {}, "keyring": []}
        if self._file is None:
            return kept
        try:
            found = loads(_private_bytes(self._file))
        except FileNotFoundError:
            return kept
        except OSError as error:
            raise UsageError(f"{self._file} cannot be read: {error.strerror or error}") from None
        except ValueError:
            raise UsageError(f"{self._file} is damaged: remove it and store the keys again") from None
        try:
            kept["keys"] |= {str(name): str(key) for name, key in found["keys"].items()}
            kept["keyring"] += [str(name) for name in found["keyring"]]
        except (AttributeError, KeyError, TypeError):
            raise UsageError(f"{self._file} is damaged: remove it and store the keys again") from None
        return kept

    def _write(self, kept: dict[str, Any]) -> None:
        file = self._file
        if file is None:
            raise UsageError(
                "the data folder lies in the workspace, no place for keys: set CALLGATE_DATA_DIR elsewhere"
            )
        replace_file(file, dumps(kept).encode(), 0o600)


def find_key(
    provider: str,
    variables: Iterable[str],
    command: str | None,
    store: KeyStore,
    environ: Mapping[str, str],
) -> FoundKey | None:
    """The key of a provider: from the first variable that is set, else by the command, else from the store."""
    for name in variables:
        value = environ.get(name, "").strip()
        if value:
            return FoundKey(checked_key(value, name), name)
    if command is not None:
        return FoundKey(_printed(command, provider, environ), "key_command")
    return store.find(provider)


def checked_key(text: str, where: str = "") -> str:
    """The key without spaces around it; UsageError, which does not repeat it, for what can be none."""
    key = text.strip()
    if not key or len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"{f'{where} holds' if where else 'this is'} no key: it must be one word of plain characters")
    return key


def _printed(command: str, provider: str, environ: Mapping[str, str]) -> str:
    """The key that a command prints. Its output is not repeated in errors: it may hold a key. It runs in the home
    folder, so that a relative path never means a program of the repository."""
    what = f"key_command of {provider}"
    try:
        argv = shlex.split(command)
        ran = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_COMMAND_SECONDS,
            check=False,
            env=dict(environ),
            cwd=environ.get("HOME") or os.sep,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"{what} took more than {_COMMAND_SECONDS:g} seconds: run it by hand to see why") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{what} cannot be run: {error}") from None
    if ran.returncode != 0:
        raise UsageError(f"{what} failed with exit status {ran.returncode}: run it by hand to see why")
    return checked_key(ran.stdout.decode("utf-8", "replace"), what)


def _private_bytes(file: Path) -> bytes:
    """The bytes of a file that is the person's own and that no other can read; UsageError otherwise."""
    try:
        found = read_regular(file, _LARGEST, follow=False)
    except NotRegular:
        raise UsageError(f"{file} is not a regular file: remove it") from None
    if os.name == "posix" and (found.status.st_mode & 0o077 or found.status.st_uid != os.geteuid()):
        raise UsageError(f"others can read {file}, so its keys are not used: replace them, then chmod 600 it")
    return found.data
