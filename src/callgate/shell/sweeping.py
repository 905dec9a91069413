"""Finds commands that read whole folders without naming the files in them."""

import re

from callgate.shell.command import Analysis, Script
from callgate.shell.programs.inner import Run, inside
from callgate.shell.programs.uses import text_of
from callgate.words.noun import noun

_GREPS = frozenset(("grep", "egrep", "fgrep", "zgrep"))
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*|--(?:dereference-)?recursive|--directories=recurse")
_ALL_FILES = re.compile(r"-[a-zA-Z]*[u.][a-zA-Z]*|--hidden|--unrestricted")
_FINDS = frozenset(("find", "gfind", "fd", "fdfind"))


@noun
class Sweep:
    """A program reads all that is in its folders; ``hidden``: files that begin with a dot as well."""

    program: str
    hidden: bool = True


def sweeps(analysis: Analysis) -> list[Sweep]:
    """Commands that read whole folders without naming what is in them."""
    found: list[Sweep] = []
    for run in inside(analysis).runs:
        texts = [text_of(word) for word in run.words[1:]]
        if run.name in _GREPS and any(map(_RECURSIVE.fullmatch, texts)):
            found.append(Sweep("grep -r"))
        elif run.name == "diff" and any(map(_RECURSIVE.fullmatch, texts)):
            found.append(Sweep("diff -r"))
        elif run.name == "rg" and not _reads_a_pipe(run, analysis.script):
            found.append(Sweep("rg", any(map(_ALL_FILES.fullmatch, texts))))
        elif run.name in _FINDS and any(use.role == "argv" for use in run.uses):
            found.append(Sweep(f"{run.name} with a command"))
    return found


def _reads_a_pipe(run: Run, script: Script) -> bool:
    """It comes after a pipe and names no place: then it reads what the command before it prints."""
    plain = len(script.operators) == len(script.commands) - 1
    piped = plain and run.step > 0 and script.operators[run.step - 1] in ("|", "|&")
    return piped and not any(use.role == "read" for use in run.uses)
