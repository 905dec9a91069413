"""Files that Read would not get are not in the results of a search either, and the search itself needs no question."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt, Session
from callgate.config import Config
from callgate.policy.entries import RuleLine
from callgate.testing import ScriptedModel, call, turn
from callgate.tools.builtin import builtin_tools
from callgate.words.decisions import Origin
from callgate.words.events import CallSettled, Event, QuestionAsked
from tests.flows.gated import DONE, of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "work"
    for name in ("src/a.py", "secrets/plan.txt", "secrets/deep/b.py", "drafts/c.py", ".env", "config/.env.local"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text("TOKEN = 1\n")
    (made / ".ignore").write_text("!.env\n!.env.local\n")
    return made


def events_of(root: Path, *calls: Any, deny: tuple[str, ...] = (), ask: tuple[str, ...] = ()) -> list[Event]:
    rules = [RuleLine("deny", text, Origin("user")) for text in deny]
    rules += [RuleLine("ask", text, Origin("user")) for text in ask]
    config = Config(root, root.parent, root.parent / "data", rules=tuple(rules))

    async def main() -> list[Event]:
        model = ScriptedModel(*(turn(each) for each in calls), DONE)
        async with Session(model, builtin_tools("Grep", "Glob", "Read", "AstGrep"), config=config) as session:
            found: list[Event] = []
            async for event in session.send(Prompt("go")):
                found.append(event)
                if isinstance(event, QuestionAsked):
                    break
            return found

    return asyncio.run(main())


def texts(events: list[Event]) -> list[str]:
    return [each.result.text for each in of(events, CallSettled)]


@pytest.mark.spec("GATE-3")
def test_keys_need_no_question_in_a_session_without_settings_either(root: Path) -> None:
    calls = (call("Grep", pattern="TOKEN", output_mode="content"), call("Glob", pattern="**/*.py"))
    with Session(ScriptedModel(turn(*calls), DONE), builtin_tools("Grep", "Glob"), host=root) as session:
        session.run_sync("go")
        assert (session.status, session.questions) == ("idle", ())
        found = str(session.messages[2].parts[0])
        assert "src/a.py" in found
        assert "Left out, because they contain keys or passwords: .env and 1 more" in found


@pytest.mark.spec("GATE-3")
@pytest.mark.parametrize("engine", ["system", "builtin"])
def test_a_search_leaves_out_what_a_rule_keeps_from_being_read(
    root: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLGATE_RIPGREP", engine)
    grep, glob = call("Grep", pattern="TOKEN"), call("Glob", pattern="**/*.py")
    events = events_of(root, grep, glob, deny=("Read(/secrets/**)",), ask=("Read(drafts/**)",))
    assert of(events, QuestionAsked) == []
    found, listed = texts(events)
    assert found.splitlines()[0] == "src/a.py"
    assert "plan.txt" not in found
    assert "c.py" not in found + listed
    assert "[Left out, because the rule Read(/secrets/**) forbids it: 2 files.]" in found
    assert "[Left out, because the rule Read(drafts/**) forbids it: 1 file.]" in found
    assert (
        "[Left out, because they contain keys or passwords: .env and 1 more. To search a file, name it in path.]"
        in found
    )
    assert listed.splitlines()[0] == "src/a.py"
    assert "b.py" not in listed


@pytest.mark.spec("GATE-3")
def test_a_search_in_code_leaves_them_out_too(root: Path) -> None:
    found = call("AstGrep", pattern="TOKEN = $A")
    events = events_of(root, found, deny=("Read(/secrets/**)",))
    assert of(events, QuestionAsked) == []
    assert "src/a.py" in texts(events)[0]
    assert "b.py" not in texts(events)[0]
    assert "[Left out, because the rule Read(/secrets/**) forbids it: 1 file.]" in texts(events)[0]
    named = call("AstGrep", pattern="TOKEN = $A", paths=["secrets/deep/b.py"])
    assert "Read(/secrets/**)" in texts(events_of(root, named, deny=("Read(/secrets/**)",)))[0]


def test_a_search_in_a_folder_with_keys_needs_no_question_and_shows_none(root: Path) -> None:
    events = events_of(root, call("Grep", pattern="TOKEN", output_mode="content"))
    assert of(events, QuestionAsked) == []
    assert ".env:" not in texts(events)[0].replace("passwords: .env", "")
    assert "src/a.py" in texts(events)[0]


@pytest.mark.parametrize("path", [".env", "config/.env.local"])
def test_a_file_with_passwords_is_asked_about_before_it_is_read_or_searched(root: Path, path: str) -> None:
    for asked in (call("Read", file_path=path), call("Grep", pattern="TOKEN", path=path)):
        (question,) = of(events_of(root, asked), QuestionAsked)
        assert "contains keys or passwords" in (question.question.reason or "")
    assert of(events_of(root, call("Read", file_path="src/a.py")), QuestionAsked) == []
