"""Recalls earlier prompts in the input line, one by one or by a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from callgate.words.noun import nothing, noun

MOST_FOUND = 50


@noun
class RecalledPrompt:
    """A prompt of the history. ``pasted`` has the long texts by their labels in ``text``."""

    text: str
    pasted: Mapping[str, str] = field(default_factory=nothing)


class Recall:
    """A cursor in the earlier prompts, moved by ``older`` and ``newer``. The user's draft comes after the newest
    prompt."""

    def __init__(self) -> None:
        self._prompts: list[RecalledPrompt] = []
        self._at = 0
        self._draft = ""

    def load(self, prompts: Sequence[RecalledPrompt]) -> None:
        """Insert the prompts of earlier sessions before the prompts of this session."""
        self._prompts = [*prompts, *self._prompts]
        self._at += len(prompts)

    def add(self, prompt: RecalledPrompt) -> bool:
        """Add a prompt. Return False if it equals the last prompt."""
        self._draft = ""
        new = not self._prompts or self._prompts[-1] != prompt
        if new:
            self._prompts.append(prompt)
        self._at = len(self._prompts)
        return new

    @property
    def walking(self) -> bool:
        return self._at < len(self._prompts)

    def older(self, current: str) -> RecalledPrompt | None:
        if not self._at:
            return None
        if not self.walking:
            self._draft = current
        self._at -= 1
        return self._prompts[self._at]

    def newer(self) -> RecalledPrompt | str | None:
        """Move to the next prompt and return it, or the user's draft after the newest prompt. Return None if the
        cursor is at the draft already."""
        if not self.walking:
            return None
        self._at += 1
        return self._prompts[self._at] if self.walking else self._draft

    def reset(self) -> None:
        self._at = len(self._prompts)

    def found(self, typed: str) -> list[RecalledPrompt]:
        """Return the prompts that contain the text, newest first; prompts that start with the text come first."""
        wanted = typed.strip().lower()
        found: dict[str, RecalledPrompt] = {}
        for each in reversed(self._prompts):
            if wanted in each.text.lower():
                found.setdefault(each.text, each)
        return sorted(found.values(), key=lambda each: not each.text.lower().startswith(wanted))[:MOST_FOUND]
