"""A real program with a session on disk, for tests that kill it, starve it and start it again.

    program.py run|resume|hold <data> <world> [--plan 10|100] [--on-error exit|wait] [--file-size N] [--files] [--child]

It says what happens in lines on its standard output, each written at once:

    ack <fact> <id>    this is on disk: somebody outside has been told of it
    error <words>      the record cannot be written
    child <pid>        it started another program, which outlives it
    waiting            it waits for a line on its standard input
    nothing            there is no session to resume
    end <status>       how the session was left

What its tools do to the world is in ``<world>``: a line per run in ``bumps``, a file per key and item in ``stamps``.
"""

import argparse
import asyncio
import contextlib
import os
import resource
import signal
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from time import time

from callgate import Answer, Prompt, Run, Session, tool
from callgate.core.ports import Tool
from callgate.testing import ScriptedModel, ScriptedTurn, say, turn
from callgate.testing.script import raw_call
from callgate.transcript.disk_journal import DiskJournal
from callgate.transcript.store import Store
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.declared import Given
from callgate.words.errors import JournalError
from callgate.words.events import (
    CallStarted,
    Event,
    MessageAdded,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
    TurnStarted,
)
from callgate.words.inputs import Continue
from callgate.words.messages import Message, ResultPart, Text
from callgate.words.model import Request
from callgate.words.traits import Locks, writes

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.history import faults
from tests.sessions import with_event

SESSION = "session-1"
EFFECTS = {"look": "none", "stamp": "idempotent", "bump": "mutating", "edit": "mutating"}

Step = Sequence[tuple[str, str]]
"""The calls of one message: tool and item. An item is asked for once, and again if it was never started."""


