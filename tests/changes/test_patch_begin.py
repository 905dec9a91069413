"""The form that begins with ``*** Begin Patch``: what models write, and what they get wrong."""

from hypothesis import given
from hypothesis import strategies as st

from tests.changes.patch_kit import after, begun, change_set, refused
from tests.rows import rows

CODE = b"""class A:
    def run(self):
        return 1

    def stop(self):
        return 1


class B:
    def run(self):
        return 1
"""


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


def update(*lines: str, name: str = "f") -> str:
    return patch(f"*** Update File: {name}", *lines)


def test_a_file_in_utf_16_is_patched_as_its_text() -> None:
    for form in ("utf-16-le", "utf-16-be"):
        for end in ("\n", "\r\n"):
            before, now = (f"\ufeffone{end}{word}{end}".encode(form) for word in ("zwö", "three €"))
            assert after(update(" one", "-zwö", "+three €"), {"f": before}) == {"f": now}
            assert refused(update("-two", "+three"), {"f": before}).startswith("f, line 3 of the patch: These lines")


def test_files_are_added_deleted_updated_and_moved() -> None:
    text = patch(
        *("*** Add File: d/new", "+one", "+", "+two"),
        *("*** Delete File: gone",),
        *("*** Update File: f", "@@", "-a", "+b"),
        *("*** Update File: old", "*** Move to: moved", " x", "-y"),
        *("*** Update File: kept", "*** Move to: renamed"),
        *("*** Add File: empty",),
    )
    files = {"gone": b"1", "f": b"a\n", "old": b"x\ny\n", "kept": b"k"}
    assert after(text, files) == {
        "d/new": b"one\n\ntwo\n",
        "f": b"b\n",
        "moved": b"x\n",
        "renamed": b"k",
        "empty": b"",
    }
    assert [change.kind for change in change_set(text, files).files] == [
        *("create", "delete", "replace", "rename", "rename", "create")
    ]


def test_anchors_narrow_down_to_the_place() -> None:
    text = update("@@ class B:", "@@     def run(self):", "-        return 1", "+        return 2")
    assert after(text, {"f": CODE})["f"] == CODE[:-9] + b"return 2\n"
    text = update("@@ def stop(self):", "-        return 1", "+        return 2")
    assert after(text, {"f": CODE})["f"].count(b"return 2") == 1
    assert b"stop(self):\n        return 2" in after(text, {"f": CODE})["f"]


def test_an_anchor_that_was_passed_already_holds_still() -> None:
    first = ("@@ class A:", "@@ def run(self):", "-        return 1", "+        return 2")
    text = update(*first, "@@ class A:", "-        return 1", "+x")
    assert after(text, {"f": CODE})["f"].splitlines()[2:6:3] == [b"        return 2", b"x"]


def test_lines_that_stand_at_several_places_are_refused_with_the_places() -> None:
    numbers = [number for number, line in enumerate(CODE.splitlines(), 1) if line.strip() == b"return 1"]
    assert len(numbers) == 3
    told = refused(update("@@", "-        return 1", "+        return 2"), {"f": CODE})
    assert f"These lines occur at several places, at lines {', '.join(map(str, numbers))}. Write more" in told
    assert "at lines 1, 2, 3, 4, 5 and more." in refused(update("-a", "+b"), {"f": b"a\n" * 9})


def test_an_anchor_that_leads_to_several_places_is_refused_and_two_may_lead_to_one() -> None:
    change = ("-        return 1", "+        return 2")
    twice_below_it = refused(update("@@ class A:", *change), {"f": CODE})
    assert "at several places, at lines 3, 6. Write more" in twice_below_it
    there_twice_itself = refused(update("@@ def run(self):", *change), {"f": CODE})
    assert "at several places, at lines 3, 11. Write more" in there_twice_itself
    assert (
        after(update("@@ class A:", "@@ def run(self):", *change), {"f": CODE})["f"].splitlines()[2]
        == b"        return 2"
    )


def test_an_anchor_or_the_end_of_the_file_says_which_of_many_places_is_meant() -> None:
    many, changed = b"one\na\ntwo\na\nthree\na\n", b"one\na\ntwo\nb\nthree\na\n"
    assert after(update("@@ two", "-a", "+b"), {"f": many})["f"] == changed
    assert after(update("-a", "+b", "*** End of File"), {"f": b"a\nx\na\n"})["f"] == b"a\nx\nb\n"
    assert after(update(" two", "-a", "+b"), {"f": many})["f"] == changed


def test_lines_are_found_exactly_first_then_by_what_is_not_white_space() -> None:
    assert after(update("-a", "+b"), {"f": b"  a\na \na\n"})["f"] == b"  a\na \nb\n"
    assert after(update("-a", "+b"), {"f": b"  a\na \t\n"})["f"] == b"  a\nb\n"
    assert after(update("-a", "+b"), {"f": b"x\n\ta\n"})["f"] == b"x\nb\n"


def test_context_stays_as_it_is_in_the_file() -> None:
    assert after(update(" a", "-b", "+c", " d"), {"f": b"\ta  \nb\n d\n"})["f"] == b"\ta  \nc\n d\n"


