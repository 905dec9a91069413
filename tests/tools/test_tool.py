"""The decorator, traits, previews and the ways a function is called. No executor here: a small fake Run."""

import asyncio
import inspect
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import AfterValidator

from callgate.core.ports import Host, Run, Tool
from callgate.host.threads import Threads
from callgate.tools.author_functions import Progress
from callgate.tools.tool import FunctionTool, schema_tool, tool
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Choice
from callgate.words.errors import ToolDefinitionError, ToolFailure
from callgate.words.messages import Text
from callgate.words.traits import Traits, exclusive, reads, shared, workspace, writes
from tests.rows import rows
from tests.tools.fake_run import FakeRun


@tool(effects="none")
async def read_lines(path: Path, limit: int = 2000) -> str:
    """Read a text file.

    Args:
        path: Which file.
    """
    return f"{path} {limit}"


def read(made: Tool, **arguments: Any) -> Mapping[str, Any]:
    outcome = made.read(json.dumps(arguments))
    assert isinstance(outcome, Accepted), outcome
    return outcome.arguments


def call(made: Tool, run: FakeRun | None = None, **arguments: Any) -> Result:
    return asyncio.run(_coroutine(made.run(read(made, **arguments), run or FakeRun())))


async def _coroutine(awaitable: Awaitable[Result]) -> Result:
    return await awaitable


# --- defining ---


def test_a_tool_is_a_tool_and_still_the_function() -> None:
    as_port: Tool = read_lines
    assert as_port.spec.name == "read_lines"
    assert as_port.spec.description == "Read a text file."
    assert as_port.spec.parameters["properties"]["path"]["description"] == "Which file."
    assert asyncio.run(read_lines(Path("a"), limit=1)) == "a 1"
    assert inspect.signature(read_lines).parameters["limit"].default == 2000


def test_a_tool_is_made_in_three_ways() -> None:
    def one(a: int) -> int:
        return a

    assert tool(one).spec.name == "one"
    assert tool()(one).spec.name == "one"
    assert tool(effects="none")(one).traits({}).effects == "none"
    other = tool(one, name="other", description="Another.", aliases=["uno"], search_hint="numbers", always_loaded=True)
    assert (other.spec.name, other.spec.description, other.aliases) == ("other", "Another.", ("uno",))
    assert (other.facts.search_hint, other.facts.always_loaded) == ("numbers", True)
    assert one(1) == other(1) == 1


@rows("name", ["", "a b", "a.b", "é", "x" * 65, "a/b"])
def test_a_name_that_a_provider_would_refuse_is_refused_here(name: str) -> None:
    with pytest.raises(ToolDefinitionError, match="is not a valid tool name"):
        schema_tool(name, "", {}, lambda arguments: None)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ToolDefinitionError, match="name="):
        tool(lambda a: a)  # pyright: ignore
    assert tool(lambda a: a, name="echo").spec.name == "echo"  # pyright: ignore


def test_a_tool_of_a_tool_and_an_unknown_option_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="already a tool"):
        tool(read_lines, name="again")
    with pytest.raises(ToolDefinitionError, match="'one' has no option effect"):

        @tool(effect="none")  # pyright: ignore
        def one() -> None: ...


