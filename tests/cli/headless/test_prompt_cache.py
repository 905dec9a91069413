"""The beginning of every request of a session is the same, so that providers find it in their caches."""

import subprocess

import pytest

from callgate.testing import call, say, turn
from tests.cli.headless.kit import Desk


@pytest.mark.spec("PRV-6")
def test_system_prompt_and_tools_are_the_same_in_every_request_also_after_a_resume(desk: Desk) -> None:
    subprocess.run(("git", "init", "-q", "-b", "one"), cwd=desk.work, check=True)
    (desk.work / "AGENTS.md").write_text("Use tabs.")
    desk.run(
        ["-p", "go", "--mode", "accept_edits"], turn(call("Write", file_path="a.txt", content="a")), turn(say("ok"))
    )
    subprocess.run(("git", "checkout", "-q", "-b", "two"), cwd=desk.work, check=True)
    desk.run(["-p", "--continue", "more"], turn(say("ok")))
    requests = [request for model in desk.models for request in model.requests]
    assert len(requests) == 3
    assert "Use tabs." in requests[0].system
    assert {request.system for request in requests} == {requests[0].system}
    assert all(request.tools == requests[0].tools for request in requests)
