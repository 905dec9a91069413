"""The coding agent of a Config: which tools it has, by trust, by wish and when bare."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from callgate import Store
from callgate.assembly.agent import BARE, FEW_CUSTOM, agent_session
from callgate.config import Config, load_config
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin import BUILTIN
from callgate.tools.builtin.shipped import shipped_tools
from callgate.words.errors import UsageError
from callgate.words.events import Noted
from callgate.words.tool_search import EXECUTE, SEARCH
from tests.flows.kit import results
from tests.search.deferred_kit import Changing, server_tool
from tests.sessions import with_event

TOOL = """
from callgate import tool

@tool(effects="none")
def Weigh(what: str) -> str:
    "Weigh something."
    return f"{what} weighs 3 kg"
"""
SKILL = "---\nname: release\ndescription: Releases this project.\n---\nFirst the tests.\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a tool and a skill of its own."""
    found = tmp_path / "repository"
    write(found / ".callgate/tools/weigh.py", TOOL)
    write(found / ".agents/skills/release/SKILL.md", SKILL)
    return found


def config(root: Path, **more: Any) -> Config:
    home = root.parent / "home"
    home.mkdir(exist_ok=True)
    return load_config(root, environ={"HOME": str(home)}, managed=home / "none.toml", **more)


def asked(config: Config, **more: Any) -> tuple[Sequence[str], str, list[str]]:
    """The names of the tools in a request, the description of Skill, and what a person is told."""
    return asyncio.run(_asked(config, **more))


async def _asked(config: Config, **more: Any) -> tuple[Sequence[str], str, list[str]]:
    model, notes = ScriptedModel(turn(say("Hello."))), list[str]()
    async with await agent_session(config, model, **more) as session:
        session.listen(with_event(lambda event: notes.append(event.text) if isinstance(event, Noted) else None))
        await session.run("hi")
    (request,) = model.requests
    described = {spec.name: spec.description for spec in request.tools}
    return [*described], described.get("Skill", ""), notes


def test_it_is_told_of_the_core_tools_and_those_of_a_trusted_folder(root: Path) -> None:
    names, skills, notes = asked(config(root, trust=True))
    core = {each.spec.name for each in shipped_tools(BUILTIN) if each.facts.always_loaded}
    assert {*names} == {*core, "Weigh", SEARCH, EXECUTE, "resolve"}, notes
    assert "Releases this project." in skills
    assert not [note for note in notes if "trusted" in note]


def test_a_rule_whose_name_is_nearly_that_of_a_tool_is_noted_at_the_start(root: Path) -> None:
    write(root / ".callgate/tools/web_search.py", TOOL.replace("Weigh", "web_search"))
    notes = asked(config(root, trust=True, allow=["Rad", "web_search", "TaskStop", "Bash(git log:*)", "Deploy"]))[2]
    assert [note for note in notes if "allow" in note] == [
        "command line: allow Rad: names of tools must be exact: did you mean Read?"
    ]


def test_tools_and_skills_of_a_folder_without_trust_are_left_out_and_named(root: Path) -> None:
    names, skills, notes = asked(config(root))
    assert "Weigh" not in names
    assert "Releases" not in skills
    (note,) = [note for note in notes if "trusted" in note]
    assert ".callgate/tools" in note
    assert "1 file of tools did not run" in note


def test_only_the_tools_that_are_wanted_are_offered(root: Path) -> None:
    names, _, _ = asked(config(root, trust=True), tools=["Weigh", "Read"])
    assert [name for name in names if name != "resolve"] == ["Read", "Weigh"]  # a custom tool may stage
    assert asked(config(root), tools=[])[0] == []
    with pytest.raises(UsageError, match="no tool Reed; did you mean Read"):
        asked(config(root), tools=["Reed"])


@pytest.mark.spec("BLT-5")
def test_a_command_that_passes_the_time_of_the_settings_goes_on_in_the_background(root: Path) -> None:
    write(root.parent / "home/.config/callgate/settings.toml", "[limits]\nbackground_after = 0.01\n")
    model = ScriptedModel(turn(call("Bash", command="sleep 600")), turn(call("TaskStop", id="bg-1")), turn(say("ok")))

    async def told() -> list[str]:
        async with await agent_session(config(root, mode="bypass"), model) as session:
            await session.run("go")
            return results(session)

    moved, stopped = asyncio.run(told())
    assert "The command is still running and was moved to the background as bg-1." in moved
    assert "killed" in stopped


