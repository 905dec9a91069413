"""What the tests of the log share: lines made by hand, logs recorded by real sessions, and an oracle of what is live.

The oracle goes by the text of docs/decisions/0008 and shares no code with the engine.
"""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from callgate import Session, SessionLimits
from callgate.conversation.ledger import Ledger
from callgate.core.ports import Run
from callgate.features import compaction_feature
from callgate.testing import (
    MemoryHost,
    PlainTool,
    PlainToolbox,
    ScriptedModel,
    call,
    cut_off,
    limit,
    open_call,
    say,
    turn,
)
from callgate.transcript.codec import START
from callgate.transcript.disk_journal import DiskJournal
from callgate.transcript.lock import opened_log
from callgate.transcript.masking import Masker
from callgate.transcript.store import Store
from callgate.transcript.verify import Verified, verify
from callgate.words.calls import Result
from callgate.words.events import CallArrived, CallSettled, Durable, MessageAdded, QuestionAsked
from callgate.words.inputs import (
    Answer,
    Branch,
    Compact,
    Continue,
    Input,
    Prompt,
    Rewind,
    SetMode,
    SetTags,
    SetTitle,
    Snip,
)
from callgate.words.limits import LoopLimits, Retries
from callgate.words.messages import Message, Text
from callgate.words.traits import Traits, reads, writes
from callgate.words.turns import ResultReplaced
from tests.history import faults
from tests.sessions import with_event

T = TypeVar("T")


def verified(log: Path, *, session: str | None = None, head: str | None = None) -> Verified:
    with opened_log(log) as fd:
        return verify(fd, session=session, head=head)


AT = 1_700_000_000.0
NOBODY = Masker({})
SESSION = "20250101-000000-0badcafe"


