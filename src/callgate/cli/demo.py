"""The command ``callgate demo``: a scripted model works on a sample repository. Everything except the model is real.

An installed package has one session: ``python -m callgate.cli.demo FOLDER SPEED FORM`` runs its first part and kills
itself, and the command resumes it. A checkout has more sessions, in ``examples/demo``.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import TypeVar

from callgate import Allow, Answer, Continue, Prompt, Session, Store
from callgate.admin.session_changes import shown_files
from callgate.assembly.agent import agent_session
from callgate.cli.command_rows import ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.session_log import LogFollower, LogView
from callgate.cli.terminal import Span, paragraph
from callgate.cli.text_output import out, put, put_json, put_text, say, text_width
from callgate.config import load_config
from callgate.formats.jsonable import to_json
from callgate.testing import ScriptedModel, call, turn
from callgate.testing import say as text
from callgate.testing.script import ScriptedTurn
from callgate.words import events as e
from callgate.words.inputs import Input

E = TypeVar("E")
FASTEST = 1000.0
CHECKOUT = Path(__file__).parents[3]
PROMPT = "Switch the shop to euros, give its function a better name, and put it online."
FILES = {
    "prices.py": 'CURRENCY = "EUR"\nPRICES = {"tea": 3, "cake": 4}\n',
    "cart.py": "from prices import PRICES\n\n\ndef total(items):\n    return sum(PRICES[item] for item in items)\n",
    "README.md": "# Shop\n\nAll prices are in USD.\n",
}
DEPLOYED = "deployed.txt"
_TOOLS = ("Read", "Edit", "Bash", "AstEdit")
_REWRITES = find_spec("ast_grep_py") is not None
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has one way only


def demo(speed: str | None, as_json: bool, lines: bool, no_color: bool) -> int:
    """Run a scripted model on real files in a temporary folder, which is removed at the end. Shows what Callgate
    promises, then checks each promise against the recorded events. Exit code 1 if a promise was broken."""
    pace = _pace(speed)
    if (CHECKOUT / "examples" / "demo").is_dir():
        sys.path.insert(0, str(CHECKOUT))
        return import_module("examples.demo").perform(pace, as_json=as_json, lines=lines, no_color=no_color)
    if no_color:
        os.environ["NO_COLOR"] = "1"
    with tempfile.TemporaryDirectory(prefix="callgate-demo-") as folder:
        return asyncio.run(short_demo(Path(folder), pace, "json" if as_json else "lines"))


def _pace(speed: str | None) -> float:
    name, given = ("--speed", speed) if speed is not None else ("CALLGATE_DEMO_SPEED", "")
    given = given or os.environ.get(name) or "1"
    try:
        found = float(given)
    except ValueError:
        found = 0.0
    if not (isfinite(found) and 0 < found <= FASTEST):
        raise CommandMisuse(f"{name} must be a number above 0 and up to {FASTEST:g}, not {given!r}")
    return found


async def short_demo(folder: Path, speed: float, form: str) -> int:
    """Run a session in a process that kills itself, resume it in this process, and check its events and files."""
    shop = folder / "shop"
    shop.mkdir()
    for name, content in FILES.items():
        (shop / name).write_text(content, encoding="utf-8", newline="\n")
    words = (sys.executable, "-m", "callgate.cli.demo", str(folder), str(speed), form)
    first = await asyncio.create_subprocess_exec(*words, stdin=subprocess.DEVNULL)
    try:
        code = await first.wait()
    finally:
        if first.returncode is None:
            first.kill()
    lines = form == "lines"
    if lines:
        put_text(f"Process {first.pid} was killed (exit code {code}). This process resumes its session.", "bold")
    end = turn(text("It may be online already, so I do not send it again.\n", over=0.8 / speed))
    follower = LogFollower(Store(shop, folder / "data").find())
    events = [*follower.read()]
    async with await _session(folder, (end,), resumes=True) as session:
        await _run(session, Continue(), _show(form, events), speed)
    claims = _claims([*events, *follower.read()], shop)
    follower.close()
    for claim, holds in claims.items():
        if lines:
            put_text(f"{'kept' if holds else 'not kept'}: {claim}", "green" if holds else "bold red")
        if not holds:
            say(f"demo: not kept: {claim}")
    return 0 if all(claims.values()) else 1


async def _first_part(folder: Path, speed: float, form: str) -> None:
    """Run the session until its last command has printed a line, then kill this process."""
    show = _show(form)

    def show_and_kill(event: e.Event) -> None:
        show(event)
        if isinstance(event, e.CallProgressed) and (folder / "shop" / DEPLOYED).exists():
            os.kill(os.getpid(), KILL)

    async with await _session(folder, _turns(speed), resumes=False) as session:
        await _run(session, Prompt(PROMPT), show_and_kill, speed)


def _turns(speed: float) -> Iterator[ScriptedTurn]:
    def said(words: str):
        return text(f"{words}\n", over=0.8 / speed)

    reads = (call("Read", file_path=name) for name in FILES)
    yield turn(*reads, said("The files are being read while I am still writing this sentence."))
    edit = call("Edit", file_path="README.md", old_string="USD", new_string="EUR")
    yield turn(said("The README names the old currency. The change is shown before it is made."), edit)
    if not _REWRITES:
        say("the rewrite by syntax is left out; it needs a package: pip install 'callgate[edit]'")
    else:
        rewrite = call("AstEdit", ops=[{"pattern": "total", "rewrite": "total_of"}], paths=["cart.py"])
        yield turn(said("A rewrite by syntax: first a preview,"), rewrite)
        yield turn(said("then exactly that."), call("resolve", action="apply", reason="the name is right"))
    command = f"echo sent >> {DEPLOYED}; cat {DEPLOYED}; sleep 60"  # the output follows the write
    yield turn(said("Now I put it online."), call("Bash", command=command, description="Put the shop online"))


async def _session(folder: Path, turns: Iterable[ScriptedTurn], *, resumes: bool) -> Session:
    """Open the session of an agent whose settings and data are in the folder of the demo."""
    environ = {"PATH": os.environ.get("PATH", ""), "CALLGATE_DATA_DIR": str(folder / "data")}
    config = load_config(folder / "shop", environ=environ, home=folder / "home")
    # In the sandbox the command would run without a question, which the demo shows.
    config = replace(config, settings=replace(config.settings, sandbox_disabled=True))
    store = Store(config.root, config.data)
    journal = await (store.open() if resumes else store.create())
    return await agent_session(config, ScriptedModel(*turns), journal=journal, tools=_TOOLS[: None if _REWRITES else 3])


async def _run(session: Session, sent: Input, show: Callable[[e.Event], None], speed: float) -> None:
    """Send an input, print the events, and answer every question with "yes"."""
    async for event in session.send(sent):
        show(event)
    for question in session.questions[:1]:
        await asyncio.sleep(1.0 / speed)
        await _run(session, Answer(question.answered(by="script", door="callgate demo")), show, speed)


def _show(form: str, earlier: Iterable[e.Durable] = ()) -> Callable[[e.Event], None]:
    """Return a function that prints an event as JSON or as text. The ``earlier`` events are read for the names of
    their calls and are not printed."""
    view, streamed = LogView(text_width()), ""
    for event in earlier:
        _ = [*view.lines(event)]  # the names of the calls

    def show(event: e.Event) -> None:
        nonlocal streamed
        if isinstance(event, e.CallArrived | e.MessageAdded) and streamed and form == "lines":
            put([*paragraph(streamed.strip(), text_width(), "green")])
            streamed = ""
        match event:
            case _ if form == "json":
                put_json(to_json(event))
            case e.TextStreamed():
                streamed += event.text
            case e.MessageAdded() if event.message.role == "assistant" or event.about is not None:
                pass
            case e.QuestionAsked():
                put(view.lines(event))
                for file in () if event.question.preview is None else shown_files(event.question.preview):
                    put([(Span(f"    {line}"),) for line in file.hunks])
            case _ if isinstance(event, e.Durable):
                put(view.lines(event))
            case _:
                pass
        out().flush()

    return show


def _claims(events: Sequence[e.Durable], shop: Path) -> dict[str, bool]:
    """Return a dict from each claim to True if the events and files agree with the claim."""

    def calls(kind: type[E]) -> list[E]:
        return [event for event in events if isinstance(event, kind)]

    def text_of(name: str) -> str:
        return (shop / name).read_text(encoding="utf-8")

    message = next(event for event in calls(e.MessageAdded) if event.message.role == "assistant")
    started = [event.call_id for event in calls(e.CallStarted)]
    allowed = {event.call_id for event in calls(e.CallDecided) if isinstance(event.decision, Allow)}
    unknown = [event.call_id for event in calls(e.CallSettled) if event.result.code == "outcome_unknown"]
    results = sorted(event.call_id for event in calls(e.CallSettled))
    return {
        "Reads start while the model is still writing": calls(e.CallStarted)[0].at < message.at,
        "A change is shown and approved before it is made": "EUR" in text_of("README.md"),
        "The rewrite that was shown is the one that was applied": not _REWRITES or "total_of" in text_of("cart.py"),
        "A call that a crash cut short is not repeated": [started.count(each) for each in unknown] == [1]
        and text_of(DEPLOYED) == "sent\n",
        "Nothing ran without a recorded decision": {*started} <= allowed,
        "One call, one result": results == sorted(event.call_id for event in calls(e.CallArrived)),
    }


COMMANDS = (
    CommandRow(
        "demo",
        demo,
        "",
        (
            ArgumentRow("--json", "print every event as a JSON line", "as_json"),
            ArgumentRow("--lines", "skip the first part, the agent in this terminal"),
            ArgumentRow("--speed X", "the speed factor (default 1, or $CALLGATE_DEMO_SPEED)"),
            ArgumentRow("--no-color", "print without colours (like $NO_COLOR)"),
        ),
    ),
)

if __name__ == "__main__":
    asyncio.run(_first_part(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]))
