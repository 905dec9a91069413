"""Stores the prompts that the user typed in a workspace, for the input line of later sessions.

The file has one JSON object for each prompt, with secrets masked, and is readable by its owner only. Writers lock
the file. All functions block.
"""

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from callgate.transcript.masking import Masker
from callgate.transcript.session_paths import project_key
from callgate.transcript.side_files import is_at, open_beside, read_beside, replace_beside
from callgate.tui.composer.recall import RecalledPrompt

MOST_PROMPTS = 1_000
MOST_BYTES = 4_000_000
LONGEST = 400_000
"""Characters of a prompt with its pasted texts; longer prompts are not stored."""


class PromptHistory:
    """The prompt history of one workspace. Read and write errors are ignored."""

    def __init__(self, data: Path, root: Path) -> None:
        self.file = data / "history" / f"{project_key(root)}.jsonl"
        self._masker: Masker | None = None

    def prompts(self) -> list[RecalledPrompt]:
        """Return the prompts, oldest first, without consecutive duplicates."""
        try:
            found = _read(read_beside(self.file))
        except OSError:
            return []
        return [each for at, each in enumerate(found) if not at or each != found[at - 1]][-MOST_PROMPTS:]

    def add(self, prompt: RecalledPrompt) -> None:
        text, pasted = prompt.text, prompt.pasted
        if sum(map(len, (text, *pasted.values()))) > LONGEST:
            return
        self._masker = self._masker or Masker()
        masked = self._masker.noun({"text": text, "pasted": dict(pasted)})
        line = f"{json.dumps(masked if masked['pasted'] else {'text': masked['text']})}\n".encode()
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._locked() as descriptor:
                size = os.fstat(descriptor).st_size
                # Start a new line after one that a crash cut off.
                whole = not size or os.pread(descriptor, 1, size - 1) == b"\n"
                os.write(descriptor, line if whole else b"\n" + line)
                if size > MOST_BYTES:
                    self._shorten()
        except OSError:
            return

    def _shorten(self) -> None:
        lines = read_beside(self.file).splitlines(keepends=True)
        kept: list[bytes] = []
        room = MOST_BYTES // 2
        for line in reversed(lines[-MOST_PROMPTS:]):
            room -= len(line)
            if room < 0:
                break
            kept.insert(0, line)
        replace_beside(self.file, b"".join(kept).decode(errors="replace"))

    @contextmanager
    def _locked(self) -> Generator[int]:
        """Open the file for appending and lock it. If the file was replaced in between, open it again."""
        while True:
            descriptor = open_beside(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if is_at(descriptor, self.file):
                    yield descriptor
                    return
            finally:
                os.close(descriptor)


def _read(data: bytes) -> list[RecalledPrompt]:
    found: list[RecalledPrompt] = []
    for line in data.splitlines():
        try:
            read: Any = json.loads(line)
            pasted: Any = read.get("pasted", {})
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(read.get("text"), str) and isinstance(pasted, dict):
            texts = {str(label): str(text) for label, text in cast(dict[Any, Any], pasted).items()}
            found.append(RecalledPrompt(cast(str, read["text"]), texts))
    return found
