"""What the type checker says of programs that use Callgate: correct programs pass, and mistakes are found."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PASSES = """
from dataclasses import dataclass
from callgate import Model, Run, RunResult, Session, SessionLimits, Tool, run_sync, tool

@dataclass
class Shop:
    name: str

@tool
def first(item: str, run: Run[Shop]) -> str:
    return run.deps.name + item

@tool(effects="none")
async def second(count: int) -> int:
    return count

def third(text: str) -> str:
    return text

TOOLS = [first, second]
ALL = [first, second, third]
NAMED: list[Tool] = [first, second]

def main(model: Model) -> None:
    shop, limits = Shop("a"), SessionLimits()
    result: RunResult[int] = run_sync(model, "go", TOOLS, output=int, deps=shop, mode="plan", limits=limits)
    print(result.output, run_sync("opus", "go", ALL).text, first("a", run=None))  # pyright: ignore[reportArgumentType]
    session = Session[Shop](model, NAMED, deps=Shop("a"))
    plain: Session = Session("opus", TOOLS, deps=Shop("a"))
    print(session, plain, second(3))
"""

HEAD = """
from callgate import Answer, Case, Check, Model, Prompt, QuestionAsked, Run, Session, run_sync, tool
class Shop: ...
class Bank: ...
@tool
def act(n: int, run: Run[Shop]) -> str:
    return str(n)
def main(model: Model, asked: QuestionAsked) -> None:
    """
MISTAKES = [
    "Session[Shop](model, [act], deps=Bank())",
    "Session[Shop](model, [act], deps=Shop)",
    'run_sync(model, "go", [act], dep=Shop())',
    'run_sync(model, "go", [act], limit=3)',
    'run_sync(model, "go", [act], mode="plann")',
    'run_sync(model, "go", [act], system=3)',
    'run_sync(model, "go", [act], outputs=int)',
    'run_sync(3, "go")',
    "Session(model, [3])",
    "Session(model, act)",
    'Session(model, [act]).derive(modus="plan")',
    "Answer(asked.question)",
    "Prompt(3)",
    'act("three")',
    'tool(effect="none")',
]


def _checked(folder: Path, text: str) -> list[dict[str, object]]:
    file = folder / "program.py"
    file.write_text(text)
    command = [str(Path(sys.executable).with_name("basedpyright")), "--outputjson", "-p", str(folder)]
    (folder / "pyrightconfig.json").write_text(
        json.dumps({"typeCheckingMode": "standard", "pythonVersion": "3.11", "extraPaths": sys.path[1:]})
    )
    ran = subprocess.run(command, capture_output=True, text=True)
    return [each for each in json.loads(ran.stdout)["generalDiagnostics"] if each["severity"] == "error"]


@pytest.fixture(autouse=True)
def _has_checker() -> None:
    if not Path(sys.executable).with_name("basedpyright").exists():
        pytest.skip("basedpyright is not installed")


def test_correct_programs_have_no_type_errors(tmp_path: Path) -> None:
    assert _checked(tmp_path, PASSES) == []


def test_mistakes_in_programs_are_type_errors(tmp_path: Path) -> None:
    found = _checked(tmp_path, HEAD + "\n    ".join(MISTAKES) + "\n")
    start = HEAD.count("\n")
    lines = {each["range"]["start"]["line"] - start for each in found}  # type: ignore[index]
    missed = [mistake for number, mistake in enumerate(MISTAKES) if number not in lines]
    assert not missed, "no type error:\n" + "\n".join(missed)
