"""Diffs as frames: whole-line backgrounds and marked words, for each colour depth, at 100 and 60 columns."""

import re
import unicodedata
from typing import get_args

import pytest
from pyte.screens import Char

from callgate.tui.blocks import CallBlock
from callgate.tui.panels.panel_page import PanelPage
from callgate.tui.render import Painter
from callgate.tui.render.diff import changed_words, diff_rows
from callgate.tui.render.spans import width_of
from callgate.tui.theme import GROUNDS, GROUNDS_16, INKS, WORD_INK, Depth, Theme, ThemeName
from callgate.words.calls import Display, Result, Status
from tests.rows import rows
from tests.terminal.screen import Feed, Screen
from tests.tui.fakes import plain_face

LONG = (
    '    return sum(PRICES[name] * count for name, count in basket.items())  # "everything" that is in the basket, 中文'
)
DIFF = f"""diff --git a/app.py b/app.py
--- a/app.py
+++ b/app.py
@@ -8,4 +8,6 @@ def main():
 import os  # context
-timeout = 30
-old = None
+timeout = 45
+name: str = "three"
+{LONG}
+
 print(x)
"""
COLOURED = [Theme(name, depth=depth) for name in ("dark", "light") for depth in get_args(Depth)]
MONO = Theme("mono", colours=False)


def frame(theme: Theme, width: int, *, unbroken: bool = True, body: str = DIFF) -> Screen:
    """The screen after the diff of a call was printed."""
    call = CallBlock("c", "Edit", status=Status.SUCCESS, result=Result((), (Display("diff", body),)), joined=True)
    painter = Painter(theme, width, lambda name, _: plain_face(name, "edit"), unbroken=unbroken)
    screen = Screen(width, 30, lambda _: None)
    Feed(screen)("\r\n".join([*painter.lines(call), "after"]).encode())
    return screen


def row_of(screen: Screen, text: str) -> list[Char]:
    at = next(at for at, line in enumerate(screen.display) if text in line)
    return screen.cells(at)


def grounds(cells: list[Char]) -> set[str]:
    """The backgrounds of a row without its margin."""
    return {cell.fg if cell.reverse else cell.bg for cell in cells[2:]}


@pytest.mark.spec("TUI-18")
@rows("theme, width, unbroken", [(theme, width, how) for theme in COLOURED for width in (100, 60) for how in (0, 1)])
def test_a_changed_line_has_its_background_up_to_the_edge(theme: Theme, width: int, unbroken: int) -> None:
    screen = frame(theme, width, unbroken=bool(unbroken))
    added, removed = row_of(screen, "name: str"), row_of(screen, "old = None")
    assert len(grounds(added)) == len(grounds(removed)) == 1
    assert "default" not in grounds(added) | grounds(removed)
    assert grounds(added) != grounds(removed)
    empty = row_of(screen, "12 +")
    assert grounds(empty) == grounds(added)
    for text in ("import os", "print(x)", "after"):
        assert grounds(row_of(screen, text)) == {"default"}
    assert grounds(row_of(screen, "return sum")) == grounds(added)
    assert "".join(cell.data for cell in row_of(screen, "return sum")).rstrip()[-1] == "…"


@pytest.mark.spec("TUI-18")
@rows("theme, width", [(theme, width) for theme in COLOURED for width in (100, 60)])
def test_the_changed_words_of_a_line_are_marked_more_strongly(theme: Theme, width: int) -> None:
    screen = frame(theme, width)
    for text, word in (("timeout = 30", "30"), ("timeout = 45", "45")):
        cells = row_of(screen, text)
        line = "".join(cell.data for cell in cells)
        at = line.index(word, line.index("timeout"))
        marked, rest = cells[at : at + 2], cells[2:at] + cells[at + 2 :]
        looks = {(cell.bg, cell.reverse) for cell in marked}
        assert len(looks) == 1
        assert not looks & {(cell.bg, cell.reverse) for cell in rest}


