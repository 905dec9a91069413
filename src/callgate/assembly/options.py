"""Checks the options of a session, an executor or a runner, and converts them into the objects to use. Invalid
options raise UsageError."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json import dumps, loads
from os import PathLike, environ, fspath, urandom
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from callgate.conversation.allowance import Price
from callgate.conversation.feature import OpenSession
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Journal, Masking, Model
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.capabilities import SessionFacts, bind, facts_of
from callgate.core.gate import CheckGate, PostHook, Requested
from callgate.core.ports import Check, Gate, Host, Tool
from callgate.host.local import LocalHost
from callgate.policy.checks import OwnChecks, standard_checks
from callgate.policy.judge import Judge
from callgate.policy.question_reasons import choices_for
from callgate.session.conversation import Conversation, nesting_of
from callgate.session.nesting import NAME as NESTING
from callgate.session.nesting import NestingPart
from callgate.words.decisions import Allow
from callgate.words.errors import CallgateError, ModelError, UsageError
from callgate.words.events import ModeSet, Noted
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.messages import Usage
from callgate.words.model import Abilities, CacheHints, ModelEvent, Request, RequestLimits, RequestOptions
from callgate.words.modes import Mode, check_mode
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.config import Config
    from callgate.providers.model_source import ConfiguredModel

AnyPath = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class ModelSetup:
    """A model with the settings of its requests.

    model           the model of the session; a recorded or chosen model replaces it
    models          further models, for SetModel by name
    open_model      opens a model by its name, for SetModel with a further name; blocks, and raises a CallgateError with
                    the reason of a failure
    fallback        answers for the rest of a run after ``model`` was overloaded three times in a row
    cheap           a cheaper model: it writes the summaries of compactions, and a title after the first prompt
    price           a function that returns the price in dollars for a model's name and a Usage, or None; in a nested
                    session the price of the parent session replaces None. A price of 0 counts against no dollar limit
    request_limits  limits that are sent with each request
    cache           cache hints that are sent with each request
    options         effort, thinking and further options of each request; Prompt(options=…) changes them for one run
    """

    model: Model
    models: Iterable[Model] = ()
    open_model: Callable[[str], Model] | None = None
    fallback: Model | None = None
    cheap: Model | None = None
    price: Price | None = None
    request_limits: RequestLimits = RequestLimits()
    cache: CacheHints = CacheHints()
    options: RequestOptions = RequestOptions()
    by_name: dict[str, Model] = field(init=False, repr=False)
    """The models that SetModel may choose."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", as_models(self.model, self.models))
        if self.cheap is not None:
            as_models(self.cheap, ())


@noun
class SessionLimits:
    """Limits of a session.

    run         when a run stops: turns, tokens, dollars, seconds, denials; None: as in the config
    calls       how calls run: maximum concurrency, time limits, sizes; None: as in the config
    rerun_safe  True to run interrupted idempotent calls again after a crash
    """

    run: LoopLimits | None = None
    calls: ExecutorSettings | None = None
    rerun_safe: bool = True


@noun
class Nesting:
    """The parent session and the name of a nested session.

    parent   the parent session: its interfaces answer questions, its host is used
    label    the name that is shown with questions of the nested session
    lineage  the call of the parent session (``run.lineage``); default: the call of the current task
    name     the last path element of an existing nested session, to open it again; the name of a new nested session is
             made from the label
    """

    parent: Conversation | None = None
    label: str = ""
    lineage: tuple[str, ...] = ()
    name: str = ""


@noun
class ServerFlags:
    """MCP servers of the command line.

    given   files or JSON texts, which have priority over all other servers
    strict  True to use only these servers
    """

    given: tuple[str, ...] = ()
    strict: bool = False


class DecisionGate(CheckGate):
    """The gate of a session without settings.

    checks     the checks, in this order; default: ``callgate.policy.checks.standard_checks``
    after      functions that may change the result of a call before the model receives it
    requested  callback for every question before it is shown; it may answer the question
    """

    def __init__(
        self,
        checks: Sequence[Check] | None = None,
        *,
        after: Iterable[PostHook] = (),
        requested: Requested | None = None,
    ) -> None:
        checks = standard_checks() if checks is None else checks
        super().__init__(checks, after=after, requested=requested, remembered=Judge().remembered, choices=choices_for)


def opened_by_name(name: str, config: Config | None, opened: list[ConfiguredModel]) -> ModelSetup:
    """Return the setup of the model with this name, with the prices of the catalogue. Every opened model is added to
    ``opened``. Raise UsageError for an unknown name, and ModelError if the key is missing; the message contains the
    remedy.

    config  the providers, keys and model names of the user; default: the settings files
    """
    from callgate.assembly.models import model_source  # costly to load, and only for a name
    from callgate.config import load_config

    source = model_source(config or load_config())

    def open_model(wanted: str) -> Model:
        found = source.open(wanted)
        opened.append(found)
        return found

    return ModelSetup(open_model(name), open_model=open_model, price=source.catalogue.price)


