"""Options that people pass, made into the parts of a session, an executor or a runner; UsageError for those that cannot
be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from json import dumps, loads
from os import PathLike, environ, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from callgate.conversation.ports import Journal, Masking, Model
from callgate.conversation.record import MemoryJournal
from callgate.core.gate import CheckGate, PostHook, Requested
from callgate.core.ports import Check, Gate, Host, Tool, ToolSource
from callgate.host.environment import max_concurrency_from
from callgate.host.local import LocalHost
from callgate.policy.checks import standard_checks
from callgate.policy.choices import choices_for
from callgate.policy.judge import Judge
from callgate.tools.toolbox import Toolbox
from callgate.words.errors import UsageError
from callgate.words.limits import ExecutorSettings

if TYPE_CHECKING:
    from callgate.config import Config

Tools = ToolSource | Iterable[Tool | Callable[..., Any]]
"""A toolbox, or tools and functions to make one of."""

AnyPath = str | PathLike[str]


class DecisionGate(CheckGate):
    """The gate of a session without settings.

    checks     judged in this order, in place of the standard ones (``callgate.policy.checks.standard_checks``)
    after      functions that may change the result of a call before the model gets it
    requested  called with every question before it is put; may answer it
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


def as_toolbox(tools: Tools) -> ToolSource:
    if isinstance(tools, Iterable):
        return Toolbox(*tools)
    if not hasattr(tools, "resolve"):
        raise UsageError(f"pass a list of tools or a toolbox, not {type(tools).__name__}")
    return tools


def as_models(model: Model, models: Iterable[Model]) -> dict[str, Model]:
    """The models by their names, the first one first."""
    found: dict[str, Model] = {}
    for each in (model, *models):
        missing = [name for name in ("name", "abilities", "stream") if not hasattr(each, name)]
        if missing:
            raise UsageError(f"{type(each).__name__} is no Model: it has no {', '.join(missing)}")
        found[each.name] = each
    return found


def as_context(context: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """UsageError for what is not JSON data: every call gets a copy of the context, and changes go on record."""
    of_kind("context", context, Mapping)
    for name, value in (context or {}).items():
        try:
            kept = loads(dumps({name: value}, allow_nan=False)) == {name: value}
        except (TypeError, ValueError, RecursionError):
            kept = False
        if not kept:
            raise UsageError(
                f"context[{name!r}] is not JSON data ({type(value).__name__}): the context is copied for each call."
                " Pass live objects as deps=…, and tools find them in run.deps"
            )
    return context


def of_kind(option: str, value: object, kind: type) -> None:
    """UsageError for an option that is given and is not of this kind."""
    if value is not None and not isinstance(value, kind):
        raise UsageError(f"{option}= takes {kind.__name__}, not {value!r:.80} ({type(value).__name__})")


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


def as_settings(settings: ExecutorSettings | None) -> ExecutorSettings:
    """Explicit settings stand; otherwise the defaults with the value of ``CALLGATE_MAX_CONCURRENCY``."""
    of_kind("settings", settings, ExecutorSettings)
    count = max_concurrency_from(environ) if settings is None else None
    return (settings or ExecutorSettings()) if count is None else replace(ExecutorSettings(), max_concurrency=count)


def check_config(config: Config, gate: Gate | None, host: Host | None, root: AnyPath | None) -> None:
    """UsageError for options that contradict a config."""
    if gate is not None:
        raise UsageError("pass either gate or config: a config makes the gate; checks=[…] adds your own to it")
    if root is not None:
        raise UsageError("pass either root or config: a config has its own workspace")
    if isinstance(host, LocalHost) and host.root != config.root:
        raise UsageError(f"the host works in {host.root}, the config is for {config.root}: rules would miss its files")


def as_host(host: Host | None, root: AnyPath | None, journal: Masking | None = None, outer: Host | None = None) -> Host:
    """The host given, the ``outer`` one of the session around this one, or the local one with ``root`` as its
    workspace. With a journal on disk the artifacts are kept beside the log, secrets masked in both, and changes with
    what their undo needs."""
    if host is not None:
        if root is not None:
            raise UsageError("pass either host or root: a host has its own workspace")
        missing = [name for name in ("clock", "locks", "normal", "apply") if not hasattr(host, name)]
        if missing:
            raise UsageError(f"{type(host).__name__} is no Host: it has no {', '.join(missing)}")
        return host
    if root is not None and not Path(root).is_dir():
        raise UsageError(f"the workspace {fspath(root)!r} is not a folder")
    log = None if journal is None else journal.path
    if outer is not None and root is None:
        if log is None:
            return outer
        root = outer.place(".").resolved
    place = None if root is None else Path(root)
    if journal is None or log is None:
        return LocalHost(place)
    from callgate.changes.history import ChangeHistory  # with sessions on disk alone
    from callgate.changes.history_host import HistoryHost

    # One journal for all sessions of a workspace: they apply to the same files.
    artifacts, applying, history = log.with_suffix("") / "artifacts", log.parent / "applying", ChangeHistory(log.parent)
    return HistoryHost(history, journal.session, place, artifacts, clean=journal.clean, journal=applying)


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
