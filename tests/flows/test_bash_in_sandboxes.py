"""Bash in every kind of sandbox: the working folder persists, a timeout ends everything, nothing is left behind."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from callgate.core.capabilities import SessionFacts
from callgate.host.local import LocalHost
from callgate.host.sandbox.proven_sandbox import ProvenSandbox
from callgate.host.sandbox.sandbox import Backend
from callgate.policy.sandbox_policy import profile_for
from callgate.tools.builtin.bash import BashTool, bash
from callgate.words.calls import Accepted, Result
from tests.host.sandbox.kit import LINUX, sandbox_of, visible_folder
from tests.tools.fake_run import FakeRun

pytestmark = [pytest.mark.slow, pytest.mark.spec("BLT-2")]


class Terminal:
    """One session's Bash without a session."""

    def __init__(self, folder: Path, backend: Backend) -> None:
        base = Path(os.path.realpath(folder))
        self.root, home, scratch = base / "work", base / "home", base / "scratch"
        for each in (self.root, home, scratch, self.root / "sub", self.root / ".git"):
            each.mkdir()
        (self.root / ".git" / "config").touch()
        self.host = LocalHost(self.root, base / "data")
        box = sandbox_of(backend, base / "own")
        proven = ProvenSandbox(lambda: box, lambda: profile_for(str(self.root), str(home), scratch=str(scratch)))
        self.tool: BashTool = bash(proven)
        self.context: dict[str, Any] = {}
        self.tool.bind(SessionFacts(lambda: self.context))

    def __call__(self, command: str, **more: Any) -> Result:
        read = self.tool.read({"command": command, **more})
        assert isinstance(read, Accepted)
        run = FakeRun(call_id="c1", host=self.host, context=dict(self.context), lineage=("session", "a1", "c1"))
        result = asyncio.run(self.tool.run(read.arguments, run))
        self.context |= cast("Mapping[str, Any]", result.context_update or {})
        return result


@contextmanager
def terminal(backend: Backend) -> Iterator[Terminal]:
    with visible_folder() as folder:
        yield Terminal(folder, backend)


@pytest.mark.parametrize("backend", LINUX)
def test_the_working_folder_and_temporary_files_persist(backend: Backend) -> None:
    with terminal(backend) as bash:
        assert bash("cd sub && echo x > $TMPDIR/kept").text.endswith("/work/sub]")
        assert bash("pwd; cat $TMPDIR/kept").text == f"{bash.root}/sub\nx"
        assert bash("cat ../../home/* 2>/dev/null; echo y > file && cat file").text == "y"
        refused = bash("echo z > ../../outside")
        assert "[Blocked by the sandbox: write access to" in refused.text
        assert sorted(os.listdir(bash.root)) == [".git", "sub"]


@pytest.mark.parametrize("backend", LINUX)
def test_a_timeout_ends_everything_inside_and_leaves_nothing(backend: Backend) -> None:
    with terminal(backend) as bash:
        os.mkfifo(bash.root / "sub" / "life")
        life = os.open(bash.root / "sub" / "life", os.O_RDONLY | os.O_NONBLOCK)
        script = "(trap '' TERM; exec 9>sub/life; setsid sh -c 'echo x > sub/beat; sleep 1000') & sleep 60"
        result = bash(script, timeout=1_000)
        assert "was stopped" in result.text
        assert (bash.root / "sub" / "beat").exists()
        assert os.read(life, 1) == b""  # closed in all of them; while one has it open, this would be an error
        os.close(life)
        assert sorted(os.listdir(bash.root)) == [".git", "sub"]