def check_deps(deps: Any, tools: Iterable[Tool]) -> None:
    """Raise UsageError if a tool takes a Run of a different class than the class of ``deps``."""
    for each in tools:
        wanted = facts_of(each).deps
        if deps is not None and wanted is not None and not isinstance(deps, wanted):
            given = type(deps).__name__
            raise UsageError(f"the tool {each.spec.name} takes Run[{wanted.__name__}], but deps= has the type {given}")


def as_models(model: Model, models: Iterable[Model]) -> dict[str, Model]:
    """Return the models by name, in their order. Raise UsageError for an object that is not a Model."""
    found: dict[str, Model] = {}
    for each in (model, *models):
        missing = [name for name in ("name", "abilities", "stream") if not hasattr(each, name)]
        if missing:
            raise UsageError(f"{type(each).__name__} is not a Model: it lacks {', '.join(missing)}")
        found[each.name] = each
    return found


def as_context(context: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the context. Raise UsageError if it is not JSON data, because it is copied for each call and changes
    are recorded."""
    of_kind("context", context, Mapping)
    for name, value in (context or {}).items():
        try:
            kept = loads(dumps({name: value}, allow_nan=False)) == {name: value}
        except (TypeError, ValueError, RecursionError):
            kept = False
        if not kept:
            raise UsageError(
                f"context[{name!r}] is not JSON data ({type(value).__name__}): the context is copied for each call."
                " Pass live objects as deps=…; tools read them from run.deps"
            )
    return context


def of_kind(option: str, value: object, kind: type) -> None:
    """Raise UsageError if the option is not None and has another type."""
    if value is not None and not isinstance(value, kind):
        raise UsageError(f"{option}= must be {kind.__name__}, not {value!r:.80} ({type(value).__name__})")


def as_gate(gate: Gate | Iterable[Check] | None, checks: Iterable[Check] = ()) -> Gate:
    """Return the given gate, or a default gate with the given checks and the checks of features. Raise UsageError
    for another object, and for a gate together with checks of features."""
    if gate is None or isinstance(gate, Iterable):
        return DecisionGate(standard_checks(own=(*own_checks(gate or ()), *checks)))
    if not hasattr(gate, "judge"):
        raise UsageError(f"gate= must be a gate such as DecisionGate(checks), not {type(gate).__name__}")
    if checks:
        raise UsageError("a feature adds checks, so pass gate=[Check(…)] instead of a custom gate")
    return gate


def own_checks(checks: Iterable[Check]) -> tuple[Check, ...]:
    found = tuple(checks)
    for check in found:
        if not isinstance(check, Check):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"checks must be Check(name, judge), not {type(check).__name__}")
    return found


def as_settings(settings: ExecutorSettings | None) -> ExecutorSettings:
    """Return the given settings, or the defaults with the value of ``CALLGATE_MAX_CONCURRENCY``."""
    of_kind("settings", settings, ExecutorSettings)
    if settings is not None or "CALLGATE_MAX_CONCURRENCY" not in environ:
        return settings or ExecutorSettings()
    from callgate.policy.setting_rows import from_variables  # costly to load, and the variable is rare

    given = from_variables(environ).get("limits.max_concurrency")
    return ExecutorSettings() if given is None else replace(ExecutorSettings(), max_concurrency=given)


class _NoModel:
    """The model of a session in which only programs make calls. Every request raises ModelError."""

    name = "none"
    abilities = Abilities()

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        raise ModelError("this session has no model: choose one with SetModel", kind="unknown_model")
        yield


NO_MODEL = _NoModel()


def as_setup(model: Model | ModelSetup | str, outer: ModelSetup | None = None) -> ModelSetup:
    """Return the ModelSetup for a model. For a nested session it has the prices and the further models of the
    ``outer`` setup, which also opens a model by its name."""
    if isinstance(model, str):
        if outer is None or (model not in outer.by_name and outer.open_model is None):
            raise UsageError(f"there is no model {model!r}: pass a Model, or open it with open_model")
        model = outer.by_name.get(model) or cast("Callable[[str], Model]", outer.open_model)(model)
    if isinstance(model, ModelSetup):
        return model if outer is None else replace(model, price=_inherited(model.price, outer.price))
    setup = ModelSetup(model)
    if outer is None:
        return setup
    others = [each for name, each in outer.by_name.items() if name not in setup.by_name]
    return replace(setup, models=others, open_model=outer.open_model, price=outer.price)


def _inherited(own: Price | None, outer: Price | None) -> Price | None:
    """Return a price function that uses the price of the parent session if its own price is unknown."""
    if own is None or outer is None or own is outer:
        return own or outer

    def price(model: str, usage: Usage) -> float | None:
        found = own(model, usage)
        return outer(model, usage) if found is None else found

    return price


def as_limits(limits: SessionLimits | None, config: Config | None) -> SessionLimits:
    of_kind("limits", limits, SessionLimits)
    limits = limits or SessionLimits()
    of_kind("run", limits.run, LoopLimits)
    of_kind("calls", limits.calls, ExecutorSettings)
    if config is None:
        return replace(limits, calls=as_settings(limits.calls))
    return replace(limits, run=limits.run or config.limits, calls=limits.calls or config.executor_settings)


def as_nesting(nesting: Nesting | None) -> Nesting:
    of_kind("nesting", nesting, Nesting)
    nesting = nesting or Nesting()
    of_kind("parent", nesting.parent, Conversation)
    return nesting


def open_session(
    journal: Masking,
    host: Host | AnyPath | None,
    setup: ModelSetup,
    limits: SessionLimits,
    nesting: Nesting,
    config: Config | None,
) -> OpenSession:
    """Return the OpenSession for the features, with an empty record."""
    parent, label, own_log = nesting.parent, nesting.label or "agent", journal
    if host is None and config is not None:
        host = config.root
    path, lineage, id = (), nesting.lineage, journal.session or f"~{urandom(8).hex()}"
    around = None if parent is None else nesting_of(parent)
    if around is not None:
        path, journal = around.open_agent(label, nesting.name, journal)
        lineage, id = nesting.lineage or around.running_call(), f"{around.id}/{path[-1]}"
        own_log = None if around.has_log_of(journal) else journal
    place = as_host(host, own_log, around and around.host)
    hides: Callable[[str, str], bool] | None = None
    configs = _configs(config, around)
    if configs:
        from callgate.assembly.settings import denied_whole  # where there are settings

        hides = denied_whole(configs)
    return OpenSession(
        Record(journal, Ledger(), path=path),
        place,
        journal,
        label=label,
        # Call ids are unique within one session only. The id of the session separates calls of unrelated sessions.
        lineage=(*lineage, id),
        settings=limits.calls or ExecutorSettings(),
        price=setup.price,
        cheap=setup.cheap or (around and around.cheap),
        config=config,
        hides=hides,
    )


def _configs(config: Config | None, outer: NestingPart | None) -> tuple[Config, ...]:
    """Return the configs that apply to a session: the configs of its parent sessions, and its own."""
    around: tuple[Config, ...] = () if outer is None else outer.configs
    return around if config is None or config in around else (*around, config)


def session_gate(
    gate: Gate | Iterable[Check] | None, opened: OpenSession, checks: Sequence[Check], tools: Sequence[Tool]
) -> tuple[Gate, tuple[str, ...]]:
    """Return the gate of a session with the checks of its features, and notes for the user. Bind the tools to the
    session."""
    config: Config | None = opened.config
    place = opened.needed(NESTING, NestingPart)
    configs = _configs(config, place.parent)
    facts, sandbox, notes = SessionFacts(lambda: opened.record.ledger.context), None, ()
    if configs:
        from callgate.assembly.settings import sandbox_of, withheld_of  # where there are settings

        def report(note: str) -> None:
            opened.record.write(Noted(opened.now(), note, "warning"))

        sandbox, notes = sandbox_of(tools, configs, [part.host for part in (*place.around, place)], report)
        facts = replace(facts, sandbox=sandbox, withheld=withheld_of(place.rooted_configs, opened.host.clock))
    bound = {id(each) for part in place.around for each in part.tools}
    place.tools = tuple(each for each in tools if id(each) not in bound)  # other tools are bound to a parent session
    for each in place.tools:
        bind(each, facts)
    if config is not None:
        notes = (*map(str, config.notes), *notes)
    if config is not None and config.rules and not place.around:
        from callgate.policy.rule_hints import name_notes  # only where there are rules

        hints = map(str, name_notes(config.rules, [each.spec.name for each in tools], ()))
        notes = (*notes, *(each for each in hints if each not in notes))
    is_gate = gate is not None and not isinstance(gate, Iterable)
    place.inherits_gate = place.parent is not None and not is_gate and config in (None, *place.parent.configs)
    if is_gate or (config is None and not place.inherits_gate):
        place.gate = as_gate(gate, checks)
    else:
        own = (*own_checks(cast("Iterable[Check]", gate or ())), *checks)
        if place.inherits_gate:
            early, late = OwnChecks(own).split()
            place.gate = CheckGate((*early, *late, _INHERITED), choices=choices_for)
        else:
            assert config is not None
            from callgate.assembly.settings import gate_of

            place.gate = gate_of(config, opened, own, sandboxed=sandbox is not None)
    if place.parent is None:
        return place.gate, notes
    from callgate.session.nested_gate import NestedGate  # few sessions are nested

    return NestedGate(place.gate, place), notes


_INHERITED = Check("parent session", lambda case: Allow("parent session", "no check of this session forbids the call"))


def recorded_model(record: Record, setup: ModelSetup) -> tuple[Model, tuple[str, ...]]:
    """Return the recorded model, opened if necessary, or the model of the setup. If the recorded model cannot be
    opened, a note gives the reason."""
    name, open_model, by_name = record.ledger.model, setup.open_model, setup.by_name
    if name is None or name in by_name or open_model is None:
        return by_name.get(name or "", setup.model), ()
    try:
        found = by_name[name] = open_model(name)
    except CallgateError as error:
        own = setup.model
        return own, (f"the model {name} of this session cannot be opened, so {own.name} is used: {error}",)
    return found, ()


def request_options(options: RequestOptions, record: Record, parent: Conversation | None) -> RequestOptions:
    """Return the request options with the recorded effort. A nested session inherits the effort of its parent
    session, but not the effort of a single turn."""
    inherited = None if parent is None else parent.effort
    return replace(options, effort=record.ledger.effort or options.effort or inherited)


def set_mode(opened: OpenSession, mode: Mode | None) -> None:
    """Set the given mode. Without a given mode, use the recorded mode or the mode of the config. If the mode of the
    parent session is stricter, use this mode instead."""
    record, place, config = opened.record, opened.needed(NESTING, NestingPart), opened.config
    on_record = record.ledger.mode if record.ledger.added else None
    if mode is None and config is not None and not place.inherits_gate:
        mode = config.mode_for(on_record)
    if mode is not None:
        check_mode(mode)
    if place.parent is not None:
        place.open_mode(mode or on_record)
    elif mode is not None and mode != record.ledger.mode:
        record.write(ModeSet(opened.now(), mode))


def check_config(config: Config, gate: Gate | Iterable[Check] | None, host: Host | AnyPath | None) -> None:
    """Raise UsageError for options that conflict with a config."""
    if hasattr(gate, "judge"):
        raise UsageError(
            "pass either a gate or config: a config creates the gate; gate=[Check(…)] adds your own checks"
        )
    if isinstance(host, str | PathLike):
        raise UsageError("pass either a folder as host or config: a config has its own workspace")
    if isinstance(host, LocalHost) and host.root != config.root:
        raise UsageError(
            f"the workspace of the host is {host.root}, but the config is for {config.root}: its rules would not apply"
        )


def as_host(host: Host | AnyPath | None, journal: Masking | None = None, outer: Host | None = None) -> Host:
    """Return the given host, a local host in the given folder, or the ``outer`` host of the parent session.

    With a journal on disk, the local host stores artifacts next to the log, with masked secrets, and stores changes
    with the data for their undo.
    """
    if host is not None and not isinstance(host, str | PathLike):
        missing = [name for name in ("clock", "locks", "normal", "apply") if not hasattr(host, name)]
        if missing:
            raise UsageError(f"{type(host).__name__} is not a Host: it lacks {', '.join(missing)}")
        return host
    root = host
    if root is not None and not Path(root).is_dir():
        raise UsageError(f"the workspace {fspath(root)!r} is not a folder")
    log = None if journal is None else journal.path
    if outer is not None and root is None:
        if log is None:
            return outer
        root = outer.resolve_path(".").resolved
    place = None if root is None else Path(root)
    if journal is None or log is None:
        return LocalHost(place)
    from callgate.changes.history import ChangeHistory  # with sessions on disk alone
    from callgate.changes.history_host import HistoryHost

    # One journal for all sessions of a workspace: they apply to the same files.
    artifacts, applying, history = log.with_suffix("") / "artifacts", log.parent / "applying", ChangeHistory(log.parent)
    return HistoryHost(history, journal.session, place, artifacts, clean=journal.clean, journal=applying)


def as_journal(journal: Journal | None) -> Masking:
    """Return the journal, wrapped so that it stores no secrets. Raise UsageError for another object, such as a Store
    or a journal that was not awaited."""
    if journal is None:
        return MemoryJournal()
    if hasattr(journal, "barrier"):
        if not hasattr(journal, "clean"):
            from callgate.transcript.masking import masked  # costly to load: its patterns

            journal = masked(journal)
        return cast(Masking, journal)
    if hasattr(journal, "close"):  # a coroutine
        journal.close()  # pyright: ignore
    raise UsageError(f"pass journal=await store.create() or await store.open(…), not {type(journal).__name__}")
