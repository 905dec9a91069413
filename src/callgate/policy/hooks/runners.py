"""Asks one hook: a command, a Python function or an address. A failure is a HookFailure, never an exception."""

import json
from asyncio import CancelledError, Task, current_task, get_running_loop
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from inspect import isawaitable, iscoroutinefunction
from operator import attrgetter
from typing import Any, cast

from callgate.core.ports import Clock
from callgate.host.processes import run_process
from callgate.host.threads import in_thread
from callgate.policy.entries import HookLine
from callgate.policy.hooks.hook_address import Post, parse_address
from callgate.policy.hooks.hook_answers import LARGEST, read_exit, read_json
from callgate.policy.hooks.hook_protocol import SILENT, HookAnswer, HookFailure
from callgate.policy.setting_kinds import CALLABLE
from callgate.words.errors import UsageError, in_words
from callgate.words.noun import noun

Function = Callable[[dict[str, Any]], object]
"""A hook in Python: takes what happened, gives the answer as a dict like the JSON, or None; may be async."""


@noun
class Surroundings:
    """The surroundings of a hook. ``functions`` are those given in code, by the names that hooks call them."""

    root: str
    clock: Clock
    environ: Mapping[str, str]
    functions: Mapping[str, Function]


def target_fault(line: HookLine, functions: Mapping[str, Function]) -> str | None:
    """The reason why this hook can never be asked."""
    if line.kind == "python" and line.target not in functions:
        try:
            CALLABLE.read(line.target)
        except ValueError:
            return f"a Python hook is written module:function, not {line.target!r}"
    elif line.kind == "http":
        try:
            parse_address(line.target)
        except ValueError as error:
            return str(error)
    elif line.kind == "command" and (not line.target.strip() or "\0" in line.target):
        return "there is no command to run"
    return None


async def ask(line: HookLine, payload: bytes, around: Surroundings) -> HookAnswer | HookFailure:
    """The hook's answer. Belongs into a task of its own: that is cancelled when the time is over."""
    task = cast("Task[Any]", current_task())
    expired = False

    def expire() -> None:
        nonlocal expired
        expired = True
        task.cancel()

    # A command is ended by its own limit, which leaves it time to clean up.
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
    except BaseException as error:  # a function may raise anything, SystemExit too
        answer = HookFailure("failed", in_words(error))
    finally:
        if timer is not None:
            timer.cancel()
    return _late(line) if expired else answer


def _late(line: HookLine) -> HookFailure:
    return HookFailure(f"took longer than {line.timeout:g} s")


async def _command(line: HookLine, payload: bytes, around: Surroundings) -> HookAnswer | HookFailure:
    event = line.event
    done = await run_process(
        ["/bin/sh", "-c", line.target],
        cwd=around.root,
        env={**around.environ, "CALLGATE_PROJECT_DIR": around.root, "CALLGATE_EVENT": event},
        clock=around.clock,
        stdin=payload,
        timeout=line.timeout,
        limit=LARGEST,
    )
    return _late(line) if done.timed_out else read_exit(event, done)


async def _python(line: HookLine, payload: bytes, around: Surroundings) -> HookAnswer | HookFailure:
    function = around.functions.get(line.target)
    if function is None:
        function = await _aside(partial(_imported, line.target))
    told: dict[str, Any] = json.loads(payload)  # a copy of its own: what it does to it changes nothing
    said = function(told) if iscoroutinefunction(function) else await _aside(partial(function, told))
    if isawaitable(said):
        said = await said
    if said is None:
        return SILENT
    if not isinstance(said, Mapping):
        return HookFailure(f"gave back {type(said).__name__} instead of a dict or None")
    try:
        text = json.dumps(dict(cast("Mapping[str, Any]", said)), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return HookFailure("gave back something that is not JSON")
    return read_json(line.event, text)


def _imported(target: str) -> Function:
    module, _, name = target.partition(":")
    function = attrgetter(name)(import_module(module))
    if not callable(function):
        raise TypeError(f"{target} cannot be called")
    return cast(Function, function)


async def _http(line: HookLine, payload: bytes, around: Surroundings) -> HookAnswer | HookFailure:
    post = Post(parse_address(line.target), line.event, payload, line.timeout)
    return await _aside(post.send, post.stop)


async def _aside(work: Callable[[], Any], stop: Callable[[], None] | None = None) -> Any:
    """Run in a thread; a cancel tells it to stop and does not wait for that: it may never come."""
    task = cast("Task[Any]", current_task())

    def leave() -> None:
        if stop is not None:
            stop()
        get_running_loop().call_soon(task.cancel)  # the second cancel is the one that does not wait

    return await in_thread(work, on_cancel=leave)


_RUN = {"command": _command, "python": _python, "http": _http}
