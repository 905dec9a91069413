"""ToolCallRunner: closed batches of calls, without a session; loaded when it is used."""

from __future__ import annotations

from typing import Any

from callgate.assembly.options import AnyPath, as_gate, as_host, as_settings
from callgate.core.ports import Gate, Host
from callgate.core.record import OwnListener
from callgate.core.runner import BatchRunner
from callgate.tools.toolbox import Tools, as_toolbox
from callgate.words.limits import ExecutorSettings
from callgate.words.modes import Mode


class ToolCallRunner(BatchRunner):
    """Runs closed batches of calls, without a session; see ``callgate.core.runner`` for ``execute``.

    tools     functions, tools, or a Toolbox
    gate      decides about calls, in place of the default gate
    host      the world that tools touch, in place of the local host
    root      the workspace of the local host: the current folder unless given
    settings  how calls run: how many at once, time limits, sizes (ExecutorSettings)
    on_event  called with every event of a batch
    mode      the permission mode
    deps      any object that tools get as ``run.deps``
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
    ) -> None:
        box, chosen, place = as_toolbox(tools), as_gate(gate), as_host(host)
        settings = as_settings(settings)
        super().__init__(box, chosen, host=place, settings=settings, on_event=on_event, mode=mode, deps=deps)
