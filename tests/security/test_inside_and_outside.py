"""What was written inside the sandbox does not run outside it: whole sessions with the real sandbox and a canary."""

import asyncio
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from callgate import Answer, Prompt, Session
from callgate.assembly.settings import Finished, StatusCommand
from callgate.config import Config
from callgate.policy.entries import HookLine, Layer, RuleLine
from callgate.testing import ScriptedModel, call, turn
from callgate.tools.builtin.bash import bash
from callgate.words.decisions import Origin
from callgate.words.events import Event, QuestionAsked
from tests.flows.gated import DONE, of
from tests.flows.test_sandboxed_commands import prove
from tests.host.sandbox.kit import visible_folder
from tests.rows import rows


def workspace(base: Path) -> Config:
    base = Path(os.path.realpath(base))
    for name in ("work", "home"):
        (base / name).mkdir(parents=True, exist_ok=True)
    config = Config(base / "work", base / "home", base / "data")
    prove(config)
    return config


def played(config: Config, allow: Sequence[str], *calls: object, answer: bool | None = None) -> list[Event]:
    """Run a session with one call for each message. Questions are answered, or end the session."""
    rules = tuple(RuleLine("allow", text, Origin("user")) for text in allow)
    model = ScriptedModel(*(turn(each) for each in calls), DONE)  # pyright: ignore[reportArgumentType]

    async def main() -> list[Event]:
        found: list[Event] = []
        async with Session(model, [bash()], config=replace(config, rules=rules)) as session:
            async for event in session.send(Prompt("go")):
                found.append(event)
                if isinstance(event, QuestionAsked):
                    if answer is None:
                        break
                    question = event.question
                    session.post(Answer(question.yes() if answer else question.no()))
        return found

    return asyncio.run(main())


@pytest.fixture
def canary() -> Iterator[Path]:
    """A file that does not exist, in a folder that commands in the sandbox see and cannot write."""
    with visible_folder() as folder:
        yield folder / "canary"


REFUSED = "touch: cannot touch '{canary}': Read-only file system"
FILES = {
    "make test": {"Makefile": 'test:\n\t@echo "{said}"; touch {canary}; exit 1\n'},
    "make -s test": {"Makefile": 'test:\n\t@echo "{said}"; touch {canary}; exit 1\n'},
    "sh build.sh": {"build.sh": 'echo "{said}"; touch {canary}; exit 1\n'},
    "bash build.sh": {"build.sh": 'echo "{said}"; touch {canary}; exit 1\n'},
    "python3 run.py": {"run.py": "print(\"{said}\"); open('{canary}', 'w')\n"},
    "python3 -m unittest": {"test_x.py": "print(\"{said}\"); open('{canary}', 'w')\n"},
    "gmake test || make test": {"Makefile": 'test:\n\t@echo "{said}"; touch {canary}; exit 1\n'},
    "make test | cat; false": {"Makefile": 'test:\n\t@echo "{said}"; touch {canary}; exit 1\n'},
    "timeout 9 make test": {"Makefile": 'test:\n\t@echo "{said}"; touch {canary}; exit 1\n'},
    "cd . && make test": {"Makefile": 'test:\n\t@echo "{said}"; touch {canary}; exit 1\n'},
}
ALLOWED = ["Bash(make:*)", "Bash(gmake:*)", "Bash(sh:*)", "Bash(bash:*)", "Bash(python3:*)", "Bash(false)"]


@pytest.mark.spec("GATE-13", "GATE-18")
@rows("command", list(FILES))
def test_a_command_that_claims_a_refusal_never_runs_outside_by_an_ordinary_rule(command: str, tmp_path: Path) -> None:
    base = tmp_path / command.replace(" ", "-").replace("|", "").replace("/", "")
    config, canary = workspace(base), base / "canary"
    for name, text in FILES[command].items():
        said = REFUSED.format(canary=canary)
        (config.root / name).write_text(text.replace("{said}", said).replace("{canary}", str(canary)))
    events = played(config, ALLOWED, *[call("Bash", command=command)] * 3)
    assert not canary.exists()
    (asked,) = of(events, QuestionAsked)
    assert asked.question.by in ("sandbox", "loop guard")


@pytest.mark.spec("GATE-18")
def test_a_rule_on_outside_runs_what_a_person_saw_and_asks_after_a_change(tmp_path: Path, canary: Path) -> None:
    config = workspace(tmp_path)
    (config.root / "Makefile").write_text(f"test:\n\ttouch {canary}\n")
    make = call("Bash", command="make test")
    events = played(config, ["Outside(make test:*)"], make, make)
    assert of(events, QuestionAsked) == []
    assert canary.exists(), "nothing in the workspace changed since the first session in it began"
    canary.unlink()
    events = played(config, ["Outside(make test:*)"], call("Bash", command="echo '#' >> Makefile"), make, make)
    (asked,) = of(events, QuestionAsked)
    assert "Makefile changed since the user last allowed this" in asked.question.reason
    assert asked.question.choices == ()
    assert not canary.exists()