def test_importing_the_room_does_not_import_pydantic() -> None:
    probe = (
        "import sys, callgate.tools.tool, callgate.tools.toolbox, callgate.tools.toolbox\n"
        "assert not any(name.startswith('pydantic') for name in sys.modules), 'pydantic is there'\n"
        "callgate.tools.tool.tool(lambda: 1, name='one')\n"
        "assert 'pydantic' in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


# --- traits ---


@pytest.mark.spec("TOOL-3")
def test_constant_traits_are_one_cached_object() -> None:
    choices = [Choice("all of it")]
    made = tool(
        lambda path: None,  # pyright: ignore
        name="t",
        effects="idempotent",
        locks=reads("src") | writes("out"),
        timeout=5,
        interrupt="cancel",
        cascade=True,
        max_result_chars=100,
        requires_interaction=True,
        choices_for_always=choices,
    )
    wanted = Traits(
        effects="idempotent",
        declared_locks=reads("src") | writes("out"),
        timeout=5,
        interrupt="cancel",
        cascade=True,
        max_result_chars=100,
        requires_interaction=True,
        choices_for_always=tuple(choices),
    )
    assert made.traits({"path": "a"}) == wanted
    assert made.traits({"path": "a"}) is made.traits({"path": "b"})


def test_without_any_trait_the_careful_ones_hold() -> None:
    made = tool(lambda: None, name="t")
    assert made.traits({}) == Traits()
    assert made.traits({}).locks is exclusive
    assert read_lines.traits({"path": "a"}).locks is workspace


@pytest.mark.spec("TOOL-3")
def test_every_trait_may_be_a_function_of_the_converted_arguments() -> None:
    @tool(
        effects=lambda a: "none" if a.dry else "mutating",
        locks=lambda a: writes(a.path.parent) if not a.dry else shared,
        timeout=lambda a: a["seconds"],
        interrupt=lambda a: "cancel" if a.dry else "block",
        cascade=lambda a: not a.dry,
        max_result_chars=lambda a: a.seconds * 10,
        requires_interaction=lambda a: "x" in a,
        choices_for_always=lambda a: [Choice(str(a.path))],
    )
    def write(path: Path, dry: bool = False, seconds: int = 7) -> None: ...

    assert write.traits(read(write, path="a/b")) == Traits(
        effects="mutating",
        declared_locks=writes("a"),
        timeout=7,
        interrupt="block",
        cascade=True,
        max_result_chars=70,
        requires_interaction=False,
        choices_for_always=(Choice("a/b"),),
    )
    dry = write.traits(read(write, path="a/b", dry=True, seconds=1))
    assert (dry.effects, dry.locks, dry.timeout, dry.interrupt, dry.cascade) == ("none", shared, 1, "cancel", False)


@pytest.mark.spec("EXE-20", "TOOL-3")
def test_a_timeout_is_clamped_to_the_maximum_of_the_tool() -> None:
    made = tool(lambda seconds: None, name="t", timeout=lambda a: a.seconds, max_timeout=600)  # pyright: ignore
    assert [made.traits({"seconds": each}).timeout for each in (5, 9999, None)] == [5, 600, 600]
    assert tool(lambda: None, name="t", timeout=900, max_timeout=600).traits({}).timeout == 600
    assert tool(lambda: None, name="t", max_timeout=600).traits({}).timeout == 600


BAD_TRAITS: list[dict[str, Any]] = [
    {"effects": "some"},
    {"effects": ["none"]},
    {"locks": "src"},
    {"timeout": -1},
    {"timeout": 0},
    {"timeout": float("nan")},
    {"timeout": "5"},
    {"timeout": True},
    {"max_timeout": 0},
    {"interrupt": "never"},
    {"cascade": 1},
    {"max_result_chars": 0},
    {"max_result_chars": 1.5},
    {"requires_interaction": "yes"},
    {"choices_for_always": ["all"]},
    {"choices_for_always": "all"},
    {"aliases": "one"},
    {"aliases": [""]},
    {"aliases": ["bad_tool"]},
    {"aliases": ["x", "x"]},
    {"search_hint": 3},
    {"always_loaded": "yes"},
    {"description": 3},
    {"effects": lambda: "none"},
    {"effects": asyncio.sleep},
]


@pytest.mark.spec("TOOL-3")
@rows("options", BAD_TRAITS, ids=lambda value: repr(value).partition(" at 0x")[0])
def test_a_bad_constant_is_refused_when_the_tool_is_defined(options: dict[str, Any]) -> None:
    with pytest.raises(ToolDefinitionError, match="'bad_tool'"):
        tool(lambda: None, name="bad_tool", **options)


@rows("effects", [lambda _: "some", lambda _: 1 / 0, lambda a: a.nothing])
def test_a_function_that_gives_no_trait_is_named_and_the_most_careful_value_taken(
    effects: Callable[[Any], Any],
) -> None:
    traits = tool(lambda: None, name="bad_tool", effects=effects).traits({})
    assert traits.effects == "mutating"
    assert traits.failed.startswith("tool 'bad_tool': effects failed")


# --- calling ---


@pytest.mark.spec("TOOL-2")
def test_an_async_function_runs_on_the_loop_and_a_plain_one_in_a_thread() -> None:
    @tool
    async def on_loop() -> bool:
        return threading.current_thread() is threading.main_thread()

    @tool
    def in_thread() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert call(on_loop).text == "true"
    assert call(in_thread).text == "false"


def test_all_kinds_of_callables_are_called_in_their_way() -> None:
    async def inner(a: int) -> str:
        return f"async {a} {threading.current_thread() is threading.main_thread()}"

    @wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    class Worker:
        async def method(self, a: int) -> str:
            return await inner(a)

        async def __call__(self, a: int) -> str:
            """Work."""
            return await inner(a)

    for made in (tool(outer), tool(Worker().method), tool(Worker(), name="w"), tool(partial(outer, a=1))):
        arguments = {"a": 1} if made.spec.parameters["properties"] else {}
        assert call(made, None, **arguments).text == "async 1 True"
    assert tool(Worker()).spec.name == "Worker"
    assert tool(Worker()).spec.description == "Work."


@pytest.mark.spec("TOOL-6")
def test_a_function_gets_its_run_under_any_name() -> None:
    @tool
    async def who(me: Run, n: int) -> str:
        return f"{me.call_id} {me.idempotency_key} {n}"

    @tool
    def whom(n: int, *, me: "Run | None" = None) -> str:
        assert me is not None
        me.progress("half", current=1, total=2)
        return me.call_id

    assert call(who, n=3).text == "call-1 key-1 3"
    run = FakeRun()
    assert call(whom, run, n=3).text == "call-1"
    assert run.said == [("half", 1, 2)]
    assert list(who.spec.parameters["properties"]) == list(whom.spec.parameters["properties"]) == ["n"]


@pytest.mark.spec("TOOL-5")
def test_what_a_function_raises_comes_through_unchanged() -> None:
    @tool
    def fails() -> None:
        raise ToolFailure("not today")

    @tool
    async def breaks() -> None:
        raise KeyError("k")

    with pytest.raises(ToolFailure, match=r"^not today$"):
        call(fails)
    with pytest.raises(KeyError):
        call(breaks)


def test_arguments_that_stopped_being_valid_fail_in_words() -> None:
    allowed = [True]

    def check(value: int) -> int:
        if not allowed:
            raise ValueError("not there any more")
        return value

    @tool
    def look(value: Annotated[int, AfterValidator(check)]) -> None: ...

    arguments = read(look, value=1)
    allowed.clear()
    with pytest.raises(ToolFailure, match="not there any more"):
        asyncio.run(_coroutine(look.run(arguments, FakeRun())))


# --- generators ---


@pytest.mark.spec("TOOL-2")
def test_an_async_generator_streams_and_its_last_text_is_the_result() -> None:
    @tool
    async def count(n: int) -> AsyncIterator[str]:
        for each in range(n):
            yield f"{each}\n"
        yield "done"

    run = FakeRun()
    assert call(count, run, n=2).content == (Text("done"),)
    assert run.said == ["0\n", "1\n", "done"]


@pytest.mark.spec("TOOL-2")
def test_progress_leaves_before_the_generator_goes_on() -> None:
    run = FakeRun()
    seen: list[int] = []

    @tool
    async def count() -> AsyncIterator[str]:
        yield "one"
        seen.append(len(run.said))
        yield "two"
        seen.append(len(run.said))

    call(count, run)
    assert seen == [1, 2]


def test_progress_objects_are_never_the_result_and_other_values_never_progress() -> None:
    @tool
    async def count() -> AsyncIterator[Any]:
        yield Progress("start", current=0, total=2)
        yield {"found": 1}
        yield Progress(current=2, total=2)

    run = FakeRun()
    assert call(count, run).text == '{"found":1}'
    assert run.said == [("start", 0, 2), ("", 2, 2)]


def test_a_generator_of_nothing_but_progress_has_an_empty_result() -> None:
    @tool
    def count() -> Iterator[Progress]:
        yield Progress("a")

    assert call(count) == Result()


def test_a_second_result_is_a_failure_and_closes_the_generator() -> None:
    seen: list[str] = []

    @tool
    async def rows() -> AsyncIterator[Any]:
        try:
            yield {"row": 1}
            yield {"row": 2}
        finally:
            seen.append("closed")

    async def main() -> list[str]:
        with pytest.raises(ToolFailure, match="only Progress is allowed"):
            await rows.run({}, FakeRun())
        return list(seen)  # before the loop ends and closes whatever was left open

    assert asyncio.run(main()) == ["closed"]


def test_a_plain_function_uses_the_threads_its_host_keeps() -> None:
    class WithThreads:
        threads = Threads()

    go_on = threading.Event()

    @tool
    def work(run: Run) -> None:
        run.progress("started")
        go_on.wait()

    async def main() -> int:
        loop, spoke = asyncio.get_running_loop(), asyncio.Event()
        run = FakeRun(host=cast(Host, WithThreads()), on_progress=lambda: loop.call_soon_threadsafe(spoke.set))
        task = asyncio.ensure_future(work.run({}, run))
        await spoke.wait()
        go_on.set()
        await task
        return WithThreads.threads.idle

    assert asyncio.run(main()) == 1


@pytest.mark.spec("TOOL-2")
def test_a_plain_generator_streams_from_its_thread_and_may_return_its_result() -> None:
    @tool
    def yields() -> Iterator[str]:
        yield "a"
        yield str(threading.current_thread() is threading.main_thread())

    @tool
    def returns() -> Any:
        yield "a"
        return 42

    run = FakeRun()
    assert call(yields, run).text == "False"
    assert run.said == ["a", "False"]
    assert call(returns).text == "42"


async def cancelled_at_first_progress(made: Tool, run: FakeRun, then: Callable[[], object] = lambda: None) -> Result:
    """Cancel the call when it has said something; ``then`` is called after the cancel has reached it."""
    loop, spoke = asyncio.get_running_loop(), asyncio.Event()
    run.on_progress = lambda: loop.call_soon_threadsafe(spoke.set)
    task = asyncio.ensure_future(made.run({}, run))
    await spoke.wait()
    task.cancel()
    loop.call_soon(then)
    return await task


def test_a_cancelled_async_generator_is_closed_before_the_call_ends() -> None:
    seen: list[str] = []

    @tool
    async def wait() -> AsyncIterator[str]:
        try:
            yield "started"
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # closing may wait
            seen.append("closed")

    run = FakeRun()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled_at_first_progress(wait, run))
    assert seen == ["closed"]


