"""Finds commands that read whole folders without naming the files in them."""

from callgate.shell.command import Analysis, Script
from callgate.shell.programs.arguments import scan
from callgate.shell.programs.inner import CommandRun, inside
from callgate.shell.programs.table import PROGRAMS, grammar_of


def sweeps(analysis: Analysis) -> list[str]:
    """Commands that read whole folders without naming what is in them. Files that begin with a dot, or that some file
    tells a program to ignore, count like any other: options and files of the workspace change what is left out."""
    found: list[str] = []
    for run in inside(analysis).runs:
        name = run.name or ""
        entry = PROGRAMS.get(name)
        if entry is None or not entry.sweeps:
            continue
        if entry.sweeps == "argv":
            if any(use.role == "argv" for use in run.uses):
                found.append(f"{name} with a command")
            continue
        options = {each.name for each in scan(grammar_of(name), run.words)}
        always = entry.sweeps == "*" and not _reads_a_pipe(run, analysis.script)
        option = next((each for each in entry.sweeps.split() if each in options), None)
        if always or option:
            found.append(f"{name} {option}" if option else name)
    return found


def _reads_a_pipe(run: CommandRun, script: Script) -> bool:
    """It comes after a pipe and names no place: then it reads what the command before it prints."""
    plain = len(script.operators) == len(script.commands) - 1
    piped = plain and run.step > 0 and script.operators[run.step - 1] in ("|", "|&")
    return piped and not any(use.role == "read" for use in run.uses)
