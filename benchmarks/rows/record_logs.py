"""Logs to measure with: what an agent that edits files leaves behind, written as fast as this machine can."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import FULL, QUICK, Size
from callgate.conversation.chain import Chain
from callgate.transcript.codec import Encoder
from callgate.transcript.masking import Masker
from callgate.transcript.session_summary import Tally
from callgate.transcript.side_files import Index, write_index
from callgate.words.calls import Result
from callgate.words.decisions import Allow, arguments_hash
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Durable,
    MessageAdded,
    RunEnded,
    SessionOpened,
    TurnEnded,
    TurnStarted,
)
from callgate.words.messages import CallPart, Message, ResultPart, Text

BEGAN = 1_700_000_000.0
ENTRIES_A_TURN = 10
_PROMPT = "Please see to the next file and keep the style of the others. " * 3
_ANSWER = "I will change this file as the others were changed. " * 10
_OUTPUT = 'def doubled(number):\n    """Twice as much."""\n    return 2 * number\n\n\n' * 142
"""A result is on the log twice, as the call's and as the model's, so that 4,000 turns are about 100 MB."""
BUILD = Path(__file__).parents[2] / "build"


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is on record. Anything smaller than a quick run only shows that the rows can be had."""

    turns: int = 4_000
    """Of the log that is loaded whole."""
    live: int = 4_000
    """Turns that are left of ten times as many."""
    rounds: int = 5
    entries: int = 30_000
    """Appended and waited for."""
    syncs: int = 300
    """Of the disk alone."""
    sessions: int = 10_000
    prompts: int = 40
    """With ten calls each."""


_LEAST = Amounts(turns=6, live=4, rounds=1, entries=200, syncs=10, sessions=12, prompts=1)
_AMOUNTS = {
    FULL: Amounts(),
    QUICK: Amounts(turns=400, live=200, rounds=2, entries=3_000, syncs=60, sessions=1_000, prompts=5),
}


def amounts(size: Size) -> Amounts:
    return _AMOUNTS.get(size, _LEAST)


def scratch() -> TemporaryDirectory[str]:
    """A folder on a real disk: what is kept in memory has nothing to wait for."""
    chosen = os.environ.get("TMPDIR")
    if not chosen:
        BUILD.mkdir(exist_ok=True)
    return TemporaryDirectory(prefix="record-", dir=chosen or BUILD)


def opened() -> SessionOpened:
    return SessionOpened(BEGAN, "1")


def turns(first: int, count: int) -> Iterator[Durable]:
    """So many turns of one call each: ten entries, and 25 KB of which most is the call's result."""
    for number in range(first, first + count):
        at = BEGAN + number
        said, called = f"a{number}", f"c{number}"
        arguments = {"path": f"src/file{number}.py", "old": "number + number", "new": "2 * number"}
        hashed = arguments_hash("Edit", arguments)
        output = (Text(_OUTPUT),)
        asked = CallPart(called, "Edit", arguments)
        yield MessageAdded(at, Message(f"u{number}", "user", (Text(_PROMPT),)))
        yield TurnStarted(at, number, said)
        yield CallArrived(
            at=at, call_id=called, name="Edit", arguments=arguments, index=0, message_id=said, arguments_hash=hashed
        )
        yield CallDecided(at, called, Allow("rule Edit(src/**)"), hashed)
        yield MessageAdded(at, Message(said, "assistant", (Text(_ANSWER), asked), "model"), "tool_calls")
        yield CallStarted(at, called)
        yield CallSettled(at, called, Result(output), 12.5)
        yield MessageAdded(at, Message(f"r{number}", "tool", (ResultPart(called, "Edit", output),)))
        yield TurnEnded(at, number, "calls")
        yield RunEnded(at, "done")


def write_fast(log: Path, events: Iterable[Durable], masker: Masker) -> int:
    """A log and its index as a session that was closed leaves them, but not synced. Gives its size in bytes."""
    chain, tally, encoder = Chain(), Tally(), Encoder(log.stem, masker)
    end = 0
    with log.open("wb", 1 << 20) as file:
        for event in events:
            line = chain.place(event)
            data = encoder.encode(event, line)
            file.write(data)
            chain.add(line, end, end + len(data))
            tally.fold(event)
            end += len(data)
    write_index(
        log,
        Index(
            upto=end, n=encoder.n, sum=encoder.prev, leaf=chain.leaf, live=tuple(chain.live()), about=tally.summary()
        ),
    )
    return end
