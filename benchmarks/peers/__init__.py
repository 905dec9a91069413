"""The same work done by other libraries, each in an interpreter where it is installed.

An adapter is a module of this package with ``prepare(steps)``, which makes what the library needs and is not timed, and
``run(prepared)``, which does the work and gives the number of results. It uses the library's own facilities for fake
models. The yardstick runs in the same interpreter, so that the ratio does not depend on its version.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import callgate
from benchmarks.measure import Size
from benchmarks.report import Row

ROOT = Path(__file__).parents[2]
ADAPTERS: Mapping[str, str] = {
    "pydantic-ai": "with_pydantic_ai",
    "kosong": "with_kosong",
    "langgraph": "with_langgraph",
    "openai-agents": "with_openai_agents",
}
DISTRIBUTIONS: Mapping[str, tuple[str, ...]] = {
    "pydantic-ai": ("pydantic-ai-slim", "pydantic-ai"),
    "kosong": ("kosong",),
    "langgraph": ("langgraph",),
    "openai-agents": ("openai-agents",),
}
PROBE = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for peer, names in json.loads(sys.argv[1]).items():
    for name in names:
        try:
            found.setdefault(peer, version(name))
        except PackageNotFoundError:
            pass
print(json.dumps({"python": sys.version.split()[0], "found": found}))
"""
PATIENCE = 600.0


def rows(interpreter: str, size: Size) -> list[Row]:
    """A row for each piece of work and each library found; what cannot be done is a row that says why."""
    probe = _asked([interpreter, "-c", PROBE, json.dumps(DISTRIBUTIONS)])
    if isinstance(probe, str):
        return [_missing("peers", interpreter, probe)]
    if not probe["found"]:
        return [_missing("peers", interpreter, f"none of {', '.join(DISTRIBUTIONS)} is installed there")]
    out: list[Row] = []
    for peer, version in probe["found"].items():
        title = f"{peer} {version}, Python {probe['python']}"
        given = {"calls": size.calls, "rounds": max(2, size.rounds // 5), "second": size.second}
        told = _asked([interpreter, "-m", "benchmarks.peers", ADAPTERS[peer], json.dumps(given)])
        if isinstance(told, str):
            out.append(_missing(peer, title, told))
        else:
            out += [_row(peer, title, each) for each in told["rows"]]
    return out


def _row(peer: str, title: str, told: Mapping[str, Any]) -> Row:
    name = f"{peer}_{told['name']}"
    if "missing" in told:
        return _missing(name, f"{title}: {told['work'].strip()}", told["missing"])
    times, spread = told["ratio"], told["spread"]
    work = f"{title}: {told['work'].strip()}"
    return Row(name, work, told["unit"], told["measured"], told["yardstick"], times, spread=spread)


def _missing(name: str, work: str, why: str) -> Row:
    return Row(name, work, "", None, note=f"no row: {why}")


def _asked(command: list[str]) -> dict[str, Any] | str:
    """What the command prints last, or why there is nothing."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(callgate.__file__).parents[1])])}
    try:
        ran = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
        if ran.returncode == 0:
            return json.loads(ran.stdout.splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        return f"{type(error).__name__}: {error}"
    return (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]
