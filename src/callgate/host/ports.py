"""The ports of a host for built-in tools, in addition to ``core.ports.Host``: files and processes.

A tool gets them from ``run.host`` with ``files_of`` and ``processes_of``.
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
    """``path`` is the resolved absolute path. ``kind`` is "missing" if it does not exist."""

    path: str
    kind: PathKind
    size: int = 0


@noun
class FolderEntry:
    """A name in a folder. The kind of a link is "other"."""

    name: str
    kind: PathKind
    size: int = 0


class Files(Protocol):
    """Reads files and folders; writes go through ``Host.apply``. Relative paths start at the workspace.

    Links are followed inside the workspace. A path that leaves the workspace over a link is refused: a file outside
    must be named by its own path, so that the gate judges the path that is opened. The resolved path is opened one
    component at a time without following links, so that it cannot be redirected in between.

    All methods block: call them from a worker thread, in which plain functions that are tools run anyway. ToolFailure
    is the only exception.
    """

    @property
    def on_disk(self) -> bool:
        """True if programs started by the host see the same files."""
        ...

    def status(self, path: str) -> FileStatus: ...

    def read(self, path: str, most: int) -> bytes:
        """Return the whole file. ToolFailure if it has more than ``most`` bytes."""
        ...

    def entries(self, path: str) -> list[FolderEntry]:
        """Return the names in a folder, sorted by code point."""
        ...


def files_of(host: object) -> Files:
    """Return the files of a host. ToolFailure if it has none."""
    found: Files | None = host_part(host, "files")
    if not hasattr(found, "entries"):  # an isinstance check of the protocol takes longer than reading a file
        raise ToolFailure("This session has no files: its host offers none.")
    return cast(Files, found)


def too_large(path: str, size: int, most: int) -> ToolFailure:
    return ToolFailure(f"{path} is too large: {size:,} bytes, and at most {most:,} are read at once.")


@noun
class Command:
    """A program with its input. A sandbox converts one Command into another.

    stdin       the input, followed by its end
    pass_fds    open descriptors, passed under the same numbers
    handed_fds  like ``pass_fds``, but closed here after the start, successful or not
    input_fd    the standard input in place of ``stdin``; closed here after the start
    output_fd   the standard output; closed here after the start. ``out`` then receives standard error
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=nothing)
    stdin: bytes = b""
    pass_fds: tuple[int, ...] = ()
    handed_fds: tuple[int, ...] = ()
    input_fd: int | None = None
    output_fd: int | None = None


class Process(Protocol):
    """A started program and its child processes: the process tree. Cancelling a wait does not affect the program."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None:
        """The exit code; negative for a signal, None while the program runs."""
        ...

    @property
    def running(self) -> bool:
        """True while any process of the tree runs."""
        ...

    async def ended(self) -> int:
        """Wait for the exit of the program and the end of its output, and return the exit code. If other processes keep
        the output open, wait for one more second."""
        ...

    async def gone(self) -> None:
        """Wait until the whole tree has ended and all output was delivered."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM to every process of the tree."""
        ...

    def kill(self) -> None:
        """Kill every process of the tree."""
        ...

    def outlive(self, *, output: str, status: str) -> None:
        """Let the tree continue if Callgate is killed. Further output is appended to the file ``output``; at the end,
        ``code`` and ``ended`` are written to the file ``status`` as JSON."""
        ...

    @property
    def guard(self) -> int:
        """The pid of the guard process of the tree. A SIGTERM to it ends the tree."""
        ...


@runtime_checkable
class Processes(Protocol):
    """Starts programs, each in its own session. If Callgate is killed, their trees are ended."""

    async def start(self, command: Command, out: Sink, err: Sink | None = None) -> Process:
        """Start a program. OSError if that fails; a cancel leaves no process.

        Without ``err`` both outputs go to ``out``, in the order in which they are written.
        """
        ...


@noun
class HostDecision:
    """A decision of the sandbox's proxy about a host. ``why`` is the reason for a refusal, or for a failure."""

    host: str
    allowed: bool
    why: str = ""


class Confinement(Protocol):
    """A sandbox with its profile, for the commands of a host."""

    def takes(self, call_id: str, text: str) -> bool:
        """Return True if the command of this call runs inside the sandbox, as decided when the call was judged."""
        ...

    def wrap(self, command: Command, on_decision: Callable[[HostDecision], None]) -> Command:
        """Return the command that runs ``command`` inside the sandbox. ToolFailure or another error if that is not
        possible.

          tell  called in any thread with each decision about a host, before the command gets it
        """
        ...

    def denied(self, text: str, output: str, returncode: int, hosts: Sequence[HostDecision]) -> object | None:
        """Return the refused access that made a command fail, or None. ``str`` of it is a description.

        hosts  the decisions of the proxy for this command
        """
        ...


class OutputFile(Protocol):
    """A growing file of a host: the output of a command. Blocks; usable from any thread."""

    @property
    def path(self) -> str: ...

    @property
    def size(self) -> int:
        """The number of readable bytes."""
        ...

    def append(self, data: bytes) -> None:
        """Append output. A disk failure ends the file and sets ``fault``; it is not raised."""
        ...

    @property
    def fault(self) -> str: ...

    def read(self, at: int, most: int) -> bytes: ...

    def finish(self) -> None:
        """Write the buffered end of the output. Nothing can be appended afterwards."""
        ...


def new_output(host: object, name: str) -> OutputFile:
    """Create an output file of a host. Blocks. ToolFailure if the host does not support it."""
    make = host_part(host, "new_output")
    if make is None:
        raise ToolFailure("This session keeps no output: its host offers no files for it.")
    made: OutputFile = make(name)
    return made


def processes_of(host: object) -> Processes:
    """Return the processes of a host. ToolFailure if it has none."""
    found = host_part(host, "processes")
    if not isinstance(found, Processes):
        raise ToolFailure("This session cannot start programs: its host offers no processes.")
    return found
