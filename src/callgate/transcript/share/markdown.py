"""Exports a session as Markdown. Text of users and tools is written in fenced code blocks; text of the model is
Markdown already."""

import re
from collections.abc import Iterator

from callgate.transcript.share.call_stories import CallStory
from callgate.transcript.share.plain import pretty_json, visible
from callgate.transcript.share.session_page import Exported, Mark, SaidMessage, dates, moment, read_page
from callgate.words.messages import CallPart, Image, Opaque, Part, Resource, ResultPart, Text, Thinking

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def to_markdown(exported: Exported) -> str:
    """Return the session as Markdown. No text can close the code block that contains it."""
    blocks = [f"# {inline(exported.title or exported.session)}", _facts(exported)]
    for entry in read_page(exported):
        blocks += _mark(entry) if isinstance(entry, Mark) else _said(entry)
    return "\n\n".join(blocks) + "\n"


def inline(text: str) -> str:
    """Return the text on one line, with all Markdown escaped."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(visible(text).split()))


def code(text: str) -> str:
    """Return the text as a code span on one line."""
    shown = " ".join(visible(text).split())
    ticks = "`" * (longest_ticks(shown) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}" if shown else "*(empty)*"


def _facts(exported: Exported) -> str:
    lines = [f"- Session: {code(exported.session)}"]
    if exported.workspace:
        lines.append(f"- Folder: {code(exported.workspace)}")
    if (found := dates(exported)) is not None:
        lines.append(f"- From {moment(found[0])} to {moment(found[1])}")
    return "\n".join(lines)


def _mark(mark: Mark) -> Iterator[str]:
    if mark.kind == "compacted":
        yield "---"
    yield f"> **{mark.kind.capitalize()}** · {moment(mark.at)} · {inline(mark.text)}"
    if mark.body:
        yield from _folded("Summary" if mark.kind == "compacted" else "Text", mark.body)


def _folded(title: str, text: str) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>"
    yield fenced(text)
    yield "</details>"


def _said(said: SaidMessage) -> Iterator[str]:
    who = "User" if said.message.role == "user" else "Assistant"
    model = f" · {inline(said.message.model)}" if said.message.model else ""
    snipped = " · *snipped: the model no longer sees it*" if said.snipped else ""
    yield f"## {said.number}. {who}{model} · {moment(said.at)}{snipped}"
    for part in said.message.parts:
        if isinstance(part, CallPart):
            yield from _call(said.calls[part.id])
        elif isinstance(part, Text) and said.message.role == "assistant":
            yield model_text(part.text)
        else:
            yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    match part:
        case Text():
            yield fenced(part.text)
        case Thinking():
            if part.text:
                yield from _folded("Thinking", part.text)
        case Image():
            yield f"*Image, {inline(part.media_type)}, {len(part.data)} bytes*"
        case Resource():
            yield f"*Resource* {code(part.uri)}"
            if part.text is not None:
                yield fenced(part.text)
        case Opaque():
            if not part.beside:
                yield f"*Data in a private format of {inline(part.provider)}*"
        case CallPart() | ResultPart():
            yield code(part.name)


def _call(call: CallStory) -> Iterator[str]:
    yield f"### Call {code(call.name)} · {call.code.replace('_', ' ')}"
    if call.raw_arguments is not None and not call.arguments:
        yield fenced(call.raw_arguments)
    else:
        yield fenced(pretty_json(call.arguments), "json")
    if call.changed_to is not None:
        yield "The arguments were changed to:"
        yield fenced(pretty_json(call.changed_to), "json")
    yield "\n".join((*(f"- Decided: {inline(words)}" for words in call.decided), f"- Outcome: {code(call.code)}"))
    for item in call.content:
        yield from _part(item)


_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]*>)")
_TICKS = re.compile(r"(`+)")
_SPAN = re.compile(r"(`[^`|]+`)(?!`)")
_CERTAIN_SPANS = re.compile(r"(?:[^`\\]|\\(?!`)|`[^`|]+`(?!`))*")


def fenced(text: str, language: str = "text") -> str:
    """Return the text in a fenced code block that the text cannot close."""
    shown = visible(text)
    fence = "`" * max(3, longest_ticks(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def longest_ticks(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def model_text(text: str) -> str:
    """Return the model's Markdown with HTML tags escaped and an open code block closed. If the structure is
    ambiguous, return the whole text in a fenced code block."""
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
            # Some parsers treat a line with a bar as the head of a table first.
            if "|" in line or (opened[1] and not _certain(lines[at + 1 :], opened[1], fence)):
                return fenced(text, "markdown")
        elif fence and _closing(line, fence) is not None:
            fence = ""
    return "\n".join([*out, *_paragraph(paragraph), *([fence] if fence else [])])


def _closing(line: str, fence: str) -> str | None:
    marks = line.strip(" \t")
    if len(marks) < len(fence) or set(marks) != set(fence):
        return None
    indent = line[: line.index(marks[0])]
    return indent if len(indent) <= 3 and "\t" not in indent else None


def _certain(lines: list[str], indent: str, fence: str) -> bool:
    """Return True if the code block ends at the same line inside and outside a list item. A less indented line can
    make the end ambiguous."""
    for line in lines:
        if set(line.strip(" \t")) == set(fence) and len(line.strip(" \t")) >= len(fence):
            return _closing(line, fence) == indent
        if line.strip() and not line.startswith(indent):
            return False
    return False


def _paragraph(lines: list[str]) -> list[str]:
    """Return the lines with HTML tags outside code spans escaped. Only code spans within one line and table cell are
    recognized, because other code spans would need a full parser."""
    if not all(map(_CERTAIN_SPANS.fullmatch, lines)):
        return [_TAG.sub("&lt;", line) for line in lines]
    return [
        "".join(piece if piece[:1] == "`" else _TAG.sub("&lt;", piece) for piece in _SPAN.split(line)) for line in lines
    ]
