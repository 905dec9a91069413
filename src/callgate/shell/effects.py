"""Whether a command only reads, and which paths it names."""

import re
from urllib.parse import unquote

from callgate.shell.besides import besides
from callgate.shell.command import Analysis, Redirect, Word
from callgate.shell.folders import MOVES, Where, after_move, below, whereabouts
from callgate.shell.grants import duplicates, safe_assignments
from callgate.shell.programs import program_named
from callgate.shell.programs.inner import inside
from callgate.shell.programs.uses import Use, said
from callgate.words.noun import noun
from callgate.words.traits import Effects

_WRITES = frozenset((">", ">>", ">|", "&>", "&>>", ">&", "<>"))
_MOST_FOLDERS = 8
_RUNS_SETTINGS = frozenset(("git", "hg", "jj", "sl"))
_DEEPEST = 8
_LONGEST = 1_000
_LONGEST_PATH = 4_096
_ADDRESS = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://", re.I)
_FILE = re.compile(r"file:(?://[^/]*(?=/))?", re.I)


@noun
class Touched:
    """Paths as spelled, counted from the folder one starts in; where two folders are possible, from both."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()


def effects_of(analysis: Analysis) -> Effects:
    """``none`` only when every command in it is known to read and print with these words, and nothing else."""
    if analysis.fault is not None or analysis.script.expands:
        return "mutating"
    for simple in analysis.script.commands:
        if not simple.words or safe_assignments(simple) or any(_writes(each) for each in simple.redirects):
            return "mutating"
        if not _quiet(simple.words, 0):
            return "mutating"
    return "none"


def _writes(redirect: Redirect) -> bool:
    target = said(redirect.target)
    if target == "/dev/null" or duplicates(redirect):
        return False
    return redirect.operator in _WRITES or target.startswith("/dev/")


def _quiet(words: tuple[Word, ...], depth: int) -> bool:
    if not words:
        return False
    name = words[0]
    if (
        depth > _DEEPEST
        or len(words) > _LONGEST
        or name.value is None
        or name.globs
        or name.braces
        or "/" in name.value
    ):
        return False
    program = program_named(name.value)
    if not program.quiet:
        return False
    for use in program.read(words):
        if use.role == "argv":
            if not _quiet(words[use.on :], depth + 1):
                return False
        elif use.role != "read":
            return False
    return True


def runs_settings(analysis: Analysis) -> str | None:
    """The first program that runs what a repository's own settings name; None if there is none."""
    runs = [run for run in inside(analysis).runs if [word.value for word in run.words[1:]] != ["--version"]]
    return next((run.name for run in runs if run.name in _RUNS_SETTINGS), None)


def touched(analysis: Analysis) -> Touched:
    """The paths that are literally among the words and redirections, as far as the programs are known. What an unknown
    program is given counts as read and as written, unless it is plain that it is no path."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    removes: dict[str, None] = {}
    ways = {"write": writes, "move": removes, "remove": removes}
    where = whereabouts(analysis)
    elsewhere: tuple[str, ...] = ()
    for run in inside(analysis).runs:
        here = Where((*where[run.step].here, *elsewhere))
        for redirect in run.redirects:
            path = said(redirect.target)
            if redirect.operator in ("<", "<>"):
                _note(reads, path, here)
            if redirect.operator in _WRITES and not duplicates(redirect):
                _note(writes, path, here)
        for use in run.uses:
            for path in _paths(use):
                _note(ways.get(use.role, reads), path, here)
        for way, path in besides(run):
            _note({"read": reads, "write": writes, "remove": removes}[way], path, here)
        if run.depth and run.name in MOVES:
            elsewhere = (*elsewhere, *after_move(here, run.words).here)[:_MOST_FOLDERS]
    return Touched(tuple(reads), tuple(writes), tuple(removes))


def _paths(use: Use) -> list[str]:
    """The paths that a use names."""
    if use.role in ("read", "write", "move", "remove", "enter"):
        return [] if use.guess and _plainly_text(use.text) else [use.text]
    # ``name=@file``, ``file:/there``, ``type=bind,source=folder``: what is sent or loaded is read.
    pieces = [piece.rpartition("=")[2].rpartition("@")[2].lstrip("<") for piece in re.split("[,;]", use.text)]
    named = [use.text, *pieces, *(piece.partition(":")[0] for piece in pieces)]
    return [path for path in named if not _plainly_text(path)] if use.role in ("load", "send", "alter") else []


def _plainly_text(text: str) -> bool:
    """An address, lines of text, or more of it than a path may have."""
    address = _ADDRESS.match(text) and ".." not in text.split("/")
    return "\n" in text or len(text) > _LONGEST_PATH or bool(address)


def _note(paths: dict[str, None], path: str, where: Where) -> None:
    for each in (path, unquote(_FILE.sub("", path))) if _FILE.match(path) else (path,):
        if each and "\0" not in each:
            paths.update(dict.fromkeys(below(folder, each) for folder in where.here))
