"""Makes sessions, executors and runners of what people pass: the only part that knows every room.

options   what people pass, checked and made into parts
settings  the parts that a Config brings; loaded when one is given
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
from callgate.conversation.allowance import Price
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Compaction, Journal, Model
from callgate.conversation.record import Record
from callgate.conversation.turn import Equipment
from callgate.core.executor import CallExecutor
from callgate.core.ports import Check, Gate, Host
from callgate.session.conversation import Conversation
from callgate.session.meter import SessionMeter
from callgate.session.parts import SessionParts
from callgate.session.run import RunResult
from callgate.staging.session_staging import SessionStaging
from callgate.staging.standing import StandingHandler
from callgate.staging.state import State
from callgate.tools.toolbox import all_tools
from callgate.words.errors import CallgateError
from callgate.words.events import ModeSet
from callgate.words.inputs import Input
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.model import CacheHints, RequestLimits, RequestOptions
from callgate.words.modes import Mode, check_mode

if TYPE_CHECKING:
    from callgate.config import Config
    from callgate.policy.hooks.runners import Function
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
    functions        Python hooks, by the names that the settings use
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
    compaction       keeps the history within the model's window, in place of our own, see ``callgate.core.ports``
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
        compaction: Compaction | None = None,
        rerun_safe: bool = True,
        pending: Literal["first", "whenever"] = "first",
        standing: Iterable[StandingHandler] = (),
        config: Config | None = None,
        functions: Mapping[str, Function] | None = None,
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
        journal = as_journal(journal)
        host = as_host(host, root, journal, None if parent is None else parent.host)
        state, context = State(), as_context(context)
        record = Record(journal, Ledger(state.follow(journal.read()), context=context), folds=state.folds)
        path, agent = (), label or "agent"
        if parent is not None:
            path, lineage = parent.router.path_for(agent), lineage or parent.running_call()
            deps = parent.deps if deps is None else deps
        hooks = remembered = None
        toolbox, notes, search = as_toolbox(tools), (), None
        if deferred is not None:
            from callgate.search.session_search import SessionSearch  # only where tools are deferred

            wanted, hides = "on", None
            if config is not None:
                from callgate.assembly.settings import denied_whole

                wanted, hides = config.tool_search, denied_whole(config)
            source, window = as_toolbox(deferred), lambda: chosen.abilities.context_tokens
            search = SessionSearch(toolbox, source, wanted, window, record, host.clock.now, hides)
            toolbox = search.toolbox
        if config is None:
            gate = as_gate(gate, checks)
        else:
            from callgate.assembly.settings import confine, parts_of, withhold

            withhold(all_tools(toolbox), config, host)
            sandboxed, notes = confine(all_tools(toolbox), config, host)
            gate, hooks, remembered = parts_of(
                config, host, journal, record, path, agent, functions, own_checks(checks), sandboxed
            )
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
            fallback=fallback,
            compaction=compaction,
            suggestions=search,
            price=price,
            meter=SessionMeter(host.clock, (lambda: 0.0) if hooks is None else lambda: hooks.seconds),
            outer_budget=None if parent is None else parent.running_budget,
            system=system,
            settings=as_settings(settings),
            limits=request_limits or RequestLimits(),
            cache=cache or CacheHints(),
            options=_options(options, record, parent),
            session=journal.session,
            # Call ids are unique in one session only: a root of its own keeps strangers from looking like kin.
            lineage=(*lineage, journal.session or f"~{urandom(8).hex()}"),
            deps=deps,
            path=path,
            rerun_safe=rerun_safe,
            resumable=bool(journal.session),
        )
        for each in all_tools(equipment.toolbox):
            follow = getattr(each, "follow_context", None)  # a tool that remembers, such as Bash its working folder
            if follow is not None:
                follow(lambda: record.ledger.context)
        staging = port = SessionStaging(equipment, state, standing)
        if pending == "whenever":
            from callgate.staging.unhurried import Unhurried  # for callers that are no model of ours

            port = Unhurried(staging)
        super().__init__(
            SessionParts(
                equipment=replace(equipment, toolbox=staging.toolbox, staging=port),
                journal=journal,
                staging=staging,
                models=by_name,
                open_model=open_model,
                search=None if search is None else search.toolbox,
                parent=None if parent is None else parent.router,
                limits=limits,
                context=context,
                summarize=summarize,
                cheap=cheap or (parent and parent.cheap),
                titled_by=cheap if config is None or config.titles else None,
                compacts=config.compacts if config is not None else parent is None or parent.compacts,
                hooks=hooks or (parent and parent.hooks_for(agent, path, record)),
                remembered=remembered,
                notes=(
                    *(() if config is None else map(str, config.notes)),
                    *notes,
                    *more,
                    *unopened,
                    *getattr(journal, "notes", ()),
                ),
            )
        )


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
