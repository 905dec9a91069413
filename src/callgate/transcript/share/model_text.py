"""Markdown that a model wrote, made safe to stand among other text."""

import re

from callgate.transcript.share.plain import visible

_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]*>)")
_TICKS = re.compile(r"(`+)")
_SPAN = re.compile(r"(`[^`|]+`)(?!`)")
_CERTAIN_SPANS = re.compile(r"(?:[^`\\]|\\(?!`)|`[^`|]+`(?!`))*")


def fenced(text: str, language: str = "text") -> str:
    """Any text as a code block that it cannot close."""
    shown = visible(text)
    fence = "`" * max(3, longest_ticks(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def longest_ticks(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def model_text(text: str) -> str:
    """Markdown as it was written, but for two things: tags are shown instead of obeyed, and a code block that was left
    open is closed. Where it is not certain what ends where, all of it is quoted."""
    lines = visible(text).split("\n")
    out: list[str] = []
    paragraph: list[str] = []
    fence = ""
    for at, line in enumerate(lines):
        opened = None if fence else _FENCE.match(line)
        if not fence and opened is None and line.strip():
            paragraph.append(line)
            continue
        out += [*_paragraph(paragraph), line]
        paragraph = []
        if opened is not None:
            fence = opened[2]
            # To some readers a line with a bar is the head of a table before it is anything else.
            if "|" in line or (opened[1] and not _certain(lines[at + 1 :], opened[1], fence)):
                return fenced(text, "markdown")
        elif fence and _closing(line, fence) is not None:
            fence = ""
    return "\n".join([*out, *_paragraph(paragraph), *([fence] if fence else [])])


def _closing(line: str, fence: str) -> str | None:
    """The indentation of the line, if it can close the block."""
    marks = line.strip(" \t")
    if len(marks) < len(fence) or set(marks) != set(fence):
        return None
    indent = line[: line.index(marks[0])]
    return indent if len(indent) <= 3 and "\t" not in indent else None


def _certain(lines: list[str], indent: str, fence: str) -> bool:
    """True if an indented block ends the same way inside a list and outside of one: a line with less indentation would
    end the list, and the block with it."""
    for line in lines:
        if set(line.strip(" \t")) == set(fence) and len(line.strip(" \t")) >= len(fence):
            return _closing(line, fence) == indent
        if line.strip() and not line.startswith(indent):
            return False
    return False


def _paragraph(lines: list[str]) -> list[str]:
    """Tags outside code spans as text. Spans count only where each of them ends in its own line and its own cell:
    otherwise it takes a whole parser to say what is inside."""
    if not all(map(_CERTAIN_SPANS.fullmatch, lines)):
        return [_TAG.sub("&lt;", line) for line in lines]
    return [
        "".join(piece if piece[:1] == "`" else _TAG.sub("&lt;", piece) for piece in _SPAN.split(line)) for line in lines
    ]
