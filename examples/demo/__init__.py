"""The sessions of ``callgate demo``, which a wheel contains as ``callgate.demo_plays``. Every claim is computed from
the events and files."""

import asyncio
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir, suppress
from pathlib import Path

from callgate import CallgateError
from callgate.cli.text_output import out

from . import in_terminal, killed, rewrite, streaming
from .record import Fact, PlayRecord, facts
from .shop import Shop, make_files
from .stage import PlayStage
from .view import PlayView

_INTRO = "A scripted model at work in a temporary folder. Everything but the model is real."
PLAYS = (streaming.PLAY, killed.PLAY, rewrite.PLAY)


def perform(speed: float, *, as_json: bool, lines: bool, no_color: bool) -> int:
    """Show the agent in this terminal, then perform all plays in a temporary folder; return 0 if every claim holds."""
    first = [] if as_json or lines or not in_terminal.plays_here() else in_terminal.perform(speed)
    view = PlayView(out(), "json" if as_json else "plain" if no_color else "color")
    with tempfile.TemporaryDirectory(prefix="callgate-demo-") as folder:
        shop = Path(folder, "shop")
        shop.mkdir()
        with chdir(shop):
            make_files()
            try:
                found = asyncio.run(_perform(speed, view, first))
            except asyncio.CancelledError:
                return 128 + signal.SIGTERM
            except TimeoutError:
                raise CallgateError("the session did not come to an end, which is a bug; please report it") from None
    broken = [fact for fact in found if not fact.holds]
    for fact in broken:
        print(f"callgate demo: not kept: {fact.claim}: {fact.detail}", file=sys.stderr)
    return 1 if broken else 0


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
