"""Reads ``.gitignore`` and ``.ignore`` as git and ripgrep do.

Matching takes time in proportion to the name: every choice a star leaves is made once, because the first fit of each
piece is as good as any later one. A file that is written to be slow is not.
"""

import re
from collections.abc import Iterable, Sequence

from callgate.words.noun import noun

_END = r"(?=/|\Z)"
_ANY_FOLDERS = r"(?:[^/]+/)*?"
_CLASS = re.compile(r"\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]", re.DOTALL)


@noun
class Glob:
    """One pattern: ``excludes`` unless it begins with ``!``; ``folders``: it matches folders alone."""

    text: str
    regex: re.Pattern[str]
    excludes: bool
    folders: bool


@noun
class IgnoreFile:
    """The patterns of one file, which apply to paths beneath ``folder`` (relative, empty for the root). For a file
    above the root, ``lead`` is the way from its folder down to the root."""

    folder: str
    globs: tuple[Glob, ...]
    lead: str = ""

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """True leaves it out, False keeps it, None says nothing. ``path`` is relative to the root."""
        inner = path[len(self.folder) + 1 :] if self.folder else self.lead + path
        for glob in reversed(self.globs):
            if (folder or not glob.folders) and glob.regex.match(inner):
                return glob.excludes
        return None


def verdict(files: Sequence[IgnoreFile], path: str, *, folder: bool) -> bool | None:
    """That of the innermost file that says anything; ``files`` are from the outermost on."""
    for file in reversed(files):
        found = file.verdict(path, folder=folder)
        if found is not None:
            return found
    return None


def parse_ignore(text: str, folder: str = "", lead: str = "") -> IgnoreFile:
    """Lines that make no sense say nothing, as git has it."""
    return IgnoreFile(folder, tuple(_globs(text.removeprefix("\ufeff").split("\n"))), lead)


def parse_glob(line: str) -> Glob | None:
    """None when there is nothing in it, or nothing that could match."""
    whole = line
    excludes = not line.startswith("!")
    if not excludes:
        line = line[1:]
    folders = line.endswith("/") and not line.endswith("\\/")
    line = line.removesuffix("/") if folders else line
    anchored = "/" in line
    segments = line.removeprefix("/").split("/")
    if "" in segments:  # no path has two slashes in a row
        return None
    if not anchored:
        segments.insert(0, "**")
    try:
        return Glob(whole, re.compile(_regex(segments), re.DOTALL), excludes, folders)
    except (ValueError, re.error):
        return None


def _globs(lines: Iterable[str]) -> Iterable[Glob]:
    for line in lines:
        if line.startswith("#"):
            continue
        glob = parse_glob(_without_blanks(line.removesuffix("\r")))
        if glob is not None:
            yield glob


def _without_blanks(line: str) -> str:
    """Blanks at the end do not count, but for one that is escaped."""
    bare = line.rstrip(" \t")
    escaped = (len(bare) - len(bare.rstrip("\\"))) % 2 == 1
    return line[: len(bare) + 1] if escaped else bare


def _regex(segments: Sequence[str]) -> str:
    """The runs between ``**`` (to git more stars are the same), each at its first fit; the last one ends where the path
    ends."""
    runs: list[list[str]] = [[]]
    for segment in segments:
        if len(segment) < 2 or segment.strip("*"):
            runs[-1].append(_segment(segment))
        elif runs[-1] or len(runs) == 1:
            runs.append([])
    below = not runs[-1]  # it ends in **: everything beneath what comes before
    if below:
        runs.pop()
    first, *others = ["/".join(run) for run in runs]
    parts = [first]
    if others:
        parts.append("/" if first else "")
        # An inner run must end before a slash; only the last one may have to try again, to reach the end.
        parts += [f"(?>{_ANY_FOLDERS}{run}/)" for run in others[:-1]]
        parts.append(f"{_ANY_FOLDERS}{others[-1]}")
    if below:
        return "".join(parts) + (r"/.+\Z" if first or others else r".+\Z")
    return "".join(parts) + r"\Z"


def _segment(text: str) -> str:
    """One name: the pieces between its stars, each at its first fit, the last one at the end."""
    pieces = [""]
    at = 0
    while at < len(text):
        character = text[at]
        if character == "*":
            pieces.append("")
            at += 1
        elif character == "?":
            pieces[-1] += "[^/]"
            at += 1
        elif character == "[":
            found = _CLASS.match(text, at)
            if found is None:
                raise ValueError("[ is not closed")
            pieces[-1] += _class(found[1], found[2])
            at = found.end()
        else:
            if character == "\\":
                at += 1
                if at == len(text):
                    raise ValueError("\\ stands before nothing")
            pieces[-1] += re.escape(text[at])
            at += 1
    first, *others = pieces
    if not others:
        return first + _END
    inner = "".join(f"(?>[^/]*?{piece})" for piece in others[:-1] if piece)
    return f"{first}{inner}(?>[^/]*?{others[-1]}{_END})"


def _class(negated: str, inside: str) -> str:
    """A class of git in the spelling of ``re``; never a slash."""
    parts: list[str] = []
    characters = [(found[0][-1], found[0].startswith("\\")) for found in re.finditer(r"\\.|.", inside, re.DOTALL)]
    at = 0
    while at < len(characters):
        low = characters[at][0]
        if at + 2 < len(characters) and characters[at + 1] == ("-", False):
            parts.append(f"{re.escape(low)}-{re.escape(characters[at + 2][0])}")
            at += 3
        else:
            parts.append(re.escape(low))
            at += 1
    return f"(?!/)[{'^' if negated else ''}{''.join(parts)}]"
