"""``callgate demo``: a scripted model drives real sessions, and every claim is computed from their events and files."""

import asyncio
import signal
import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from contextlib import chdir, suppress
from pathlib import Path

from callgate import CallgateError
from callgate.cli.demo import in_terminal, killed, rewrite, streaming
from callgate.cli.demo.record import Fact, PlayRecord, facts
from callgate.cli.demo.shop import Shop, make_files
from callgate.cli.demo.stage import PlayStage
from callgate.cli.demo.view import PlayView
from callgate.cli.session.output import out

_INTRO = "A scripted model at work in a temporary folder. Everything but the model is real."
PLAYS = (streaming.PLAY, killed.PLAY, rewrite.PLAY)


def demo(options: Namespace) -> int:
    """Shows the agent in this terminal, then performs all plays in a temporary folder; 0 when every claim holds."""
    alone = options.json or options.lines or not in_terminal.plays_here()
    first = [] if alone else in_terminal.perform(options.speed)
    with tempfile.TemporaryDirectory(prefix="callgate-demo-") as folder:
        shop = Path(folder, "shop")
        shop.mkdir()
        with chdir(shop):
            make_files()
            try:
                found = asyncio.run(_perform(options.speed, PlayView(out(), options.form), first))
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
