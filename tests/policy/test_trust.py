"""Trust: for one folder, with exactly the files that were shown, until one of them changes."""

import os
import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from callgate.policy.fingerprint import fingerprint
from callgate.policy.trust import ChangedFolder, Trust, Trusted, TrustedFolder, Untrusted
from callgate.words.errors import UsageError
from tests.policy.trust_kit import HOOKS, hashed, put, trusted


@pytest.mark.spec("HOOK-3")
def test_a_folder_is_untrusted_until_what_was_shown_is_trusted(root: Path, store: Trust, tmp_path: Path) -> None:
    assert store.state(root) == Untrusted()
    assert not store.knows(root)
    assert not (tmp_path / "data").exists()
    trusted(store, root)
    assert store.knows(root)
    assert store.state(root) == Trusted(1_000.0)
    state, settings = store.look(root)
    assert state == Trusted(1_000.0)
    assert [len(each.hooks) for each in settings] == [3, 0]


@pytest.mark.spec("HOOK-3")
def test_what_changed_since_it_was_shown_is_not_trusted(root: Path, store: Trust) -> None:
    shown = fingerprint(root)
    put(root, ".callgate/settings.toml", HOOKS + "\n")
    assert store.trust(root, shown) == Untrusted("it changed since it was shown: see callgate trust show")
    assert store.state(root) == Untrusted()


def test_trust_is_for_one_folder_alone(root: Path, store: Trust, tmp_path: Path) -> None:
    put(tmp_path, ".callgate/settings.toml", HOOKS)
    put(root / "sub", ".callgate/settings.toml", HOOKS)
    put(tmp_path / "twin", ".callgate/settings.toml", HOOKS)
    trusted(store, root)
    for other in (tmp_path, root / "sub", tmp_path / "twin"):
        assert store.state(other) == Untrusted()


def test_a_folder_is_known_by_where_it_really_is(root: Path, store: Trust, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("root")
    trusted(store, tmp_path / "link")
    assert store.state(root) == Trusted(1_000.0)
    (tmp_path / "link").unlink()
    put(tmp_path / "link", ".callgate/settings.toml", HOOKS)
    assert store.state(tmp_path / "link") == Untrusted()


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda root: put(root, ".callgate/settings.toml", HOOKS + "# more"),
    "script": lambda root: put(root, "scripts/check.sh", "evil"),
    "mode": lambda root: (root / "scripts/check.sh").chmod(0o755),
    "new": lambda root: put(root, ".callgate/new"),
    "new-named": lambda root: put(root, "own/hooks.py"),
    "servers": lambda root: put(root, ".mcp.json", "{}"),
    "gone": lambda root: (root / "scripts/check.sh").unlink(),
    "link": lambda root: ((root / ".callgate/link").unlink(), (root / ".callgate/link").symlink_to("/etc/b")),
    "file-for-link": lambda root: ((root / ".callgate/link").unlink(), put(root, ".callgate/link", "/etc/a")),
}


@pytest.mark.spec("HOOK-3")
@pytest.mark.parametrize("name", CHANGES)
def test_any_change_asks_again(root: Path, store: Trust, name: str) -> None:
    put(root, "scripts/check.sh", "good")
    (root / ".callgate" / "link").symlink_to("/etc/a")
    trusted(store, root)
    assert store.state(root) == Trusted(1_000.0)
    CHANGES[name](root)
    assert isinstance(store.state(root), ChangedFolder)


def test_a_folder_with_nothing_left_to_trust_asks_nothing_until_more_appears(root: Path, store: Trust) -> None:
    trusted(store, root)
    (root / ".callgate").rename(root / "away")
    assert store.state(root) == Untrusted()
    put(root, ".mcp.json", "{}")
    assert isinstance(store.state(root), ChangedFolder)
    (root / ".mcp.json").unlink()
    (root / "away").rename(root / ".callgate")
    assert store.state(root) == Trusted(1_000.0)


@pytest.mark.spec("HOOK-3")
def test_what_changed_can_be_shown(root: Path, store: Trust) -> None:
    put(root, ".callgate/settings.toml", "mode = 'plan'\n")
    put(root, ".callgate/old", "old\n")
    put(root, ".callgate/run", "run\n")
    (root / ".callgate" / "data").write_bytes(b"\xff")
    trusted(store, root)
    put(
        root,
        ".callgate/settings.toml",
        "mode = 'plan'\n[[hooks.Stop]]\ncommand = 'a\x1b[2K'\n",  # broken TOML is shown all the same
    )
    put(root, ".callgate/new", "new\x1b\r\n")
    put(root, ".callgate/run", "run\n", 0o755)
    (root / ".callgate" / "data").write_bytes(b"\xfe")
    (root / ".callgate" / "old").unlink()
    state = store.state(root)
    assert isinstance(state, ChangedFolder)
    assert [seen.path for seen in state.added] == [".callgate/new"]
    assert [seen.path for seen in state.removed] == [".callgate/old"]
    assert [(before.path, before.sha256 != after.sha256) for before, after in state.changed] == [
        (".callgate/data", True),
        (".callgate/run", False),
        (".callgate/settings.toml", True),
    ]
    short = [
        [hashed(before)[:12], hashed(after)[:12]]
        for before, after in [
            ("mode = 'plan'\n", (root / ".callgate/settings.toml").read_bytes().decode()),
            ("run\n", "run\n"),
        ]
    ]
    before, after = (sha256(data).hexdigest()[:12] for data in (b"\xff", b"\xfe"))
    assert state.describe() == (
        "new: .callgate/new",
        "  @@ -0,0 +1,2 @@",
        "  +new\x1b\r",
        "  +",
        "gone: .callgate/old",
        f"changed: .callgate/data (file {before} is now file {after})",
        "  (only its hash is known, because it is too large or not text)",
        f"changed: .callgate/run (file {short[1][0]} is now file {short[1][1]}, executable)",
        f"changed: .callgate/settings.toml (file {short[0][0]} is now file {short[0][1]})",
        "  @@ -1,2 +1,4 @@",
        "   mode = 'plan'",
        "  +[[hooks.Stop]]",
        "  +command = 'a\x1b[2K'",
        "   ",
    )


