"""Runs examples one after the other, each in a process of its own forked from one that has the library loaded.

Reads a JSON object of code by name, writes one of [exit code, output, errors] by name.
"""

import json
import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from types import ModuleType

# The parts that most examples load.
import pydantic

import callgate
import callgate.assembly.settings
import callgate.testing

_LOADED = [pydantic.TypeAdapter, callgate.testing, *(getattr(callgate, name) for name in callgate.__all__)]

DEADLINE = 60


def run(code: str, folder: Path) -> tuple[int, str, str]:
    files = [folder / "out", folder / "err"]
    work = folder / "work"
    work.mkdir()
    child = os.fork()
    if child == 0:
        code_of_exit = _in_child(code, work, files)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code_of_exit)  # without the cleaning up of the process that it is a copy of
    _, status = os.waitpid(child, 0)
    out, err = (file.read_text(encoding="utf-8") for file in files)
    return os.waitstatus_to_exitcode(status), out, err


def _in_child(code: str, work: Path, files: list[Path]) -> int:
    signal.alarm(DEADLINE)
    os.chdir(work)
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    try:
        exec(compile(code, "<example>", "exec"), vars(module))
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, code) in enumerate(json.load(sys.stdin).items()):
            place = Path(folder, str(number))
            place.mkdir()
            found[name] = run(code, place)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
