"""Proves that a sandbox works on this machine: attacks run inside the sandbox and must not succeed.

``prove`` first runs every attack without a sandbox. An attack that fails there proves nothing: its outcome is
``untried``, with the reason. The self-test omits this step. A sandbox is proven if no attack succeeded, the
indispensable attacks were tried, and a command can work inside the sandbox.
"""

import json
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from callgate.host.ports import Command
from callgate.host.sandbox import attacks
from callgate.host.sandbox.profile import Profile
from callgate.host.sandbox.sandbox import AttackOutcome, Proof, Sandbox, SandboxRefused, places_in_empty_folders

Reports = Mapping[str, tuple[str, str]]
"""The outcome of each attack as it reports it (did, tried, failed), and the reason."""

_SECONDS = 120.0  # for all attacks together; usually less than one
_UNTOUCHED = "as it was"


class Arena:
    """The targets of the attacks in a new folder. The context manager creates the folder, and removes it when the
    ``with`` block ends.

    program  the script that runs the attacks
    names    the names of its attacks; words in a name determine the files of an attack (see ``attacks.Spot``)
    """

    program = Path(attacks.__file__)
    names: Collection[str] = attacks.ATTACKS.keys()

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.token = secrets.token_hex(16)
        self._stack = ExitStack()
        self._listeners: list[socket.socket] = []
        self.facts: dict[str, Any] = {}

    def __enter__(self) -> "Arena":
        with ExitStack() as stack:
            self.furnish(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def furnish(self, stack: ExitStack) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.base = Path(os.path.realpath(tempfile.mkdtemp(prefix="arena-", dir=self._folder)))
        stack.callback(shutil.rmtree, self.base, ignore_errors=True)
        self.workspace, self.outside = self.base / "workspace", self.base / "outside"
        for name in self.names:
            self._add_files(name)
        for folder in (self.base / "scratch", (self.workspace / attacks.WORK_FILE).parent):
            folder.mkdir()
        self.leftovers = [os.open(self.outside, os.O_RDONLY)]
        """Descriptors that a command without a sandbox inherits."""
        stack.callback(os.close, self.leftovers[0])
        port = self.listen(stack, socket.AF_INET, ("127.0.0.1", 0))
        # Addresses of Unix sockets must be short.
        self.listen(stack, socket.AF_UNIX, f"/proc/self/fd/{self.leftovers[0]}/socket")
        self.facts = {
            "outside": str(self.outside),
            "workspace": str(self.workspace),
            "token": self.token,
            "port": port,
            "socket": str(self.outside / "socket"),
            "victim": os.getpid(),
            "victim_started": attacks.started(os.getpid()),
        }

    def _add_files(self, name: str) -> None:
        outside, kept = self.outside / name, self.workspace / f"{name}.kept"
        (self.workspace / name / "free").mkdir(parents=True)
        outside.mkdir(parents=True)
        files = {outside / "target": _UNTOUCHED}
        if "kept" in name:
            (kept / "hooks").mkdir(parents=True)
            files[kept / "config"] = _UNTOUCHED
        if "secret" in name:
            (outside / "secrets").mkdir()
            files |= dict.fromkeys((outside / "secret", outside / "secrets" / "key"), self.token)
        for file, text in files.items():
            file.write_text(text)
            file.chmod(0o600)

    def listen(self, stack: ExitStack, family: int, address: Any, kind: int = socket.SOCK_STREAM) -> int:
        """Open a listener, to which attacks send their names, and return its port."""
        listener = stack.enter_context(socket.socket(family, kind))
        listener.bind(address)
        if kind == socket.SOCK_STREAM:
            listener.listen(len(self.names))
        listener.setblocking(False)
        self._listeners.append(listener)
        return listener.getsockname()[1] if family == socket.AF_INET else 0

    # ---- running ----------------------------------------------------------------------------------------------------

    def command(self) -> Command:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.base), "LANG": "C.UTF-8"}
        argv = (sys.executable, "-I", "-S", str(self.program), json.dumps(self.facts))
        return Command(argv, str(self.workspace), env)

    def wrapped(self, sandbox: Sandbox) -> Command:
        """Return the command that runs the attacks inside a sandbox."""
        return sandbox.wrap(self.command(), self.profile())

    def profile(self) -> Profile:
        return Profile(
            root=str(self.workspace),
            read_only=(
                *(str(self.workspace / f"{name}.kept") for name in self.names if "kept" in name),
                # The attacks run with these, which may be in a folder that is empty inside.
                *places_in_empty_folders(*map(str, self.sources()), sys.prefix, sys.base_prefix),
            ),
            reserved=tuple(str(self.workspace / f"{name}.new") for name in self.names if "new" in name),
            unreadable=tuple(
                str(self.outside / name / secret)
                for name in self.names
                for secret in ("secret", "secrets")
                if "secret" in name
            ),
            scratch=str(self.base / "scratch"),
        )

    def sources(self) -> Sequence[Path]:
        """Return the folders from which the attack program is loaded."""
        return (self.program.parent,)

    def run(self, command: Command) -> tuple[Reports, str]:
        """Run the attacks. Return their reports, and the error message if they could not be run."""
        with subprocess.Popen(
            command.argv,
            cwd=self.workspace,
            env=dict(command.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(*command.pass_fds, *command.handed_fds),
        ) as process:
            for number in command.handed_fds:
                os.close(number)
            try:
                out, error = process.communicate(timeout=_SECONDS)
            except BaseException:
                process.kill()
                raise
        rows = [line.split("\t") for line in out.decode(errors="replace").splitlines()]
        reports = {name: (outcome, why) for name, outcome, why in (row for row in rows if len(row) == 3)}
        if process.returncode == 0 and reports:
            return reports, ""
        lines = error.decode(errors="replace").strip().splitlines()
        return reports, lines[-1] if lines else f"the escape tests ended with exit code {process.returncode}"

    # ---- judging ----------------------------------------------------------------------------------------------------

    def fault(self) -> str:
        """Return the reason why a command could not work in the sandbox; empty if it could."""
        works = (self.workspace / attacks.WORK_FILE).is_file()
        return "" if works else "a command in the sandbox cannot write to the workspace"

    def succeeded(self, reports: Reports) -> frozenset[str]:
        """Return the names of the attacks that report success, changed a protected file, or reached a listener."""
        reached = self.reached()
        return frozenset(
            name
            for name in self.names
            if reports.get(name, ("", ""))[0] == "did" or name in reached or self._changed(name)
        )

    def reached(self) -> set[str]:
        """Return the names of the attacks that reached a listener."""
        return {name for each in self._listeners for name in self.received(each)}

    def received(self, listener: socket.socket) -> Iterator[str]:
        with suppress(OSError):
            while True:
                with listener.accept()[0] as caller:
                    caller.settimeout(1)
                    yield caller.recv(200).decode(errors="replace")

    def _changed(self, name: str) -> bool:
        outside, kept = self.outside / name, self.workspace / f"{name}.kept"
        return (
            [*_listed(outside)] != (["secret", "secrets", "target"] if "secret" in name else ["target"])
            or not _is_untouched(outside / "target")
            or ("kept" in name and [*_listed(kept), *_listed(kept / "hooks")] != ["config", "hooks"])
            or ("kept" in name and not _is_untouched(kept / "config"))
            or ("new" in name and _exists(self.workspace / f"{name}.new"))
        )


def _is_untouched(file: Path) -> bool:
    with suppress(OSError):
        status = file.stat()
        return file.read_text() == _UNTOUCHED and stat.S_IMODE(status.st_mode) == 0o600 and status.st_nlink == 1
    return False


def _listed(folder: Path) -> Iterator[str]:
    with suppress(OSError):
        yield from sorted(os.listdir(folder))


def _exists(path: Path) -> bool:
    """Return True if the path exists and is not an empty folder, which a killed command may leave."""
    return path.is_symlink() or path.is_file() or any(_listed(path))


# ---- the proof ------------------------------------------------------------------------------------------------------


Control = tuple[Reports, frozenset[str]]
"""The result of the attacks without a sandbox: their reports, and the names of the successful attacks."""


def try_outside(folder: Path, arenas: type[Arena] = Arena) -> Control:
    with arenas(folder) as arena:
        reports, fault = arena.run(replace(arena.command(), pass_fds=tuple(arena.leftovers)))
        if fault:
            raise OSError(fault)
        return reports, arena.succeeded(reports)


def prove(sandbox: Sandbox, folder: Path, *, control: Control | None = None, arenas: type[Arena] = Arena) -> Proof:
    """Run all attacks on the sandbox and return the outcomes. Blocks for about a second.

    folder   the parent of a new folder for the attacks, which is removed afterwards
    control  the result of the attacks without a sandbox; None to run them
    """
    try:
        control = control or try_outside(folder, arenas)
        with arenas(folder) as arena:
            reports, fault = arena.run(arena.wrapped(sandbox))
            inside = arena.succeeded(reports)
            fault = fault or arena.fault()
    except (OSError, SandboxRefused, subprocess.SubprocessError) as error:
        return Proof(sandbox.backend, fault=f"the escape tests could not run: {error}")
    if fault:
        return Proof(sandbox.backend, fault=fault)
    return Proof(sandbox.backend, tuple(_outcome_of(name, reports, inside, control) for name in control[0]))


def self_test(sandbox: Sandbox, folder: Path) -> Proof:
    """Run the attacks only inside the sandbox and return the outcomes. Blocks for about 0.1 s."""
    return prove(sandbox, folder, control=(dict.fromkeys(Arena.names, ("did", "")), frozenset(Arena.names)))


def _outcome_of(name: str, reports: Reports, inside: frozenset[str], control: Control) -> AttackOutcome:
    outcome, why = reports.get(name, ("", "the escape test reported no result"))
    if name in inside or not outcome:
        return AttackOutcome(name, "escaped", why)
    reports_outside, succeeded_outside = control
    if name not in succeeded_outside:
        why = reports_outside[name][1] or "the escape test fails on this machine without a sandbox too"
        return AttackOutcome(name, "untried", why)
    return AttackOutcome(name, "held", why)
