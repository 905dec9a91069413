"""The end of a staged action on the screen: one block with accepted, discarded or failed, the label and the reason."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt
from callgate.testing import turn
from callgate.tui.blocks import ActionBlock, CallBlock
from callgate.tui.fold import ConversationFold
from callgate.tui.render import Painter
from callgate.tui.theme import Theme
from callgate.words.calls import Display, Result
from callgate.words.errors import ToolFailure
from callgate.words.events import ActionResolved, ActionStaged, CallArrived, Event
from callgate.words.inputs import Resolve
from callgate.words.limits import LoopLimits
from callgate.words.messages import Text
from callgate.words.pending import Staged
from tests.flows.resolving.kit import Act, Bench, apply, discard, stages
from tests.rows import rows
from tests.tui.fakes import plain_face

LABEL = "rename the thing"
OWN = Result((Text("done by the tool"),), (Display("table", {"columns": ["name"], "rows": [["a.py"]]}, "Its names"),))
_DURATION = re.compile(r" · \d+\.\d s")  # shown if the machine is busy
BAD = Result((Text("half of it"),), (Display("text", "left: b.py", "The rest"),), is_error=True, code="tool_error")


def frame(events: list[Event], width: int = 100) -> str:
    fold = ConversationFold()
    fold.apply_all(events)
    painter = Painter(Theme("mono", colours=False), width, lambda name, _: plain_face(name))
    blocks = [each for each in fold.blocks if isinstance(each, CallBlock | ActionBlock)]
    _staged, first, *_later = blocks
    assert not _later or "failed" in "".join(painter.lines(first))
    return _DURATION.sub("", "\n".join(painter.lines(first)).strip("\n"))


def ran(folder: Path, act: Callable[[Bench], Act], *resolves: Any, by_person: Resolve | None = None) -> list[Event]:
    folder.mkdir()
    bench = Bench(folder)
    bench.put("it", act(bench), label=LABEL)

    async def main() -> None:
        limits: dict[str, Any] = {"limits": LoopLimits(max_turns=1)} if by_person else {}
        async with bench.open(turn(stages("it")), turn(*resolves), **limits):
            await bench.say(Prompt("go"))
            if by_person is not None:
                await bench.say(by_person)

    asyncio.run(main())
    return bench.events


CASES: list[tuple[str, Callable[[Bench], Act], Any, str]] = [
    (
        "applied",
        lambda bench: bench.callbacks("it"),
        apply("it is right"),
        f"✓ Accepted: {LABEL}  done\n  it is right",
    ),
    (
        "discarded",
        lambda bench: bench.callbacks("it"),
        discard("it is wrong"),
        f"✓ Discarded: {LABEL}  done\n  it is wrong",
    ),
    (
        "with a display of the producer",
        lambda bench: bench.callbacks("it", gives=OWN),
        apply("it is right"),
        f"✓ Accepted: {LABEL}  done\n  it is right\n  Its names\n  name\n  ────\n  a.py",
    ),
    (
        "raises",
        lambda bench: bench.callbacks("it", raises=OSError("disk is full")),
        apply("it is right"),
        f"✗ Failed: {LABEL}  failed\n  Apply failed: disk is full\n  it is right",
    ),
    (
        "refuses",
        lambda bench: bench.callbacks("it", raises=ToolFailure("not on Sundays")),
        apply("it is right"),
        f"✗ Failed: {LABEL}  failed\n  not on Sundays\n  it is right",
    ),
    (
        "fails with a display",
        lambda bench: bench.callbacks("it", gives=BAD),
        apply("it is right"),
        f"✗ Failed: {LABEL}  failed\n  half of it\n  it is right\n  The rest\n  left: b.py",
    ),
    (
        "files",
        lambda bench: bench.change("a.py"),
        apply("it is right"),
        f"✓ Accepted: {LABEL}  done\n  it is right",
    ),
]


@pytest.mark.spec("RES-11")
@pytest.mark.spec("RES-18")
@rows("name, act, resolve, shown", CASES)
def test_a_resolve_is_one_block(
    tmp_path: Path, name: str, act: Callable[[Bench], Act], resolve: Any, shown: str
) -> None:
    found = frame(ran(tmp_path / name, act, resolve))
    assert found == shown
    assert (found.count(LABEL), found.count("it is ")) == (1, 1)


def test_a_resolve_of_an_unknown_action_has_no_label_of_another() -> None:
    fold = ConversationFold()
    fold.apply(ActionStaged(0.0, Staged("pending-action:X:1", LABEL, "X")))
    fold.apply(CallArrived(0.0, "c", "resolve", {"action": "apply", "reason": "r", "id": "pending-action:X:9"}, 0))
    fold.apply(CallArrived(0.0, "d", "resolve", {"action": "apply", "reason": "r", "id": "pending-action:X:1"}, 1))
    fold.apply(CallArrived(0.0, "e", "resolve", {"action": "discard", "reason": "r"}, 2))
    titles = [each.title for each in fold.blocks if isinstance(each, CallBlock)]
    assert titles == ["", f"Apply: {LABEL}", f"Discard: {LABEL}"]


@pytest.mark.spec("RES-11")
def test_the_end_of_an_action_without_a_call_is_a_block() -> None:
    fold = ConversationFold()
    fold.apply(ActionStaged(0.0, Staged("pending-action:X:1", LABEL, "X")))
    fold.apply(CallArrived(0.0, "c", "resolve", {"action": "apply", "reason": "r", "id": "pending-action:X:9"}, 0))
    fold.apply(ActionResolved(0.0, "pending-action:X:1", LABEL, "lost", "the program ended", "callgate"))
    painter = Painter(Theme("mono", colours=False), 100, lambda name, _: plain_face(name))
    assert painter.lines(fold.blocks[-1]) == [f"✗ Lost by callgate: {LABEL}. the program ended"]


@pytest.mark.spec("RES-11")
@rows(
    "action, word",
    [("apply", "Accepted"), ("discard", "Discarded")],
)
def test_a_resolve_of_a_person_is_one_block(tmp_path: Path, action: Any, word: str) -> None:
    sent = Resolve(action, "I looked at it")
    events = ran(tmp_path / action, lambda bench: bench.callbacks("it"), by_person=sent)
    found = frame(events)
    assert f"{word} by you: {LABEL}" in found
    assert (found.count(LABEL), found.count("I looked at it")) == (1, 1)
