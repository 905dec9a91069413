"""How long a list of many sessions takes, with and without what it noted the last time."""

import time
from pathlib import Path

from benchmarks.measure import Size, spread
from benchmarks.report import Row
from benchmarks.rows.record_logs import BEGAN, amounts, scratch, write_fast
from callgate.transcript.masking import Masker
from callgate.transcript.session_paths import new_session_id
from callgate.transcript.store import Store
from callgate.words.events import MessageAdded, RunEnded, SessionOpened
from callgate.words.messages import Message, Text

LIMIT = 200.0
SHOWN = 20


def rows(size: Size) -> list[Row]:
    amount = amounts(size)
    with scratch() as name:
        store = Store(Path(name) / "work", Path(name) / "data")
        store.folder.mkdir(parents=True)
        latest = _fill(store, amount.sessions)
        colds: list[float] = []
        warms: list[float] = []
        for _ in range(min(2, amount.rounds)):
            for cache in store.folder.glob("*.catalogue"):
                cache.unlink()
            colds.append(_milliseconds(store, latest))
            warms += [_milliseconds(store, latest) for _ in range(amount.rounds)]
    work = f"list {SHOWN} of {amount.sessions:,} sessions: wall"
    return [
        Row("list", work, "ms", min(warms), limit=LIMIT, spread=spread(warms)),
        Row("list_cold", "  for the first time", "ms", min(colds), note="their logs are in the system's memory"),
    ]


def _fill(store: Store, count: int) -> str:
    """Small sessions, each used later than the one before. Gives the id of the last."""
    masker = Masker()
    session = ""
    for number in range(count):
        at = BEGAN + number
        session = new_session_id(at)
        events = (
            SessionOpened(at, "1", str(store.workspace)),
            MessageAdded(at, Message(f"u{number}", "user", (Text(f"What is in file {number}?"),))),
            MessageAdded(at, Message(f"a{number}", "assistant", (Text("Nothing that matters."),), "model"), "end"),
            RunEnded(at, "done"),
        )
        write_fast(store.folder / f"{session}.jsonl", events, masker)
    return session


def _milliseconds(store: Store, latest: str) -> float:
    before = time.perf_counter()
    found = store.list(limit=SHOWN)
    took = (time.perf_counter() - before) * 1e3
    first = next(iter(found), None)
    if first is None or first.session != latest or first.fault:
        raise RuntimeError(f"the list begins with {first}, not with {latest}")
    return took
