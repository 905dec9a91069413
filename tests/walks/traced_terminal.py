"""``callgate`` with a scripted model. SIGUSR1 arms a trace, which starts with the next key and ends with SIGUSR2.

Then $WALK_FILE has the files. A file beside it says that the trace is armed.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from callgate.tui import app
from callgate.tui.app import TerminalApp
from tests.terminal import scripted
from tests.walks.file_trace import FileTrace

FILE = Path(os.environ["WALK_FILE"])


class TracedApp(TerminalApp):
    """The terminal, with a trace that starts where a key arrives."""

    trace = FileTrace()
    is_armed = False

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, self._arm)
        loop.add_signal_handler(signal.SIGUSR2, self._write)
        return await super().run()

    def _arm(self) -> None:
        self.is_armed = True
        FILE.with_suffix(".armed").touch()

    def _key_arrives(self, _sender: object) -> None:
        if self.is_armed:
            self.is_armed = False
            self.trace.start()
        super()._key_arrives(_sender)

    def _write(self) -> None:
        self.trace.stop()
        draft = FILE.with_suffix(".part")
        draft.write_text("\n".join(self.trace.files))
        draft.rename(FILE)


if __name__ == "__main__":
    app.TerminalApp = TracedApp  # type: ignore[misc]
    sys.exit(scripted.main(*sys.argv[1:]))
