"""Agreement with ``git apply``: where it applies a patch we give the same bytes, and where it refuses so do we."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from callgate.words.errors import ToolFailure
from tests.changes.patch_kit import after, split, unified

GIT = shutil.which("git")
pytestmark = pytest.mark.skipif(
    GIT is None and os.environ.get("CALLGATE_REQUIRE_TOOLS") != "1", reason="there is no git"
)

Files = dict[str, bytes]

# Where we are stricter than git, by what the refusal says.
STRICTER = (
    "no context",  # it would go to the end of the file, wherever the header says that it belongs
    "belongs to no hunk",  # git passes over it
    "No hunk with line numbers",  # so it does here
    "not the last one",  # git would join two lines
    "There is no line that this could be about",
    "used twice",
    "A hunk without a file",
    "changes nothing",
    "names are of different files",
)

# Context without a newline: git finds it at the beginning of a longer line too, and joins what comes after it.
GLUED = re.compile(rb"^ .*\n\\ ", re.MULTILINE)

LINES = st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b" \n", b"}\n", b"x\r\n", b"\xff\xfe\n", b"-- q\n", b"++ q\n"])
BODIES = st.builds(
    lambda lines, rest: b"".join(lines) + rest, st.lists(LINES, max_size=14), st.sampled_from([b"", b"", b"end", b"a"])
)

STRAY = (
    *(b"\n", b" a\n", b"-a\n", b"+a\n", b"x\n", b"@@ -1 +1 @@\n", b"@@ -2,3 +2,4 @@ f\n", b"@@\n", b"-- \n"),
    *(b"--- a/f\n", b"+++ b/f\n", b"+++ /dev/null\n", b"--- /dev/null\n", b"diff --git a/f b/f\n", b"rename to g\n"),
    *(b"\\ No newline at end of file\n", b"\\ No\n", b"new file mode 100644\n", b"deleted file mode 100644\n"),
)


def git_apply(patch: bytes, files: Files, *options: str) -> Files | None:
    """What git makes of it; None if it refuses."""
    assert GIT is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_CEILING_DIRECTORIES": str(folder.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": name,
            "LC_ALL": "C",
        }
        done = subprocess.run(
            [GIT, "apply", "--whitespace=nowarn", *options],
            input=patch,
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            return None
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def ours(patch: bytes, files: Files) -> Files | str:
    """What we make of it, or why we refuse."""
    try:
        return after(patch, files)
    except ToolFailure as failure:
        return str(failure)


def compare(patch: bytes, files: Files, *options: str) -> None:
    """The one promise of this file."""
    expected = git_apply(patch, files, *options)
    found = ours(patch, files)
    event("refused" if isinstance(found, str) else "applied")
    if isinstance(found, str):
        assert expected is None or any(word in found for word in STRICTER) or GLUED.search(patch), found
    else:
        assert found == expected or (GLUED.search(patch) and _joined(expected) < _joined(found))


def _joined(files: Files | None) -> int:
    """Fewer lines are left where some were joined."""
    return sum(data.count(b"\n") for data in files.values()) if files is not None else 2**31


@st.composite
def edited(draw: st.DrawFn, body: bytes) -> bytes:
    """The body with a few lines put in, taken out or replaced."""
    lines = split(body)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines)))
        gone = draw(st.integers(0, 2))
        lines[at : at + gone] = [line for line in draw(st.lists(LINES, max_size=2)) if line]
    # Only the last line may be without a newline.
    return b"".join(
        line if line.endswith(b"\n") or at == len(lines) - 1 else line + b"\n" for at, line in enumerate(lines)
    )


@given(st.data(), BODIES, st.integers(0, 4))
def test_a_diff_gives_the_other_file_just_as_with_git(data: st.DataObject, before: bytes, context: int) -> None:
    now = data.draw(edited(before))
    assume(before != now)
    patch = b"--- a/f\n+++ b/f\n" + unified(before, now, context)
    files = {"f": before}
    if context:
        assert after(patch, files) == {"f": now}
    compare(patch, files)


@pytest.mark.slow
@given(st.data(), BODIES, st.integers(1, 3))
def test_a_file_that_has_changed_meanwhile_gets_the_patch_just_as_from_git(
    data: st.DataObject, before: bytes, context: int
) -> None:
    now = data.draw(edited(before))
    there = data.draw(edited(before))
    assume(before != now)
    compare(b"--- a/f\n+++ b/f\n" + unified(before, now, context), {"f": there})


@pytest.mark.slow
@given(st.data(), st.lists(st.sampled_from([b"a\n", b"b\n"]), max_size=12), st.integers(1, 2))
def test_lines_that_repeat_are_found_at_the_same_one_of_many_places(
    data: st.DataObject, lines: list[bytes], context: int
) -> None:
    before = b"".join(lines)
    now = data.draw(edited(before))
    there = b"".join(data.draw(st.lists(st.sampled_from([b"a\n", b"b\n"]), max_size=16)))
    assume(before != now)
    patch = b"--- a/f\n+++ b/f\n" + unified(before, now, context)
    for shift in (b"-1,", b"-2,", b"-9,"):
        compare(patch.replace(b"-1,", shift, 1), {"f": there})


@pytest.mark.slow
@given(st.data(), BODIES)
def test_a_patch_with_a_line_changed_is_taken_or_refused_just_as_by_git(data: st.DataObject, before: bytes) -> None:
    now = data.draw(edited(before))
    assume(before != now)
    lines = split(b"diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n" + unified(before, now, 2))
    at = data.draw(st.integers(0, len(lines) - 1))
    others = st.sampled_from(STRAY)
    lines[at : at + data.draw(st.integers(0, 2))] = data.draw(st.lists(others, max_size=2))
    compare(b"".join(lines), {"f": before})


@pytest.mark.slow
@given(st.data(), BODIES, BODIES)
def test_sections_of_all_kinds_do_just_what_git_does(data: st.DataObject, one: bytes, two: bytes) -> None:
    now = data.draw(edited(one))
    files = {"d/one": one, "two": two}
    hunks = unified(one, now, 3)
    names = b"--- a/d/one\n+++ b/d/new\n" if hunks else b""
    section = data.draw(
        st.sampled_from(
            [
                b"diff --git a/d/one b/d/new\nsimilarity index 50%\nrename from d/one\nrename to d/new\n"
                + names
                + hunks,
                b"diff --git a/d/one b/d/new\nsimilarity index 50%\ncopy from d/one\ncopy to d/new\n" + names + hunks,
                b"diff --git a/d/one b/two\nrename from d/one\nrename to two\n",
                b"diff --git a/new b/new\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/new\n"
                + unified(b"", two),
                b"diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n",
                b"--- /dev/null\n+++ b/d/new\n" + unified(b"", two),
                b"--- a/two\n+++ /dev/null\n" + unified(two, b""),
                b"--- a/new\n+++ b/new\n" + unified(b"", two),
                b"--- a/two\t2020-01-01 10:00:00 +0100\n+++ b/two\t1970-01-01 01:00:00.000000000 +0100\n"
                + unified(two, b""),
                b"diff --git a/two b/two\ndeleted file mode 100644\nindex 1..0\n--- a/two\n+++ /dev/null\n"
                + unified(two, b""),
                b"diff --git a/two b/two\ndeleted file mode 100644\nindex 1..0\n",
                b"diff --git a/two b/two\nold mode 100644\nnew mode 100755\n",
                b"--- a/d/one.orig\n+++ b/d/one\n" + hunks,
            ]
        )
    )
    compare(section, files)
    compare(section + b"--- a/d/one\n+++ b/d/one\n" + hunks, files)


@pytest.mark.slow
@given(st.data(), st.text(st.sampled_from('ab \t"\\é/.'), min_size=1, max_size=8))
def test_names_are_read_just_as_by_git(data: st.DataObject, name: str) -> None:
    # We forgive it at the beginning.
    assume(not name.startswith("./"))
    quoted = (
        '"b/' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("é", "\\303\\251") + '"'
    )
    plain = "b/" + name
    side = data.draw(st.sampled_from([quoted, plain, plain + "\t"]))
    patch = f"--- /dev/null\n+++ {side}\n@@ -0,0 +1 @@\n+x\n".encode()
    expected = git_apply(patch, {})
    found = ours(patch, {})
    event("refused" if isinstance(found, str) else "applied")
    assert isinstance(found, str) or found == expected


def test_diffs_without_prefixes_are_those_of_p0() -> None:
    for patch in (
        b"--- d/f\n+++ d/f\n@@ -1 +1 @@\n-x\n+y\n",
        b"diff --git d/f d/f\nindex 1..2 100644\n--- d/f\n+++ d/f\n@@ -1 +1 @@\n-x\n+y\n",
        b"diff --git b/f b/f\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+y\n",
        b"diff --git d/f d/f\nold mode 100644\nnew mode 100755\n",
    ):
        found = git_apply(patch, {"d/f": b"x\n"}, "-p0")
        assert found is not None
        assert after(patch, {"d/f": b"x\n"}) == found


@pytest.mark.slow
@given(BODIES, BODIES)
def test_what_git_diff_writes_is_understood(before: bytes, now: bytes) -> None:
    assume(before != now)
    assert GIT is not None
    with tempfile.TemporaryDirectory() as name:
        for folder, data in (("old", before), ("new", now)):
            (Path(name) / folder).mkdir()
            (Path(name) / folder / "f").write_bytes(data)
        done = subprocess.run(
            [GIT, "diff", "--no-index", "--text", "old/f", "new/f"], cwd=name, capture_output=True, check=False
        )
    patch = done.stdout.replace(b"a/old/f", b"a/f").replace(b"b/new/f", b"b/f")
    assert after(patch, {"f": before}) == {"f": now}
