"""The JSON that a command of the status line reads."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from callgate import Session
from callgate.testing import ScriptedModel, run_virtual
from callgate.tui.statusline.status_payload import SAMPLE, StatusTotals, payload, payload_bytes, percent
from tests.house.tree import ROOT

GUIDE = ROOT / "docs/guides/status-line.md"


def names(value: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, each in value.items():
        if isinstance(each, dict):
            yield from names(each, f"{before}{name}.")
        else:
            yield f"{before}{name}"


def payload_of_a_new_session(tmp_path: Path) -> dict[str, Any]:
    async def main() -> dict[str, Any]:
        async with Session(ScriptedModel(name="m"), host=tmp_path) as session:
            return payload(session, StatusTotals(), project=str(tmp_path), seconds=0.0)

    return run_virtual(main())


@pytest.mark.spec("STL-2")
def test_the_sample_has_every_field(tmp_path: Path) -> None:
    sections = {**payload_of_a_new_session(tmp_path)}
    sections["context"]["last_request"] = SAMPLE["context"]["last_request"]
    assert [*names(sections)] == [*names(SAMPLE)]
    assert set(SAMPLE["context"]["last_request"]) == {"input", "cache_read", "cache_write", "output", "reasoning"}


@pytest.mark.spec("STL-2")
def test_what_is_not_known_yet_is_null(tmp_path: Path) -> None:
    found = payload_of_a_new_session(tmp_path)
    assert {name for name in names(found) if _at(found, name) is None} >= {
        *("session.title", "effort", "cost.total", "agent", "worktree", "vim"),
        *(f"context.{name}" for name in ("size", "used_percent", "last_request", "total_input", "total_output")),
    }
    assert percent(5, 0) is None
    assert percent(50, 10) == 100.0


@pytest.mark.spec("STL-2")
def test_the_guide_explains_every_field_and_no_other() -> None:
    explained = re.findall(r"^\| `([a-z_.]+)` \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert explained == [*names(SAMPLE)]


def test_it_is_one_line_whatever_is_in_it() -> None:
    written = payload_bytes({"session": {"title": "a\nb\x1b\ud800"}})
    assert written.count(b"\n") == 1
    assert json.loads(written)["session"]["title"] == "a\nb\x1b\ud800"


def _at(value: Any, name: str) -> Any:
    for part in name.split("."):
        value = value[part]
    return value
