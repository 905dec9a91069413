"""Makes sessions, executors and gates of what people pass: the only part that knows every room. ``settings`` has what a
Config brings, and is loaded when one is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from os import PathLike, environ, fspath
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from callgate.core import executor as engine
from callgate.core import gate as gates
from callgate.core import runner
from callgate.core.gate import PostHook, Requested
from callgate.core.ledger import Ledger
from callgate.core.ports import Case, Check, Gate, Host, Journal, Masking, Model, Tool, Toolbox
from callgate.core.record import Listener, MemoryJournal, Record
from callgate.core.turn import Equipment
from callgate.host.environment import max_concurrency_from
from callgate.host.local import LocalHost
from callgate.policy.checks import remembered, standard_checks
from callgate.policy.choices import choices_for
from callgate.session.conversation import Conversation
from callgate.session.parts import Parts
from callgate.session.run import RunResult
from callgate.session.tree import TreeNode
from callgate.staging.room import Room
from callgate.staging.standing import StandingHandler
from callgate.staging.state import State
from callgate.tools.toolbox import Toolbox as ToolList
from callgate.words.decisions import Allow, Choice, Confirmation
from callgate.words.errors import UsageError
from callgate.words.events import ModeSet
from callgate.words.inputs import Input
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.model import CacheHints, RequestLimits
from callgate.words.modes import Mode, check_mode

if TYPE_CHECKING:
    from callgate.assembly.settings import SettingsParts
    from callgate.config import Config
    from callgate.policy.hooks.runners import Function
    from callgate.transcript.compact import Summarize

T = TypeVar("T")

Tools = Toolbox | Iterable[Tool | Callable[..., Any]]
"""A toolbox, or tools and functions to make one of."""


class Session(Conversation):
    """One conversation with a model that may call tools.

        async with Session(model=…, tools=[…]) as session:
            async for event in session.send(Prompt("…")):
                …

    It works on without a reader of its events; several doors may listen and send at once.

    model            what answers requests, see ``callgate.Model``; ``models`` are further ones, for SetModel
    tools            functions, tools, or a Toolbox
    system           the system prompt, the same in every request
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
    limits           when the agent stops: turns, denials (LoopLimits)
    request_limits   limits that are sent with each request (RequestLimits); ``cache`` are its cache hints
    summarize        a function that writes the summary for Compact
    standing         handlers that take a ``resolve`` while nothing is pending
    rerun_safe       after a crash, run idempotent calls again that had started
    parent           the session in whose call this one works: its doors are asked, its host is used; ``label`` says who
                     asks, ``lineage`` names the call (``run.lineage``) where it cannot be told from the task
    """

    def __init__(
        self,
        model: Model,
        tools: Tools = (),
        *,
        system: str = "",
        deps: Any = None,
        gate: Gate | None = None,
        checks: Iterable[Check] = (),
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
        standing: Iterable[StandingHandler] = (),
        config: Config | None = None,
        functions: Mapping[str, Function] | None = None,
        parent: Session | None = None,
        label: str = "",
    ) -> None:
        if config is not None:
            check_config(config, gate, host, root)
            root = config.root if host is None else None
            settings, limits = settings or config.executor_settings, limits or config.limits
        journal = as_journal(journal)
        host = as_host(host, root, journal, parent)
        state = State()
        context = as_context(context)
        record = Record(journal, Ledger(state.follow(journal.read()), context=context), folds=(state.fold,))
        node = TreeNode(None if parent is None else (parent.node, parent), label)
        policy = None if config is None else _policy(config, host, journal, record, node, functions, checks)
        chosen = as_gate(gate, checks) if policy is None else policy.gate
        settings = settings_from_environment(settings)
        hooks = None if policy is None else policy.session_hooks
        if parent is not None:
            hooks = hooks or parent.hooks_for(node, record)
            lineage = lineage or parent.running_call()
            deps = parent.deps if deps is None else deps
        # Call ids are unique in one session only: a root of its own keeps strangers from looking like kin.
        lineage = (*lineage, journal.session or f"~{token_hex(8)}")
        staging = Room(
            as_toolbox(tools),
            state,
            host=host,
            gate=chosen,
            record=record,
            settings=settings,
            lineage=lineage,
            handlers=standing,
        )
        every_model = {check_model_shape(each).name: each for each in (model, *models)}
        equipment = Equipment(
            model=every_model.get(record.ledger.model or "", model),
            toolbox=staging.toolbox,
            gate=chosen,
            host=host,
            record=record,
            system=system,
            settings=settings,
            limits=request_limits or RequestLimits(),
            cache=cache or CacheHints(),
            lineage=lineage,
            deps=deps,
            path=node.path,
            rerun_safe=rerun_safe,
            resumable=bool(journal.session),
            staging=staging,
        )
        if mode is None and config is not None:
            mode = config.mode_for(None if not record.ledger.added else record.ledger.mode)
        if mode is not None and check_mode(mode) != record.ledger.mode:
            record.write(ModeSet(host.clock.now(), mode))
        super().__init__(
            Parts(
                equipment=equipment,
                journal=journal,
                staging=staging,
                node=node,
                models=every_model,
                limits=limits,
                context=context,
                summarize=summarize,
                hooks=hooks,
                remembered=None if policy is None else policy.remembered,
                notes=(*(() if config is None else map(str, config.notes)), *getattr(journal, "notes", ())),
            )
        )


@overload
def run_sync(  # pyright: ignore[reportOverlappingOverload]
    model: Model, sent: Input | str, tools: Tools = (), *, output: type[T], **options: Any
) -> RunResult[T]: ...
@overload
def run_sync(model: Model, sent: Input | str, tools: Tools = (), **options: Any) -> RunResult[str]: ...
def run_sync(
    model: Model, sent: Input | str, tools: Tools = (), *, output: Any = str, **options: Any
) -> RunResult[Any]:
    """One run of a session of its own, from plain code. ``options`` are those of Session. A run that stops at a
    question ends there: its ``questions`` name what was asked."""
    with Session(model, tools, **options) as session:
        return session.run_sync(sent, output=output)


def as_toolbox(tools: Tools) -> Toolbox:
    """UsageError for what is neither a toolbox nor a list of tools."""
    if isinstance(tools, Iterable):
        return ToolList(*tools)
    if not hasattr(tools, "resolve"):
        raise UsageError(f"pass a list of tools or a toolbox, not {type(tools).__name__}")
    return tools


def _policy(
    config: Config,
    host: Host,
    journal: Journal,
    record: Record,
    node: TreeNode,
    functions: Mapping[str, Function] | None,
    checks: Iterable[Check],
) -> SettingsParts:
    from callgate.assembly.settings import SettingsParts

    return SettingsParts(config, host, journal, record, node, functions, own_checks(checks))


def check_config(config: Config, gate: Gate | None, host: Host | None, root: str | PathLike[str] | None) -> None:
    """UsageError for options that contradict a config."""
    if gate is not None:
        raise UsageError("pass either gate or config: a config makes the gate; checks=[…] adds your own to it")
    if root is not None:
        raise UsageError("pass either root or config: a config has its own workspace")
    if isinstance(host, LocalHost) and host.root != config.root:
        raise UsageError(f"the host works in {host.root}, the config is for {config.root}: rules would miss its files")


def as_context(context: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """UsageError for a value that cannot be copied: every call gets a copy of the context."""
    for name, value in (context or {}).items():
        try:
            deepcopy(value)
        except Exception as error:
            kind = type(value).__name__
            raise UsageError(
                f"context[{name!r}] is a {kind}, which cannot be copied: context is JSON data, copied for each call."
                f" Pass live objects as deps=…, and tools find them in run.deps ({error})"
            ) from error
    return context


def as_gate(gate: Gate | None, checks: Iterable[Check] = ()) -> Gate:
    """The gate given, or the default one with these checks of the caller's in it."""
    own = own_checks(checks)
    if gate is None:
        return DecisionGate(standard_checks(own=own))
    if own:
        raise UsageError("pass either gate or checks: put the checks into the gate")
    if not hasattr(gate, "judge"):
        raise UsageError(f"a gate is needed, such as DecisionGate(checks), not {type(gate).__name__}")
    return gate