def test_a_cancelled_plain_generator_is_closed_in_its_thread_at_its_next_step() -> None:
    go_on = threading.Event()
    seen: list[Any] = []

    @tool
    def wait() -> Iterator[str]:
        try:
            yield "started"
            go_on.wait()
            yield "not taken as progress any more"
            seen.append("went on")
        finally:
            seen.append(threading.current_thread() is threading.main_thread())

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled_at_first_progress(wait, FakeRun(), go_on.set))
    assert seen == [False]


@pytest.mark.spec("EXE-8")
def test_a_plain_function_that_finishes_in_spite_of_a_cancel_keeps_its_result() -> None:
    go_on = threading.Event()

    @tool
    def work(run: Run) -> str:
        run.progress("started")
        go_on.wait()
        return "done"

    assert asyncio.run(cancelled_at_first_progress(work, FakeRun(), go_on.set)).text == "done"


# --- previews ---


def change(path: Path, content: str = "") -> ChangeSet:
    return ChangeSet(f"Write {path}", (FileChange(str(path), None, content.encode()),))


@pytest.mark.spec("TOOL-4")
def test_a_preview_gets_the_same_arguments_and_signs_its_change() -> None:
    async def show(path: Path, content: str, run: Run) -> ChangeSet:
        assert run.call_id == "call-1"
        return change(path, content)

    @tool(preview=show)
    def write(path: Path, content: str = "default") -> None: ...

    assert write.previews
    assert not read_lines.previews
    shown = asyncio.run(write.preview(read(write, path="a"), FakeRun()))
    assert shown == ChangeSet("Write a", (FileChange("a", None, b"default"),), tool="write")


