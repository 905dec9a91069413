"""Checks of Python, packages, the programs rg and git, the disk, the clock, the terminal and the editor."""

import locale
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import time

from callgate.admin.doctor.diagnosis import Diagnosis, Patient, fault, fine, warning
from callgate.admin.installed import app_packages, find_installation
from callgate.admin.sessions import moment
from callgate.host.environment import find_program
from callgate.tools.ripgrep.search_engine import INSTALL, VARIABLE, available_engine
from callgate.words.errors import ToolFailure

_PROGRAM_SECONDS = 3.0
_LITTLE, _TOO_LITTLE = 1_000_000_000, 50_000_000
_DAY = 86_400.0
NARROWEST = 60
_NO_PASTE = ("dumb", "linux", "vt100", "vt220", "ansi")
"""Terminals that do not mark pasted text, so that its lines look typed."""


def python(patient: Patient) -> Sequence[Diagnosis]:
    saw = f"Python {platform.python_version()} at {sys.executable} on {platform.system()} {platform.machine()}"
    return [fine(saw)]


def packages(patient: Patient) -> Sequence[Diagnosis]:
    how, found = find_installation(), app_packages()
    there = ", ".join(f"{each.name} {each.version}" for each in found if each.version)
    saw = f"{how}; {there or 'none of the packages of callgate[app]'}"
    missing = [each for each in found if not each.version]
    if not missing:
        return [fine(saw)]
    listed = "; ".join(f"{each.name} ({each.use})" for each in missing)
    told = fault if any(each.needed for each in missing) else warning
    return [told(saw, f"not installed: {listed}", how.add_app())]


def search(patient: Patient) -> Sequence[Diagnosis]:
    try:
        engine = available_engine(patient.environ)
    except ToolFailure as error:
        return [fault(f"{VARIABLE}={patient.environ.get(VARIABLE, '')}", str(error), f"unset {VARIABLE}")]
    if engine.mode == "builtin":
        saw = "the built-in search; there is no ripgrep"
        if patient.environ.get(VARIABLE):
            return [fine(f"the built-in search, by {VARIABLE}")]
        return [warning(saw, "Grep and Glob are slower in large folders", INSTALL)]
    version = _first_line(engine.path, "--version")
    if not version:
        return [fault(f"{engine.mode} ripgrep at {engine.path}", "it does not start", INSTALL)]
    return [fine(f"{version} at {engine.path} ({engine.mode})")]


def git(patient: Patient) -> Sequence[Diagnosis]:
    program = find_program("git", patient.environ.get("PATH", ""), avoid=os.getcwd())
    if program is None:
        problem = "the agent works without git, but does not know the branch and the history"
        return [warning("no git on PATH", problem, "install git")]
    version = _first_line(program, "--version")
    if not version:
        return [warning(f"git at {program}", "it does not start", "git --version")]
    root = None if patient.config is None else patient.config.root
    inside = root is not None and any((folder / ".git").exists() for folder in (root, *root.parents))
    return [fine(f"{version} at {program}; this folder is {'in a' if inside else 'no'} repository")]


def disk(patient: Patient) -> Sequence[Diagnosis]:
    places = {"the workspace": Path.cwd()}
    if patient.config is not None:
        places = {"the workspace": patient.config.root, "the data folder": patient.config.data}
    return [_space(name, place) for name, place in places.items()]


def _space(name: str, place: Path) -> Diagnosis:
    there = next(each for each in (place, *place.parents) if each.exists())
    free = shutil.disk_usage(there).free
    saw = f"{free / 1e9:.1f} GB free for {name}"
    if free < _TOO_LITTLE:
        return fault(saw, "sessions cannot be stored if the disk is full", "callgate session gc --older-than 30d")
    if free < _LITTLE:
        return warning(saw, "this is little", "callgate session gc --older-than 30d")
    return fine(saw)


