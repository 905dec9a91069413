"""Unified diffs: what is understood, and how the rest is refused."""

from tests.changes.patch_kit import after, change_set, refused
from tests.rows import rows

TEN = b"".join(b"%d\n" % number for number in range(1, 11))


def hunk(*lines: str, name: str = "f") -> str:
    return f"--- a/{name}\n+++ b/{name}\n" + "".join(line + "\n" for line in lines)


def test_a_hunk_changes_its_lines_and_leaves_the_rest() -> None:
    patch = hunk("@@ -2,3 +2,3 @@ def f():", " 2", "-3", "+three", " 4")
    assert after(patch, {"f": TEN}) == {"f": TEN.replace(b"3\n", b"three\n")}


def test_a_hunk_is_found_where_its_lines_have_moved_to() -> None:
    patch = hunk("@@ -2,3 +2,3 @@", " 2", "-3", "+three", " 4")
    moved = b"new\n" * 50 + TEN
    assert after(patch, {"f": moved}) == {"f": moved.replace(b"3\n", b"three\n")}


def test_of_two_places_the_nearest_is_taken_and_of_two_as_near_the_later() -> None:
    patch = hunk("@@ -4,2 +4,3 @@", " a", "+new", " b")
    assert after(patch, {"f": b"x\na\nb\nx\nx\na\nb\n"})["f"] == b"x\na\nb\nx\nx\na\nnew\nb\n"
    assert after(patch, {"f": b"x\nx\na\nb\nx\nx\na\nb\n"})["f"] == b"x\nx\na\nnew\nb\nx\nx\na\nb\n"


def test_no_context_is_dropped_to_make_a_hunk_fit() -> None:
    message = refused(hunk("@@ -2,3 +2,3 @@", " 2", "-3", "+three", " four"), {"f": TEN})
    assert message.startswith(
        "f, line 3 of the patch: These lines were not found at the expected place:\n  `2`\n  `3`\n"
    )
    assert "Its first 2 lines are at line 2, but line 4 is `4`" in message
    assert message.endswith("Read the file again and copy the lines exactly.")


@rows(
    ("data", "now"),
    [
        (b"0\r\n1\r\n2\r\n3\r\n", b"0\r\n1\r\ntwo\r\n3\r\n"),
        (b"0\n1\n2\n3", b"0\n1\ntwo\n3"),
        (b"0\n1\n  2\n3\n", b"0\n1\ntwo\n3\n"),
    ],
    ids=["line ends", "last newline", "white space"],
)
def test_white_space_and_line_ends_of_context_are_forgiven(data: bytes, now: bytes) -> None:
    assert after(hunk("@@ -2,3 +2,3 @@", " 1", "-2", "+two", " 3"), {"f": data}) == {"f": now}


def test_a_line_that_is_almost_there_is_shown() -> None:
    data = b"import os\n\ndef compute(a, b):\n    pass\n"
    message = refused(hunk("@@ -3,1 +3,1 @@", "-def compute(a, c):", "+def compute(a):"), {"f": data})
    assert "The nearest line is 3: `def compute(a, b):`" in message


def test_two_hunks_never_share_lines() -> None:
    patch = hunk("@@ -2,2 +2,2 @@", "-2", "+two", " 3", "@@ -3,3 +3,3 @@", " 3", "-4", "+four", " 5")
    message = refused(patch, {"f": TEN})
    assert "The lines are at line 3, but this chunk cannot begin before line 4." in message


def test_new_lines_without_context_are_refused_unless_there_is_only_one_place() -> None:
    message = refused(hunk("@@ -3,0 +4,1 @@", "+new"), {"f": TEN})
    assert "The position of the new lines is missing" in message
    assert after(hunk("@@ -10,0 +11,1 @@", "+new"), {"f": TEN}) == {"f": TEN + b"new\n"}
    assert after(hunk("@@ -0,0 +1,1 @@", "+new"), {"f": b""}) == {"f": b"new\n"}


def test_the_newline_at_the_end_comes_and_goes() -> None:
    gone = hunk("@@ -1 +1 @@", "-a", "+b", "\\ No newline at end of file")
    come = hunk("@@ -1 +1 @@", "-b", "\\ No newline at end of file", "+a")
    kept = hunk("@@ -1,2 +1,2 @@", "-x", "+y", " b", "\\ Kein Zeilenumbruch am Dateiende.")
    assert after(gone, {"f": b"a\n"}) == {"f": b"b"}
    assert after(come, {"f": b"b"}) == {"f": b"a\n"}
    assert after(kept, {"f": b"x\nb"}) == {"f": b"y\nb"}


