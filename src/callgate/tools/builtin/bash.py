"""The tool Bash: runs shell commands in the foreground and in the background.

Only the working folder persists between calls. A working folder other than the workspace is added to the arguments when
the call arrives, so that it is recorded, checked as a path and used exactly. A call is not run if its folder is no
longer the current working folder.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, cast

from pydantic import Field

from callgate import shell
from callgate.core.capabilities import SessionFacts, ToolFacts
from callgate.core.ports import Run
from callgate.host.ports import Confinement
from callgate.tools.builtin import builtin_tool
from callgate.tools.commands.command_call import BashSettings, CommandCall
from callgate.tools.session_state import WORKING_FOLDER
from callgate.tools.tool import FunctionTool
from callgate.tools.toolbox import Named
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.declared import Given
from callgate.words.traits import Effects, Traits, exclusive, workspace

NAME = "Bash"
FOLDER = "folder"
"""The name of the argument for the working folder, which the model never sets."""
DEFAULT_SECONDS, MOST_SECONDS = 120.0, 600.0
_LEEWAY = 30.0  # seconds between the timeout of the command and that of the call


def bash(sandbox: Confinement | None = None, *, background_after: float | None = None) -> "BashTool":
    return BashTool(BashSettings(sandbox, background_after))


def _effects(given: Given) -> Effects:
    """Return the effects of a command by the analysis that the gate uses. A background command is always mutating, so
    that it is not started before its message is complete."""
    return "mutating" if given.run_in_background else shell.effects_of(shell.analyse(given.command))


def _seconds(timeout: float | None) -> float:
    wanted = DEFAULT_SECONDS if timeout is None or timeout <= 0 else timeout / 1000
    return min(wanted, MOST_SECONDS)


class BashTool(Named):
    """The tool Bash of one session. It runs commands in the working folder of the session."""

    def __init__(self, settings: BashSettings) -> None:
        declared = _declared()
        super().__init__(declared, NAME, declared.aliases)
        self._settings = settings
        self._context: Callable[[], Mapping[str, Any]] | None = None
        self._last: str | None = None
        self._identity: tuple[str, tuple[int, int]] | None = None

    @property
    def facts(self) -> ToolFacts:
        return replace(super().facts, takes_sandbox=True, quiets_git=True, sandbox=self._settings.sandbox)

    def bind(self, facts: SessionFacts) -> None:
        """Use the working folder from the context of the session; use the sandbox of the session unless the tool has
        its own."""
        self._context = facts.context
        if self._settings.sandbox is None:
            self._settings = replace(self._settings, sandbox=facts.sandbox)

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        folder = self._last if self._context is None else self._context().get(WORKING_FOLDER)
        if isinstance(raw, Mapping) and isinstance(raw.get(FOLDER), str):
            folder = raw[FOLDER]  # parsed again: keep the folder that was judged
            raw = {name: value for name, value in raw.items() if name != FOLDER}
        outcome = self.inner.read(raw)
        if folder is None or isinstance(outcome, Rejected):
            return outcome
        self._identify(folder)
        return replace(outcome, arguments={**outcome.arguments, FOLDER: folder})

    def _identify(self, folder: str) -> None:
        """Store the device and inode of a working folder at the first call in the folder. The gate judges this
        folder."""
        if self._identity is None or self._identity[0] != folder:
            with suppress(OSError):
                found = os.stat(folder)
                self._identity = folder, (found.st_dev, found.st_ino)

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        folder, written = _split(arguments)
        found = self.inner.traits(written)
        return found if folder is None else replace(found, declared=replace(found.declared, folder=folder))

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        folder, written = _split(arguments)
        now = run.context.get(WORKING_FOLDER)
        if folder != now:
            self._context, self._last = None, now
            now = now or run.host.normal(".")
            text = f"Not run: another call changed the working folder to {now}. Send the call again."
            return Result.failed("skipped", text, effects="none")
        known = self._identity[1] if self._identity is not None and self._identity[0] == folder else None
        call = CommandCall(self._settings, run, str(written["command"]), folder or run.host.normal("."), known)
        seconds = _seconds(written.get("timeout"))
        result = await (call.in_background() if written.get("run_in_background") else call.in_foreground(seconds))
        if result.context_update is not None:
            self._last = cast("Mapping[str, Any]", result.context_update)[WORKING_FOLDER]
            self._identity = None
        return result


def _split(arguments: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    written = dict(arguments)
    return written.pop(FOLDER, None), written


def _declared() -> FunctionTool[Any]:
    def bash(
        command: Annotated[str, Field(min_length=1)],
        timeout: float | None = None,
        description: str = "",
        run_in_background: bool = False,
    ) -> None:
        """Run.

        Args:
            command: the command, as bash reads it
            timeout: milliseconds until it is ended
            description: what it does, in five to ten words
            run_in_background: come back at once with the id of a background task
        """

    return builtin_tool(
        bash,
        aliases=["bash"],
        title="Run a command",
        icon="run",
        command="command",
        folder=lambda a: None,
        effects=_effects,
        locks=lambda a: workspace if _effects(a) == "none" else exclusive,
        timeout=lambda a: _seconds(a.timeout) + _LEEWAY,
        cascade=True,
    )
