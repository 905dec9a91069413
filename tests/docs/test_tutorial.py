"""The tutorial is followed: each command runs, in order, in a home of its own, and prints what the page shows."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.headless.blackbox import Program, calls, program, says
from tests.docs.kit import ROOT
from tests.docs.tutorial import Step, agrees, steps
from tests.terminal.driver import TerminalDriver

PAGE = ROOT / "docs/tutorial.md"
WRONG = "sum(PRICES[name] for name in basket)"
RIGHT = "sum(PRICES[name] * count for name, count in basket.items())"
FIX = ("Edit", {"file_path": "prices.py", "old_string": WRONG, "new_string": RIGHT})
READ = ("Read", {"file_path": "prices.py"})
# What the model says, request by request: the page shows these answers.
SCRIPT = (
    calls(READ, ("Read", {"file_path": "test_prices.py"})),
    says("total() adds each price once; it ignores how many there are of each."),
    calls(FIX),
    says("Fixed: total() multiplies each price by its count now."),
    calls(READ),
    calls(FIX),
    says("It is fixed again."),
    says("I made total() multiply each price by its count."),
    calls(READ, ("with_tax", {"cents": 1150})),
    says("Cheese costs 13.80 with tax."),
    calls(("Write", {"file_path": "notes.txt", "content": "total() ignored the count.\n"})),
    says("It is written."),
    calls(("Grep", {"pattern": "total"})),
    says("No, total() has two."),
)
END = "==end=="
# Notices that depend on the machine, and on the model of this test.
NOTICES = ("callgate: no sandbox is active", "callgate: Unknown model")


class Screens:
    """A shell in a terminal for the tables of keys; it is started when the first key is pressed."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._terminal: TerminalDriver | None = None

    def act(self, step: Step, folder: Path) -> None:
        """Presses the keys of a row and waits for what the page says; AssertionError with the screen if it does not
        come."""
        if self._terminal is None:
            shell = ["bash", "--norc", "-i"]
            self._terminal = TerminalDriver(shell, cwd=folder, env={**self._env, "PS1": "$ "}, columns=90, rows=40)
            self._terminal.wait_for("$ ")
        terminal = self._terminal
        # A card takes keys a moment after it has appeared, and hides the cursor then.
        if any("a always" in line for line in terminal.lines):
            terminal.wait_for(lambda seen: seen.screen.cursor.hidden)
        for act, name in step.keys:
            terminal.type(name) if act == "type" else terminal.press(name)
        for text in step.expected:
            terminal.wait_for(text)
        # A message that is sent while the agent still works would be another case.
        terminal.wait_for(re.compile(r"^ idle|^\$$|a always|Always allow", re.MULTILINE))

    def close(self) -> None:
        if self._terminal is not None:
            self._terminal.close()


class Shell:
    """One shell for all commands, so that folders and variables stay as they do for a reader."""

    def __init__(self, callgate: Program) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.env = {**callgate.env, "PATH": path, "LC_ALL": "C.UTF-8"}
        self._process = subprocess.Popen(
            ["bash", "--norc"],
            cwd=ROOT,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._code = 0

    def run(self, command: str) -> tuple[int, str]:
        """The exit code and the output, without notices; `$?` is that of the command before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"(exit {self._code})\n{{ {command}\n}} </dev/null\necho {END}$?\n")
        self._process.stdin.flush()
        lines: list[str] = []
        for line in self._process.stdout:
            text, end, code = line.partition(END)
            lines.append(text)
            if end:
                self._code = int(code)
                break
        return self._code, "".join(line for line in lines if not line.startswith(NOTICES))

    def folder(self) -> Path:
        return Path(self.run("pwd")[1].strip())

    def close(self) -> None:
        self._process.communicate("exit 0\n", timeout=30)


def follow(shell: Shell, screens: Screens, page: list[Step]) -> list[str]:
    """Does what the page says, and gives back where it is wrong; it stops there, since the rest would be wrong too."""
    for step, after in zip(page, [*page[1:], None], strict=True):
        if step.kind == "file":
            place = shell.folder() / step.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(step.text)
            continue
        if step.kind == "keys":
            screens.act(step, shell.folder())
            continue
        code, printed = shell.run(step.text)
        where = f"{PAGE.name}:{step.line}: {step.text}"
        # Failures are shown by what they print, or by their exit code in the next line.
        if code and not step.expected and (after is None or "$?" not in after.text):
            return [f"{where}: exit code {code}\n{printed}"]
        if step.expected and not agrees(step.expected, printed):
            return [f"{where}\n--- the page\n{chr(10).join(step.expected)}\n--- printed\n{printed}"]
    return []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell")
def test_following_the_tutorial_gives_what_it_shows(tmp_path: Path) -> None:
    page = steps(PAGE.read_text(encoding="utf-8"))
    assert len(page) > 25
    with program(tmp_path, *SCRIPT) as callgate:
        callgate.server.aside = says("A price that ignores the count")  # the title of a session
        shell = Shell(callgate)
        screens = Screens(shell.env)
        try:
            found = follow(shell, screens, page)
        finally:
            shell.close()
            screens.close()
        assert not found, "\n".join(found)
        assert len(callgate.server.requests) == len(SCRIPT), "the page has fewer steps than the script of the model"
        told = [str(request.json["messages"][-1]["content"]) for request in callgate.server.requests]
        assert "13.80" in told[9], "the tool did not run"
    assert RIGHT in (callgate.home / "shop/prices.py").read_text()


def test_dots_stand_for_any_text_and_for_any_lines() -> None:
    assert agrees(["a … c", "…", "z"], "a b c\nx\ny\nz\n")
    assert agrees(["…"], "")
    assert not agrees(["a"], "b\n")
    assert not agrees(["a"], "a\nb\n")


def test_the_page_has_the_ten_steps_in_order() -> None:
    text = PAGE.read_text(encoding="utf-8")
    wanted = (
        "Install",
        "first answer",
        "Approve",
        "Undo",
        "Resume and remember",
        "shell",
        "rule",
        "tool",
        "audit",
        "script",
    )
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert [word for word, title in zip(wanted, titles, strict=False) if word not in title] == []
    assert shlex.split(steps(text)[0].text) == ["callgate", "--version"]