def test_bytes_that_are_no_text_and_line_ends_pass_through() -> None:
    patch = b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n \xef\xbb\xbf\xff\r\n-b\xe9\r\n+c\xe9\r\n"
    data = b"\xef\xbb\xbf\xff\r\nb\xe9\r\n"
    assert after(patch, {"f": data}) == {"f": data.replace(b"b\xe9", b"c\xe9")}
    assert after(patch.decode("utf-8", "surrogateescape"), {"f": data}) == {"f": data.replace(b"b\xe9", b"c\xe9")}


def test_only_a_newline_ends_a_line() -> None:
    patch = hunk("@@ -1,2 +1,2 @@", " a\rb\x0b\x85c", "-d", "+e")
    data = "a\rb\x0b\x85c\nd\n".encode()
    assert after(patch, {"f": data}) == {"f": data.replace(b"\nd\n", b"\ne\n")}


def test_the_last_newline_of_the_patch_may_be_missing() -> None:
    assert after(hunk("@@ -1 +1 @@", "-a", "+b").rstrip("\n"), {"f": b"a\n"}) == {"f": b"b\n"}


def test_what_stands_around_the_diff_is_passed_over() -> None:
    patch = (
        "From 1234 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] it\n\n---\n f | 2 +-\n 1 file changed\n\n"
        "diff --git a/f b/f\nindex 1..2 100644\n" + hunk("@@ -1 +1 @@", "-a", "+b") + "-- \n2.39.5\n\n"
    )
    assert after(patch, {"f": b"a\n"}) == {"f": b"b\n"}
    assert after(f"```diff\n{patch}```\n", {"f": b"a\n"}) == {"f": b"b\n"}


def test_renames_keep_their_source() -> None:
    patch = (
        "diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\nindex 1..2 100644\n"
        "--- a/old\n+++ b/new\n@@ -1 +1 @@\n-a\n+b\n"
    )
    (renamed,) = change_set(patch, {"old": b"a\n"}).files
    assert (renamed.source, renamed.path, renamed.before, renamed.after) == ("old", "new", b"a\n", b"b\n")


def test_modes_are_what_git_knows_of_them() -> None:
    patch = (
        "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
        "diff --git a/g b/g\nold mode 100755\nnew mode 100644\n"
        "diff --git a/n b/n\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
        "diff --git a/m b/m\nnew file mode 100644\nindex 0..1\n"
    )
    files = change_set(patch, {"f": b"a", "g": b"b"}).files
    assert [(each.path, each.kind, each.mode) for each in files] == [
        ("f", "mode", 0o755),
        ("g", "mode", 0o644),
        ("n", "create", 0o755),
        ("m", "create", None),
    ]
    assert all(each.mode_before is None for each in files)


