"""Prepares environment variables for programs by removing secrets."""

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
"""Names that only look like secrets: folders, and the socket of an agent that does not reveal its keys."""

_WITH_PASSWORD = late_pattern(r"://[^/?#\s]*:[^/?#\s]*@")


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables except secrets, recognised by their names, and except URLs that contain a password."""
    return {name: value for name, value in environ.items() if not secret(name, value)}


def secret(name: str, value: str) -> bool:
    low = name.lower()
    if low in _NO_SECRETS:
        return False
    words = re.split(r"[^a-z0-9]+", low)
    sounds = any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS) for word in words)
    return sounds or _WITH_PASSWORD.search(value) is not None


class OwnEnvironment:
    """Protects the environment of this process, which contains model keys.

    Programs get a scrubbed copy. But on Linux any program of the same user can read the environment from ``/proc``
    unless the process is set to not dumpable. ``keep_private`` requests this setting, which is made before the first
    command starts. Only the command line requests it, because a program that embeds Callgate may need a debugger.
    """

    def __init__(self) -> None:
        self._private = False

    def keep_private(self) -> None:
        self._private = True

    def before_commands(self) -> None:
        """Set this process to not dumpable if that was requested. Debuggers and core dumps then fail for this
        process, not for the programs that it starts."""
        if self._private and sys.platform.startswith("linux"):
            from ctypes import CDLL  # slow to import

            with suppress(OSError, AttributeError):
                CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


OWN_ENVIRONMENT = OwnEnvironment()
"""One per process, because a process has one environment."""
_SET_DUMPABLE = 4
_SYSTEM = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"


def find_program(name: str, path: str = _SYSTEM, *, avoid: str = "") -> str | None:
    """Return the path of a program that runs outside the sandbox, from the folders in ``path``; None if there is
    none. Programs below the folder ``avoid``, where commands can write, are skipped."""
    folders = [each for each in path.split(os.pathsep) if os.path.isabs(each) and not _beneath(each, avoid)]
    found = shutil.which(name, path=os.pathsep.join(folders)) if folders else None
    return None if found is None or _beneath(found, avoid) else found


def _beneath(path: str, folder: str) -> bool:
    real = os.path.realpath(folder) if folder else ""
    return bool(real) and f"{os.path.realpath(path)}/".startswith(f"{real.rstrip('/')}/")
