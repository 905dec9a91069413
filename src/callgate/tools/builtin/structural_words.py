"""What AstGrep and AstEdit say in the same words: counts, pieces of code, and what was left out."""

from collections.abc import Iterable, Iterator, Mapping

from callgate.changes.diff import quoted
from callgate.tools.structural.terms import STANDARD, Cut, SkipKind, Skips

FEW = 5
"""How many ignored files are named: there may be many, and hardly anybody wants them."""

_SAID: Mapping[SkipKind, str] = {
    "syntax": "syntax errors",
    "size": "too large",
    "encoding": "not text",
    "unreadable": "cannot be read",
    "crashed": "the engine failed on it",
    "pattern": "the pattern does not parse in its language",
    "language": "of no known language, unless you say which it is in",
    "link": "a symbolic link, name what it leads to",
    "ignored": "ignored",
}


def many(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def first_lines(text: str, most: int) -> Iterator[str]:
    """The first lines of a match, and how many more there are. Of a text that was cut nobody knows exactly."""
    lines = text.split("\n")
    yield from lines[:most]
    more = len(lines) - most
    if more > 0:
        at_least = "at least " if len(text) > STANDARD.characters else ""
        yield f"… {at_least}{many(more, 'more line', 'more lines')}"


def not_looked_at(cut: Cut) -> str:
    """Of a limit of files; who says it adds what helps."""
    return f"{many(cut.more, 'file was', 'files were')} not looked at, from {quoted(cut.at)} on"


def left_out(skips: Skips, unsaid: Iterable[SkipKind] = ()) -> Iterator[str]:
    """A line for each kind, with the first files by name; those with syntax errors with the place of the error."""
    for kind, words in _SAID.items():
        count = skips.counts.get(kind, 0)
        if not count or kind in unsaid:
            continue
        named = [each for each in skips.named if each.kind == kind][: FEW if kind == "ignored" else None]
        said = [quoted(each.path) + (f" ({each.reason})" if kind == "syntax" else "") for each in named]
        more = f" and {count - len(named)} more" if count > len(named) else ""
        yield f"Left out, {words}: {', '.join(said)}{more}"
