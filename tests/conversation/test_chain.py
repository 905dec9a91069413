"""The tree of messages: which lines are live, and what each of them hangs on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from callgate.conversation.chain import Chain, Line, live_events
from callgate.conversation.ledger import Ledger
from callgate.words.calls import Result
from callgate.words.event_table import LineKind
from callgate.words.events import (
    CallArrived,
    CallSettled,
    CallStarted,
    Durable,
    MessageAdded,
    MetadataSet,
    ModeSet,
    Noted,
    RunEnded,
    TurnEnded,
    TurnStarted,
)
from callgate.words.messages import Message, Role, Text
from callgate.words.turns import Branched, Compacted, ResultReplaced, Rewound, Snipped

pytestmark = pytest.mark.spec("TRS-1")


def says(own: str, role: Role = "user") -> MessageAdded:
    return MessageAdded(0.0, Message(own, role, (Text(own),)))


@dataclass
class Log:
    """Lines of one byte each."""

    chain: Chain = field(default_factory=Chain)
    lines: list[Line] = field(default_factory=list[Line])
    refused: list[Line] = field(default_factory=list[Line])

    def add(self, *lines: Line) -> "Log":
        for line in lines:
            if not self.chain.add(line, len(self.lines), len(self.lines) + 1):
                self.refused.append(line)
            self.lines.append(line)
        return self

    @property
    def live(self) -> list[Line]:
        return [line for start, end in self.chain.live() for line in self.lines[start:end]]

    @property
    def said(self) -> list[str | None]:
        return [line.id for line in self.live if line.kind == "message"]


def message(own: str, parent: str | None) -> Line:
    return Line("message", own, parent)


def fact(parent: str | None) -> Line:
    return Line("fact", None, parent)


def linear(*ids: str) -> Log:
    log = Log()
    for own in ids:
        log.add(message(own, log.chain.leaf))
    return log


def test_a_rewind_leaves_a_dead_branch_and_a_branch_goes_back_to_it() -> None:
    log = linear("u1", "a1", "u2", "a2").add(Line("rewound", None, None, "u2"), message("u3", "a1"))
    assert log.said == ["u1", "a1", "u3"]
    log.add(Line("branched", None, None, "a2"), message("u4", "a2"))
    assert log.said == ["u1", "a1", "u2", "a2", "u4"]


def test_rewinding_the_first_message_leaves_nothing_live() -> None:
    log = linear("u1", "a1").add(Line("rewound", None, None, "u1"))
    assert log.said == []
    assert log.chain.leaf is None
    assert log.add(message("u2", None)).said == ["u2"]


@pytest.mark.parametrize("kind", ["rewound", "branched"], ids=["rewound", "branched"])
@pytest.mark.parametrize("target", ["gone", None], ids=["unknown", "none"])
def test_a_move_to_a_message_that_is_not_there_moves_nothing(kind: LineKind, target: str | None) -> None:
    assert linear("u1", "a1").add(Line(kind, None, None, target)).said == ["u1", "a1"]


@pytest.mark.parametrize("parent", ["lost", "a9", "u3"], ids=["never there", "later in the file", "itself"])
def test_a_parent_that_does_not_stand_earlier_counts_as_the_leaf(parent: str) -> None:
    log = linear("u1", "a1").add(message("u3", parent), message("a9", "u3"))
    assert log.said == ["u1", "a1", "u3", "a9"]


def test_parents_in_a_circle_are_a_line() -> None:
    log = Log().add(message("x", "z"), message("y", "x"), message("z", "y"), message("x2", "x"))
    assert log.said == ["x", "x2"]


def test_a_message_with_an_id_that_is_there_already_is_refused_and_moves_nothing() -> None:
    log = linear("u1", "a1", "u2").add(message("u1", "u2"))
    assert log.refused == [message("u1", "u2")]
    assert log.said == ["u1", "a1", "u2"]


def test_facts_live_and_die_with_their_message() -> None:
    log = linear("u1").add(fact("a1"), message("a1", "u1"), fact("a1"), message("u2", "a1"), fact("u2"))
    log.add(Line("rewound", None, None, "u2"))
    assert [line.parent for line in log.live if line.kind == "fact"] == ["a1", "a1"]


def test_a_fact_whose_message_never_came_lives_with_the_leaf_it_was_written_at() -> None:
    log = linear("u1", "a1", "u2").add(fact("a2"))
    assert fact("a2") in log.live
    log.add(Line("rewound", None, None, "u2"), fact("a3"))
    assert fact("a2") not in log.live
    assert fact("a3") in log.live


def test_what_hangs_on_the_session_is_always_live() -> None:
    log = linear("u1").add(fact(None), Line("rewound", None, None, "u1"), message("u2", None), fact(None))
    assert [line for line in log.live if line.kind == "fact"] == [fact(None), fact(None)]


def test_the_last_live_boundary_cuts_before_what_is_kept() -> None:
    log = linear("u1", "a1", "u2", "a2").add(Line("boundary", None, "a2", "u2"), message("u3", "a2"))
    assert log.said == ["u2", "a2", "u3"]
    log.add(Line("boundary", None, "u3", None), message("u4", "u3"))
    assert log.said == ["u4"]
    assert [line.target for line in log.live if line.kind == "boundary"] == [None]


def test_a_boundary_inside_a_kept_tail_says_nothing_any_more() -> None:
    """What the first one kept begins with u1, which is not loaded: folded, it would drop the tail."""
    log = linear("u1", "a1", "u2").add(Line("boundary", None, "u2", "u1"), Line("boundary", None, "u2", "a1"))
    assert log.said == ["a1", "u2"]
    assert [line.target for line in log.live if line.kind == "boundary"] == ["a1"]


def test_a_boundary_on_a_branch_that_was_left_cuts_nothing() -> None:
    log = linear("u1", "a1", "u2", "a2").add(Line("boundary", None, "a2", "u2"), Line("rewound", None, None, "a2"))
    assert log.said == ["u1", "a1", "u2"]


def test_a_boundary_made_after_a_branch_was_left_is_not_on_that_branch() -> None:
    """Folded behind u2 and a2, which stand before it, it would hide them."""
    log = linear("u1", "a1", "u2", "a2").add(Line("rewound", None, None, "u2"), Line("boundary", None, "a1", None))
    assert log.said == []
    log.add(Line("branched", None, None, "a2"))
    assert log.said == ["u1", "a1", "u2", "a2"]
    assert [line for line in log.live if line.kind == "boundary"] == []


def test_a_kept_tail_that_is_lost_keeps_nothing() -> None:
    log = linear("u1", "a1").add(Line("boundary", None, "a1", "lost"), message("u2", "a1"))
    assert log.said == ["u2"]


def turn(n: int, call_id: str) -> Sequence[Durable]:
    """One turn with a call, as the engine writes it."""
    return (
        TurnStarted(0.0, n, f"a{n}"),
        CallArrived(at=0.0, call_id=call_id, name="read", arguments={}, index=0, message_id=f"a{n}"),
        MessageAdded(0.0, Message(f"a{n}", "assistant", (Text("…"),)), "tool_calls"),
        CallStarted(0.0, call_id),
        CallSettled(0.0, call_id, Result()),
        MessageAdded(0.0, Message(f"r{n}", "tool", ())),
        TurnEnded(0.0, n, "calls"),
    )


def hung(events: Sequence[Durable]) -> list[str | None]:
    chain = Chain()
    found: list[str | None] = []
    for n, event in enumerate(events):
        line = chain.place(event)
        chain.add(line, n, n + 1)
        found.append(line.parent)
    return found


def test_the_facts_of_a_turn_hang_on_its_message() -> None:
    assert hung([says("u1"), *turn(1, "c1")]) == [None, "a1", "a1", "u1", "a1", "a1", "a1", "a1"]


def test_what_is_about_the_session_hangs_on_it_and_the_rest_on_the_leaf() -> None:
    about = [MetadataSet(0.0, "title", "x"), ModeSet(0.0, "plan")]
    at_leaf = [RunEnded(0.0, "done"), Noted(0.0, "x"), Compacted(0.0, "…")]
    named = [Snipped(0.0, ("u1",)), ResultReplaced(0.0, "r1", "c1", ())]
    found = hung([says("u1"), *turn(1, "c1"), *about, *at_leaf, *named])
    assert found[8:] == [None, None, "r1", "r1", "r1", "u1", "r1"]


def test_a_rewound_turn_takes_its_facts_along_and_the_fold_sees_nothing_of_it() -> None:
    events = [says("u1"), *turn(1, "c1"), RunEnded(0.0, "done"), says("u5"), *turn(2, "c2"), Rewound(0.0, "u5")]
    live = live_events(events)
    assert [type(event) for event in live] == [type(event) for event in [*events[:9], events[-1]]]
    assert set(Ledger(live).message_of) == {"c1"}
    back = live_events([*events, Branched(0.0, "r2")])
    assert back == [*events, Branched(0.0, "r2")]
