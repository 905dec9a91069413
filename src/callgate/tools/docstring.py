"""Splits a docstring into a description for the model and a description of each parameter.

The Google, NumPy and Sphinx styles are supported, even mixed. A docstring without sections is used as the description.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from inspect import cleandoc

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

_PARAMETERS = {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"}
_OTHERS = {"returns", "return", "yields", "yield", "raises", "raise", "warns", "attributes", "see also", "references"}
_HEADER = late_pattern(r"(?P<title>[A-Za-z][A-Za-z ]*?)\s*(?P<colon>:?)\s*$")
_UNDERLINE = late_pattern(r"\s*-{3,}\s*$")
_GOOGLE = late_pattern(r"(?P<names>\*{0,2}\w+)\s*(?:\(.*?\)\s*)?:(?:\s+(?P<text>.*)|\s*)$")
_NUMPY = late_pattern(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX = late_pattern(r":(?P<field>\w+)(?:\s+(?P<about>[^:]*))?:\s*(?P<text>.*)$")
_SPHINX_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword"}
_SPHINX_OTHERS = {"type", "return", "returns", "rtype", "yield", "yields", "raise", "raises", "except", "exception"}


@noun
class Docstring:
    """The parsed docstring. ``description`` is the text before the first section; ``parameters`` maps parameter names
    to descriptions."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def read_docstring(text: str | None) -> Docstring:
    """Parse a docstring of any style. Unknown sections are omitted. Never raises."""
    lines = cleandoc(text or "").splitlines()
    start = next((at for at in range(len(lines)) if _opens_section(lines, at)), len(lines))
    found: dict[str, str] = {}
    for names, words in _entries(lines, start):
        for name in names.split(","):
            found.setdefault(name.strip().lstrip("*"), " ".join(words.split()))
    return Docstring("\n".join(lines[:start]).strip(), {name: words for name, words in found.items() if words})


def _opens_section(lines: list[str], at: int) -> bool:
    return _section(lines, at) is not None or _sphinx(lines[at]) is not None


def _section(lines: list[str], at: int) -> tuple[str, bool] | None:
    """Return the title of the section that begins at this line, and True if it is underlined as in the NumPy style;
    None if no section begins here."""
    header = _HEADER.match(lines[at])
    if header is None:
        return None
    title = header["title"].lower()
    underlined = at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1]) is not None
    # A bare word is a heading only if it is marked as one, because text may contain a line like "Returns".
    if underlined or (header["colon"] and title in _PARAMETERS | _OTHERS):
        return title, underlined
    return None


def _sphinx(line: str) -> re.Match[str] | None:
    match = _SPHINX.match(line)
    return match if match and match["field"] in _SPHINX_PARAMETERS | _SPHINX_OTHERS else None


def _entries(lines: list[str], at: int) -> Iterator[tuple[str, str]]:
    """Yield the names (joined by commas) and the description of each entry in the parameter sections."""
    while at < len(lines):
        end = next((later for later in range(at + 1, len(lines)) if _opens_section(lines, later)), len(lines))
        section, sphinx = _section(lines, at), _sphinx(lines[at])
        if sphinx and sphinx["field"] in _SPHINX_PARAMETERS and sphinx["about"]:
            # ":param int limit: …": the name is the last word.
            yield sphinx["about"].split()[-1], " ".join((sphinx["text"], *_indented(lines[at + 1 : end])))
        elif section and section[0] in _PARAMETERS:
            form, body = (_NUMPY, lines[at + 2 : end]) if section[1] else (_GOOGLE, lines[at + 1 : end])
            yield from _listed(form, body)
        at = end


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line and not line[0].isspace():
            return
        yield line


def _listed(form: re.Pattern[str], lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the entries at the indentation of the first entry. A line with deeper indentation continues an entry."""
    names, words, indent = "", list[str](), -1
    for line in lines:
        bare = line.strip()
        depth = len(line) - len(line.lstrip())
        if not bare:
            continue
        if indent < 0:
            indent = depth
        if depth > indent:
            words.append(bare)
            continue
        if names:
            yield names, " ".join(words)
        entry = form.match(bare) if depth == indent else None
        if entry is None:
            # Less indent, or not an entry at all: the list is over.
            return
        names, words = entry["names"], [entry.groupdict().get("text") or ""]
    if names:
        yield names, " ".join(words)
