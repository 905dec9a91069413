"""Write, Edit and ApplyPatch as a model calls them: what they need, what they keep, and what they answer."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callgate.testing import MemoryHost
from tests.changes.patch_kit import unified
from tests.profiles import fewer
from tests.rows import rows
from tests.tools.file_kit import Workspace


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path.resolve())


@pytest.mark.spec("BLT-3")
def test_a_new_file_is_written_with_its_folders_and_undone(work: Workspace) -> None:
    result = work.call("Write", file_path="src/deep/a.py", content="x = 1\r\n")
    assert work.bytes_of("src/deep/a.py") == b"x = 1\r\n"
    assert result.text == "Created src/deep/a.py: 1 file, +1 −0"
    assert result.display[0].kind == "diff"
    assert work.changes is not None
    asyncio.run(work.host.apply(work.changes.inverse))
    assert not (work.root / "src").exists()


def test_a_mark_of_the_encoding_is_not_written_twice(work: Workspace) -> None:
    work.write({"a.txt": b"\xef\xbb\xbfone\r\n"})
    work.call("Read", file_path="a.txt")
    work.call("Write", file_path="a.txt", content="\ufefftwo\n")
    assert work.bytes_of("a.txt") == b"\xef\xbb\xbftwo\r\n"


@pytest.mark.spec("BLT-19")
def test_an_existing_file_needs_a_complete_and_current_read(work: Workspace) -> None:
    lines = "".join(f"{number}\n" for number in range(3000))
    work.write({"a.txt": lines, "empty.txt": ""})
    calls = (("Write", {"content": "new"}), ("Edit", {"old_string": "2999", "new_string": "x"}))
    for name, arguments in calls:
        assert "has not been read: Read all of it" in work.refused(name, file_path="a.txt", **arguments)
    work.call("Read", file_path="a.txt")
    for name, arguments in calls:
        said = work.refused(name, file_path="a.txt", **arguments)
        assert "read in part, but not from number 2001 of 3000 on" in said
        assert "Read on with offset=2001" in said
    work.call("Read", file_path="a.txt", offset=2001)
    work.write({"a.txt": lines.replace("7", "8")})  # of the same size
    for name, arguments in calls:
        assert "has changed since it was read" in work.refused(name, file_path="a.txt", **arguments)
    assert work.bytes_of("a.txt") == lines.replace("7", "8").encode()
    work.call("Write", file_path="empty.txt", content="nothing was there to lose")


@pytest.mark.spec("BLT-19")
def test_a_mark_of_another_session_or_another_file_does_not_count(work: Workspace) -> None:
    work.write({"a.txt": "a\n", "b.txt": "a\n"})
    work.call("Read", file_path="a.txt")
    other = Workspace(work.root, work.host)
    other.messages = 100
    assert "has not been read" in other.refused("Write", file_path="a.txt", content="b")
    assert "has not been read" in work.refused("Write", file_path="b.txt", content="b")
    work.context = dict.fromkeys(work.context, "x")
    assert "has not been read" in work.refused("Write", file_path="a.txt", content="b")


@pytest.mark.spec("BLT-19")
def test_a_second_edit_of_one_message_knows_of_the_first_before_its_update_is_on_record(work: Workspace) -> None:
    work.write({"a.txt": "one two three\n"})
    work.call("Read", file_path="a.txt", message="m", released=False)
    work.call("Edit", file_path="a.txt", old_string="one", new_string="1", message="m", released=False)
    work.call("Edit", file_path="a.txt", old_string="two", new_string="2", message="m", released=False)
    assert work.bytes_of("a.txt") == b"1 2 three\n"
    said = work.refused("Edit", file_path="a.txt", old_string="three", new_string="3", message="other")
    assert "has not been read" in said, "another message has only what is on record"


@pytest.mark.spec("BLT-19")
def test_what_the_session_wrote_itself_is_known_until_another_changes_it(work: Workspace) -> None:
    work.call("Write", file_path="a.txt", content="one\n")
    work.call("Edit", file_path="a.txt", old_string="one", new_string="two")
    work.call("ApplyPatch", patch="*** Begin Patch\n*** Update File: a.txt\n-two\n+three\n*** End Patch\n")
    work.call("Edit", file_path="a.txt", old_string="three", new_string="four")
    work.write({"a.txt": "other\n"})
    assert "has changed" in work.refused("Edit", file_path="a.txt", old_string="other", new_string="x")


@pytest.mark.spec("BLT-19")
@rows(
    ("before", "content", "expected"),
    [
        (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
        ("é\n".encode("utf-16"), "è\n", "è\n".encode("utf-16")),
        ("é\n".encode("utf-8-sig"), "è\n", "è\n".encode("utf-8-sig")),
        (b"caf\xe9\n", "thé\n", b"th\xe9\n"),
        (b"one line", "a\nb\n", b"a\nb\n"),
        (b"a\r\nb\n", "a\nc\n", b"a\nc\n"),
    ],
    ids=range(6),
)
def test_write_keeps_encoding_and_line_ends(work: Workspace, before: bytes, content: str, expected: bytes) -> None:
    work.write({"a.txt": before})
    work.call("Read", file_path="a.txt")
    work.call("Write", file_path="a.txt", content=content)
    assert work.bytes_of("a.txt") == expected


def test_what_cannot_be_written_is_said(work: Workspace) -> None:
    work.write({"a.txt": b"caf\xe9\n", "same.txt": "a\n", "folder/x": "", "a.bin": b"\0\1"})
    work.call("Read", file_path="a.txt")
    work.call("Read", file_path="same.txt")
    assert "→ cannot be written as latin-1" in work.refused("Write", file_path="a.txt", content="→")
    assert "a.bin is a binary file" in work.refused("Write", file_path="a.bin", content="a")
    assert "already has this content" in work.refused("Write", file_path="same.txt", content="a\n")
    assert work.refused("Write", file_path="folder", content="a") == "folder is a folder, not a file."
    assert work.refused("Write", file_path="new/", content="a") == "new/ is the path of a folder, not of a file."
    assert "outside the workspace" in work.refused("Write", file_path="../x", content="a")
    (work.root / "link").symlink_to("../x")
    assert "outside the workspace" in work.refused("Write", file_path="link", content="a")
    assert "not a valid path" in work.refused("Write", file_path="a\0b", content="a")


def test_a_file_behind_a_link_in_the_workspace_is_changed_and_the_link_stays(work: Workspace) -> None:
    work.write({"real/a.txt": "one\n"})
    (work.root / "link").symlink_to("real")
    (work.root / "alias.txt").symlink_to("real/a.txt")
    work.call("Read", file_path="link/a.txt")
    work.call("Edit", file_path="alias.txt", old_string="one", new_string="two")
    assert work.bytes_of("real/a.txt") == b"two\n"
    assert (work.root / "alias.txt").is_symlink()


@pytest.mark.spec("BLT-19")
def test_several_edits_are_made_in_order_and_all_or_none(work: Workspace) -> None:
    work.write({"a.py": "a = 1\nb = 2\nb = 2\n"})
    work.call("Read", file_path="a.py")
    first = {"old_string": "a = 1", "new_string": "a = b"}
    edits = [first, {"old_string": "b", "new_string": "c", "replace_all": True}]
    said = work.refused("Edit", file_path="a.py", edits=[first, {"old_string": "x", "new_string": "y"}])
    assert said.startswith("a.py, edit 2 of 2: the text to replace was not found.")
    assert work.bytes_of("a.py") == b"a = 1\nb = 2\nb = 2\n"
    assert work.text("Edit", file_path="a.py", edits=edits) == "Edited a.py: 1 file, 4 replacements, +3 −3, at line 1"
    assert work.bytes_of("a.py") == b"a = c\nc = 2\nc = 2\n"


def test_a_text_that_fits_but_for_quotes_is_said_to_the_model(work: Workspace) -> None:
    work.write({"a (1).md": "say “hi”\n"})
    work.call("Read", file_path="a (1).md")
    said = work.text("Edit", file_path="a (1).md", old_string='say "hi"', new_string="say no")
    assert said.startswith("Edited a (1).md (edit 1 matched except for the style of quotes): 1 file")


def test_wrong_arguments_of_edit_are_said(work: Workspace) -> None:
    work.write({"a.py": "a\n", "n.ipynb": "{}"})
    assert "or edits" in work.refused("Edit", file_path="a.py")
    both = [{"old_string": "a", "new_string": "b"}]
    assert "not both" in work.refused("Edit", file_path="a.py", old_string="a", edits=both)
    assert "does not exist" in work.refused("Edit", file_path="none.py", old_string="a", new_string="b")
    assert "NotebookEdit" in work.refused("Edit", file_path="n.ipynb", old_string="a", new_string="b")
    work.call("Edit", file_path="new.py", old_string="", new_string="x\n")
    assert work.bytes_of("new.py") == b"x\n"


def replaced(text: str, edits: list[tuple[str, str, bool]]) -> str | None:
    """The reference: what a sequence of replacements makes of a text; None where one is not clear."""
    for old, new, everywhere in edits:
        places = sum(text.startswith(old, at) for at in range(len(text)))
        if old == new or not places or (places > 1 and not everywhere):
            return None
        text = text.replace(old, new)
    return text


SMALL = st.text("ab\n", min_size=1, max_size=4)


@pytest.mark.spec("BLT-3")
@given(
    st.text("ab\n", min_size=1, max_size=30), st.lists(st.tuples(SMALL, SMALL, st.booleans()), min_size=1, max_size=4)
)
@fewer(25)
def test_edit_makes_what_the_plain_function_makes(text: str, edits: list[tuple[str, str, bool]]) -> None:
    # Blanks and quotes are not in the alphabet, so that nothing fits but exactly.
    host = MemoryHost({"a.txt": text})
    work = Workspace(Path("/workspace"), host)
    work.call("Read", file_path="a.txt")
    expected = replaced(text, edits)
    asked = [{"old_string": old, "new_string": new, "replace_all": all_} for old, new, all_ in edits]
    if expected is None or expected == text:
        work.refused("Edit", file_path="a.txt", edits=asked)
        assert host.text("a.txt") == text
    else:
        work.call("Edit", file_path="a.txt", edits=asked)
        assert host.text("a.txt") == expected


PATCH = """*** Begin Patch
*** Update File: src/a.py
@@ def f():
-    return 1
+    return 2
*** Add File: new/b.py
+print("new")
*** Delete File: c.py
*** Update File: d.py
*** Move to: moved/d.py
 keep
