"""Whether a command comes to what a rule on a path is about although no word of it names the place: patterns of the
shell, and programs that read whole folders."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import islice, product
from posixpath import join

from callgate.policy.paths import PathPattern
from callgate.shell.command import Analysis, Script
from callgate.shell.programs.inner import Run, inside
from callgate.shell.programs.uses import said
from callgate.words.noun import noun
from callgate.words.places import Place

_GLOB = re.compile(r"[*?[]")
_MOST = 32
_GREPS = frozenset(("grep", "egrep", "fgrep", "zgrep"))
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*|--(?:dereference-)?recursive|--directories=recurse")
_ALL_FILES = re.compile(r"-[a-zA-Z]*[u.][a-zA-Z]*|--hidden|--unrestricted")
_FINDS = frozenset(("find", "gfind", "fd", "fdfind"))


def spellings(path: str, pattern: PathPattern) -> list[str]:
    """The paths that a shell may make of a pattern, as far as names in the rule fit it."""
    parts = path.split("/")
    if not _GLOB.search(path):
        return []
    names = [re.sub(r"\\(.)|[*?]", lambda found: found[1] or "x", part) for part in pattern.text.split("/") if part]
    choices = [_fitting(part, names) if _GLOB.search(part) else [part] for part in parts]
    return ["/".join(each) for each in islice(product(*choices), _MOST)]


def _fitting(part: str, names: Sequence[str]) -> list[str]:
    """Those a shell would put there: it leaves out what begins with a dot, unless the dot is written."""
    return [name for name in names if fnmatchcase(name, part) and (name[0] != "." or part[0] == ".")]


def says_little(path: str) -> bool:
    """One of its patterns does not even say how a name begins: it stands for much that is in a folder."""
    return any(_GLOB.match(part.lstrip(".")) for part in path.split("/"))


@noun
class Sweep:
    """A program reads all that is in its folders; ``hidden``: files that begin with a dot as well."""

    program: str
    hidden: bool = True


def sweeps(analysis: Analysis) -> list[Sweep]:
    """Commands that read whole folders without naming what is in them."""
    found: list[Sweep] = []
    for run in inside(analysis).runs:
        texts = [said(word) for word in run.words[1:]]
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


def may_hold(folder: Place, pattern: PathPattern, sweep: Sweep, *, root: str, home: str) -> bool:
    """Whether what the rule is about may be somewhere in the folder."""
    names = [name for name in pattern.text.split("/") if name not in ("", ".", "**")]
    if names and names[-1][0] == "." and not sweep.hidden:
        return False
    text = pattern.text.rstrip("/")
    if "/" not in text:
        start = root
    elif text.startswith("//"):
        start = _literal(text[1:])
    elif text.startswith("~/"):
        start = _literal(join(home, text[2:]))
    else:
        start = _literal(join(root, text.removeprefix(root.rstrip("/") + "/").lstrip("./")))
    return any(_beneath(start, hop) or _beneath(hop, start) for hop in (folder.hops[0], folder.resolved))


def _literal(path: str) -> str:
    """As much of the path as has no pattern in it."""
    found = _GLOB.search(path)
    return path if found is None else path[: found.start()].rpartition("/")[0]


def _beneath(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
