"""Where a command runs is decided once, and a refusal inside is what the next question says."""

import os
from pathlib import Path

import pytest

from callgate.host.ports import Command, HostDecision
from callgate.host.sandbox.profile import Profile
from callgate.host.sandbox.proven_sandbox import ProvenSandbox
from callgate.host.sandbox.sandbox import Sandbox, SandboxRefused
from tests.host.sandbox.kit import best

REFUSAL = "curl: (6) Could not resolve host: example.com"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "workspace"
    made.mkdir()
    return made


@pytest.fixture
def proven(root: Path) -> ProvenSandbox:
    proven = ProvenSandbox(lambda: Sandbox(best(), root.parent / "own"), lambda: Profile(root=str(root)))
    proven.test()
    return proven


@pytest.mark.spec("GATE-13")
def test_a_command_runs_inside_unless_something_speaks_against_it(proven: ProvenSandbox, root: Path) -> None:
    assert proven.settle("c1", "make", None) is None
    assert proven.takes("c1", "make")
    assert proven.settle("c2", "make install", "it would write /usr") == "it would write /usr"
    assert not proven.takes("c2", "make install")
    assert proven.takes("c3", "never judged")
    inside = proven.wrap(Command(("make",), str(root), {}), print)
    assert inside.argv[-1] == "make" or "make" in inside.argv[-1]


@pytest.mark.spec("GATE-13")
def test_a_refusal_asks_the_next_time_and_moves_no_call_that_was_judged_before(proven: ProvenSandbox) -> None:
    assert proven.settle("c1", "curl example.com", None) is None
    assert proven.settle("c2", "curl example.com", None) is None  # both in one message
    assert proven.takes("c1", "curl example.com")
    assert str(proven.denied("curl example.com", REFUSAL, 6, ())) == "network access to example.com"
    assert proven.settle("c2", "curl example.com", None) is None, "it was judged as one that runs inside"
    assert proven.takes("c2", "curl example.com")
    assert (
        proven.settle("c3", "curl example.com", None)
        == "the sandbox blocked this command: network access to example.com"
    )
    assert not proven.takes("c3", "curl example.com")
    assert proven.settle("c4", "curl example.org", None) is None


@pytest.mark.spec("GATE-13")
def test_a_host_that_the_proxy_refused_is_named_whatever_the_command_wrote(proven: ProvenSandbox) -> None:
    hosts = [HostDecision("pypi.org", allowed=True), HostDecision("evil.example", allowed=False, why="not allowed")]
    assert proven.denied("make", "error", 0, hosts) is None
    assert str(proven.denied("make", "make: *** [all] Error 1", 2, hosts)) == "network access to evil.example"
    assert proven.settle("c1", "make", None) == "the sandbox blocked this command: network access to evil.example"
    both = proven.denied("pip", "touch: cannot touch '/usr/x': Read-only file system", 1, hosts)
    assert str(both) == "write access to /usr/x"


def test_other_failures_move_nothing(proven: ProvenSandbox) -> None:
    assert proven.denied("make", "main.c:1: error", 2, ()) is None
    assert proven.settle("c1", "make", None) is None


def test_a_workspace_that_cannot_be_protected_runs_outside_and_says_why(root: Path) -> None:
    (root / "real").mkdir()
    (root / ".vscode").symlink_to("real")
    box = Sandbox(best(), root.parent / "own")
    linked = ProvenSandbox(lambda: box, lambda: Profile(root=str(root), reserved=(f"{root}/.vscode",)))
    assert "the command cannot run in the sandbox" in (linked.settle("c1", "make", None) or "")
    with pytest.raises(SandboxRefused):
        linked.wrap(Command(("make",), str(root), {}), print)
