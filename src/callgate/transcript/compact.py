"""Shortens a history that is too long: finds the first message to keep, and cuts old results."""

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import replace

from callgate.words.late_pattern import late_pattern
from callgate.words.messages import Content, Message, Resource, ResultPart, Text
from callgate.words.turns import ResultReplaced

Summarize = Callable[[Sequence[Message], str], Awaitable[str] | str]
"""Summarizes messages; the text has instructions."""

LEFT_OUT = late_pattern(r"\n… ([\d,]{1,20}) of ([\d,]{1,20}) characters of this old result left out …\n")


def kept_from(messages: Sequence[Message], keep: int) -> str | None:
    """Return the id of the first message to keep, or None if ``keep`` is 0.

    At least the last ``keep`` messages are kept, and before them only the messages that are needed so that each
    result follows its call. If the history has fewer messages, return the id of the first message.
    """
    if keep <= 0:
        return None
    reach = _reach(messages)
    needed = len(messages)
    for at in reversed(range(len(messages))):
        needed = min(needed, reach[at])
        if needed == at <= len(messages) - keep and messages[at].role != "tool":
            return messages[at].id
    return next((message.id for message in messages if message.role != "tool"), None)


def _reach(messages: Sequence[Message]) -> list[int]:
    """Return for each message the index of the earliest message that it needs: the earliest message with one of its
    calls for a message with results, otherwise the message itself."""
    reach = list(range(len(messages)))
    waiting: dict[str, list[int]] = {}
    for at, message in enumerate(messages):
        if message.role == "assistant":
            for call in message.calls:
                waiting.setdefault(call.id, []).append(at)
        for part in message.parts:
            if isinstance(part, ResultPart) and waiting.get(part.call_id):
                reach[at] = min(reach[at], waiting[part.call_id].pop())
    return reach


def trimmed(
    messages: Sequence[Message], *, at: float, over: int, keep_last: int, done: Container[tuple[str, str]] = ()
) -> list[ResultReplaced]:
    """Return replacements for old results of more than ``over`` characters. A replacement has the start and the end of
    the result, with a note about the length of the omitted text.

    There are no replacements for results in the last ``keep_last`` messages, results in ``done`` (by message and
    call id), results that were shortened before, and results that would not get shorter. A replacement depends only
    on the result and ``over``.
    """
    found: list[ResultReplaced] = []
    seen: set[tuple[str, str]] = set()
    for message in messages[: max(0, len(messages) - keep_last)]:
        for part in message.parts:
            if not isinstance(part, ResultPart):
                continue
            key = (message.id, part.call_id)
            if key not in seen and key not in done:
                short = _shortened(part.content, over)
                if short is not None:
                    found.append(ResultReplaced(at, *key, short))
            seen.add(key)
    return found


def _shortened(content: tuple[Content, ...], over: int) -> tuple[Content, ...] | None:
    """Return all text of the result as one shortened text, followed by the other content; None if the result must
    not be shortened."""
    texts = [part.text for part in content if isinstance(part, Text | Resource) and part.text]
    full = "\n".join(texts)
    if len(full) <= over or _was_cut(full):
        return None
    cut = _head_and_tail(full, over)
    rest = (replace(part, text=None) if isinstance(part, Resource) else part for part in content)
    return None if len(cut) >= len(full) else (Text(cut), *(part for part in rest if not isinstance(part, Text)))


def _head_and_tail(text: str, limit: int) -> str:
    """Return the start and the end of the text with a note in between, in total at most ``limit`` characters. If the
    note alone is longer, return only the note."""
    longest = _note(len(text), len(text))
    room = max(0, limit - len(longest))
    head = room * 2 // 3
    return text[:head] + _note(len(text) - room, len(text)) + text[len(text) - (room - head) :]


def _note(left_out: int, total: int) -> str:
    return f"\n… {left_out:,} of {total:,} characters of this old result left out …\n"


def _was_cut(text: str) -> bool:
    for note in LEFT_OUT.finditer(text):
        left_out, total = (int(number.replace(",", "") or 0) for number in note.groups())
        if total - left_out == len(text) - len(note[0]):
            return True
    return False
