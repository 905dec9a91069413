"""ChangeSets from edits keep the form of the file and fail in clear words; those from a function name the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.changes.edits import TextReplacement as Edit
from callgate.changes.edits import fits, from_edits
from callgate.words.changes import ChangeSet, FileChange, Stored
from callgate.words.errors import ToolFailure
from tests.rows import rows


def edited(before: bytes | None, *edits: Edit) -> ChangeSet:
    return from_edits("f.py", before, edits, "Edit f.py", "Edit")


def after(before: bytes | None, *edits: Edit) -> bytes:
    (change,) = edited(before, *edits).files
    assert (change.path, change.before) == ("f.py", before)
    assert isinstance(change.after, bytes)
    return change.after


def refusal(before: bytes, *edits: Edit) -> str:
    with pytest.raises(ToolFailure) as failure:
        edited(before, *edits)
    return str(failure.value)


def test_an_edit_replaces_its_one_place() -> None:
    changes = edited(b"a = 1\nb = 2\n", Edit("b = 2", "b = 3"))
    file = FileChange("f.py", b"a = 1\nb = 2\n", b"a = 1\nb = 3\n")
    assert changes == ChangeSet("Edit f.py", (file,), "Edit", count=1)


def test_edits_build_on_each_other_and_all_of_them_are_counted() -> None:
    changes = edited(b"a a a\n", Edit("a", "b", all=True), Edit("b b b", "c"))
    assert (changes.files[0].after, changes.count) == (b"c\n", 4)


def test_an_empty_old_text_fills_an_empty_or_a_missing_file() -> None:
    assert after(b"", Edit("", "a\r\nb\n")) == b"a\r\nb\n"
    assert after(None, Edit("", "new\n")) == b"new\n"
    assert edited(None, Edit("", "new\n")).files[0].kind == "create"


@rows("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@rows("typed", ["\n", "\r\n"], ids=["typed-lf", "typed-crlf"])
@rows("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@rows("last", ["", "é"], ids=["final-newline", "no-final-newline"])
def test_an_edit_keeps_the_form_of_the_file(end: str, typed: str, encoding: str, last: str) -> None:
    before = f"a{end}b{end}c{end}{last}".encode(encoding)
    expected = f"a{end}B{end}B{end}c{end}{last}".encode(encoding)
    assert after(before, Edit(f"a{typed}b", f"a{typed}B{typed}B")) == expected


def test_bytes_that_are_not_utf_8_survive_an_edit_beside_them() -> None:
    assert after(b"\xc3\xa9 caf\xe9 = 1\n", Edit("= 1", "= 2 # é")) == b"\xc3\xa9 caf\xe9 = 2 # \xc3\xa9\n"


def test_latin_1_and_utf_16_without_a_mark_are_found_by_their_characters_and_kept() -> None:
    assert after(b"caf\xe9 = 1\r\n", Edit("café = 1", "thé = 2")) == b"th\xe9 = 2\r\n"
    assert "→ cannot be written as latin-1" in refusal(b"caf\xe9 = 1\n", Edit("1", "→"))
    for encoding in ("utf-16-le", "utf-16-be"):
        assert after("café = 1\n".encode(encoding), Edit("é = 1", "é = 2")) == "café = 2\n".encode(encoding)


@pytest.mark.spec("BLT-3")
@rows(
    ("before", "edit", "expected", "differs"),
    [
        ("a = ‘b’\n", Edit("a = 'b'", "a = 'c'"), "a = 'c'\n", "the style of quotes"),
        ("x “y”\nz = 1\n", Edit('x "y"\nz = 1', 'x "y"\nz = 2'), "x “y”\nz = 2\n", "the style of quotes"),
        ("if a:  \n  b\n", Edit("if a:\n  b", "if a:\n  c"), "if a:  \n  c\n", "blanks at line ends"),
        ("if a:\n  b\n", Edit("if a: \n  b ", "if a: \n  c"), "if a:\n  c\n", "blanks at line ends"),
        ("“a” \nb\n", Edit('"a"\nb', '"a"\nc'), "“a” \nc\n", "the style of quotes and blanks at line ends"),
        ("a\t\nb\nc", Edit("\nb\nc ", "\nd"), "a\t\nd", "blanks at line ends"),
    ],
    ids=range(6),
)
def test_quotes_and_trailing_blanks_may_differ_where_one_place_fits_and_that_is_said(
    before: str, edit: Edit, expected: str, differs: str
) -> None:
    made = from_edits("f.py", before.encode(), [edit], "edit f.py", "Edit")
    assert made.files[0].after == expected.encode()
    assert made.label == f"edit f.py (edit 1 matched except for {differs})"


@pytest.mark.spec("BLT-3")
def test_a_text_that_fits_two_places_but_for_quotes_is_not_replaced() -> None:
    assert "occurs at several places if the style of quotes" in refusal("‘a’\n“b”\n’a’\n".encode(), Edit("'a'", "c"))
    assert "not found. " in refusal(b"x = 10\n", Edit("x = 1  ", "c"))  # its blanks would have to end a line


def test_long_rows_of_blanks_are_gone_through_once() -> None:
    text = " " * 1_000_000 + "x\ny  \nz\n"
    assert len(fits(text, "y\nz", "Y\nz")) == 1


def test_an_exact_place_goes_before_one_that_only_fits() -> None:
    assert after("‘a’ 'a'\n".encode(), Edit("'a'", "c")) == "‘a’ c\n".encode()


def test_a_miss_shows_the_nearest_lines_as_a_diff() -> None:
    said = refusal(b"def f():\n\treturn 1\n\n", Edit("def f():\n    return 1", "x"))
    assert said.split("\n")[1:] == [
        "Your text (-) compared with the file from line 1 (+):",
        "  def f():",
        "-     return 1",
        "+ \\treturn 1",
    ]


@rows(
    ("before", "edit", "expected"),
    [
        (b"a\r\nb\nc\r\n", Edit("a\nb\nc", "a\nB\nc"), b"a\r\nB\nc\r\n"),
        (b"a\nb\r\nc\r\n", Edit("a\nb\nc", "a\nB\nc"), b"a\nB\r\nc\r\n"),
        (b"a\nb\r\nc\n", Edit("b\nc", "x\ny\nc"), b"a\nx\r\ny\r\nc\n"),
        (b"a\nb\r\nc\r\n", Edit("a", "x\ny"), b"x\r\ny\nb\r\nc\r\n"),
        (b"a\nb\r\nc\n", Edit("a\nb", "a\nb\nd"), b"a\nb\nd\r\nc\n"),
        (b"a\nb\r\nc\n", Edit("b\r\nc", ""), b"a\n\n"),
        (b"a\r\nb\n", Edit("\nb", ""), b"a\n"),
        (b"a\r\nb\nb\n", Edit("\nb", "-", all=True), b"a--\n"),
        (b"a\r\n\r\n\n\nb", Edit("\n\n", "\n", all=True), b"a\r\n\nb"),
        (b"x\r\ny\n", Edit("y", "1%\r2%\n3%"), b"x\r\n1%\r2%\r\n3%\n"),
        (b"1%\r2%\nend\n", Edit("1%\r2%", "3%"), b"3%\nend\n"),
    ],
    ids=[
        "kept",
        "kept-too",
        "those-of-the-place",
        "usual",
        "more",
        "gone",
        "first",
        "all",
        "overlap",
        "typed-cr",
        "inside-a-line",
    ],
)
def test_a_file_with_mixed_line_ends_is_edited_with_plain_ones(before: bytes, edit: Edit, expected: bytes) -> None:
    assert after(before, edit) == expected


LINES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["\n", "\r\n", "\r"])), min_size=1, max_size=8)


@given(LINES, st.integers(0, 7))
def test_lines_that_an_edit_does_not_touch_keep_their_ends(lines: list[tuple[str, str]], number: int) -> None:
    number %= len(lines)
    texts = [[text, end] for text, end in lines]
    texts[number][0] = "old"
    before = "".join(text + end for text, end in texts)
    context = "\n".join(text for text, _ in texts)
    texts[number][0] = "new"
    expected = "".join(text + end for text, end in texts).encode()
    assert after(before.encode(), Edit("old", "new")) == expected
    assert after(before.encode(), Edit(context, context.replace("old", "new"))) == expected


@rows(
    ("before", "old", "words"),
    [
        (b"one\ntwo = 2\n", "two = 3", "The nearest line is 2: `two = 2`"),
        (b"\ttwo = 2\n", "  two = 2\n", "The text matches at line 1 except for blanks: line 1 is `\ttwo = 2`"),
        (
            b"x\nif a:\n\treturn\n",
            "if a:\n    return\n",
            "The text matches at line 2 except for blanks: line 3 is `\treturn`",
        ),
        (b"a = 1\nb = 2\nc = 3\n", "a = 1\nb = 2\nc = 4", "Its first 2 lines are at line 1, but line 3 is `c = 3`"),
        (b"a = 1", "a = 1\nb = 2", "Its first line is at line 1, but the file ends there."),
        (b"\r\none\rtwo = 2\n", "two = 3", "The nearest line is 3: `two = 2`"),
        (b"one\n", "zebra", "No line of the file resembles the first line of the text to replace."),
        (b"\xc3\xa9 caf\xe9 = 1\n", "é caf = 1", "The nearest line is 1: `é caf\\xe9 = 1`"),
        (b"", "a", "The file is empty."),
        (b" \n", "a", "The file has only blanks."),
        (b"a\n", "\n\n\n", "The text to replace consists only of blanks and line endings."),
        (b"a" * 500, "a" * 499 + "b", "The nearest line is 1: `" + "a" * 200 + "…`"),
    ],
    ids=range(12),
)
def test_a_text_that_is_not_there_is_said_with_the_place_that_comes_nearest(
    before: bytes, old: str, words: str
) -> None:
    said = refusal(before, Edit(old, "new"))
    assert said.startswith("f.py: the text to replace was not found. ")
    assert said.split("\n")[0].endswith(words)


def test_a_text_at_several_places_is_refused_with_their_lines() -> None:
    said = "f.py: the text to replace occurs at 2 places (lines 1, 3); include more of the surrounding text"
    assert refusal(b"a\nb\na\n", Edit("a", "c")).startswith(said)
    assert "7 places (lines 1, 2, 3, 4, 5, …)" in refusal(b"a\n" * 7, Edit("a", "c"))
    assert "more than 100 places (lines 1, 1, 1, 1, 1, …)" in refusal(b"a" * 200, Edit("a", "c"))
    assert "(lines 1, 2)" in refusal(b"a\r\na\n", Edit("a", "c"))


def test_places_that_overlap_are_several_places() -> None:
    assert "2 places" in refusal(b"aaa", Edit("aa", "b"))
    assert after(b"aaa", Edit("aa", "b", all=True)) == b"ba"
    assert edited(b"aaaa", Edit("aa", "b", all=True)).count == 2


@rows(
    ("before", "edits", "words"),
    [
        (b"a\n", [Edit("a", "a")], "f.py: the old and the new text are equal"),
        (b"a\r\n", [Edit("a\r\n", "a\n")], "f.py: the old and the new text are equal"),
        (b"a\n", [Edit("", "b")], "f.py: the old text is empty, but the file is not"),
        (b"a\n", [Edit("a", "b"), Edit("x", "y")], "f.py, edit 2 of 2: the text to replace was not found"),
        (b"a\n", [Edit("a", "b"), Edit("b", "a")], "f.py: the edits do not change the file"),
        (b"a\n", [], "f.py: the edits do not change the file"),
        (b"a\0", [Edit("a", "b")], "f.py: this is not a text file"),
        (
            b"a\n",
            [Edit("a", "\ud83d")],
            "f.py: \\ud83d is half of a character (a lone surrogate) and cannot be written as utf-8",
        ),
        ("a".encode("utf-16"), [Edit("a", "\udce9")], "f.py: \\xe9 is half of a character"),
    ],
    ids=["same", "same-but-for-ends", "empty-old", "second", "back-again", "none", "binary", "half", "utf-16"],
)
def test_what_cannot_be_made_is_refused(before: bytes, edits: list[Edit], words: str) -> None:
    assert refusal(before, *edits).startswith(words)


def test_large_content_is_not_edited() -> None:
    with pytest.raises(ToolFailure, match=r"f\.py: the file is too large to edit \(2000000 bytes\)"):
        from_edits("f.py", Stored("00" * 32, 2_000_000, "kept"), [Edit("a", "b")], "", "")


LOOSE = st.lists(st.sampled_from(["a", "b", "“", "”", '"', "‘", "'", " ", "\t", "\n"]), max_size=24).map("".join)


def normal(text: str) -> str:
    """The text without what may differ, in the plainest way."""
    for curly, straight in zip("“”‘’", "\"\"''", strict=True):
        text = text.replace(curly, straight)
    return "\n".join(line.rstrip(" \t") for line in text.split("\n"))


@given(LOOSE, LOOSE, st.data())
def test_what_fits_is_the_same_but_for_quotes_and_blanks_and_is_kept_where_nothing_changes(
    text: str, other: str, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(text)))
    last = data.draw(st.integers(first, len(text)))
    old = data.draw(st.sampled_from([other, normal(text[first:last]), text[first:last]]))
    for fit in fits(text, old, old):
        there = text[fit.start : fit.end]
        assert normal(there) == normal(old)
        assert fit.new == there, "nothing is changed, so nothing may be spelled in another way"
        assert fit.differs or there == old
    sought = normal(text[first:last])
    whole_lines = (first == 0 or text[first - 1] == "\n") and (last == len(text) or text[last] == "\n")
    if whole_lines and sought.strip():
        assert fits(text, sought, "x"), "lines that differ in nothing else are found"