def own_checks(checks: Iterable[Check]) -> tuple[Check, ...]:
    found = tuple(checks)
    for check in found:
        if not isinstance(check, Check):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"checks are Check(name, judge), not {type(check).__name__}")
    return found


def as_host(
    host: Host | None,
    root: str | PathLike[str] | None,
    journal: Masking | None = None,
    parent: Conversation | None = None,
) -> Host:
    """The host given, that of the parent, or the local one with ``root`` as its workspace. With a journal on disk the
    artifacts are kept beside the log, secrets masked in both, and changes with what their undo needs."""
    if host is not None:
        if root is not None:
            raise UsageError("pass either host or root: a host has its own workspace")
        return host
    if root is not None and not Path(root).is_dir():
        raise UsageError(f"the workspace {fspath(root)!r} is not a folder")
    place = None if root is None else Path(root)
    if parent is not None:
        if place is None and (journal is None or journal.path is None):
            return parent.host
        place = place or _root_of(parent.host)
    if journal is not None and journal.path is not None:
        from callgate.changes.history import ChangeHistory  # with sessions on disk alone
        from callgate.changes.history_host import HistoryHost

        folder, every = journal.path.with_suffix(""), journal.path.parent
        # One journal for all sessions of a workspace: they apply to the same files.
        history, applying = ChangeHistory(every), every / "applying"
        return HistoryHost(history, journal.session, place, folder / "artifacts", clean=journal.clean, journal=applying)
    return LocalHost(place)