@pytest.mark.spec("CLI-7")
def test_a_bare_agent_has_three_tools_and_runs_no_hook_and_no_file_of_the_folder(root: Path) -> None:
    hook = '[[hooks.UserPromptSubmit]]\ncommand = "touch hooked"\n'
    write(root / ".callgate/settings.toml", hook)
    write(root.parent / "home/.config/callgate/settings.toml", hook)
    write(root / "AGENTS.md", "Always use tabs.")
    write(root.parent / "home/.config/callgate/AGENTS.md", "Always be brief.")
    place = config(root, trust=True)
    assert place.hooks
    model = ScriptedModel(turn(say("Hello.")))

    async def run(bare: bool) -> None:
        async with await agent_session(place, model, bare=bare) as session:
            await session.run("hi")

    asyncio.run(run(bare=True))
    (request,) = model.requests
    assert tuple(sorted(spec.name for spec in request.tools)) == BARE
    assert not (root / "hooked").exists()
    sent = repr(request)
    assert [word for word in ("tabs", "brief", "release", "Weigh") if word in sent] == []
    model = ScriptedModel(turn(say("Hello.")))
    asyncio.run(run(bare=False))
    sent = repr(model.requests[0])
    assert [word for word in ("tabs", "brief", "release", "Weigh") if word in sent] == [
        "tabs",
        "brief",
        "release",
        "Weigh",
    ]
    assert (root / "hooked").exists()


def test_it_works_on_the_files_of_its_workspace_and_keeps_what_it_did(root: Path) -> None:
    write(root / "notes.txt", "the answer is 42\n")
    place = config(root, trust=True)
    store = Store(place.root, place.data)

    async def work() -> tuple[str, list[str]]:
        calls = turn(call("Read", file_path="notes.txt"), call("Weigh", what="it"))
        model = ScriptedModel(calls, turn(say("It is 42, and 3 kg.")))
        async with await agent_session(place, model, journal=await store.create()) as session:
            return (await session.run("What is the answer?")).text, results(session)

    text, (read, weighed) = asyncio.run(work())
    assert text == "It is 42, and 3 kg."
    assert "the answer is 42" in read
    assert weighed == "it weighs 3 kg"
    assert store.list()[0].about.first_prompt == "What is the answer?"


FIRST = """
import asyncio, json, sys
from callgate.assembly.agent import agent_session
from callgate.config import load_config
from callgate.testing import ScriptedModel, say, turn

async def main():
    config = load_config(sys.argv[1], environ={"HOME": sys.argv[1]}, managed=sys.argv[1] + "/none.toml")
    async with await agent_session(config, ScriptedModel(turn(say("Hello.")))) as session:
        await session.run("Fetch the page example.com, and edit the notebook.")
asyncio.run(main())
print(json.dumps([name for name in sys.modules if name.startswith("callgate.search.") or name == "numpy"]))
"""


@pytest.mark.spec("SRC-7")
def test_the_first_request_waits_for_no_index(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", FIRST, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    loaded = json.loads(ran.stdout)
    assert "callgate.search.search_toolbox" in loaded
    assert {"callgate.search.tool_index", "callgate.search.query", "numpy"}.isdisjoint(loaded)


@pytest.mark.spec("SRC-5")
def test_a_few_custom_tools_are_in_the_request_and_many_are_found_by_search(root: Path) -> None:
    one = "@tool(effects='none')\ndef Own{}(what: str) -> str:\n    'Own.'\n    return what\n\n"
    many = "".join(one.format(n) for n in range(FEW_CUSTOM))
    write(root / ".callgate/tools/many.py", f"from callgate import tool\n\n{many}")
    names, _, _ = asked(config(root, trust=True))
    assert not [name for name in names if name.startswith(("Own", "Weigh"))], "there are 21"
    kept = "@tool(effects='none', always_loaded=True)\ndef Kept(what: str) -> str:\n    'Kept.'\n    return what\n"
    write(root / ".callgate/tools/kept.py", f"from callgate import tool\n\n{kept}")
    names, _, _ = asked(config(root, trust=True))
    assert [name for name in names if name.startswith(("Own", "Kept"))] == ["Kept"]
    names, _, _ = asked(config(root, trust=True), tools=["Own1", "WebFetch"])
    assert [name for name in names if name != "resolve"] == ["WebFetch", "Own1"]  # a custom tool may stage


@pytest.mark.spec("SRC-5")
def test_a_source_that_changes_joins_the_deferred_tools(root: Path) -> None:
    source = Changing(server_tool("send"))
    names, _, _ = asked(config(root, trust=True), deferred=source)
    assert {SEARCH, EXECUTE} <= {*names}
    names, _, _ = asked(config(root), deferred=source, bare=True)
    assert [name for name in names if name not in BARE] == [SEARCH, EXECUTE]


@pytest.mark.spec("EXE-26")
def test_without_a_user_a_call_that_repeats_itself_is_denied_and_the_run_continues(root: Path) -> None:
    write(root / "a.txt", "a")
    same = turn(call("Read", file_path="a.txt"))

    async def codes() -> tuple[str, list[str]]:
        model = ScriptedModel(same, same, same, turn(say("done")))
        async with await agent_session(config(root), model, tools=["Read"], attended=False) as session:
            result = await session.run("go")
        return result.reason, [each.result.code for each in result.calls if each.result is not None]

    assert asyncio.run(codes()) == ("done", ["ok", "ok", "denied"])
