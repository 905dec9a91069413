"""Makes sessions, executors and runners of what people pass: the only package that imports all of layer 2.

options   what people pass, checked and made into parts of a session
settings  the gate and the features that a Config brings; loaded when one is given
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from callgate.assembly.options import (
    AnyPath,
    DecisionGate,
    ModelSetup,
    Nesting,
    SessionLimits,
    as_context,
    as_gate,
    as_host,
    as_journal,
    as_limits,
    as_nesting,
    as_settings,
    as_setup,
    check_config,
    of_kind,
    open_session,
    recorded_model,
    request_options,
    session_gate,
    set_mode,
)
from callgate.compaction.compaction_feature import CompactionPart, compaction_feature
from callgate.conversation.equipment import Equipment
from callgate.conversation.feature import Feature, OpenSession
from callgate.conversation.feature_set import FeatureSet
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Journal, Model
from callgate.conversation.record import Record
from callgate.core.capabilities import all_tools, journal_notes
from callgate.core.executor import BareExecutor
from callgate.core.ports import Check, Gate, Host
from callgate.notices.notices_feature import notices_feature
from callgate.session.conversation import Conversation
from callgate.session.meter import SessionMeter
from callgate.session.nesting import NAME as NESTING
from callgate.session.nesting import NestingPart, nesting_feature
from callgate.session.run import RunResult
from callgate.session.user_questions import questions_feature
from callgate.staging.feature import staging_feature
from callgate.staging.workspace import workspace_feature
from callgate.tools.toolbox import Tools, as_toolbox
from callgate.words.inputs import Input
from callgate.words.limits import ExecutorSettings
from callgate.words.modes import Mode

if TYPE_CHECKING:
    from callgate.config import Config
    from callgate.search.search_feature import SearchPart

T = TypeVar("T")
MakeSystem = Callable[[Record], tuple[str, Iterable[str]]]

__all__ = ["DecisionGate", "Executor", "ModelSetup", "Nesting", "Session", "SessionLimits", "run_sync"]


class Session(Conversation):
    """One conversation with a model that may call tools.

        async with Session(model=…, tools=[…]) as session:
            async for event in session.send(Prompt("…")):
                …

    It works on without a reader of its events; several interfaces may listen and send at once.

    model     the model that answers requests, see ``callgate.Model``; or a ModelSetup: with a fallback, prices, options
    tools     functions, tools, or a Toolbox
    features  further features, and replacements of our own by name; see ``callgate.features`` and its guide
    system    the system prompt, the same in every request; or a function that makes it, and notes for people, of the
              record so far
    config    rules, hooks, limits and remembered answers, from load_config; without one no settings file is read
    gate      decides about calls, in place of the default gate; or Checks beside the rules: a Deny stands, an Ask asks,
              an Allow lifts no rule. With ``config`` only checks
    host      the world that tools touch, or the folder in which the local host works: the current one unless given.
              Sessions of one thread on one root share their locks
    journal   stores the session, from ``await store.create()`` or ``store.open(…)``; otherwise it is kept in memory
    mode      the permission mode, in place of the one on record or in the config
    deps      any object that tools get as ``run.deps``: never copied, never on record; inherited by nested sessions
    limits    when a run stops, and how calls run (SessionLimits)
    nesting   the session in whose call this one works (Nesting)
    """

    def __init__(
        self,
        model: Model | ModelSetup,
        tools: Tools = (),
        *,
        features: Iterable[Feature] = (),
        system: str | MakeSystem = "",
        config: Config | None = None,
        gate: Gate | Iterable[Check] | None = None,
        host: Host | AnyPath | None = None,
        journal: Journal | None = None,
        mode: Mode | None = None,
        deps: Any = None,
        limits: SessionLimits | None = None,
        nesting: Nesting | None = None,
    ) -> None:
        if not callable(system):
            of_kind("system", system, str)
        limits, nesting = as_limits(limits, config), as_nesting(nesting)
        parent = nesting.parent
        setup = as_setup(model, parent.setup if isinstance(parent, Session) else None)
        if config is not None:
            check_config(config, gate, host)
        opened = open_session(as_journal(journal), host, setup, limits, nesting, config)
        parts = FeatureSet.open((*_own_features(opened, setup, nesting), *features), opened)
        record, journal, host = opened.record, opened.journal, opened.host
        record.adopt(Ledger(parts.follow(journal.read()), context=as_context(parts.context)), parts.folds)
        box = as_toolbox(tools)
        toolbox = parts.toolbox(box)
        gate, notes = session_gate(gate, opened, parts.checks, all_tools(toolbox))
        set_mode(opened, mode)
        chosen, unopened = recorded_model(record, setup)
        system, more = system(record) if callable(system) else (system, ())
        place = opened.needed(NESTING, NestingPart)
        self.setup, self._own_tools, self._shared = setup, box, {"system": system, "limits": limits}
        equipment = Equipment(
            model=chosen,
            toolbox=toolbox,
            gate=gate,
            host=host,
            record=record,
            features=parts,
            fallback=setup.fallback,
            price=setup.price,
            meter=SessionMeter(host.clock, lambda: parts.seconds),
            unsettled=place.unsettled,
            outer=lambda: None if parent is None else parent.nesting.allowance,
            system=parts.system(system),
            settings=opened.settings,
            limits=setup.request_limits,
            cache=setup.cache,
            options=request_options(setup.options, record, parent),
            session=journal.session,
            lineage=opened.lineage,
            deps=parent.deps if deps is None and parent is not None else deps,
            path=opened.path,
            rerun_safe=limits.rerun_safe,
            resumable=bool(journal.session),
        )
        super().__init__(
            opened,
            equipment,
            models=setup.by_name,
            open_model=setup.open_model,
            limits=limits.run,
            notes=(*notes, *more, *unopened, *journal_notes(journal)),
        )

    def derive(
        self,
        label: str = "agent",
        *,
        model: Model | ModelSetup | None = None,
        tools: Tools | None = None,
        features: Iterable[Feature] = (),
        **options: Any,
    ) -> Session:
        """Open a session inside this one. Rules, checks, hooks, sandbox, mode and limits of this session, and of those
        around it, hold for it, whatever it is given.

        label     names the new session, see ``Nesting``
        model     answers in place of the model of this session
        tools     its tools, in place of those of this session and of its MCP servers
        features  further features
        options   other parameters of Session, in place of those of this session: ``system``, ``mode``, ``journal``, …
        """
        if tools is None:
            tools = [copy(each) for each in self._own_tools.tools()]
            search = cast("SearchPart | None", self.part("search"))
            features = (*(() if search is None else (search.shared(),)), *features)
        model = replace(self.setup, model=self._work.answerer, cheap=None) if model is None else model
        given: dict[str, Any] = {**self._shared, **options}
        return Session(model, tools, features=features, nesting=Nesting(self, label), **given)


def _own_features(opened: OpenSession, setup: ModelSetup, nesting: Nesting) -> Iterator[Feature]:
    """The features of every session, and those that a config, a cheap model or a parent brings."""
    config: Config | None = opened.config
    yield notices_feature()
    yield questions_feature()
    yield nesting_feature(None if nesting.parent is None else nesting.parent.nesting)
    outer = None if nesting.parent is None else nesting.parent.part("hooks")
    if config is not None:
        from callgate.assembly.settings import hooks_feature, remembered_feature  # where there are settings

        yield hooks_feature()
        yield remembered_feature(config.memory())
    elif outer is not None:
        from callgate.session.hooks import inherited_hooks  # loaded already, by the parent

        yield inherited_hooks(outer)
    yield staging_feature()
    yield workspace_feature()
    above = None if nesting.parent is None or config is not None else nesting.parent.part("compaction")
    yield compaction_feature(automatic=above.automatic if isinstance(above, CompactionPart) else None)
    if setup.cheap is not None and (config is None or config.settings.session_title):
        from callgate.compaction.titles import titles_feature  # only where titles are written

        yield titles_feature(setup.cheap)


@overload
def run_sync(  # pyright: ignore[reportOverlappingOverload]
    model: Model, sent: Input | str, tools: Tools = (), *, output: type[T], **options: Any
) -> RunResult[T]: ...
@overload
def run_sync(model: Model, sent: Input | str, tools: Tools = (), **options: Any) -> RunResult[str]: ...
def run_sync(
    model: Model, sent: Input | str, tools: Tools = (), *, output: Any = str, **options: Any
) -> RunResult[Any]:
    """One run of a session of its own, from plain code. A run that stops at a question ends there: its ``questions``
    name what was asked.

    model, tools  as for Session
    sent          the prompt, or another input
    output        a type: the answer is validated and given as a value of it
    options       the other parameters of Session
    """
    with Session(model, tools, **options) as session:
        return session.run_sync(sent, output=output)


class Executor(BareExecutor):
    """The engine of one message, without a session; see ``callgate.core.executor`` for its methods.

    tools     functions, tools, or a Toolbox
    gate      decides about calls, in place of the default gate
    context   JSON data that tools read as ``run.context``
    host      the world that tools touch, or the folder in which the local host works: the current one unless given
    record    the events so far, to go on from; else a new one in memory
    settings  how calls run: how many at once, time limits, sizes (ExecutorSettings)
    deps      any object that tools get as ``run.deps``
    """

    def __init__(
        self,
        tools: Tools,
        gate: Gate | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        host: Host | AnyPath | None = None,
        record: Record | None = None,
        settings: ExecutorSettings | None = None,
        deps: Any = None,
    ) -> None:
        box, chosen, place = as_toolbox(tools), as_gate(gate), as_host(host)
        settings = as_settings(settings)
        super().__init__(box, chosen, as_context(context), host=place, record=record, settings=settings, deps=deps)
