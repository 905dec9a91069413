"""The command of the status line."""

import os
from collections.abc import Mapping
from functools import partial

from callgate.assembly.settings import commands_of
from callgate.config import Config
from callgate.core.ports import Clock
from callgate.host.clock import LoopClock
from callgate.host.environment import scrubbed
from callgate.host.processes import Finished, run_process
from callgate.host.threads import in_thread
from callgate.policy.fingerprint import fingerprint

__all__ = ["TIME_LIMIT", "Finished", "StatusCommand"]

TIME_LIMIT = 5.0
"""The timeout of the command in seconds."""
_GRACE = 0.5  # seconds between SIGTERM and SIGKILL
_LARGEST = 16_384  # bytes that are read of each output
_CHANGED = "files of this folder changed since you trusted it; see callgate trust"


class StatusCommand:
    """A command line for ``/bin/sh``, run in the workspace with the environment and the placement of hooks.

    A command that the repository sets runs only while the repository files are the files that the user trusted.

    command  replaces the command in the settings
    """

    def __init__(
        self,
        config: Config,
        clock: Clock | None = None,
        *,
        command: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        settings = config.statusline
        self._command = command or settings.command or ""
        self._config = config
        self._clock = LoopClock() if clock is None else clock
        self._environment = {
            **scrubbed(os.environ if environ is None else environ),
            "CALLGATE_PROJECT_DIR": str(config.root),
            "CALLGATE_EVENT": "StatusLine",
        }
        self._commands = commands_of(config)
        self._checked = command is None and settings.from_repository
        self._digest = fingerprint(config.root).digest if self._checked else ""

    async def __call__(self, stdin: bytes) -> Finished | str:
        """Run the command and return its exit, or the reason why it was not run. A cancel kills the process tree."""
        if self._checked and not await in_thread(lambda: self._config.still_trusted(self._digest)):
            return _CHANGED
        return await run_process(
            ["/bin/sh", "-c", self._command],
            cwd=self._config.root,
            env=self._environment,
            clock=self._clock,
            stdin=stdin,
            timeout=TIME_LIMIT,
            limit=_LARGEST,
            grace=_GRACE,
            place=partial(self._commands.place, self._command, from_repository=self._checked),
            linger=0.1,
        )
