"""A session: inputs in, events out. The composition root, the only module that knows every room."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Literal, Self, get_args
from weakref import finalize

from callgate.core.executor import ExecutorSettings
from callgate.core.ledger import Ledger
from callgate.core.loop import Loop, LoopLimits
from callgate.core.outlet import merged_progress
from callgate.core.ports import Gate, Host, Journal, Model
from callgate.core.record import Listener, MemoryJournal, Record
from callgate.core.turn import Equipment
from callgate.standalone import (
    Tools,
    as_gate,
    as_host,
    as_toolbox,
    check_model_shape,
    settings_from_environment,
)
from callgate.words.calls import ToolCall
from callgate.words.decisions import Mode, Question, check_mode
from callgate.words.errors import StateError
from callgate.words.events import (
    CallProgressed,
    Event,
    InputRefused,
    ModelSet,
    ModeSet,
    PromptQueued,
    Rewound,
    SessionStatus,
    StatusChanged,
)
from callgate.words.inputs import (
    Answer,
    Close,
    Continue,
    Input,
    Interrupt,
    Prompt,
    Rewind,
    SetMode,
    SetModel,
    Steer,
)
from callgate.words.messages import Message, Part, Usage
from callgate.words.model import CacheHints, RequestLimits

_AT_END: tuple[SessionStatus, ...] = ("idle", "paused", "closed")
_AT_REST: tuple[SessionStatus, ...] = ("idle", "waiting_confirmation", "paused", "closed")


class Session:
    """One conversation with a model that may call tools.

        async with Session(model=…, tools=[…]) as session:
            async for event in session.send(Prompt("…")):
                …

    It works on whether or not anybody reads its events; several doors may listen and send at once. ``root`` is the
    workspace of the local host, the current folder unless given.
    """

    def __init__(
        self,
        model: Model,
        tools: Tools = (),
        *,
        system: str = "",
        gate: Gate | None = None,
        host: Host | None = None,
        root: str | PathLike[str] | None = None,
        journal: Journal | None = None,
        mode: Mode = "default",
        context: Mapping[str, Any] | None = None,
        models: Iterable[Model] = (),
        settings: ExecutorSettings | None = None,
        limits: LoopLimits | None = None,
        request_limits: RequestLimits | None = None,
        cache: CacheHints | None = None,
        lineage: tuple[str, ...] = (),
    ) -> None:
        journal = journal or MemoryJournal()
        self._ledger = Ledger(journal.read(), context=context, mode=check_mode(mode))
        self._record = Record(journal, self._ledger)
        self._models = {check_model_shape(each).name: each for each in (model, *models)}
        self._limits = limits
        self._equipment = Equipment(
            model=self._models.get(self._ledger.model or "", model),
            toolbox=as_toolbox(tools),
            gate=as_gate(gate),
            host=as_host(host, root),
            record=self._record,
            system=system,
            settings=settings_from_environment(settings),
            limits=request_limits or RequestLimits(),
            cache=cache or CacheHints(),
            lineage=lineage,
        )
        self._status: SessionStatus = "paused" if self._ledger.running else "idle"
        self._loop: Loop | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._prompts: deque[tuple[Part, ...]] = deque()
        self._failure: Exception | None = None
        self._shutting = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @property
    def status(self) -> SessionStatus:
        """``paused`` means that a turn on record was left unfinished: send Continue, or a new Prompt."""
        return self._status

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._ledger.messages)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the turn under way."""
        return tuple(entry.snapshot() for entry in self._ledger.calls.values())

    @property
    def questions(self) -> tuple[Question, ...]:
        """What a person is being asked right now."""
        return () if self._loop is None else self._loop.questions

    @property
    def context(self) -> Mapping[str, Any]:
        return self._ledger.context

    @property
    def usage(self) -> Usage:
        return self._ledger.usage

    def send(self, sent: Input, *, until: Literal["rest", "idle"] = "rest") -> Reply:
        """Send an input and hear what follows: iterate over the reply, or await it.

        It ends when the session rests, an open question included; with ``until="idle"`` it goes on past questions, for
        answers that come from another door.
        """
        reply = Reply(self, _AT_REST if until == "rest" else _AT_END)
        self.post(sent)
        return reply

    def events(self) -> Reply:
        """Every event from now on, until the session is closed: for a door that stays."""
        return Reply(self, ending=("closed",))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every event from now on; call what comes back to stop."""
        return self._record.listen(listener)

    def post(self, sent: Input) -> None:
        """Send an input without listening. What cannot be done is answered by an InputRefused event."""
        if self._status == "closed":
            raise StateError("the session is closed")
        refusal = self._take(sent)
        if refusal is not None:
            self._record.tell(InputRefused(self._now(), type(sent).__name__, refusal))

    async def aclose(self) -> None:
        """Interrupt what is under way, wait for its end, and close."""
        self._shutting = True
        if self._task is not None and not self._task.done():
            if self._loop is not None:
                self._loop.interrupt("The session was closed.")
            await asyncio.wait((self._task,))
        self._be("closed")
        self.deliver()

    def _take(self, sent: Input) -> str | None:
        """Act on an input; otherwise say why not."""
        match sent:
            case Prompt():
                self._prompts.append(sent.parts)
                if self._task is not None:
                    self._record.tell(PromptQueued(self._now(), len(self._prompts)))
                self._start()
            case Continue():
                if self._status != "paused":
                    return "nothing was left unfinished"
                self._start()
            case Steer():
                if self._loop is None:
                    return self._take(Prompt(sent.text))
                self._loop.steer(sent.text)
            case Interrupt():
                if self._loop is None:
                    return "nothing is under way"
                self._be("working")
                self._loop.interrupt(sent.reason or "Interrupted by the user.")
            case Answer():
                refusal = "no question is open" if self._loop is None else self._loop.answer(sent.confirmation)
                if refusal is None:
                    self._be("working")  # until the turn says that it waits again
                return refusal
            case SetMode():
                if sent.mode not in get_args(Mode):
                    return f"there is no mode {sent.mode!r}; there are {', '.join(get_args(Mode))}"
                self._record.write(ModeSet(self._now(), sent.mode))
            case SetModel():
                return self._set_model(sent.model)
            case Rewind():
                return self._rewind(sent.message_id)
            case Close():
                self._be("working")
                self._closing = asyncio.get_running_loop().create_task(self.aclose())
            case _:
                return f"this session has nothing that handles {type(sent).__name__}"
        return None

    def _set_model(self, name: str) -> str | None:
        model = self._models.get(name)
        if model is None:
            return f"there is no model {name!r}; this session has {', '.join(sorted(self._models))}"
        self._record.write(ModelSet(self._now(), name))
        self._equipment = replace(self._equipment, model=model)
        if self._loop is not None:
            self._loop.equipment = self._equipment
        return None

    def _rewind(self, message_id: str) -> str | None:
        if self._task is not None:
            return "interrupt the work under way first"
        if all(message.id != message_id for message in self._ledger.messages):
            return f"there is no message {message_id!r}"
        self._record.write(Rewound(self._now(), message_id))
        self._be("idle")
        return None

    def deliver(self) -> None:
        """Let listeners hear what has happened so far, now instead of at the loop's next turn."""
        self._record.deliver()

    def take_failure(self) -> Exception | None:
        """What stopped the session short of its work, once."""
        failure, self._failure = self._failure, None
        return failure

    def _start(self) -> None:
        if self._task is None:
            self._be("working")
            self._loop = self._new_loop()
            self._task = asyncio.get_running_loop().create_task(self._work(self._loop))

    def _new_loop(self) -> Loop:
        return Loop(self._equipment, self._limits, waiting=lambda: self._be("waiting_confirmation"))

    async def _work(self, loop: Loop) -> None:
        try:
            while True:
                if not self._ledger.running:
                    loop.say(self._prompts.popleft())
                await loop.run()
                if not self._prompts or self._shutting:
                    return
                loop = self._loop = self._new_loop()
        except Exception as error:  # a bug or a record that cannot be written: whoever listens is told
            self._failure = error
        finally:
            self._loop = self._task = None
            if not self._shutting:
                self._be("paused" if self._ledger.running else "idle")

    def _be(self, status: SessionStatus) -> None:
        if status != self._status:
            self._status = status
            self._record.tell(StatusChanged(self._now(), status))

    def _now(self) -> float:
        return self._equipment.host.clock.now()


