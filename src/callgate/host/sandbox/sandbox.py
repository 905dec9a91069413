"""The sandbox of a command: a command in, the command that runs it inside out."""

import hashlib
import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from callgate.host.environment import find_program
from callgate.host.files import make_folders, write_new
from callgate.host.ports import Command
from callgate.host.sandbox import bubblewrap, seatbelt
from callgate.host.sandbox.profile import Profile, bindings, flaw
from callgate.host.sandbox.seccomp import MACHINES, filter_for
from callgate.words.errors import CallgateError

Backend = Literal["bubblewrap", "namespaces", "landlock", "seatbelt"]
BACKENDS: Mapping[Backend, str] = {
    "bubblewrap": "bubblewrap: namespaces, mounts and seccomp",
    "namespaces": "the launcher: namespaces, mounts, Landlock and seccomp",
    "landlock": "the launcher without namespaces: Landlock and seccomp",
    "seatbelt": "the sandbox of macOS (untried)",
}
"""The ways to make a sandbox, the best first."""

LAUNCHER = Path(__file__).with_name("launcher.py")
# Variables that change what a program loads when it starts: those that the loader itself drops for a program with more
# rights than its caller. What makes the sandbox runs outside of it and must not load anything from the workspace.
_LOADING = re.compile(
    r"LD_.*|GCONV_PATH|GETCONF_DIR|GLIBC_TUNABLES|HOSTALIASES|LOCALDOMAIN|LOCPATH|MALLOC_.*|NIS_PATH|NLSPATH"
    r"|RESOLV_HOST_CONF|RES_OPTIONS|TZDIR|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4|IFS|BASH_FUNC_.*|PYTHON.*|DYLD_.*"
)
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")


class SandboxRefused(CallgateError):
    """A command cannot be put into a sandbox; the text says why."""


class Sandbox:
    """One way to make sandboxes on this machine. ``folder`` is private: it holds the seccomp filter and locks.

    Its maker writes the filter; ``wrap`` only looks at the file system.
    """

    def __init__(self, backend: Backend, folder: Path) -> None:
        why = missing(backend)
        if why is not None:
            raise SandboxRefused(why)
        self.backend: Backend = backend
        self._folder = folder
        self._filter = "" if backend == "seatbelt" else self._filter_file()

    def wrap(self, command: Command, profile: Profile) -> Command:
        """The command that runs ``command`` inside. SandboxRefused where the profile cannot be enforced."""
        why = flaw(profile)
        if why is not None:
            raise SandboxRefused(f"the sandbox cannot be made: {why}")
        whole = self._environment(command.env, profile)
        loading = {name: value for name, value in whole.items() if _LOADING.fullmatch(name)}
        outer = {name: value for name, value in whole.items() if name not in loading}
        if self.backend == "bubblewrap":
            argv = bubblewrap.wrapped(
                command.argv,
                command.cwd,
                profile,
                filter_file=self._filter,
                lock=self._lock(profile),
                variables=loading,
            )
        elif self.backend == "seatbelt":
            argv = seatbelt.wrapped(command.argv, profile)
        else:
            argv = self._launched(command, profile, loading)
        return replace(command, argv=argv, env=outer)

    def _launched(self, command: Command, profile: Profile, variables: Mapping[str, str]) -> tuple[str, ...]:
        place = str(LAUNCHER)
        if any(place.startswith(f"{top}/") for top in profile.tops) and not _is_kept(place, profile):
            raise SandboxRefused(f"the sandbox cannot be made: its program {place} lies where commands can write")
        words = [sys.executable, "-I", "-S", str(LAUNCHER), "--filter", self._filter, "--chdir", command.cwd]
        if self.backend == "namespaces":
            words += ["--namespaces", "--lock", self._lock(profile)]
        if profile.scratch:
            words += ["--scratch", profile.scratch]
        for each in bindings(profile):
            words += [f"--{each.kind.replace(' ', '-')}", each.path]
        for folder in bubblewrap.EMPTIED:
            words += ["--empty", folder]
        for name, value in variables.items():
            words += ["--setenv", name, value]
        for number in command.pass_fds:
            words += ["--keep", str(number)]
        return (*words, "--", *command.argv)

    def _environment(self, env: Mapping[str, str], profile: Profile) -> dict[str, str]:
        """Temporary files and caches go where they can be written."""
        mounted = self.backend in ("bubblewrap", "namespaces")
        place = "/tmp" if mounted else profile.scratch
        kept = {name: value for name, value in env.items() if name not in _TEMPORARY}
        return {**kept, "TMPDIR": place, "XDG_CACHE_HOME": f"{place}/.cache"} if place else kept

    def _lock(self, profile: Profile) -> str:
        return str(self._folder / f"{_digest(profile.root.encode())}.lock")

    def _filter_file(self) -> str:
        made = filter_for(platform.machine(), namespaces=self.backend != "landlock")
        file = self._folder / f"{_digest(made)}.bpf"
        make_folders(self._folder, 0o700)
        try:
            write_new(file, made, 0o600)
        except FileExistsError:
            if file.read_bytes() != made:  # a crash has cut it short
                file.unlink()
                write_new(file, made, 0o600)
        return str(file)


def missing(backend: Backend) -> str | None:
    """The reason why this machine has no such sandbox, as far as can be told without trying; None if it may have."""
    if backend == "seatbelt":
        return None if sys.platform == "darwin" else "this is not macOS"
    if not sys.platform.startswith("linux"):
        return "this is not Linux"
    if platform.machine() not in MACHINES:
        return f"there is no seccomp filter for {platform.machine()}, only for {', '.join(MACHINES)}"
    if backend == "bubblewrap":
        return None if bubblewrap_program() else f"bwrap is not installed: {bubblewrap.INSTALL}"
    return None if sys.executable else "the path of the Python interpreter is not known"


def bubblewrap_program() -> str | None:
    return find_program(bubblewrap.NAME)


def _is_kept(path: str, profile: Profile) -> bool:
    return any(path.startswith(f"{place}/") for place in profile.read_only)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def private_folder(data: Path) -> Path:
    """The folder of the sandbox in the folder of what is kept."""
    return Path(os.path.realpath(data)) / "sandbox"
