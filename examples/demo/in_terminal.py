"""The first part of the demo in a terminal: the real program on a scripted model mends a failing test.

A script types and answers, at the pace of a person. Files, commands, questions, record and terminal are the real ones.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, chdir, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from callgate import Session, Store
from callgate.assembly.agent import agent_session
from callgate.config import Config, load_config
from callgate.testing import ScriptedModel, call, say, turn
from callgate.testing.script import Step

from .record import Fact

if TYPE_CHECKING:
    from callgate.tui.app import TerminalApp
    from callgate.tui.port import SessionOpener

PROMPT = "A test fails. Find out why, and mend the code."
TESTS = "python3 -B -m unittest test_prices"
FILES = {
    "prices.py": (
        'PRICES = {"tea": 3, "cake": 4}\n\n\ndef total(basket):\n'
        '    """The price of a basket: names and how many of each."""\n'
        "    return sum(PRICES[name] for name in basket)\n"
    ),
    "test_prices.py": (
        "import unittest\n\nfrom prices import total\n\n\nclass TestTotal(unittest.TestCase):\n"
        "    def test_two_teas_cost_twice_as_much(self):\n"
        '        self.assertEqual(total({"tea": 2, "cake": 1}), 10)\n'
    ),
}
_FAULT, _FIXED = "PRICES[name] for name in basket", "PRICES[name] * count for name, count in basket.items()"
_REPORT = """It passes now.

| file | change |
|---|---|
| `prices.py` | `total` multiplies each price by the **number** of pieces |

The question before the edit showed exactly what was written. `/undo` undoes it.
"""


def plays_here() -> bool:
    """True if there is a terminal on both sides, and the packages for it are installed."""
    return (
        sys.stdin.isatty()
        and sys.stdout.isatty()
        and all(map(find_spec, ("prompt_toolkit", "markdown_it", "pygments")))
    )


def perform(speed: float) -> list[Fact]:
    """Runs the program in this terminal, in a folder of its own, and checks what became of the files."""
    from callgate.tui.app import run_terminal
    from callgate.tui.theme import theme_for

    with tempfile.TemporaryDirectory(prefix="callgate-demo-") as folder:
        work = Path(folder, "prices")
        work.mkdir()
        for name, text in FILES.items():
            (work / name).write_text(text, encoding="utf-8", newline="\n")
        failed = _passes(work)
        seen: dict[str, str] = {}
        theme = theme_for(encoding=sys.stdout.encoding)
        with chdir(work), _home(Path(folder, "home")):
            run_terminal(_opening(speed), theme, pilot=lambda app: _fly(app, work, speed, seen))
        mended, undone = seen.get("mended", ""), (work / "prices.py").read_text(encoding="utf-8")
    return [
        Fact("The agent mends a failing test in this terminal", not failed and seen.get("passes") == "yes", PROMPT),
        Fact("An edit is asked about, with its diff, and then made", _FIXED in mended, "prices.py is as it was shown"),
        Fact("/undo takes it back", undone == FILES["prices.py"], "prices.py is as it was, byte for byte"),
    ]


def _passes(work: Path) -> bool:
    words = [sys.executable, *TESTS.split()[1:]]
    return subprocess.run(words, cwd=work, capture_output=True, timeout=60).returncode == 0


@contextmanager
def _home(folder: Path) -> Generator[None]:
    """A home of its own: no settings of the person count, and nothing is left behind."""
    before = dict(os.environ)
    os.environ.update(HOME=str(folder), CALLGATE_DATA_DIR=str(folder / "data"))
    for name in ("XDG_CONFIG_HOME", "CALLGATE_CONFIG_DIR"):
        os.environ.pop(name, None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _opening(speed: float) -> "SessionOpener":
    @asynccontextmanager
    async def opened(_terminal: object, _start: object) -> AsyncGenerator[tuple[Session, Config]]:
        config = load_config(allow=[f"Bash({TESTS})"])
        store = Store(config.root, config.data)
        yield await agent_session(config, _model(speed), journal=await store.create()), config

    return opened


def _model(speed: float) -> ScriptedModel:
    def tell(text: str, seconds: float = 0.8) -> Step:
        return say(text, over=seconds / speed)

    return ScriptedModel(
        turn(tell("I run the tests first.\n"), call("Bash", command=TESTS, description="Run the tests")),
        turn(
            tell("One fails: 7 instead of 10. I read the test, and the code it tests.\n"),
            call("Read", file_path="test_prices.py"),
            call("Read", file_path="prices.py"),
        ),
        turn(
            tell("`total` forgets **how many** of each there are.\n"),
            call("Edit", file_path="prices.py", old_string=_FAULT, new_string=_FIXED),
        ),
        turn(tell("And once more.\n", 0.4), call("Bash", command=TESTS, description="Run the tests")),
        turn(tell(_REPORT, 1.5)),
    )


async def _fly(app: "TerminalApp", work: Path, speed: float, seen: dict[str, str]) -> None:
    """Leaves the terminal when the script is over, or takes too long: its claims fail then."""
    try:
        async with asyncio.timeout(60 + 40 / speed):
            await _script(app, work, speed, seen)
    except TimeoutError:
        pass
    finally:
        app.quit()


async def _script(app: "TerminalApp", work: Path, speed: float, seen: dict[str, str]) -> None:
    """Types the prompt, says yes to the question, looks at the files, and takes the edit back."""

    async def until(holds: Callable[[], bool]) -> None:
        while not holds():  # noqa: ASYNC110 - of a screen, not of an event
            await asyncio.sleep(0.05)
        await asyncio.sleep(1.2 / speed)

    async def typed(text: str) -> None:
        for letter in text:
            app.composer.insert(letter)
            app.redraw()
            await asyncio.sleep(0.03 / speed)
        await asyncio.sleep(0.4 / speed)
        app.act("submit")

    def rests() -> bool:
        return app.fold.status == "idle"

    await until(lambda: app.session is not None)
    await typed(PROMPT)
    await until(lambda: app.receiver.context == "question")
    await asyncio.sleep(1.5 / speed)
    app.act("yes")
    await until(rests)
    seen["mended"] = (work / "prices.py").read_text(encoding="utf-8")
    seen["passes"] = "yes" if await asyncio.to_thread(_passes, work) else "no"
    await typed("/undo")
    await until(lambda: app.receiver.context == "selector")
    app.act("choose")
    await until(lambda: rests() and (work / "prices.py").read_text(encoding="utf-8") == FILES["prices.py"])
    await asyncio.sleep(1.0 / speed)
