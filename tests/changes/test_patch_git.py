"""Agreement with git: its diffs are understood, and applied to the files they were made of they give the same bytes."""

import os
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

LINES = st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b" \n", b"}\n", b"x\r\n", b"\xff\xfe\n", b"-- q\n", b"++ q\n"])
BODIES = st.builds(
    lambda lines, rest: b"".join(lines) + rest, st.lists(LINES, max_size=14), st.sampled_from([b"", b"", b"end", b"a"])
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


@given(st.data(), BODIES, st.integers(1, 4))
def test_a_diff_gives_the_other_file_just_as_with_git(data: st.DataObject, before: bytes, context: int) -> None:
    now = data.draw(edited(before))
    assume(before != now)
    patch = b"--- a/f\n+++ b/f\n" + unified(before, now, context)
    assert after(patch, {"f": before}) == {"f": now}
    assert git_apply(patch, {"f": before}) in ({"f": now}, None)


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
