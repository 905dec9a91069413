"""The parts to keep of a history that is too long: where a tail may begin, and old results in short."""

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import replace

from callgate.words.events import ResultReplaced
from callgate.words.late_pattern import late_pattern
from callgate.words.messages import Content, Message, Resource, ResultPart, Text

Summarize = Callable[[Sequence[Message], str], Awaitable[str] | str]
"""Puts messages into words that can stand for them; the text says what to mind."""

LEFT_OUT = late_pattern(r"\n… ([\d,]{1,20}) of ([\d,]{1,20}) characters of this old result left out …\n")


def kept_from(messages: Sequence[Message], keep: int) -> str | None:
    """The id of the message with which a tail of at least ``keep`` messages begins: the shortest that holds the call of
    every result in it; all there is if that is not as many. None if nothing is to be kept."""
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
    """For each message how far back the calls lie that it answers; itself if it answers none."""
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
    messages: Sequence[Message],
    *,
    at: float,
    over: int,
    keep_last: int,
    done: Container[tuple[str, str]] = (),
) -> list[ResultReplaced]:
    """Old results of more than ``over`` characters, as their head and tail with a note of how much is left out.

    The last ``keep_last`` messages stay as they are, and so do results in ``done`` (by message and call id), results
    that were trimmed before and those that would not get shorter. The text depends on the result and ``over`` alone.
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
    """All text in one, cut; what is no text stays. None if it is better left alone."""
    texts = [part.text for part in content if isinstance(part, Text | Resource) and part.text]
    full = "\n".join(texts)
    if len(full) <= over or _was_cut(full):
        return None
    cut = _head_and_tail(full, over)
    rest = (replace(part, text=None) if isinstance(part, Resource) else part for part in content)
    return None if len(cut) >= len(full) else (Text(cut), *(part for part in rest if not isinstance(part, Text)))


def _head_and_tail(text: str, limit: int) -> str:
    """At most ``limit`` characters, the note included; the note alone when there is no room for more."""
    longest = _note(len(text), len(text))
    room = max(0, limit - len(longest))
    head = room * 2 // 3
    return text[:head] + _note(len(text) - room, len(text)) + text[len(text) - (room - head) :]


def _note(left_out: int, total: int) -> str:
    return f"\n… {left_out:,} of {total:,} characters of this old result left out …\n"


def _was_cut(text: str) -> bool:
    """True if it has a note with numbers that add up; a text that only quotes one has not."""
    for note in LEFT_OUT.finditer(text):
        left_out, total = (int(number.replace(",", "") or 0) for number in note.groups())
        if total - left_out == len(text) - len(note[0]):
            return True
    return False
