"""Determines whether a command only reads, and which paths the command names."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from callgate.shell.command import Analysis, Redirect, Script, Word, names
from callgate.shell.command_grants import WRITES, duplicates, safe_assignments
from callgate.shell.folders import MOVES, PossibleFolders, after_move, below, folders_of
from callgate.shell.programs.inner_commands import DEEPEST, LONGEST, CommandRun, find_inner_commands, known_as
from callgate.shell.programs.program_arguments import scan
from callgate.shell.programs.program_table import (
    PROGRAMS,
    PROJECT_PROGRAMS,
    depends_on_folder,
    grammar_of,
    read,
    step_of,
)
from callgate.shell.programs.uses import Use, pieces, text_of
from callgate.words.noun import noun
from callgate.words.traits import Effects

_MOST_FOLDERS = 8
# Programs that only print their version with --version. cargo, go, yarn and pnpm are not listed, because they may run
# a version of themselves that the project names.
_TELLING = names("bash python python3 node perl ruby php git npm npx pip pip3 make cmake ninja docker gh jq rg")
_LONGEST_PATH = 4_096
_RUNNING = frozenset(("run", "code", "load", "unknown"))
_PRINTS_ADDRESSES = ("git config", "git remote", "git ls-remote", "git fetch", "git pull", "git push", "git submodule")
_NAMING = frozenset(("load", "send", "alter"))
_ADDRESS = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://", re.I)
_FILE = re.compile(r"file:(?://[^/]*(?=/))?", re.I)


@noun
class NamedPaths:
    """The paths that a command names, as written. They are relative to the folder in which the command starts; if a
    ``cd`` makes several folders possible, the path is listed once for each folder.

    patterns  the paths that are globs
    flat      the paths that must not be folders
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    patterns: frozenset[str] = frozenset()
    flat: tuple[str, ...] = ()


def effects_of(analysis: Analysis) -> Effects:
    """Return ``none`` if every command is known to only read and print with these words; otherwise ``mutating``."""
    if analysis.fault is not None or analysis.script.expands:
        return "mutating"
    for simple in analysis.script.commands:
        if not simple.words or safe_assignments(simple) or any(_writes(each) for each in simple.redirects):
            return "mutating"
        if not _only_reads(simple.words, 0):
            return "mutating"
    return "none"


def _writes(redirect: Redirect) -> bool:
    target = text_of(redirect.target)
    if target == "/dev/null" or duplicates(redirect):
        return False
    return redirect.operator in WRITES or target.startswith("/dev/")


def _only_reads(words: tuple[Word, ...], depth: int) -> bool:
    if not words or depth > DEEPEST or len(words) > LONGEST:
        return False
    first = words[0]
    if first.value is None or first.globs or first.braces or "/" in first.value:
        return False
    entry = PROGRAMS.get(step_of(first.value, words)[0])
    if [text_of(word) for word in words[1:]] == ["--version"]:
        return first.value in _TELLING
    if entry is None or not entry.read_only:
        return False
    for use in read(first.value, words):
        if use.role == "argv" and entry.transparent:
            if not _only_reads(words[use.on :], depth + 1):
                return False
        elif use.role != "read" and not (use.role == "enter" and PROGRAMS[first.value].runs_settings):
            return False
    return True


def runs_settings(analysis: Analysis) -> str | None:
    """Return the name of the first program that runs commands named in a repository's settings, or None."""
    started = find_inner_commands(analysis).runs
    runs = [run for run in started if [word.value for word in run.words[1:]] != ["--version"]]
    entries = ((run.name or "", PROGRAMS.get(run.name or "")) for run in runs)
    return next((name for name, entry in entries if entry is not None and entry.runs_settings), None)


def program_names(analysis: Analysis) -> Mapping[str, bool]:
    """Return the programs that are found through PATH. The value is True if a rule for the program's name applies
    wherever the program is found: the program runs files of the project anyway, or only a rule with the exact
    command can allow it."""
    return {
        run.name: known_as(run.name) in PROJECT_PROGRAMS or known_as(run.name) not in PROGRAMS
        for run in find_inner_commands(analysis).runs
        if run.words and run.name and "/" not in text_of(run.words[0])
    }


def runs_project_files(analysis: Analysis) -> str | None:
    """Return the name of the first program that may run a file of the project, such as a Makefile, a test or a script;
    None if there is no such program. Hooks of git are not included."""
    started = find_inner_commands(analysis)
    if started.unread or started.over:
        return "a part that cannot be parsed"
    for run in started.runs:
        if not run.words:
            continue
        path, name = text_of(run.words[0]), known_as(run.name or "")
        project = depends_on_folder(name, run.words) and not (name in PROGRAMS and PROGRAMS[name].runs_settings)
        unclear = run.anywhere or run.unclear or "/" in path
        if project or unclear or any(use.role in _RUNNING for use in run.uses):
            return run.name or run.words[0].raw
    return None


def settings_folders(analysis: Analysis) -> tuple[str, ...] | None:
    """Return the folders in which programs with ``runs_settings`` run, relative to the folder in which the command
    starts; None if a folder is unknown."""
    found: dict[str, None] = {}
    where = folders_of(analysis)
    for run in find_inner_commands(analysis).runs:
        if run.depth and run.name in MOVES:
            return None
        entry = PROGRAMS.get(run.name or "")
        if entry is None or not entry.runs_settings:
            continue
        if where[run.step].lost:
            return None
        found.update(dict.fromkeys(_entered(run.uses, where[run.step].here)))
    return tuple(found)