-old
+new
*** End Patch
"""


@pytest.mark.spec("BLT-3")
def test_a_patch_over_several_files_is_applied_whole_or_not_at_all(work: Workspace) -> None:
    files = {"src/a.py": "def f():\n    return 1\n", "c.py": "gone\n", "d.py": "keep\nold\n"}
    work.write({**files, "d.py": "other\n"})
    assert work.refused("ApplyPatch", patch=PATCH).startswith("d.py, line")
    assert work.bytes_of("src/a.py") == b"def f():\n    return 1\n"
    work.write(files)
    assert work.text("ApplyPatch", patch=PATCH) == "Applied the patch: 4 files, +3 −3"
    assert work.bytes_of("src/a.py") == b"def f():\n    return 2\n"
    assert work.bytes_of("new/b.py") == b'print("new")\n'
    assert work.bytes_of("moved/d.py") == b"keep\nnew\n"
    assert not (work.root / "c.py").exists()
    assert not (work.root / "d.py").exists()


@pytest.mark.spec("BLT-3")
@pytest.mark.slow
@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_patch_does_what_git_apply_does(tmp_path: Path, before: list[str], after: list[str]) -> None:
    old, new = "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after)
    if old == new or not old or not new:
        return
    for name in ("ours", "git"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "f").write_text(old)
    patch = "--- a/f\n+++ b/f\n" + unified(old.encode(), new.encode()).decode()
    subprocess.run(["git", "apply", "-"], cwd=tmp_path / "git", input=patch.encode(), check=True)
    Workspace(tmp_path / "ours").call("ApplyPatch", patch=patch)
    assert (tmp_path / "ours/f").read_text() == (tmp_path / "git/f").read_text() == new


def test_the_paths_of_a_patch_are_its_subject(work: Workspace) -> None:
    from callgate.tools.builtin.apply_patch import apply_patch

    traits = apply_patch().traits({"patch": PATCH})
    assert traits.declared.writes == ("src/a.py", "new/b.py", "c.py", "d.py", "moved/d.py")
    assert traits.locks.writes == traits.declared.writes
    assert not apply_patch().traits({"patch": "nonsense"}).failed