@rows(
    ("old", "new", "name"),
    [
        ("a/d/f", "b/d/f", "d/f"),
        ("d/f", "d/f", "d/f"),
        ("i/d/f", "w/d/f", "d/f"),
        ("project.orig/d/f", "project/d/f", "d/f"),
        ("./d/f", "./d/f", "d/f"),
        ('"a/\\303\\251\\t\\"\\\\"', '"b/\\303\\251\\t\\"\\\\"', 'é\t"\\'),
        ("a/with space\t", "b/with space\t", "with space"),
        ("a/d/f\t2020-01-01 00:00:00.1 +0200", "b/d/f\t2021-01-01 00:00:00.1 +0200", "d/f"),
        ("a/d/f\r", "b/d/f\r", "d/f"),
    ],
    ids=["git", "none", "mnemonic", "folders", "dot", "quoted", "space", "time", "windows"],
)
def test_names_are_found(old: str, new: str, name: str) -> None:
    assert after(f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n", {name: b"a\n"}) == {name: b"b\n"}


def test_a_new_file_loses_the_prefix_of_git() -> None:
    assert set(after("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", {})) == {"n"}
    assert set(after("--- /dev/null\n+++ n/b\n@@ -0,0 +1 @@\n+x\n", {})) == {"n/b"}


GIT = "diff --git a/f b/f\n"


REFUSED = [
    ("", "The patch is empty"),
    ("hello\n", "The patch contains no change"),
    ("@@ -1 +1 @@\n-a\n+b\n", "line 1 of the patch: The hunk has no file name"),
    (GIT + "index 1..2 100644\nGIT binary patch\nliteral 1\nIcmZ\n", "f, line 3 of the patch: This is a binary patch"),
    (
        GIT + "index 1..2 100644\nBinary files a/f and b/f differ\n",
        "line 3 of the patch: This is a binary patch: `Binary files a/f and",
    ),
    ("Binary files x and y differ\n", "line 1 of the patch: This is a binary patch: `Binary files x and y differ`"),
    (GIT + "new file mode 120000\n", "f, line 1 of the patch: `120000` is not the mode of a file"),
    (GIT + "index 1..2 120000\n", "`120000` is not the mode of a file"),
    (GIT + "new file mode 160000\n", "submodules are not patched"),
    (GIT + "old mode 100644\nnew mode 12\n", "f, line 1 of the patch: `12` is not the mode of a file"),
    (GIT, "f, line 1 of the patch: The section changes nothing"),
    (GIT + "rename from f\n", "One of the two names is missing"),
    (GIT + "rename from f\nrename to f\n", "used twice"),
    (GIT + "rename from f\nrename to there\n", "there, line 1 of the patch: The file already exists"),
    (GIT + "copy from none\ncopy to new\n", "f, line 1 of the patch: Copies of files"),
    (GIT + "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n", "f, line 1 of the patch: The file already exists"),
    (GIT + "new file mode 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "The file already exists"),
    (hunk("@@ -1 +1 @@", "-a", "+b", name="none"), "none, line 1 of the patch: The file does not exist"),
    (hunk("@@ -1 +1 @@", "-a", "+b", name="/etc/f"), "The path is absolute"),
    (
        "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n--- /two\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        "/two, line 6 of the patch: The path is",
    ),
    ("--- a/f\n+++ b/f.py\n@@ -1 +1 @@\n-a\n+b\n", "different files: `a/f` and `b/f.py`"),
    (hunk("@@ -1 +1 @@", "-a", "+b", name="x/../../f"), "The path contains `.` or `..`"),
    (hunk("@@ -1 +1 @@", "-a", "+b", name=".git/config"), "Files in .git cannot be patched"),
    (hunk("@@ -1 +1 @@", "-a", "+b", name="x/"), "cannot be the name of a file"),
    (hunk("@@ -1 +1 @@", "-a", "+b", name="./"), "This cannot be the name of a file"),
    (hunk("@@ -1 +1 @@", "-a", "+b", name="x/./f"), "The path contains `.` or `..`"),
    (hunk("@@ -1 +1 @@", "-a", "+b") * 2, "f, line 6 of the patch: The file is used twice: line 1 of the patch"),
    ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "The name of the file is missing"),
    ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n", "f, line 1 of the patch: The file already exists"),
    (
        "--- /dev/null\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n",
        "g, line 3 of the patch: These lines were not found at the expected place",
    ),
    ("--- a/f\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "f, line 1 of the patch: The file would be deleted, but not all"),
    ("--- a/two\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "not all its lines are in the patch"),
    ("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "different files: `a/f` and `b/g`"),
    ('--- "a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n', "line 1 of the patch: The quotes around the name are wrong"),
    (hunk("@@ ... @@", "-a", "+b"), "f, line 3 of the patch: No hunk with line numbers"),
    (hunk("@@ -x +1 @@", "-a", "+b"), "line 3 of the patch: `@@ -x +1 @@` is not the header of a hunk"),
    (hunk("@@ -1,2 +1,2 @@", "-a", "+b"), "does not match the lines below it"),
    (hunk("@@ -1,2 +1,2 @@", "-a", "+b", "c"), "does not match the lines below it"),
    (hunk("@@ -1,1 +1,2 @@", "-a", "-b", "+c"), "does not match the lines below it"),
    (hunk("@@ -1 +1 @@", "-a", "+b", "+c"), "line 6 of the patch: `+c` belongs to no hunk"),
    (hunk("@@ -1 +1 @@", "-a", "+b", "", "+c"), "line 7 of the patch: `+c` belongs to no hunk"),
    (hunk("@@ -1 +1 @@", " a"), "line 3 of the patch: The hunk changes nothing"),
    (hunk("@@ -1 +1 @@", "\\ No newline at end of file", "-a", "+b"), "does not match the lines below it"),
    (hunk("@@ -1,1 +1,2 @@", " a", "\\ No newline at end of file", "+b"), "a line that is not the last one"),
    ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-\ud800\n+b\n", "line 4 of the patch: The text contains half of a character"),
]


def test_it_is_refused_in_clear_words() -> None:
    bad = [
        (patch, told)
        for patch, told in REFUSED
        if told not in refused(patch, {"f": b"a\n", "two": b"a\nb\n", "there": b""})
    ]
    assert not bad


def test_a_deletion_names_every_line_or_none() -> None:
    assert after("diff --git a/f b/f\ndeleted file mode 100644\nindex 1..0\n", {"f": b"a\n"}) == {}
    patch = "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert "not all its lines are in the patch" in refused(patch, {"f": b"a\nb\n"})


def test_the_label_is_the_callers_or_says_what_is_patched() -> None:
    one = change_set(hunk("@@ -1 +1 @@", "-a", "+b"), {"f": b"a\n"})
    assert (one.label, one.tool, one.count) == ("patch f", "", None)
    new = "new file mode 100644\n"
    assert change_set(f"diff --git a/x b/x\n{new}{GIT}{new}", {}).label == "patch 2 files"
