"""The built-in tools that are loaded with their first call: the data about them is that of the tools."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from callgate.core.capabilities import SessionFacts, ToolFacts, facts_of
from callgate.tools.builtin import BUILTIN, builtin_tools, shipped
from callgate.tools.builtin.shipped import shipped_tools
from callgate.tools.session_state import WORKING_FOLDER
from callgate.words.calls import Accepted
from tests.house.tree import ROOT

PROBE = """
import asyncio, json, sys
from callgate.assembly.agent import agent_session
from callgate.config import load_config
from callgate.words.model import Abilities, MessageEnded, PartEnded, PartStarted, TextDelta

class Model:
    name, abilities = "fixed", Abilities()

    async def stream(self, request):
        print(json.dumps([sorted(sys.modules), len(request.tools)]))
        yield PartStarted(0, "text")
        yield TextDelta(0, "Hello.")
        yield PartEnded(0)
        yield MessageEnded("end")

async def main():
    async with await agent_session(load_config(), Model()) as session:
        await session.run("hi")

asyncio.run(main())
"""


def test_a_checkout_caches_the_specs_of_its_tools_until_a_source_changes(tmp_path: Path) -> None:
    cache, made = tmp_path / "__pycache__" / shipped.FILE, json.loads(json.dumps(shipped.specs_of_tools()))
    assert shipped.cached_specs(cache) == made == shipped.load_specs()
    cached = json.loads(cache.read_bytes())
    assert cached["tools"] == made
    cache.write_text(json.dumps({**cached, "tools": {"Read": {}}}), "utf-8")
    assert shipped.cached_specs(cache) == {"Read": {}}, "the cache was not used"
    for stale in (json.dumps({"sources": cached["sources"][1:], "tools": {}}), "{", "[]"):
        cache.write_text(stale, "utf-8")
        assert shipped.cached_specs(cache) == made, stale


def test_a_wheel_contains_the_specs_and_the_demo_and_starts_without_the_tools(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        built = packed.read("callgate/tools/builtin/specs.json")
        assert "callgate/demo_plays/__main__.py" in packed.namelist()
        packed.extractall(tmp_path / "site")
    assert json.loads(built) == json.loads(json.dumps(shipped.specs_of_tools()))
    program = "import sys; from callgate.tools.builtin import BUILTIN, shipped\n"
    program += "print(shipped.__file__, len(shipped.shipped_tools(BUILTIN)), 'pydantic' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(tmp_path / "site"), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert ran.stdout.split() == [str(tmp_path / "site/callgate/tools/builtin/shipped.py"), str(len(BUILTIN)), "False"]


def stored(facts: ToolFacts) -> list[object]:
    """The facts that are known before a tool is loaded."""
    return [facts.title, facts.search_hint, facts.always_loaded, facts.stages, facts.takes_sandbox]


def test_each_tool_is_the_same_before_and_after_it_is_loaded() -> None:
    for stub, made in zip(shipped_tools(BUILTIN), builtin_tools(), strict=True):
        name = stub.spec.name
        about = (made.spec.parameters, made.aliases, made.previews, stored(facts_of(made)))
        assert (stub.spec.parameters, stub.aliases, stub.previews, stored(stub.facts)) == about, name
        assert made.spec.description.startswith(stub.spec.description)
        assert type(stub.load()) is type(made)
        assert stub.load() is stub.load()
        assert stored(stub.facts) == about[-1], name


def test_bash_has_the_sandbox_and_the_folder_that_it_was_given_before_it_was_loaded() -> None:
    (bash,) = shipped_tools(["Bash"])
    sandbox = object()
    bash.bind(SessionFacts(lambda: {WORKING_FOLDER: "/somewhere"}, sandbox))
    assert facts_of(bash.load()).sandbox is bash.facts.sandbox is sandbox
    read = bash.read({"command": "ls"})
    assert isinstance(read, Accepted)
    assert read.arguments["folder"] == "/somewhere"


def test_an_agent_sends_its_first_request_without_pydantic_and_what_else_only_calls_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped.load_specs()  # of a checkout, cached from now on
    monkeypatch.setenv("HOME", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    ran = subprocess.run([sys.executable, "-c", PROBE], cwd=work, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    loaded, tools = json.loads(ran.stdout)
    assert tools >= sum(each.facts.always_loaded for each in shipped_tools(BUILTIN))
    early = {"pydantic", "tree_sitter", "http.client", "zipfile", "callgate.tools.builtin.bash", "importlib.metadata"}
    assert not early & {*loaded}
