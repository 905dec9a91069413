"""The environment: which variables programs may get, and how secrets in it are protected."""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress

from callgate.words.late_pattern import late_pattern

# fmt: off
_SECRET_WORDS = frozenset({
    "apikeys", "auth", "bearer", "cookie", "cookies", "cred", "creds", "credential", "jwt", "key", "keys", "pass",
    "passwords", "pat", "pwd", "secrets", "tokens", "webhook",
})
# fmt: on
_SECRET_ENDINGS = ("apikey", "token", "secret", "password", "passwd", "passphrase", "credentials")
_NO_SECRETS = frozenset({"pwd", "oldpwd", "ssh_auth_sock"})
"""Variables that only sound like secrets: folders, and the address of an agent that keeps the keys to itself."""

_WITH_PASSWORD = late_pattern(r"://[^/?#\s]*:[^/?#\s]*@")


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names do not sound like secrets and whose values are not addresses with a password."""
    return {name: value for name, value in environ.items() if not secret(name, value)}


def secret(name: str, value: str) -> bool:
    low = name.lower()
    if low in _NO_SECRETS:
        return False
    words = re.split(r"[^a-z0-9]+", low)
    sounds = any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS) for word in words)
    return sounds or _WITH_PASSWORD.search(value) is not None


class OwnEnvironment:
    """The variables of this process, which include the keys of models. Programs get them without secrets, as
    ``scrubbed`` gives them; but on Linux each program of the same person can read the whole block from ``/proc``, as
    ``ps e`` does, unless the process is marked as not to be dumped. ``keep_private`` asks for that mark, which is set
    with the first command; it is for the command line: a program that Callgate is a part of may want to be debugged."""

    def __init__(self) -> None:
        self._private = False

    def keep_private(self) -> None:
        self._private = True

    def before_commands(self) -> None:
        """Debuggers and core dumps of this process are gone with it; programs that it starts are as before."""
        if self._private and sys.platform.startswith("linux"):
            from ctypes import CDLL  # costly to load

            with suppress(OSError, AttributeError):
                CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


OWN_ENVIRONMENT = OwnEnvironment()
"""One for this process, which has one environment."""
_SET_DUMPABLE = 4
_SYSTEM = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"


def find_program(name: str, path: str = _SYSTEM, *, avoid: str = "") -> str | None:
    """The whole path of a program that runs outside the sandbox: in a folder of the system, or of ``path`` but for what
    is in the folder ``avoid``, where commands can put programs of their own."""
    folders = [each for each in path.split(os.pathsep) if os.path.isabs(each) and not _beneath(each, avoid)]
    found = shutil.which(name, path=os.pathsep.join(folders)) if folders else None
    return None if found is None or _beneath(found, avoid) else found


def _beneath(path: str, folder: str) -> bool:
    real = os.path.realpath(folder) if folder else ""
    return bool(real) and f"{os.path.realpath(path)}/".startswith(f"{real.rstrip('/')}/")
