"""The ports of a host that built-in tools use, beyond ``core.ports.Host``: the files and the processes of its
machine.

A tool reaches them from ``run.host`` with ``files_of`` and ``processes_of``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol, cast, runtime_checkable

from callgate.core.capabilities import host_part
from callgate.words.errors import ToolFailure
from callgate.words.noun import nothing, noun
from callgate.words.resolved_path import PathKind

Sink = Callable[[bytes], None]
"""Takes the pieces of an output in order, in a thread of its own; until it returns, the program waits."""


@noun
class FileStatus:
    """``path`` is the one absolute spelling of the place, links followed. ``kind`` is "missing" where nothing is."""

    path: str
    kind: PathKind
    size: int = 0


@noun
class FolderEntry:
    """A name in a folder. A link is not followed: its kind is "other"."""

    name: str
    kind: PathKind
    size: int = 0


class Files(Protocol):
    """Reads files and folders; writes go through ``Host.apply``. Relative paths start at the workspace.

    Links are followed as long as they stay in the workspace. A path that leaves it over a link is refused: what is
    outside must be named by its own path, so that the gate judged the very place that is opened. What was resolved is
    opened part by part without following links, so that a swap in between cannot lead elsewhere.

    All methods block: call them from a worker thread, as plain functions that are tools run in one. ToolFailure says
    in words what is wrong with a path; nothing else is raised.
    """

    @property
    def on_disk(self) -> bool:
        """True if the programs that the host starts see the same files."""
        ...

    def status(self, path: str) -> FileStatus: ...

    def read(self, path: str, most: int) -> bytes:
        """The whole file; ToolFailure if it has more than ``most`` bytes."""
        ...

    def entries(self, path: str) -> list[FolderEntry]:
        """The names in a folder in the order of their code points."""
        ...


def files_of(host: object) -> Files:
    """The files of a host; ToolFailure where it has none."""
    found: Files | None = host_part(host, "files")
    if not hasattr(found, "entries"):  # a look at each member takes longer than to read a file
        raise ToolFailure("This session has no files: its host offers none.")
    return cast(Files, found)


def too_large(path: str, size: int, most: int) -> ToolFailure:
    return ToolFailure(f"{path} is too large: {size:,} bytes, and at most {most:,} are read at once.")


@noun
class Command:
    """A program with all that it gets: a sandbox turns one Command into another. After ``stdin`` the program reads the
    end of its input. ``pass_fds`` are open descriptors that it gets under the same numbers. So are ``handed_fds``, and
    these are closed here once it has them, or could not be started; and so are ``input_fd``, which it reads instead of
    ``stdin``, and ``output_fd``, to which it writes its standard output: ``out`` then gets standard error."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=nothing)
    stdin: bytes = b""
    pass_fds: tuple[int, ...] = ()
    handed_fds: tuple[int, ...] = ()
    input_fd: int | None = None
    output_fd: int | None = None


class Process(Protocol):
    """A program that was started, with everything it started in its turn: the tree. Waiting may be cancelled and
    repeated; that changes nothing about the program."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None:
        """Negative for a signal; None while the program itself runs."""
        ...

    @property
    def running(self) -> bool:
        """True while anything of the tree runs."""
        ...

    async def ended(self) -> int:
        """Waits for the end of the program itself and of its output, and gives its code. Others of the tree that hold
        the output open are waited for a second, and may still run then."""
        ...

    async def gone(self) -> None:
        """Waits until nothing of the tree is left and all of its output was handed over."""
        ...

    def terminate(self) -> None:
        """Tells every process of the tree to end, wherever it has moved."""
        ...

    def kill(self) -> None:
        """Ends every process of the tree."""
        ...

    def outlive(self, *, output: str, status: str) -> None:
        """The tree may go on if Callgate is killed. The rest of its output is then appended to the file ``output``, and
        its end is written to the file ``status``, JSON with ``code`` and ``ended``."""
        ...

    @property
    def guard(self) -> int:
        """The number of the process that watches a tree which outlives Callgate: a SIGTERM to it ends the tree."""
        ...


@runtime_checkable
class Processes(Protocol):
    """Starts programs, each in a session of its own. If Callgate is killed their trees end too."""

    async def start(self, command: Command, out: Sink, err: Sink | None = None) -> Process:
        """Without ``err`` both outputs go to ``out``, in the order they were written. OSError when the program cannot
        be started; a cancel leaves nothing behind."""
        ...


@noun
class HostDecision:
    """The answer of a sandbox's proxy to a command that wanted to reach a host; ``why`` not, or why in vain."""

    host: str
    allowed: bool
    why: str = ""


class Confinement(Protocol):
    """A sandbox with its profile, for commands of this host."""

    def takes(self, call_id: str, text: str) -> bool:
        """True if the shell command of this call runs inside, as was settled when the call was judged."""
        ...

    def wrap(self, command: Command, tell: Callable[[HostDecision], None]) -> Command:
        """The command that runs ``command`` inside. ``tell`` is called, in any thread, with every host that it wants to
        reach, where some may be reached; each decision comes before the command knows it. It raises ToolFailure, or
        another error that says why, where that cannot be done: the command is then not run."""
        ...

    def denied(self, text: str, output: str, returncode: int, hosts: Sequence[HostDecision]) -> object | None:
        """The access that the sandbox refused and that made the shell command fail, in words as ``str`` gives them;
        None if it was not that. ``hosts`` are those that it wanted to reach."""
        ...


class OutputFile(Protocol):
    """A file of a host that grows: the output of a command. Blocking, usable from any thread."""

    @property
    def path(self) -> str: ...

    @property
    def size(self) -> int:
        """The bytes that can be read so far."""
        ...

    def append(self, data: bytes) -> None:
        """A failure of the disk is not raised: it ends the file, and ``fault`` says why."""
        ...

    @property
    def fault(self) -> str: ...

    def read(self, at: int, most: int) -> bytes: ...

    def finish(self) -> None:
        """Nothing more is appended; what was held back until the end of a line is written."""
        ...


def new_output(host: object, name: str) -> OutputFile:
    """A new output file of a host, named after ``name``. Blocking. ToolFailure where the host keeps none."""
    make = host_part(host, "new_output")
    if make is None:
        raise ToolFailure("This session keeps no output: its host offers no files for it.")
    made: OutputFile = make(name)
    return made


def processes_of(host: object) -> Processes:
    """The processes of a host; ToolFailure where it has none."""
    found = host_part(host, "processes")
    if not isinstance(found, Processes):
        raise ToolFailure("This session cannot start programs: its host offers no processes.")
    return found
