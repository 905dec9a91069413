"""What may be shown of a status line."""

import re
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as some

from callgate.tui.statusline.status_line import LONGEST, MARKS, MOST_COLOURS, status_lines, without_colours
from tests.rows import rows

RED, END = "\x1b[31m", "\x1b[0m"


@pytest.mark.spec("STL-3")
@rows(
    ("printed", "lines"),
    [
        ("", ()),
        ("main\n", ("main",)),
        ("  main \t\r\n\n  \n two ", ("main", "two")),
        ("1\n2\n3\n4", ("1", "2", "3")),
        (f"{RED}main{END}", (f"{RED}main{END}",)),
        (f"{RED}main", (f"{RED}main{END}",)),
        (f"{RED}  {END}", ()),
        (f"  {RED} a {END} b  {RED}\n", (f"{RED}a {END} b{END}",)),
        ("\x1b[38;2;1;2;3;48:5:7mx\x1b[m", ("\x1b[38;2;1;2;3;48:5:7mx\x1b[0m",)),
        ("a\x1b[2Jb\x1b[1;1Hc\x1b[?25ld\x1b[6n", ("abcd",)),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", ("alink",)),
        ("\x1b]52;c;c2VjcmV0", ()),
        ("\x1bPq#0\x1b\\a\x1b_x\x1b\\b\x1b^y\x1b\\c", ("abc",)),
        ("\x9b2Ja\x9d0;t\x07b\x90q\x9cc\x85d", ("abcd",)),
        ("\x1bca\x1b(0b\x1b7c\x1b", ("abc",)),
        ("\x1b\x1b]x\x07[31ma", ("[31ma",)),
        ("\x1b[\x1b[31m2Ja", (f"{RED}2Ja{END}",)),
        ("a\x00b\x07c\x08d\x7fe\tf", ("abcde f",)),
        ("a\u202eb\u2066c\u200bd\U000e0041e", ("abcde",)),
        ("old\rnew", ("old", "new")),
        ("\ue0b0 \u00a0x 👩\u200d💻 \u5f35", ("\ue0b0 \u00a0x 👩\u200d💻 \u5f35",)),
        ("e" + "\u0301" * 9, ("e" + "\u0301" * MARKS,)),
        ("a" * 2_000, ("a" * LONGEST,)),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_line_keeps_text_and_colours_alone(printed: str, lines: tuple[str, ...]) -> None:
    assert status_lines(printed.encode("utf-8", "surrogatepass")) == lines


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert status_lines(b"a\xff\x9bb") == ("a\ufffd\ufffdb",)


def test_colours_are_bounded_too() -> None:
    (line,) = status_lines((RED * 10_000 + "a" + f"{END}b" * 10_000).encode())
    assert line.count("\x1b") <= MOST_COLOURS + 1
    assert line.endswith(END)


PIECES = some.lists(
    some.one_of(
        some.sampled_from(
            ["\x1b", "[", "]", "31m", "\x9b", "\x07", "\x1b\\", "\n", "\r", " ", RED, END, "\u202e", "P"]
        ),
        some.text(max_size=5),
    ),
    max_size=40,
).map("".join)


@pytest.mark.spec("STL-3")
@given(PIECES)
def test_no_text_moves_a_cursor_and_cleaning_twice_changes_nothing(text: str) -> None:
    lines = status_lines(text.encode("utf-8", "surrogatepass"))
    assert len(lines) <= 3
    for line in lines:
        rest = without_colours(line)
        assert rest
        assert rest == rest.strip()
        assert len(rest) <= LONGEST
        assert not [sign for sign in rest if category(sign) in ("Cc", "Cs") or sign == "\u202e"]
        assert all(re.fullmatch(r"\x1b\[[0-9;:]*m", each) for each in re.findall(r"\x1b[^\x1b]*?[A-Za-z]", line))
        assert status_lines(line.encode()) == (line,)
