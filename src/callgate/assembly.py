"""Makes sessions, executors and gates of what people pass: the only module that knows every room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike, environ, fspath
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar, cast, overload

from callgate.config import Config, max_concurrency_from
from callgate.core import executor as engine
from callgate.core import gate as gates
from callgate.core import runner
from callgate.core.gate import PostHook, Requested
from callgate.core.ledger import Ledger
from callgate.core.ports import Case, Check, Gate, Host, Journal, Masking, Model, Tool, Toolbox
from callgate.core.record import Listener, MemoryJournal, Record
from callgate.core.turn import Equipment
from callgate.host.local import LocalHost
from callgate.policy.always import choices_for
from callgate.policy.checks import Judge, remembered, standard_checks
from callgate.policy.fingerprint import fingerprint
from callgate.policy.hooks.hooks import Hooks
from callgate.policy.hooks.runners import Function
from callgate.policy.lines import Fault
from callgate.policy.rules import Rulebook, make_rule
from callgate.session.conversation import Conversation
from callgate.session.hooks import Agent, SessionHooks
from callgate.session.parts import Parts
from callgate.session.remembered import RememberedAnswers
from callgate.session.run import RunResult, last_answer
from callgate.session.tree import TreeNode
from callgate.staging.room import Room
from callgate.staging.standing import StandingHandler
from callgate.staging.state import State
from callgate.tools.toolbox import Toolbox as ToolList
from callgate.transcript.compact import Summarize
from callgate.words.decisions import Allow, Choice, Confirmation
from callgate.words.errors import UsageError
from callgate.words.events import ModeSet, Noted
from callgate.words.inputs import Input
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.model import CacheHints, RequestLimits
from callgate.words.modes import Mode, check_mode

T = TypeVar("T")

Tools = Toolbox | Iterable[Tool | Callable[..., Any]]
"""A toolbox, or tools and functions to make one of."""


class Session(Conversation):
    """One conversation with a model that may call tools.

        async with Session(model=…, tools=[…]) as session:
            async for event in session.send(Prompt("…")):
                …

    It works on whether or not anybody reads its events; several doors may listen and send at once. ``root`` is the
    workspace of the local host, the current folder unless given. ``journal`` comes from a Store when the session is to
    be kept; ``mode``, if given, is taken instead of the one on record.

    ``config`` (see load_config) brings rules, hooks, limits and remembered answers; without one no settings file is
    read. ``functions`` are Python hooks by the names the settings use. ``parent`` is the session inside whose call this
    one works: its doors are asked, and ``label`` says who asks. ``standing`` are handlers that take a ``resolve`` while
    nothing is pending.
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
        standing: Iterable[StandingHandler] = (),
        config: Config | None = None,
        functions: Mapping[str, Function] | None = None,
        parent: Session | None = None,
        label: str = "",
    ) -> None:
        if config is not None:
            root, settings, limits = _settings_of(config, gate, host, root, settings, limits)
        journal = as_journal(journal)
        host = as_host(host, root, journal, parent)
        state = State()
        record = Record(journal, Ledger(state.follow(journal.read()), context=context), folds=(state.fold,))
        node = TreeNode(None if parent is None else (parent.node, parent), label)
        agent = (
            None if parent is None else Agent(label or "agent", node.path, lambda: last_answer(record.ledger.messages))
        )
        policy = None if config is None else _Policy(config, host, journal, record, functions, agent)
        chosen = as_gate(gate) if policy is None else policy.gate
        settings = settings_from_environment(settings)
        hooks = None if policy is None else policy.session_hooks
        if hooks is None and agent is not None and parent is not None and parent._hooks is not None:
            hooks = parent._hooks.for_agent(replace(agent, borrowed=True), record.write)
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
                notes=() if config is None else tuple(map(str, config.notes)),
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


