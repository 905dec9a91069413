"""What a program says when the sandbox refused something, understood."""

import pytest

from callgate.host.sandbox.denied_access import DeniedAccess, denied_access
from callgate.host.sandbox.profile import Profile
from tests.rows import rows

PROFILE = Profile(
    root="/home/u/app",
    read_only=("/home/u/app/.git",),
    unreadable=("/home/u/.ssh",),
    scratch="/tmp/scratch",
)

SAID = [
    ("sh: 1: cannot create /etc/motd: Read-only file system", "write", "/etc/motd"),
    ("touch: cannot touch '/opt/x y': Read-only file system", "write", "/opt/x y"),
    ("mkdir: cannot create directory ‘.vscode/x’: Read-only file system", "write", ".vscode/x"),
    ("OSError: [Errno 30] Read-only file system: '/home/u/.cache/x'", "write", "/home/u/.cache/x"),
    ("Error: EROFS: read-only file system, open '/home/u/.npm/_cacache'", "write", "/home/u/.npm/_cacache"),
    ("open /home/u/.cache/go-build/trim.txt: read-only file system", "write", "/home/u/.cache/go-build/trim.txt"),
    ("error: failed to write (os error 30): Read-only file system", "write", ""),
    ("fatal: Unable to create '/home/u/app/.git/x.lock': Read-only file system", "write", "/home/u/app/.git/x.lock"),
    ("cat: /home/u/.ssh/id_rsa: Permission denied", "read", "/home/u/.ssh/id_rsa"),
    ("PermissionError: [Errno 13] Permission denied: '/home/u/.ssh/config'", "read", "/home/u/.ssh/config"),
    ("sh: 1: cannot create /var/x: Permission denied", "write", "/var/x"),
    ("bash: line 1: ../outside: Permission denied", "write", "../outside"),
    ("touch: cannot touch '.git/hooks/x': Permission denied", "write", ".git/hooks/x"),
    ("curl: (6) Could not resolve host: example.com", "network", "example.com"),
    ("ssh: Could not resolve hostname github.com: Temporary failure in name resolution", "network", "github.com"),
    ("fatal: unable to access 'https://github.com/x/y/': Could not resolve host: github.com", "network", "github.com"),
    ("npm error request failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org", "network", "registry.npmjs.org"),
    ("dial tcp: lookup proxy.golang.org on 1.1.1.1:53: connect: network is unreachable", "network", "proxy.golang.org"),
    ("OSError: [Errno 97] Address family not supported by protocol", "network", ""),
    ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "network", ""),
    ("strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted", "kernel", ""),
    ("unshare: unshare failed: Operation not permitted", "kernel", ""),
]


@pytest.mark.spec("BLT-2")
@rows("text, wanted, place", SAID)
def test_a_refusal_is_recognised(text: str, wanted: str, place: str) -> None:
    found = denied_access(f"building\n{text}\nmake: *** [all] Error 1\n", 2, PROFILE)
    assert found is not None
    assert (found.wanted, found.place) == (wanted, place)


OTHER = [
    "src/main.c:3: error: expected ';'",
    "cat: secret.txt: Permission denied",  # a file of the workspace, whose mode says so
    "grep: x: No such file or directory",
    "AssertionError: 1 != 2",
    "curl: (7) Failed to connect to localhost port 8080: Connection refused",
    "",
]


@rows("text", OTHER)
def test_other_failures_are_not_blamed_on_the_sandbox(text: str) -> None:
    assert denied_access(text, 1, PROFILE) is None


def test_a_command_that_succeeded_was_refused_nothing() -> None:
    assert denied_access("warning: /x: Read-only file system", 0, PROFILE) is None


def test_the_words_for_a_person() -> None:
    assert str(DeniedAccess("write", "/etc/motd")) == "write access to /etc/motd"
    assert str(DeniedAccess("network", "example.com")) == "network access to example.com"
    assert str(DeniedAccess("network")) == "network access"


def test_a_sandbox_that_could_not_be_made_counts_as_a_refusal() -> None:
    found = denied_access("bwrap: Can't bind mount /x: No such device\n", 1, PROFILE)
    assert str(found) == "the sandbox could not be created (Can't bind mount /x: No such device)"
    assert denied_access("building\nbwrap: not at the beginning", 1, PROFILE) is None


def test_what_a_command_says_is_cut() -> None:
    found = denied_access(f"cat: /{'x' * 5_000}: Read-only file system", 1, PROFILE)
    assert found is not None
    assert len(found.place) == 200