@pytest.mark.spec("TUI-18")
@rows("width", [100, 60, 30])
def test_changed_words_have_a_line_of_carets_without_colours(width: int) -> None:
    lines = [line.rstrip() for line in frame(MONO, width).display]
    for word in ("timeout = 30", "timeout = 45"):
        at = next(at for at, line in enumerate(lines) if word in line)
        assert lines[at + 1].strip() == "^^"
        assert lines[at + 1].index("^^") == lines[at].index(word) + len("timeout = ")
    assert not any("\x1b" in line for line in lines)


def test_carets_follow_wide_letters_and_the_rows_of_a_wrapped_line() -> None:
    body = "@@ -1 +1 @@\n-中文 = 'a' + xxxxx xxxxx one\n+中文 = 'b' + xxxxx xxxxx two\n"
    shown = ["".join(text for text, _ in row) for row in diff_rows(MONO, body, 24, wrap=True)]
    assert shown == [
        "1 - 中文 = 'a' + xxxxx x",
        "            ^",
        "    xxxx one",
        "         ^^^",
        "1 + 中文 = 'b' + xxxxx x",
        "            ^",
        "    xxxx two",
        "         ^^^",
    ]


@pytest.mark.spec("TUI-18")
@rows("theme, width", [(theme, width) for theme in (*COLOURED, MONO) for width in (100, 60)])
def test_printed_diffs_are_copied_without_blanks_at_the_ends_of_lines(theme: Theme, width: int) -> None:
    painter = Painter(theme, width, lambda name, _: plain_face(name, "edit"), unbroken=True)
    call = CallBlock("c", "Edit", status=Status.SUCCESS, result=Result((), (Display("diff", DIFF),)))
    plain = [re.sub(r"\x1b\[[0-9;]*[mK]", "", line) for line in painter.lines(call)]
    assert all(line == line.rstrip() or line.endswith((" + ", " - ")) for line in plain)
    assert "   9 - timeout = 30" in plain


@rows("width", [100, 60, 20, 12])
def test_no_row_of_a_diff_is_wider_than_the_screen(width: int) -> None:
    for theme in (*COLOURED, MONO):
        for wrap in (False, True):
            for row in diff_rows(theme, DIFF, width, wrap=wrap):
                used = sum(_cells(text) for text, _ in row)
                assert used <= width, row
        page = PanelPage(theme, width)
        page.diff(DIFF)
        assert all(_cells(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= max(width, 13) for line in page.lines)


def _cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) == "W" else 1 for sign in text)


@rows(
    "body, shown",
    [
        ("-a = 1\n+a = 2", ["- a = 1", "      ^", "+ a = 2", "      ^"]),
        (" same\n-old text\n+new text\n", ["  same", "- old text", "  ^^^", "+ new text", "  ^^^"]),
        ("--- a/x\n+++ b/x\n-a\n+b", ["- a", "+ b"]),
        ("only words", ["only words"]),
        (
            "@@ -1 +1 @@\n-a = 1\n\\ No newline at end of file\n+a = 2\n",
            ["1 - a = 1", "        ^", "\\ No newline at end of file", "1 + a = 2", "        ^"],
        ),
        ("@@ -1 +1 @@\n--- a\n+++ cc\n", ["1 - -- a", "1 + ++ cc"]),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", ["old mode 100644", "new mode 100755"]),
        ("", [""]),
    ],
)
def test_diffs_of_tools_with_and_without_hunks(body: str, shown: list[str]) -> None:
    assert ["".join(text for text, _ in row) for row in diff_rows(MONO, body, 60)] == shown
    coloured = [style for row in diff_rows(Theme(), body, 60) for _, style in row]
    assert any("removed" in style for style in coloured) == any(" - " in line or line[:2] == "- " for line in shown)


# ---- colours ------------------------------------------------------------------------------------------------------