def run(main: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(main)


# ---- lines made by hand -------------------------------------------------------------------------------------------


def sum_of(body: bytes) -> str:
    return sha256(body).hexdigest()[:32]


def sealed(body: bytes) -> bytes:
    """A line with this beginning and the sum that fits it."""
    return b'%s,"sum":"%s"}\n' % (body, sum_of(body).encode())


def resealed(line: bytes, old: bytes, new: bytes) -> bytes:
    """The line with something else in it and a sum that fits again."""
    body = line.rstrip(b"\n")[: -len(',"sum":""}') - 32]
    assert old in body, (old, body)
    return sealed(body.replace(old, new, 1))


class Written:
    """A log written line by line, by somebody who may not keep the rules. ``lines`` have their line ends."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.prev = START

    def add(
        self,
        kind: str,
        own: str | None = None,
        parent: str | None = None,
        data: Mapping[str, Any] | None = None,
        *,
        v: int = 1,
        at: str = repr(AT),
    ) -> "Written":
        n = len(self.lines) + 1
        body = (
            f'{{"v":{v},"n":{n},"type":"{kind}","id":{json.dumps(own or f"e{n}")},"parent":{json.dumps(parent)},'
            f'"at":{at},"session":"{SESSION}","data":{json.dumps(data or {})},"prev":"{self.prev}"'
        )
        self.put(sealed(body.encode()))
        return self

    def put(self, line: bytes) -> None:
        self.lines.append(line)
        self.prev = line[-35:-3].decode()

    def says(self, own: str, parent: str | None, text: str = "…", role: str = "user") -> "Written":
        message = {"id": own, "role": role, "parts": [{"type": "Text", "text": text}]}
        return self.add("message_added", own, parent, {"message": message})

    def calls(self, own: str, parent: str | None, *call_ids: str) -> "Written":
        parts = [{"type": "CallPart", "id": each, "name": "read", "arguments": {}} for each in call_ids]
        data = {"message": {"id": own, "role": "assistant", "parts": parts}, "stop_reason": "tool_calls"}
        return self.add("message_added", own, parent, data)

    def answers(self, own: str, parent: str | None, *call_ids: str) -> "Written":
        content = [{"type": "Text", "text": "done"}]
        parts = [{"type": "ResultPart", "call_id": each, "name": "read", "content": content} for each in call_ids]
        return self.add("message_added", own, parent, {"message": {"id": own, "role": "tool", "parts": parts}})

    @property
    def image(self) -> bytes:
        return b"".join(self.lines)


def talk(pairs: int = 3) -> Written:
    """A plain conversation, each answer a turn: u1, a1, u2, a2 …"""
    log, last = Written().add("session_opened", data={"version": "1", "workspace": "/w"}), None
    for n in range(1, pairs + 1):
        log.says(f"u{n}", last, f"prompt {n}").add("turn_started", None, f"a{n}", {"turn": n, "message_id": f"a{n}"})
        log.says(f"a{n}", f"u{n}", f"answer {n}", "assistant")
        log.add("turn_ended", None, f"a{n}", {"turn": n, "reason": "answered"})
        log.add("run_ended", None, f"a{n}", {"reason": "done"})
        last = f"a{n}"
    return log


def one_call(result: Mapping[str, Any] | None = None) -> Written:
    """A turn that was left while its call ran, or, with its result on record, right after."""
    log = talk(1).says("u2", "a1", "write it").add("turn_started", None, "a2", {"turn": 2, "message_id": "a2"})
    arrived = {"call_id": "c1", "name": "write", "arguments": {"path": "x"}, "index": 0, "message_id": "a2"}
    parts = [{"type": "CallPart", "id": "c1", "name": "write", "arguments": {"path": "x"}}]
    message = {"message": {"id": "a2", "role": "assistant", "parts": parts}, "stop_reason": "tool_calls"}
    log.add("call_arrived", None, "a2", arrived).add("message_added", "a2", "u2", message)
    allowed = {"call_id": "c1", "decision": {"type": "Allow", "by": "rule"}, "arguments_hash": ""}
    log.add("call_decided", None, "a2", allowed).add("call_started", None, "a2", {"call_id": "c1"})
    if result is not None:
        log.add("call_settled", None, "a2", {"call_id": "c1", "result": result})
    return log


# ---- a store with one log -----------------------------------------------------------------------------------------


def store_in(folder: Path) -> Store:
    return Store(folder / "work", folder / "data", masker=NOBODY)


def put_log(store: Store, image: bytes, session: str = SESSION) -> Path:
    """This log and nothing else of it: what lay beside one of the same name is gone."""
    store.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = store.folder / f"{session}.jsonl"
    for beside in (log.with_suffix(".index"), log.with_suffix(".lock"), broken(log)):
        beside.unlink(missing_ok=True)
    log.write_bytes(image)
    log.chmod(0o600)
    return log


def broken(log: Path) -> Path:
    return log.with_name(f"{log.name}.broken")


def drop_index(log: Path) -> None:
    log.with_suffix(".index").unlink(missing_ok=True)


def said(events: Sequence[Durable]) -> list[str]:
    """The ids of the messages, as they are live."""
    return [event.message.id for event in events if isinstance(event, MessageAdded)]


async def open_and_say(store: Store, text: str = "and now?") -> tuple[DiskJournal, list[Durable]]:
    """Open, put a message on record, close. The journal, and the events that were live when it was opened."""
    journal = await store.open(SESSION)
    before = list(journal.read())
    journal.append(MessageAdded(AT, Message(f"new-{text}", "user", (Text(text),))))
    await journal.aclose()
    return journal, before


def check_chain(image: bytes) -> None:
    """Lines of an undamaged log are numbered from 1, and each gives the sum of the one before."""
    prev = START
    for n, line in enumerate(image.splitlines(keepends=True), 1):
        found = json.loads(line)
        assert line == sealed(line[: -len(',"sum":""}\n') - 32]), f"line {n} does not fit its sum"
        assert (found["n"], found["prev"]) == (n, prev)
        prev = found["sum"]


# ---- the oracle ---------------------------------------------------------------------------------------------------


class Known(NamedTuple):
    """A line as the decision speaks of it. ``what``: message, run_ended, rewound, branched, compacted or fact."""

    what: str
    own: str | None
    parent: str | None
    target: str | None = None


WHATS = {"message_added": "message"} | {each: each for each in ("run_ended", "rewound", "branched", "compacted")}


def known(line: bytes) -> Known:
    found = json.loads(line)
    what = WHATS.get(found["type"], "fact")
    target = found["data"].get("kept" if what == "compacted" else "message_id") if what in WHATS.values() else None
    own = found["id"] if what == "message" else None
    return Known(what, own, found["parent"], target if isinstance(target, str) and what != "message" else None)


def live_by_text(lines: Sequence[Known]) -> list[int]:
    """Which of the lines are live, by the sentences of the decision and nothing clever."""
    before: dict[str, str | None] = {}  # message → the message before it
    leaves: list[str | None] = []  # for each line, the leaf it was written at
    hung: list[str | None] = []  # for each line, what it hangs on
    leaf: str | None = None
    repeated: set[int] = set()
    heirs: dict[str, str] = {}  # a message that is lost → the first that followed it
    for at, line in enumerate(lines):
        leaves.append(leaf)
        parent = line.parent
        if line.what in ("message", "compacted", "run_ended") and parent is not None and parent not in before:
            parent = leaf  # missing, or not earlier in the file: the leaf at that point
        hung.append(parent)
        if line.what == "message":
            assert line.own is not None
            if line.own in before:
                repeated.add(at)
                continue
            if line.parent is not None and line.parent not in before:
                heirs.setdefault(line.parent, line.own)
            before[line.own] = parent
            leaf = line.own
        elif line.what == "rewound" and line.target in before:
            leaf = before[line.target]
        elif line.what == "branched" and line.target in before:
            leaf = line.target
    way: list[str] = []
    at_message = leaf
    while at_message is not None:
        way.insert(0, at_message)
        at_message = before[at_message]
    # A boundary is on the way when what follows there was said behind it: an older branch knows nothing of it.
    spoken = {line.own: at for at, line in enumerate(lines) if line.what == "message" and at not in repeated}
    following: dict[str | None, str] = dict(zip([None, *way], way, strict=False))
    cuts = [
        at
        for at, line in enumerate(lines)
        if line.what == "compacted"
        and (hung[at] is None or hung[at] in way)
        and (hung[at] not in following or spoken[following[hung[at]]] > at)
    ]
    loaded = way
    if cuts:
        kept, on = lines[cuts[-1]].target, hung[cuts[-1]]
        if kept is not None and kept not in way:
            kept = heirs.get(kept)
        if kept in way:
            loaded = way[way.index(kept) :]
        elif on is not None:
            loaded = way[way.index(on) + 1 :]

    def is_live(at: int) -> bool:
        line = lines[at]
        if at in repeated:
            return False
        if line.what == "message":
            return line.own in loaded
        if line.what == "compacted":
            return at in cuts[-1:]  # those before it have nothing left to say
        if line.what != "run_ended":
            if hung[at] is None:
                return True
            if hung[at] in before:
                return hung[at] in loaded
        leaf_then = hung[at] if line.what == "run_ended" else leaves[at]
        if leaf_then in following and spoken[following[leaf_then]] < at:
            return False  # of another branch, which went on from here
        after_the_cut = bool(cuts) and leaf_then == hung[cuts[-1]] and at > cuts[-1]
        return leaf_then is None or leaf_then in loaded or after_the_cut

    return [at for at in range(len(lines)) if is_live(at)]


# ---- real sessions ------------------------------------------------------------------------------------------------


async def _read(arguments: Mapping[str, Any], run: Run) -> Result:
    return Result((Text(f"content of {arguments['path']}: ünïcode \u2028 {'x' * 40}"),))


async def _write(arguments: Mapping[str, Any], run: Run) -> Result:
    return Result((Text("written"),), context_update={"last": arguments["path"], str(arguments["path"]): True})


def toolbox() -> PlainToolbox:
    return PlainToolbox(
        PlainTool("read", _read, traits=lambda a: Traits("none", reads(a.get("path", ".")))),
        PlainTool("write", _write, traits=lambda a: Traits("mutating", writes(a.get("path", ".")))),
    )


async def _summary(messages: Sequence[Message], instructions: str) -> str:
    return f"{len(messages)} messages were said"


def session_on(journal: DiskJournal, *scenes: Any) -> Session:
    model = ScriptedModel(*scenes, otherwise=turn(say("done")))
    limits = LoopLimits(retries=Retries(most=0))  # its clock stands still
    return Session(
        model,
        toolbox(),
        host=MemoryHost(),
        journal=journal,
        features=[compaction_feature(_summary)],
        limits=SessionLimits(run=limits),
    )


async def sent(session: Session, what: Input) -> None:
    """Send it and answer every question until the session rests: paths with ``no`` in them are denied."""

    def hear(event: object) -> None:
        if isinstance(event, QuestionAsked):
            question = event.question
            path = str(question.arguments.get("path", ""))
            answer = question.no("not this one") if "no" in path else question.yes()
            if "other" in path and not dict(question.arguments).get("edited"):
                answer = question.yes({**question.arguments, "edited": True})
            session.post(Answer(answer))

    stop = session.listen(with_event(hear))
    try:
        await session.send(what, until="idle")
    finally:
        stop()
    failure = session.controls.take_failure()
    if failure is not None:
        raise failure


async def _parallel(store: Store) -> DiskJournal:
    journal = await store.create()
    calls = (call("read", path="a"), call("read", path="b"), call("write", path="c"), call("read", path="c"))
    async with session_on(journal, turn(say("Both."), *calls), turn(say("Fine ✓."))) as session:
        await sent(session, Prompt("Look at both."))
    return journal


async def _questions(store: Store) -> DiskJournal:
    journal = await store.create()
    scenes = (
        turn(call("write", path="yes"), call("write", path="no"), call("write", path="other"), call("gone")),
        turn(call("write", path="yes2"), limit()),
        turn(say("I was"), open_call("read", '{"pa'), cut_off()),
    )
    async with session_on(journal, *scenes) as session:
        await sent(session, Prompt("Write."))
        await sent(session, Prompt("Again."))
    return journal


async def _branches(store: Store) -> DiskJournal:
    journal = await store.create()
    scenes = [turn(say(f"Step {n}."), call("write", path=f"f{n}")) if n % 2 else turn(say("Ok.")) for n in range(1, 9)]
    async with session_on(journal, *scenes) as session:
        await sent(session, SetTitle("Branches of it"))
        await sent(session, Prompt("First."))
        await sent(session, Prompt("Second."))
        second = [message.id for message in session.messages]
        prompt = [message.id for message in session.messages if message.role == "user"][-1]
        await sent(session, Rewind(prompt))
        await sent(session, Prompt("Third."))
        await sent(session, SetTags(("a", "b")))
        await sent(session, Branch(second[-1]))
        await sent(session, SetMode("accept_edits"))
        await sent(session, Prompt("Fourth."))
    return journal


async def _compacted(store: Store) -> DiskJournal:
    journal = await store.create()
    scenes = [turn(say(f"Step {n}."), call("write", path=f"f{n}")) if n % 2 else turn(say("Ok.")) for n in range(1, 7)]
    async with session_on(journal, *scenes) as session:
        for text in ("One.", "Two.", "Three."):
            await sent(session, Prompt(text))
        await sent(session, Compact(keep=3))
        await sent(session, Prompt("Four."))
        await sent(session, Snip((session.messages[-2].id,)))
    journal = await store.open(journal.session)
    async with session_on(journal, turn(call("read", path="again")), turn(say("Here."))) as session:
        await sent(session, Prompt("Five."))
        results = next(message for message in reversed(session.messages) if message.role == "tool")
        answered: Any = results.parts[0]
        journal.append(ResultReplaced(AT, results.id, answered.call_id, (Text("(cut)"),)))
        await sent(session, Compact(keep=2))
        await sent(session, Prompt("Six."))
        await sent(session, Rewind([message.id for message in session.messages if message.role == "user"][-1]))
        await sent(session, Prompt("Seven."))
    return journal


RECORDED: Mapping[str, Callable[[Store], Awaitable[DiskJournal]]] = {
    "parallel": _parallel,
    "questions": _questions,
    "branches": _branches,
    "compacted": _compacted,
}


def recorded(name: str, folder: Path) -> bytes:
    """The log that this session leaves."""

    async def main() -> bytes:
        journal = await RECORDED[name](store_in(folder))
        return journal.path.read_bytes()

    return run(main())


async def check_resumes(store: Store) -> list[Durable]:
    """Go on with the log until the session is idle. What is live then, which can be sent and has one result a call."""
    journal = await store.open(SESSION)
    session = session_on(journal)
    await sent(session, Continue() if session.status == "paused" else Prompt("Go on."))
    assert session.status == "idle"
    events = list(await journal.live())
    await session.aclose()
    assert faults(Ledger(events).history()) == []
    assert len(session.messages) == len(Ledger(events).messages)
    messages = set(said(events))
    arrived = Counter(e.call_id for e in events if isinstance(e, CallArrived) and e.message_id in messages)
    settled = Counter(e.call_id for e in events if isinstance(e, CallSettled))
    assert settled == arrived, "one result for each call"
    return events


def check_same_by_index(store: Store) -> None:
    """What is loaded through the index is what is loaded without it."""
    log = store.find(SESSION)
    index = log.with_suffix(".index")
    if not index.exists():
        return
    by_index = store.read(SESSION)
    aside = index.rename(index.with_suffix(".aside"))
    without = store.read(SESSION)
    aside.rename(index)
    image = log.read_bytes()
    assert by_index.events == without.events
    assert (by_index.n, by_index.sum, by_index.end) == (without.n, without.sum, without.end)
    assert by_index.chain.leaf == without.chain.leaf
    assert _lines_in(image, by_index.chain.live()) == _lines_in(image, without.chain.live())
    assert by_index.about == without.about


def _lines_in(image: bytes, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    return [line for start, end in ranges for line in image[start:end].split(b"\n") if line]


# ---- other processes -----------------------------------------------------------------------------------------------

HOLDER = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def holding(log: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the lock."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(log)], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        try:
            yield process
        finally:
            process.kill()


OPENER = """
import asyncio, sys
from callgate.transcript.store import Store
from callgate.words.errors import JournalError
try:
    journal = asyncio.run(Store(sys.argv[1], sys.argv[2]).open(sys.argv[3]))
    asyncio.run(journal.aclose())
except JournalError:
    print("refused", end="")
"""


def opened_elsewhere(store: Store) -> bool:
    """Whether another process can open the session. It must answer, whatever the answer is."""
    command = [sys.executable, "-c", OPENER, str(store.workspace), str(store.data), SESSION]
    return not subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
