"""Takes the pictures of the terminal that the documents show: docs/pictures/*.svg.

    .venv/bin/python -m scripts.pictures [NAME …] [--png FOLDER]

The real program runs in a pseudo-terminal, in a folder and a home of its own, and speaks with a server that plays the
answers of a model; a scene presses keys and waits for what a person would see. `--png` also writes bitmaps for looking
at, where cairosvg is installed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from scripts.terminal_svg import FONTS, drawn
from tests.cli.headless.blackbox import calls, program, says
from tests.providers.servers import Reply
from tests.terminal.driver import TerminalDriver

ROOT = Path(__file__).resolve().parents[1]
MODEL = "local/coder"
PICTURES = ROOT / "docs/pictures"
WRONG = "sum(PRICES[name] for name in basket)"
RIGHT = "sum(PRICES[name] * count for name, count in basket.items())"
LOOKS = calls(
    ("Read", {"file_path": "prices.py"}),
    ("Read", {"file_path": "test_prices.py"}),
    text="I read the code and its test.",
)
EXPLAINS = says(
    "`total()` adds the price of each thing **once**. The test buys three apples, so it expects 120 and gets 40.\n\n"
    "It has to multiply by the count:\n\n```python\n"
    f"return {RIGHT}\n```\n"
)
FIXES = calls(("Edit", {"file_path": "prices.py", "old_string": WRONG, "new_string": RIGHT}))
TESTS = calls(("Bash", {"command": "python3 -m unittest", "description": "Run the tests"}))
DONE = says("Fixed: both tests pass. `total()` multiplies each price by its count now.")


@dataclass(frozen=True)
class Scene:
    """``play`` leads to the moment of the picture; it starts with the input line on the screen."""

    title: str
    replies: Sequence[Reply]
    play: Callable[[TerminalDriver], None]
    columns: int = 88
    rows: int = 40
    words: Sequence[str] = ()


def _explains(terminal: TerminalDriver) -> None:
    terminal.type("Why does test_several_of_one fail?")
    terminal.press("enter")
    terminal.wait_for("multiply by the count")
    terminal.wait_for("idle")


def _asks(terminal: TerminalDriver) -> None:
    _explains(terminal)
    terminal.type("Fix it, and run the tests.")
    terminal.press("enter")
    terminal.wait_for("a always")
    terminal.wait_for(lambda seen: seen.screen.cursor.hidden)  # the card takes keys


def _remembers(terminal: TerminalDriver) -> None:
    _asks(terminal)
    terminal.press("a")
    terminal.wait_for("Always allow")
    terminal.press("down", "tab")
    terminal.wait_for("[this project]")


def _shows_context(terminal: TerminalDriver) -> None:
    _explains(terminal)
    terminal.type("/context")
    terminal.press("enter")
    terminal.wait_for("free")


def _lists_commands(terminal: TerminalDriver) -> None:
    terminal.type("/")
    terminal.wait_for("/compact")


def _finishes(terminal: TerminalDriver) -> None:
    _asks(terminal)
    terminal.press("y")
    terminal.wait_for("Fixed:")
    terminal.wait_for("idle")


SCENES: dict[str, Scene] = {
    "answer": Scene("callgate: an answer", (LOOKS, EXPLAINS), _explains),
    "question": Scene("callgate: a question", (LOOKS, EXPLAINS, FIXES), _asks),
    "always": Scene("callgate: always", (LOOKS, EXPLAINS, FIXES), _remembers),
    "commands": Scene("callgate: commands", (), _lists_commands),
    "context": Scene("callgate: /context", (LOOKS, EXPLAINS), _shows_context, rows=60),
    "narrow": Scene("callgate: 60 columns", (LOOKS, EXPLAINS, FIXES), _asks, columns=60, rows=48),
    "session": Scene(
        "callgate: a bug is fixed",
        (LOOKS, EXPLAINS, FIXES, TESTS, DONE),
        _finishes,
    ),
}


def taken(scene: Scene, folder: Path, data: Path) -> str:
    """The picture: what is on the screen, without empty rows at the end."""
    with program(folder, *scene.replies) as callgate:
        shop = callgate.home / "shop"
        shutil.copytree(ROOT / "examples/fix_a_test/sample", shop)
        if data.exists():
            shutil.copytree(data, callgate.home / ".local/share/callgate")
        env = {**callgate.env, "COLORTERM": "truecolor"}
        callgate.server.aside = says("A price that ignores the count")  # the title of the session
        _settings(callgate.home / ".config/callgate", callgate.server.url)
        command = [sys.executable, "-m", "callgate", *scene.words]
        with TerminalDriver(command, cwd=shop, env=env, columns=scene.columns, rows=scene.rows) as terminal:
            terminal.wait_for("idle")
            scene.play(terminal)
            filled = [number for number, line in enumerate(terminal.lines) if line]
            rows = [terminal.screen.cells(number) for number in range(filled[-1] + 1)]
            return drawn(rows, scene.title, None if terminal.screen.cursor.hidden else terminal.cursor)


def _settings(folder: Path, url: str) -> None:
    """A model of which everything is known, so that no notice is in the picture."""
    (folder / "settings.toml").write_text(
        f'[models]\ndefault = "{MODEL}"\n'
        f'[providers.local]\nfamily = "openai-chat"\nbase_url = "{url}"\nkey_variable = "FAKE_KEY"\n'
    )
    (folder / "models.toml").write_text(
        f'[models."{MODEL}"]\ncontext = 200000\noutput = 32000\nprices = {{ input = 1, output = 5 }}\n'
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Takes the pictures of the terminal that the documents show.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SCENES)} (default: all)")
    parser.add_argument("--png", type=Path, metavar="FOLDER", help="bitmaps too, for looking at")
    given = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        # Once for all scenes: with a sandbox most commands need no question.
        proven = [sys.executable, "-m", "callgate", "sandbox", "prove"]
        subprocess.run(proven, env={**os.environ, "CALLGATE_DATA_DIR": str(data)}, capture_output=True, check=False)
        for name in given.names or SCENES:
            svg = taken(SCENES[name], Path(folder, name), data)
            (PICTURES / f"{name}.svg").write_text(svg, encoding="utf-8")
            print(f"{name}.svg: {len(svg) / 1000:.1f} kB")
            if given.png:
                _bitmap(svg, given.png / f"{name}.png")
    return 0


def _bitmap(svg: str, file: Path) -> None:
    try:
        cairosvg = import_module("cairosvg")
    except (ImportError, OSError):  # the package, or the library that it loads
        print("no bitmaps: cairosvg is not installed")
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    fixed = svg.replace(FONTS, "DejaVu Sans Mono")  # the converter knows no list of fonts
    cairosvg.svg2png(bytestring=fixed.encode(), write_to=str(file), scale=2)


if __name__ == "__main__":
    sys.exit(main())
