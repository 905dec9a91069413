"""Wraps commands so that they run in a sandbox."""

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from callgate.host.environment import find_program
from callgate.host.files import make_folders, replace_file, write_new
from callgate.host.ports import Command
from callgate.host.sandbox import bubblewrap, seatbelt
from callgate.host.sandbox.profile import Profile, bindings, flaw
from callgate.host.sandbox.seccomp import MACHINES, filter_for
from callgate.words.errors import CallgateError
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

Backend = Literal["bubblewrap", "namespaces", "landlock", "seatbelt"]
BACKENDS: Mapping[Backend, str] = {
    "bubblewrap": "bubblewrap: namespaces, mounts and seccomp",
    "namespaces": "the launcher: namespaces, mounts, Landlock and seccomp",
    "landlock": "the launcher without namespaces: Landlock and seccomp",
    "seatbelt": "the sandbox of macOS (untried)",
}
"""The backends, the preferred one first."""

_WITH_NAMESPACES = ("bubblewrap", "namespaces")
LAUNCHER = Path(__file__).with_name("launcher.py")
# Variables that affect how a program is loaded, as the dynamic loader drops them for setuid programs. The programs that
# create the sandbox run outside and must not load anything from the workspace.
_LOADING = late_pattern(
    r"LD_.*|GCONV_PATH|GETCONF_DIR|GLIBC_TUNABLES|HOSTALIASES|LOCALDOMAIN|LOCPATH|MALLOC_.*|NIS_PATH|NLSPATH"
    r"|RESOLV_HOST_CONF|RES_OPTIONS|TZDIR|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4|IFS|BASH_FUNC_.*|PYTHON.*|DYLD_.*"
)
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")


_PORT = 3128  # of the proxy on the loopback interface of each sandbox
_SET_BY_PYTHON = "LC_CTYPE"  # Python sets it if no locale is set, and the command would inherit it


@noun
class ProxyLine:
    """The sandbox's end of the socket pair that connects a sandbox to its proxy.

    descriptor  the descriptor of the socket, passed to one command
    direct      the hosts that the command reaches without the proxy
    """

    descriptor: int
    direct: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        """Return the environment variables of the proxy in upper and in lower case, because some programs read only
        one case."""
        address, direct = f"http://127.0.0.1:{_PORT}", ",".join(self.direct)
        named = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": direct}
        return {**named, **{name.lower(): value for name, value in named.items()}, "NODE_USE_ENV_PROXY": "1"}


class SandboxRefused(CallgateError):
    """Raised if a command cannot be run in a sandbox; the text is the reason."""


class Sandbox:
    """Creates sandboxes with one backend. The constructor writes the seccomp filter; ``wrap`` only reads the file
    system.

    folder  a private folder for the seccomp filter and the locks
    """

    def __init__(self, backend: Backend, folder: Path) -> None:
        why = missing(backend)
        if why is not None:
            raise SandboxRefused(why)
        self.backend: Backend = backend
        self._folder = folder
        self._filter = "" if backend == "seatbelt" else self._filter_file()
        self._closed = "" if backend == "seatbelt" else self._closed_file()

    @property
    def has_network(self) -> bool:
        """True if commands have a network of their own, so that they can reach nothing but a proxy."""
        return self.backend in _WITH_NAMESPACES

    def wrap(self, command: Command, profile: Profile, line: ProxyLine | None = None) -> Command:
        """Return a command that runs ``command`` inside the sandbox. Raise SandboxRefused if the profile cannot be
        enforced.

        line  the connection to the proxy, which is passed to the command
        """
        try:
            return self._wrap(command, profile, line)
        except BaseException:
            if line is not None:
                os.close(line.descriptor)
            raise

    def _wrap(self, command: Command, profile: Profile, line: ProxyLine | None) -> Command:
        why = flaw(profile)
        if line is not None and not self.has_network:
            why = f"{self.backend} cannot isolate the network"
        if why is not None:
            raise SandboxRefused(f"the sandbox cannot be created: {why}")
        handed = () if line is None else (line.descriptor,)
        whole = {**self._environment(command.env, profile), **({} if line is None else line.variables())}
        loading = {name: value for name, value in whole.items() if _LOADING.fullmatch(name)}
        outer = {name: value for name, value in whole.items() if name not in loading}
        if self.backend == "bubblewrap":
            argv = bubblewrap.sandboxed_argv(
                (*_launcher_words(line, whole), "--", *command.argv) if line is not None else command.argv,
                command.cwd,
                profile if line is None else _with_python(profile),
                filter_file=self._filter,
                closed=self._closed,
                lock=self._lock(profile),
                variables=loading,
                descriptors=(*command.pass_fds, *handed),
                stays=line is not None,
            )
            if len(os.fsencode(argv[-1])) > bubblewrap.LONGEST_SCRIPT:
                raise SandboxRefused("the sandbox cannot be created: the workspace has too many protected files")
        elif self.backend == "seatbelt":
            argv = seatbelt.sandboxed_argv(command.argv, profile)
        else:
            argv = self._launcher_argv(command, profile, loading, line)
        return replace(command, argv=argv, env=outer, handed_fds=(*command.handed_fds, *handed))

    def _launcher_argv(
        self, command: Command, profile: Profile, variables: Mapping[str, str], line: ProxyLine | None
    ) -> tuple[str, ...]:
        place = str(LAUNCHER)
        if _is_beneath(place, profile.tops) and not _is_beneath(place, profile.read_only):
            raise SandboxRefused(
                f"the sandbox cannot be created: its program {place} is in a folder where commands can write"
            )
        words = [*_launcher_words(line, command.env), "--filter", self._filter, "--chdir", command.cwd]
        if self.backend == "namespaces":
            words += ["--lock", self._lock(profile), "--closed", self._closed]
        if profile.scratch:
            words += ["--scratch", profile.scratch]
        for each in bindings(profile):
            words += [f"--{each.kind.replace(' ', '-')}", each.path]
        for folder in bubblewrap.EMPTIED:
            words += ["--empty", folder]
        for name, value in variables.items():
            words += ["--setenv", f"{name}={value}"]
        for number in command.pass_fds:
            words += ["--keep", str(number)]
        return (*words, "--", *command.argv)

    def _environment(self, env: Mapping[str, str], profile: Profile) -> dict[str, str]:
        place = "/tmp" if self.backend in _WITH_NAMESPACES else profile.scratch
        kept = {name: value for name, value in env.items() if name not in _TEMPORARY}
        return {**kept, "TMPDIR": place, "XDG_CACHE_HOME": f"{place}/.cache"} if place else kept

    def _lock(self, profile: Profile) -> str:
        return str(self._folder / f"{_digest(profile.root.encode())}.lock")

    def _closed_file(self) -> str:
        """Create a file without permissions and return its path. It is mounted over hidden files, so that a program
        that reads them gets an error instead of an empty file."""
        file = self._folder / "closed"
        with suppress(FileExistsError):
            write_new(file, b"", 0)
        return str(file)

    def _filter_file(self) -> str:
        made = filter_for(os.uname().machine, namespaces=self.backend != "landlock")
        file = self._folder / f"{_digest(made)}.bpf"
        make_folders(self._folder, 0o700)
        if not file.exists() or file.read_bytes() != made:  # sessions that start together write the same content
            replace_file(file, made, 0o600)
        return str(file)


