"""The gate sees the target of ExecuteExtraTool, and never the wrapper."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Continue, Prompt, Session, Store, tool
from callgate.assembly.settings import hooks_feature
from callgate.config import Config, load_config
from callgate.features import search_feature
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin import builtin_tools
from callgate.tools.tool import schema_tool
from callgate.tools.toolbox import Toolbox
from callgate.words.events import CallArrived, CallDecided, CallSettled, Event
from callgate.words.tool_search import EXECUTE, SEARCH
from tests.core.kit import virtual_host
from tests.flows.gated import KeptJournal
from tests.flows.kit import results
from tests.search.deferred_kit import Changing, reminders, server_tool
from tests.sessions import grouped_session, with_event

DONE = turn(say("Done."))


@tool(name="Look", effects="none")
def look(path: str) -> str:
    """Look at a file."""
    return path


def execute(name: str, params: object) -> Any:
    return call(EXECUTE, tool_name=name, params=params)


def config(root: Path, **more: Any) -> Config:
    home = root / "home"
    home.mkdir(exist_ok=True)
    (root / "work").mkdir(exist_ok=True)
    return load_config(root / "work", environ={"HOME": str(home)}, managed=home / "none.toml", **more)


def session(root: Path, model: ScriptedModel, *tools: Any, **options: Any) -> Session:
    rules = {name: options.pop(name) for name in ("allow", "ask", "deny") if name in options}
    found = options.pop("config", None) or config(root, **rules)
    return grouped_session(model, [look], deferred=Changing(*tools), config=found, **options)


SEND = server_tool("send", "Send a text.", effects="mutating")
DROP = server_tool("drop", "Drop a table.", effects="mutating")


@pytest.mark.spec("SRC-2")
@pytest.mark.parametrize("rule", ["mcp__hub__send", "mcp__hub", "mcp__hub__*", "mcp__hub__send(text=hi)"])
async def test_a_rule_on_the_target_counts_in_the_wrapper(tmp_path: Path, rule: str) -> None:
    model = ScriptedModel(turn(execute("mcp__hub__send", {"text": "hi"})), DONE)
    async with session(tmp_path, model, SEND, deny=[rule]) as talk:
        await talk.run("go")
        (text,) = results(talk)
    assert "denied" in text


@pytest.mark.spec("SRC-2")
async def test_a_rule_that_allows_the_wrapper_opens_nothing(tmp_path: Path) -> None:
    model = ScriptedModel(turn(execute("mcp__hub__send", {"text": "hi"})), DONE)
    async with session(tmp_path, model, SEND, allow=[EXECUTE]) as talk:
        await talk.send(Prompt("go"))
        (question,) = talk.questions
        assert question.tool == "mcp__hub__send"
        assert question.arguments == {"text": "hi"}
        await talk.send(Answer(question.no()))


@pytest.mark.spec("SRC-2")
async def test_a_rule_about_the_wrapper_is_noted_with_its_line_and_rules_about_targets_count(tmp_path: Path) -> None:
    folder = tmp_path / "home/.config/callgate"
    folder.mkdir(parents=True)
    denied = f"deny = [\n'{EXECUTE}',\n'{SEARCH}',\n'mcp__hub__drop']\n"
    others = f"ask = ['{EXECUTE}(mcp__hub)', '{SEARCH}']\nallow = ['{EXECUTE}(tool_name=mcp__hub__drop)']\n"
    (folder / "settings.toml").write_text(f"[permissions]\n{denied}{others}")
    found = config(tmp_path)
    noted = {note.origin.line: note.text.partition(":")[0].partition(",")[0] for note in found.notes}
    assert noted == {
        3: f"deny {EXECUTE} has no effect",
        4: f"deny {SEARCH} does not stop calls of known tools",
        6: f"ask {EXECUTE}(mcp__hub) has no effect",
        7: f"allow {EXECUTE}(tool_name=mcp__hub__drop) has no effect",
    }
    model = ScriptedModel(turn(execute("mcp__hub__drop", {"text": "hi"}), call(SEARCH, query="send")), DONE)
    async with session(tmp_path, model, SEND, DROP, config=found) as talk:
        assert sum("has no effect" in note for note in talk.controls.notes) == 3
        await talk.run("go")
        assert all("denied" in text for text in results(talk))


@pytest.mark.spec("SRC-2")
async def test_an_always_is_for_the_target_and_never_for_the_wrapper(tmp_path: Path) -> None:
    model = ScriptedModel(
        turn(execute("mcp__hub__send", {"text": "hi"})),
        turn(execute("mcp__hub__send", {"text": "hi"})),
        turn(execute("mcp__hub__drop", {"text": "hi"})),
        DONE,
    )
    async with session(tmp_path, model, SEND, DROP) as talk:
        await talk.send(Prompt("go"))
        (question,) = talk.questions
        assert all(EXECUTE not in f"{each.rule} {each.tool}" for each in question.choices)
        await talk.send(Answer(question.always()))
        (second,) = talk.questions
        assert second.tool == "mcp__hub__drop"
        await talk.send(Answer(second.no()))
        sent, again, dropped = results(talk)
    assert sent == again == "send of {'text': 'hi'}"
    assert "Not run" in dropped


@pytest.mark.spec("SRC-2")
async def test_hooks_are_asked_about_the_target_by_its_name_and_its_arguments(tmp_path: Path) -> None:
    told: list[tuple[str, object]] = []

    async def before(about: dict[str, Any]) -> dict[str, Any]:
        told.append((about["tool_name"], about["tool_input"]))
        changed = {"text": "changed"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": changed}}

    folder = tmp_path / "home/.config/callgate"
    folder.mkdir(parents=True)
    lines = '[[hooks.PreToolUse]]\npython = "hooks:before"\nmatcher = "mcp__hub__.*"\n'
    (folder / "settings.toml").write_text(f'permissions.allow = ["mcp__hub"]\n{lines}')
    model = ScriptedModel(turn(execute("mcp__hub__send", {"text": "hi"}), call("Look", path="a")), DONE)
    found = config(tmp_path)
    hooks = hooks_feature({"hooks:before": before})
    async with session(tmp_path, model, SEND, config=found, features=[hooks]) as talk:
        await talk.run("go")
        assert results(talk)[0].startswith("send of {'text': 'changed'}")
    assert told == [("mcp__hub__send", {"text": "hi"})]


@pytest.mark.spec("SRC-2")
async def test_arguments_are_read_repaired_and_refused_by_the_schema_of_the_target(tmp_path: Path) -> None:
    wrong = (
        ({"text": "hi", "count": "2"}, "send of {'text': 'hi', 'count': 2}"),
        ('{"text": "hi", "count": 2,}', "send of {'text': 'hi', 'count': 2}"),
        ({"words": "hi"}, "Invalid arguments for mcp__hub__send"),
        (None, "Invalid arguments for mcp__hub__send"),
        ("no json", "Invalid arguments for mcp__hub__send"),
    )
    model = ScriptedModel(*(turn(execute("mcp__hub__send", params)) for params, _ in wrong), DONE)
    async with session(tmp_path, model, SEND, allow=["mcp__hub"]) as talk:
        await talk.run("go")
        texts = results(talk)
    assert [text for text, (_, wanted) in zip(texts, wrong, strict=True) if wanted not in text] == []


@pytest.mark.spec("SRC-2")
async def test_a_wrong_name_gets_the_nearest_ones_and_the_wrapper_cannot_call_itself(tmp_path: Path) -> None:
    calls = (
        execute("mcp__hub__sent", {"text": "hi"}),
        execute(EXECUTE, {"tool_name": "mcp__hub__send", "params": {}}),
        call(EXECUTE, params={}),
        execute("Look", {"path": "a.py"}),
        execute("resolve", {"action": "apply", "reason": "x"}),
    )
    model = ScriptedModel(turn(*calls), DONE)
    async with session(tmp_path, model, SEND) as talk:
        await talk.run("go")
        wrong, itself, nameless, core, resolve = results(talk)
    assert "There is no tool named 'mcp__hub__sent'. Did you mean mcp__hub__send" in wrong
    assert "expected the name of another tool" in itself
    assert f"Invalid arguments for {EXECUTE}" in nameless
    assert core == "a.py"
    assert "resolve directly" in resolve


@pytest.mark.spec("SRC-2")
async def test_preview_change_and_face_are_those_of_the_target(tmp_path: Path) -> None:
    model = ScriptedModel(turn(execute("Write", {"file_path": "a.txt", "content": "new"})), DONE)
    events: list[Event] = []
    async with session(tmp_path, model, *builtin_tools("Write")) as talk:
        talk.listen(with_event(events.append))
        await talk.send(Prompt("go"))
        (question,) = talk.questions
        assert question.tool == "Write"
        assert question.preview is not None
        assert talk.controls.face("Write", {"file_path": "a.txt"}).line == "Write(a.txt)"
        await talk.send(Answer(question.yes()))
    assert (tmp_path / "work/a.txt").read_text() == "new"
    arrived = [event for event in events if isinstance(event, CallArrived)]
    decided = [event for event in events if isinstance(event, CallDecided)]
    assert [(event.name, event.asked_as) for event in arrived] == [("Write", EXECUTE)]
    assert {event.arguments_hash for event in decided} == {arrived[0].arguments_hash}


@pytest.mark.spec("SRC-2")
async def test_calls_of_targets_that_only_read_run_at_the_same_time(tmp_path: Path) -> None:
    begun: list[str] = []
    both = asyncio.Event()

    async def body(arguments: dict[str, Any]) -> str:
        begun.append(arguments["text"])
        if len(begun) == 2:
            both.set()
        await both.wait()
        return "met"

    wait = schema_tool("mcp__hub__wait", "Wait.", SEND.spec.parameters, body, effects="none", server="hub")
    model = ScriptedModel(
        turn(execute("mcp__hub__wait", {"text": "1"}), execute("mcp__hub__wait", {"text": "2"})), DONE
    )
    async with session(tmp_path, model, wait, allow=["mcp__hub"]) as talk:
        await talk.run("go")
        assert results(talk) == ["met", "met"]


@pytest.mark.spec("SRC-2")
async def test_a_resumed_question_is_about_the_target_and_the_request_has_what_the_model_wrote(tmp_path: Path) -> None:
    place = config(tmp_path)
    store = Store(place.root, place.data)
    model = ScriptedModel(turn(execute("mcp__hub__send", {"text": "hi"})))
    async with session(tmp_path, model, SEND, config=place, journal=await store.create()) as talk:
        await talk.send(Prompt("go"))
        name = talk.id
    model = ScriptedModel(DONE)
    async with session(tmp_path, model, SEND, config=place, journal=await store.open(name)) as talk:
        await talk.send(Continue())
        (question,) = talk.questions
        assert (question.tool, question.arguments) == ("mcp__hub__send", {"text": "hi"})
        await talk.send(Answer(question.yes()))
        assert results(talk) == ["send of {'text': 'hi'}"]
    (request,) = model.requests
    (part,) = [part for message in request.messages for part in message.calls]
    assert part.name == EXECUTE
    assert json.loads(part.raw_arguments or "")["params"] == {"text": "hi"}


@pytest.mark.spec("SRC-2")
async def test_after_a_crash_in_the_middle_of_a_message_its_calls_are_still_those_that_the_model_wrote() -> None:
    whole = KeptJournal()
    model = ScriptedModel(turn(execute("mcp__hub__send", {"text": "hi"})), DONE)
    async with Session(
        model, [look], features=[search_feature(Changing(server_tool("send")))], host=virtual_host(), journal=whole
    ) as one:
        await one.run("go")
    at = next(at for at, event in enumerate(whole.events) if isinstance(event, CallArrived))
    model = ScriptedModel(DONE)
    left = KeptJournal(whole.events[: at + 1])
    async with Session(
        model, [look], features=[search_feature(Changing(server_tool("send")))], host=virtual_host(), journal=left
    ) as two:
        await two.run(Continue())
    (part,) = [part for message in model.requests[0].messages for part in message.calls]
    assert part.name == EXECUTE
    assert json.loads(part.raw_arguments or "") == {"tool_name": "mcp__hub__send", "params": {"text": "hi"}}


@pytest.mark.spec("SRC-1")
@pytest.mark.parametrize("query", ["select:" + ",".join(f"mcp__hub__{n:04}" for n in range(60)), ".env", "/etc/shadow"])
async def test_a_query_is_never_taken_for_a_path(tmp_path: Path, query: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.env").write_text("KEY=1")
    model = ScriptedModel(turn(call(SEARCH, query=query)), DONE)
    async with session(tmp_path, model, SEND) as talk:
        assert (await talk.run("go")).reason == "done"


@pytest.mark.parametrize("asked", [execute("mcp__hub__clear", {"tabel": "a"}), call("clear_table", tabel="a")])
async def test_a_call_that_was_refused_under_another_name_is_not_read_anew_after_its_result_was_lost(
    asked: Any,
) -> None:
    ran: list[object] = []
    takes = {"type": "object", "properties": {"table": {"type": "string"}}, "additionalProperties": False}

    def body(arguments: dict[str, Any]) -> str:
        ran.append(arguments)
        return "cleared"

    clear = schema_tool("mcp__hub__clear", "Clear.", takes, body, effects="none", aliases=["clear_table"])
    whole = KeptJournal()
    async with Session(
        ScriptedModel(turn(asked), DONE),
        [look],
        features=[search_feature(Toolbox(clear))],
        host=virtual_host(),
        journal=whole,
    ) as one:
        await one.run("go")
        assert "Invalid arguments for mcp__hub__clear" in results(one)[0]
    at = next(at for at, event in enumerate(whole.events) if isinstance(event, CallSettled))
    left = KeptJournal([*whole.events[:at], whole.events[at + 1]])
    async with Session(
        ScriptedModel(DONE), [look], features=[search_feature(Toolbox(clear))], host=virtual_host(), journal=left
    ) as two:
        await two.run(Continue())
        assert "Never started" in results(two)[0]
    assert ran == []


@pytest.mark.spec("SRC-7")
@pytest.mark.parametrize(
    ("rule", "hidden"),
    [
        ("'mcp__hub__send'", ["send"]),
        ("'post_text'", ["send"]),
        ("'mcp__hub'", ["send", "drop"]),
        ("'mcp__*'", ["send", "drop"]),
        ("'mcp__hub__send(text=secret)'", []),
        ("{ rule = 'mcp__hub__send', expires = 2020-01-01 }", []),
    ],
)
async def test_a_tool_whose_every_call_is_denied_is_neither_announced_nor_suggested_nor_found(
    tmp_path: Path, rule: str, hidden: list[str]
) -> None:
    folder = tmp_path / "home/.config/callgate"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text(f"[permissions]\ndeny = [{rule}]\n")
    send = server_tool("send", "Send a text.", effects="mutating", aliases=["post_text"])
    wanted = [call(SEARCH, query="send a text, drop a table"), call(SEARCH, query="select:mcp__hub__send")]
    model = ScriptedModel(turn(*wanted), DONE)
    async with session(tmp_path, model, send, DROP) as talk:
        assert len(talk.controls.deferred_specs) == 2 - len(hidden)
        await talk.run("Send a text, then drop a table.")
        found, selected = results(talk)
    told = " ".join(reminders(model.requests[0]))
    for name in ("send", "drop"):
        assert told.count(f"mcp__hub__{name}\n") == (0 if name in hidden else 2)
        assert (f'"name":"mcp__hub__{name}"' in found) == (name not in hidden)
    assert ("There is no tool" in selected) == ("send" in hidden)


@pytest.mark.spec("SRC-5")
@pytest.mark.parametrize("mode", ["on", "off", "auto:99"])
async def test_a_tool_whose_every_call_is_denied_is_in_no_request_and_no_hint(tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "home/.config/callgate"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text(f"tools.search = '{mode}'\n[permissions]\ndeny = ['mcp__hub__send']\n")
    send = server_tool("send", "Send a text.", effects="mutating")
    model = ScriptedModel(turn(call("mcp__hub__sned")), turn(call("mcp__hub__send", text="x")), DONE)
    async with session(tmp_path, model, send, DROP) as talk:
        await talk.run("Send a text, then drop a table.")
        wrong, denied = results(talk)
    assert "mcp__hub__send" not in wrong
    assert "denied" in denied.lower()
    assert not any(each.name == "mcp__hub__send" for request in model.requests for each in request.tools)