def plan_of(size: int) -> Sequence[Sequence[Step]]:
    """For every prompt the messages that the model answers with."""
    if size == 10:
        return (
            ((("look", "l1"), ("look", "l2"), ("stamp", "s1")), (("bump", "b1"), ("bump", "b2"))),
            ((("look", "l3"), ("edit", "e1"), ("bump", "b3")), (("stamp", "s2"), ("stamp", "s3"))),
        )
    kinds = ("look", "stamp", "bump", "stamp", "edit")
    return tuple(
        tuple(tuple((kind, f"{kind[0]}{prompt}{step}{at}") for at, kind in enumerate(kinds)) for step in range(2))
        for prompt in range(size // 10)
    )


def not_run(told: str) -> bool:
    """Whether this result says that the call was never begun."""
    return told.startswith(("Never started", "Not started")) or "It was not started." in told


def tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def key_of(event: object) -> str | None:
    """What an acknowledgement calls the event, if it is one that is told only when it is on disk."""
    match event:
        case TurnStarted():
            return f"turn {event.message_id}"
        case MessageAdded(message=Message()):
            return f"message {event.message.id}"
        case QuestionAsked():
            return f"asked {event.question.call_id}"
        case QuestionAnswered():
            return f"answered {event.confirmation.call_id}"
        case CallStarted():
            return f"started {event.call_id}"
        case _:
            return None


# ---- the world --------------------------------------------------------------------------------------------------


def place(arguments: Given) -> Locks:
    """Every item has its own, so the calls of one message run side by side."""
    return writes(f"places/{arguments.item}")


def tools_in(world: Path) -> list[Tool]:
    @tool(effects="none")
    def look(item: str) -> str:
        """Look at something."""
        return f"saw {item}"

    @tool(effects="idempotent", locks=place)
    def stamp(item: str, run: Run) -> str:
        """Do something once per key, however often it is called."""
        tell(f"ack started {run.call_id}")
        name = f"{run.idempotency_key.replace('/', '+')}={item}"
        with contextlib.suppress(FileExistsError):  # one call of the system: a kill finds it done or not done
            os.close(os.open(world / "stamps" / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        return f"stamped {item}"

    @tool(effects="mutating", locks=place)
    def bump(item: str, run: Run) -> str:
        """Do something every time it is called."""
        tell(f"ack started {run.call_id}")
        fd = os.open(world / "bumps", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, f"{run.idempotency_key} {item}\n".encode())
        os.close(fd)
        return f"bumped {item}"

    def shown(item: str) -> ChangeSet:
        return ChangeSet(f"write {item}", (FileChange(f"places/{item}", None, item.encode()),))

    @tool(effects="mutating", locks=place, preview=shown)
    def edit(item: str, run: Run) -> str:
        """Write a file after showing it."""
        tell(f"ack started {run.call_id}")
        return f"wrote {item}"

    return [look, stamp, bump, edit]


# ---- the model --------------------------------------------------------------------------------------------------


def answered(messages: Iterable[Message]) -> dict[str, str]:
    """What the model was last told about every item."""
    items: dict[str, str] = {}
    told: dict[str, str] = {}
    for message in messages:
        items |= {call.id: str(call.arguments.get("item")) for call in message.calls}
        for part in message.parts:
            if isinstance(part, ResultPart):
                told[items[part.call_id]] = "".join(each.text for each in part.content if isinstance(each, Text))
    return told


def play(plan: Sequence[Sequence[Step]], request: Request) -> ScriptedTurn:
    """The next message: what of the plan is still to be done. Depends on nothing but what it is sent."""
    messages = list(request.messages)
    wrong = faults(messages)
    if wrong or messages[-1].role == "assistant":
        tell(f"fault {wrong or 'asked although there is nothing to answer'}")
        os._exit(9)
    for message in messages:
        tell(f"ack message {message.id}")
    prompts = sum(message.role == "user" for message in messages)
    told = answered(messages)
    for step in plan[prompts - 1]:
        missing = [(name, item) for name, item in step if item not in told or not_run(told[item])]
        if missing:
            calls = [raw_call(name, {"item": item}, id=f"c-{item}") for name, item in missing]
            return turn(say(f"Now {', '.join(item for _, item in missing)}."), *calls)
    return turn(say(f"Done with prompt {prompts}."))


# ---- the program ------------------------------------------------------------------------------------------------


class Program:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._plan = plan_of(options.plan)
        self._world = Path(options.world)
        self._listening = ThreadPoolExecutor(1)
        self._store = Store(workspace=self._world, data=options.data)

    async def run(self) -> int:
        try:
            journal = await self._journal()
        except JournalError as error:
            tell("nothing" if "no session" in str(error) else f"error {error}")
            return 0 if "no session" in str(error) else 3
        plan = self._plan
        model = ScriptedModel(otherwise=partial(play, plan))
        session = Session(model, tools_in(self._world), host=self._world, journal=journal)
        session.listen(with_event(partial(self._hear, session)))
        try:
            await self._work(session)
            status = session.status
            await session.aclose()
        except JournalError as error:
            tell(f"error {error}")
            return 3
        tell(f"end {status}")
        return 0

    async def _journal(self) -> DiskJournal:
        if self._options.mode == "resume":
            return await self._store.open("latest")
        # What Store.create does, under a name that the tests know beforehand.
        journal = DiskJournal(self._store.folder / f"{SESSION}.jsonl", self._store.masker)
        journal.append(SessionOpened(time(), "0", str(self._world)))
        return journal

    async def _work(self, session: Session) -> None:
        self._starve()
        if session.status == "paused":
            await self._until_idle(session, Continue())
        done = sum(message.role == "user" for message in session.messages)
        for number in range(done, len(self._plan)):
            await self._until_idle(session, Prompt(f"prompt {number + 1}"))
            if self._options.child:
                child = await asyncio.create_subprocess_exec("sleep", "1000", stdout=DEVNULL, stderr=DEVNULL)
                tell(f"child {child.pid}")
            if self._options.mode == "hold":
                await self._wait()

    async def _until_idle(self, session: Session, sent: Prompt | Continue) -> None:
        while True:
            try:
                await session.send(sent, until="idle")
            except JournalError as error:
                if self._options.on_error == "exit":
                    raise
                tell(f"error {error}")
                await self._wait()
                self._feed()
                if session.status == "paused":
                    sent = Continue()
                continue
            if session.status == "idle":
                return
            tell(f"fault the session is {session.status}")
            os._exit(9)

    def _hear(self, session: Session, event: Event) -> None:
        """A door: it tells the outside what it hears, and says yes to everything."""
        key = key_of(event)
        if isinstance(event, CallStarted):
            key = None  # those with effects say so themselves
        elif isinstance(event, MessageAdded) and event.stop_reason in (None, "cut_off"):
            key = None  # announced together with what follows: the model tells of it
        if key is not None:
            tell(f"ack {key}")
        if isinstance(event, QuestionAsked):
            session.post(Answer(event.question.yes()))

    async def _wait(self) -> None:
        tell("waiting")
        if not await asyncio.get_running_loop().run_in_executor(self._listening, sys.stdin.readline):
            os._exit(4)

    def _starve(self) -> None:
        options = self._options
        if options.file_size is not None:
            _soft(resource.RLIMIT_FSIZE, options.file_size)
        if options.files:
            highest = max(map(int, os.listdir("/proc/self/fd")))
            _soft(resource.RLIMIT_NOFILE, highest)  # the one that listed them is free again

    def _feed(self) -> None:
        for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
            _soft(limit, resource.getrlimit(limit)[1])


def _soft(limit: int, value: int) -> None:
    resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("run", "resume", "hold"))
    parser.add_argument("data")
    parser.add_argument("world")
    parser.add_argument("--plan", type=int, default=10)
    parser.add_argument("--on-error", choices=("exit", "wait"), default="exit")
    parser.add_argument("--file-size", type=int)
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    (Path(options.world) / "stamps").mkdir(parents=True, exist_ok=True)
    return asyncio.run(Program(options).run())


if __name__ == "__main__":
    sys.exit(main())
