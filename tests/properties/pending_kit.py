"""A world for pending actions: a workspace on disk, tools that stage, look and change something, a model that says what
was drawn for it, and people who get in between.

Every text that is ever written into a file is another one, so a file tells which actions were applied to it, how often,
and after what.
"""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Container, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from callgate import Session, SessionLimits, Store, tool
from callgate.conversation.ports import Journal
from callgate.conversation.record import MemoryJournal
from callgate.tools.staging import Callbacks, stage
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ModelError
from callgate.words.events import Durable, TurnStarted
from callgate.words.inputs import Answer, Continue, Input, Interrupt, Prompt, Resolve, Steer
from callgate.words.model import (
    Abilities,
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    PartEnded,
    PartStarted,
    Request,
    TextDelta,
    ToolChoice,
)
from callgate.words.modes import Mode
from callgate.words.traits import writes

FILES = ("a.txt", "b.txt", "c.txt")
"""The last one is not there at first."""
MANY = 150
"""More requests than any of these sessions needs."""


@dataclass(frozen=True)
class Deed:
    """What somebody does: a person between or during messages, or the model with a call. ``ref`` says which action is
    meant, ``n`` is a number for whatever needs one."""

    what: str
    ref: str = "none"
    n: int = 0
    how: str = "ok"


@dataclass(frozen=True)
class Spoken:
    """One message of the model: calls, and what people do before the first, after each, and at the end."""

    calls: tuple[Deed, ...] = ()
    meanwhile: tuple[Deed | None, ...] = ()
    end: str = "whole"  # whole | limit | cut_off | fail


@dataclass(frozen=True)
class Setting:
    kept: bool = True
    mode: Mode = "bypass"
    force: frozenset[str] = frozenset({"auto", "required", "named", "none"})
    rest: str = "discard"  # what the model does with each action when the script is over: talk | apply | discard
    answers: tuple[bool, ...] = (True,)


refs = st.sampled_from(("none", "none", "newest", "oldest", "wrong", "own", "ended"))
numbers = st.integers(0, 5)
resolving = st.builds(Deed, st.sampled_from(("apply", "discard")), refs, numbers)
staging = st.one_of(
    st.builds(
        Deed, st.just("stage"), n=numbers, how=st.sampled_from(("ok", "ok", "ok", "two files", "twice", "fails"))
    ),
    st.builds(
        Deed,
        st.just("act"),
        n=numbers,
        how=st.sampled_from(("ok", "ok", "fails once", "errs once", "breaks off", "slow", "never")),
    ),
)
calling = st.one_of(
    staging, resolving, st.builds(Deed, st.sampled_from(("look", "touch", "edit")), n=numbers), resolving, staging
)
meddling = st.one_of(
    resolving, st.builds(Deed, st.sampled_from(("spin", "spin", "interrupt", "steer", "prompt")), n=numbers)
)
spoken = st.builds(
    Spoken,
    calls=st.lists(calling, max_size=3).map(tuple),
    meanwhile=st.lists(st.one_of(st.none(), st.none(), meddling), max_size=4).map(tuple),
    end=st.sampled_from(("whole",) * 7 + ("limit", "cut_off", "fail")),
)
steps = st.one_of(
    resolving,
    st.builds(Deed, st.sampled_from(("prompt", "prompt", "edit", "reopen", "interrupt", "continue")), n=numbers),
)
forces = st.sampled_from((frozenset({"auto"}), frozenset({"auto", "required"}), Setting().force))
rests = st.sampled_from(("talk", "apply", "discard"))
settings = st.builds(
    Setting,
    kept=st.booleans(),
    mode=st.sampled_from(("bypass", "bypass", "default")),
    force=forces,
    rest=rests,
    answers=st.lists(st.booleans(), min_size=1, max_size=4).map(tuple),
)


