"""Determines the folders in which each command of a script may run.

An earlier ``cd`` may fail or run in a subshell, so several folders are possible.
"""

from posixpath import join, normpath

from callgate.shell.command import Analysis, Simple, Word
from callgate.shell.programs.uses import text_of, unsure
from callgate.words.noun import noun

MOVES = frozenset(("cd", "pushd", "chdir"))
_MOST_FOLDERS = 8
_LONGEST = 200


@noun
class PossibleFolders:
    """The folders in which a command may run, relative to the folder in which the script starts.

    lost  the command may also run in an unknown folder
    """

    here: tuple[str, ...] = ("",)
    lost: bool = False


_START = PossibleFolders()


def folders_of(analysis: Analysis) -> list[PossibleFolders]:
    """Return the possible folders of each simple command. After ``cd x &&`` only the new folder is possible, up to
    the next operator other than ``&&``."""
    script = analysis.script
    if not any(simple.words and text_of(simple.words[0]) in MOVES for simple in script.commands):
        return [_START] * len(script.commands)
    # with a negation, or redirections of a whole group, the order of commands is unknown
    plain = analysis.whole and "!" not in analysis.text and len(script.operators) == len(script.commands) - 1
    found: list[PossibleFolders] = []
    where, failed = _START, PossibleFolders(())
    for number, simple in enumerate(script.commands):
        found.append(where)
        operator = script.operators[number] if number < len(script.operators) else ""
        after = where
        if simple.words and text_of(simple.words[0]) in MOVES:
            after = after_move(where, simple.words)
            if not (plain and operator == "&&" and not simple.within and _known(simple)):
                after = _either(where, after)
        if operator == "&&":
            failed = _either(failed, where)
            where = after
        elif operator not in ("|", "|&"):
            where, failed = _either(after, failed), PossibleFolders(())
        else:
            where = after
    return found


def _known(simple: Simple) -> bool:
    return not any(map(unsure, simple.words))


def after_move(where: PossibleFolders, words: tuple[Word, ...]) -> PossibleFolders:
    """Return the folders to which a ``cd`` leads. A ``..`` is resolved in both ways: lexically, as the shell does,
    and through the parent folder, as the system does."""
    target = next((text_of(word) for word in words[1:] if text_of(word)[:1] != "-"), "~" if len(words) == 1 else None)
    if target is None or target[:1] == "+":
        return PossibleFolders(where.here, lost=True)
    joined = [below(at, target) for at in where.here]
    logical = [normpath(path) for path in joined if ".." in path.split("/") and path[:1] != "~"]
    return _bounded((*joined, *logical), where.lost)


def below(folder: str, path: str) -> str:
    return path if path[:1] == "~" else join(folder, path)


def _either(one: PossibleFolders, other: PossibleFolders) -> PossibleFolders:
    return _bounded((*one.here, *other.here), one.lost or other.lost)


def _bounded(folders: tuple[str, ...], lost: bool) -> PossibleFolders:
    """Return at most a fixed number of folders: the first folder and the latest folders. Long paths are dropped;
    ``lost`` is set if a folder is dropped."""
    short = tuple(folder for folder in folders if len(folder) <= _LONGEST)
    each = tuple(dict.fromkeys(short))
    many = len(each) > _MOST_FOLDERS
    kept = (*each[:1], *each[1 - _MOST_FOLDERS :]) if many else each
    return PossibleFolders(kept, lost or many or len(short) < len(folders))