def _root_of(host: Host) -> Path:
    return Path(host.place(".").resolved)


def as_journal(journal: Journal | None) -> Masking:
    """The journal, given no secrets to store. UsageError for what is none: most often a Store, or a journal that was
    not awaited."""
    if journal is None:
        return MemoryJournal()
    if hasattr(journal, "barrier"):
        if not hasattr(journal, "clean"):
            from callgate.transcript.masked import masked  # costly to load: its patterns

            journal = masked(journal)
        return cast(Masking, journal)
    if hasattr(journal, "close"):  # a coroutine
        journal.close()  # pyright: ignore
    raise UsageError(f"pass journal=await store.create() or await store.open(…), not {type(journal).__name__}")


def check_model_shape(model: Model) -> Model:
    missing = [name for name in ("name", "abilities", "stream") if not hasattr(model, name)]
    if missing:
        raise UsageError(f"{type(model).__name__} is no Model: it has no {', '.join(missing)}")
    return model


def settings_from_environment(settings: ExecutorSettings | None) -> ExecutorSettings:
    """Explicit settings stand; otherwise the defaults with the value of ``CALLGATE_MAX_CONCURRENCY``."""
    count = max_concurrency_from(environ) if settings is None else None
    return (settings or ExecutorSettings()) if count is None else replace(ExecutorSettings(), max_concurrency=count)


def default_checks() -> tuple[Check, ...]:
    """The checks of a gate without rules: hard safety, modes, remembered answers, and asking about what may change
    something. They know no settings; ``load_config`` and ``Session(config=…)`` bring those in."""
    return standard_checks()


class DecisionGate(gates.CheckGate):
    """``DecisionGate()`` is the gate of a session without settings; see callgate.core.gate."""

    def __init__(
        self,
        checks: Sequence[Check] | None = None,
        *,
        after: Iterable[PostHook] = (),
        requested: Requested | None = None,
        remembered: Callable[[Case], Allow | None] = remembered,
        choices: Callable[[Case], tuple[Choice, ...]] = choices_for,
        attended: bool = True,
    ) -> None:
        super().__init__(
            default_checks() if checks is None else checks,
            after=after,
            requested=requested,
            remembered=remembered,
            choices=choices,
            attended=attended,
        )


class Executor(engine.CallExecutor):
    """``Executor(tools)`` with everything else defaulted; see callgate.core.executor.

    ``root`` is the workspace of the local host, the current folder unless given.
    """

    def __init__(
        self,
        tools: Tools,
        gate: Gate | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        host: Host | None = None,
        root: str | PathLike[str] | None = None,
        record: Record | None = None,
        settings: ExecutorSettings | None = None,
        lineage: tuple[str, ...] = (),
        confirmations: Iterable[Confirmation] = (),
        deps: Any = None,
    ) -> None:
        super().__init__(
            as_toolbox(tools),
            as_gate(gate),
            as_context(context),
            host=as_host(host, root),
            record=record,
            settings=settings_from_environment(settings),
            lineage=lineage,
            confirmations=confirmations,
            deps=deps,
        )


class ToolCallRunner(runner.BatchRunner):
    """``ToolCallRunner(tools)`` with everything else defaulted; see callgate.core.runner.

    ``root`` is the workspace of the local host, the current folder unless given.
    """

    def __init__(
        self,
        tools: Tools,
        gate: Gate | None = None,
        *,
        host: Host | None = None,
        root: str | PathLike[str] | None = None,
        settings: ExecutorSettings | None = None,
        lineage: tuple[str, ...] = (),
        on_event: Listener | None = None,
        mode: Mode = "default",
        deps: Any = None,
    ) -> None:
        super().__init__(
            as_toolbox(tools),
            as_gate(gate),
            host=as_host(host, root),
            settings=settings_from_environment(settings),
            lineage=lineage,
            on_event=on_event,
            mode=mode,
            deps=deps,
        )
