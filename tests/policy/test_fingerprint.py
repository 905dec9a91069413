"""What is looked at before a folder is trusted, and what is shown of it."""

import json
import os
from pathlib import Path

import pytest

from callgate.policy.fingerprint import Seen, fingerprint
from callgate.policy.trust import Trust, Trusted, Untrusted
from tests.policy.trust_kit import HOOKS, hashed, put, trusted


def paths(root: Path) -> list[str]:
    found = fingerprint(root)
    assert found.problem == ""
    return [seen.path for seen in found.files]


# ---- what is looked at --------------------------------------------------------------------------------------------


def test_a_folder_without_such_files_has_nothing_to_trust(tmp_path: Path, store: Trust) -> None:
    put(tmp_path, "main.py")
    assert fingerprint(tmp_path).files == ()
    assert store.trust(tmp_path, fingerprint(tmp_path)) == Untrusted("nothing in this folder needs trust")
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


@pytest.mark.spec("MCP-1")
def test_servers_are_shown_with_what_they_run_and_get_and_their_files_count(tmp_path: Path) -> None:
    put(tmp_path, "tools/server.py")
    put(tmp_path, "head.sh")
    local = {"command": "python3", "args": ["tools/server.py", "a b"], "env": {"LD_PRELOAD": "./x.so", "K": "${KEY:-}"}}
    web = {"url": "https://h.example/${TOKEN}", "headersHelper": "./head.sh \u202e"}
    put(tmp_path, ".mcp.json", json.dumps({"mcpServers": {"local": local, "web": web, "odd": 3}}))
    found = fingerprint(tmp_path)
    assert [seen.path for seen in found.files] == [".mcp.json", "head.sh", "tools/server.py"]
    assert found.effects[-3:] == (
        "starts `LD_PRELOAD=./x.so 'K=${KEY:-}' python3 tools/server.py 'a b'` as the MCP server local, "
        "with your variables KEY (.mcp.json)",
        "connects the MCP server web at https://h.example/${TOKEN}, with your variables TOKEN (.mcp.json)",
        "runs `./head.sh <U+202E>` for headers of the MCP server web (.mcp.json)",
    )


@pytest.mark.spec("MCP-1")
@pytest.mark.parametrize(
    "text", ["[]", "{", '{"mcpServers": []}', '{"mcpServers": {"a": {"args": 3, "env": []}}}', "[" * 60_000]
)
def test_a_list_of_servers_that_cannot_be_read_still_counts(tmp_path: Path, text: str) -> None:
    put(tmp_path, ".mcp.json", text)
    assert [seen.path for seen in fingerprint(tmp_path).files] == [".mcp.json"]


@pytest.mark.spec("MCP-1")
def test_a_list_of_servers_that_is_too_long_to_show_cannot_be_trusted(tmp_path: Path) -> None:
    put(tmp_path, ".mcp.json", '{"mcpServers": {"a": {"command": "x"}}}' + " " * 70_000)
    assert "not shown" in fingerprint(tmp_path).problem


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
    problem = "there are more than 1000 files and folders to read"
    assert fingerprint(root).problem == problem
    assert fingerprint(root).files == ()
    assert store.state(root) == Untrusted(problem)
    assert store.trust(root, fingerprint(root)) == Untrusted(problem)


def test_the_size_of_files_is_bounded(root: Path) -> None:
    with open(root / ".callgate" / "huge", "wb") as file:
        file.truncate(32 * 1024 * 1024 - len(HOOKS))
        assert fingerprint(root).problem == ""
        file.truncate(32 * 1024 * 1024 - len(HOOKS) + 1)
    assert fingerprint(root).problem == "there are more than 32 MiB to read"


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


@pytest.mark.parametrize("name", ["settings.toml", "settings.local.toml"], ids=["changed", "appeared"])
def test_settings_that_change_while_they_are_read_cannot_be_trusted(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    listdir = os.listdir

    def list_late(path: str) -> list[str]:
        put(root, f".callgate/{name}", "mode = 'plan'")
        return listdir(path)

    monkeypatch.setattr(os, "listdir", list_late)
    assert fingerprint(root).problem == f"{root}/.callgate/{name} changed while Callgate read it: try again"


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
        "calls own.hooks:stop before the agent stops (hooks.Stop, .callgate/settings.toml:9)",
        "runs `python -m tell.me $CALLGATE_PROJECT_DIR/tell.txt 'with blank.txt'` when a question is open "
        "and the user is away (.callgate/settings.toml:13)",
        "posts to http://localhost/x after every failed call (hooks.PostToolUseFailure, "
        ".callgate/settings.local.toml:1)",
        "runs `a<U+202E>` when a session starts or is resumed that matches resume (hooks.SessionStart, "
        ".callgate/settings.local.toml:4)",
        "may use .callgate/in, a link to settings.toml",
        f"may use .callgate/out, a link to {tmp_path}/x, outside the repository, which may change without a question",
        "may use .callgate/pipe",
        f"may use scripts/check.sh ({hashed('exit 0' + chr(10))[:12]})",
    )


def test_a_settings_file_that_is_a_link_is_said_to_be_one(root: Path) -> None:
    put(root, "plain.toml")
    (root / ".callgate" / "settings.local.toml").symlink_to("../plain.toml")
    effects = fingerprint(root).effects
    assert "may use .callgate/settings.local.toml, a link to ../plain.toml" in effects
