"""Creates sessions, executors and runners from the options of the caller. Only this package imports all packages of
layer 2.

options   checks the options and converts them into the objects that a session uses
settings  the gate and the features that a Config defines; imported only with a Config
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from logging import Formatter, LogRecord
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, cast, overload

from callgate.assembly import options as checked
from callgate.assembly.options import AnyPath, DecisionGate, ModelSetup, Nesting, SessionLimits
from callgate.compaction.compaction_feature import CompactionPart, compaction_feature
from callgate.conversation.feature import Feature, OpenSession
from callgate.conversation.feature_set import Equipment, FeatureSet
from callgate.conversation.ledger import Ledger
from callgate.conversation.meter import SessionMeter
from callgate.conversation.ports import Journal, Model
from callgate.conversation.record import Record
from callgate.core.call_ledger import CallLedger
from callgate.core.capabilities import all_tools, journal_notes
from callgate.core.executor import CallExecutor
from callgate.core.perform import TOOLS_LOG
from callgate.core.ports import Check, Gate, Host
from callgate.core.record import CallRecord, DiscardedLog
from callgate.core.sizes import merged_progress
from callgate.notices.notices_feature import notices_feature
from callgate.session.conversation import Conversation, nesting_of
from callgate.session.nesting import NAME as NESTING
from callgate.session.nesting import NestingPart, nesting_feature
from callgate.session.run import RunResult
from callgate.session.user_questions import NAME as QUESTIONS
from callgate.session.user_questions import questions_feature
from callgate.staging.feature import staging_feature
from callgate.staging.workspace import workspace_feature
from callgate.tools.toolbox import Tools, as_toolbox
from callgate.words.calls import ToolCall
from callgate.words.errors import StateError, UsageError
from callgate.words.events import CallProgressed
from callgate.words.inputs import Input
from callgate.words.limits import ExecutorSettings
from callgate.words.modes import Mode

if TYPE_CHECKING:
    from callgate.config import Config
    from callgate.providers.model_source import ConfiguredModel
    from callgate.search.search_feature import SearchPart

T = TypeVar("T")
if TYPE_CHECKING:  # for the default, which typing has from Python 3.13 on
    from typing_extensions import TypeVar as DefaultTypeVar

    D = DefaultTypeVar("D", default=Any)
else:
    D = TypeVar("D")
Released = ToolCall | CallProgressed
MakeSystem = Callable[[Record], tuple[str, Iterable[str]]]

__all__ = ["DecisionGate", "Executor", "ModelSetup", "Nesting", "Session", "SessionLimits", "run_sync"]


def _mask_secrets(record: LogRecord) -> bool:
    """Mask secrets in a log record about a tool, and in its traceback."""
    from callgate.transcript.masking import Masker  # costly to load, and only after a failure

    masker = Masker()
    record.msg, record.args = masker.text(record.getMessage()), ()
    if record.exc_info:
        record.exc_text, record.exc_info = masker.text(Formatter().formatException(record.exc_info)), None
    return True


TOOLS_LOG.addFilter(_mask_secrets)


class NestedOptions(TypedDict, total=False):
    """The parameters of Session that ``derive`` accepts."""

    system: str | MakeSystem
    config: Config | None
    gate: Gate | Iterable[Check] | None
    host: Host | AnyPath | None
    journal: Journal | None
    mode: Mode | None
    deps: Any
    limits: SessionLimits | None


class SessionOptions(NestedOptions, total=False):
    """The parameters of Session that ``run_sync`` accepts."""

    features: Iterable[Feature]
    nesting: Nesting | None


class Session(Conversation, Generic[D]):
    """One conversation with a model that may call tools.

        async with Session(model=…, tools=[…]) as session:
            async for event in session.send(Prompt("…")):
                …

    The session also works while no caller reads its events. Several interfaces may listen and send at the same time.

    model     the model that answers requests, see ``callgate.Model``; or a ModelSetup with a fallback, prices and
              options; or the name of a model, such as ``"opus"`` or ``"ollama/qwen3"``, which is opened with the keys
              and providers of the settings and closed with the session
    tools     functions, tools, or a Toolbox
    features  further features; a feature with the name of a built-in feature replaces it, except ``nesting`` and
              ``questions``. See ``callgate.features`` and its guide
    system    the system prompt, the same in every request; or a function of the record that returns the prompt and
              notes for the user
    config    rules, hooks, limits and remembered answers, from load_config; without it no settings file is read
    gate      a gate that replaces the default gate; or Checks in addition to the rules: a Deny denies, an Ask asks, and
              an Allow does not override a rule. With ``config`` only Checks
    host      the host for the tools, or the folder for the local host; default: the current folder. Sessions of one
              thread with the same root share their locks
    journal   stores the session, from ``await store.create()`` or ``store.open(…)``; default: in memory
    mode      the permission mode; default: the recorded mode or the mode of the config
    deps      any object, passed to tools as ``run.deps``: never copied, never recorded; inherited by nested sessions.
              ``Session[Shop](…)`` states its type. An object of another type than a tool names in ``Run[…]`` raises
              UsageError
    limits    when a run stops, and how calls run (SessionLimits)
    nesting   the parent session of a nested session (Nesting)
    """

    def __init__(
        self,
        model: Model | ModelSetup | str,
        tools: Tools = (),
        *,
        features: Iterable[Feature] = (),
        system: str | MakeSystem = "",
        config: Config | None = None,
        gate: Gate | Iterable[Check] | None = None,
        host: Host | AnyPath | None = None,
        journal: Journal | None = None,
        mode: Mode | None = None,
        deps: D | None = None,
        limits: SessionLimits | None = None,
        nesting: Nesting | None = None,
    ) -> None:
        if not callable(system):
            checked.of_kind("system", system, str)
        features, limits, nesting = _further(features), checked.as_limits(limits, config), checked.as_nesting(nesting)
        parent = nesting.parent
        around = None if parent is None else nesting_of(parent)
        outer = parent._setup if isinstance(parent, Session) else None
        self._opened_models: list[ConfiguredModel] = []
        if isinstance(model, str) and outer is None:
            model = checked.opened_by_name(model, config, self._opened_models)
        setup = checked.as_setup(model, outer)
        if config is not None:
            checked.check_config(config, gate, host)
        opened = checked.open_session(checked.as_journal(journal), host, setup, limits, nesting, config)
        parts = FeatureSet.open((*_own_features(opened, setup, nesting), *features), opened)
        record, journal, host = opened.record, opened.journal, opened.host
        record.adopt(Ledger(parts.follow(journal.read()), context=checked.as_context(parts.context)), parts.folds)
        if config is not None and not config.own_data:
            from callgate.assembly.settings import RememberedAnswers  # the data folder is rarely in the workspace

            opened.needed("remembered", RememberedAnswers).refuse(record.ledger.policies)
        box = as_toolbox(tools)
        toolbox = parts.toolbox(box)
        deps_in_force = parent.deps if deps is None and parent is not None else deps
        checked.check_deps(deps_in_force, all_tools(toolbox))
        gate, notes = checked.session_gate(gate, opened, parts.checks, all_tools(toolbox))
        checked.set_mode(opened, mode)
        chosen, unopened = checked.recorded_model(record, setup)
        system, more = system(record) if callable(system) else (system, ())
        place = opened.needed(NESTING, NestingPart)
        self._setup, self._own_tools, self._shared = setup, box, {"system": system, "limits": limits}
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
            outer=lambda: None if around is None else around.allowance,
            system=parts.system(system),
            settings=opened.settings,
            limits=setup.request_limits,
            cache=setup.cache,
            options=checked.request_options(setup.options, record, nesting.parent),
            session=journal.session,
            lineage=opened.lineage,
            deps=deps_in_force,
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

    async def _end(self) -> None:
        try:
            await super()._end()
        finally:
            for each in self._opened_models:
                await each.aclose()

    def derive(
        self,
        label: str = "agent",
        *,
        model: Model | ModelSetup | str | None = None,
        tools: Tools | None = None,
        features: Iterable[Feature] = (),
        **options: Unpack[NestedOptions],
    ) -> Session:
        """Open a nested session and return it. Rules, checks, hooks, sandbox, mode and limits of this session and of
        its parent sessions always apply to the nested session.

        label     the name of the nested session, see ``Nesting``
        model     the model; default: the model of this session
        tools     the tools; default: the tools of this session and of its MCP servers
        features  further features
        options   other parameters of Session, which replace the ones of this session: ``system``, ``mode``,
                  ``journal``, …
        """
        if tools is None:
            tools = [copy(each) for each in self._own_tools.tools()]
            search = cast("SearchPart | None", self.part("search"))
            features = (*(() if search is None else (search.shared(),)), *features)
        model = replace(self._setup, model=self._work.equipment.model, cheap=None) if model is None else model
        given: dict[str, Any] = {**self._shared, **options}
        return Session(model, tools, features=features, nesting=Nesting(self, label), **given)


def _further(features: Iterable[Feature]) -> tuple[Feature, ...]:
    """Return the features of the caller. Raise UsageError if a feature would remove the gates or questions of parent
    sessions."""
    found = tuple(features)
    for each in found:
        if each.name in (NESTING, QUESTIONS):
            raise UsageError(f"the feature {each.name!r} cannot be replaced: it connects a session with its parent")
    return found


def _own_features(opened: OpenSession, setup: ModelSetup, nesting: Nesting) -> Iterator[Feature]:
    """Yield the features of every session, and the features for a config, a cheap model or a parent session."""
    config: Config | None = opened.config
    yield notices_feature()
    yield questions_feature()
    yield nesting_feature(None if nesting.parent is None else nesting_of(nesting.parent))
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
def run_sync(
    model: Model | ModelSetup | str,
    sent: Input | str,
    tools: Tools = (),
    *,
    output: type[T],
    **options: Unpack[SessionOptions],
) -> RunResult[T]: ...
@overload
def run_sync(
    model: Model | ModelSetup | str, sent: Input | str, tools: Tools = (), **options: Unpack[SessionOptions]
) -> RunResult[str]: ...
def run_sync(
    model: Model | ModelSetup | str,
    sent: Input | str,
    tools: Tools = (),
    *,
    output: Any = str,
    **options: Unpack[SessionOptions],
) -> RunResult[Any]:
    """Run a single prompt in a new session, from synchronous code, and return the RunResult. A question ends the run:
    ``questions`` has the open questions.

    model, tools  as for Session
    sent          the prompt, or another input
    output        the type of the answer: the answer is validated and returned as a value of this type
    options       the other parameters of Session
    """
    with Session(model, tools, **options) as session:
        return session.run_sync(sent, output=output)


class Executor(CallExecutor):
    """An executor for the calls of one message, without a session; see ``callgate.core.executor`` for its methods.

    Call ``completed`` at any time, and ``remaining`` after ``close``. Results are returned in arrival order,
    progress immediately. Unfetched progress of a call is merged into one report.

    tools     functions, tools, or a Toolbox
    gate      the gate; default: the default gate
    context   JSON data that tools read as ``run.context``
    host      the host for the tools, or the folder for the local host; default: the current folder
    record    the record with earlier events; default: a new record in memory
    settings  how calls run: maximum concurrency, time limits, sizes (ExecutorSettings)
    lineage   for an executor inside a tool: ``run.lineage``
    deps      any object, passed to tools as ``run.deps``
    """

    def __init__(
        self,
        tools: Tools,
        gate: Gate | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        host: Host | AnyPath | None = None,
        record: CallRecord | None = None,
        settings: ExecutorSettings | None = None,
        lineage: tuple[str, ...] = (),
        deps: Any = None,
    ) -> None:
        if record is not None and context is not None:
            raise UsageError("the context of a record is in its ledger: pass context to Ledger, not to the executor")
        super().__init__(
            as_toolbox(tools),
            checked.as_gate(gate),
            host=checked.as_host(host),
            record=record or CallRecord(DiscardedLog(), CallLedger(context=checked.as_context(context))),
            settings=checked.as_settings(settings),
            lineage=lineage,
            deps=deps,
        )
        self._fetched = 0  # results
        self._progress: dict[str, CallProgressed] = {}
        self._engine.on_progress = self._keep_progress

    def _keep_progress(self, event: CallProgressed) -> None:
        before = self._progress.get(event.call_id)
        self._progress[event.call_id] = event if before is None else merged_progress(before, event)

    def completed(self) -> list[Released]:
        """Return the progress and the results that are available now."""
        return [*iter(self._next, None)]

    def _next(self) -> Released | None:
        if self._discarded:
            return None
        if self._progress:
            return self._progress.pop(next(iter(self._progress)))
        if self._fetched == self._board.front:
            return None
        self._fetched += 1
        return self._ledger.call(self._board.calls[self._fetched - 1].id)

    async def remaining(self) -> AsyncIterator[Released]:
        """Yield progress and results until the last result."""
        if not self._closed and not self._discarded:
            raise StateError("call close() before remaining(): the message may still get more calls")
        try:
            while True:
                item = self._next()
                if item is not None:
                    yield item
                elif self._discarded or self.settled:
                    return
                else:
                    await self._engine.change()
        except GeneratorExit:
            raise
        except BaseException:
            await self.aclose()
            raise