class _Feed:
    """Events that a reader has not fetched yet."""

    __slots__ = ("_waiting", "events")

    def __init__(self) -> None:
        self.events: deque[Event] = deque()
        self._waiting: list[asyncio.Future[None]] = []

    def hear(self, event: Event) -> None:
        events = self.events
        if isinstance(event, CallProgressed) and events:
            last = events[-1]
            if isinstance(last, CallProgressed) and last.call_id == event.call_id:
                events[-1] = merged_progress(last, event)
                return
        events.append(event)
        while self._waiting:
            waiting = self._waiting.pop()
            if not waiting.done():
                waiting.set_result(None)

    async def more(self) -> None:
        """Wait until there is something to fetch."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        await waiting


class Reply:
    """The events that follow an input, until the session rests: iterate over it, or await it for all of them.

    An open question is a rest, but a loop that answers inside its body goes on. Progress that nobody fetched is merged,
    so a slow reader holds nobody up.
    """

    def __init__(self, session: Session, ending: tuple[SessionStatus, ...] = _AT_REST) -> None:
        self._session = session
        self._ending = ending
        self._feed = feed = _Feed()
        self._stop = finalize(self, session.listen(feed.hear))  # a reply that nobody keeps stops listening

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        events = self._feed.events
        while not events:
            if self._over():
                raise StopAsyncIteration
            if not events:
                await self._feed.more()
        return events.popleft()

    def __await__(self) -> Generator[Any, None, list[Event]]:
        return self._all().__await__()

    async def _all(self) -> list[Event]:
        return [event async for event in self]

    def _over(self) -> bool:
        self._session.deliver()
        if self._feed.events or self._session.status not in self._ending:
            return False
        self._stop()
        failure = self._session.take_failure()
        if failure is not None:
            raise failure
        return True
