"""What ``import callgate`` brings along and costs, against an interpreter that imports nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import callgate
from benchmarks.measure import Size, interleaved, ratio, spread
from benchmarks.report import Row

PYDANTIC = {"pydantic", "pydantic_core", "typing_extensions", "typing_inspection", "annotated_types"}
"""pydantic and what it needs itself."""

NAMES = "from callgate import *"
TOOL = "import callgate\n@callgate.tool\nasync def noop(value: int) -> str: return 'done'"
REPORT = "import sys, json; print(json.dumps(sorted(sys.modules)))"


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


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(callgate.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": ""}


def _cpu_milliseconds(code: str) -> float:
    """CPU time of a whole interpreter that runs the code."""
    child = subprocess.Popen([sys.executable, "-s", "-c", code], env=_environment())
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"this failed in a fresh interpreter: {code}")
    return (used.ru_utime + used.ru_stime) * 1e3


def _modules(code: str) -> set[str]:
    asked = [sys.executable, "-s", "-c", f"{code}\n{REPORT}"]
    ran = subprocess.run(asked, env=_environment(), capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout))


def third_party(modules: set[str]) -> set[str]:
    roots = {name.partition(".")[0] for name in modules}
    return {root for root in roots if root not in sys.stdlib_module_names and root not in {"callgate", "__main__"}}


def rows(size: Size) -> list[Row]:
    # What an environment loads into every interpreter (a .pth file, a sitecustomize) is nobody's import.
    empty = _modules("pass")
    measures = {case.name: lambda code=case.code: _cpu_milliseconds(code) for case in CASES}
    found = interleaved({"empty": lambda: _cpu_milliseconds("pass"), **measures}, size.imports)
    return [row for case in CASES for row in _rows(case, _modules(case.code) - empty, found)]


def _rows(case: Case, loaded: set[str], found: Mapping[str, list[float]]) -> list[Row]:
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
