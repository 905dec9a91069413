"""The patch of a ChangeSet: what git makes of it, and what people read in it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.changes.diff import quoted, unified
from callgate.changes.hunks import file_diff, lines_of
from callgate.words.changes import ChangeSet, FileChange, Stored
from tests.profiles import fewer
from tests.rows import rows

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

Tree = dict[str, tuple[bytes, int]]
"""Content and permissions of each path; permissions of 0 stand for a symbolic link."""

LINK = 0
NAMES = st.text('ab .-"\\\té\n\x7f\udce9/', min_size=1, max_size=6)
PATHS = NAMES.filter(lambda name: not any(part in ("", ".", "..") for part in name.split("/")))
TEXTS = st.lists(st.sampled_from([b"a", b"b", b"", b"-- x", b"++ y", b"\xe9", b"caf\xc3\xa9", b"\\ z", b"@@ -1 +1 @@"]))
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
CONTENTS = st.builds(
    lambda lines, end, last: end.join([*lines, b""]) + last, TEXTS, ENDS, st.sampled_from([b"", b"end", b"\r"])
)
MODES = st.sampled_from([0o644, 0o755])
FILES = st.tuples(CONTENTS, MODES)
LINKS = st.tuples(st.sampled_from([b"x", b"../y z", b"/a/\xc3\xa9"]), st.just(LINK))


def changed(path: str, before: bytes | None, after: bytes | None, context: int = 3) -> str:
    return unified(ChangeSet("", (FileChange(path, before, after),)), context)


def lay(root: Path, tree: Tree) -> None:
    for path, (data, mode) in tree.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if mode == LINK:
            place.symlink_to(os.fsdecode(data))
        else:
            place.write_bytes(data)
            place.chmod(mode)


def found(root: Path) -> Tree:
    tree: Tree = {}
    for folder, _, names in os.walk(root):
        for name in names:
            place = Path(folder, name)
            path = str(place.relative_to(root))
            if place.is_symlink():
                tree[path] = (os.fsencode(place.readlink()), LINK)
            else:
                tree[path] = (place.read_bytes(), place.stat().st_mode & 0o777)
    return tree


def applied(tree: Tree, patch: str) -> Tree:
    """The tree after the real git has applied the patch."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lay(root, tree)
        if patch:
            ran = subprocess.run(
                ["git", "apply", "--whitespace=nowarn", "-"],
                input=patch.encode("utf-8", "surrogateescape"),
                cwd=root,
                capture_output=True,
                env={"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(root.parent), "HOME": folder},
                umask=0o022,
                check=False,
            )
            assert ran.returncode == 0, ran.stderr.decode(errors="replace") + patch.encode(errors="replace").decode()
        return found(root)


def change_of(path: str, before: tuple[bytes, int] | None, after: tuple[bytes, int] | None) -> FileChange:
    one, old = before or (None, None)
    other, new = after or (None, None)
    link = LINK in (old, new)
    return FileChange(
        path=path,
        before=one,
        after=other,
        source=None,
        mode=None if link else new,
        mode_before=None if link else old,
        link=link,
    )


def set_of(before: Tree, after: Tree, moved: Mapping[str, str]) -> ChangeSet:
    """``moved`` says where a file of ``after`` was before."""
    files = [
        FileChange(
            path=new,
            before=before[old][0],
            after=after[new][0],
            source=old,
            mode=after[new][1],
            mode_before=before[old][1],
        )
        for new, old in moved.items()
    ]
    others = sorted((before.keys() | after.keys()) - moved.keys() - set(moved.values()))
    files += [change_of(path, before.get(path), after.get(path)) for path in others]
    return ChangeSet("random", tuple(files))


@st.composite
def pairs_of_trees(draw: st.DrawFn) -> tuple[Tree, Tree, dict[str, str]]:
    paths = draw(st.lists(PATHS, min_size=1, max_size=4, unique=True))
    # No path may be a folder of another one.
    paths = [path for path in paths if not any(other.startswith(f"{path}/") for other in paths)]
    before: Tree = {}
    after: Tree = {}
    moved: dict[str, str] = {}
    for path in paths:
        kind = draw(st.sampled_from(["create", "delete", "replace", "few", "mode", "rename", "link"]))
        old, new = draw(LINKS if kind == "link" else FILES), draw(LINKS if kind == "link" else FILES)
        if kind == "few":
            new = (_some_lines_changed(draw, old[0]), old[1])
        elif kind == "mode":
            new = (old[0], new[1])
        if kind != "create":
            before[path] = old
        if kind == "rename":
            moved[f"to/{path}"] = path
            after[f"to/{path}"] = new if draw(st.booleans()) else old
        elif kind != "delete":
            after[path] = new
    return before, after, moved


def _some_lines_changed(draw: st.DrawFn, data: bytes) -> bytes:
    lines = lines_of(data * 3)
    for at in draw(st.sets(st.integers(0, max(len(lines) - 1, 0)))):
        lines[at : at + 1] = draw(st.sampled_from([[], [b"new\n"], [b"new\r\n", b"newer\n"]]))
    return b"".join(lines)


@given(pairs_of_trees(), st.sampled_from([1, 3, 10]))
@fewer(25)
def test_git_applies_the_patch_to_the_very_bytes(trees: tuple[Tree, Tree, dict[str, str]], context: int) -> None:
    before, after, moved = trees
    changes = set_of(before, after, moved)
    assert applied(before, unified(changes, context)) == after
    assert applied(after, unified(changes.inverse, context)) == before


@given(CONTENTS, CONTENTS)
def test_the_numbers_of_lines_are_those_of_the_patch(before: bytes, after: bytes) -> None:
    diff = file_diff(FileChange("f", before, after))
    lines = [line for hunk in diff.hunks for line in hunk.lines]
    assert diff.added == sum(mark == "added" for mark, _ in lines)
    assert diff.removed == sum(mark == "removed" for mark, _ in lines)
    assert len(lines_of(before)) - diff.removed == len(lines_of(after)) - diff.added
    for hunk in diff.hunks:
        assert hunk.before_count == sum(mark != "added" for mark, _ in hunk.lines)
        assert hunk.after_count == sum(mark != "removed" for mark, _ in hunk.lines)


def test_a_patch_reads_like_gits_own() -> None:
    before = b"".join(b"%d\n" % at for at in range(1, 21))
    after = before.replace(b"\n3\n", b"\nthree\n").replace(b"\n12\n", b"\n").replace(b"20\n", b"20\n21")
    assert changed("numbers.txt", before, after) == (
        "diff --git a/numbers.txt b/numbers.txt\n"
        "--- a/numbers.txt\n"
        "+++ b/numbers.txt\n"
        "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n"
        "@@ -9,7 +9,6 @@\n 9\n 10\n 11\n-12\n 13\n 14\n 15\n"
        "@@ -18,3 +17,4 @@\n 18\n 19\n 20\n+21\n\\ No newline at end of file\n"
    )


@rows(
    ("before", "after", "expected"),
    [
        (None, b"", "new file mode 100644\n"),
        (b"", None, "deleted file mode 100644\n"),
        (None, b"a\n", "new file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"),
        (b"a\nb\n", None, "deleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"),
        (b"a\n", b"a", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"),
        (b"a\n", b"a\r\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\r\n"),
        (b"", b"a\n", "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"),
        (b"\xe9\n", b"\xe8\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-\udce9\n+\udce8\n"),
    ],
    ids=["empty-new", "empty-gone", "new", "gone", "no-newline", "crlf", "filled", "latin"],
)
def test_what_a_patch_says_about_one_file(before: bytes | None, after: bytes | None, expected: str) -> None:
    assert changed("f", before, after) == f"diff --git a/f b/f\n{expected}"


def test_a_file_that_does_not_change_is_not_mentioned() -> None:
    same = FileChange("a", b"x", b"x")
    assert unified(ChangeSet("", (same, FileChange("b", None, None), FileChange("c", b"1", b"1", mode=0o644)))) == (
        "diff --git a/c b/c\nnew mode 100644\n"
    )
    assert unified(ChangeSet("", ())) == ""


def test_modes_renames_and_links_are_said_in_the_header() -> None:
    files = (
        FileChange("run", b"x\n", b"x\n", mode=0o755, mode_before=0o644),
        FileChange("new name", b"x\n", b"x\n", "old"),
        FileChange("link", b"there", b"here", link=True),
        FileChange("tool", None, b"", mode=0o600),
    )
    assert unified(ChangeSet("", files)) == (
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        "diff --git a/old b/new name\nrename from old\nrename to new name\n"
        "diff --git a/link b/link\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n"
        "-there\n\\ No newline at end of file\n+here\n\\ No newline at end of file\n"
        "diff --git a/tool b/tool\nnew file mode 100600\n"
    )
    assert "new file mode 120000\n" in unified(ChangeSet("", (FileChange("l", None, b"x", link=True),)))


def test_a_rename_that_also_changes_has_both() -> None:
    patch = unified(ChangeSet("", (FileChange("b", b"1\n", b"2\n", "a"),)))
    assert patch == "diff --git a/a b/b\nrename from a\nrename to b\n--- a/a\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n"


def test_a_binary_file_is_said_by_sizes_and_hashes() -> None:
    assert changed("i.png", b"\0", b"\0\0").splitlines() == [
        "diff --git a/i.png b/i.png",
        "Binary files a/i.png and b/i.png differ",
        "before: 1 bytes, sha256 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "after: 2 bytes, sha256 96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    ]
    assert "Binary files /dev/null and b/i.png differ\nafter: 1 bytes" in changed("i.png", None, b"\0")


def test_large_content_is_said_by_size_and_hash_and_never_read() -> None:
    large = Stored("ab" * 32, 5_000_000, "/nowhere/at/all")
    patch = unified(ChangeSet("", (FileChange("big", b"small\n", large),)))
    assert "\nFiles a/big and b/big differ, too large to show\nbefore: 6 bytes, sha256 " in patch
    assert patch.endswith(f"\nafter: 5000000 bytes, sha256 {'ab' * 32}\n")
    moved = unified(ChangeSet("", (FileChange("b", large, large, "a"),)))
    assert moved == "diff --git a/a b/b\nrename from a\nrename to b\n"


def test_utf_16_is_shown_as_its_text() -> None:
    patch = changed("w.txt", "a\r\nb\r\n".encode("utf-16"), "a\r\né\r\n".encode("utf-16"))
    assert patch == (
        "diff --git a/w.txt b/w.txt\nshown as text: utf-16-le\n"
        "--- a/w.txt\n+++ b/w.txt\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+é\r\n"
    )
    assert changed("w.txt", "a\n".encode("utf-16"), b"a\n") == (
        "diff --git a/w.txt b/w.txt\nshown as text: utf-16-le → utf-8\n"
    )
    assert "shown as text: utf-16-le\n" in changed("w.txt", None, "a\n".encode("utf-16"))


def test_a_change_of_the_byte_order_mark_is_seen() -> None:
    assert changed("f", b"a\n", b"\xef\xbb\xbfa\n").endswith("-a\n+\ufeffa\n")


@rows(
    ("path", "expected"),
    [
        ("a b", "a b"),
        ("é", "é"),
        ('a"b', '"a\\"b"'),
        ("a\\b", '"a\\\\b"'),
        ("a\tb\nc", '"a\\tb\\nc"'),
        ("\x01\x7f\udce9", '"\\001\\177\\351"'),
        ("a ", '"a "'),
    ],
    ids=["blank", "letter", "quote", "backslash", "tab", "octal", "last-blank"],
)
def test_odd_names_are_quoted_as_git_does(path: str, expected: str) -> None:
    assert quoted(path) == expected


def test_paths_are_named_from_the_root() -> None:
    change = FileChange("/srv/project/src/a b.py", b"1\n", b"2\n")
    assert "\n--- a/src/a b.py\t\n+++ b/src/a b.py\t\n" in unified(ChangeSet("", (change,)), root="/srv/project")
    assert "--- a/srv/project/src/a b.py\t\n" in unified(ChangeSet("", (change,)))
    assert "--- a/srv/project/src/a b.py\t\n" in unified(ChangeSet("", (change,)), root="/srv/pro")