def test_a_change_of_kind_is_shown(root: Path, store: Trust) -> None:
    put(root, ".callgate/x", "x")
    trusted(store, root)
    (root / ".callgate" / "x").unlink()
    os.mkfifo(root / ".callgate" / "x")
    state = store.state(root)
    assert isinstance(state, ChangedFolder)
    assert state.describe()[0] == f"changed: .callgate/x (file {hashed('x')[:12]} is now other)"


def test_a_long_change_names_what_it_leaves_out(root: Path, store: Trust) -> None:
    trusted(store, root)
    put(root, ".callgate/long", "x\n" * 500)
    put(root, ".callgate/longer", "x\n" * 1_000)
    state = store.state(root)
    assert isinstance(state, ChangedFolder)
    lines = state.describe()
    assert "  (302 more lines)" in lines
    assert lines[-1] == "  (0 lines before and 1001 now: too many to compare)"


def test_trusting_again_replaces_what_was_trusted(root: Path, store: Trust) -> None:
    trusted(store, root)
    put(root, ".callgate/new")
    trusted(store, root)
    assert store.state(root) == Trusted(1_000.0)
    (root / ".callgate" / "new").unlink()
    assert isinstance(store.state(root), ChangedFolder)


# ---- the store ----------------------------------------------------------------------------------------------------


def test_trust_is_listed_and_revoked(root: Path, store: Trust, tmp_path: Path) -> None:
    assert store.list() == ()
    put(tmp_path / "a", ".mcp.json", "{}")
    trusted(store, root)
    trusted(store, tmp_path / "a")
    assert store.list() == (TrustedFolder(str(tmp_path / "a"), 1_000.0, 1), TrustedFolder(str(root), 1_000.0, 1))
    assert store.revoke(root) is True
    assert store.revoke(root) is False
    assert store.state(root) == Untrusted()
    assert [folder.root for folder in store.list()] == [str(tmp_path / "a")]


def test_a_folder_that_is_gone_can_be_revoked(root: Path, store: Trust, tmp_path: Path) -> None:
    trusted(store, root)
    root.rename(tmp_path / "moved")
    assert store.revoke(root) is True


def record_of(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "data" / "trust").iterdir()
    return file


def test_the_record_is_for_its_owner_alone(root: Path, store: Trust, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        trusted(store, root)
    finally:
        os.umask(before)
    assert stat.S_IMODE(record_of(tmp_path).stat().st_mode) == 0o600
    assert stat.S_IMODE(record_of(tmp_path).parent.stat().st_mode) == 0o700


@pytest.mark.spec("HOOK-3")
@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda text: text[:-3], "is not JSON"),
        (lambda text: "[]", "is not an object"),
        (lambda text: "{}", "is damaged: "),
        (lambda text: text.replace('"version": 1', '"version": 2'), "has an unsupported version"),
        (lambda text: text.replace('"kind": "file"', '"kind": "all"'), "is damaged: "),
    ],
    ids=["cut", "list", "empty", "version", "kind"],
)
def test_a_damaged_record_trusts_nothing_and_says_so(
    root: Path, store: Trust, tmp_path: Path, damage: Callable[[str], str], why: str
) -> None:
    trusted(store, root)
    file = record_of(tmp_path)
    file.write_text(damage(file.read_text()))
    state = store.state(root)
    assert isinstance(state, Untrusted)
    assert state.why.startswith(f"the trust record {file} {why}")
    (folder,) = store.list()
    assert folder.root == str(file)
    assert folder.problem.startswith(f"it {why}")
    trusted(store, root)
    assert store.state(root) == Trusted(1_000.0)


def test_a_record_of_another_folder_does_not_count(root: Path, store: Trust, tmp_path: Path) -> None:
    trusted(store, root)
    file = record_of(tmp_path)
    file.write_text(file.read_text().replace(f'"{root}"', '"/elsewhere"'))
    assert store.state(root) == Untrusted(f"{file} belongs to another folder")


def test_a_record_that_goes_away_just_now_trusts_nothing(root: Path, store: Trust, tmp_path: Path) -> None:
    trusted(store, root)
    record_of(tmp_path).unlink()
    assert store.look(root)[0] == Untrusted()


def test_where_nothing_can_be_written_it_is_said(root: Path, tmp_path: Path) -> None:
    put(tmp_path, "file")
    with pytest.raises(UsageError, match="cannot be written"):
        Trust(tmp_path / "file").trust(root, fingerprint(root))


def test_a_record_that_cannot_be_removed_is_said(root: Path, store: Trust, tmp_path: Path) -> None:
    trusted(store, root)
    file = record_of(tmp_path)
    file.unlink()
    file.mkdir()
    with pytest.raises(UsageError, match="cannot be removed"):
        store.revoke(root)