@dataclass
class Image:
    """What a power cut right after an append may leave: the files, and a log of at least ``surely`` lines and at most
    ``lines``."""

    lines: int
    surely: int
    root: Mapping[str, bytes]
    data: Mapping[str, bytes]
    applied: Counter[str]
    rejected: Counter[str]


@dataclass
class World:
    folder: Path
    script: list[Spoken]
    setting: Setting = field(default_factory=Setting)
    pictured: Container[int] = ()
    """The lengths of the log at which an image is kept of the disk."""

    def __post_init__(self) -> None:
        self.root = self.folder / "root"
        self.root.mkdir()
        for name in FILES[:2]:
            (self.root / name).write_text(f"first {name}")
        self.store = Store(self.root, self.folder / "data")
        self.log: list[Durable] = []  # of this life and those before it
        self.images: list[Image] = []
        self.surely = 0
        self.requests: list[tuple[TurnStarted, ToolChoice, tuple[str, ...]]] = []
        self.pushed: dict[str, list[ChangeSet]] = {}  # by id
        self.edits: list[tuple[str, str | None, str]] = []  # what others made of a file, and of what
        self.applied: Counter[str] = Counter()  # callbacks that did it, by label
        self.rejected: Counter[str] = Counter()
        self._tried: Counter[str] = Counter()
        self._texts, self._calls, self._answers, self._labels = count(1), count(1), count(), count(1)
        self._lives = count(2)
        self._tools = self.tools()

    # ---- a session ----------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        journal: Journal = await self.store.create() if self.setting.kept else MemoryJournal()
        self._open(journal, 1)

    async def again(self) -> None:
        """Another life of the program."""
        self.log = list(self.store.read().events)
        self._open(await self.store.open(), len(self.log))

    def _open(self, journal: Journal, lines: int) -> None:
        append, barrier = journal.append, journal.barrier
        self.lines = lines

        def appended(event: Durable) -> None:
            append(event)
            self.log.append(event)
            self.lines += 1
            if self.lines in self.pictured:
                self._picture()

        async def sure(waiting: Awaitable[None], lines: int) -> None:
            await waiting
            self.surely = max(self.surely, lines)

        def fenced() -> Awaitable[None] | None:
            waiting = barrier()
            if waiting is not None:
                return sure(waiting, self.lines)
            self.surely = self.lines
            return None

        vars(journal).update(append=appended, barrier=fenced)
        self.session = Session(
            Voice(self),
            self._tools,
            host=self.root,
            journal=journal,
            mode=self.setting.mode,
            limits=SessionLimits(rerun_safe=True),
        )

    def _picture(self) -> None:
        """Threads may be at it meanwhile: what is found twice was there at one moment."""
        seen, again = self._disk(), self._disk()
        while seen != again:
            seen, again = again, self._disk()
        self.images.append(Image(self.lines, self.surely, *seen, self.applied.copy(), self.rejected.copy()))

    def _disk(self) -> tuple[dict[str, bytes], dict[str, bytes]]:
        return _bytes(self.root), _bytes(self.store.data)

    async def crash(self, image: Image, lines: int) -> None:
        """The session has ended; now the disk is as a power cut had left it in the middle, with so much of the log."""
        log = self.store.find()
        whole = log.read_bytes().splitlines(keepends=True)
        self.store = Store(self.root, self.folder / f"data{next(self._lives)}")
        for folder, found in ((self.root, image.root), (self.store.data, image.data)):
            shutil.rmtree(folder, ignore_errors=True)
            for name, data in found.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(data)
        (self.store.folder / log.name).write_bytes(b"".join(whole[:lines]))
        self.applied, self.rejected = image.applied.copy(), image.rejected.copy()
        self.script, self.requests, self.pictured = [], [], ()
        self._tried.clear()
        await self.again()

    async def send(self, sent: Input) -> None:
        """Send it, and answer what is asked until the session rests."""
        await self.session.send(sent)
        while self.session.questions:
            answers = self.setting.answers
            question = self.session.questions[0]
            yes = answers[next(self._answers) % len(answers)]
            await self.session.send(Answer(question.yes() if yes else question.no()))

    async def do(self, deed: Deed) -> None:
        """What a person does while the session rests."""
        if deed.what == "edit":
            self.edit(FILES[deed.n % 3])
        elif deed.what != "reopen":
            await self.send(self.input(deed))
        elif self.setting.kept and self.log:
            await self.session.aclose()
            await self.again()

    async def end(self) -> None:
        """All is worked off, and then the model is asked once more: by then it has heard everything."""
        self.script.clear()
        await self._rest()
        for _ in self.session.pending:  # an interrupt from below may end a run that is to finish it
            await self.send(Prompt("finish it"))
            await self._rest()
        assert not self.session.pending
        await self.send(Prompt("the last"))
        assert self.session.status == "idle"
        assert len(self.requests) < MANY, "it never ends"

    async def _rest(self) -> None:
        while self.session.status == "paused":
            await self.send(Continue())

    # ---- people -------------------------------------------------------------------------------------------------

    def input(self, deed: Deed) -> Input:
        match deed.what:
            case "apply" | "discard":
                return Resolve(deed.what, f"a person's reason {deed.n}", self.referred(deed))
            case "interrupt":
                return Interrupt()
            case "steer":
                return Steer("this way")
            case "continue":
                return Continue()
            case _:
                return Prompt("go")

    async def meddle(self, deed: Deed | None) -> None:
        """What a person does while a message arrives."""
        if deed is not None and deed.what != "spin":
            self.session.post(self.input(deed))
        for _ in range(0 if deed is None else deed.n * 3):
            await asyncio.sleep(0)

    def edit(self, path: str) -> str:
        before = self.text(path)
        after = f"edited {next(self._texts)}"
        self.edits.append((path, before, after))
        (self.root / path).write_text(after)
        return after

    def text(self, path: str) -> str | None:
        file = self.root / path
        return file.read_text() if file.exists() else None

    def referred(self, deed: Deed) -> str | None:
        ids = [each.id for each in self.session.pending]
        match deed.ref:
            case "newest" | "oldest" if ids:
                return ids[0 if deed.ref == "newest" else -1]
            case "wrong":
                return "pending-action:Renamer:999"
            case "own":
                return f"pending-action:Renamer:{len(self.pushed) + 1}"
            case "ended":
                over = [each for each in self.pushed if each not in ids]
                return over[deed.n % len(over)] if over else None
            case _:
                return None

    # ---- tools --------------------------------------------------------------------------------------------------

    def tools(self) -> list[Any]:
        @tool(name="Stage", effects="none", stages=True)
        async def stages(n: int, how: str) -> str:
            """Stage new texts for files."""
            for at in range(2 if how == "twice" else 1):
                paths = [FILES[(n + at) % 3], *([FILES[(n + 1) % 3]] if how == "two files" else [])]
                await asyncio.sleep(0)
                self._push([self._change(path) for path in paths])
            if how == "fails":
                raise ValueError("after all not")
            return "Shown."

        @tool(name="StageAct", effects="none", stages=True)
        async def acts(n: int, how: str) -> str:
            """Stage something that only functions can finish."""
            self._push(how)
            return "Shown."

        @tool(name="Look", effects="none")
        async def look(n: int) -> str:
            """Look at something."""
            await asyncio.sleep(0)
            return f"seen {n}"

        @tool(name="Touch")
        async def touch(n: int) -> str:
            """Change something."""
            return f"touched {n}"

        # As if another program did it at that moment: only the lock is ours, so that the order is known.
        @tool(name="Meanwhile", effects="none", locks=lambda arguments: writes(FILES[arguments["n"] % 3]))
        async def meanwhile(n: int) -> str:
            """Find a file changed."""
            return self.edit(FILES[n % 3])

        return [stages, acts, look, touch, meanwhile]

    def _change(self, path: str) -> FileChange:
        before = self.text(path)
        return FileChange(path, None if before is None else before.encode(), f"staged {next(self._texts)}".encode())

    def _push(self, act: list[FileChange] | str) -> None:
        label = f"action {next(self._labels)}."
        changes = ChangeSet(label, tuple(act) if isinstance(act, list) else (), "Stage")
        what = changes if changes.files else self._callbacks(label, str(act))
        action_id = stage(label, what, source_tool_name="Renamer")
        self.pushed.setdefault(action_id, []).append(changes)

    def _callbacks(self, label: str, how: str) -> Callbacks:
        tries: Counter[str] = Counter()

        async def called(word: str, done: Counter[str]) -> Any:
            tries[word] += 1
            for _ in range(200 if how == "slow" else 3):
                await asyncio.sleep(0)
            first = tries[word] == 1
            if how == "breaks off" and first:
                self.session.post(Interrupt())
                for _ in range(5):
                    await asyncio.sleep(0)
            if how == "never" or (how == "fails once" and first):
                raise ValueError("not now")
            if how == "errs once" and first and word == "apply":
                return Result.failed("tool_error", "not this time")
            done[label] += 1
            return None

        async def apply(_reason: str, _extra: Any) -> Any:
            return await called("apply", self.applied)

        async def reject(_reason: str, _extra: Any) -> Any:
            return await called("reject", self.rejected)

        return Callbacks(apply, reject)

    # ---- the model ----------------------------------------------------------------------------------------------

    def next_message(self) -> Spoken:
        if self.script and len(self.requests) < MANY:
            return self.script.pop(0)
        newest = next(iter(self.session.pending), None)
        if newest is None or self.setting.rest == "talk" or self._tried[newest.id]:
            return Spoken()
        self._tried[newest.id] += 1
        return Spoken((Deed(self.setting.rest),))

    def called(self, deed: Deed) -> tuple[str, str, dict[str, Any]]:
        """The id, the name and the arguments of a call."""
        call_id = f"call_{next(self._calls)}"
        match deed.what:
            case "stage" | "act":
                return call_id, "Stage" if deed.what == "stage" else "StageAct", {"n": deed.n, "how": deed.how}
            case "apply" | "discard":
                named = self.referred(deed)
                told = {"action": deed.what, "reason": f"reason {deed.n}"}
                return call_id, "resolve", told | ({} if named is None else {"id": named})
            case "look" | "touch":
                return call_id, deed.what.title(), {"n": deed.n}
            case _:
                return call_id, "Meanwhile", {"n": deed.n}

    def asked(self, request: Request) -> None:
        started = next(each for each in reversed(self.log) if isinstance(each, TurnStarted))
        self.requests.append((started, request.tool_choice, tuple(each.name for each in request.tools)))


