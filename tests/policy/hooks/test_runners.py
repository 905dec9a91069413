"""Asking one hook: what it is told, what it runs in, and what becomes of one that goes wrong."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from callgate.host.clock import LoopClock
from callgate.testing import ManualClock, settle
from callgate.words.decisions import Allow, Deny
from tests.policy.hooks.kit import Bench, as_json, case_of, command, hook, permission, saying


def judged(bench: Bench, case: Any = None) -> Any:
    return asyncio.run(bench.before(case))


# ---- commands -----------------------------------------------------------------------------------------------------


def test_a_command_is_told_what_happens_on_stdin(tmp_path: Path) -> None:
    judged(Bench(command("cat > told"), root=tmp_path), case_of(mode="plan", command="ls é"))
    assert json.loads((tmp_path / "told").read_text()) == {
        "session_id": "s1",
        "transcript_path": "/t/s1.jsonl",
        "cwd": str(tmp_path),
        "hook_event_name": "PreToolUse",
        "permission_mode": "plan",
        "tool_name": "Bash",
        "tool_input": {"command": "ls é"},
        "tool_use_id": "call_1",
    }


def test_a_command_is_a_command_line(tmp_path: Path) -> None:
    line = "read -r told; case $told in *push*) echo no pushing >&2 && exit 2;; esac; true | cat"
    bench = Bench(command(line), root=tmp_path)
    assert judged(bench).decision.reason == "no pushing"
    assert judged(bench, case_of(command="ls")).decision is None
    assert bench.noted == []


def test_a_command_runs_in_the_project_with_an_environment_without_secrets(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "LANG": "C", "MY_TOKEN": "hush", "CALLGATE_EVENT": "other"}
    line = 'pwd; echo "$CALLGATE_PROJECT_DIR|$CALLGATE_EVENT|$LANG|$MY_TOKEN"'
    bench = Bench(command(line), root=tmp_path, environ=environ)
    judged(bench)
    (noted,) = bench.noted
    place = 'hook PreToolUse pwd; echo "$CALLGATE_PROJECT_DIR|$CALLGATE_EVENT|$LANG|$M...'
    root = str(tmp_path)
    assert noted.text == f"{place} (user, settings.toml:1): {tmp_path.resolve()}\n{root}|PreToolUse|C|"
    assert noted.level == "info"


def test_the_environment_is_that_of_the_program_unless_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARKED", "yes")
    monkeypatch.setenv("MARKED_TOKEN", "hush")
    bench = Bench(command('echo "$MARKED|$MARKED_TOKEN"'), root=tmp_path)
    judged(bench)
    assert bench.said[0].endswith(": yes|")


@pytest.mark.spec("HOOK-4")
def test_a_hook_has_a_minute_unless_it_is_given_another_time(tmp_path: Path) -> None:
    async def main(limit: float, **more: Any) -> None:
        clock = ManualClock()
        bench = Bench(command("exec 3<>never; read _ <&3", **more), root=tmp_path, clock=clock)
        task = asyncio.create_task(bench.before())
        await settle()
        assert clock.next_timer == limit
        clock.advance(limit)
        await task
        assert bench.warnings[0].endswith(f"took longer than {limit:g} s")
        assert clock.next_timer is None

    os.mkfifo(tmp_path / "never")
    asyncio.run(main(60))
    asyncio.run(main(2.5, timeout=2.5))


@pytest.mark.spec("HOOK-4")
def test_a_timeout_ends_all_a_command_started(tmp_path: Path) -> None:
    async def main() -> None:
        clock = ManualClock()
        line = "exec 3<>never 9>life; setsid sh -c 'read _ <&3' & (read _ <&3) & echo >&9; wait"
        bench = Bench(command(line, fail_closed=True), root=tmp_path, clock=clock)
        task = asyncio.create_task(bench.before())
        life = await asyncio.to_thread(os.open, tmp_path / "life", os.O_RDONLY)
        assert await asyncio.to_thread(os.read, life, 1)
        clock.advance(60)
        assert isinstance((await task).decision, Deny)
        assert await asyncio.to_thread(os.read, life, 1) == b""
        os.close(life)

    for name in ("never", "life"):
        os.mkfifo(tmp_path / name)
    asyncio.run(main())


def test_a_cancel_ends_a_command(tmp_path: Path) -> None:
    async def main() -> None:
        bench = Bench(command("exec 3<>never 9>life; echo >&9; read _ <&3"), command("read _ <never"), root=tmp_path)
        task = asyncio.create_task(bench.before())
        life = await asyncio.to_thread(os.open, tmp_path / "life", os.O_RDONLY)
        assert await asyncio.to_thread(os.read, life, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert os.read(life, 1) == b""
        os.close(life)
        assert bench.noted == []

    for name in ("never", "life"):
        os.mkfifo(tmp_path / name)
    asyncio.run(main())


def test_a_command_that_talks_without_end_does_not_hang(tmp_path: Path) -> None:
    bench = Bench(command("head -c 5000000 /dev/zero"), root=tmp_path)
    judged(bench)
    assert bench.warnings[0].endswith("wrote too much output")


def test_a_folder_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    bench = Bench(command("true", fail_closed=True), root=tmp_path / "gone")
    assert isinstance(judged(bench).decision, Deny)
    assert "failed: FileNotFoundError: " in bench.warnings[0]


def test_a_system_without_processes_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    bench = Bench(command("true"), root=tmp_path)
    assert judged(bench).decision is None
    text = "cannot be run: programs can be run on Linux and macOS, not on this system"
    assert bench.warnings[0].endswith(text)


# ---- Python -------------------------------------------------------------------------------------------------------


def test_a_function_gets_a_copy_in_a_thread_of_its_own() -> None:
    seen: list[Any] = []

    def f(told: dict[str, Any]) -> None:
        seen.extend((threading.current_thread(), told["tool_input"]["command"]))
        told["tool_input"]["command"] = "other"

    case = case_of()
    hooked = judged(Bench(hook("f"), f=f), case)
    assert (hooked.decision, hooked.arguments) == (None, None)
    assert case.arguments == {"command": "git push"}
    assert seen[0] is not threading.main_thread()
    assert seen[1] == "git push"


class Checker:
    async def __call__(self, told: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return permission("allow", told["tool_name"])


async def decide(told: dict[str, Any], word: str = "allow") -> Mapping[str, Any]:
    return MappingProxyType(permission(word, told["tool_name"]))


@pytest.mark.parametrize(
    "function",
    [lambda told: permission("allow", told["tool_name"]), decide, Checker(), partial(decide, word="allow")],
    ids=["plain", "async", "object", "partial"],
)
def test_a_function_may_be_anything_that_is_called_and_may_be_waited_for(function: Any) -> None:
    hooked = judged(Bench(hook("f"), f=function))
    assert isinstance(hooked.decision, Allow)
    assert hooked.decision.reason == "Bash"


def test_an_async_function_runs_on_the_loop() -> None:
    seen: list[Any] = []

    async def f(told: dict[str, Any]) -> None:
        seen.append(threading.current_thread())

    judged(Bench(hook("f"), f=f))
    assert seen == [threading.main_thread()]


def test_a_function_is_found_by_its_module_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_up_hooks.py").write_text(
        "import threading\n"
        "imported_by = threading.current_thread()\n"
        "class Deep:\n"
        "    @staticmethod\n"
        "    def check(told):\n"
        "        return {'decision': 'block', 'reason': told['tool_name']}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        hooked = judged(Bench(hook("made_up_hooks:Deep.check")))
        assert hooked.decision.reason == "Bash"
        assert sys.modules["made_up_hooks"].imported_by is not threading.main_thread()
    finally:
        sys.modules.pop("made_up_hooks", None)


def test_a_function_given_in_code_comes_before_a_module() -> None:
    functions: dict[str, Any] = {"os:getcwd": saying(decision="block", reason="mine")}
    bench = Bench(hook("os:getcwd"), **functions)
    assert judged(bench).decision.reason == "mine"


def raises(error: BaseException) -> Any:
    def function(told: Any) -> None:
        raise error

    return function


async def cancels_itself(told: Any) -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("target", "function", "why"),
    [
        ("f", raises(ValueError("bad")), "failed: ValueError: bad"),
        ("f", raises(SystemExit(2)), "failed: SystemExit: 2"),
        ("f", raises(asyncio.CancelledError()), "cancelled itself"),
        ("f", cancels_itself, "cancelled itself"),
        ("f", lambda told: "deny", "returned str instead of a dict or None"),
        ("f", lambda told: ["deny"], "returned list instead of a dict or None"),
        ("f", lambda told: True, "returned bool instead of a dict or None"),
        ("f", lambda told: {"decision": {1, 2}}, "returned a value that is not JSON"),
        ("f", lambda told: {"a": float("nan")}, "returned a value that is not JSON"),
        (
            "f",
            lambda told: {"decision": "deny"},
            "returned an invalid answer: decision must be one of block, approve",
        ),
        (
            "no_such_module:f",
            None,
            "failed: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        (
            "os:no_such_name",
            None,
            "failed: AttributeError: module 'os' has no attribute 'no_such_name'",
        ),
        ("os:sep", None, "failed: TypeError: os:sep cannot be called"),
    ],
)
@pytest.mark.parametrize("fail_closed", [False, True])
@pytest.mark.spec("HOOK-2")
def test_a_function_that_goes_wrong_is_a_failure(target: str, function: Any, why: str, fail_closed: bool) -> None:
    functions = {} if function is None else {target: function}
    bench = Bench(hook(target, fail_closed=fail_closed), **functions)
    decision = judged(bench).decision
    (text,) = bench.warnings
    assert text == f"hook PreToolUse {target} (user, settings.toml:1) {why}"
    if fail_closed:
        assert isinstance(decision, Deny)
        assert decision.reason.endswith("and fail_closed = true denies the call")
    else:
        assert decision is None


def test_what_a_function_gives_back_too_deep_is_a_failure() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    bench = Bench(hook("f"), f=lambda told: deep)
    judged(bench)
    assert bench.warnings[0].endswith("returned a value that is not JSON")


def test_a_keyboard_interrupt_is_not_a_failure_of_the_hook() -> None:
    async def f(told: Any) -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        # It leaves through the loop, past the task; which is then said to have failed unseen.
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        await Bench(hook("f"), f=f).before()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())


@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_a_function_that_is_stuck_in_its_thread_is_left_behind(how: str) -> None:
    let_go, inside = threading.Event(), threading.Event()

    def stuck(told: Any) -> None:
        inside.set()
        let_go.wait(30)

    async def main() -> None:
        clock = ManualClock()
        bench = Bench(hook("f", timeout=3), hook("g"), clock=clock, f=stuck, g=saying(decision="block", reason="no"))
        task = asyncio.create_task(bench.before())
        assert await asyncio.to_thread(inside.wait, 30)
        if how == "timeout":
            clock.advance(3)
            assert (await task).decision.reason == "no"
            assert bench.warnings == ["hook PreToolUse f (user, settings.toml:1) took longer than 3 s"]
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert bench.noted == []
        assert clock.next_timer is None

    asyncio.run(main())
    let_go.set()


def test_an_async_function_may_clean_up_when_its_time_is_over_and_says_nothing_any_more() -> None:
    cleaned: list[str] = []

    async def f(told: Any) -> dict[str, Any]:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            cleaned.append("yes")
        return permission("allow")

    async def main() -> None:
        clock = ManualClock()
        bench = Bench(hook("f", timeout=3), clock=clock, f=f)
        task = asyncio.create_task(bench.before())
        await settle()
        clock.advance(3)
        assert (await task).decision is None
        assert bench.warnings[0].endswith("took longer than 3 s")
        assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]

    asyncio.run(main())
    assert cleaned == ["yes"]


def test_on_a_real_clock_too(tmp_path: Path) -> None:
    lines = (command(f"echo '{as_json(permission('ask', 'a'))}'"), command("read _ < never", timeout=0.05))
    os.mkfifo(tmp_path / "never")
    bench = Bench(*lines, root=tmp_path, clock=LoopClock())
    assert judged(bench).decision.reason == "a"
    assert len(bench.warnings) == 1
