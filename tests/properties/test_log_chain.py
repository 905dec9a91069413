"""Random logs, whole and damaged: what is live is what the text of the decision says, with an index and without."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.conversation.chain import Chain, Line
from callgate.conversation.ledger import Ledger
from callgate.transcript.codec import read_line
from callgate.words.event_table import LineKind
from callgate.words.events import LinesQuarantined
from tests.history import faults
from tests.profiles import fewer
from tests.transcript.kit import (
    SESSION,
    Known,
    Written,
    check_same_by_index,
    known,
    live_by_text,
    open_and_say,
    put_log,
    run,
    said,
    store_in,
)

KINDS: dict[str, LineKind] = {
    "message": "message",
    "fact": "fact",
    "run_ended": "closing",
    "rewound": "rewound",
    "branched": "branched",
    "compacted": "boundary",
}
IDS = ("m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8")

ids = st.sampled_from(IDS)
some = st.one_of(st.none(), ids, st.just("lost"))
knowns = st.one_of(
    st.builds(Known, st.just("message"), ids, some),
    st.builds(Known, st.just("message"), ids, ids),
    st.builds(Known, st.sampled_from(("fact", "run_ended")), st.none(), some),
    st.builds(Known, st.sampled_from(("rewound", "branched")), st.none(), st.none(), some),
    st.builds(Known, st.just("compacted"), st.none(), some, some),
)
logs = st.lists(knowns, min_size=1, max_size=25)


@st.composite
def grown(draw: st.DrawFn) -> list[Known]:
    """A log as a session writes it: each message hangs on the leaf, and moves go to messages that are there."""
    lines: list[Known] = []
    before: dict[str, str | None] = {}
    leaf: str | None = None
    for n in range(draw(st.integers(1, 25))):
        what = draw(st.sampled_from((*["message"] * 3, "fact", "run_ended", "rewound", "branched", "compacted")))
        there = st.sampled_from(sorted(before)) if before else st.none()
        if what == "message":
            lines.append(Known(what, f"m{n}", leaf))
            before[f"m{n}"] = leaf
            leaf = f"m{n}"
        elif what == "fact":
            lines.append(Known(what, None, draw(st.one_of(st.just(leaf), st.none(), there))))
        elif what == "run_ended":
            lines.append(Known(what, None, leaf))
        elif what == "compacted":
            lines.append(Known(what, None, leaf, draw(st.one_of(st.none(), there))))
        else:
            target = draw(there)
            lines.append(Known(what, None, None, target))
            leaf = leaf if target is None else before[target] if what == "rewound" else target
    return lines


def written(lines: Sequence[Known]) -> list[bytes]:
    """The same as bytes; facts are titles or notes, so that what is always live tells which line it was."""
    log = Written()
    for at, line in enumerate(lines):
        match line.what:
            case "message":
                assert line.own is not None
                log.says(line.own, line.parent, f"line {at}", ("user", "assistant")[at % 2])
            case "fact":
                log.add("noted", None, line.parent, {"text": f"line {at}"})
            case "run_ended":
                log.add("run_ended", None, line.parent, {"reason": "done", "detail": f"line {at}"})
            case "compacted":
                log.add("compacted", None, line.parent, {"summary": f"line {at}", "kept": line.target})
            case moved:
                log.add(moved, None, line.parent, {"message_id": line.target or ""})
    return log.lines


def check_chain_by_text(lines: Sequence[Known]) -> None:
    chain = Chain()
    for at, line in enumerate(lines):
        chain.add(Line(KINDS[line.what], line.own, line.parent, line.target), at, at + 1)
        assert all(start < end for start, end in chain.live())
    live = [at for start, end in chain.live() for at in range(start, end)]
    assert live == live_by_text(lines)


@pytest.mark.spec("TRS-1")
@given(logs)
def test_what_is_live_of_any_lines_is_what_the_decision_says(lines: list[Known]) -> None:
    check_chain_by_text(lines)


@pytest.mark.spec("TRS-1")
@given(grown())
def test_what_is_live_of_a_sessions_lines_is_what_the_decision_says(lines: list[Known]) -> None:
    check_chain_by_text(lines)


@pytest.mark.spec("TRS-1")
@given(st.one_of(logs, grown()), st.data())
def test_lost_lines_leave_the_rest_as_the_decision_says(lines: list[Known], data: st.DataObject) -> None:
    lost = data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=4))
    check_chain_by_text([line for at, line in enumerate(lines) if at not in lost])


@pytest.mark.spec("TRS-1", "TRS-5", "TRS-11")
@given(st.one_of(logs, grown()), st.data())
@fewer(25)
def test_a_damaged_log_loads_by_the_text_and_the_same_with_its_index(lines: list[Known], data: st.DataObject) -> None:
    raw = written(lines)
    bad = data.draw(st.sets(st.integers(0, len(raw) - 1), max_size=3))
    image = b"".join(line[:20] + b"#" + line[21:] if at in bad else line for at, line in enumerate(raw))
    intact = [line for at, line in enumerate(raw) if at not in bad]
    live = [read_line(intact[at].rstrip(b"\n")).event for at in live_by_text([known(line) for line in intact])]
    with TemporaryDirectory() as folder:
        store = store_in(Path(folder))
        put_log(store, image)
        _, before = run(open_and_say(store, "one"))
        assert [event for event in before if not isinstance(event, LinesQuarantined)] == live
        assert faults(Ledger(before).history()) == []
        check_same_by_index(store)
        _, again = run(open_and_say(store, "two"))
        assert said(again) == [*said(before), "new-one"]
        check_same_by_index(store)
        assert said(store.read(SESSION).events) == [*said(before), "new-one", "new-two"]
