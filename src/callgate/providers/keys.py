"""Keys of providers, from the environment, a command, the system's keyring or a private file.

The file ``callgate-keys.json`` in the data folder contains keys only if there is no keyring. The file also lists the
providers whose key is in the keyring, because a keyring cannot be listed. Keys are never shown: the repr of
``FoundKey`` does not contain the key.
"""

import os
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from json import dumps, loads
from pathlib import Path
from typing import Any, cast

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
    """A key of a provider.

    origin  the source of the key: the name of a variable, ``key_command``, ``keyring`` or ``file``
    """

    value: str
    origin: str

    @property
    def end(self) -> str:
        """An ellipsis and the last four characters of the key; only the ellipsis if the key is short."""
        return f"…{self.value[-4:]}" if len(self.value) >= 20 else "…"

    def __repr__(self) -> str:
        return f"FoundKey({self.end}, {self.origin!r})"


def system_keyring() -> Any:
    """Return the module ``keyring`` for the system's keyring; None if the package or a usable backend is missing."""
    try:
        import keyring  # pyright: ignore[reportMissingImports]  # optional, and slow to load
    except ImportError:
        return None
    backend = cast(Any, keyring.get_keyring())  # pyright: ignore[reportUnknownMemberType]
    return None if backend.priority <= 0 else backend


class KeyStore:
    """The keys that the user has stored, by provider. All methods block.

    folder   the folder with the key file; None to store nothing
    keyring  a callback that returns an object with the functions of the package ``keyring``; called at first use
    """

    def __init__(self, folder: Path | None, keyring: Callable[[], Any] = system_keyring) -> None:
        self._file = None if folder is None else folder / FILE
        self._keyring = keyring

    def find(self, provider: str) -> FoundKey | None:
        """Return the stored key; None if there is none. Raise UsageError if the key file is invalid or other users
        can read it."""
        kept = self._read()
        if provider in kept["keyring"]:
            keyring, value = self._keyring(), None
            with suppress(Exception):  # backends raise many kinds of exceptions if they are locked or broken
                value = None if keyring is None else keyring.get_password(SERVICE, provider)
            if value:
                return FoundKey(checked_key(value), "keyring")
        value = kept["keys"].get(provider)
        return FoundKey(checked_key(value), "file") if value else None

    def store(self, provider: str, key: str) -> str:
        """Store a key and return its location: the keyring if there is one, otherwise the key file. An earlier key
        is replaced."""
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
        """Remove the key of a provider. Return False if there is none."""
        kept = self._read()
        had = provider in kept["keys"] or provider in kept["keyring"]
        if had:
            self._forget(kept, provider)
            self._write(kept)
        return had

    def names(self) -> tuple[str, ...]:
        kept = self._read()
        return tuple(sorted({*kept["keys"], *kept["keyring"]}))

    def _forget(self, kept: dict[str, Any], provider: str) -> None:
        kept["keys"].pop(provider, None)
        if provider in kept["keyring"]:
            kept["keyring"].remove(provider)
            keyring = self._keyring()
            with suppress(Exception):  # the keyring may have lost it already
                if keyring is not None:
                    keyring.delete_password(SERVICE, provider)

    def _read(self) -> dict[str, Any]:
        kept: dict[str, Any] = {"version": 1, "keys": {}, "keyring": []}
        if self._file is None:
            return kept
        try:
            found = loads(_private_bytes(self._file))
            kept["keys"] |= {str(name): str(key) for name, key in found["keys"].items()}
            kept["keyring"] += [str(name) for name in found["keyring"]]
        except FileNotFoundError:
            return kept
        except OSError as error:
            raise UsageError(f"{self._file} cannot be read: {error.strerror or error}") from None
        except (ValueError, AttributeError, KeyError, TypeError):
            raise UsageError(f"{self._file} is damaged: remove it and store the keys again") from None
        return kept

    def _write(self, kept: dict[str, Any]) -> None:
        file = self._file
        if file is None:
            raise UsageError(
                "the data folder is in the workspace, where keys must not be stored: set CALLGATE_DATA_DIR to "
                "another folder"
            )
        replace_file(file, dumps(kept).encode(), 0o600)


def find_key(
    provider: str,
    variables: Iterable[str],
    command: str | None,
    store: KeyStore,
    environ: Mapping[str, str],
) -> FoundKey | None:
    """Return the key of a provider: from the first variable that is set, otherwise from the command, otherwise from
    the store; None if there is no key."""
    for name in variables:
        value = environ.get(name, "").strip()
        if value:
            return FoundKey(checked_key(value, name), name)
    if command is not None:
        return FoundKey(_run_key_command(command, provider, environ), "key_command")
    return store.find(provider)


def checked_key(text: str, where: str = "") -> str:
    """Return the key without surrounding spaces. Raise UsageError if the key is invalid; the message does not
    contain the key."""
    key = text.strip()
    if not key or len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            f"{f'{where} holds' if where else 'this is'} no valid key: it must be one word of printable ASCII "
            "characters"
        )
    return key


def _run_key_command(command: str, provider: str, environ: Mapping[str, str]) -> str:
    """Return the key that a command prints.

    Errors do not contain the command's output, because the output may contain a key. The command runs in the home
    folder, so that a relative path never names a program of the repository.
    """
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
    """Return the bytes of a file. Raise UsageError unless the file belongs to the user and no other user can read
    it."""
    try:
        found = read_regular(file, _LARGEST, follow=False)
    except NotRegular:
        raise UsageError(f"{file} is not a regular file: remove it") from None
    if os.name == "posix" and (found.status.st_mode & 0o077 or found.status.st_uid != os.geteuid()):
        raise UsageError(f"others can read {file}, so its keys are not used: replace them, then chmod 600 it")
    return found.data
