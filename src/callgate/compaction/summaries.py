"""Summaries and recaps of a history, written by a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from callgate.conversation.allowance import Price
from callgate.conversation.ports import Model
from callgate.conversation.record import Record
from callgate.core.capabilities import close_stream
from callgate.core.ports import Clock
from callgate.words.errors import JournalError, ModelError, StateError, in_words
from callgate.words.messages import CallPart, Image, Message, Part, Resource, ResultPart, Spent, Text, Usage
from callgate.words.model import (
    WHOLE,
    MessageEnded,
    MessageStarted,
    Request,
    RequestLimits,
    RequestOptions,
    StopReason,
    TextDelta,
)
from callgate.words.noun import noun
from callgate.words.turns import AnswerUnused, AsidePurpose
from callgate.words.window import ANSWER, SMALL, context_limits

_ATTEMPTS = 4
"""Maximum number of requests for a summary. Each request has a shorter transcript than the previous request."""
_SHORTER = (None, 8_000, 2_000, 500)
"""Maximum lengths of each text and result, tried in order until the transcript fits. After the last length the oldest
messages are omitted."""
_FIRST = 4_000
"""Maximum length of the first message. The first message is never omitted, because it names the task."""

RECAP_WORDS = 40
_RECAP_MATERIAL = 12_000
"""The characters of the conversation in a request for a recap: its beginning and its end."""
_RECAP_TOKENS = 300

_BEFORE = "The conversation so far was too long and was replaced by this summary of it."
_TASK = "Here is the transcript of the conversation. Write its summary as instructed."


@noun
class WrittenSummary:
    """The summary of a history. ``model`` is empty if a function wrote the summary."""

    text: str
    model: str = ""
    usage: Usage | None = None


async def summarized(
    models: Sequence[Model], messages: Sequence[Message], focus: str, per_token: float, unused: UnusedAnswers
) -> WrittenSummary | str:
    """Return the summary of the first model that writes a summary, or the errors of all models as text.

    focus      what the summary should emphasize
    per_token  the number of characters in a token
    unused     records the costs of rejected answers
    """
    reasons: list[str] = []
    for model in models:
        try:
            found = await _by(model, messages, focus, per_token, partial(unused.pay, model.name))
        except Exception as error:  # a foreign model may raise anything
            found = in_words(error)
        if isinstance(found, WrittenSummary):
            return found
        reasons.append(f"{model.name}: {found}")
    return "; ".join(reasons)


async def _by(
    model: Model, messages: Sequence[Message], focus: str, per_token: float, unused: Callable[[Usage], None]
) -> WrittenSummary | str:
    system, wish = instructions("summary.md"), _focus_text(focus)
    window, output = model.abilities.context_tokens, model.abilities.output_tokens
    room = most = None
    if window is not None:
        most = min(output or ANSWER, ANSWER * min(window, SMALL) // SMALL)
        room = round(context_limits(window, most).usable * per_token * 0.9) - len(system) - len(wish)
    for _ in range(_ATTEMPTS):
        text, left_out = material(messages, room)
        try:
            answer = await ask(model, system, f"{_TASK}\n\n{text}{wish}", lost=unused, most=most)
        except ModelError as error:
            if error.kind != "too_long":
                return str(error)
        else:
            found = _checked(answer, left_out)
            if isinstance(found, str):
                unused(answer.usage)
            if answer.stop != "context_full":
                return found
        room = len(text) * 3 // 5
    return "the history is too long to summarize"


def _focus_text(focus: str) -> str:
    return f"\n\nThe user asks the summary to focus on this: {focus}" if focus.strip() else ""


def _checked(answer: PlainAnswer, left_out: int) -> WrittenSummary | str:
    """Return the summary in the answer, or the reason why the answer cannot be used. An incomplete answer is not
    used."""
    text = answer.text.strip()
    if answer.stop == "refusal":
        return "the model refused to write the summary"
    if answer.stop not in WHOLE:
        return f"the summary was cut off ({answer.stop})"
    if not text:
        return "the summary is empty"
    note = f"\n\n({left_out} older messages were too long for the summary and are not part of it.)" if left_out else ""
    return WrittenSummary(f"{_BEFORE}\n\n{text}{note}", answer.model, answer.usage)


async def recap_of(messages: Sequence[Message], model: Model, paid: UnusedAnswers) -> str:
    """Return a recap of the conversation: one line of at most 40 words. Raise the errors of the model, and ModelError
    if the answer is empty or incomplete.

    paid  records the costs, because the recap itself is not recorded
    """
    text, _left_out = material(messages, _RECAP_MATERIAL)
    options = RequestOptions(thinking="off")
    lost = partial(paid.pay, model.name)
    answer = await ask(model, instructions("recap.md"), text, lost=lost, most=_RECAP_TOKENS, options=options)
    paid.pay(model.name, answer.usage)
    words = answer.text.split()
    if not words or answer.stop not in WHOLE:
        raise ModelError(f"{model.name} wrote no recap ({answer.stop}).")
    return " ".join(words) if len(words) <= RECAP_WORDS else f"{' '.join(words[:RECAP_WORDS])} …"


# ---- the material -----------------------------------------------------------------------------------------------


def material(messages: Sequence[Message], room: int | None) -> tuple[str, int]:
    """Return a transcript of at most ``room`` characters, and the number of omitted messages.

    The oldest messages are omitted, but never the first message. A call and its result are omitted together.
    """
    groups: list[str] = []
    for most in _SHORTER:
        groups = [_group(each, most) for each in grouped(messages)]
        if room is None or sum(map(len, groups)) <= room:
            return "".join(groups), 0
    assert room is not None
    first, rest = _cut(groups[0], min(_FIRST, room // 4)), groups[1:]
    counts = [len(each) for each in grouped(messages)[1:]]
    gone = 0
    while len(rest) > gone + 1 and len(first) + sum(map(len, rest[gone:])) > room:
        gone += 1
    left_out = sum(counts[:gone])
    note = f"\n({left_out} messages are omitted here.)\n" if left_out else ""
    return first + note + _cut("".join(rest[gone:]), max(0, room - len(first))), left_out


def grouped(messages: Sequence[Message]) -> list[list[Message]]:
    """Group each message that has calls with the message that has their results."""
    groups: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and groups:
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


def _group(messages: Sequence[Message], most: int | None) -> str:
    return "".join(f"\n=== {message.role} ===\n{_said(message, most)}\n" for message in messages)


def _said(message: Message, most: int | None) -> str:
    return "\n".join(_cut(text, most) for part in message.parts if (text := _words(part)))


def _words(part: Part) -> str:
    """Return a message part as text; empty for thinking and for provider-specific parts."""
    match part:
        case Text():
            return part.text
        case CallPart():
            return f"[call {part.id} of {part.name}] {json.dumps(part.written, ensure_ascii=False, default=repr)}"
        case ResultPart():
            text = "\n".join(filter(None, map(_words, part.content)))
            return f"[{'failure' if part.is_error else 'result'} of call {part.call_id}, {part.name}]\n{text}"
        case Image():
            return "[an image]"
        case Resource():
            return f"[{part.uri}]\n{part.text or ''}"
        case _:
            return ""


def _cut(text: str, most: int | None) -> str:
    if most is None or len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}\n[… {len(text) - most:,} characters omitted …]\n{text[len(text) - (most - head) :]}"


# ---- requests outside the conversation -------------------------------------------------------------------------------


@noun
class PlainAnswer:
    """The answer of a model to a plain request. ``stop`` is ``cut_off`` if the stream ended without MessageEnded."""

    text: str
    model: str
    stop: StopReason
    usage: Usage = Usage()


async def ask(
    model: Model,
    system: str,
    text: str,
    *,
    lost: Callable[[Usage], None],
    most: int | None = None,
    options: RequestOptions | None = None,
) -> PlainAnswer:
    """Send one text to a model and return the answer. Tool calls in the answer are ignored. Raise the errors of the
    model.

    lost  a callback for an error; it receives the tokens counted so far
    most  the maximum number of tokens of the answer
    """
    request = Request(
        system=system,
        messages=(Message("u1", "user", (Text(text),)),),
        limits=RequestLimits(max_output_tokens=most),
        options=options or RequestOptions(),
    )
    name, pieces, usage, stop = model.name, list[str](), Usage(), "cut_off"
    stream = model.stream(request)
    try:
        async for event in stream:
            match event:
                case MessageStarted():
                    name, usage = event.model or name, event.usage
                case TextDelta():
                    pieces.append(event.text)
                case MessageEnded():
                    stop, usage = event.stop_reason, usage + event.usage
                case _:
                    pass
    except BaseException:
        lost(usage)
        raise
    finally:
        await close_stream(stream)
    return PlainAnswer("".join(pieces), name, stop, usage)


def instructions(name: str) -> str:
    """Return the contents of a file of this package."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()


class UnusedAnswers:
    """A recorder for the costs of plain requests whose answers are not recorded."""

    def __init__(self, purpose: AsidePurpose, record: Record, clock: Clock, price: Price | None) -> None:
        self._purpose: AsidePurpose = purpose
        self._record = record
        self._clock = clock
        self._price = price

    def pay(self, model: str, usage: Usage) -> None:
        if usage == Usage():  # the server has counted nothing
            return
        spent = Spent(model, usage, None if self._price is None else self._price(model, usage))
        with suppress(StateError, JournalError):  # the session is being closed
            self._record.write(AnswerUnused(self._clock.now(), self._purpose, spent))
