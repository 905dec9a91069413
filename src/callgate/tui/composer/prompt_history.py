"""The prompts that a person typed in a workspace, for the input line of every later session there.

A file with one JSON object for each prompt, readable by its owner alone, secrets masked as in the record. Programs that
write at the same time take turns by a lock on the file. Everything here blocks.
"""

import fcntl
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from callgate.transcript.masking import Masker
from callgate.transcript.session_paths import project_key
from callgate.transcript.side_files import open_beside, read_beside, replace_beside

MOST_PROMPTS = 1_000
MOST_BYTES = 4_000_000
LONGEST = 400_000
"""Characters of a prompt with its pasted texts; a longer one is not kept."""


TypedText = tuple[str, Mapping[str, str]]
"""A prompt, and long pasted texts by the labels that stand for them in it."""


class PromptHistory:
    """The history of one workspace. What cannot be read or written is left out: nothing depends on it."""

    def __init__(self, data: Path, root: Path, masker: Masker | None = None) -> None:
        self.file = data / "history" / f"{project_key(root)}.jsonl"
        self._masker = masker

    def prompts(self) -> list[TypedText]:
        """Oldest first, none twice in a row."""
        try:
            found = _read(read_beside(self.file))
        except OSError:
            return []
        return [each for at, each in enumerate(found) if not at or each != found[at - 1]][-MOST_PROMPTS:]

    def add(self, text: str, pasted: Mapping[str, str]) -> None:
        if sum(map(len, (text, *pasted.values()))) > LONGEST:
            return
        self._masker = self._masker or Masker()
        masked = self._masker.noun({"text": text, "pasted": dict(pasted)})
        line = f"{json.dumps(masked if masked['pasted'] else {'text': masked['text']})}\n".encode()
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._locked() as descriptor:
                size = os.fstat(descriptor).st_size
                # A line that a crash cut off stays alone.
                whole = not size or os.pread(descriptor, 1, size - 1) == b"\n"
                os.write(descriptor, line if whole else b"\n" + line)
                if size > MOST_BYTES:
                    self._shorten()
        except OSError:
            return

    def _shorten(self) -> None:
        """Keeps the newer half."""
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
        """The file, opened to append to it, locked. One that was replaced meanwhile is opened again."""
        while True:
            descriptor = open_beside(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if _is_at(descriptor, self.file):
                    yield descriptor
                    return
            finally:
                os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _read(data: bytes) -> list[TypedText]:
    found: list[TypedText] = []
    for line in data.splitlines():
        try:
            read: Any = json.loads(line)
            pasted: Any = read.get("pasted", {})
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(read.get("text"), str) and isinstance(pasted, dict):
            texts = {str(label): str(text) for label, text in cast(dict[Any, Any], pasted).items()}
            found.append((cast(str, read["text"]), texts))
    return found
