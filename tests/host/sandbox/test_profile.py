"""A profile becomes bindings: parents first, the deeper place counts, nothing can be renamed away."""

import os
from pathlib import Path

from callgate.host.sandbox.profile import Binding, Profile, bindings, flaw


def make(tmp_path: Path, *names: str) -> str:
    root = os.path.realpath(tmp_path)
    for name in names:
        path = Path(root, name)
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
    return root


def test_nothing_is_writable_but_the_places_that_say_so(tmp_path: Path) -> None:
    """A folder below is never bound for writing: a command beside may have put a link in its place by then."""
    root = make(tmp_path, "sub/.git/config", ".github/workflows/ci.yml", "src/")
    profile = Profile(root=root, read_only=(f"{root}/.github", f"{root}/sub/.git", f"{root}/.npmrc"))
    assert bindings(profile) == (
        Binding(root, "write"),
        Binding(f"{root}/.github", "read"),
        Binding(f"{root}/sub/.git", "read"),
    )


def test_a_reserved_place_is_held_where_nothing_is_and_read_only_where_something_is(tmp_path: Path) -> None:
    root = make(tmp_path, "empty/", "file", "full/settings")
    reserved = tuple(f"{root}/{name}" for name in ("empty", "file", "full", "missing"))
    kinds = {each.path: each.kind for each in bindings(Profile(root=root, reserved=reserved))}
    assert kinds == {
        root: "write",
        f"{root}/empty": "hold",
        f"{root}/file": "read",
        f"{root}/full": "read",
        f"{root}/missing": "hold",
    }


def test_what_cannot_be_read_is_hidden_by_its_kind_and_a_missing_place_is_left_alone(tmp_path: Path) -> None:
    root = make(tmp_path, "workspace/", "keys/id", "token")
    places = tuple(f"{root}/{name}" for name in ("keys", "token", "missing"))
    found = bindings(Profile(root=f"{root}/workspace", unreadable=places))
    assert {(each.path, each.kind) for each in found} == {
        (f"{root}/workspace", "write"),
        (f"{root}/keys", "hide folder"),
        (f"{root}/token", "hide file"),
    }


def test_what_is_in_a_hidden_folder_is_not_hidden_again(tmp_path: Path) -> None:
    root = make(tmp_path, "secrets/deep/key", "app/.env")
    places = tuple(f"{root}/{name}" for name in ("secrets", "secrets/deep", "secrets/deep/key", "app/.env"))
    found = bindings(Profile(root=root, unreadable=places, read_only=(f"{root}/secrets/deep",)))
    assert [each.path.removeprefix(root) for each in found] == ["", "/secrets", "/app/.env"]


def test_a_workspace_in_a_hidden_folder_comes_after_it(tmp_path: Path) -> None:
    root = make(tmp_path, "secrets/workspace/")
    found = bindings(Profile(root=f"{root}/secrets/workspace", unreadable=(f"{root}/secrets",)))
    assert [each.kind for each in found] == ["hide folder", "write"]


def test_a_profile_that_cannot_be_enforced_says_why(tmp_path: Path) -> None:
    root = make(tmp_path, "workspace/real/", "workspace/.github/")
    workspace = f"{root}/workspace"
    os.symlink("real", f"{workspace}/.claude")
    os.symlink(workspace, f"{root}/link")
    assert flaw(Profile(root=workspace, reserved=(f"{workspace}/.vscode",))) is None
    assert flaw(Profile(root=workspace, reserved=(f"{workspace}/.claude",))) is not None
    assert "its creation cannot be blocked" in (
        flaw(Profile(root=workspace, reserved=(f"{workspace}/.github/workflows",))) or ""
    )
    for inside in (
        Profile(root=workspace, writable=(f"{workspace}/real",)),
        Profile(root=workspace, scratch=f"{workspace}/real"),
    ):
        assert "a command could replace it" in (flaw(inside) or "")
    assert "its path contains a link" in (flaw(Profile(root=f"{root}/link")) or "")
    assert "as a whole" in (flaw(Profile(root="/")) or "")
