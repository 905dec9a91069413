"""Runs one hook: a command, a Python function or a POST request. An error in a hook is returned as a HookFailure, never
raised.

Requests follow no redirects. Unencrypted requests are only sent to addresses of this machine.
"""

import json
from asyncio import CancelledError, Task, current_task, get_running_loop
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import isawaitable, iscoroutinefunction
from ipaddress import ip_address
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from callgate.core.ports import Clock
from callgate.host.host_addresses import HttpTarget, system_addresses, target_of
from callgate.host.processes import run_process
from callgate.host.threads import in_thread
from callgate.policy.entries import IN_REPOSITORY, HookLine
from callgate.policy.hooks.hook_answers import LARGEST, read_exit, read_json
from callgate.policy.hooks.hook_protocol import SILENT, HookAnswer, HookFailure
from callgate.policy.setting_kinds import CALLABLE
from callgate.policy.settings_commands import SettingsCommands
from callgate.words.errors import UsageError, in_words
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.host.http_client import HttpClient

Function = Callable[[dict[str, Any]], object]
"""A hook in Python. It receives the event as a dict and returns the answer as a dict with the fields of the JSON
answer, or None. The function may be async."""


@noun
class HookEnvironment:
    """The environment of a hook.

    functions  the Python hooks registered in code, by name
    commands   places the commands of hooks inside or outside the sandbox
    """

    root: str
    clock: Clock
    environ: Mapping[str, str]
    functions: Mapping[str, Function]
    commands: SettingsCommands | None = None


def is_from_repository(line: HookLine) -> bool:
    return line.origin.layer in IN_REPOSITORY


def target_fault(line: HookLine, functions: Mapping[str, Function]) -> str | None:
    """Return why the hook can never run, or None."""
    if line.kind == "python" and line.target not in functions:
        try:
            CALLABLE.read(line.target)
        except ValueError:
            return f"a Python hook must be module:function, not {line.target!r}"
    elif line.kind == "http":
        try:
            parse_address(line.target)
        except ValueError as error:
            return str(error)
    elif line.kind == "command" and (not line.target.strip() or "\0" in line.target):
        return "the command is empty"
    return None


async def ask(line: HookLine, payload: bytes, around: HookEnvironment) -> HookAnswer | HookFailure:
    """Run the hook and return its answer. Must be called in a separate task, because the task is cancelled at the
    timeout."""
    task = cast("Task[Any]", current_task())
    expired = False

    def expire() -> None:
        nonlocal expired
        expired = True
        task.cancel()

    # the timeout of a command leaves it time to clean up
    timer = None if line.kind == "command" else around.clock.call_later(line.timeout, expire)
    try:
        answer = await _RUN[line.kind](line, payload, around)
    except CancelledError:
        if not expired and task.cancelling():
            raise
        answer = HookFailure("cancelled itself")
    except KeyboardInterrupt:
        raise
    except UsageError as error:
        answer = HookFailure("cannot be run", str(error))
    except BaseException as error:  # a function may raise anything, also SystemExit
        answer = HookFailure("failed", in_words(error))
    finally:
        if timer is not None:
            timer.cancel()
    return _late(line) if expired else answer


def _late(line: HookLine) -> HookFailure:
    return HookFailure(f"took longer than {line.timeout:g} s")


async def _command(line: HookLine, payload: bytes, around: HookEnvironment) -> HookAnswer | HookFailure:
    event, commands = line.event, around.commands
    done = await run_process(
        ["/bin/sh", "-c", line.target],
        cwd=around.root,
        env={**around.environ, "CALLGATE_PROJECT_DIR": around.root, "CALLGATE_EVENT": event},
        clock=around.clock,
        stdin=payload,
        timeout=line.timeout,
        limit=LARGEST,
        place=None
        if commands is None
        else partial(commands.place, line.target, from_repository=is_from_repository(line)),
    )
    return _late(line) if done.timed_out else read_exit(event, done)


