"""What bubblewrap costs a command: the time until ``true`` has ended, inside and outside."""

import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Size, interleaved, spread
from benchmarks.report import Row
from callgate.host.ports import Command
from callgate.host.sandbox.sandbox import Sandbox, missing
from callgate.policy.sandbox_policy import profile_for

LIMIT = 25.0
_WORK = "true in bubblewrap, beyond true alone"


def rows(size: Size) -> list[Row]:
    why = missing("bubblewrap")
    if why is not None:
        return [Row("sandbox_start", _WORK, "ms", None, limit=LIMIT, note=why)]
    with TemporaryDirectory(prefix="callgate-bench-") as place:
        base = Path(place).resolve()
        (base / "workspace" / ".git").mkdir(parents=True)
        (base / "home").mkdir()
        plain = Command(("true",), str(base / "workspace"), {"PATH": "/usr/bin:/bin"})
        profile = profile_for(str(base / "workspace"), str(base / "home"))
        inside = Sandbox("bubblewrap", base / "own").wrap(plain, profile)
        taken = interleaved({"inside": lambda: _run(inside), "plain": lambda: _run(plain)}, max(5, 2 * size.rounds))
    # The least of all rounds: most of it is waiting for the kernel, to which everything else on the machine adds.
    more = min(taken["inside"]) - min(taken["plain"])
    return [Row("sandbox_start", _WORK, "ms", more, limit=LIMIT, spread=spread(taken["inside"]))]


def _run(command: Command) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    subprocess.run(command.argv, cwd=command.cwd, env=dict(command.env), check=True)
    return (time.perf_counter() - begun) * 1e3