def test_a_plain_preview_may_ask_for_less_and_runs_in_a_thread() -> None:
    threads: list[threading.Thread] = []

    def show(path: Path) -> ChangeSet:
        threads.append(threading.current_thread())
        return ChangeSet("x", (), tool="signed")

    made = tool(lambda path, content: None, name="write", preview=show)  # pyright: ignore
    shown = asyncio.run(made.preview({"path": "a", "content": "b"}, FakeRun()))
    assert shown.tool == "signed"
    assert threads != [threading.main_thread()]


@pytest.mark.spec("TOOL-4")
def test_after_the_change_the_body_phrases_the_result_or_a_summary_does() -> None:
    @tool(preview=change)
    def silent(path: Path, content: str) -> None: ...

    @tool(preview=change)
    def speaking(path: Path, content: str, run: Run) -> str:
        assert run.changes is not None
        return f"wrote {run.changes.files[0].path}"

    run = FakeRun(changes=change(Path("a")))
    assert call(silent, run, path="a", content="").text == "Applied: Write a (1 file)"
    assert call(speaking, run, path="a", content="").text == "wrote a"


def test_a_preview_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        ToolDefinitionError, match="'t': its preview has parameters that the tool does not have: content"
    ):
        tool(lambda path: None, name="t", preview=change)  # pyright: ignore
    made = tool(lambda: None, name="t", preview=lambda: {"not": "a change"})
    with pytest.raises(ToolDefinitionError, match="returned a dict, not a ChangeSet"):
        asyncio.run(made.preview({}, FakeRun()))