async def _python(line: HookLine, payload: bytes, around: HookEnvironment) -> HookAnswer | HookFailure:
    function = around.functions.get(line.target)
    if function is None:
        function = await _aside(partial(_imported, line.target))
    told: dict[str, Any] = json.loads(payload)  # a copy: changes by the function have no effect
    said = function(told) if iscoroutinefunction(function) else await _aside(partial(function, told))
    if isawaitable(said):
        said = await said
    if said is None:
        return SILENT
    if not isinstance(said, Mapping):
        return HookFailure(f"returned {type(said).__name__} instead of a dict or None")
    try:
        text = json.dumps(dict(cast("Mapping[str, Any]", said)), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return HookFailure("returned a value that is not JSON")
    return read_json(line.event, text)


def _imported(target: str) -> Function:
    module, _, name = target.partition(":")
    function = attrgetter(name)(import_module(module))
    if not callable(function):
        raise TypeError(f"{target} cannot be called")
    return cast(Function, function)


async def _http(line: HookLine, payload: bytes, around: HookEnvironment) -> HookAnswer | HookFailure:
    from callgate.host.http_client import HttpClient  # loads http.client and ssl

    client = HttpClient(most=LARGEST, silent_seconds=line.timeout, connect_seconds=line.timeout)
    return await _aside(partial(post, client, parse_address(line.target), line.event, payload), client.stop)


async def _aside(work: Callable[[], Any], stop: Callable[[], None] | None = None) -> Any:
    """Run ``work`` in a thread and return its result. Cancellation calls ``stop`` and does not wait for the thread."""
    task = cast("Task[Any]", current_task())

    def leave() -> None:
        if stop is not None:
            stop()
        get_running_loop().call_soon(task.cancel)  # the second cancel does not wait for the thread

    return await in_thread(work, on_cancel=leave)


_RUN = {"command": _command, "python": _python, "http": _http}


def parse_address(text: str) -> HttpTarget:
    """Parse the URL of a hook. Raise ValueError if the URL is not accepted."""
    if any(ord(character) <= 32 or ord(character) >= 127 for character in text):
        raise ValueError("a URL must be ASCII without blanks")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("a URL must begin with https:// (or http:// on this machine) and a host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL must not contain a user or password")
    if parts.scheme == "http" and not _on_this_machine(parts.hostname):
        raise ValueError("http is allowed only for this machine (localhost, 127.0.0.1, [::1]); use https")
    return target_of(text)


def _on_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def shown_address(target: HttpTarget) -> str:
    """Return the URL without its query, which may contain a secret."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{'https' if target.secure else 'http'}://{host}:{target.port}{target.path.partition('?')[0]}"


def post(client: "HttpClient", target: HttpTarget, event: str, body: bytes) -> HookAnswer | HookFailure:
    """Send a POST request and return the answer. Blocks; ``client.stop`` aborts the request from any thread."""
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "callgate"}

    def addresses(name: str, port: int) -> Sequence[str]:
        found = system_addresses(name, port)
        if not target.secure and not all(map(_on_this_machine, found)):
            raise _Elsewhere
        return found

    try:
        answer = client.send(target, headers, method="POST", body=body, addresses=addresses, reads_body=_is_success)
    except _Elsewhere:
        return HookFailure("is not on this machine, so requests must use https")
    except TimeoutError:
        return HookFailure("did not answer before the timeout")
    except OSError as error:
        return HookFailure("could not be reached", type(error.__cause__ or error).__name__)
    if not _is_success(answer.status):
        return HookFailure(f"answered with status {answer.status}")
    if answer.cut:
        return HookFailure("returned too much data")
    return read_json(event, answer.body) if answer.body.strip() else SILENT


class _Elsewhere(Exception):
    """The name of a host resolves to another machine."""


def _is_success(status: int, headers: object = None) -> bool:
    return 200 <= status < 300
