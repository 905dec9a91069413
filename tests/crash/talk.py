"""A program that runs while the test talks with it, line by line."""

import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from tests.crash.tracing import Ran


class Talk:
    """Ends with the block: a program that is still there is killed."""

    def __init__(self, command: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        self._program = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self.pid = self._program.pid
        self.said: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._program:  # closes the pipes and waits
            self._program.kill()

    def until(self, wanted: str) -> list[str]:
        """Listen until it says that; what it said since the last time."""
        heard: list[str] = []
        assert self._program.stdout is not None
        for line in self._program.stdout:
            heard.append(line.rstrip("\n"))
            if heard[-1] == wanted:
                self.said += heard
                return heard
        ended = self._program.communicate()[1]
        raise AssertionError(f"it ended without {wanted!r}: {heard[-12:]}, stderr: {ended[-2_000:]}")

    def go_on(self) -> None:
        assert self._program.stdin is not None
        self._program.stdin.write("\n")
        self._program.stdin.flush()

    def kill(self) -> None:
        self._program.kill()
        self._program.wait()

    def end(self) -> Ran:
        """Wait for its end, with nothing more to say to it."""
        out, wrong = self._program.communicate(timeout=100)
        self.said += out.splitlines()
        return Ran(self._program.returncode, tuple(self.said), wrong, ())
