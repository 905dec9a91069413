"""Passwords and tokens in settings of git do not reach the model, and so not the record."""

import subprocess
from pathlib import Path

import pytest

from callgate.host.environment import without_credentials
from tests.rows import rows
from tests.tools.bash_kit import Shell

TOKEN = "tok3nXvalue9secret7abc"
SETTINGS = {
    "remote.origin.url": f"https://user:{TOKEN}@example.org/a.git",
    "remote.other.url": f"https://{TOKEN}@example.org/a.git",
    "remote.old.pushurl": f"https://x-access-token:{TOKEN}@example.org/a.git",
    "remote.odd.url": f"https://user:p@ss{TOKEN}@example.org/a.git",
    "http.https://example.org/.extraheader": f"AUTHORIZATION: basic {TOKEN}==",
    "http.extraheader": f"PRIVATE-TOKEN: {TOKEN}",
    "http.proxy": f"http://me:{TOKEN}@proxy.example.org:8080",
    f"url.https://git:{TOKEN}@example.org/.insteadof": "https://example.org/",
    "github.token": TOKEN,
    "sendemail.smtppass": TOKEN,
    "user.password": TOKEN,
    "credential.helper": f"!f() {{ echo password={TOKEN}; }}; f",
}
COMMANDS = (
    "git config -l",
    "git config --list --show-origin",
    "git config -l -z",
    "git -C . config --list",
    "git config --get-regexp 'url|header|token|pass'",
    "git config --get remote.origin.url",
    "git config --get http.extraheader",
    "git config github.token",
    "git config --get sendemail.smtpPass",
    "git config --get-urlmatch http.extraheader https://example.org/",
    "git remote -v",
    "git remote get-url origin",
    "git remote get-url --push old",
    "git ls-remote --get-url origin",
    "cat .git/config",
    "head -50 .git/config",
    "grep -n = .git/config",
    "grep -r = .git",
    "sed -n 1,80p .git/config",
    "cd .git && cat config",
    "cat < .git/config",
    "cat .git/conf*",
    "git remote -v | cat",
    "echo $(git remote -v)",
    "for f in .git/config; do cat $f; done",
)


@pytest.fixture
def repository(tmp_path: Path) -> Shell:
    root = tmp_path / "work"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for key, value in SETTINGS.items():
        subprocess.run(["git", "config", key, value], cwd=root, check=True)
    return Shell(root)


@rows("command", COMMANDS)
def test_a_command_that_prints_settings_shows_no_token(repository: Shell, command: str) -> None:
    text = repository(command).text
    repository.context.clear()
    assert TOKEN not in text
    assert "[masked:" in text


@rows(
    ("text", "expected"),
    [
        ("https://example.org/a.git", None),
        ("https://user@example.org/a.git", None),
        ("git@github.com:user/a.git", None),
        ("ssh://git@example.org:22/a.git", None),
        ("user.signingkey=ABCDEF0123456789", None),
        ("branch.main.remote=origin\nuser.email=a@example.org", None),
        ("credential.helper=store", None),
        ("url=https://u:p@h/a", "url=https://u:[masked:password]@h/a"),
        ("http.extraheader=X: y z\nuser.name=A", "http.extraheader=X: [masked:header]\nuser.name=A"),
        ("\textraheader = AUTHORIZATION: basic x\n", "\textraheader = AUTHORIZATION: [masked:header]\n"),
        ("http.extraheader\nX: y\0user.name\nA\0", "http.extraheader\nX: [masked:header]\0user.name\nA\0"),
    ],
)
def test_only_credentials_are_masked(text: str, expected: str | None) -> None:
    assert without_credentials(text) == (text if expected is None else expected)


def test_other_commands_show_what_files_contain(repository: Shell, tmp_path: Path) -> None:
    (tmp_path / "work" / "a.py").write_text(f"token = '{TOKEN}'\n")
    assert TOKEN in repository("cat a.py").text
    assert TOKEN in repository("git diff --no-index /dev/null a.py").text


def test_long_texts_are_masked_quickly() -> None:
    for piece in ("a", "://", "token", ".", "x:", "https://a:", "authorization"):
        without_credentials(piece * 30_000)
