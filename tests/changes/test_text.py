"""Bytes are read as text and written again without loss, in the form the file has."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.changes import text as text_module
from callgate.changes.nearest import LINE_END
from callgate.changes.text import TextForm, read_guessed, read_lines, read_text, shown, write_text
from tests.rows import rows

MARKS = (b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
LINES = st.lists(st.tuples(st.text("aé😀\t\x0b\x85\u2028", max_size=4), st.sampled_from(["\n", "\r\n", "\r", ""])))


def text_of(data: bytes) -> tuple[str, TextForm]:
    read = read_text(data)
    assert read is not None
    return read


@given(st.sampled_from(MARKS), st.binary() | st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\xe9"])).map(b"".join))
def test_what_is_read_is_written_back_byte_for_byte(mark: bytes, rest: bytes) -> None:
    read = read_text(mark + rest)
    assert read is None or write_text(*read) == mark + rest


@given(LINES, st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"]))
def test_every_text_is_read_in_each_encoding(lines: list[tuple[str, str]], encoding: str) -> None:
    text = "".join(line + end for line, end in lines)
    marked = text if encoding.startswith("utf-8") else "\ufeff" + text
    read, form = text_of(marked.encode(encoding))
    assert form.encoding == encoding.removesuffix("-sig")
    assert form.bom == (encoding != "utf-8")
    if form.newline == "mixed":
        assert read == text
    else:
        assert "\r" not in read
        assert read.replace("\n", form.newline) == text


@rows(
    ("data", "text", "form"),
    [
        (b"", "", TextForm(newline="")),
        (b"a", "a", TextForm(newline="")),
        (b"a\nb\n", "a\nb\n", TextForm()),
        (b"a\r\nb", "a\nb", TextForm(newline="\r\n")),
        (b"a\rb\r", "a\nb\n", TextForm(newline="\r")),
        (b"a\r\nb\n", "a\r\nb\n", TextForm(newline="mixed")),
        (b"a\rb\n", "a\rb\n", TextForm(newline="mixed")),
        (b"\xef\xbb\xbfa\r\n", "a\n", TextForm(bom=True, newline="\r\n")),
        (b"\xff\xfea\0\r\0\n\0", "a\n", TextForm("utf-16-le", True, "\r\n")),
        (b"\xfe\xff\0a\0\n", "a\n", TextForm("utf-16-be", True)),
        (b"caf\xe9\n", "caf\udce9\n", TextForm()),
    ],
    ids=range(11),
)
def test_the_form_of_a_text(data: bytes, text: str, form: TextForm) -> None:
    assert read_text(data) == (text, form)


@rows(
    "data",
    [b"\0", b"a\nb\0c", b"\xff\xfea", b"\xff\xfe\0\xd8", b"\xff\xfe\0\0", b"\xfe\xff\xd8\0\0a"],
    ids=["nul", "nul-inside", "odd", "half-a-pair", "utf-32", "half-a-pair-inside"],
)
def test_what_is_no_text_is_said_to_be_binary(data: bytes) -> None:
    assert read_text(data) is None


@rows("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@rows("typed", ["\n", "\r\n"], ids=["typed-lf", "typed-crlf"])
@rows("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@rows("last", ["", "end"], ids=["final-newline", "no-final-newline"])
def test_an_edited_text_keeps_the_form_of_its_file(end: str, typed: str, encoding: str, last: str) -> None:
    text, form = text_of(f"one{end}two{end}{last}".encode(encoding))
    after = write_text(text.replace("two", f"2{typed}3"), form)
    assert after == f"one{end}2{end}3{end}{last}".encode(encoding)


def test_a_carriage_return_inside_a_line_is_left_alone() -> None:
    text, form = text_of(b"a\n")
    assert write_text(text.replace("a", "50%\r100%"), form) == b"50%\r100%\n"


def test_bytes_that_are_not_utf_8_survive_and_are_seen_as_escapes() -> None:
    text, form = text_of(b"caf\xe9 \xc3\xa9\n")
    assert shown(text) == "caf\\xe9 é\n"
    assert write_text(text.replace("caf", "coff"), form) == b"coff\xe9 \xc3\xa9\n"


@given(st.text(st.characters(exclude_categories=())))
def test_shown_text_can_be_printed_and_written_as_json(text: str) -> None:
    assert json.loads(json.dumps(shown(text), ensure_ascii=False).encode()) == shown(text)


def test_half_a_character_is_shown_by_its_number_and_not_written() -> None:
    assert shown("a\ud83d") == "a\\ud83d"
    assert shown("plain é") == "plain é"
    with pytest.raises(UnicodeEncodeError):
        write_text("\ud83d", TextForm())
    with pytest.raises(UnicodeEncodeError):
        write_text("\udce9", TextForm("utf-16-le", True))


def test_a_form_names_its_encoding() -> None:
    assert [str(TextForm()), str(TextForm(bom=True)), str(TextForm("utf-16-le", True))] == [
        "utf-8",
        "utf-8 with a byte order mark",
        "utf-16-le",
    ]


PIECES = st.lists(
    st.tuples(st.sampled_from(["", "a", "é", "😀", "\u2028"]), st.sampled_from(["\n", "\n", "\r\n", "\r", ""])),
    max_size=12,
)
PLAIN = st.builds(
    lambda lines, end: "".join(line + end for line in lines),
    st.lists(st.text("aé😀", max_size=3), max_size=12),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
STRAY = st.lists(st.sampled_from([b"a", b"\xe9", b"\xc3\xa9", b"\n", b"\r\n", b"\0"]), max_size=12).map(b"".join)


@given(
    st.sampled_from(MARKS),
    STRAY
    | st.builds(
        lambda text, encoding: text.encode(encoding),
        PLAIN | PIECES.map(lambda found: "".join(map("".join, found))),
        st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]),
    ),
    st.integers(1, 14),
    st.integers(1, 5),
    st.sampled_from([1, 3, 1 << 20]),
)
def test_lines_of_a_large_file_are_those_of_the_whole_text(
    mark: bytes, rest: bytes, first: int, count: int, block: int
) -> None:
    data = mark + rest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "_BLOCK", block)
        made = read_lines(data)
        whole = read_guessed(data)
        if whole is None or made is None:
            assert whole is None
            assert made is None
            return
        text, form = whole
        expected = LINE_END.split(text) if form.newline == "mixed" else text.split("\n")
        expected = expected[:-1] if not expected[-1] else expected
        assert (made.form, made.total) == (form, len(expected))
        assert made.some(first, count) == expected[first - 1 : first - 1 + count]
        assert made.has_stray_bytes == any("\udc80" <= char <= "\udcff" for char in text)
