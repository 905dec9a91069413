"""Edits a text in the user's editor."""

import os
import shlex
import subprocess
import tempfile


def edited_text(text: str, suffix: str = ".md") -> str | None:
    """Edit a text in $VISUAL or $EDITOR and return the new text, or None if the editor failed. Blocks."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    # A private folder, because some editors replace the file instead of writing to it.
    with tempfile.TemporaryDirectory(prefix="callgate-") as folder:
        path = os.path.join(folder, f"text{suffix}")
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(text)
        try:
            code = subprocess.run([*shlex.split(command), path], check=False).returncode
            with open(path, encoding="utf-8", newline="") as file:
                after = file.read()
        except (OSError, ValueError):
            return None
    return after if code == 0 else None
