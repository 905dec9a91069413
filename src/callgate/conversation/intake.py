"""The intake collects the events of a model's stream, and returns each call when it is complete.

A call is complete at PartEnded. The text of its arguments is collected and parsed once.
"""

from collections.abc import Iterable
from dataclasses import replace

from callgate.conversation.ledger import Ledger
from callgate.core import outcomes
from callgate.words import model
from callgate.words.calls import Result, ToolCall
from callgate.words.errors import ModelError
from callgate.words.messages import CallPart, Message, Opaque, Part, Text, Thinking, Usage
from callgate.words.noun import maker, noun

MAX_ARGUMENT_CHARS = 8 * 1024 * 1024
MAX_ANSWER_CHARS = 10_000_000
"""The most characters of a model's message: text, thinking and arguments. It is many times the largest answer of a real
model, and takes a few seconds to read."""

MAX_REPEATED_CHARS = 8_000
"""About 2,000 tokens: a message whose end repeats a phrase, a line or whitespace for so long is stopped."""
MAX_REPEATED_ARGUMENT_CHARS = 100_000
"""The limit for arguments of calls, because a file may contain many equal lines."""
_LONGEST_PHRASE = 1_000
_DELTAS = 100

_make_call, _make_part = maker(ToolCall), maker(CallPart)


@noun
class Refused:
    """A call that must not run, with its result."""

    call: ToolCall
    result: Result


class _Open:
    __slots__ = ("call_id", "closed", "from_text", "kept", "kind", "name", "refused", "signature", "size", "texts")

    def __init__(self, kind: str, name: str, call_id: str) -> None:
        self.kind = kind
        self.name = name
        self.call_id = call_id
        self.texts: list[str] = []
        self.size = 0
        self.signature: str | None = None
        self.kept: Opaque | None = None
        self.closed = self.from_text = False
        self.refused: Result | None = None


