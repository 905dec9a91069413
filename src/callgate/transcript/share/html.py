"""Exports a session as one self-contained HTML page: no scripts, no requests, all text escaped."""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape as escaped
from pathlib import Path

from callgate.transcript.share.call_stories import CallStory
from callgate.transcript.share.plain import pretty_json, visible
from callgate.transcript.share.session_page import Exported, Mark, SaidMessage, dates, moment, read_page
from callgate.words.calls import Status
from callgate.words.messages import CallPart, Image, Opaque, Part, Resource, ResultPart, Text, Thinking

STYLE = "\n" + Path(__file__).with_name("page.css").read_text("utf-8")
_ALLOWED = b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; img-src data:; style-src 'sha256-{_ALLOWED}'; base-uri 'none'; form-action 'none'"


def to_html(exported: Exported) -> str:
    title = _text(exported.title or exported.session)
    body = "\n".join(line for entry in read_page(exported) for line in _entry(entry))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1 dir="auto">{title}</h1>
{_facts(exported)}
</header>
<main>
{body}
</main>
</body>
</html>
"""


def image_type(data: bytes) -> str | None:
    """Return the media type of image data, or None if the format is not supported."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def _text(text: str) -> str:
    return escaped(visible(text), quote=True)


def _pre(text: str) -> str:
    # Parsers drop one line end right after the tag.
    return f'<pre dir="auto">\n{_text(text)}</pre>'


def _facts(exported: Exported) -> str:
    rows = [("Session", exported.session), ("Folder", exported.workspace)]
    if (found := dates(exported)) is not None:
        rows += [("From", moment(found[0])), ("To", moment(found[1]))]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{_text(value)}</dd>" for name, value in rows if value) + "</dl>"


def _entry(entry: SaidMessage | Mark) -> Iterator[str]:
    if isinstance(entry, Mark):
        yield f'<aside class="{entry.kind}"><strong>{entry.kind.capitalize()}</strong> '
        yield f'<span dir="auto">{_text(entry.text)}</span> <time>{moment(entry.at)}</time>'
        if entry.body:
            yield from _folded("Show the text", _pre(entry.body))
        yield "</aside>"
        return
    message = entry.message
    who = "User" if message.role == "user" else "Assistant"
    snipped = " snipped" if entry.snipped else ""
    anchor = f"m-{entry.number}"
    yield f'<article id="{anchor}" class="{message.role}{snipped}">'
    yield f'<h2><a href="#{anchor}">{entry.number}. {who}</a> <time>{moment(entry.at)}</time>'
    if message.model:
        yield f' <span class="quiet">{_text(message.model)}</span>'
    if entry.snipped:
        yield ' <span class="quiet">Snipped: the model no longer sees it</span>'
    yield "</h2>"
    for part in message.parts:
        yield from _call(entry.calls[part.id]) if isinstance(part, CallPart) else _part(part)
    yield "</article>"


def _folded(title: str, body: str) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>{body}</details>"


def _part(part: Part) -> Iterator[str]:
    match part:
        case Text():
            yield f'<div class="said" dir="auto">{_text(part.text)}</div>'
        case Thinking():
            if part.text:
                yield from _folded("Thinking", _pre(part.text))
        case Image():
            yield _image(part)
        case Resource():
            yield f'<p class="quiet">Resource {_text(part.uri)}</p>'
            if part.text is not None:
                yield _pre(part.text)
        case Opaque():
            if not part.beside:
                yield f'<p class="quiet">Data in a private format of {_text(part.provider)}</p>'
        case CallPart() | ResultPart():
            yield f'<p class="quiet">{_text(part.name)}</p>'


def _image(image: Image) -> str:
    kind = image_type(image.data)
    if kind is None:
        return f'<p class="quiet">Image not shown: {_text(image.media_type)}, {len(image.data)} bytes</p>'
    return f'<p><img alt="Image" src="data:{kind};base64,{b64encode(image.data).decode()}"></p>'


def _call(call: CallStory) -> Iterator[str]:
    colour, sign = {Status.SUCCESS: ("good", "✓"), Status.ERROR: ("bad", "✗"), Status.CANCELLED: ("bad", "⊘")}.get(
        call.status or Status.VALIDATING, ("open", "…")
    )
    opened = "" if call.status is Status.SUCCESS else " open"
    words = _text(call.code.replace("_", " "))
    yield f'<details class="call"{opened}><summary>Call <code>{_text(call.name)}</code> '
    yield f'<strong class="{colour}">{sign} {words}</strong></summary>'
    given = call.raw_arguments if call.raw_arguments is not None and not call.arguments else pretty_json(call.arguments)
    yield f"<div>Arguments</div>{_pre(given)}"
    if call.changed_to is not None:
        yield f"<div>The arguments were changed to</div>{_pre(pretty_json(call.changed_to))}"
    yield "<ul>" + "".join(f'<li dir="auto">Decided: {_text(words)}</li>' for words in call.decided)
    yield f"<li>Outcome: <code>{_text(call.code)}</code></li></ul>"
    for item in call.content:
        yield _pre(item.text) if isinstance(item, Text) else "".join(_part(item))
    yield "</details>"
