"""A session: inputs in, events out. The composition root, the only module that knows every room."""

# A summary comes from outside and may not keep to its type.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from secrets import token_hex
from typing import Any, Literal, Self

from callgate.config import Config
from callgate.core.executor import ExecutorSettings
from callgate.core.ledger import Ledger
from callgate.core.loop import Loop, LoopLimits
from callgate.core.ports import Gate, Host, Journal, Model
from callgate.core.record import Listener, Record
from callgate.core.reply import AT_REST, Reply
from callgate.core.turn import Equipment
from callgate.gatehouse import opened, settled
from callgate.policy.hooks.runners import Function
from callgate.session.between import Between
from callgate.session.changing import Changing
from callgate.session.company import Company
from callgate.session.desk import Desk
from callgate.session.doing import Doing
from callgate.session.family import Family
from callgate.session.seen import Seen
from callgate.standalone import (
    Tools,
    as_gate,
    as_host,
    as_journal,
    as_toolbox,
    check_model_shape,
    settings_from_environment,
)
from callgate.tools.staging import unserved
from callgate.transcript.compact import Summarize
from callgate.words.decisions import ApprovalPolicy, Confirmation, Mode, Question, check_mode
from callgate.words.errors import JournalError, StateError
from callgate.words.events import (
    Event,
    InputRefused,
    ModelSet,
    ModeSet,
    PolicyAdded,
    PromptQueued,
    SessionStatus,
    StatusChanged,
)
from callgate.words.inputs import (
    Answer,
    Branch,
    Close,
    Compact,
    Continue,
    Input,
    Interrupt,
    Prompt,
    Resolve,
    Rewind,
    SetMode,
    SetModel,
    SetTags,
    SetTitle,
    Snip,
    Steer,
    Trim,
    Undo,
)
from callgate.words.messages import Part
from callgate.words.model import CacheHints, RequestLimits
from callgate.words.pending import Staged

_AT_END: tuple[SessionStatus, ...] = ("idle", "paused", "closed")


