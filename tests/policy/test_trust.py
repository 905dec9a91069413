"""Trust: for one folder, with exactly the files that were shown, until one of them changes."""

import os
import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from callgate.policy.fingerprint import Seen, fingerprint
from callgate.policy.trust import Changed, Folder, Trust, Trusted, Untrusted
from callgate.words.errors import UsageError

HOOKS = """\
[[hooks.PostToolUse]]
command = "make lint"
matcher = "Edit"

[[hooks.PreToolUse]]
command = "bash -c './scripts/check.sh --config=conf/lint.ini'"
if = "Bash(git *)"

[[hooks.Stop]]
python = "own.hooks:stop"

[questions]
notify = "python -m tell.me $CALLGATE_PROJECT_DIR/tell.txt 'with blank.txt'"
"""


def put(root: Path, name: str, text: str = "", mode: int = 0o644) -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    put(folder, ".callgate/settings.toml", HOOKS)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Trust:
    return Trust(tmp_path / "data", clock=lambda: 1_000.0)


def paths(root: Path) -> list[str]:
    found = fingerprint(root)
    assert found.problem == ""
    return [seen.path for seen in found.files]


def trusted(store: Trust, root: Path) -> None:
    assert store.trust(root, fingerprint(root)) == Trusted(1_000.0)


def hashed(text: str) -> str:
    return sha256(text.encode()).hexdigest()


# ---- what is looked at --------------------------------------------------------------------------------------------


def test_a_folder_without_such_files_has_nothing_to_trust(tmp_path: Path, store: Trust) -> None:
    put(tmp_path, "main.py")
    assert fingerprint(tmp_path).files == ()
    assert store.trust(tmp_path, fingerprint(tmp_path)) == Untrusted("there is nothing in this folder to trust")
    assert not store.knows(tmp_path)


@pytest.mark.spec("HOOK-3")
def test_all_of_the_folder_and_the_list_of_servers_count(root: Path) -> None:
    put(root, ".callgate/settings.local.toml")
    put(root, ".callgate/tools/deep/er.py", "x = 1\n", 0o755)
    put(root, ".mcp.json", "{}")
    put(root, "src/.callgate/settings.toml")
    put(root, "README.md")
    assert paths(root) == [
        ".callgate/settings.local.toml",
        ".callgate/settings.toml",
        ".callgate/tools/deep/er.py",
        ".mcp.json",
    ]
    assert fingerprint(root).files[2] == Seen(
        ".callgate/tools/deep/er.py", "file", hashed("x = 1\n"), executable=True, text="x = 1\n"
    )


@pytest.mark.spec("HOOK-3")
def test_files_that_commands_name_count(root: Path) -> None:
    named = ["conf/lint.ini", "own/hooks.py", "scripts/check.sh", "tell.txt", "tell/me.py", "with blank.txt"]
    for name in [*named, "make", "lint", "own/other.py", "blank.txt"]:
        put(root, name)
    # `make lint` are words of a command, so files of these names count too; "blank.txt" is the end of a quoted word.
    assert paths(root) == sorted([".callgate/settings.toml", *named, "make", "lint", "blank.txt"])


def test_packages_that_python_would_run_count(root: Path) -> None:
    put(root, "own/hooks/__init__.py")
    put(root, "tell/me/__main__.py")
    assert paths(root) == [".callgate/settings.toml", "own/hooks/__init__.py", "tell/me/__main__.py"]


def test_words_that_lead_out_of_the_repository_or_to_folders_do_not_count(root: Path, tmp_path: Path) -> None:
    put(tmp_path, "outside.sh")
    put(root, "sub/x")
    long = "x" * 300
    put(
        root,
        ".callgate/settings.toml",
        f'[[hooks.Stop]]\ncommand = "{tmp_path}/outside.sh ../outside.sh sub sub/ . .. / sub/.. \'cut {long}"\n'
        "[[hooks.Stop]]\nurl = 'http://localhost/sub/x'\n",
    )
    assert paths(root) == [".callgate/settings.toml"]


def test_a_whole_path_into_the_repository_counts(root: Path) -> None:
    put(root, "x.sh")
    put(root, ".callgate/settings.local.toml", f"[[hooks.Stop]]\ncommand = '{root}/x.sh'")
    assert "x.sh" in paths(root)