# --- tools from a schema ---

PARAMETERS = {
    "type": "object",
    "properties": {"user-id": {"type": "integer"}, "tags": {"type": "array"}, "mode": {"default": "fast"}},
    "required": ["user-id"],
}


def test_a_schema_tool_gets_a_dict_of_its_own_and_the_run() -> None:
    async def fetch(arguments: dict[str, Any], run: Run) -> str:
        arguments["tags"].append("changed")
        return f"{run.call_id} {arguments}"

    made = schema_tool("fetch", "Fetch it.", PARAMETERS, fetch, aliases=["get"])
    arguments = read(made, **{"user-id": 3, "tags": []})
    result = asyncio.run(_coroutine(made.run(arguments, FakeRun())))
    assert result.text == "call-1 {'user-id': 3, 'tags': ['changed']}"
    assert arguments == {"user-id": 3, "tags": []}
    assert made.spec.parameters == PARAMETERS
    assert made.spec.parameters is not PARAMETERS
    assert isinstance(made.read('{"user-id": "x"}'), Rejected)


def test_traits_and_preview_of_a_schema_tool_see_its_arguments() -> None:
    made = schema_tool(
        "fetch",
        "",
        PARAMETERS,
        lambda arguments: None,
        effects=lambda a: "none" if a["user-id"] == 1 and a.mode == "fast" and a.tags is None else "mutating",
        preview=lambda them: ChangeSet(str(them["user-id"]), ()),
    )
    assert made.traits({"user-id": 1}).effects == "none"
    assert made.traits({"user-id": 2}).effects == "mutating"
    assert asyncio.run(made.preview({"user-id": 2}, FakeRun())).label == "2"


@rows(
    ("parameters", "function"),
    [
        ({"type": "string"}, lambda arguments: None),
        ({"type": "object", "properties": {"a": {"type": "strange"}}}, lambda arguments: None),
        ({"properties": {"a": object()}}, lambda arguments: None),
        (PARAMETERS, lambda: None),
        (PARAMETERS, lambda a, b: None),
    ],
)
def test_a_schema_tool_that_cannot_work_is_refused(parameters: Any, function: Callable[..., Any]) -> None:
    with pytest.raises(ToolDefinitionError, match="'fetch'"):
        schema_tool("fetch", "", parameters, function)


def test_types_of_a_tool_are_kept_for_the_type_checker() -> None:
    made: FunctionTool[Callable[[int], str]]

    @tool(effects="none")
    def shout(n: int) -> str:
        return "!" * n

    made = shout
    answer: str = made(3)
    mode: Literal["!!!"] | str = answer
    assert mode == "!!!"