class Session(Seen):
    """One conversation with a model that may call tools.

        async with Session(model=…, tools=[…]) as session:
            async for event in session.send(Prompt("…")):
                …

    It works on whether or not anybody reads its events; several doors may listen and send at once. ``root`` is the
    workspace of the local host, the current folder unless given. ``journal`` comes from a Store when the session is to
    be kept; ``mode``, if given, is taken instead of the one on record.

    ``config`` (see load_config) brings rules, hooks, limits and remembered answers; without one no settings file is
    read. ``functions`` are Python hooks by the names the settings use. ``parent`` is the session inside whose call this
    one works: its doors are asked, and ``label`` says who asks.
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
        mode: Mode | None = None,
        context: Mapping[str, Any] | None = None,
        models: Iterable[Model] = (),
        settings: ExecutorSettings | None = None,
        limits: LoopLimits | None = None,
        request_limits: RequestLimits | None = None,
        cache: CacheHints | None = None,
        lineage: tuple[str, ...] = (),
        summarize: Summarize | None = None,
        rerun_safe: bool = True,
        config: Config | None = None,
        functions: Mapping[str, Function] | None = None,
        parent: Session | None = None,
        label: str = "",
    ) -> None:
        if config is not None:
            root, settings, limits = settled(config, gate, host, root, settings, limits)
        self._journal = journal = as_journal(journal)
        host = as_host(host, root, journal)
        self._record = Record(journal, Ledger(journal.read(), context=context))
        house = None if config is None else opened(config, host, journal, self._record.write, functions)
        self._family = Family(None if parent is None else (parent.family, parent), label)
        # Call ids are unique in one session only: a root of its own keeps strangers from looking like kin.
        lineage = (*lineage, journal.session or f"~{token_hex(8)}")
        chosen = as_gate(gate) if house is None else house.gate
        settings = settings_from_environment(settings)
        self._desk = Desk(as_toolbox(tools), host, chosen, self._record, settings, lineage)
        self._models = {check_model_shape(each).name: each for each in (model, *models)}
        self._limits = limits
        self._equipment = Equipment(
            model=self._models.get(self._ledger.model or "", model),
            toolbox=self._desk.toolbox,
            gate=chosen,
            host=host,
            record=self._record,
            system=system,
            settings=settings,
            limits=request_limits or RequestLimits(),
            cache=cache or CacheHints(),
            lineage=lineage,
            path=self._family.path,
            rerun_safe=rerun_safe,
            resumable=bool(journal.session),
            pending=self._desk.stack,
        )
        self._company = company = Company(
            self._record,
            journal,
            host.clock,
            house=house,
            family=self._family,
            context=context,
            answer=self.take_answer,
            questions=lambda: () if self._loop is None else self._loop.questions,
        )
        if mode is None and config is not None:
            mode = config.mode_for(None if not self._ledger.added else self._ledger.mode)
        if mode is not None and check_mode(mode) != self._ledger.mode:
            self._record.write(ModeSet(self._now(), mode))
        self._between = Between(
            *(self._record, journal, company.fresh, self._now, summarize, company.compacting),
            leaving=partial(self._desk.stack.clear, "the conversation went on from another place"),
        )
        self._changing = Changing(host, self._record, self._now, self._desk.stack)
        self._doing = Doing(self._resting(), lambda now: self._record.tell(StatusChanged(self._now(), now)))
        self._be = self._doing.be
        self._loop: Loop | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._prompts: deque[tuple[Part, ...]] = deque()
        self._failure: Exception | None = None
        self._leaving = False  # for another session
        self._continues = False  # a person said that a paused agent may go on
        self._family.join(self)
        if parent is not None or config is not None or journal.session:
            self.attend()
        self._shutting = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @property
    def id(self) -> str:
        """The same after every restart; empty when the session is not kept."""
        return self._journal.session

    @property
    def status(self) -> SessionStatus:
        """``paused`` means that a turn on record was left unfinished: send Continue, or a new Prompt."""
        return self._doing.status

    @property
    def questions(self) -> tuple[Question, ...]:
        """What a person is being asked right now, by this session and those inside it."""
        own = () if self._loop is None else self._loop.questions
        return (*own, *self._family.questions)

    @property
    def pending(self) -> tuple[Staged, ...]:
        """What was staged and waits to be applied or discarded, newest first."""
        return tuple(self._desk.stack.newest())

    def send(self, sent: Input, *, until: Literal["rest", "idle"] = "rest") -> Reply:
        """Send an input and hear what follows: iterate over the reply, or await it.

        It ends when the session rests, an open question included; with ``until="idle"`` it goes on past questions, for
        answers that come from another door.
        """
        reply = Reply(self, AT_REST if until == "rest" else _AT_END)
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
        if self._doing.status == "closed":
            raise StateError("the session is closed")
        known = isinstance(sent, Input)
        refusal = self._take(sent) if known else f"there is no input {type(sent).__name__}"
        self._between.touched()
        if refusal is not None:
            self._record.tell(InputRefused(self._now(), type(sent).__name__, refusal))

    async def aclose(self) -> None:
        """Stop what is under way, wait for its end, and close. A session that is kept goes on from there another time;
        JournalError when the last of it could not be written."""
        await asyncio.shield(self._begin_to_end())

    def _begin_to_end(self) -> asyncio.Task[None]:
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._end())
            # Whoever waits for it, or reads on, is told; a door that only posted has nobody else to tell.
            self._closing.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._closing

    async def _end(self) -> None:
        self._shutting = True
        await self._company.shut()
        self._company.interrupt()
        self._desk.interrupt("The session was closed.")
        if self._task is not None and not self._task.done():
            if self._loop is None:
                self._between.interrupt()
            else:
                end = self._loop.leave if self._equipment.resumable else self._loop.interrupt
                end("The session was closed.")
            await asyncio.wait((self._task,))
        await self._doing.through()
        if self._leaving:
            await self._desk.stack.clear("the session was left for another one")
        await self._company.aclose()
        self.deliver()
        try:
            await self._journal.aclose()
        except JournalError as error:
            self._failure = error
            raise
        finally:
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
                if self._doing.status != "paused":
                    return "nothing was left unfinished"
                self._continues = True
                self._start()
            case Steer():
                return self._take(Prompt(sent.text)) if self._loop is None else self._loop.steer(sent.text)
            case Interrupt():
                return self._interrupt(sent.reason or "Interrupted by the user.")
            case Answer():
                return self.take_answer(sent.confirmation)
            case SetModel():
                return self._set_model(sent.model)
            case SetMode() | SetTitle() | SetTags() | Snip() | Trim():
                return self._between.settle(sent)
            case Rewind() | Branch():
                return self._aside(sent, self._between.move(sent))
            case Compact():
                return self._aside(sent, self._between.compact(sent))
            case Undo():
                return self._aside(sent, self._changing.undo(sent))
            case Resolve():
                return self._resolve(sent)
            case Close():
                return self._close(sent)
        return None

    def _interrupt(self, because: str) -> str | None:
        self._company.interrupt()
        stopped = self._desk.interrupt(because)
        if self._loop is None:
            return None if stopped else self._between.interrupt()
        self._be("working")
        self._loop.interrupt(because)
        return None

    def _resolve(self, sent: Resolve) -> str | None:
        """Between two turns, or beside the one under way."""
        work = self._desk.resolve(sent, self._changing.recover)
        if self._task is None:
            return self._aside(sent, work)
        self._doing.beside(self._do_beside(type(sent).__name__, work))
        return None

    def _close(self, sent: Close) -> str | None:
        if sent.pending not in ("keep", "discard"):
            return f"pending is keep or discard, not {sent.pending!r}"
        self._be("working")
        self._leaving = sent.pending == "discard"
        self._begin_to_end()
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

    # ---- with others --------------------------------------------------------------------------------------------

    @property
    def family(self) -> Family:
        """For a session that works inside a call of this one."""
        return self._family

    def take_answer(self, confirmation: Confirmation) -> str | None:
        """Act on an answer to a question of this session, or of one inside it; otherwise say why not."""
        if confirmation.path != self._family.path:
            return self._family.answer(confirmation)
        refusal = "no question is open" if self._loop is None else self._loop.answer(confirmation)
        if refusal is None:
            self._be("working")  # until the turn says that it waits again
        return refusal

    def adopt(self, policy: ApprovalPolicy) -> None:
        """An answer that was remembered by a session inside this one, or around it."""
        if policy not in self._ledger.policies and not self._shutting:
            self._record.write(PolicyAdded(self._now(), policy))
            if self._loop is not None and self._loop.reconsider():
                self._be("working")

    def relay(self, event: Event) -> None:
        """Let the doors hear of a question that was asked further below."""
        self._record.relay(event)

    def attend(self) -> None:
        """From now on somebody has to be told of questions and answers: a family, hooks, other programs."""
        self._company.attend()

    # ---- between turns ------------------------------------------------------------------------------------------

    def _aside(self, sent: Input, work: Coroutine[Any, Any, str | None]) -> str | None:
        """Something that takes its time while no turn is under way. It answers why it could not be done."""
        if self._task is not None:
            work.close()
            return "interrupt the work under way first"
        self._be("working")
        doing = self._do_aside(type(sent).__name__, work)
        self._task = asyncio.get_running_loop().create_task(doing, context=unserved())
        return None

    async def _do_aside(self, name: str, work: Coroutine[Any, Any, str | None]) -> None:
        try:
            await self._do_beside(name, work)
        finally:
            self._task = None
            self._settle_down()

    async def _do_beside(self, name: str, work: Coroutine[Any, Any, str | None]) -> None:
        try:
            refusal = await work
            if refusal is not None:
                self._record.tell(InputRefused(self._now(), name, refusal))
        except Exception as error:
            self._failure = error

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
            self._task = asyncio.get_running_loop().create_task(self._work(self._loop), context=unserved())

    def _new_loop(self) -> Loop:
        return Loop(
            self._equipment,
            self._limits,
            waiting=lambda: self._be("waiting_confirmation"),
            going=lambda: self._be("working"),
            ending=self._company.ending,
        )

    async def _work(self, loop: Loop) -> None:
        try:
            await self._changing.recover()
            await self._between.read_again()
            await self._company.look_up()
            while True:
                if not self._ledger.running:
                    if self._prompts:
                        parts = await self._company.admitted(self._prompts.popleft())
                        if parts is None:
                            continue
                        loop.say(parts)
                    elif not (self._ledger.paused and self._continues):
                        return
                elif not await self._company.resumes():
                    return
                self._continues = False
                if self._shutting:
                    return
                await loop.run()
                if not self._prompts or self._shutting:
                    return
                loop = self._loop = self._new_loop()
        except Exception as error:  # a bug or a record that cannot be written: whoever listens is told
            self._failure = error
        finally:
            self._loop = self._task = None
            self._settle_down()

    def _settle_down(self) -> None:
        if self._shutting:
            return
        self._be(self._resting())
        if self._prompts and self._failure is None:
            self._start()

    def _resting(self) -> SessionStatus:
        return "paused" if self._ledger.running or self._ledger.paused else "idle"

    def _now(self) -> float:
        return self._equipment.host.clock.now()