def test_a_link_counts_by_what_it_says_and_by_what_is_behind_it_inside(root: Path, tmp_path: Path) -> None:
    put(root, "lib/a.sh", "a")
    put(root, "lib/b.sh", "b")
    put(tmp_path, "outside/c.sh", "c")
    (root / ".callgate" / "inside").symlink_to("../lib")
    (root / ".callgate" / "outside").symlink_to(tmp_path / "outside")
    (root / ".callgate" / "loop").symlink_to("loop")
    (root / ".callgate" / "up").symlink_to("..")
    (root / "scripts").mkdir()
    (root / "scripts" / "check.sh").symlink_to(tmp_path / "outside" / "c.sh")
    found = {seen.path: seen for seen in fingerprint(root).files}
    assert sorted(found) == [
        *(".callgate/inside", ".callgate/loop", ".callgate/outside", ".callgate/settings.toml", ".callgate/up"),
        *("lib/a.sh", "lib/b.sh", "scripts/check.sh"),
    ]
    assert found[".callgate/inside"] == Seen(".callgate/inside", "link", hashed("../lib"), text="../lib")
    assert found["scripts/check.sh"].kind == "link"


def test_a_folder_of_settings_that_is_a_link_inside_counts(tmp_path: Path) -> None:
    put(tmp_path, "conf/settings.toml", "mode = 'plan'")
    (tmp_path / ".callgate").symlink_to("conf")
    assert paths(tmp_path) == [".callgate", "conf/settings.toml"]


def test_words_that_lead_in_over_a_linked_folder_count_where_they_are(root: Path) -> None:
    put(root, "real/check.sh")
    (root / "scripts").symlink_to("real")
    assert paths(root) == [".callgate/settings.toml", "real/check.sh"]


def test_what_is_no_file_counts_without_being_opened(root: Path) -> None:
    os.mkfifo(root / ".callgate" / "pipe")
    assert fingerprint(root).files[0] == Seen(".callgate/pipe", "other")


def test_a_name_that_is_no_text_counts(root: Path, store: Trust) -> None:
    with open(os.path.join(os.fsencode(root), b".callgate", b"\xff.sh"), "wb") as file:
        file.write(b"\xff")
    assert fingerprint(root).files[-1].text is None
    trusted(store, root)
    assert store.state(root) == Trusted(1_000.0)


def test_text_is_kept_of_small_files_and_not_of_all_of_them(root: Path) -> None:
    small = "x" * (64 * 1024)
    put(root, ".callgate/large", small + "x")
    for index in range(17):
        put(root, f".callgate/small{index:02}", small)
    found = {seen.path: seen.text for seen in fingerprint(root).files}
    assert found[".callgate/large"] is None
    kept = [text for path, text in found.items() if path.startswith(".callgate/small") and text is not None]
    # A MiB in all: sixteen of them, or fifteen with the settings before them.
    assert len(kept) in (15, 16)
    assert set(kept) == {small}


def test_the_number_of_files_and_folders_is_bounded(root: Path, store: Trust) -> None:
    trusted(store, root)
    for index in range(998):
        (root / ".callgate" / f"{index}").mkdir()
    assert fingerprint(root).problem == ""
    put(root, ".callgate/one.more")
    problem = "there are more than 1000 files and folders to look at"
    assert fingerprint(root).problem == problem
    assert fingerprint(root).files == ()
    assert store.state(root) == Untrusted(problem)
    assert store.trust(root, fingerprint(root)) == Untrusted(problem)


def test_the_size_of_files_is_bounded(root: Path) -> None:
    with open(root / ".callgate" / "huge", "wb") as file:
        file.truncate(32 * 1024 * 1024 - len(HOOKS))
        assert fingerprint(root).problem == ""
        file.truncate(32 * 1024 * 1024 - len(HOOKS) + 1)
    assert fingerprint(root).problem == "there are more than 32 MiB to look at"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_cannot_be_trusted(root: Path) -> None:
    put(root, ".callgate/secret").chmod(0)
    assert fingerprint(root).problem == ".callgate/secret cannot be read: Permission denied"


def test_a_path_too_long_to_look_at_cannot_be_trusted(root: Path) -> None:
    here = os.open(root / ".callgate", os.O_RDONLY)
    try:
        for _ in range(20):  # too long for one path, and reached step by step
            os.mkdir("d" * 250, dir_fd=here)
            deeper = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = deeper
    finally:
        os.close(here)
    assert fingerprint(root).problem.endswith("cannot be read: File name too long")


# ---- what is shown ------------------------------------------------------------------------------------------------


