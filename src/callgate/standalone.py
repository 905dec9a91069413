"""The executor and the runner without a session: the engine of ``core`` on the local host with the default gate.

Also what the command line needs of the rooms: doors do not enter them.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from callgate.core import executor as engine
from callgate.core import runner
from callgate.core.executor import ExecutorSettings
from callgate.core.gate import DecisionGate
from callgate.core.ports import Gate, Host, Tool, Toolbox
from callgate.core.record import Listener, Record
from callgate.host.local import LocalHost
from callgate.tools.arguments import Arguments
from callgate.tools.jsonschema import SchemaError
from callgate.tools.toolbox import Toolbox as ToolList
from callgate.words.decisions import Confirmation
from callgate.words.errors import UsageError

__all__ = ["Arguments", "Executor", "SchemaError", "ToolCallRunner", "Tools", "as_toolbox", "settings_from_environment"]

Tools = Toolbox | Iterable[Tool | Callable[..., Any]]
"""A toolbox, or tools and functions to make one of."""


def as_toolbox(tools: Tools) -> Toolbox:
    if isinstance(tools, Iterable):
        return ToolList(*tools)
    return tools


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
        root: Path | None = None,
        record: Record | None = None,
        settings: ExecutorSettings | None = None,
        lineage: tuple[str, ...] = (),
        confirmations: Iterable[Confirmation] = (),
    ) -> None:
        super().__init__(
            as_toolbox(tools),
            gate or DecisionGate(),
            context,
            host=host or LocalHost(root),
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
        root: Path | None = None,
        settings: ExecutorSettings | None = None,
        lineage: tuple[str, ...] = (),
        on_event: Listener | None = None,
    ) -> None:
        super().__init__(
            as_toolbox(tools),
            gate or DecisionGate(),
            host=host or LocalHost(root),
            settings=settings_from_environment(settings),
            lineage=lineage,
            on_event=on_event,
        )
