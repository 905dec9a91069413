"""Makes sessions, executors and runners of what people pass: the only part that knows every room.

options   what people pass, checked and made into parts
settings  the parts that a Config brings; loaded when one is given
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from os import urandom
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from callgate.assembly.options import (
    AnyPath,
    DecisionGate,
    Tools,
    as_context,
    as_gate,
    as_host,
    as_journal,
    as_models,
    as_settings,
    as_toolbox,
    check_config,
    of_kind,
    own_checks,
)
from callgate.compaction.feature import compaction_feature
from callgate.conversation.allowance import Price
from callgate.conversation.equipment import Equipment
from callgate.conversation.feature import Feature, FeaturePart, OpenSession
from callgate.conversation.feature_set import FeatureSet
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Journal, Model
from callgate.conversation.record import Record
from callgate.core.executor import CallExecutor
from callgate.core.ports import Check, Gate, Host, ToolSource
from callgate.notices.feature import notices_feature
from callgate.session.conversation import Conversation
from callgate.session.meter import SessionMeter
from callgate.session.run import RunResult
from callgate.staging.feature import staging_feature
from callgate.staging.standing import StandingHandler
from callgate.staging.workspace import workspace_feature
from callgate.tools.toolbox import all_tools
from callgate.words.errors import CallgateError
from callgate.words.events import ModeSet
from callgate.words.inputs import Input
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.model import CacheHints, RequestLimits, RequestOptions
from callgate.words.modes import Mode, check_mode

if TYPE_CHECKING:
    from callgate.config import Config
    from callgate.transcript.compact import Summarize

T = TypeVar("T")
MakeSystem = Callable[[Record], tuple[str, Iterable[str]]]

__all__ = ["DecisionGate", "Executor", "Session", "run_sync"]


class Session(Conversation):
    """One conversation with a model that may call tools.

        async with Session(model=…, tools=[…]) as session:
            async for event in session.send(Prompt("…")):
                …

    It works on without a reader of its events; several doors may listen and send at once.

    model            what answers requests, see ``callgate.Model``; ``models`` are further ones, for SetModel
    open_model       opens a model by its name, for SetModel with one that is not there yet; blocks, and raises a
                     CallgateError in words
    fallback         the model for the rest of a run in which ``model`` was overloaded three times in a row
    price            a function that gives the dollars for a model's name and a Usage, or None
    tools            functions, tools, or a Toolbox
    deferred         further tools, or a source of them that may change: the model finds them by search, see its guide
    system           the system prompt, the same in every request; or a function that makes it, and notes for
                     people, of the record so far
    deps             any object that tools get as ``run.deps``: never copied, never on record; inherited by nested ones
    gate             decides about calls, in place of the default gate; not together with ``config`` or ``checks``
    checks           the program's own Checks beside the rules: a Deny stands, an Ask asks, an Allow lifts no rule
    config           rules, hooks, limits and remembered answers, from load_config; without one no settings file is read
    features         further features, and replacements of our own by name; see the guide "write a feature"
    mode             the permission mode, in place of the one on record or in the config
    root             the workspace of the local host: the current folder unless given
    host             the world that tools touch, in place of the local host; sessions of one thread on one root share
                     their locks
    journal          where the session is kept, from ``await store.create()`` or ``store.open(…)``; else in memory
    context          JSON data that tools read as ``run.context`` and change by a Result's ``context_update``
    settings         how calls run: how many at once, time limits, sizes (ExecutorSettings)
    limits           when the agent stops: turns, tokens, dollars, seconds, denials (LoopLimits)
    request_limits   limits that are sent with each request (RequestLimits); ``cache`` are its cache hints, ``options``
                     effort, thinking and the like (RequestOptions), which Prompt(options=…) changes for one run
    cheap            a cheaper model: it writes the summaries of compactions, and a title after the first prompt
    summarize        a function that writes the summaries, in place of a model
    standing         handlers that take a ``resolve`` while nothing is pending
    pending          when staged actions are resolved: ``first``, before any other change and before a run ends, or
                     ``whenever``
    rerun_safe       after a crash, run idempotent calls again that had started
    parent           the session in whose call this one works: its doors are asked, its host is used; ``label`` says who
                     asks, ``lineage`` names the call (``run.lineage``) where it cannot be told from the task
    """

    def __init__(
        self,
        model: Model,
        tools: Tools = (),
        *,
        deferred: Tools | None = None,
        system: str | MakeSystem = "",
        deps: Any = None,
        gate: Gate | None = None,
        checks: Iterable[Check] = (),
        host: Host | None = None,
        root: AnyPath | None = None,
        journal: Journal | None = None,
        mode: Mode | None = None,
        context: Mapping[str, Any] | None = None,
        models: Iterable[Model] = (),
        open_model: Callable[[str], Model] | None = None,
        fallback: Model | None = None,
        price: Price | None = None,
        settings: ExecutorSettings | None = None,
        limits: LoopLimits | None = None,
        request_limits: RequestLimits | None = None,
        cache: CacheHints | None = None,
        options: RequestOptions | None = None,
        lineage: tuple[str, ...] = (),
        cheap: Model | None = None,
        summarize: Summarize | None = None,
        rerun_safe: bool = True,
        pending: Literal["first", "whenever"] = "first",
        standing: Iterable[StandingHandler] = (),
        config: Config | None = None,
        features: Iterable[Feature] = (),
        parent: Session | None = None,
        label: str = "",
    ) -> None:
        given = {"limits": (limits, LoopLimits), "parent": (parent, Conversation)}
        for option, (value, kind) in given.items():
            of_kind(option, value, kind)
        if not callable(system):
            of_kind("system", system, str)
        if config is not None:
            check_config(config, gate, host, root)
            root = config.root if host is None else None
            settings, limits = settings or config.executor_settings, limits or config.limits
        settings = as_settings(settings)
        journal = as_journal(journal)
        host = as_host(host, root, journal, None if parent is None else parent.host)
        record = Record(journal, Ledger())
        path, agent = (), label or "agent"
        if parent is not None:
            path, lineage = parent.router.path_for(agent), lineage or parent.running_call()
            deps = parent.deps if deps is None else deps
        opened = OpenSession(
            record,
            host,
            journal,
            path=path,
            # Call ids are unique in one session only: a root of its own keeps strangers from looking like kin.
            lineage=(*lineage, journal.session or f"~{urandom(8).hex()}"),
            settings=settings,
            price=price,
            cheap=cheap or (parent and parent.cheap),
        )
        own: list[Feature] = [*_own_features(config, parent, agent)]
        own.append(staging_feature(standing, resolved=pending))
        own.append(compaction_feature(summarize, automatic=config is None or config.compacts))
        if cheap is not None and (config is None or config.titles):
            from callgate.compaction.titles import titles_feature  # only where titles are written

            own.append(titles_feature(cheap))
        if deferred is not None:
            own.append(_deferring(as_toolbox(deferred), config))
        if context:
            own.append(context_feature(as_context(context) or {}))
        found = FeatureSet.open([*own, *features], opened)
        record.adopt(Ledger(found.follow(journal.read()), context=found.context), found.folds)
        toolbox, notes = found.toolbox(as_toolbox(tools)), ()
        checks = (*own_checks(checks), *found.checks)
        if config is None:
            gate = as_gate(gate, checks)
        else:
            from callgate.assembly.settings import confine, gate_of, withhold
            from callgate.session.hooks import GateHooks

            withhold(all_tools(toolbox), config, host)
            sandboxed, notes = confine(all_tools(toolbox), config, host)
            hooks = opened.needed("hooks", GateHooks)
            gate = gate_of(config, opened, hooks, checks, sandboxed=sandboxed)
        by_name = as_models(model, models)
        if cheap is not None:
            as_models(cheap, ())
        _set_mode(record, mode, config, host.clock.now())
        chosen, unopened = _recorded_model(record, model, by_name, open_model)
        system, more = system(record) if callable(system) else (system, ())
        equipment = Equipment(
            model=chosen,
            toolbox=toolbox,
            gate=gate,
            host=host,
            record=record,
            features=found,
            fallback=fallback,
            price=price,
            meter=SessionMeter(host.clock, lambda: found.seconds),
            outer_budget=None if parent is None else parent.running_budget,
            system=system,
            settings=settings,
            limits=request_limits or RequestLimits(),
            cache=cache or CacheHints(),
            options=_options(options, record, parent),
            session=journal.session,
            lineage=opened.lineage,
            deps=deps,
            path=path,
            rerun_safe=rerun_safe,
            resumable=bool(journal.session),
        )
        for each in all_tools(toolbox):
            follow = getattr(each, "follow_context", None)  # a tool that remembers, such as Bash its working folder
            if follow is not None:
                follow(lambda: record.ledger.context)
        super().__init__(
            opened,
            equipment,
            models=by_name,
            open_model=open_model,
            limits=limits,
            notes=(
                *(() if config is None else map(str, config.notes)),
                *notes,
                *more,
                *unopened,
                *getattr(journal, "notes", ()),
            ),
            parent=None if parent is None else parent.router,
        )


def _own_features(config: Config | None, parent: Session | None, agent: str) -> Iterator[Feature]:
    """The features of every session, and those that a config brings."""
    yield notices_feature()
    yield workspace_feature()
    outer = None if parent is None else parent.part("hooks")
    if config is not None:
        from callgate.assembly.settings import hooks_feature, remembered_feature

        yield hooks_feature(config, agent=agent)
        yield remembered_feature(config.memory())
    elif outer is not None:
        from callgate.session.hooks import SessionHooks, agent_of  # loaded already, by the parent

        if isinstance(outer, SessionHooks):
            yield Feature("hooks", lambda opened: outer.for_agent(agent_of(agent, opened.path, opened.record), opened))


def _deferring(source: ToolSource, config: Config | None) -> Feature:
    from callgate.search.feature import search_feature  # only where tools are deferred

    if config is None:
        return search_feature(source)
    from callgate.assembly.settings import denied_whole

    return search_feature(source, config.tool_search, denied_whole(config))


class _ContextPart(FeaturePart):
    def __init__(self, context: Mapping[str, Any]) -> None:
        self.context = context


def context_feature(context: Mapping[str, Any]) -> Feature:
    """The first ``run.context`` of a session."""
    return Feature("context", lambda opened: _ContextPart(context))


def _recorded_model(
    record: Record, model: Model, by_name: dict[str, Model], open_model: Callable[[str], Model] | None
) -> tuple[Model, tuple[str, ...]]:
    """The model that was chosen last in this session, opened if it is not there, and a note if that cannot be."""
    name = record.ledger.model
    if name is None or name in by_name or open_model is None:
        return by_name.get(name or "", model), ()
    try:
        found = by_name[name] = open_model(name)
    except CallgateError as error:
        return model, (f"the model {name} of this session cannot be opened, so {model.name} answers: {error}",)
    return found, ()


def _options(options: RequestOptions | None, record: Record, parent: Session | None) -> RequestOptions:
    """The options of a session. The effort on record comes back; a session inside another has the effort of that one,
    but not that of a single turn of it."""
    options = options or RequestOptions()
    inherited = None if parent is None else parent.effort
    return replace(options, effort=record.ledger.effort or options.effort or inherited)


def _set_mode(record: Record, mode: Mode | None, config: Config | None, now: float) -> None:
    if mode is None and config is not None:
        mode = config.mode_for(record.ledger.mode if record.ledger.added else None)
    if mode is not None and check_mode(mode) != record.ledger.mode:
        record.write(ModeSet(now, mode))


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


class Executor(CallExecutor):
    """The engine of one message, without a session; see ``callgate.core.executor`` for its methods.

    tools     functions, tools, or a Toolbox
    gate      decides about calls, in place of the default gate
    context   JSON data that tools read as ``run.context``
    host      the world that tools touch, in place of the local host
    root      the workspace of the local host: the current folder unless given
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
        host: Host | None = None,
        root: AnyPath | None = None,
        record: Record | None = None,
        settings: ExecutorSettings | None = None,
        deps: Any = None,
    ) -> None:
        box, chosen, place = as_toolbox(tools), as_gate(gate), as_host(host, root)
        settings = as_settings(settings)
        super().__init__(box, chosen, as_context(context), host=place, record=record, settings=settings, deps=deps)