def test_the_end_of_the_file_is_meant_when_it_is_said() -> None:
    text = update("@@", " a", "+b", "*** End of File")
    assert after(text, {"f": b"a\nx\na\n"})["f"] == b"a\nx\na\nb\n"
    message = refused(text, {"f": b"a\nx\n"})
    assert "The lines are at line 1, but the file does not end there. Remove `*** End of File`" in message


def test_new_lines_alone_need_a_place() -> None:
    assert after(update("@@ class B:", "+    x = 1"), {"f": CODE})["f"] == CODE.replace(b"B:\n", b"B:\n    x = 1\n")
    assert after(update("+last", "*** End of File"), {"f": b"a\n"})["f"] == b"a\nlast\n"
    assert after(update("+first"), {"f": b""})["f"] == b"first\n"
    assert "f, line 3 of the patch: The position of the new lines is missing." in refused(update("+x"), {"f": b"a\n"})
    # An empty line that only ends the section is not taken for the place.
    assert "The position of" in refused(update("+x", ""), {"f": b"a\n\nb\n"})


@rows("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@rows("carried", ["\n", "\r\n"], ids=["from lf", "from crlf"])
def test_the_line_ends_of_the_file_win(end: bytes, carried: str) -> None:
    text = update("@@ a", " b", "-c", "+d", "+e", " f").replace("\n", carried)
    assert after(text, {"f": end.join([b"a", b"b", b"c", b"f", b""])})["f"] == end.join(
        [b"a", b"b", b"d", b"e", b"f", b""]
    )


def test_where_line_ends_are_mixed_a_new_line_ends_like_the_one_before() -> None:
    text = update(" a", "+1", " b", "+2", " c", "+3")
    assert after(text, {"f": b"a\nb\r\nc\n"})["f"] == b"a\n1\nb\r\n2\r\nc\n3\n"


def test_the_line_ends_of_a_new_file_are_the_patchs_unless_all_of_it_has_them() -> None:
    assert after("*** Begin Patch\n*** Add File: n\n+a\r\n+b\r\n*** End Patch\n", {}) == {"n": b"a\r\nb\r\n"}
    assert after("*** Begin Patch\r\n*** Add File: n\r\n+a\r\n+b\r\n*** End Patch\r\n", {}) == {"n": b"a\nb\n"}


def test_a_missing_last_newline_stays_missing_and_the_mark_at_the_beginning_stays() -> None:
    assert after(update(" a", "-b", "+c"), {"f": b"a\nb"})["f"] == b"a\nc"
    assert after(update(" b", "+c"), {"f": b"a\r\nb"})["f"] == b"a\r\nb\r\nc"
    assert after(update(" a", "-b"), {"f": b"a\nb"})["f"] == b"a"
    assert after(update("-a", "-b"), {"f": b"a\nb"})["f"] == b""
    assert after(update("-a", "+b"), {"f": b"\xef\xbb\xbfa\n"})["f"] == b"\xef\xbb\xbfb\n"


def test_bytes_that_are_not_utf_8_stay() -> None:
    data = b"\xff\xfe\na\n\xe9\n"
    assert after(update("-a", "+b"), {"f": data})["f"] == b"\xff\xfe\nb\n\xe9\n"
    assert after(b"*** Begin Patch\n*** Update File: f\n-\xe9\n+\xea\n", {"f": data})["f"] == b"\xff\xfe\na\n\xea\n"


@rows(
    "text",
    [
        "*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+c\n",
        "*** Update File: f\n@@\n a\n-b\n+c\n*** End Patch",
        "\n\n*** Begin Patch  \n\n*** Update File:   f  \n\n@@\n a\n-b\n+c\n\n*** End Patch\n\n",
        "```\n*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+c\n*** End Patch\n```\n",
        "```diff\n*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+c\n```\n",
        "*** Begin Patch\n*** Update File: ./f\n@@ -1,2 +1,2 @@ nothing\n a\n-b\n+c\n*** End Patch\nEOF\n",
        "\ufeff*** Begin Patch\n*** Update File: f\n@@ a @@\n-b\n+c\n*** End Patch\n",
    ],
    ids=["no end", "no begin", "blank lines", "fence", "fence for end", "line numbers", "mark and second @@"],
)
def test_what_does_not_change_the_meaning_is_forgiven(text: str) -> None:
    assert after(text, {"f": b"a\nb\n"}) == {"f": b"a\nc\n"}


def test_an_empty_line_is_empty_context_if_the_file_has_it_there() -> None:
    assert after(update("-a", "+x", "", " b"), {"f": b"a\nb\na\n\nb\n"})["f"] == b"a\nb\nx\n\nb\n"
    assert after(update("@@", "", " b", "-c", "+x", ""), {"f": b"b\nc\n\nb\nc\n\n"})["f"] == b"b\nc\n\nb\nx\n\n"
    assert after(update("@@", "", "-a", "+x", ""), {"f": b"a\nb\n"})["f"] == b"x\nb\n"
    assert after(patch("*** Add File: n", "+a", "", "+b", "", ""), {}) == {"n": b"a\n\nb\n"}


def test_what_is_not_found_is_quoted_with_what_is_most_like_it() -> None:
    text = update("@@ class B:", "     def run(self):", "-        return 2", "+        return 3")
    message = refused(text, {"f": CODE})
    assert message.startswith("f, line 3 of the patch: These lines were not found at the expected place:\n")
    assert "\n  `    def run(self):`\n  `        return 2`\n" in message
    assert "Its first line is at line 2, but line 3 is `        return 1`" in message
    message = refused(update("@@ class C:", "-x"), {"f": CODE})
    assert "f, line 3 of the patch: The file has no line `class C:`. The nearest line is 1: `class A:`" in message


def test_chunks_out_of_order_are_told_so() -> None:
    message = refused(update("-c", "+x", "@@", "-a", "+y"), {"f": b"a\nb\nc\n"})
    assert "f, line 5 of the patch" in message
    assert "The lines are at line 1, but this chunk cannot begin before line 4" in message
    assert "Put the chunks of a file in the order of its lines" in message


REFUSED = [
    (patch(), "The patch names no file"),
    (patch("hello"), "line 2 of the patch: `hello` does not belong here"),
    (patch("*** Rename File: f"), "line 2 of the patch: `*** Rename File: f` does not belong here"),
    (update("@@", "-a", "+b", "*** Foo"), "f, line 6 of the patch: `*** Foo` does not belong here"),
    (update("@@", "-a", "+b", "*** Move to: g"), "line 6 of the patch: `*** Move to: g` does not belong here"),
    (update("@@", "-a", "b"), "f, line 5 of the patch: `b` is not a line of a patch. Begin each line with a space"),
    (update(), "f, line 2 of the patch: The changed lines are missing"),
    (update("@@ a"), "f, line 3 of the patch: No lines follow the `@@`"),
    (update("*** End of File"), "The changed lines are missing"),
    (update("-a", "*** End of File", "*** End of File"), "line 5 of the patch: `*** End of File` does not belong"),
    (patch("*** Add File: n", "a"), "n, line 3 of the patch: `a` is not a line of a patch"),
    (patch("*** Add File: f", "+a"), "f, line 2 of the patch: The file already exists"),
    (patch("*** Delete File: n"), "n, line 2 of the patch: The file does not exist"),
    (patch("*** Delete File: f", "-a"), "f, line 3 of the patch: `-a` is not a line of a patch"),
    (update("-a", name="n"), "Check the path, or add the file with all its lines."),
    (update("*** Move to: g"), "g, line 2 of the patch: The file already exists"),
    (update("*** Move to: f"), "f, line 2 of the patch: The file is used twice: line 2 of the patch"),
    (patch("*** Delete File: f", "*** Add File: ./f", "+a"), "f, line 3 of the patch: The file is used twice"),
    (patch("*** Delete File: "), "line 2 of the patch: This cannot be the name of a file"),
    (patch("*** Delete File: /f"), "/f, line 2 of the patch: The path is absolute"),
    (update("*** Move to: ../f"), "../f, line 3 of the patch: The path contains `.` or `..`"),
    (patch("*** Delete File: x\0"), "cannot be the name of a file"),
    (
        patch("*** Delete File: f", "*** End Patch", "*** Delete File: g"),
        "line 4 of the patch: `*** Delete File: g`",
    ),
]


def test_it_is_refused_in_clear_words() -> None:
    bad = [(text, told) for text, told in REFUSED if told not in refused(text, {"f": b"a\n", "g": b"b\n"})]
    assert not bad


LINES = st.lists(
    st.sampled_from([b"", b"a", b"b", b" c", b"c", b"\tc ", b"@@ x", b"*** End Patch", b"\xff", b"+", b"}"])
)


@given(LINES, LINES, st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_a_patch_from_one_file_to_another_gives_exactly_the_other(
    old: list[bytes], new: list[bytes], end: bytes, open_ended: bool
) -> None:
    before, now = (b"".join(line + end for line in lines) for lines in (old, new))
    # A file of one line that nothing ends has no line ends of its own.
    if open_ended and old[1:] and new and old[-1] and new[-1]:
        before, now = before.removesuffix(end), now.removesuffix(end)
    if old and before != now:
        assert after(begun(before, now), {"f": before}) == {"f": now}


@given(st.integers(1, 30), st.data(), st.integers(1, 3), st.sampled_from([b"\n", b"\r\n"]))
def test_chunks_with_little_context_find_their_places_where_no_line_is_there_twice(
    count: int, data: st.DataObject, context: int, end: bytes
) -> None:
    old = [b"line %d" % number for number in range(count)]
    new = list(old)
    for turn in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(new)))
        new[at : at + data.draw(st.integers(0, 2))] = [b"new %d" % turn] * data.draw(st.integers(0, 2))
    before, now = (b"".join(line + end for line in lines) for lines in (old, new))
    if before != now:
        assert after(begun(before, now, context), {"f": before}) == {"f": now}
