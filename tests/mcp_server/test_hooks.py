"""Hooks and calls of MCP clients: they judge, they may refuse the whole client, and they may stop a run."""

from pathlib import Path
from typing import Any

import pytest

from tests.mcp_server.kit import ERAS, bench, code_of, run, text_of

pytestmark = pytest.mark.spec("MCP-5")


def hook(event: str, command: str) -> dict[str, Any]:
    return {"hooks": {event: [{"command": command}]}}


@pytest.mark.parametrize("era", ERAS)
def test_a_hook_that_does_not_let_a_client_in_answers_its_calls(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        refusing = hook("UserPromptSubmit", "echo not today >&2; exit 2")
        async with bench(tmp_path, settings=refusing) as made, made.client(era) as client:
            made.write("a.txt", "one\n")
            for _ in range(2):
                result = await client.call_tool("Read", {"file_path": "a.txt"})
                assert (result.is_error, code_of(result)) == (True, "never_started")
                assert "not today" in text_of(result)

    run(main)


@pytest.mark.parametrize("era", ERAS)
def test_after_a_hook_has_stopped_a_run_the_next_call_begins_another(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        stopping = hook("PostToolUse", """echo '{"continue": false, "stopReason": "enough"}'""")
        async with bench(tmp_path, settings=stopping) as made, made.client(era) as client:
            made.write("a.txt", "one\n")
            for _ in range(3):
                assert "one" in text_of(await client.call_tool("Grep", {"pattern": "one", "output_mode": "content"}))

    run(main)


def test_a_hook_before_calls_denies_them(tmp_path: Path) -> None:
    async def main() -> None:
        denying = hook("PreToolUse", "echo no reading >&2; exit 2")
        async with bench(tmp_path, settings=denying) as made, made.client("auto") as client:
            result = await client.call_tool("Glob", {"pattern": "*"})
            assert code_of(result) == "blocked_by_hook"
            assert "no reading" in text_of(result)

    run(main)