def missing(backend: Backend) -> str | None:
    """Return the reason why this machine does not support a backend; None if its requirements are met. The backend
    is not run."""
    if backend == "seatbelt":
        return None if sys.platform == "darwin" else "this is not macOS"
    if not sys.platform.startswith("linux"):
        return "this is not Linux"
    if os.uname().machine not in MACHINES:
        return f"seccomp filters exist only for {', '.join(MACHINES)}, not for {os.uname().machine}"
    if backend == "bubblewrap":
        return None if bubblewrap_program() else f"bwrap is not installed: {bubblewrap.INSTALL}"
    return None if sys.executable else "the path of the Python interpreter is unknown"


INDISPENSABLE = frozenset(
    ("write_outside", "create_outside", "write_kept", "create_new", "read_secret", "connect_tcp", "connect_unix")
)
"""Attacks that succeed on any machine without a sandbox. A proof requires that they were tried."""


@noun
class AttackOutcome:
    """The outcome of one attack: ``held`` if the sandbox stopped the attack, ``escaped`` if not, and ``untried`` if
    the attack does not succeed on this machine without a sandbox either."""

    name: str
    outcome: Literal["held", "escaped", "untried"]
    why: str = ""


@noun
class Proof:
    """The outcomes of all attacks on one backend.

    fault  the reason why the attacks could not be run; empty if they were run
    """

    backend: Backend
    outcomes: tuple[AttackOutcome, ...] = ()
    fault: str = ""

    @property
    def holds(self) -> bool:
        return not self.why_not

    @property
    def escaped(self) -> tuple[AttackOutcome, ...]:
        return tuple(each for each in self.outcomes if each.outcome == "escaped")

    @property
    def why_not(self) -> str:
        """The reason why the sandbox is not proven; empty if it is proven."""
        if self.fault:
            return self.fault
        if self.escaped:
            return f"{len(self.escaped)} escape tests succeeded: {', '.join(each.name for each in self.escaped[:5])}"
        held = {each.name for each in self.outcomes if each.outcome == "held"}
        not_run = ", ".join(sorted(INDISPENSABLE - held))
        return f"escape tests not run: {not_run}" if not_run else ""


def bubblewrap_program() -> str | None:
    return find_program(bubblewrap.NAME)


EMPTY_INSIDE = ("/tmp", *bubblewrap.EMPTIED)
"""Folders that are empty inside the sandbox."""


def places_in_empty_folders(*places: str) -> tuple[str, ...]:
    """Return the resolved places that are below a folder that is empty inside the sandbox, such as ``/tmp``."""
    empty = tuple(f"{folder}/" for folder in EMPTY_INSIDE)
    return tuple(place for place in sorted({*map(os.path.realpath, places)}) if place.startswith(empty))


def _with_python(profile: Profile) -> Profile:
    """Return a copy of the profile in which the Python interpreter and the launcher are readable, because they start
    commands that use a proxy."""
    places = places_in_empty_folders(sys.prefix, sys.base_prefix, str(LAUNCHER))
    return replace(profile, read_only=(*profile.read_only, *places))


def _launcher_words(line: ProxyLine | None, env: Mapping[str, str]) -> list[str]:
    """Return the first words of a command that starts the launcher."""
    words = [sys.executable, "-I", "-S", "-B", str(LAUNCHER)]
    if line is not None:
        words += ["--line", str(line.descriptor), "--port", str(_PORT)]
    return words if _SET_BY_PYTHON in env else [*words, "--unset", _SET_BY_PYTHON]


def _is_beneath(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def private_folder(data: Path) -> Path:
    """Return the sandbox's folder in the data folder."""
    return Path(os.path.realpath(data)) / "sandbox"