@pytest.mark.spec("GATE-18")
def test_a_yes_to_running_outside_is_the_review_of_the_files(tmp_path: Path, canary: Path) -> None:
    config, make = workspace(tmp_path), call("Bash", command="make test")
    change = call("Bash", command=f"printf 'test:\\n\\ttouch {canary}\\n' > Makefile")
    events = played(config, ["Outside(make test:*)"], change, make, make, answer=True)
    (asked,) = of(events, QuestionAsked)
    assert "Makefile changed since the user last allowed this" in asked.question.reason
    assert canary.exists()
    canary.unlink()
    events = played(config, ["Outside(make test:*)"], make, make)
    assert of(events, QuestionAsked) == [], "nothing changed since the yes"
    assert canary.exists()


HOOKS: list[tuple[str, Layer]] = [
    ("make -s fmt", "project"),
    ("make -s fmt", "user"),
    ("sh fmt.sh", "project"),
    ("sh fmt.sh", "user"),
    ("./fmt.sh", "project"),
    ("./fmt.sh", "user"),
    (". ./fmt.sh", "user"),
    ("python3 fmt.py", "user"),
    ("bash -c 'make -s fmt'", "user"),
    ('"$CALLGATE_PROJECT_DIR"/fmt.sh', "user"),
    ("cd . && make fmt", "user"),
    ("timeout 9 make fmt", "user"),
    ("x=$(make -s fmt); echo $x", "user"),
]


@pytest.mark.spec("GATE-18", "HOOK-3")
@rows("line, layer", HOOKS)
def test_a_hook_runs_files_of_the_workspace_inside(line: str, layer: Layer, tmp_path: Path) -> None:
    base = tmp_path / str(len(list(tmp_path.iterdir())))
    with visible_folder() as folder:
        config, canary = workspace(base), folder / "canary"
        script = f"echo x > ran\necho x > {canary}\n"
        (config.root / "fmt.sh").write_text("")
        (config.root / "fmt.sh").chmod(0o755)
        hook = HookLine("PostToolUse", "command", line, Origin(layer))
        (config.root / "new").mkdir()
        (config.root / "new/fmt.sh").write_text(f"#!/bin/sh\n{script}")
        (config.root / "new/Makefile").write_text(f"fmt:\n\techo x > ran; echo x > {canary}\n")
        (config.root / "new/fmt.py").write_text(f"open('ran', 'w')\nopen({str(canary)!r}, 'w')\n")
        change = call("Bash", command="cp new/* . && chmod +x fmt.sh")
        events = played(replace(config, hooks=(hook,)), [], change)
        assert of(events, QuestionAsked) == []
        assert (config.root / "ran").exists(), "the hook ran"
        assert not canary.exists()


@pytest.mark.spec("GATE-18")
def test_the_status_line_of_a_repository_runs_inside(tmp_path: Path, canary: Path) -> None:
    config = workspace(tmp_path)
    (config.root / "Makefile").write_text(f"line:\n\t@echo the line; echo x > {canary}\n")
    for origin in ("project", "user"):
        settings = replace(config.settings, statusline_command="make -s line")
        set_to = replace(config, settings=settings, origins={"statusline.command": Origin(origin)})
        end = asyncio.run(StatusCommand(set_to)(b"{}"))
        assert isinstance(end, Finished)
        assert end.stdout == b"the line\n"
        assert not canary.exists()


@pytest.mark.spec("GATE-18", "GATE-19")
def test_a_command_outside_starts_no_program_that_was_written_inside(
    tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = workspace(tmp_path)
    root = config.root
    for words in (["init", "-q"], ["config", "user.email", "a@b.test"], ["config", "user.name", "A"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    monkeypatch.setenv("PATH", f"{root}/.venv/bin:bin:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", "src")
    evil = f"printf '#!/bin/sh\\necho x > {canary}\\n'"
    written = f"mkdir -p .venv/bin bin && {evil} > .venv/bin/git && {evil} > bin/git && chmod +x .venv/bin/git bin/git"
    commit = "git add -A && git commit -q -m made"
    allow = ["Outside(git add:*)", "Outside(git commit:*)"]
    events = played(config, allow, call("Bash", command=written), call("Bash", command=commit))
    assert of(events, QuestionAsked) == []
    assert not canary.exists()
    log = subprocess.run(["/usr/bin/git", "log", "--format=%s"], cwd=root, capture_output=True, text=True, check=True)
    assert log.stdout == "made\n"
