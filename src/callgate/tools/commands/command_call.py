"""One call of Bash: runs the command, waits for it, stops it or moves it to the background, and makes the result."""

import asyncio
import errno
import os
import re
import shutil
from asyncio import CancelledError
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Any

from callgate import shell
from callgate.core.capabilities import host_part
from callgate.core.ports import Run
from callgate.host.beneath import HOLDS_FOLDERS, OpenFolder
from callgate.host.environment import (
    command_environment,
    find_program,
    holds_git_settings,
    quiet_git,
    reading_environment,
    without_credentials,
)
from callgate.host.paths import oddity
from callgate.host.ports import Command, Confinement, GuardLost, HostDecision, Process, processes_of
from callgate.host.processes import end_process
from callgate.host.sandbox.proven_sandbox import ASK_AGAIN
from callgate.host.tasks import BackgroundTask, BackgroundTasks, ending_of, tasks_of
from callgate.host.threads import in_thread, threads_of
from callgate.tools.commands.command_output import MOST_CHARACTERS, MOST_CHARACTERS_OF_ERROR, CommandOutput
from callgate.tools.commands.exit_codes import is_answer, meaning_of
from callgate.tools.session_state import WORKING_FOLDER
from callgate.words.calls import NO_CASCADE, Code, Result
from callgate.words.errors import CallgateError, ToolFailure, in_words
from callgate.words.messages import Text
from callgate.words.noun import noun

_GRACE = 2.0
_MOMENT = 0.1  # seconds
_MOST_HOSTS = 100  # recorded for one command
_LOST = (
    "Outcome unknown: the process that watches the command was killed, perhaps by the command. The command may have "
    "run, completely or in part, and may still be running. Check before repeating it."
)
# Commands that change the folder of a shell, and expansions that may become such a command.
_MAY_MOVE = re.compile(r"[$`{*?\[]|cd|pushd|popd|eval|source|enable|(?:^|[\s;&|(!])\.(?:\s|$)")
_SECRET_KEY = re.compile(r"[.]\w{0,40}(?:token|pass|passwd|password|secret|apikey)(?![\w.])", re.I)
_JOINS = re.compile(r"\\\n|[\\\"']")  # may separate the parts of a word


@noun
class BashSettings:
    """The settings of Bash.

    sandbox           the sandbox for the commands that it accepts; None runs all commands without a sandbox
    background_after  the seconds after which a command is moved to the background instead of being stopped by its
                      timeout
    """

    sandbox: Confinement | None = None
    background_after: float | None = None


