"""``callgate demo``: a scripted model drives real sessions, and every claim is computed from their events and files."""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir, suppress
from math import isfinite
from pathlib import Path

from callgate import CallgateError
from callgate.cli.command_rows import ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.demo import in_terminal, killed, rewrite, streaming
from callgate.cli.demo.record import Fact, PlayRecord, facts
from callgate.cli.demo.shop import Shop, make_files
from callgate.cli.demo.stage import PlayStage
from callgate.cli.demo.view import PlayView
from callgate.cli.text_output import out

_INTRO = "A scripted model at work in a temporary folder. Everything but the model is real."
FASTEST = 1000.0
PLAYS = (streaming.PLAY, killed.PLAY, rewrite.PLAY)


def demo(speed: str | None, as_json: bool, lines: bool, no_color: bool) -> int:
    """Show the agent in this terminal, then perform all plays in a temporary folder; return 0 if every claim holds."""
    pace = _pace(speed)
    first = [] if as_json or lines or not in_terminal.plays_here() else in_terminal.perform(pace)
    view = PlayView(out(), "json" if as_json else "plain" if no_color else "color")
    with tempfile.TemporaryDirectory(prefix="callgate-demo-") as folder:
        shop = Path(folder, "shop")
        shop.mkdir()
        with chdir(shop):
            make_files()
            try:
                found = asyncio.run(_perform(pace, view, first))
            except asyncio.CancelledError:
                return 128 + signal.SIGTERM
            except TimeoutError:
                raise CallgateError("the session did not come to an end, which is a bug; please report it") from None
    broken = [fact for fact in found if not fact.holds]
    for fact in broken:
        print(f"callgate demo: not kept: {fact.claim}: {fact.detail}", file=sys.stderr)
    return 1 if broken else 0


def _pace(speed: str | None) -> float:
    name, text = (
        ("--speed", speed)
        if speed is not None
        else ("CALLGATE_DEMO_SPEED", os.environ.get("CALLGATE_DEMO_SPEED") or "1")
    )
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not (isfinite(found) and 0 < found <= FASTEST):
        raise CommandMisuse(f"{name} must be a number above 0 and up to {FASTEST:g}, not {text!r}")
    return found


async def _perform(speed: float, view: PlayView, first: Sequence[Fact]) -> list[Fact]:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError):  # Windows
        loop.add_signal_handler(signal.SIGTERM, task.cancel)  # so that no folder and no process is left behind
    found, events = [*first], 0
    view.say(f"callgate demo: {_INTRO}", "dim", indent=0)
    async with asyncio.timeout(70 + 35 / speed):
        for play in PLAYS:
            record = PlayRecord()
            view.opened(play.prompt, play.titles)
            await play.perform(PlayStage(Shop(speed), record, view))
            found += facts(play.claims, record)
            events += len(record.events)
    view.facts(found, events)
    return found


COMMANDS = (
    CommandRow(
        "demo",
        demo,
        "",
        "A scripted model works on real files in a temporary folder that is removed at the end. "
        "Shows what the runtime promises, then checks it against the events: 1 if a promise was not kept.",
        (
            ArgumentRow("--json", "print every event as a line of JSON, and nothing else", "as_json"),
            ArgumentRow("--lines", "leave out the first part, the agent in this terminal"),
            ArgumentRow("--speed X", "so many times faster (default 1, or $CALLGATE_DEMO_SPEED)"),
            ArgumentRow("--no-color", "lines without colours (so does $NO_COLOR)"),
        ),
    ),
)