class Voice:
    """It says what is next in the script, and then what the setting says."""

    name = "voice"

    def __init__(self, world: World) -> None:
        self._world = world
        self.abilities = Abilities(force=world.setting.force)

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        world = self._world
        world.asked(request)
        said = world.next_message()
        meanwhile = dict(enumerate(said.meanwhile))
        yield MessageStarted("m", self.name)
        yield PartStarted(0, "text")
        yield TextDelta(0, "So.")
        yield PartEnded(0)
        await world.meddle(meanwhile.get(0))
        for at, deed in enumerate(said.calls, 1):
            call_id, name, arguments = world.called(deed)
            yield PartStarted(at, "tool_call", call_id, name)
            yield ArgumentsDelta(at, json.dumps(arguments))
            yield PartEnded(at)
            await world.meddle(meanwhile.get(at))
        if said.end == "fail":
            raise ModelError("out of order")
        if said.end != "cut_off":
            yield MessageEnded("max_tokens" if said.end == "limit" else "tool_calls" if said.calls else "end")


def _bytes(folder: Path) -> dict[str, bytes]:
    """Files may come and go meanwhile."""
    found: dict[str, bytes] = {}
    for path in folder.rglob("*"):
        with suppress(OSError):
            if path.is_file() and not path.is_symlink():
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found
