"""What is rare around the stack: too late, not there, not readable, not in a session."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import ChangeSet, FileChange, Prompt, Session, ToolCall, tool
from callgate.assembly import Executor
from callgate.changes.history_host import HistoryHost
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin.plan import plan_tools
from callgate.tools.staging import Callbacks, stage
from callgate.words.errors import ToolDefinitionError, ToolFailure
from callgate.words.inputs import Resolve
from callgate.words.limits import LoopLimits
from tests.flows.pending.kit import FIRST, Bench, ends, model_of, really, refusals, sent, staging, texts


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.spec("RES-1")
@really
async def test_what_is_pushed_after_the_call_is_over_is_refused(tmp_path: Path) -> None:
    late: list[asyncio.Task[None]] = []
    refused: list[str] = []

    @tool(effects="none", stages=True)
    async def hurried() -> str:
        """Leave something behind that stages."""

        async def push() -> None:
            await over.wait()
            try:
                stage("too late", Callbacks(print), source_tool_name="hurried")
            except ToolFailure as failure:
                refused.append(str(failure))

        over = asyncio.Event()
        late.append(asyncio.get_running_loop().create_task(push()))
        ended.append(over)
        return "done"

    ended: list[asyncio.Event] = []
    async with Session(ScriptedModel(turn(call("hurried")), turn(say("ok"))), [hurried], host=tmp_path) as session:
        await session.send(Prompt("go"))
        ended[0].set()
        await late[0]
        assert session.pending == ()
    assert refused == ["too late cannot be staged: its call has ended."]


@pytest.mark.spec("RES-12")
@really
async def test_what_cannot_be_looked_into_right_now_is_not_called_lost(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = LoopLimits(max_turns=1)
    async with await bench.kept(model_of(turn(staging())), limits=once) as session:
        await sent(session, "go")
        assert [each.id for each in session.pending] == [FIRST]

    async def no_room(host: HistoryHost, number: int) -> Any:
        raise OSError(24, "no room")

    async with await bench.again(model_of(), limits=once) as again:
        with monkeypatch.context() as patch:
            patch.setattr(HistoryHost, "state_of", no_room)
            assert not ends(await sent(again, "go on"))
            assert [each.id for each in again.pending] == [FIRST]
        events = await sent(again, Resolve("apply", "now it can be"))
        assert ends(events) == [("applied", "person")]
    assert bench.files() == {"a.txt": "new"}


@really
async def test_a_tool_of_ones_own_cannot_be_called_resolve(tmp_path: Path) -> None:
    @tool(effects="none", aliases=["resolve"])
    def settle() -> str:
        """Settle."""
        return "settled"

    with pytest.raises(ToolDefinitionError, match="'resolve' is reserved for resolving pending actions: rename"):
        Session(model_of(), [settle], host=tmp_path)


@really
async def test_a_typo_in_its_name_is_answered_with_a_hint(bench: Bench) -> None:
    async with bench.session(model_of(turn(call("reslove", action="apply", reason="x")))) as session:
        events = await sent(session, "go")
    assert any("Did you mean resolve?" in text for text in texts(events))


@pytest.mark.spec("RES-7")
@really
async def test_plan_tools_need_a_session_and_say_when_there_is_nothing_to_do(tmp_path: Path) -> None:
    async with Executor(plan_tools(), host=tmp_path) as executor:
        executor.add(ToolCall("1", "EnterPlanMode", {}))
        executor.add(ToolCall("2", "ExitPlanMode", {"plan": "do it"}))
        executor.close()
        found = [each async for each in executor.remaining() if isinstance(each, ToolCall)]
    assert {each.text for each in found} == {"Plan mode is not available: there is no session."}
    enter = call("EnterPlanMode")
    model = model_of(turn(call("ExitPlanMode", plan="none")), turn(enter), turn(enter))
    async with Session(model, plan_tools(), host=tmp_path) as session:
        events = await sent(session, "go")
        assert session.mode == "plan"
    said = texts(events)
    assert any("Plan mode is not on" in text for text in said)
    assert any("Plan mode is already on." in text for text in said)


@pytest.mark.spec("RES-11")
@really
async def test_inputs_that_are_none_are_refused(bench: Bench) -> None:
    async with bench.session(model_of()) as session:
        wrong: list[Any] = [Resolve("apply", 3), Resolve("apply", " "), Resolve("aply", "x"), 3]  # pyright: ignore[reportArgumentType]
        said = [text for each in wrong for text in refusals(await sent(session, each))]
    assert said == [
        "reason: expected str, not int",
        "the reason must not be blank",
        "action: 'aply' is not one of 'apply', 'discard'",
        "unknown input int",
    ]


@really
async def test_a_change_of_what_are_no_files_is_not_staged(tmp_path: Path) -> None:
    @tool(effects="none", stages=True)
    def odd() -> str:
        """Stage nonsense."""
        files: Any = ("a.txt", FileChange("b", None, b""))
        stage("odd", ChangeSet("odd", files), source_tool_name="odd")
        return "never"

    async with Session(model_of(turn(call("odd"))), [odd], host=tmp_path) as session:
        events = await sent(session, "go")
        assert session.pending == ()
    assert any("the files of a ChangeSet must be FileChange objects" in text for text in texts(events))
