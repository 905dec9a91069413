"""Opens a text argument of a call in the user's editor, before the user allows the call."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

from callgate.transcript.answer_files import AnswerRefused
from callgate.words.decisions import Question, arguments_hash
from callgate.words.errors import UsageError


def edited(question: Question, name: str) -> dict[str, Any] | None:
    """Let the user edit one argument. Return all arguments, or None if the user changed nothing. Raise AnswerRefused
    if there is nothing to edit or the editor fails."""
    if arguments_hash(question.through or question.tool, question.arguments) != question.arguments_hash:
        raise AnswerRefused("secrets are masked in these arguments, so they cannot be edited here")
    which = name or _only_text(question)
    before = question.arguments.get(which)
    if not isinstance(before, str):
        raise AnswerRefused(f"{question.tool} has no text {which!r} to edit; it has {_texts(question.arguments)}")
    after = _in_editor(before, which)
    return None if after == before else {**question.arguments, which: after}


def _only_text(question: Question) -> str:
    found = [name for name, value in question.arguments.items() if isinstance(value, str)]
    if len(found) != 1:
        raise AnswerRefused(f"say which text to edit: {_texts(question.arguments)}")
    return found[0]


def _texts(arguments: Mapping[str, Any]) -> str:
    return ", ".join(name for name, value in arguments.items() if isinstance(value, str)) or "none"


def editor_command() -> list[str]:
    """Return the user's editor as a list of words. Raise UsageError if it cannot be parsed."""
    given = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        words = shlex.split(given)
    except ValueError:
        words = []
    if not words:
        raise UsageError(f"the editor {given!r} was not found: set $EDITOR to an editor")
    return words


def _in_editor(text: str, name: str) -> str:
    command = editor_command()
    # The folder is the person's own alone; some editors replace the file instead of writing into it.
    with tempfile.TemporaryDirectory(prefix="callgate-") as folder:
        path = os.path.join(folder, f"{name}.md")
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(text)
        try:
            code = subprocess.run([*command, path], check=False).returncode
            with open(path, encoding="utf-8", newline="") as file:
                after = file.read()
        except OSError as error:
            raise AnswerRefused(
                f"the editor {shlex.join(command)!r} failed; the question is still open: {error}"
            ) from error
    if code != 0:
        raise AnswerRefused(f"the editor {shlex.join(command)!r} ended with {code}; the question is still open")
    # Editors end a file with a line feed of their own.
    return after.removesuffix("\n") if not text.endswith("\n") else after
