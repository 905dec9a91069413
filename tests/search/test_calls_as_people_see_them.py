"""A call through ExecuteExtraTool wherever a person or a program sees it: under its target's name, with the target's
arguments. What a model is given again is what a model wrote."""

import html
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from callgate import Session
from callgate.admin.sessions import Archive
from callgate.cli import main
from callgate.features import search_feature
from callgate.testing import MemoryHost, ScriptedModel, call, say, turn
from callgate.tools.tool_names import unknown_face
from callgate.tui.blocks import CallBlock
from callgate.tui.fold import ConversationFold
from callgate.tui.render import Painter
from callgate.tui.theme import Theme
from callgate.words.inputs import Compact
from callgate.words.tool_search import EXECUTE
from tests.cli.headless.kit import Desk
from tests.search.deferred_kit import Changing, server_tool

pytestmark = pytest.mark.spec("SRC-2")

TOOLS = '''
from callgate import tool

@tool(name="Ring", effects="none")
def ring(bell: str = "door") -> str:
    """Ring a bell."""
    return f"rang at the {bell}"
'''
WROTE = [{"bell": "tower"}, {}, {"bells": "two"}]
"""The parameters of three calls: with arguments, without any, and with wrong ones."""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capfd)


class Recorded:
    """A session of the agent with three calls of ``Ring`` through the wrapper, and every view of it."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        folder = desk.home / ".config/callgate/tools"
        folder.mkdir(parents=True)
        (folder / "ring.py").write_text(TOOLS)
        self.heard = desk.home / "hook.jsonl"
        desk.settings(f"[[hooks.PreToolUse]]\ncommand = \"cat >> '{self.heard}'; echo >> '{self.heard}'\"\n")
        calls = turn(*(call(EXECUTE, tool_name="Ring", params=params) for params in WROTE))
        self.ran = desk.run(["go", "--output-format", "stream-json"], calls, turn(say("Done.")))
        assert self.ran.code == 0, self.ran.err
        self.events = Archive().show(None).events

    def command(self, *words: str) -> str:
        assert main(words) == 0
        return self.desk.captured()

    def exported(self, shape: str) -> str:
        return html.unescape(self.command("session", "export", "--format", shape))

    def streamed(self) -> str:
        lines = (line for line in self.ran.lines if line["type"] == "CallArrived")
        return "\n".join(json.dumps([line["name"], line["arguments"]]) for line in lines)

    def screen(self, *, expanded: bool) -> str:
        fold = ConversationFold()
        fold.apply_all(self.events)
        painter = Painter(Theme(), 100, unknown_face)
        return "\n".join(line for each in fold.blocks for line in painter.lines(each, expanded=expanded))

    def listed(self) -> str:
        fold = ConversationFold()
        fold.apply_all(self.events)
        return "\n".join(f"{each.name} {dict(each.arguments)}" for each in fold.blocks if isinstance(each, CallBlock))


VIEWS: Mapping[str, tuple[Callable[[Recorded], str], int]] = {
    "session show": (lambda it: it.command("session", "show"), 3),
    "export markdown": (lambda it: it.exported("markdown"), 3),
    "export html": (lambda it: it.exported("html"), 3),
    "audit": (lambda it: it.command("audit"), 3),
    "audit csv": (lambda it: it.command("audit", "--format", "csv"), 3),
    "audit json": (lambda it: it.command("audit", "--format", "json"), 3),
    "log": (lambda it: it.command("log"), 3),
    "stream-json": (Recorded.streamed, 3),
    "the screen": (lambda it: it.screen(expanded=False), 3),
    "the screen with all": (lambda it: it.screen(expanded=True), 3),
    "/calls": (Recorded.listed, 3),
    "hooks": (lambda it: it.heard.read_text(), 2),
}
"""Each view, and how many of the three calls it is told of: a call with wrong arguments does not reach a hook."""


def test_every_view_of_a_call_names_its_target_and_the_arguments_of_the_target(desk: Desk) -> None:
    it = Recorded(desk)
    wrong: list[str] = []
    for name, (view, calls) in VIEWS.items():
        text = "\n".join(line for line in view(it).splitlines() if "calls them" not in line)  # the announcement
        if EXECUTE in text or "params" in text:
            wrong.append(f"{name} shows the wrapper")
        if text.count("Ring") < calls or "tower" not in text:
            wrong.append(f"{name} does not show the target")
    assert wrong == []


@pytest.mark.parametrize("view", ["session show", "export markdown", "export html"])
def test_arguments_that_do_not_fit_the_target_are_shown_as_they_were_written_for_it(desk: Desk, view: str) -> None:
    text = VIEWS[view][0](Recorded(desk))
    assert '{"bells": "two"}' in text
    assert "params" not in text


def test_an_export_that_a_model_is_given_has_what_a_model_wrote(desk: Desk) -> None:
    messages = json.loads(Recorded(desk).command("session", "export", "--format", "ai-sdk"))
    parts = [part for message in messages if message["role"] in ("assistant", "tool") for part in message["content"]]
    calls = [part for part in parts if part["type"] == "tool-call"]
    assert [part["input"] for part in calls] == [{"tool_name": "Ring", "params": params} for params in WROTE]
    assert {part["toolName"] for part in parts if "toolName" in part} == {EXECUTE}


async def test_a_summary_is_made_of_what_the_model_wrote() -> None:
    model = ScriptedModel(
        turn(call(EXECUTE, tool_name="mcp__hub__send", params={"text": "hello"})), turn(say("Sent.")), turn(say("Sum."))
    )
    async with Session(
        model, [], features=[search_feature(Changing(server_tool("send")))], host=MemoryHost()
    ) as session:
        await session.run("go")
        await session.send(Compact())
    (asked,) = model.requests[2].messages
    assert f'{EXECUTE}] {{"tool_name": "mcp__hub__send", "params": {{"text": "hello"}}}}' in asked.text
