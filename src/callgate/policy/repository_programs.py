"""Asks git which programs of a repository it would run for a command that changes something: hooks, and programs in
its settings."""

import os
import re
import subprocess
from functools import cache

from callgate.host.environment import find_program, scrubbed
from callgate.policy.shorten import brief

_SECONDS = 5.0
# Settings whose values git runs as a command, or that name a file with more settings.
_NAMES_PROGRAM = re.compile(
    r"alias\..+|include\.path|includeif\..+|pager\..+|protocol\..+|core\.(?:hookspath|fsmonitor|pager|askpass|gitproxy)"
    r"|.*(?:command|cmd|hook|filter)|remote\..*\.(?:vcs|uploadpack|receivepack)|sendemail\.smtpserver|instaweb\.httpd"
    r"|.*\.(?:clean|smudge|process|driver|textconv|program|helper|editor|external|path|update)",
    re.I,
)
_HARMLESS = re.compile(r"(?:true|false|cat|checkout|merge|rebase|none|simple-git|)", re.I)


def program_of_repository(folder: str) -> str | None:
    """Return a description of the hook that git would run in this folder, or of the setting whose program git would
    run. If the settings cannot be read, return the reason; None if git would run no program of the repository.
    Settings of the user and the system are not included."""
    git = _git()
    if git is None:
        return "git was not found in a system folder"
    try:
        hooks = _output(git, folder, "rev-parse", "--git-path", "hooks")
        settings = _output(git, folder, "config", "--list", "--show-scope", "-z")
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return "its settings could not be listed"
    for scope, setting in zip(*[iter(settings.split("\0"))] * 2, strict=False):
        key, _, value = setting.partition("\n")
        if scope not in ("system", "global") and _NAMES_PROGRAM.fullmatch(key) and not _HARMLESS.fullmatch(value):
            return f"the setting {brief(key)}"
    place = os.path.join(folder, hooks.removesuffix("\n"))
    try:
        found = sorted(each for each in os.listdir(place) if not each.endswith(".sample"))
    except FileNotFoundError:
        return None
    except OSError:
        return f"hooks in {brief(place)}"
    return f"the hook {brief(os.path.join(place, found[0]))}" if found else None


@cache
def _git() -> str | None:
    return find_program("git")


def _output(git: str, folder: str, *words: str) -> str:
    environment = scrubbed(dict(os.environ)) | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    found = subprocess.run(
        [git, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=_SECONDS,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return found.stdout.decode()
