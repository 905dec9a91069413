"""The JSON that a command of the status line reads."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from callgate import __version__
from callgate.tui.statusline.status_payload import SAMPLE, StatusSnapshot, payload, payload_bytes
from callgate.words.messages import Usage
from tests.house.tree import ROOT

GUIDE = ROOT / "docs/guides/status-line.md"


def names(value: dict[str, Any], before: str = "") -> Iterator[str]:
    for name, each in value.items():
        if isinstance(each, dict):
            yield from names(each, f"{before}{name}.")
        else:
            yield f"{before}{name}"


@pytest.mark.spec("STL-2")
def test_the_sample_has_every_field() -> None:
    assert payload(SAMPLE) == {
        "version": __version__,
        "session": {"id": "01jz8k2m4n", "title": "Mend the parser"},
        "model": {"id": "anthropic/claude-opus-5-5", "name": "claude-opus-5-5"},
        "effort": "high",
        "mode": "accept_edits",
        "folders": {"current": "/home/ada/parser/src", "project": "/home/ada/parser", "added": ["/home/ada/notes"]},
        "cost": {
            "total": 0.4213,
            "seconds": 754.0,
            "api_seconds": 211.5,
            "lines_added": 156,
            "lines_removed": 23,
        },
        "context": {
            "size": 200_000,
            "used_percent": 42.0,
            "last_request": {
                "input": 1_200,
                "cache_read": 81_000,
                "cache_write": 900,
                "output": 1_000,
                "reasoning": 400,
            },
            "total_input": 442_800,
            "total_output": 15_300,
        },
        "agent": None,
        "worktree": None,
        "background": {"commands": 1, "agents": 0, "workflows": 0, "watches": 0},
        "vim": None,
    }


@pytest.mark.spec("STL-2")
def test_what_is_not_known_yet_is_null() -> None:
    found = payload(StatusSnapshot())
    unknown = {name for name in names(found) if _at(found, name) is None}
    assert set(names(found)) - unknown == {
        *("version", "mode", "folders.added"),
        *(f"background.{kind}" for kind in ("commands", "agents", "workflows", "watches")),
    }
    assert payload(StatusSnapshot(window=0, used=5))["context"]["used_percent"] is None
    assert payload(StatusSnapshot(window=10, used=50))["context"]["used_percent"] == 100.0


@pytest.mark.spec("STL-2")
def test_the_guide_explains_every_field_and_no_other() -> None:
    explained = re.findall(r"^\| `([a-z_.]+)` \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert explained == [*names(payload(SAMPLE))]


def test_it_is_one_line_whatever_is_in_it() -> None:
    written = payload_bytes(StatusSnapshot(title="a\nb\x1b\ud800", last=Usage()))
    assert written.count(b"\n") == 1
    assert json.loads(written)["session"]["title"] == "a\nb\x1b\ud800"


def _at(value: Any, name: str) -> Any:
    for part in name.split("."):
        value = value[part]
    return value