class CommandCall:
    """One call of Bash: the command, its process and its output."""

    def __init__(
        self, settings: BashSettings, run: Run, text: str, folder: str, identity: tuple[int, int] | None = None
    ) -> None:
        """
        identity  the device and inode of the working folder when the call arrived
        """
        self._settings = settings
        self._identity = identity
        self._run = run
        self._clock = run.host.clock
        self._text = text
        self._folder = folder
        self._confined = settings.sandbox is not None and settings.sandbox.takes(run.call_id, text)
        self._output = CommandOutput(run.host, f"Bash-{run.call_id}.txt", run.progress)
        self._hosts: list[HostDecision] = []
        self._created: Callable[[bool], Sequence[str]] | None = None
        self._moved_to = ""
        self._tasks: BackgroundTasks | None = host_part(run.host, "tasks")
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def in_background(self) -> Result:
        tasks_of(self._run.host)  # raises before anything is started
        process = await self._start(None)
        if isinstance(process, Result):
            return process
        try:
            task = await self._hand_over(process, outlives=True)
        except BaseException:
            process.kill()
            raise
        return Result(
            (Text(f"Started in the background as {task.id}. {_reading(task)} You will be notified when it ends."),),
            details={"task": task.id},
        )

    async def in_foreground(self, seconds: float) -> Result:
        where = None if _stays(self._text) else _new_pipe_file()
        withdraw = self._tasks and self._tasks.offer(self._run.call_id, partial(self._finish, "moved"))
        try:
            process = await self._start(where)
            if isinstance(process, Result):
                return process
            try:
                return await self._attend(process, seconds, where)
            except GuardLost:
                return await self._result(-1, _LOST, "outcome_unknown")
            except CancelledError:
                await end_process(process, self._clock, _GRACE)
                if not self._run.cancelled:  # the program stops
                    raise
                return await self._result(process.returncode or -1, "", "cancelled_by_user")
            except BaseException:
                process.kill()
                raise
        finally:
            if where is not None:
                os.close(where)
            if withdraw:
                withdraw()

    async def _attend(self, process: Process, seconds: float, where: int | None) -> Result:
        how = await self._until(process, seconds)
        if how == "expired" and process.returncode is not None:  # only its output is still read
            await process.ended()
            how = "ended"
        if how == "moved":
            task = await self._hand_over(process, outlives=True)
            told = f"The command is still running and was moved to the background as {task.id}. {_reading(task)}"
            return Result((Text(told),), details={"task": task.id})
        if how == "expired":
            await end_process(process, self._clock, _GRACE)
            return await self._result(-1, f"The command took longer than {seconds:g} s and was stopped.", "timed_out")
        self._moved_to = "" if where is None else _folder_in(where)
        left = ""
        if process.running:  # child processes may end slightly later
            with suppress(TimeoutError):
                async with asyncio.timeout(_MOMENT):
                    await process.gone()
        if process.running and self._tasks is None:
            await end_process(process, self._clock, _GRACE)
            left = "Processes that the command had started were stopped."
        elif process.running:
            task = await self._hand_over(process, outlives=False)
            left = f"Processes that the command started are still running, as background task {task.id}."
        return await self._result(process.returncode or 0, left)

    async def _start(self, where: int | None) -> Process | Result:
        """Start the command and return its process. Return the result of the call instead if it is unknown whether
        the command started, or if the working folder does not exist; in the latter case the next call uses the
        workspace."""
        keep = f"trap 'pwd -P 2>/dev/null >&{where}' EXIT; " if where is not None else ""
        environment = _environment(tuple(os.environ.items()))
        analysis = shell.analyse(self._text)
        only_reads = shell.effects_of(analysis) == "none"
        if only_reads or _runs_no_project(analysis):
            # A rule for a program of the project means the program that PATH finds first.
            path = {} if shell.runs_project_files(analysis) is None else {"PATH": environment["PATH"]}
            environment = {**reading_environment(environment, self._run.host.normal(".")), **path}
        command = Command(
            (_shell(), "-c", keep + self._text),
            self._folder,
            environment,
            pass_fds=() if where is None else (where,),
        )
        try:
            sandbox = self._settings.sandbox
            if sandbox is not None and not self._confined:
                command = sandbox.outside(command)
            if only_reads:
                command = replace(command, env=quiet_git(command.env))
            if sandbox is not None and self._confined:
                command = await self._wrapped(command, sandbox)
            with self._open_folder() as number:
                command = replace(command, folder_fd=number)
                return await processes_of(self._run.host).start(command, self._output.take)
        except GuardLost:
            return await self._result(-1, _LOST, "outcome_unknown")
        except CallgateError as error:
            raise ToolFailure(f"The command was not run: {error}") from error
        except (FileNotFoundError, NotADirectoryError) as error:
            if error.filename != self._folder:
                raise ToolFailure(f"The command was not run: {error}") from error
            now = self._run.host.normal(".")
            text = (
                f"The command was not run: the working folder {self._folder} was removed or replaced. The working "
                f"folder is now {now}."
            )
            return replace(Result.failed("tool_error", text, effects="none"), context_update={WORKING_FOLDER: None})
        except (OSError, ValueError) as error:
            raise ToolFailure(f"The command was not run: {error}") from error

    @contextmanager
    def _open_folder(self) -> Generator[int | None]:
        """Open the working folder, so that no program can replace it or a folder above it before the command starts.
        Yield None for the workspace, which commands cannot replace. Raise FileNotFoundError if the folder was
        replaced since the call arrived."""
        if not HOLDS_FOLDERS or self._folder == self._run.host.normal("."):
            yield None
            return
        with ExitStack() as stack:
            try:
                number = stack.enter_context(OpenFolder.resolved(self._folder)).descriptor
                found = None if number is None else os.fstat(number)
            except OSError as error:
                raise FileNotFoundError(errno.ENOENT, "", self._folder) from error
            if found is not None and self._identity not in (None, (found.st_dev, found.st_ino)):
                raise FileNotFoundError(errno.ENOENT, "", self._folder)
            yield number

    async def _wrapped(self, command: Command, sandbox: Confinement) -> Command:
        """Return the command that runs inside the sandbox. Looking through a large workspace takes time, so it is done
        in a thread."""
        cancelled: list[bool] = []

        def work() -> Command:
            made = sandbox.wrap(command, self._told)
            self._created = sandbox.watch(self._text)
            return made

        wrapped = await in_thread(work, on_cancel=partial(cancelled.append, True), threads=threads_of(self._run.host))
        if cancelled:
            for number in wrapped.handed_fds:
                os.close(number)
            raise CancelledError
        return wrapped

    async def _created_files(self, *, rename: bool) -> Sequence[str]:
        """Return messages about files that the command created and that the sandbox does not allow. A command that
        only reads creates no files."""
        if self._created is None or shell.effects_of(shell.analyse(self._text)) == "none":
            return ()
        return await in_thread(partial(self._created, rename), threads=threads_of(self._run.host))

    def _told(self, decision: HostDecision) -> None:
        """Record a decision of the sandbox about a host, and report a refused host. Called in the thread of the
        sandbox's proxy."""
        if decision not in self._hosts and len(self._hosts) < _MOST_HOSTS:
            self._hosts.append(decision)
            if not decision.allowed:
                self._run.progress(f"the sandbox blocks {decision.host}: {decision.why}\n")

    def _finish(self, how: str) -> None:
        if not self._over.done():
            self._over.set_result(how)

    async def _until(self, process: Process, seconds: float) -> str:
        """Wait until the process ends, its timeout passes or it is moved to the background, and return which of these
        happened."""
        timers = [self._clock.call_later(seconds, partial(self._finish, "expired"))]
        if self._settings.background_after is not None and self._tasks is not None:
            timers.append(self._clock.call_later(self._settings.background_after, partial(self._finish, "moved")))
        ended = asyncio.ensure_future(process.ended())
        ended.add_done_callback(lambda _: self._finish("ended"))
        try:
            how = await self._over
            if how == "ended":
                ended.result()
            return how
        finally:
            ended.cancel()
            for timer in timers:
                timer.cancel()

    async def _hand_over(self, process: Process, *, outlives: bool) -> BackgroundTask:
        tasks, threads = tasks_of(self._run.host), threads_of(self._run.host)
        task_id = tasks.next_id()
        file = await in_thread(partial(self._output.to_file, f"{task_id}.txt"), threads=threads)
        task = tasks.add(
            task_id,
            "command",
            self._text,
            self._run.lineage[:-2],
            file,
            stop=partial(end_process, process, self._clock, _GRACE),
        )
        place = tasks.record_path(task_id)
        if outlives and place is not None:
            process.outlive(output=file.path, status=str(place.with_suffix(".status")))
            await in_thread(partial(tasks.keep, task, process.guard), threads=threads)

        async def watch() -> None:
            try:
                await process.gone()
                code = process.returncode or 0
                await in_thread(file.finish, threads=threads)
                await in_thread(partial(tasks.note_end, task, code), threads=threads)
                for line in await self._created_files(rename=False):
                    assert self._settings.sandbox is not None
                    self._settings.sandbox.report(line)
            except Exception as error:
                tasks.settle(task, "failed", in_words(error))
            else:
                tasks.settle(task, *ending_of(code))

        tasks.watch(watch())
        return task

    def _shows_git_settings(self) -> bool:
        analysis = shell.analyse(self._text)
        named = shell.named_paths(analysis)
        folder = ".git" in self._folder.split("/")
        return (
            folder
            or analysis.fault is not None
            or shell.prints_addresses(analysis)
            or any(map(holds_git_settings, (*named.reads, *named.writes)))
        )

    async def _result(self, returncode: int, note: str, code: Code = "ok") -> Result:
        meaning = meaning_of(self._text, returncode) if code == "ok" else None
        failed = code != "ok" or (returncode != 0 and meaning is None)
        most = MOST_CHARACTERS_OF_ERROR if failed else MOST_CHARACTERS
        if self._output.size <= most:  # in memory, and short
            text, artifact = self._output.text(most)
        else:
            text, artifact = await in_thread(partial(self._output.text, most), threads=threads_of(self._run.host))
        if ("git" in self._text or ".git" in self._folder) and self._shows_git_settings():
            asks_secret = "config" in self._text and _SECRET_KEY.search(self._text)
            text = "[masked:value]" if asks_secret else without_credentials(text)
        lines = [text.rstrip("\n")] if text else []
        if code == "ok" and returncode:
            ending = f"ended by signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
            lines.append(f"[{ending}{f': {meaning}' if meaning else ''}]")
        if note:
            lines.append(f"[{note}]")
        lines += [f"[{line}]" for line in await self._created_files(rename=True)]
        if failed and self._confined and self._settings.sandbox is not None:
            denied = self._settings.sandbox.denied(self._text, text, returncode, self._hosts)
            lines += [f"[Blocked by the sandbox: {denied}. {ASK_AGAIN}]"] if denied else []
        update = None
        if self._moved_to and self._moved_to != self._folder:
            lines.append(f"[The working folder is now {self._moved_to}]")
            home = self._run.host.normal(".")
            update = {WORKING_FOLDER: None if self._moved_to == home else self._moved_to}
        details: dict[str, Any] = {"folder": self._folder}
        if code in ("ok", "timed_out"):
            details["exit_code"] = returncode
        if self._hosts:
            details["hosts"] = [{"host": each.host, "allowed": each.allowed, "why": each.why} for each in self._hosts]
        if failed:
            details["effects"] = "unknown" if shell.effects_of(shell.analyse(self._text)) != "none" else "none"
            if code == "ok" and is_answer(self._text, returncode):
                details[NO_CASCADE] = True
        return Result(
            content=(Text("\n".join(lines)),) if lines else (),
            is_error=failed,
            code="tool_error" if failed and code == "ok" else code,
            details=details,
            artifacts=() if artifact is None else (artifact,),
            context_update=update,
        )


