"""ToolCallRunner: runs closed batches of calls without a session. Imported on first use."""

from __future__ import annotations

from typing import Any

from callgate.assembly.options import AnyPath, as_gate, as_host, as_journal, as_settings
from callgate.conversation.ports import Journal
from callgate.core.ports import Gate, Host
from callgate.core.record import OwnListener
from callgate.core.runner import BatchRunner
from callgate.tools.toolbox import Tools, as_toolbox
from callgate.words.limits import ExecutorSettings
from callgate.words.modes import Mode


class ToolCallRunner(BatchRunner):
    """A runner for closed batches of calls, without a session; see ``callgate.core.runner`` for ``execute``.

    tools     functions, tools, or a Toolbox
    gate      the gate; default: the default gate
    host      the host for the tools, or the folder for the local host; default: the current folder
    settings  how calls run: maximum concurrency, time limits, sizes (ExecutorSettings)
    on_event  listener for every event of a batch
    mode      the permission mode
    deps      any object, passed to tools as ``run.deps``
    journal   stores the calls, from ``await store.create()`` or ``store.open(…)``: after a crash inside a batch, pass
              the same calls again. No call with effects is repeated; its result is the recorded result, or has the
              code ``outcome_unknown``. Default: nothing is stored
    """

    def __init__(
        self,
        tools: Tools,
        gate: Gate | None = None,
        *,
        host: Host | AnyPath | None = None,
        settings: ExecutorSettings | None = None,
        on_event: OwnListener | None = None,
        mode: Mode = "default",
        deps: Any = None,
        journal: Journal | None = None,
    ) -> None:
        kept = None if journal is None else as_journal(journal)
        super().__init__(
            as_toolbox(tools),
            as_gate(gate),
            host=as_host(host, kept),
            settings=as_settings(settings),
            on_event=on_event,
            mode=mode,
            deps=deps,
            journal=kept,
        )
