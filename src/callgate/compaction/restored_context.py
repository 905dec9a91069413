"""The text that a compaction adds to its summary: the to-do list, the plan, the last prompt, and the files in use.

A file is included if a call of the model named it and a tool marked it as read, because then the model was allowed
to read it. The present contents are read through the host.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from callgate.changes.text import read_guessed
from callgate.conversation.ledger import Ledger
from callgate.conversation.reminders import reminder
from callgate.core.ports import Host
from callgate.host.ports import Files, files_of
from callgate.host.threads import in_thread, threads_of
from callgate.tools.files.read_marks import mark_in
from callgate.tools.session_state import carried_over, plan_of
from callgate.words.errors import ToolFailure
from callgate.words.messages import Message

MOST_FILES = 5
MOST_CHARS = 50_000
_ONE_FILE = 20_000
"""Maximum number of characters of a file whose contents are included. For a longer file only the path is included."""
_PROMPT = 4_000

_FILES = "These files were in use. Their current content follows; read other files again when you need them."


async def restored_text(host: Host, ledger: Ledger, covered: int, room: int) -> str:
    """Return the text to add to the summary. The last prompt is included while its run has not ended.

    covered  the number of messages that the summary replaces
    room     the maximum number of characters of the files
    """
    context, messages = ledger.context, ledger.messages
    parts = [carried_over(context)]
    said = _last_prompt(messages, covered) if ledger.running else ""
    if said:
        parts.append(f"The last messages of the user before the summary, unchanged:\n{said}")
    paths = list(used_files(host, context, messages, covered))[:MOST_FILES]
    if paths:
        shown = await in_thread(lambda: _shown(host, paths, min(room, MOST_CHARS)), threads=threads_of(host))
        parts.append(shown)
    return "\n\n".join(filter(None, parts))


def _last_prompt(messages: Sequence[Message], covered: int) -> str:
    """Return the last prompt of the user; empty if the prompt is kept as a message or is too long."""
    at = next((at for at in range(len(messages) - 1, -1, -1) if _by_person(messages[at])), None)
    text = "" if at is None or at >= covered else messages[at].text.strip()
    return text if len(text) <= _PROMPT else ""


def _by_person(message: Message) -> bool:
    return message.role == "user" and not message.text.lstrip().startswith("<system-reminder>")


def used_files(host: Host, context: Mapping[str, Any], messages: Sequence[Message], covered: int) -> Iterator[str]:
    """Yield the path of the plan, then the paths of used files, last used first. A used file was named by a call and
    marked as read. Files named by the kept messages are omitted."""
    seen = {path for message in messages[covered:] for path in _named(host, context, message)}
    plan = plan_of(context)
    if plan is not None and (plan := host.normal(plan)) not in seen:
        seen.add(plan)
        yield plan
    for message in reversed(messages[:covered]):
        for path in _named(host, context, message):
            if path not in seen:
                seen.add(path)
                yield path


def _named(host: Host, context: Mapping[str, Any], message: Message) -> Iterator[str]:
    for call in reversed(message.calls):
        for value in call.arguments.values():
            if isinstance(value, str) and 0 < len(value) < 4_096 and "\n" not in value:
                path = host.normal(value)
                if mark_in(context, path) is not None:
                    yield path


def _shown(host: Host, paths: Sequence[str], room: int) -> str:
    """Read the files and return a reminder with their contents. Blocks."""
    try:
        files = files_of(host)
    except ToolFailure:
        return ""
    shown, named = list[str](), list[str]()
    for path in paths:
        text = _text(files, path)
        if text is None:
            continue
        if 0 < len(text) <= min(room, _ONE_FILE):
            room -= len(text)
            shown.append(f'<file path="{path}">\n{text}\n</file>')
        else:
            named.append(path)
    if not shown and not named:
        return ""
    more = f"Also in use, but not shown: {', '.join(named)}" if named else ""
    return reminder("\n\n".join(filter(None, (_FILES if shown else "", *shown, more))))


def _text(files: Files, path: str) -> str | None:
    """Return the text of a file; empty if the file is too long, None if it is missing or not a text file."""
    try:
        status = files.status(path)
        if status.kind != "file" or status.size > 4 * _ONE_FILE:
            return "" if status.kind == "file" else None
        found = read_guessed(files.read(path, 4 * _ONE_FILE))
    except ToolFailure:
        return None
    return None if found is None else found[0]