def _entered(uses: Iterable[Use], folders: tuple[str, ...]) -> tuple[str, ...]:
    for use in uses:
        if use.role == "enter":
            folders = tuple(below(folder, use.text) for folder in folders)
    return folders


def named_paths(analysis: Analysis) -> NamedPaths:
    """Return the paths that words and redirections name. For a program without a row every word that could be a path
    is returned as read and written."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    removes: dict[str, None] = {}
    patterns: dict[str, None] = {}
    flat: dict[str, None] = {}
    ways = {"write": writes, "move": removes, "remove": removes}
    where = folders_of(analysis)
    elsewhere: tuple[str, ...] = ()
    for run in find_inner_commands(analysis).runs:
        here = PossibleFolders((*where[run.step].here, *elsewhere))
        entered = _entered(run.uses, here.here)
        works_in = here if entered is here.here else PossibleFolders(tuple(dict.fromkeys((*here.here, *entered))))
        for redirect in run.redirects:
            path = text_of(redirect.target)
            if redirect.operator in ("<", "<>"):
                _note(reads, path, here)
            if redirect.operator in WRITES and not duplicates(redirect):
                _note(writes, path, here)
            if redirect.target.globs:
                _note(patterns, path, here)
        for use in run.uses:
            for path in _paths(use):
                _note(ways.get(use.role, reads), path, works_in)
                if use.on < len(run.words) and run.words[use.on].globs:
                    _note(patterns, path, works_in)
                if use.flat:
                    _note(flat, path, works_in)
        named = {use.on for use in run.uses}
        for at, word in enumerate(run.words):
            if word.globs and at not in named and not _plainly_text(text_of(word)):  # the shell lists the folder
                _note(reads, text_of(word), here)
                _note(patterns, text_of(word), here)
        if run.depth and run.name in MOVES:
            elsewhere = (*elsewhere, *after_move(here, run.words).here)[:_MOST_FOLDERS]
    return NamedPaths(tuple(reads), tuple(writes), tuple(removes), frozenset(patterns), tuple(flat))


def _paths(use: Use) -> list[str]:
    if use.role in ("read", "write", "move", "remove", "enter"):
        return [] if use.guess and _plainly_text(use.text) else [use.text]
    named = use.role in _NAMING and not (use.role == "send" and use.granted)
    return [each for each in pieces(use.text) if not _plainly_text(each)] if named else []


def _plainly_text(text: str) -> bool:
    """Return True for text that is not a path: a URL, several lines, or text longer than a path."""
    address = _ADDRESS.match(text) and ".." not in text.split("/")
    return "\n" in text or len(text) > _LONGEST_PATH or bool(address)


def _note(paths: dict[str, None], path: str, where: PossibleFolders) -> None:
    for each in (path, unquote(_FILE.sub("", path))) if _FILE.match(path) else (path,):
        if each and "\0" not in each:
            for folder in where.here:
                paths[below(folder, each) if folder else each] = None


def folder_readers(analysis: Analysis) -> list[str]:
    """Return the commands that read whole folders. Hidden and ignored files are included, because options and files
    of the workspace control which files the command skips."""
    found: list[str] = []
    for run in find_inner_commands(analysis).runs:
        name = run.name or ""
        entry = PROGRAMS.get(name)
        if entry is None or not entry.recursive:
            continue
        if entry.recursive == "argv":
            if any(use.role == "argv" for use in run.uses):
                found.append(f"{name} with a command")
            continue
        options = {each.name for each in scan(grammar_of(name), run.words)}
        always = entry.recursive == "*" and not _reads_a_pipe(run, analysis.script)
        option = next((each for each in entry.recursive.split() if each in options), None)
        if always or option:
            found.append(f"{name} {option}" if option else name)
    return found


def repository_readers(analysis: Analysis) -> list[str]:
    """Return the commands that show files of a repository without naming the files. ``--untracked`` is included for
    a command that also shows untracked files."""
    found: list[str] = []
    for run in find_inner_commands(analysis).runs:
        name, start = step_of(run.name or "", run.words)
        entry = PROGRAMS.get(name)
        if entry is None or not entry.shows_repository:
            continue
        options = {each.name for each in scan(grammar_of(name), run.words, start)}
        if entry.shows_repository == "*" or options & set(entry.shows_repository.split()):
            found.append(f"{name} --untracked" if "--untracked" in options else name)
    return found


def prints_addresses(analysis: Analysis) -> bool:
    """Return True if a command of git may print its settings or the addresses of remote repositories."""
    runs = find_inner_commands(analysis).runs
    return any(step_of(run.name or "", run.words)[0].startswith(_PRINTS_ADDRESSES) for run in runs)


def _reads_a_pipe(run: CommandRun, script: Script) -> bool:
    """Return True if the command follows a pipe and names no path, so that it reads its standard input."""
    plain = len(script.operators) == len(script.commands) - 1
    piped = plain and run.step > 0 and script.operators[run.step - 1] in ("|", "|&")
    return piped and not any(use.role == "read" for use in run.uses)
