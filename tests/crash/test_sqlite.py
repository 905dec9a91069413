"""A session in a database, killed at every event that doors hear of: nothing told is lost, nothing is done twice."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from callgate import Continue, Session, shared, tool
from callgate.testing import ScriptedModel, say, turn
from callgate.words.events import CallSettled
from examples.journals.sqlite_journal import SqliteJournal
from tests.flows.keep import results
from tests.history import faults

PROGRAM = Path(__file__).with_name("sqlite_program.py")


def run_until(path: Path, lines: int | None) -> list[str]:
    """Start the program and kill it when it has printed so many lines. All that it printed."""
    with subprocess.Popen(
        [sys.executable, PROGRAM, path, path.with_suffix(".world")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        printed: list[str] = []
        for line in process.stdout:
            printed.append(line.strip())
            if len(printed) == lines:
                process.kill()
                break
        return printed + process.stdout.read().split("\n")[:-1]


@pytest.mark.spec("TRS-3", "TRS-7", "TRS-8")
@pytest.mark.parametrize("lines", [1, *(pytest.param(lines, marks=pytest.mark.slow) for lines in (2, 3, 9)), 6, None])
def test_what_was_told_is_there_after_a_kill_and_the_session_goes_on(tmp_path: Path, lines: int | None) -> None:
    path = tmp_path / "session.sqlite"
    printed = run_until(path, lines)
    told = {line.split()[1] for line in printed if line.startswith("CallSettled")}

    async def main() -> None:
        @tool(locks=shared)
        async def add(n: int) -> str:
            """Add a line to the world."""
            raise AssertionError("nothing runs again")

        journal = await SqliteJournal.open(path)
        settled = {event.call_id for _, event in await journal.after(0) if isinstance(event, CallSettled)}
        assert told <= settled
        model = ScriptedModel(otherwise=turn(say("I see.")))
        async with Session(model, [add], journal=journal, mode="bypass", host=tmp_path) as session:
            if session.status == "paused":
                await session.send(Continue())
            assert session.messages[-1].text in ("done", "I see.")
            assert faults(session.messages) == []
            ok = [text for text in results(session.messages).values() if text.startswith("added")]
            done = path.with_suffix(".world").read_text().split() if path.with_suffix(".world").exists() else []
            assert len(done) == len(set(done))
            assert len(ok) <= len(done) <= len(ok) + 1, "at most the call that was cut off is of unknown outcome"

    asyncio.run(main())
