"""Reads the links and headings out of a Markdown file."""

import re
from pathlib import Path

_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1`*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?:.|\n)*?\1")
_LINK = re.compile(r"\]\((?P<plain>[^()\s]+)(?:\s+\"[^\"]*\")?\)|(?:src|href)=\"(?P<html>[^\"]+)\"")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def links(text: str) -> list[str]:
    """The targets of links and pictures that lie in the repository; code is left out."""
    prose = _CODE.sub("", _FENCE.sub("", text))
    found = [match["plain"] or match["html"] for match in _LINK.finditer(prose)]
    return [target for target in found if not _ELSEWHERE.match(target)]


def anchors(text: str) -> set[str]:
    """The names of its headings, as GitHub and MyST make them; a repeated one gets a number."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        name = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        numbered = (name, *(f"{name}-{number}" for number in range(1, 1000)))
        found.add(next(each for each in numbered if each not in found))
    return found


def faults(file: Path, root: Path) -> list[str]:
    """Every link of the file that has no target."""
    found: list[str] = []
    for target in links(file.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        place = (file.parent / path).resolve() if path else file
        if not place.exists() or not place.is_relative_to(root):
            found.append(f"{file.relative_to(root)}: {target}: the file does not exist")
        elif anchor and place.suffix == ".md" and anchor not in anchors(place.read_text(encoding="utf-8")):
            found.append(f"{file.relative_to(root)}: {target}: there is no such heading")
    return found
