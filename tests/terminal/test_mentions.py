"""A resource of an MCP server that is mentioned in the terminal: completed, asked about, read."""

import re
from pathlib import Path

import pytest

from tests.mcp.client_kit import raw
from tests.mcp.test_client_session import flags
from tests.terminal.conftest import Play


@pytest.mark.spec("MCP-7")
def test_a_resource_is_completed_asked_about_and_read_before_the_answer(play: Play, tmp_path: Path) -> None:
    own = tmp_path / "home/.config/callgate/mcp.json"
    own.parent.mkdir(parents=True)
    own.write_text(flags(raw("refuses subscriptions")).given[0], encoding="utf-8")
    terminal = play("talks", columns=100)
    terminal.wait_for("idle")
    terminal.type("see @sr")
    terminal.wait_for("resources of an MCP server")
    terminal.press("enter")
    terminal.wait_for("❯ see @srv:")
    terminal.wait_for(" srv:note://a")
    terminal.press("enter")
    terminal.wait_for("❯ see @srv:note://a ")
    terminal.press("enter")
    terminal.wait_for("Allow ReadMcpResource")
    terminal.wait_for("y yes")
    terminal.press("y")
    terminal.wait_for("All done here.")
    assert re.search(r"✓ ReadMcpResource\W+note://a", terminal.text)
