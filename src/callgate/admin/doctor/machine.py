"""Checks of Python, packages, the programs rg and git, the disk and the clock."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
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


def _first_line(*argv: str) -> str:
    """Return the first line that a program prints; empty if it does not start, fails or takes too long."""
    try:
        ran = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROGRAM_SECONDS, check=False, cwd="/"
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return ran.stdout.decode(errors="replace").partition("\n")[0].strip() if ran.returncode == 0 else ""
