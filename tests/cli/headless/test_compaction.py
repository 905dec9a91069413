"""``callgate -p`` with a history that is too long for the server."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.headless.blackbox import calls, ended, program, refuses, says

SUMMARY = "1. **Goal.** Find the fault."


@pytest.mark.slow
@pytest.mark.spec("CMP-1", "CMP-8")
def test_a_history_that_the_server_refuses_is_summed_up_and_the_run_goes_on(tmp_path: Path) -> None:
    too_long = refuses(
        400, "This model's maximum context length is 8192 tokens. Please reduce the length of the messages."
    )
    replies = (calls(("Read", {"file_path": "a.txt"})), too_long, says(SUMMARY), says("Found it."))
    with program(tmp_path, *replies) as callgate:
        (callgate.work / "a.txt").write_text("a line of the file\n" * 900)
        ran = callgate.run("Find the fault.", "--output-format", "stream-json")
        requests = [received.json for received in callgate.server.requests]
        shown = ended(callgate.start("session", "show", stdin=subprocess.DEVNULL))
    assert (ran.code, ran.lines[-1]["text"]) == (0, "Found it."), ran.err
    assert len(requests) == 4, "and no title"
    assert ran.lines[-1]["usage"]["input"] == 30, "that of the summary included"
    (boundary,) = ran.of("Compacted")
    assert (boundary["trigger"], boundary["model"]) == ("reactive", "openai-chat/fake-1")
    assert "tools" not in requests[2]
    assert "[call call_1 of Read]" in json.dumps(requests[2]["messages"])
    sent = json.dumps(requests[3]["messages"])
    assert SUMMARY in sent
    assert "Find the fault." in sent
    assert "The history was compacted (reactive): 4 messages" in shown.out, "with the names of deferred tools"
    assert sent.count("+ WebFetch") == 1, "announced again behind the summary"
    assert SUMMARY in shown.out
