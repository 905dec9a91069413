"""The ports of a host for built-in tools, in addition to ``core.ports.Host``: files and processes.

A tool gets these ports from ``run.host`` with ``files_of`` and ``processes_of``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol, cast, runtime_checkable

from callgate.core.capabilities import host_part
from callgate.words.errors import ToolFailure
from callgate.words.noun import nothing, noun
from callgate.words.resolved_path import PathKind

Sink = Callable[[bytes], None]
"""Receives the pieces of an output in order, in its own thread. The program waits until it returns."""


@noun
class FileStatus:
    """The status of a file.

    path  the resolved absolute path
    kind  ``missing`` if the file does not exist
    """

    path: str
    kind: PathKind
    size: int = 0


@noun
class FolderEntry:
    """A name in a folder. The kind of a link is ``other``."""

    name: str
    kind: PathKind
    size: int = 0


class Files(Protocol):
    """Reads files and folders of a host. Files are written by ``Host.apply``. Relative paths start at the workspace.

    Links are followed inside the workspace. A path that leaves the workspace through a link is refused: a file outside
    the workspace must be named by its own path, so that the gate judges the path that is opened. The resolved path is
    opened one component at a time without following links, so that it cannot be redirected meanwhile.

    All methods block: call them in a worker thread. Tools that are plain functions run in a worker thread. ToolFailure
    is the only exception.
    """

    @property
    def on_disk(self) -> bool:
        """True if programs started by the host see the same files."""
        ...

    def status(self, path: str) -> FileStatus: ...

    def read(self, path: str, most: int) -> bytes:
        """Return the whole content of a file. Raise ToolFailure if the file has more than ``most`` bytes."""
        ...

    def entries(self, path: str) -> list[FolderEntry]:
        """Return the entries of a folder, sorted by code point of their names."""
        ...


def files_of(host: object) -> Files:
    """Return the files of a host. Raise ToolFailure if the host has none."""
    found: Files | None = host_part(host, "files")
    if not hasattr(found, "entries"):  # an isinstance check of the protocol takes longer than reading a file
        raise ToolFailure("This session has no files: its host does not provide files.")
    return cast(Files, found)


def too_large(path: str, size: int, most: int) -> ToolFailure:
    return ToolFailure(f"{path} is too large: {size:,} bytes, and at most {most:,} are read at once.")


@noun
class Command:
    """A program to run, with its arguments and its input.

    stdin       the bytes of the standard input
    pass_fds    open descriptors, passed under the same numbers
    handed_fds  like ``pass_fds``, but closed in this process after the start, whether successful or not
    input_fd    the standard input in place of ``stdin``; closed in this process after the start
    output_fd   the standard output; closed in this process after the start. ``out`` then receives the standard error
    folder_fd   an open folder that is the working folder in place of ``cwd``
    ruleset_fd  a Landlock ruleset that restricts the program and its child processes
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=nothing)
    stdin: bytes = b""
    pass_fds: tuple[int, ...] = ()
    handed_fds: tuple[int, ...] = ()
    input_fd: int | None = None
    output_fd: int | None = None
    folder_fd: int | None = None
    ruleset_fd: int | None = None


class GuardLost(OSError):
    """Raised if the guard process of a program was killed: the program may have run completely, in part or not at
    all."""

    def __init__(self) -> None:
        super().__init__("the process that watches the command was killed")


class Process(Protocol):
    """A started program and its child processes: the process tree. Cancelling a wait has no effect on the program."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None:
        """The exit code; negative for a signal, None while the program runs."""
        ...

    @property
    def running(self) -> bool:
        """True while any process of the process tree is running."""
        ...

    async def ended(self) -> int:
        """Wait for the exit of the program and the end of its output, and return the exit code. If child processes
        keep the output open after the exit, the wait ends one second later. Raise GuardLost if the exit is unknown."""
        ...

    async def gone(self) -> None:
        """Wait until the whole process tree has ended and all output was delivered."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM to every process of the process tree."""
        ...

    def kill(self) -> None:
        """Kill every process of the process tree."""
        ...

    def outlive(self, *, output: str, status: str) -> None:
        """Let the process tree continue if Callgate is killed.

        output  the file to which further output is appended
        status  the file to which the exit ``code`` and the time ``ended`` are written as JSON
        """
        ...

    @property
    def guard(self) -> int:
        """The pid of the guard process, which ends the process tree on SIGTERM."""
        ...


@runtime_checkable
class Processes(Protocol):
    """Starts programs, each in a POSIX session of its own. If Callgate is killed, their process trees are ended."""

    async def start(self, command: Command, out: Sink, err: Sink | None = None) -> Process:
        """Start a program. Raise OSError if that fails, and GuardLost if it is unknown whether the program was
        started. After a cancel no process is left.

        out  receives the standard output, and without ``err`` also the standard error, in the order of writing
        """
        ...


@noun
class HostDecision:
    """The decision of the sandbox's proxy to allow or refuse a host.

    why  the reason for a refusal or a failure
    """

    host: str
    allowed: bool
    why: str = ""


class Confinement(Protocol):
    """A sandbox with its profile, in which a host runs commands."""

    def takes(self, call_id: str, text: str) -> bool:
        """Return True if the command of this call runs inside the sandbox, as decided when the gate judged the call."""
        ...

    def wrap(self, command: Command, on_decision: Callable[[HostDecision], None]) -> Command:
        """Return a command that runs ``command`` inside the sandbox. Raise ToolFailure or another error if that is not
        possible. Blocks; called in any thread.

        on_decision  called in any thread with each decision about a host, before the command receives the decision
        """
        ...

    def outside(self, command: Command) -> Command:
        """Return the command for a run outside the sandbox. Its variables name no folder in which commands inside
        the sandbox can write."""
        ...

    @property
    def report(self) -> Callable[[str], None]:
        """The callback that receives notes for the user."""
        ...

    def watch(self, text: str) -> Callable[[bool], Sequence[str]]:
        """Return a function to call when the command ``text``, which was wrapped before, has ended. It returns lines
        about files that the command created and that the sandbox does not allow. Both block; any thread may call them.

        The parameter of the function is False for a command in the background.
        """
        ...

    def denied(self, text: str, output: str, returncode: int, hosts: Sequence[HostDecision]) -> object | None:
        """Return the refused access that made a command fail; None if no refusal caused the failure. ``str`` of the
        result is a description for the user.

        hosts  the decisions of the proxy for this command
        """
        ...


class OutputFile(Protocol):
    """A growing file with the output of a command. All methods block and are thread-safe."""

    @property
    def path(self) -> str: ...

    @property
    def size(self) -> int:
        """The number of bytes that can be read."""
        ...

    def append(self, data: bytes) -> None:
        """Append output. A disk failure sets ``fault`` and ends the file; no error is raised."""
        ...

    @property
    def fault(self) -> str: ...

    def read(self, at: int, most: int) -> bytes: ...

    def finish(self) -> None:
        """Write the buffered output. Nothing may be appended afterwards."""
        ...


def new_output(host: object, name: str) -> OutputFile:
    """Create an output file of a host. Blocks. Raise ToolFailure if the host does not support output files."""
    make = host_part(host, "new_output")
    if make is None:
        raise ToolFailure("This session cannot store output: its host has no output files.")
    made: OutputFile = make(name)
    return made


def processes_of(host: object) -> Processes:
    """Return the interface of a host for processes. Raise ToolFailure if the host does not support processes."""
    found = host_part(host, "processes")
    if not isinstance(found, Processes):
        raise ToolFailure("This session cannot run commands: its host has no processes.")
    return found
