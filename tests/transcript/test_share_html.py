"""A session leaves as one page that runs nothing and asks nobody."""

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.transcript.share.claude_import import read_claude
from callgate.transcript.share.html import to_html
from callgate.transcript.share.session_page import Exported
from callgate.words.calls import Result
from callgate.words.decisions import Allow
from callgate.words.events import CallDecided, CallSettled, Durable, MessageAdded, Noted
from callgate.words.messages import CallPart, Image, Message, Resource, Text, Thinking
from callgate.words.turns import Compacted, Snipped

pytestmark = pytest.mark.spec("TRS-12")

DATA = Path(__file__).parents[1] / "data" / "claude"
AT = 1_772_355_600.0
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 8
VOID = {"meta", "img"}


class Page(HTMLParser):
    """What a browser would see, and a check that every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def within(self, tag: str) -> str:
        return "".join(text for inside, text in self.texts if inside == tag)


def page(*events: Durable, title: str = "A title") -> str:
    return to_html(Exported("s1", title, "/home/ada", events))


def said(role: str, *parts: object, name: str = "m1") -> MessageAdded:
    return MessageAdded(AT, Message(name, role, tuple(parts)))  # type: ignore[arg-type]


def everywhere(text: str) -> str:
    return page(
        said("user", Text(text), Resource(text, text), Image(text, b"?")),
        said("assistant", Thinking(text), Text(text), CallPart("c1", text, {text: text}), name="m2"),
        CallDecided(AT, "c1", Allow(text, text, {text: text}), "h"),
        CallSettled(AT, "c1", Result((Text(text),))),
        Noted(AT, text),
        Compacted(AT, text),
        title=text,
    )


def test_the_page_carries_everything_and_allows_nothing_else() -> None:
    imported = read_claude((DATA / "parallel.jsonl").read_bytes().split(b"\n"))
    shown = Page(to_html(Exported("s1", imported.title, imported.workspace, imported.events)))
    policy = next(attrs["content"] for tag, attrs in shown.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    fingerprint = b64encode(sha256(shown.within("style").encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{fingerprint}'; base-uri 'none'; form-action 'none'"
    )
    assert not {"script", "link", "iframe", "object", "form", "base", "svg"} & {tag for tag, _ in shown.tags}
    for _, attrs in shown.tags:
        assert not any(name.startswith("on") or name == "style" for name in attrs)
        for name in ("src", "href"):
            assert (attrs.get(name) or "#").startswith(("#", "data:image/png;base64,"))
    assert "Count the beds" in shown.within("h1")
    assert "1→four beds\n2→a pond" in shown.within("pre")
    assert "There are **four** beds." in shown.within("div")


def test_messages_have_anchors_and_calls_say_their_state_in_words() -> None:
    imported = read_claude((DATA / "parallel.jsonl").read_bytes().split(b"\n"))
    shown = Page(to_html(Exported("s1", "", "", imported.events)))
    assert [attrs["id"] for tag, attrs in shown.tags if tag == "article"] == ["m-1", "m-2", "m-3"]
    states = [text for inside, text in shown.texts if inside == "strong"]
    assert states == ["✓ ok", "✓ ok", "✗ tool error"]
    colours = [attrs["class"] for tag, attrs in shown.tags if tag == "strong"]
    assert colours == ["good", "good", "bad"]
    folded = ["open" in attrs for tag, attrs in shown.tags if attrs.get("class") == "call"]
    assert folded == [False, False, True], "what went wrong is not hidden"


def test_phones_print_and_dark_screens_are_thought_of() -> None:
    text = page()
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    for rule in ("prefers-color-scheme: dark", "@media print", "overflow-wrap: anywhere", "color-scheme: light dark"):
        assert rule in text


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(PNG, "image/png", id="png"),
        pytest.param(b"\xff\xd8\xff\xe0", "image/jpeg", id="jpeg"),
        pytest.param(b"GIF89a", "image/gif", id="gif"),
        pytest.param(b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp", id="webp"),
    ],
)
def test_pictures_are_inside_under_the_type_they_really_have(data: bytes, kind: str) -> None:
    shown = Page(page(said("user", Image("image/svg+xml", data))))
    assert [attrs["src"] for tag, attrs in shown.tags if tag == "img"] == [
        f"data:{kind};base64,{b64encode(data).decode()}"
    ]


@pytest.mark.parametrize("kind", ["image/svg+xml", "image/png", "text/html"])
def test_what_is_no_picture_is_named_and_not_shown(kind: str) -> None:
    text = page(said("user", Image(kind, b"<svg onload=alert(1)>")))
    assert "<img" not in text
    assert f"Image not shown: {kind}, 21 bytes" in text


def test_snips_boundaries_and_notes_are_marked() -> None:
    shown = Page(
        page(said("user", Text("old")), Snipped(AT, ("m1",)), Compacted(AT, "sum"), Noted(AT, "look", "error"))
    )
    assert [attrs["class"] for tag, attrs in shown.tags if tag == "aside"] == ["snipped", "compacted", "note"]
    assert [attrs["class"] for tag, attrs in shown.tags if tag == "article"] == ["user snipped"]
    assert "error: look" in shown.within("span")
    assert shown.within("pre").strip() == "sum"


@given(
    st.text()
    | st.sampled_from(
        ["</pre></details><script>alert(1)</script>", "\" onload='x", "<!--", "]]>", "\ud800\x1b[31m\u202e"]
    )
)
def test_no_text_becomes_a_tag(text: str) -> None:
    plain, other = Page(everywhere("x")), everywhere(text)
    other.encode()
    if text.strip():
        assert [tag for tag, _ in Page(other).tags] == [tag for tag, _ in plain.tags]
    assert not any(mark in other for mark in "\x1b\x00\u202e\u2066\r")


def test_a_text_that_starts_with_a_line_end_keeps_it() -> None:
    assert '<pre dir="auto">\n\nx</pre>' in page(said("assistant", Thinking("\nx")))