def _rgb(number: int) -> tuple[int, ...]:
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    steps = (0, 95, 135, 175, 215, 255)
    number -= 16
    return steps[number // 36], steps[number // 6 % 6], steps[number % 6]


def _light(rgb: tuple[int, ...]) -> float:
    parts = [each / 255 for each in rgb]
    red, green, blue = (each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    low, high = sorted((_light(one), _light(other)))
    return (high + 0.05) / (low + 0.05)


def _ground(code: str) -> tuple[int, ...]:
    numbers = [int(each) for each in code.split(";")]
    return _rgb(numbers[2]) if numbers[1] == 5 else tuple(numbers[2:])


@pytest.mark.spec("TUI-18")
@rows("name, depth", list(GROUNDS))
def test_every_syntax_colour_is_readable_on_every_background(name: ThemeName, depth: Depth) -> None:
    for ground, code in GROUNDS[name, depth].items():
        inks = {"word": WORD_INK[name]} if ground.endswith("-word") else INKS[name]
        low = {ink: round(_contrast(_rgb(number), _ground(code)), 2) for ink, number in inks.items()}
        assert min(low.values()) >= 4.5, (ground, low)
    assert _contrast(_ground(GROUNDS[name, depth]["added"]), _ground(GROUNDS[name, depth]["added-word"])) > 1.2
    assert set(GROUNDS[name, depth]) == set(GROUNDS_16)


def test_a_terminal_with_few_colours_gets_no_sequence_of_more_colours() -> None:
    for name in ("dark", "light"):
        theme = Theme(name, depth="16")
        painter = Painter(theme, 80, lambda name, _: plain_face(name, "edit"))
        call = CallBlock("c", "Edit", status=Status.SUCCESS, result=Result((), (Display("diff", DIFF),)))
        text = "\n".join(painter.lines(call))
        assert "38;" not in text
        assert "48;" not in text
    true = "\n".join(Painter(Theme(depth="true"), 80, lambda name, _: plain_face(name, "edit")).lines(call))
    assert "48;2;" in true
    plain = "\n".join(Painter(Theme(depth="256"), 80, lambda name, _: plain_face(name, "edit")).lines(call))
    assert "48;5;" in plain
    assert "48;2;" not in plain


# ---- words --------------------------------------------------------------------------------------------------------


def marked(removed: list[str], added: list[str]) -> tuple[list[list[str]], list[list[str]]]:
    found = changed_words(removed, added)
    return tuple(  # pyright: ignore[reportReturnType]
        [[line[begin:end] for begin, end in marks] for line, marks in zip(lines, side, strict=True)]
        for lines, side in zip((removed, added), found, strict=True)
    )


@rows(
    "removed, added, gone, new",
    [
        (["x = 1"], ["x = 2"], [["1"]], [["2"]]),
        (["return a"], ["return a + b"], [[]], [[" + b"]]),
        (["return a + b"], ["return a"], [[" + b"]], [[]]),
        (["def f(a: int) -> int:"], ["def f(a: str) -> str:"], [["int", "int"]], [["str", "str"]]),
        (["  return x"], ["    return x"], [["  "]], [["    "]]),
        (["the old red house is here"], ["the new blue house is here"], [["old red"]], [["new blue"]]),
        (["import os"], ["class Shop(Base):"], [[]], [[]]),
        (["print(x)"], ["other(y)"], [[]], [[]]),
        (["a = 1", "b = 2"], ["a = 1 + 1", "b = 3"], [[], ["2"]], [[" + 1"], ["3"]]),
        (["b = 2"], ["import os", "b = 3"], [["2"]], [[], ["3"]]),
        (["import os", "b = 2"], ["b = 3"], [[], ["2"]], [["3"]]),
        (["one"], [], [[]], []),
        ([""], [""], [[]], [[]]),
        (["café = 1"], ["café = 2"], [["1"]], [["2"]]),
        (["中文 = 1"], ["中文 = 2"], [["1"]], [["2"]]),
        (["tail = 1  "], ["tail = 1"], [["  "]], [[]]),
    ],
)
def test_the_changed_words_of_lines(
    removed: list[str], added: list[str], gone: list[list[str]], new: list[list[str]]
) -> None:
    assert marked(removed, added) == (gone, new)


def test_long_lines_and_many_lines_are_compared_in_limited_time() -> None:
    long = " ".join("word" for _ in range(5_000))
    assert marked([long], [f"{long} x"]) == ([[]], [[]])
    same = ["x, " * 50] * 40
    assert marked(same, ["x; " * 50] * 40) == ([[]] * 40, [[]] * 40)
    removed, added = [f"x{n} = {n}" for n in range(2_000)], [f"x{n} = {n + 1}" for n in range(2_000)]
    assert marked(removed, added)[1][7] == ["8"]


def _hunk(*lines: str) -> str:
    return "\n".join(("--- a/x", "+++ b/x", "@@ -1,9 +1,9 @@", *lines, ""))


WIDE = "中文字符一二三四五六七八九"


@pytest.mark.spec("TUI-18")
@rows(
    "lines, shown",
    [
        (("-" + "x" * 200 + " one", "+" + "x" * 200 + " two"), (" one", " two")),
        (("-" + "x" * 200 + "1", "+" + "x" * 200 + "2"), ("x1", "x2")),
        (("-" + WIDE * 4 + "一", "+" + WIDE * 4 + "二"), ("九一", "九二")),
        (("-" + '{"a": 1, ' * 90 + '"end": 1}', "+" + '{"a": 1, ' * 90 + '"end": 2}'), ('"end": 1', '"end": 2')),
        (("-a = [" + "1, " * 60 + "old, 9]", "+a = [" + "1, " * 60 + "new, 9]"), ("old, 9]", "new, 9]")),
        (("-old " + "x" * 200, "+new " + "x" * 200), ("old x", "new x")),
        (("-" + "  " * 60 + "one = 1", "+" + "  " * 60 + "one = 2"), ("one = 1", "one = 2")),
        (("-" + "ä" * 99 + " one", "+" + "ä" * 99 + " two"), (" one", " two")),
        (("-" + "\t" * 30 + "call(one, two)", "+" + "\t" * 30 + "call(one, six)"), ("two)", "six)")),
        (("-" + "x" * 70, "+" + "x" * 70 + "END"), ("x", "END")),
    ],
)
@pytest.mark.parametrize("width", [100, 60])
def test_a_changed_word_beyond_the_edge_is_on_the_screen(
    width: int, lines: tuple[str, str], shown: tuple[str, str]
) -> None:
    for theme in (MONO, Theme("dark", depth="256"), Theme("light")):
        found = diff_rows(theme, _hunk(*lines), width)
        text = ["".join(piece for piece, style in row if style != "carets").rstrip() for row in found]
        assert all(
            any(words in line for line in text if line[2:3] == sign) for words, sign in zip(shown, "-+", strict=True)
        )
        assert all(sum(width_of(piece) for piece, _ in row) <= width for row in found)


@pytest.mark.spec("TUI-18")
@rows(
    "lines, hidden",
    [
        ((" a\r", "-b\r", "+c\r"), True),
        (("-b\r", "+c\r"), True),
        (("-b\r", "-b\r", "+c\r", " \r"), True),
        (("-b\r", "+c", "\\ No newline at end of file"), True),
        (("-b", "\\ No newline at end of file", "+c\r"), False),
        (("-b\r", "+b"), False),
        (("-b", "+b\r"), False),
        ((" a", "-b\r", "+c\r"), False),
        ((" a\r", "+b"), False),
        (("+#!/bin/sh\r", "+exit\r"), False),
        (("+a\r\r", " b\r"), False),
        (("-a\rb", "+a\rc"), False),
    ],
)
def test_the_line_ends_of_windows_are_shown_if_they_change(lines: tuple[str, ...], hidden: bool) -> None:
    for exact in (False, True):
        found = "\n".join("".join(text for text, _ in row) for row in diff_rows(MONO, _hunk(*lines), 80, exact=exact))
        assert ("<U+000D>" not in found) == hidden
