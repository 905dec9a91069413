"""Every kind of change on real files, and back again."""

import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.host.applying.apply import apply_changes
from callgate.words.changes import ChangeSet, Content, FileChange, Stored
from callgate.words.errors import ToolFailure
from tests.crash.changed import World, seen


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def apply(root: Path, *changes: FileChange) -> ChangeSet:
    return apply_changes(ChangeSet("change", changes), root)


def there_and_back(root: Path, *changes: FileChange) -> World:
    """What is there after the change; its inverse brings back what was."""
    before = seen(root)
    applied = apply(root, *changes)
    after = seen(root)
    apply_changes(applied.inverse, root)
    assert seen(root) == before
    return after


def put(root: Path, path: str, data: bytes, mode: int = 0o644) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    file.chmod(mode)


def test_a_renamed_file_keeps_its_mode(root: Path) -> None:
    put(root, "a", b"1", 0o755)
    assert there_and_back(root, FileChange("b", b"1", b"2", source="a")) == {"b": ("755", b"2")}


def test_two_files_change_places(root: Path) -> None:
    put(root, "a", b"1", 0o600)
    put(root, "b", b"2", 0o755)
    after = there_and_back(root, FileChange("b", b"1", b"1", source="a"), FileChange("a", b"2", b"2", source="b"))
    assert after == {"a": ("755", b"2"), "b": ("600", b"1")}


def test_a_new_file_takes_the_place_of_one_that_moves_away(root: Path) -> None:
    put(root, "a", b"1", 0o600)
    apply(root, FileChange("b", b"1", b"1", source="a"), FileChange("a", None, b"new", mode=0o644))
    assert seen(root) == {"a": ("644", b"new"), "b": ("600", b"1")}


def test_a_rename_onto_another_file_is_refused(root: Path) -> None:
    put(root, "a", b"1")
    put(root, "b", b"2")
    with pytest.raises(ToolFailure, match="b: exists already"):
        apply(root, FileChange("b", b"1", b"1", source="a"))
    assert seen(root) == {"a": ("644", b"1"), "b": ("644", b"2")}


def test_a_mode_is_changed_and_nothing_else(root: Path) -> None:
    put(root, "a", b"1", 0o644)
    change = FileChange("a", b"1", b"1", mode=0o755, mode_before=0o644)
    assert change.kind == "mode"
    assert there_and_back(root, change) == {"a": ("755", b"1")}


def test_a_mode_that_is_not_as_the_preview_found_it_is_a_difference(root: Path) -> None:
    put(root, "a", b"1", 0o600)
    with pytest.raises(ToolFailure, match="a: has the mode 600, not 644"):
        apply(root, FileChange("a", b"1", b"2", mode_before=0o644))


def test_a_deleted_file_comes_back_with_its_mode(root: Path) -> None:
    put(root, "a", b"#!", 0o755)
    assert there_and_back(root, FileChange("a", b"#!", None)) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("how", ["delete", "rename", "replace"])
def test_the_owner_of_a_file_is_restored(root: Path, how: str) -> None:
    put(root, "a", b"#!", 0o640)
    os.chown(root / "a", 1234, 2345)
    changes = {
        "delete": FileChange("a", b"#!", None),
        "rename": FileChange("b", b"#!", b"#!", source="a"),
        "replace": FileChange("a", b"#!", b"new"),
    }
    applied = apply(root, changes[how])
    apply_changes(applied.inverse, root)
    found = (root / "a").stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 2345, 0o640)


def test_other_hard_links_of_a_replaced_file_are_named(root: Path) -> None:
    put(root, "a", b"1")
    os.link(root / "a", root / "b")
    put(root, "c", b"1")
    applied = apply(root, FileChange("a", b"1", b"2"), FileChange("c", b"1", b"2"))
    assert applied.notes == ("a had 2 hard links: the other names keep the old content",)
    assert (root / "b").read_bytes() == b"1"
    assert apply(root, FileChange("b", b"1", None)).notes == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_replaced_and_stays_read_only(root: Path) -> None:
    put(root, "a", b"1", 0o444)
    assert there_and_back(root, FileChange("a", b"1", b"2")) == {"a": ("444", b"2")}


def test_links_are_made_led_elsewhere_and_removed(root: Path) -> None:
    (root / "b").symlink_to("there")
    (root / "c").symlink_to("there")
    changes = (
        FileChange("a", None, b"nowhere", link=True),
        FileChange("b", b"there", b"elsewhere", link=True),
        FileChange("c", b"there", None, link=True),
    )
    assert there_and_back(root, *changes) == {"a": ("link", b"nowhere"), "b": ("link", b"elsewhere")}


@pytest.mark.spec("CHG-1")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (FileChange("link", b"x", b"y"), "link: is a symbolic link: use the path of its target"),
        (FileChange("link", None, b"y"), "link: is a symbolic link: use the path of its target"),
        (FileChange("link", b"other", b"y", link=True), "link: is a link to another target"),
        (FileChange("file", b"x", b"y", link=True), "file: is not a symbolic link"),
    ],
    ids=["written to", "created", "leads elsewhere", "is none"],
)
def test_a_link_is_never_replaced_silently(root: Path, change: FileChange, why: str) -> None:
    (root / "link").symlink_to("file")
    put(root, "file", b"x")
    with pytest.raises(ToolFailure, match=why):
        apply(root, change)
    assert (root / "link").is_symlink()


def stored(folder: Path, data: bytes) -> Stored:
    name = sha256(data).hexdigest()
    (folder / name).write_bytes(data)
    return Stored(name, len(data), str(folder / name))


