"""The start of the terminal: from the start of the process to the first input line on the screen."""

import os
import pty
import select
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Size, spread
from benchmarks.report import Row

_SIGN = "❯".encode()


def rows(size: Size) -> list[Row]:
    """The least of several starts: other work on the machine only adds to them."""
    shown: list[float] = []
    bare: list[float] = []
    with TemporaryDirectory() as folder:
        for _ in range(size.imports + 1):  # the first one writes the compiled modules
            shown.append(_until(Path(folder), ["-m", "callgate", "--model", "anthropic/opus"], _SIGN) * 1e3)
            bare.append(_until(Path(folder), ["-c", "pass"], b"") * 1e3)
    del shown[0], bare[0]
    work = "callgate: process start to the first prompt, beside python -c pass"
    return [Row("prompt_start", work, "ms", min(shown), min(bare), limit=300.0, spread=spread(shown))]


def _until(home: Path, words: list[str], sign: bytes) -> float:
    """Seconds until the program has written the sign to its terminal, or until it ends."""
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    env["ANTHROPIC_API_KEY"] = "none"
    begun = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        os.execve(sys.executable, [sys.executable, *words], env)
    seen = b""
    try:
        while not sign or sign not in seen:
            if not select.select([terminal], [], [], 20)[0]:
                raise RuntimeError(f"no prompt after 20 s: {seen[-500:]!r}")
            seen += os.read(terminal, 65536)
    except OSError:  # it has ended
        pass
    finally:
        took = time.perf_counter() - begun
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)
    return took
