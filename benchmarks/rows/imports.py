"""What ``import callgate`` brings along and costs, against an interpreter that imports nothing."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import callgate
from benchmarks.measure import Size, interleaved, ratio, spread
from benchmarks.report import Row

PYDANTIC = {"pydantic", "pydantic_core", "typing_extensions", "typing_inspection", "annotated_types"}
"""pydantic and what it needs itself."""

NAMES = "from callgate import *"
TOOL = "import callgate\n@callgate.tool\nasync def noop(value: int) -> str: return 'done'"
TURN = Path(__file__).parents[2] / "tests" / "house" / "probe_first_turn.py"
MOST_OF_A_TURN = 2.0
"""Times the CPU of an interpreter that imports pydantic and describes one type."""
REPORT = "import sys, json; print(json.dumps({n: getattr(m, '__file__', None) for n, m in sys.modules.items()}))"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    work: str
    code: str
    allowed: frozenset[str] = frozenset()


CASES = (
    Case("import", "import callgate", "import callgate"),
    Case("import_names", "  and all its names", NAMES),
    Case("import_tool", "  and one tool defined", TOOL, frozenset(PYDANTIC)),
)

ARGV = {"turn": ["probe"], "base": ["probe", "--base"]}


class Interpreter:
    """Fresh interpreters that find our code compiled, as an installed package is, wherever that may be written."""

    def __init__(self, compiled: str) -> None:
        home = str(Path(callgate.__file__).parents[1])
        others = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._environment = {**others, "PYTHONPATH": home, "PYTHONPYCACHEPREFIX": compiled}

    def cpu_milliseconds(self, code: str) -> float:
        """CPU time of a whole interpreter that runs the code."""
        child = subprocess.Popen([sys.executable, "-s", "-c", code], env=self._environment)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise RuntimeError(f"this failed in a fresh interpreter: {code}")
        return (used.ru_utime + used.ru_stime) * 1e3

    def modules(self, code: str) -> dict[str, str | None]:
        """What the code leaves loaded, each with its file."""
        asked = [sys.executable, "-s", "-c", f"{code}\n{REPORT}"]
        ran = subprocess.run(asked, env=self._environment, capture_output=True, text=True, check=True)
        return json.loads(ran.stdout)


def third_party(modules: Mapping[str, str | None]) -> set[str]:
    """Top-level names of what is neither ours nor Python's; modules without a file are built in."""
    ours = {"callgate", "__main__"} | sys.stdlib_module_names
    homes = tuple(str(Path(sysconfig.get_path(name))) + os.sep for name in ("stdlib", "platstdlib"))
    roots: set[str] = set()
    for name, file in modules.items():
        root = name.partition(".")[0]
        at_home = file is None or (file.startswith(homes) and "site-packages" not in file)
        if root not in ours and not at_home:
            roots.add(root)
    return roots


def rows(size: Size) -> list[Row]:
    with TemporaryDirectory() as compiled:
        fresh = Interpreter(compiled)
        # What an environment loads into every interpreter (a .pth file, a sitecustomize) is nobody's import.
        empty = fresh.modules("pass").keys()
        codes = {"empty": "pass", **{case.name: case.code for case in CASES}}
        found = interleaved({name: partial(fresh.cpu_milliseconds, code) for name, code in codes.items()}, size.imports)
        out: list[Row] = []
        for case in CASES:
            loaded = {name: file for name, file in fresh.modules(case.code).items() if name not in empty}
            out += _rows(case, loaded, found)
        return [*out, _first_turn(fresh, size)]


def _first_turn(fresh: Interpreter, size: Size) -> Row:
    codes = {
        name: f"import runpy, sys; sys.argv = {argv!r}; runpy.run_path({str(TURN)!r})" for name, argv in ARGV.items()
    }
    quiet = "import sys, os; sys.stdout = open(os.devnull, 'w'); "
    found = interleaved(
        {name: partial(fresh.cpu_milliseconds, quiet + code) for name, code in codes.items()}, size.imports
    )
    return Row(
        "first_turn_cpu",
        "import, one tool, the first turn: CPU of the interpreter, against one with pydantic",
        "ms",
        median(found["turn"]),
        median(found["base"]),
        ratio(found["turn"], found["base"]),
        limit=MOST_OF_A_TURN,
        spread=spread(found["turn"]),
    )


def _rows(case: Case, loaded: Mapping[str, str | None], found: Mapping[str, list[float]]) -> list[Row]:
    mine, empty = found[case.name], found["empty"]
    foreign = third_party(loaded) - case.allowed
    ours = sum(1 for name in loaded if name.partition(".")[0] == "callgate")
    note = f"{len(loaded)} modules more than an empty interpreter, {ours} of them ours"
    what = "third-party modules but pydantic's" if case.allowed else "third-party modules"
    return [
        Row(
            f"{case.name}_cpu",
            f"{case.work}: CPU of the interpreter",
            "ms",
            median(mine),
            median(empty),
            ratio(mine, empty),
            spread=spread(mine),
            note=note,
        ),
        Row(f"{case.name}_foreign", f"  {what}", "", len(foreign), limit=0, note=", ".join(sorted(foreign))),
    ]