def _reading(task: BackgroundTask) -> str:
    return f"Its output goes to {task.record.output}: read the output with TaskOutput, stop the task with TaskStop."


@lru_cache(maxsize=2)
def _environment(variables: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return command_environment(dict(variables))


@cache
def _shell() -> str:
    return find_program("bash") or shutil.which("bash") or "/bin/sh"


def _runs_no_project(analysis: shell.Analysis) -> bool:
    """Return True for a command of known programs that run no files of the project. The programs that they start
    (``ssh`` of ``git push``) come from the system."""
    return shell.doubt(analysis) is None and not any(shell.program_names(analysis).values())


def _stays(text: str) -> bool:
    """Return True if the command certainly does not change its working folder. For other commands a trap reports the
    folder. The trap takes 0.1 ms and prevents bash from starting the last command with ``exec``."""
    return _MAY_MOVE.search(_JOINS.sub("", text)) is None


def _new_pipe_file() -> int:
    """Return the descriptor of an unnamed file to which the shell writes its last working folder."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("callgate-folder")
    import tempfile  # macOS has no files in memory

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _folder_in(file: int) -> str:
    """Return the absolute path that the shell wrote, or an empty string. A path that the gate would refuse is
    ignored, because otherwise every later call would need approval, even a call that leaves the folder."""
    said = os.pread(file, 10_000, 0).decode(errors="surrogateescape").removesuffix("\n")
    return said if said.startswith("/") and oddity(said) is None else ""
