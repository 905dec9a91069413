"""The executor and the runner without a session: the engine of ``core`` on the local host with the default gate.

Also what the command line needs of the rooms: doors do not enter them.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from callgate.changes.history import History
from callgate.changes.keeping import KeptHost
from callgate.core import executor as engine
from callgate.core import gate as gates
from callgate.core import runner
from callgate.core.executor import ExecutorSettings
from callgate.core.gate import PostHook, Requested
from callgate.core.ports import Case, Check, Gate, Host, Journal, Model, Tool, Toolbox
from callgate.core.record import Listener, MemoryJournal, Record
from callgate.host.local import LocalHost
from callgate.policy.always import choices_for
from callgate.policy.checks import remembered, standard_checks
from callgate.tools.arguments import Arguments
from callgate.tools.jsonschema import SchemaError
from callgate.tools.toolbox import Toolbox as ToolList
from callgate.transcript.journal import DiskJournal
from callgate.words.decisions import Allow, Choice, Confirmation, Mode
from callgate.words.errors import UsageError

__all__ = ["Arguments", "DecisionGate", "Executor", "SchemaError", "ToolCallRunner", "default_checks"]

Tools = Toolbox | Iterable[Tool | Callable[..., Any]]
"""A toolbox, or tools and functions to make one of."""


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


def as_host(host: Host | None, root: str | PathLike[str] | None, journal: Journal | None = None) -> Host:
    """The host given, or the local one with ``root`` as its workspace. A session that is kept has its artifacts beside
    its record, with no secrets in either, and its changes with what they take to be undone."""
    if host is not None:
        if root is not None:
            raise UsageError("pass either host or root: a host has its own workspace")
        return host
    if root is not None and not Path(root).is_dir():
        raise UsageError(f"the workspace {fspath(root)!r} is not a folder")
    place = None if root is None else Path(root)
    if isinstance(journal, DiskJournal):
        folder, every = journal.folder, journal.folder.parent
        # One journal for all sessions of a workspace: they apply to the same files.
        host = LocalHost(place, folder / "artifacts", clean=journal.masker.noun, journal=every / "applying")
        return KeptHost(host, History(every), journal.session)
    return LocalHost(place)


def as_journal(journal: Journal | None) -> Journal:
    """UsageError for what is none: most often a Store, or a journal that was not awaited."""
    if journal is None:
        return MemoryJournal()
    if hasattr(journal, "barrier"):
        return journal
    if hasattr(journal, "close"):  # a coroutine
        journal.close()  # pyright: ignore
    raise UsageError(f"pass journal=await store.create() or await store.open(…), not {type(journal).__name__}")


def check_model_shape(model: Model) -> Model:
    missing = [name for name in ("name", "abilities", "stream") if not hasattr(model, name)]
    if missing:
        raise UsageError(f"{type(model).__name__} is no Model: it has no {', '.join(missing)}")
    return model


def settings_from_environment(settings: ExecutorSettings | None) -> ExecutorSettings:
    """Explicit settings stand; otherwise the defaults with what ``CALLGATE_MAX_CONCURRENCY`` says."""
    if settings is not None:
        return settings
    wanted = os.environ.get("CALLGATE_MAX_CONCURRENCY")
    if not wanted:
        return ExecutorSettings()
    if not (wanted.isascii() and wanted.isdigit() and int(wanted) > 0):
        raise UsageError(f"CALLGATE_MAX_CONCURRENCY must be a whole number above 0, not {wanted!r}")
    return replace(ExecutorSettings(), max_concurrency=int(wanted))


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