def test_large_content_is_taken_from_the_file_that_holds_it(root: Path, tmp_path: Path) -> None:
    old, new = os.urandom(3_000_000), os.urandom(2_500_000)
    put(root, "a", old)
    after = there_and_back(root, FileChange("a", stored(tmp_path, old), stored(tmp_path, new)))
    assert after == {"a": ("644", new)}


@pytest.mark.parametrize(
    ("found", "kept", "why"),
    [
        (b"other", b"new", "a: has different content, 5 bytes"),
        (b"older", b"new", "a: has different content, 5 bytes"),
        (
            b"old",
            b"damaged",
            "Could not write a: .* is damaged, or has changed since .*; nothing was changed",
        ),
    ],
)
def test_large_content_that_is_not_what_it_was_changes_nothing(
    root: Path, tmp_path: Path, found: bytes, kept: bytes, why: str
) -> None:
    put(root, "a", found)
    before: Content = stored(tmp_path, b"old")
    after = stored(tmp_path, b"new")
    Path(after.path).write_bytes(kept)
    with pytest.raises(ToolFailure, match=why):
        apply(root, FileChange("a", before, after))
    assert seen(root) == {"a": ("644", found)}


@pytest.mark.spec("CHG-2")
@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n", "line 2 is now 'B', was 'b'"),
        (b"a\n", b"a\nb\n", "line 2 is now 'b', was not there"),
        (b"a\nb\n", b"a\n", "line 2 is now not there, was 'b'"),
        (b"a\n", b"a\r\n", "has different line endings"),
        (b"a\n", b"a", "has different line endings"),
        (b"a\0", b"b\0c", "has different content, 3 bytes instead of 2"),
        (b"x" * 200, b"y" * 200, f"line 1 is now '{'y' * 60}…', was '{'x' * 60}…'"),
    ],
)
def test_what_differs_is_shown(root: Path, was: bytes, now: bytes, says: str) -> None:
    put(root, "a", now)
    with pytest.raises(ToolFailure) as caught:
        apply(root, FileChange("a", was, b"new"))
    assert says in str(caught.value)
    assert seen(root) == {"a": ("644", now)}


# ---- any change, and back -----------------------------------------------------------------------------------------

NAMES: tuple[str, ...] = ("a", "b", "f/c", "f/d", "g/h/e")
CONTENTS: tuple[bytes, ...] = (b"", b"1", b"one\r\ntwo\r\n", b"\xef\xbb\xbfx\n", b"\xff\xfe\0", b"last")
MODES: tuple[int, ...] = (0o644, 0o600, 0o755)
Tree = dict[str, tuple[bytes, int]]
trees: st.SearchStrategy[Tree] = st.dictionaries(
    st.sampled_from(NAMES), st.tuples(st.sampled_from(CONTENTS), st.sampled_from(MODES))
)


@st.composite
def changed(draw: st.DrawFn) -> tuple[Tree, tuple[FileChange, ...]]:
    """A tree, and changes of it: files that stay in place, go elsewhere, come and go."""
    tree = draw(trees)
    old = draw(st.permutations(sorted(tree)))
    free = [name for name in NAMES if name not in tree]
    moving, taken = old[: draw(st.integers(0, len(old)))], list[FileChange]()
    places = draw(st.permutations([*free, *moving]))
    for name in moving:
        to = places.pop()
        after = draw(st.sampled_from(CONTENTS))
        taken.append(FileChange(to, tree[name][0], after, source=None if to == name else name))
    for name in old[len(moving) :]:
        content, mode = tree[name]
        kind = draw(st.sampled_from(("leave", "replace", "delete", "mode")))
        if kind == "replace":
            taken.append(FileChange(name, content, draw(st.sampled_from(CONTENTS))))
        elif kind == "delete":
            taken.append(FileChange(name, content, None))
        elif kind == "mode":
            taken.append(FileChange(name, content, content, mode=draw(st.sampled_from(MODES)), mode_before=mode))
    taken += [
        FileChange(name, None, draw(st.sampled_from(CONTENTS)))
        for name in places
        if name in free and draw(st.booleans())
    ]
    return tree, tuple(draw(st.permutations(taken)))


@pytest.mark.spec("CHG-1")
@given(changed())
def test_the_inverse_of_what_was_applied_brings_everything_back(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[dict[str, tuple[bytes, int]], tuple[FileChange, ...]]
) -> None:
    tree, changes = case
    root = tmp_path_factory.mktemp("any")
    for name, (content, mode) in tree.items():
        put(root, name, content, mode)
    before = files_of(root)
    applied = apply(root, *changes)
    expected = {name: content for name, (content, _) in tree.items()}
    for each in changes:
        if each.before is not None:
            del expected[each.source or each.path]
    expected |= {each.path: each.after for each in changes if isinstance(each.after, bytes)}
    assert {name: content for name, (_, content) in files_of(root).items()} == expected
    apply_changes(applied.inverse, root)
    assert files_of(root) == before


def files_of(root: Path) -> World:
    return {name: found for name, found in seen(root).items() if found[0] != "folder"}


@pytest.mark.spec("CHG-1")
def test_extended_attributes_are_kept(root: Path) -> None:
    for name in ("edited", "moved"):
        (root / name).write_bytes(b"1")
        try:
            os.setxattr(root / name, "user.note", name.encode())
        except OSError:
            pytest.skip("this file system has no extended attributes")
    edited, moved = FileChange("edited", b"1", b"2"), FileChange("there", b"1", b"2", source="moved")
    apply_changes(ChangeSet("both", (edited, moved)), root)
    assert [os.getxattr(root / name, "user.note") for name in ("edited", "there")] == [b"edited", b"moved"]
