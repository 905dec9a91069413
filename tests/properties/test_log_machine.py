"""A log under everything that can happen to it, beside a plain list that says what must be live.

The model knows each event with the message it hangs on, and walks the tree from scratch every time.
"""

import asyncio
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from callgate.conversation.ledger import Ledger
from callgate.transcript.disk_journal import DiskJournal
from callgate.words.calls import Result
from callgate.words.decisions import Allow
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    ContextUpdated,
    Durable,
    LinesQuarantined,
    MessageAdded,
    MetadataSet,
    ModeSet,
    RunEnded,
    TurnEnded,
    TurnStarted,
)
from callgate.words.messages import CallPart, Message, ResultPart, Text
from callgate.words.turns import Branched, Compacted, Counted, ResultReplaced, Rewound, Snipped
from tests.profiles import fewer
from tests.transcript.kit import AT, SESSION, check_chain, check_same_by_index, drop_index, put_log, store_in, verified

MODES = ("default", "plan", "accept_edits", "bypass")


@dataclass
class Noted:
    """An event with what it hangs on: a message, or None for the session."""

    event: Durable
    on: str | None = None


@dataclass
class Plain:
    """What is on record, and what follows from it."""

    lines: list[Noted] = field(default_factory=list[Noted])

    @property
    def messages(self) -> dict[str, Message]:
        return {
            each.event.message.id: each.event.message for each in self.lines if isinstance(each.event, MessageAdded)
        }

    def _tree(self) -> tuple[dict[str, str | None], str | None]:
        before: dict[str, str | None] = {}
        leaf: str | None = None
        for each in self.lines:
            match each.event:
                case MessageAdded(message=message):
                    before[message.id], leaf = each.on, message.id
                case Rewound(message_id=target):
                    leaf = before[target]
                case Branched(message_id=target):
                    leaf = target
                case _:
                    pass
        return before, leaf

    @property
    def leaf(self) -> str | None:
        return self._tree()[1]

    @property
    def way(self) -> list[str]:
        """From the first message to the leaf."""
        before, at = self._tree()
        found: list[str] = []
        while at is not None:
            found.insert(0, at)
            at = before[at]
        return found

    def _boundary(self) -> tuple[int, Compacted, str] | None:
        """The last one on the way: it stands behind its message, and before what came next there."""
        way = self.way
        places = {e.event.message.id: n for n, e in enumerate(self.lines) if isinstance(e.event, MessageAdded)}
        for n in reversed(range(len(self.lines))):
            event, on = self.lines[n].event, self.lines[n].on
            if isinstance(event, Compacted) and on is not None and on in way:
                after = way[way.index(on) + 1 :]
                if not after or places[after[0]] > n:
                    return n, event, on
        return None

    @property
    def seen(self) -> list[str]:
        """The messages since the boundary, its kept tail included."""
        way, boundary = self.way, self._boundary()
        if boundary is None:
            return way
        _, event, on = boundary
        return way[way.index(event.kept) :] if event.kept in way else way[way.index(on) + 1 :]

    @property
    def context(self) -> dict[str, Any]:
        boundary, seen = self._boundary(), self.seen
        at, found = (-1, dict[str, Any]()) if boundary is None else (boundary[0], dict(boundary[1].context))
        for each in self.lines[at + 1 :]:
            if isinstance(each.event, ContextUpdated) and each.on in seen:
                found |= each.event.update
        return found

    def latest(self, key: str) -> Any:
        values = [e.event.value for e in self.lines if isinstance(e.event, MetadataSet) and e.event.key == key]
        return values[-1] if values else None

    @property
    def mode(self) -> str:
        modes = [each.event.mode for each in self.lines if isinstance(each.event, ModeSet)]
        return modes[-1] if modes else "default"


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp(prefix="callgate-log-"))
        self.runner = asyncio.Runner()
        self.store = store_in(self.folder)
        self.plain = Plain()
        self.count = 0
        self.indexes: list[bytes] = []
        self.lives = 0
        self.journal: DiskJournal
        self.ledger = Ledger()

    @initialize()
    def begin(self) -> None:
        self.log = put_log(self.store, b"")
        self._open()
        self._turn("first")

    def teardown(self) -> None:
        if hasattr(self, "journal"):
            self.runner.run(self.journal.aclose())
        self.runner.close()
        shutil.rmtree(self.folder)

    # ---- what a session writes ------------------------------------------------------------------------------------

    def _write(self, event: Durable, on: str | None = None) -> None:
        self.journal.append(event)
        self.ledger.fold(event)
        self.plain.lines.append(Noted(event, on))

    def _say(self, message: Message, stop: Any = None) -> None:
        self._write(MessageAdded(AT, message, stop), self.plain.leaf)

    def _next(self) -> int:
        self.count += 1
        return self.count

    def _turn(self, text: str) -> None:
        n = self._next()
        self._say(Message(f"u{n}", "user", (Text(text),)))
        self._write(TurnStarted(AT, n, f"a{n}"), f"a{n}")
        self._write(
            CallArrived(at=AT, call_id=f"c{n}", name="write", arguments={"path": text}, index=0, message_id=f"a{n}"),
            f"a{n}",
        )
        self._write(CallDecided(AT, f"c{n}", Allow("test"), ""), f"a{n}")
        self._say(Message(f"a{n}", "assistant", (Text("…"), CallPart(f"c{n}", "write", {"path": text}))), "tool_calls")
        self._write(CallStarted(AT, f"c{n}"), f"a{n}")
        self._write(CallSettled(AT, f"c{n}", Result((Text("ok"),))), f"a{n}")
        self._write(ContextUpdated(AT, f"c{n}", {"last": n, f"k{n % 3}": n}), f"a{n}")
        self._say(Message(f"r{n}", "tool", (ResultPart(f"c{n}", "write", (Text("ok"),)),)))
        self._write(TurnEnded(AT, n, "calls"), f"a{n}")
        self._write(RunEnded(AT, "done"), self.plain.leaf)

    @rule(text=st.sampled_from(("a", "b", "ü\u2028")))
    def take_a_turn(self, text: str) -> None:
        self._turn(text)

    @rule(text=st.sampled_from(("x", "y")))
    def say_only(self, text: str) -> None:
        self._say(Message(f"u{self._next()}", "user", (Text(text),)))

    @rule(data=st.data())
    def rewind_to_any_message(self, data: st.DataObject) -> None:
        fitting = [each for each in self.plain.messages.values() if each.role != "tool"]
        if fitting:
            self._move(Rewound(AT, data.draw(st.sampled_from(fitting)).id, self._counted()))

    @rule(data=st.data())
    def branch_to_any_message(self, data: st.DataObject) -> None:
        fitting = [each for each in self.plain.messages.values() if not each.calls]
        if fitting:
            self._move(Branched(AT, data.draw(st.sampled_from(fitting)).id, self._counted()))

    def _move(self, event: Rewound | Branched) -> None:
        """As a session does it: look for the message, write, read again."""
        if event.message_id not in {message.id for message in self.ledger.messages}:
            message = self.runner.run(self.journal.recall(event.message_id))
            assert message == self.plain.messages[event.message_id]
        self._write(event)
        self.ledger = Ledger(self.runner.run(self._live()))

    async def _live(self) -> list[Durable]:
        return list(await self.journal.live())

    def _counted(self) -> Counted:
        return Counted(self.count * 10, self.count)

    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        seen = self.plain.seen
        if seen:
            fitting = [None, *(each for each in seen if self.plain.messages[each].role != "tool")]
            kept = data.draw(st.sampled_from(fitting))
            event = Compacted(
                at=AT,
                summary="so far",
                kept=kept,
                trigger="manual",
                running=False,
                context=self.plain.context,
                counted=self._counted(),
            )
            self._write(event, self.plain.leaf)

    @rule(data=st.data())
    def snip(self, data: st.DataObject) -> None:
        if self.plain.seen:
            message_id = data.draw(st.sampled_from(self.plain.seen))
            self._write(Snipped(AT, (message_id,)), message_id)

    @rule(data=st.data())
    def replace_a_result(self, data: st.DataObject) -> None:
        results = [each for each in self.plain.seen if self.plain.messages[each].role == "tool"]
        if results:
            message_id = data.draw(st.sampled_from(results))
            event = ResultReplaced(AT, message_id, f"c{message_id[1:]}", (Text("(cut)"),))
            self._write(event, message_id)

    @rule(title=st.sampled_from(("one", "two", None)))
    def set_a_title(self, title: str | None) -> None:
        self._write(MetadataSet(AT, "title", title))

    @rule(mode=st.sampled_from(MODES))
    def set_a_mode(self, mode: Any) -> None:
        self._write(ModeSet(AT, mode))

    # ---- what happens to it ---------------------------------------------------------------------------------------

    def _open(self) -> None:
        self.journal = self.runner.run(self.store.open(SESSION))
        events = list(self.journal.read())
        self.ledger = Ledger(events)
        recorded = sum(isinstance(each.event, LinesQuarantined) for each in self.plain.lines)
        for event in [event for event in events if isinstance(event, LinesQuarantined)][recorded:]:
            self.plain.lines.append(Noted(event))

    def _index(self) -> Path:
        return self.log.with_suffix(".index")

    @rule()
    def reopen(self) -> None:
        self.runner.run(self.journal.aclose())
        self._check_the_log(self.log.read_bytes())
        if self._index().exists():
            self.indexes.append(self._index().read_bytes())
        check_same_by_index(self.store)
        self._open()

    @rule(cut=st.integers(0, 400), keep_index=st.booleans())
    def crash(self, cut: int, keep_index: bool) -> None:
        """The bytes as they are on disk, perhaps with a torn last line, are all that is left."""
        self.runner.run(self._live())
        image = self.log.read_bytes()
        self._check_the_log(image)
        index = self._index().read_bytes() if keep_index and self._index().exists() else None
        self.runner.run(self.journal.aclose())
        last = image.rindex(b"\n", 0, -1) + 1 if image.count(b"\n") > 1 else 0
        if cut and len(image) - cut > last and len(self.plain.messages) > 1:
            image = image[: len(image) - cut]
            if cut > 1:  # more than its line end
                self.plain.lines.pop()
        self.lives += 1
        self.store = store_in(self.folder / str(self.lives))
        self.log = put_log(self.store, image)
        if index is not None:
            self._index().write_bytes(index)
        self._open()

    @rule()
    def lose_the_index(self) -> None:
        drop_index(self.log)

    @rule(which=st.integers(0, 9))
    def find_an_old_index(self, which: int) -> None:
        if self.indexes:
            self._index().write_bytes(self.indexes[which % len(self.indexes)])

    @rule(garbage=st.sampled_from((b"", b"{}", b"null", b"[1", b"\0" * 50, b'{"upto":1}')))
    def find_garbage_for_an_index(self, garbage: bytes) -> None:
        self._index().write_bytes(garbage)

    def _check_the_log(self, image: bytes) -> None:
        check_chain(image)
        assert verified(self.log).sound
        assert image.count(b"\n") == len(self.plain.lines), "every event is one line"

    # ---- what must hold -------------------------------------------------------------------------------------------

    @invariant()
    def the_fold_is_what_the_model_says(self) -> None:
        plain, ledger = self.plain, self.ledger
        assert [message.id for message in ledger.messages] == plain.seen
        assert ledger.messages == [plain.messages[each] for each in plain.seen]
        assert dict(ledger.context) == plain.context
        assert ledger.metadata.get("title") == plain.latest("title")
        assert ledger.mode == plain.mode


@pytest.mark.spec("TRS-1", "TRS-5", "TRS-8", "TRS-9", "TRS-11")
class TestLog(LogMachine.TestCase):
    settings = settings(fewer(25), stateful_step_count=20)