class _RepetitionGuard:
    """Raises ModelError if a text ends with a repetition that is MAX_REPEATED_CHARS characters long."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._new = self._deltas = 0

    def add(self, text: str, *, is_data: bool) -> None:
        """Add a piece of the text. In data, such as the arguments of a call, a repeated word without a space is
        allowed."""
        self._pieces.append(text)
        self._new += len(text)
        self._deltas += 1
        if self._new < _LONGEST_PHRASE:
            return
        self._new = 0
        limit = MAX_REPEATED_ARGUMENT_CHARS if is_data else MAX_REPEATED_CHARS
        end = "".join(self._pieces)[-limit:]
        self._pieces = [end]
        if len(end) < limit:
            return
        if end.isspace():
            raise ModelError("the answer was stopped, because it repeats whitespace without end", kind="repetition")
        length = len(end) - _LONGEST_PHRASE - end.rfind(end[-_LONGEST_PHRASE:], 0, -1)
        has_blank = any(map(str.isspace, end[-length:].replace("\\n", "\n")))
        endless = has_blank or (not is_data and self._deltas >= _DELTAS)  # one long word in few deltas has an end
        if length <= _LONGEST_PHRASE and end[length:] == end[:-length] and endless:
            phrase = end[-length:].strip()[:60]
            fault = f"the answer was stopped, because it repeats itself without end: {phrase!r}"
            raise ModelError(fault, kind="repetition")


class Intake:
    """Collects the stream of one message. ``feed`` returns a text to show, a call to run, or None.

    max_chars  the limit for the size of the message; None for the calls of a program
    """

    def __init__(
        self,
        message_id: str,
        ledger: Ledger,
        *,
        max_argument_chars: int = MAX_ARGUMENT_CHARS,
        max_chars: int | None = MAX_ANSWER_CHARS,
    ) -> None:
        self.message_id = message_id
        self._ledger = ledger
        self._limit, self._max_chars = max_argument_chars, max_chars
        self._chars = 0
        self._parts: dict[int, _Open] = {}
        self._seen: set[str] = set()
        self._calls = 0
        self._guard = _RepetitionGuard()
        self.model = ""
        self.usage: Usage | None = None
        self.stop_reason: model.StopReason | None = None
        self.detail = ""

    def feed(
        self, event: model.ModelEvent
    ) -> ToolCall | Refused | model.TextDelta | model.ThinkingDelta | model.ModelNoted | None:
        if self.stop_reason is not None:
            raise ModelError("the stream continued after its end", kind="protocol")
        match event:
            case model.ArgumentsDelta():
                self._add_arguments(self._part(event.index, "tool_call"), event.text)
                self._watch(event.text, is_data=True)
            case model.TextDelta():
                self._part(event.index, "text").texts.append(event.text)
                self._watch(event.text)
                return event
            case model.ThinkingDelta():
                part = self._part(event.index, "thinking")
                part.texts.append(event.text)
                self._watch(event.text)
                part.signature = event.signature or part.signature
                return event
            case model.PartStarted():
                self._start_part(event)
            case model.PartEnded():
                return self._end_part(self._part(event.index, None))
            case model.OpaqueData():
                part = self._part(event.index, None)
                if part.kind not in ("opaque", "tool_call") or part.kept is not None:
                    fault = f"part {event.index} cannot have opaque data, or already has it"
                    raise ModelError(fault, kind="protocol")
                part.kept = Opaque(event.provider, event.data)
            case model.MessageStarted():
                self.model, self.usage = event.model, event.usage
            case model.MessageEnded():
                self.stop_reason, self.detail = event.stop_reason, event.detail
                self.usage = event.usage if self.usage is None else self.usage + event.usage
            case model.ModelNoted():
                return event
        return None

    def _watch(self, text: str, *, is_data: bool = False) -> None:
        """Raise ModelError if the message is larger than the limit, or repeats itself."""
        self._chars += len(text)
        if self._max_chars is not None and self._chars > self._max_chars:
            fault = f"the answer was stopped, because it has more than {self._max_chars:,} characters"
            raise ModelError(fault, kind="oversized")
        self._guard.add(text, is_data=is_data)

    def finish(self) -> tuple[model.StopReason, list[Refused]]:
        """Return the stop reason, and the calls with incomplete arguments."""
        stop = self.stop_reason or "cut_off"
        unclosed = [part for part in self._parts.values() if part.kind == "tool_call" and not part.closed]
        if unclosed and stop in model.WHOLE:
            stop = "cut_off"
        refused = outcomes.truncated(closed=False)
        return stop, [Refused(self._call(part), part.refused or refused) for part in unclosed]

    @property
    def text(self) -> str:
        return "".join(text for part in self._parts.values() if part.kind == "text" for text in part.texts)

    def take_written(self, before: str, calls: Iterable[tuple[str, str]]) -> list[ToolCall]:
        """Replace the text of the message by the text before its written calls and by the calls. Return the calls.

        calls  names and arguments as JSON
        """
        parts = [part for part in self._parts.values() if part.kind != "text"]
        self._parts = dict(enumerate(parts))
        if before:
            self._start_part(model.PartStarted(len(self._parts), "text"))
            self._parts[len(self._parts) - 1].texts.append(before)
        found: list[ToolCall] = []
        for name, arguments in calls:
            index = len(self._parts)
            self._start_part(model.PartStarted(index, "tool_call", id="", name=name))
            part = self._parts[index]
            part.texts.append(arguments)
            part.closed = part.from_text = True
            found.append(self._call(part))
        self.stop_reason = "tool_calls"
        return found

    def stopped(self, request: model.Request) -> None:
        """End the message. If it is incomplete, estimate the usage that the provider did not report."""
        if self.usage is None or self.stop_reason is not None:
            return
        written = sum(len(text) for part in self._parts.values() for text in part.texts)
        if written:
            from callgate.words.window import CHARS_PER_TOKEN, missing_usage  # seldom needed

            beyond = max(0, written - round(self.usage.output * CHARS_PER_TOKEN))  # the first event had a count
            self.usage += missing_usage(replace(self.usage, output=0), request, beyond)

    def message(self) -> Message:
        """Return the message so far, with the recorded arguments of its calls."""
        parts: list[Part] = []
        for part in self._parts.values():
            text = "".join(part.texts)
            if part.kind == "tool_call":
                parts.append(call_part(self._ledger, part.call_id, text))
            elif part.kind == "thinking" and (text or part.signature):
                parts.append(Thinking(text, part.signature))
            elif part.kind == "text" and text:
                parts.append(Text(text))
            elif part.kind == "opaque" and part.kept is not None:
                parts.append(part.kept)
        return Message(self.message_id, "assistant", tuple(parts), self.model or None, self.usage)

    def _start_part(self, event: model.PartStarted) -> None:
        if event.index in self._parts:
            raise ModelError(f"part {event.index} was started twice", kind="protocol")
        part = _Open(event.kind, event.name, event.id)
        if event.kind == "tool_call":
            if not event.id or event.id in self._seen or event.id in self._ledger.message_of:
                self._rename(part)
            self._seen.add(part.call_id)
        self._parts[event.index] = part

    def _rename(self, part: _Open) -> None:
        """Replace a missing or duplicate call id of a provider by a unique id. In a message with a duplicate id, the
        second call is also refused."""
        given = part.call_id
        wanted = given or f"call_{self.message_id}_{len(self._parts)}"
        if given in self._seen:
            errors = (f"$: the call id {part.call_id!r} occurs twice in one message",)
            part.refused = outcomes.invalid_arguments(part.name, errors)
        unique, n = wanted, 1
        while unique in self._seen or unique in self._ledger.message_of:
            n += 1
            unique = f"{wanted}~{n}"
        part.call_id = unique

    def _add_arguments(self, part: _Open, text: str) -> None:
        part.size += len(text)
        if part.size <= self._limit:
            part.texts.append(text)
        elif part.refused is None:
            part.refused = outcomes.over_limit(f"its arguments are longer than {self._limit:,} characters")

    def _end_part(self, part: _Open) -> ToolCall | Refused | None:
        part.closed = True
        if part.kind != "tool_call":
            return None
        call = self._call(part)
        return call if part.refused is None else Refused(call, part.refused)

    def _call(self, part: _Open) -> ToolCall:
        index = self._calls
        self._calls += 1
        text = part.texts[0] if len(part.texts) == 1 else "".join(part.texts)
        return _make_call(
            id=part.call_id,
            name=part.name,
            raw_arguments=text,
            index=index,
            message_id=self.message_id,
            kept=part.kept,
            from_text=part.from_text,
        )

    def _part(self, index: int, kind: str | None) -> _Open:
        part = self._parts.get(index)
        if part is None or part.closed or (kind is not None and part.kind != kind):
            raise ModelError(f"part {index} is not an open {kind or 'part'}", kind="protocol")
        return part


def call_part(ledger: Ledger, call_id: str, raw: str | None) -> CallPart:
    """Return the call with the name and the arguments that the model wrote."""
    entry = ledger.calls[call_id]
    if entry.asked_as is not None:  # the record has the arguments of the target
        return CallPart(call_id, entry.asked_as, {}, raw, entry.kept)
    before = entry.arguments if entry.edited is None else entry.edited.before
    return _make_part(call_id, entry.name, before, None if entry.raw_arguments is None else raw, entry.kept)