def clock(patient: Patient) -> Sequence[Diagnosis]:
    """Compare the clock with the modification times of files. If the clock is slow, certificates are invalid."""
    now = time()
    files = [Path(__file__), *(() if patient.config is None else (patient.config.data,))]
    newest = max((os.stat(file).st_mtime for file in files if file.exists()), default=now)
    saw = moment(now)
    if now < newest - _DAY:
        problem = f"the clock is slow: a file of Callgate was written at {moment(newest)}"
        return [warning(saw, problem, "timedatectl set-ntp true" if sys.platform == "linux" else "set the clock")]
    return [fine(saw)]


def terminal(patient: Patient) -> Sequence[Diagnosis]:
    environ = patient.environ
    if not sys.stdout.isatty() and not sys.stderr.isatty():
        return [fine("not a terminal: the output goes to a file or a pipe")]
    columns, rows = shutil.get_terminal_size()
    term = environ.get("TERM", "")
    saw = ", ".join(
        (
            f"TERM={term or '(not set)'}",
            f"{columns} × {rows}",
            _colours(environ),
            f"text in {_encoding()}",
            "pasted text is marked" if term and term not in _NO_PASTE else "pasted text is not marked",
            *_around(environ),
        )
    )
    found = list(_problems(saw, term, columns, environ))
    return found or [fine(saw)]


def _problems(saw: str, term: str, columns: int, environ: Mapping[str, str]) -> Sequence[Diagnosis]:
    found: list[Diagnosis] = []
    if term in ("", "dumb"):
        found.append(warning(saw, "this terminal cannot move its cursor", "export TERM=xterm-256color"))
    if _encoding() not in ("utf-8", "utf8"):
        found.append(warning(saw, "signs are shown in ASCII, because the locale is not UTF-8", "export LANG=C.UTF-8"))
    if columns < NARROWEST:
        found.append(warning(saw, f"{columns} columns are few", f"make the window {NARROWEST} columns wide or more"))
    if environ.get("TMUX") and term and not term.startswith(("tmux", "screen")):
        repair = "tmux set -g default-terminal tmux-256color"
        found.append(warning(saw, f"inside tmux TERM should begin with tmux or screen, not {term}", repair))
    return found


def editor(patient: Patient) -> Sequence[Diagnosis]:
    environ = patient.environ
    name = next((each for each in ("VISUAL", "EDITOR") if environ.get(each)), "")
    command = environ.get(name, "vi") if name else "vi"
    try:
        program = shlex.split(command)[0]
    except (ValueError, IndexError):
        return [fault(f"{name}={command}", "this is no command", "export EDITOR=nano")]
    place = shutil.which(program, path=environ.get("PATH"))
    saw = f"{name}={command}" if name else "neither $VISUAL nor $EDITOR is set, so vi"
    if place is None:
        told = fault if name else warning
        return [told(saw, f"there is no program {program}", "export EDITOR=nano")]
    return [fine(f"{saw} ({place})")]


def _colours(environ: Mapping[str, str]) -> str:
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM", "") in ("truecolor", "24bit"):
        return "true colour"
    term = environ.get("TERM", "")
    if term in ("", "dumb"):
        return "no colours"
    return "256 colours" if "256" in term else "16 colours"


def _encoding() -> str:
    return (getattr(sys.stdout, "encoding", None) or locale.getpreferredencoding(do_setlocale=False)).lower()


def _around(environ: Mapping[str, str]) -> list[str]:
    found = [("TMUX", "in tmux"), ("STY", "in screen"), ("SSH_CONNECTION", "over SSH")]
    return [what for name, what in found if environ.get(name)]


def _first_line(*argv: str) -> str:
    """Return the first line that a program prints; empty if it does not start, fails or takes too long."""
    try:
        ran = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROGRAM_SECONDS, check=False, cwd="/"
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return ran.stdout.decode(errors="replace").partition("\n")[0].strip() if ran.returncode == 0 else ""
