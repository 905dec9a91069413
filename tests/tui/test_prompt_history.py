"""The history of prompts: a private file that several programs write."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from callgate.tui.composer import prompt_history
from callgate.tui.composer.prompt_history import PromptHistory
from callgate.tui.composer.recall import RecalledPrompt


@pytest.fixture
def history(tmp_path: Path) -> PromptHistory:
    return PromptHistory(tmp_path / "data", tmp_path / "work")


def texts(history: PromptHistory) -> list[str]:
    return [each.text for each in history.prompts()]


def test_prompts_are_kept_for_their_workspace_and_their_owner_alone(history: PromptHistory, tmp_path: Path) -> None:
    history.add(RecalledPrompt("one"))
    history.add(RecalledPrompt("two\nlines [Pasted #1: 3 lines]", {"[Pasted #1: 3 lines]": "a\nb\nc"}))
    again = PromptHistory(tmp_path / "data", tmp_path / "work")
    assert again.prompts() == [
        RecalledPrompt("one"),
        RecalledPrompt("two\nlines [Pasted #1: 3 lines]", {"[Pasted #1: 3 lines]": "a\nb\nc"}),
    ]
    assert texts(PromptHistory(tmp_path / "data", tmp_path / "other")) == []
    assert history.file.stat().st_mode & 0o777 == 0o600
    assert history.file.parent.stat().st_mode & 0o777 == 0o700


def test_secrets_are_masked(history: PromptHistory) -> None:
    key = "sk-ant-" + "a1B2" * 10
    history.add(RecalledPrompt(f"use {key}", {"[Pasted #1]": f"KEY={key}"}))
    assert key not in history.file.read_text()
    assert "masked" in texts(history)[0]


def test_the_same_prompt_is_shown_once_in_a_row_and_a_broken_line_is_passed_over(history: PromptHistory) -> None:
    for text in ("a", "a", "b"):
        history.add(RecalledPrompt(text))
    with history.file.open("ab") as file:
        file.write(b'[]\n{"text": 3}\n{"text": "cut o')
    history.add(RecalledPrompt("c"))
    assert texts(history) == ["a", "b", "c"]


def test_a_file_that_is_too_long_keeps_its_newer_half(history: PromptHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_history, "MOST_BYTES", 2_000)
    for number in range(200):
        history.add(RecalledPrompt(f"prompt number {number}"))
    assert history.file.stat().st_size < 2_100
    assert texts(history)[-1] == "prompt number 199"
    assert len(texts(history)) > 20
    assert history.file.stat().st_mode & 0o777 == 0o600


def test_programs_that_write_at_once_lose_nothing(history: PromptHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_history, "MOST_BYTES", 3_000)
    writers = [PromptHistory(history.file.parents[1], Path(os.path.dirname(history.file))) for _ in range(4)]
    for each in writers:
        each.file = history.file
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: writers[number % 4].add(RecalledPrompt(f"p{number}")), range(200)))
    found = texts(history)
    assert len({*found}) == len(found) > 50
    assert all(json.loads(line) for line in history.file.read_text().splitlines())


def test_a_place_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    history = PromptHistory(tmp_path / "data", tmp_path)
    history.add(RecalledPrompt("one"))
    assert history.prompts() == []
