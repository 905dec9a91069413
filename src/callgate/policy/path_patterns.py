"""Path patterns of rules: the globs of ``.gitignore``, bound to the project root when the rule is loaded.

  //abs/x   from the root of the file system       x       anywhere below the project
  ~/x       from the home folder                   x/y     from the project root, like /x and ./x
  x/        the folder and everything below it     **      any number of folders

A pattern that matches a folder also matches everything below it. The time to match is linear in the length of the path.
No backtracking is needed: if a later match of a piece leads to a result, the first match does too.
"""

import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from callgate.host.paths import same_name
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun
from callgate.words.resolved_path import ResolvedPath

MOST_CHARACTERS = 1_000
MOST_PARTS = 100

# Characters that are invisible in a rule, or that a file system ignores in a name.
_IGNORED = late_pattern(
    r"[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SPECIAL = late_pattern(r"[\[\]*?]")
_SURROGATE = late_pattern(r"[\ud800-\udfff]")

_BOUNDARY = r"(?=/|\Z)"
_ANY_FOLDERS = r"(?:/[^/]++)*?"


@noun
class PathPattern:
    """A compiled path pattern.

    text   the text of the rule
    below  the pattern ends in ``/``: it names a folder, so a file of that name does not match
    inner  the pattern ends in ``**``: it matches the content of the folder, not the folder
    """

    text: str
    below: bool
    inner: bool
    exact: re.Pattern[str]
    folded: re.Pattern[str]
    loose: tuple[re.Pattern[str], ...]

    def covers(self, place: ResolvedPath, *, changed: bool = False) -> bool:
        """Return True if an allow rule with the pattern covers the path: the path has no fault, and every hop of its
        links matches.

        changed  the call changes the path itself, so ``folder/**`` does not cover the folder
        """
        pattern, spelled = (self.folded, same_name) if place.folds else (self.exact, str)
        inner = self.inner and changed
        return place.fault is None and all(self._hits(pattern, spelled(hop), place, inner) for hop in place.hops)

    def may_match(self, place: ResolvedPath) -> bool:
        """Return True if a deny or ask rule with the pattern applies to the path: a hop of its links matches, as
        written or as interpreted by another file system."""
        return any(
            self.exact.match(hop) is not None or any(pattern.match(lax) is not None for pattern in self.loose)
            for hop in place.hops
            for lax in (loose_name(hop),)
        )

    def _hits(self, pattern: re.Pattern[str], hop: str, place: ResolvedPath, inner: bool) -> bool:
        found = pattern.match(hop)
        if found is None or found.end() < len(hop):
            return found is not None
        return not inner and (not self.below or place.kind == "folder")


def parse_path_pattern(content: str, *, root: str, home: str) -> PathPattern:
    """Compile a path pattern. ``root`` and ``home`` are absolute. Raise ValueError with the position and a
    correction if the pattern is invalid."""
    _refuse(content)
    base, rest, start = _bound(content, root, home)
    below = rest.endswith("/") or rest in ("", ".")
    parts = [(at, part) for at, part in _split(rest, start) if part not in ("", ".")]
    if len(parts) > MOST_PARTS:
        raise ValueError(f"more than {MOST_PARTS} folders deep: shorten it")
    anywhere = base is None and len(parts) == 1 and "/" not in rest.rstrip("/")
    pieces = [_pieces(at, part) for at, part in parts]
    if below and pieces[-1:] == [[_ANY_DEPTH]]:
        pieces.append([_ANY])  # as in git: **/ matches the folders, ** their content
    inner = pieces[-1:] == [[_ANY_DEPTH]]
    while pieces[-1:] == [[_ANY_DEPTH]]:
        pieces.pop()
        below = True
    if anywhere:
        pieces.insert(0, [_ANY_DEPTH])
    before = _names(root if base is None else base)
    compiled = partial(_compiled, pieces)
    return PathPattern(
        text=content,
        below=below,
        inner=inner,
        exact=compiled(before, str),
        folded=compiled(before, same_name),
        loose=tuple(compiled(names, loose_name, skip=skip) for names, skip in _spellings(before, pieces)),
    )


def named_below(path: str) -> str:
    return f"./{literal(path)}"


def literal(path: str) -> str:
    """Return the path with special characters escaped, so that the pattern matches only this path."""
    return _SPECIAL.sub(r"\\\g<0>", path)


def loose_name(path: str) -> str:
    """Return a path as the most tolerant file system interprets it. Case, accents, width, differences between
    look-alike characters, invisible characters, dots and blanks at the end of a name, and text after a colon are
    ignored."""
    return "/".join(map(_careless, _letters(path).split("/")))


def _letters(text: str) -> str:
    if text.isascii():
        return text.lower()
    seen = _IGNORED.sub("", unicodedata.normalize("NFKC", text))
    return unicodedata.normalize("NFKC", seen.casefold())


def _careless(name: str) -> str:
    stem, _, stream = name.partition(":")
    return ((stem if stream else name) or name).rstrip(". \t") or name


def _refuse(content: str) -> None:
    if not content:
        raise ValueError("the path is empty: write ** for every file of the project")
    if len(content) > MOST_CHARACTERS:
        raise ValueError(f"the path has more than {MOST_CHARACTERS} characters: shorten it")
    if content.startswith("!"):
        raise ValueError("! at character 1 has no meaning here: write a deny rule, or \\! for the name")
    unseen = _IGNORED.search(content) or _SURROGATE.search(content)
    if unseen is not None:
        raise ValueError(f"remove the invisible character (U+{ord(unseen[0]):04X}) at character {unseen.start() + 1}")
    if content != content.strip():
        at = 1 if content[0].isspace() else len(content)
        raise ValueError(f"a blank at character {at}, at the edge of the path: remove it, or write [ ]")


def _bound(content: str, root: str, home: str) -> tuple[str | None, str, int]:
    """Return the folder in which the pattern starts, the rest of the pattern, and the length of the prefix. The
    folder is None if the pattern matches anywhere in the project."""
    if content.startswith("//"):
        return "/", content[2:], 2
    if content == "~" or content.startswith("~/"):
        return home, content[2:], 2
    if content.startswith("~"):
        raise ValueError("the home folder of another user at character 1 is not supported: write //home/name/…")
    if content.startswith("/"):
        whole = root.rstrip("/") + "/"
        if content.rstrip("/") + "/" == whole or content.startswith(whole):
            return root, content[len(whole) :], len(whole)
        return root, content[1:], 1
    if content == "." or content.startswith("./"):
        return root, content[2:], 2
    return None, content, 0


def _split(rest: str, start: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for part in rest.split("/"):
        if part == "..":
            raise ValueError(f".. at character {start + 1} of the path: write the resolved path instead")
        found.append((start, part))
        start += len(part) + 1
    return found


_Piece = tuple[Literal["text", "expression", "any", "depth"], str]
"""A literal text, a regular expression for one character, a star in a name, or any number of folders."""
_Fold = Callable[[str], str]
_ANY_DEPTH: _Piece = ("depth", "")
_ANY: _Piece = ("any", "")
_ONE: _Piece = ("expression", "[^/]")


def _pieces(start: int, part: str) -> list[_Piece]:
    if part == "**":
        return [_ANY_DEPTH]
    found: list[_Piece] = []
    at = 0
    while at < len(part):
        character = part[at]
        at += 1
        if character == "*":
            if found[-1:] != [_ANY]:
                found.append(_ANY)
        elif character == "?":
            found.append(_ONE)
        elif character == "[":
            piece, at = _class(part, at, start)
            found.append(piece)
        elif character == "]":
            raise ValueError(f"] at character {start + at} has no opening bracket: write \\] for a literal bracket")
        else:
            if character == "\\":
                if at == len(part):
                    raise ValueError(f"\\ at character {start + at} is the last: write \\\\ for a literal backslash")
                character = part[at]
                at += 1
            if found and found[-1][0] == "text":
                character = found.pop()[1] + character
            found.append(("text", character))
    return found


def _class(part: str, at: int, start: int) -> tuple[_Piece, int]:
    """Parse a bracket expression whose content begins at ``at``. Return its piece and the position after the closing
    bracket."""
    opened = f"[ at character {start + at}"
    negated = part[at : at + 1] in ("!", "^")
    at = first = at + negated
    ranges = ""
    while at < len(part) and (at == first or part[at] != "]"):
        if part.startswith("[:", at):
            raise ValueError(f"{opened} contains a named class: write the characters instead, such as [a-z]")
        low, at = _single(part, at)
        high = low
        if part[at : at + 1] == "-" and part[at + 1 : at + 2] not in ("", "]"):
            high, at = _single(part, at + 1)
        if high < low:
            raise ValueError(f"{opened} contains {low}-{high}, which is not a range: write {high}-{low}")
        ranges += f"{re.escape(low)}-{re.escape(high)}"
    if at >= len(part):
        raise ValueError(f"{opened} is not closed before the next /: write \\[ for a literal bracket")
    return ("expression", f"[^/{ranges}]" if negated else f"(?!/)[{ranges}]"), at + 1


def _single(part: str, at: int) -> tuple[str, int]:
    if part[at] == "\\" and at + 1 < len(part):
        at += 1
    return part[at], at + 1


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def _spellings(before: list[str], pieces: Sequence[Sequence[_Piece]]) -> list[tuple[list[str], int]]:
    """Return the literal beginning of the pattern as written and with links resolved, each with the number of pieces
    that it replaces. A rule on /etc/x also matches the target of a link /etc."""
    literal: list[str] = []
    for part in pieces:
        if len(part) != 1 or part[0][0] != "text":
            break
        literal.append(part[0][1])
    whole = [*before, *literal]
    real = _names(os.path.realpath("/" + "/".join(whole)).replace(os.sep, "/"))
    return [(before, 0)] if real == whole else [(before, 0), (real, len(literal))]


def _compiled(pieces: list[list[_Piece]], before: list[str], fold: _Fold, *, skip: int = 0) -> re.Pattern[str]:
    """Return the regular expression of a pattern. Atomic groups prevent backtracking between ``**`` pieces."""
    fixed = "".join("/" + re.escape(fold(name)) for name in before)
    runs = [""]
    for part in pieces[skip:]:
        if part == [_ANY_DEPTH]:
            runs.append("")
        else:
            runs[-1] += "/" + _name_expression(part, fold)
    found = fixed + runs[0] + "".join(f"(?>{_ANY_FOLDERS}{run})" for run in runs[1:] if run)
    return re.compile(found + _BOUNDARY, re.NOFLAG if fold is str else re.IGNORECASE)


def _name_expression(part: Sequence[_Piece], fold: _Fold) -> str:
    """Return the regular expression of one name. Atomic groups prevent backtracking between stars."""
    runs = [""]
    for number, (kind, text) in enumerate(part, start=1):
        if kind == "any":
            runs.append("")
        elif kind == "expression":
            runs[-1] += text
        else:  # only at the end of a name dots and blanks are ignored
            spelled = _letters if fold is loose_name and number < len(part) else fold
            runs[-1] += re.escape(spelled(text))
    middle = "".join(f"(?>[^/]*?{run})" for run in runs[1:-1])
    last = f"[^/]*{runs[-1]}" if len(runs) > 1 else ""
    return runs[0] + middle + last + _BOUNDARY
