"""Whether a command only reads, and which paths it names."""

from posixpath import join

from callgate.policy.shell.command import Analysis, Redirect, Word
from callgate.policy.shell.grants import safe_assignments
from callgate.policy.shell.programs import program_named
from callgate.policy.shell.programs.inner import inside
from callgate.policy.shell.programs.uses import said
from callgate.words.noun import noun
from callgate.words.traits import Effects

_WRITES = frozenset((">", ">>", ">|", "&>", "&>>", ">&", "<>"))
_MOVES = frozenset(("cd", "pushd", "chdir"))
_MOST_FOLDERS = 8
_DEEPEST = 8
_LONGEST = 1_000


@noun
class Touched:
    """Paths as spelled. After a ``cd`` a relative one counts from both folders."""

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
    if target == "/dev/null" or (redirect.operator == ">&" and target.rstrip("-").isdigit()):
        return False
    return redirect.operator in _WRITES or target.startswith("/dev/")


def _quiet(words: tuple[Word, ...], depth: int) -> bool:
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


def touched(analysis: Analysis) -> Touched:
    """The paths that are literally among the words and redirections, as far as the programs are known. What an unknown
    program is given counts as read and as written."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    removes: dict[str, None] = {}
    folders = [""]
    for run in inside(analysis).runs:
        for redirect in run.redirects:
            path = said(redirect.target)
            if redirect.operator in ("<", "<>"):
                _note(reads, path, folders)
            if redirect.operator in _WRITES and not path.rstrip("-").isdigit() and path != "-":
                _note(writes, path, folders)
        for use in run.uses:
            if use.role == "read":
                _note(reads, use.text, folders)
            elif use.role in ("write", "load"):
                _note(writes if use.role == "write" else reads, use.text, folders)
            elif use.role in ("move", "remove"):
                _note(removes, use.text, folders)
        if run.name in _MOVES and len(folders) < _MOST_FOLDERS:
            targets = [said(word) for word in run.words[1:] if said(word)[:1] != "-"][:1]
            folders += [join(folder, target) for target in targets for folder in folders]
    return Touched(tuple(reads), tuple(writes), tuple(removes))


def _note(paths: dict[str, None], path: str, folders: list[str]) -> None:
    if path and "\0" not in path:
        paths.update(dict.fromkeys(join(folder, path) for folder in folders))