@pytest.mark.spec("HOOK-3")
def test_what_would_happen_is_said_in_words(root: Path, tmp_path: Path) -> None:
    put(root, "scripts/check.sh", "exit 0\n")
    (root / ".callgate" / "in").symlink_to("settings.toml")
    (root / ".callgate" / "out").symlink_to(tmp_path / "x")
    os.mkfifo(root / ".callgate" / "pipe")
    put(
        root,
        ".callgate/settings.local.toml",
        "[[hooks.PostToolUseFailure]]\nurl = 'http://localhost/x'\n\n"
        "[[hooks.SessionStart]]\ncommand = 'a\u202e'\nmatcher = 'resume'\n",
    )
    assert fingerprint(root).effects == (
        "runs `make lint` after every Edit (hooks.PostToolUse, .callgate/settings.toml:1)",
        "runs `bash -c './scripts/check.sh --config=conf/lint.ini'` before every call that is Bash(git *) "
        "(hooks.PreToolUse, .callgate/settings.toml:5)",
        "calls own.hooks:stop when the agent is about to stop (hooks.Stop, .callgate/settings.toml:9)",
        "runs `python -m tell.me $CALLGATE_PROJECT_DIR/tell.txt 'with blank.txt'` when a question waits for somebody "
        "who is away (.callgate/settings.toml:13)",
        "posts to http://localhost/x after every failed call (hooks.PostToolUseFailure, "
        ".callgate/settings.local.toml:1)",
        "runs `a<U+202E>` when a session starts or is resumed that matches resume (hooks.SessionStart, "
        ".callgate/settings.local.toml:4)",
        "may use .callgate/in, a link to settings.toml",
        f"may use .callgate/out, a link to {tmp_path}/x, outside the repository: what is there may change unasked",
        "may use .callgate/pipe",
        f"may use scripts/check.sh ({hashed('exit 0' + chr(10))[:12]})",
    )


def test_a_settings_file_that_is_a_link_is_said_to_be_one(root: Path) -> None:
    put(root, "plain.toml")
    (root / ".callgate" / "settings.local.toml").symlink_to("../plain.toml")
    effects = fingerprint(root).effects
    assert "may use .callgate/settings.local.toml, a link to ../plain.toml" in effects


# ---- trusting -----------------------------------------------------------------------------------------------------


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
    assert store.trust(root, shown) == Untrusted("it changed since it was shown: look again")
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
    "all-gone": lambda root: (root / ".callgate").rename(root / "away"),
}


@pytest.mark.spec("HOOK-3")
@pytest.mark.parametrize("name", CHANGES)
def test_any_change_asks_again(root: Path, store: Trust, name: str) -> None:
    put(root, "scripts/check.sh", "good")
    (root / ".callgate" / "link").symlink_to("/etc/a")
    trusted(store, root)
    assert store.state(root) == Trusted(1_000.0)
    CHANGES[name](root)
    assert isinstance(store.state(root), Changed)


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
    assert isinstance(state, Changed)
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
        "  (it is too large, or no text, so that only its hash is known)",
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
    assert isinstance(state, Changed)
    assert state.describe()[0] == f"changed: .callgate/x (file {hashed('x')[:12]} is now other)"


def test_a_long_change_names_what_it_leaves_out(root: Path, store: Trust) -> None:
    trusted(store, root)
    put(root, ".callgate/long", "x\n" * 500)
    put(root, ".callgate/longer", "x\n" * 1_000)
    state = store.state(root)
    assert isinstance(state, Changed)
    lines = state.describe()
    assert "  (302 more lines)" in lines
    assert lines[-1] == "  (0 lines before and 1001 now: too many to compare here)"


def test_trusting_again_replaces_what_was_trusted(root: Path, store: Trust) -> None:
    trusted(store, root)
    put(root, ".callgate/new")
    trusted(store, root)
    assert store.state(root) == Trusted(1_000.0)
    (root / ".callgate" / "new").unlink()
    assert isinstance(store.state(root), Changed)


# ---- the store ----------------------------------------------------------------------------------------------------


def test_trust_is_listed_and_revoked(root: Path, store: Trust, tmp_path: Path) -> None:
    assert store.list() == ()
    put(tmp_path / "a", ".mcp.json", "{}")
    trusted(store, root)
    trusted(store, tmp_path / "a")
    assert store.list() == (Folder(str(tmp_path / "a"), 1_000.0, 1), Folder(str(root), 1_000.0, 1))
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
        (lambda text: text.replace('"version": 1', '"version": 2'), "is of another version"),
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
    assert state.why.startswith(f"the record of what you trust there, {file}, {why}")
    (folder,) = store.list()
    assert folder.root == str(file)
    assert folder.problem.startswith(f"it {why}")
    trusted(store, root)
    assert store.state(root) == Trusted(1_000.0)


def test_a_record_of_another_folder_does_not_count(root: Path, store: Trust, tmp_path: Path) -> None:
    trusted(store, root)
    file = record_of(tmp_path)
    file.write_text(file.read_text().replace(f'"{root}"', '"/elsewhere"'))
    assert store.state(root) == Untrusted(f"{file} is about another folder")


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


@pytest.mark.parametrize("name", ["settings.toml", "settings.local.toml"], ids=["changed", "appeared"])
def test_settings_that_change_while_they_are_read_cannot_be_trusted(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    scan = os.scandir

    def scan_late(path: str) -> object:
        put(root, f".callgate/{name}", "mode = 'plan'")
        return scan(path)

    monkeypatch.setattr(os, "scandir", scan_late)
    assert fingerprint(root).problem == f"{root}/.callgate/{name} changed while it was read: try again"