class _Policy:
    """The gate that a Config makes for one session, and the hooks and remembered answers beside it."""

    def __init__(
        self,
        config: Config,
        host: Host,
        journal: Journal,
        record: Record,
        functions: Mapping[str, Function] | None,
        agent: Agent | None,
    ) -> None:
        clock = host.clock
        hooks = Hooks(
            config.hooks,
            root=config.root,
            covers=self._covers,
            clock=clock,
            report=record.write,
            session=journal.session,
            transcript="" if journal.path is None else str(journal.path),
            functions=functions,
            trusted=partial(config.still_trusted, fingerprint(config.root).digest if config.hooks else ""),
        )
        rulebook = Rulebook.of(
            config.rules,
            root=host.place(".").resolved,
            home=str(config.home),
            now=clock.now(),
            faults=(*config.faults, *hooks.faults, *_bad_conditions(config)),
        )
        self._judge = judge = Judge(rulebook)
        self.gate = DecisionGate(
            standard_checks(rulebook, hooks=hooks.before),
            after=(hooks.after,) if config.hooks else (),
            requested=hooks.asked if config.hooks else None,
            remembered=judge.remembered,
        )
        self.remembered = RememberedAnswers(
            config.memory(), lambda text: record.write(Noted(clock.now(), text, "warning"))
        )
        notify = config.questions.notify
        self.session_hooks = None
        if config.hooks or notify is not None:
            root = str(config.root)
            self.session_hooks = SessionHooks(
                hooks, root=root, clock=clock, report=record.write, notify=notify, agent=agent
            )

    def _covers(self, rule: str, case: Case) -> bool:
        return self._judge.concerns(rule, case)


def _bad_conditions(config: Config) -> list[Fault]:
    """Faults for conditions of hooks that are no rules: a hook with a typo there would never be asked, unnoticed."""
    found: list[Fault] = []
    for line in config.hooks:
        try:
            if line.condition:
                make_rule("ask", line.condition, line.origin, root=str(config.root), home=str(config.home))
        except ValueError as error:
            found.append(Fault(f"the condition {line.condition!r} of a hook is no rule: {error}", line.origin))
    return found


def _settings_of(
    config: Config,
    gate: Gate | None,
    host: Host | None,
    root: str | PathLike[str] | None,
    settings: ExecutorSettings | None,
    limits: LoopLimits | None,
) -> tuple[str | PathLike[str] | None, ExecutorSettings, LoopLimits]:
    """The workspace of the config, and its limits where none were given in code. UsageError for contradictions."""
    if gate is not None:
        raise UsageError("pass either gate or config: a config makes the gate")
    if root is not None:
        raise UsageError("pass either root or config: a config has its own workspace")
    if isinstance(host, LocalHost) and host.root != config.root:
        raise UsageError(f"the host works in {host.root}, the config is for {config.root}: rules would miss its files")
    if settings is None:
        patience = config.questions.deadline
        settings = replace(ExecutorSettings(), max_concurrency=config.max_concurrency, patience=patience)
    return (config.root if host is None else None), settings, limits or config.limits


def as_toolbox(tools: Tools) -> Toolbox:
    """UsageError for what is neither a toolbox nor a list of tools."""
    if isinstance(tools, Iterable):
        return ToolList(*tools)
    if not hasattr(tools, "resolve"):
        raise UsageError(f"pass a list of tools or a toolbox, not {type(tools).__name__}")
    return tools


def as_gate(gate: Gate | None) -> Gate:
    if gate is not None and not hasattr(gate, "judge"):
        raise UsageError(f"a gate is needed, such as DecisionGate(checks), not {type(gate).__name__}")
    return gate or DecisionGate()


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
        from callgate.changes.history import History  # with sessions on disk alone
        from callgate.changes.history_host import HistoryHost

        folder, every = journal.path.with_suffix(""), journal.path.parent
        # One journal for all sessions of a workspace: they apply to the same files.
        host = LocalHost(place, folder / "artifacts", clean=journal.clean, journal=every / "applying")
        return HistoryHost(host, History(every), journal.session)
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


class DecisionGate(gates.DecisionGate):
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


class Executor(engine.Executor):
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
    ) -> None:
        super().__init__(
            as_toolbox(tools),
            as_gate(gate),
            context,
            host=as_host(host, root),
            record=record,
            settings=settings_from_environment(settings),
            lineage=lineage,
            confirmations=confirmations,
        )


class ToolCallRunner(runner.ToolCallRunner):
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
    ) -> None:
        super().__init__(
            as_toolbox(tools),
            as_gate(gate),
            host=as_host(host, root),
            settings=settings_from_environment(settings),
            lineage=lineage,
            on_event=on_event,
            mode=mode,
        )
