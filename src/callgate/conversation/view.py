"""The history in requests: all messages after the last boundary, in an order that every provider accepts.

A crash, lost lines or an imported log may result in an invalid order. Only this module repairs the order, and only
in requests. Valid messages are unchanged, so that prompt caches stay valid.

``AnswerText`` collects the answer of a run.
"""

from collections.abc import Iterable
from dataclasses import replace
from operator import is_
from typing import cast

from callgate.words.messages import CallPart, Content, Message, Part, ResultPart, Text

REMOVED = Message("removed", "user", (Text("(Earlier messages of this conversation were removed.)"),))
NO_RESULT = (Text("No result of this call is recorded. It may have run: check before repeating it."),)


class Step:
    """A message to send. Each of its calls has a unique id, and a result with the message that contains the result."""

    __slots__ = ("answers", "message", "names")

    def __init__(self, message: Message, names: list[str]) -> None:
        self.message = message
        self.names = names
        self.answers: list[tuple[Message, ResultPart] | None] = [None] * len(names)


class View:
    """The messages after the last boundary, and the history for requests that is made from them.

    messages    the messages, including the kept messages but not the summary; repairs, snips and replacements do not
                change them
    replaced    contents that replace results, by message id and call id
    changed_at  the number of messages at the last boundary, snip or replacement; earlier token counts are outdated
    changes     the number of boundaries, snips and replacements
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.changed_at = self.changes = 0
        self.replaced: dict[tuple[str, str], tuple[Content, ...]] = {}
        self._snipped: set[str] = set()
        self._begin_anew(None)

    def _begin_anew(self, summary: Message | None) -> None:
        self.summary = summary
        self._at: dict[str, int] = {}  # message id → position
        self._is_valid = True  # no message so far needs a repair
        self._wanted: list[str] = []  # if valid: ids of calls of the last message
        self._used: set[str] = set()  # if valid: ids of all calls
        self._sent: list[Message] = [] if summary is None else [summary]

    def add(self, message: Message) -> None:
        self._at.setdefault(message.id, len(self.messages))
        self.messages.append(message)
        if not self._is_valid:
            self._pair(message)
        elif not self._follows(message):
            self._repair()

    def compact(self, summary: Message, kept: str | None) -> None:
        """Replace the messages before ``kept`` by the summary; if ``kept`` is None, replace all messages. If no
        message has the id ``kept``, its line was lost, and all messages are kept."""
        at = None if kept is None else self._at.get(kept, 0)
        tail = [] if at is None else self.messages[at:]
        self.messages = []
        self._begin_anew(summary)
        for message in tail:
            self.add(message)
        self._snipped.intersection_update(self._at)
        self.replaced = {key: content for key, content in self.replaced.items() if key[0] in self._at}
        self._note_change()
        if self._snipped or self.replaced:
            self._repair()

    def snip(self, message_ids: Iterable[str]) -> None:
        """Remove these messages from later histories. A call and its result are removed together."""
        known = {message_id for message_id in message_ids if message_id in self._at}
        if not known <= self._snipped:
            self._snipped |= known
            self._note_change()
            self._repair()

    def replace(self, message_id: str, call_id: str, content: tuple[Content, ...]) -> None:
        """Replace a result by this content in later histories. Only the first replacement of a result is used."""
        if message_id in self._at and (message_id, call_id) not in self.replaced:
            self.replaced[message_id, call_id] = content
            self._note_change()
            self._repair()

    def _note_change(self) -> None:
        self.changed_at = len(self.messages)
        self.changes += 1

    def history(self) -> list[Message]:
        """Return the messages for a request in a valid order. The returned history does not change later."""
        if self._is_valid and not self._wanted:
            return list(self._sent)
        if self._is_valid:
            self._repair()
        steps = self._steps
        # The last step may still get its results: their placeholders are not stored.
        settled = len(steps) - bool(steps and None in steps[-1].answers)
        for step in steps[self._done : settled]:
            self._send(step, self._sent)
        self._done, sent = settled, self._sent
        if settled < len(steps):
            sent = list(sent)
            self._send(steps[-1], sent)
        return list(sent) if sent or not self.messages else [REMOVED]

    def _follows(self, message: Message) -> bool:
        """Append the message and return True if the message needs no repair. This is the fast path."""
        calls: list[str] = []
        results: list[str] = []
        for part in message.parts:
            if isinstance(part, CallPart):
                calls.append(part.id)
            elif isinstance(part, ResultPart):
                results.append(part.call_id)
        if not message.parts or results != self._wanted:
            return False
        if message.role == "tool":
            if len(results) != len(message.parts):
                return False
        elif (not self._sent and message.role != "user") or (calls and message.role != "assistant") or results:
            return False
        if calls and (len(set(calls)) < len(calls) or not self._used.isdisjoint(calls)):
            return False
        self._used.update(calls)
        self._wanted = calls
        self._sent.append(message)
        return True

    def _repair(self) -> None:
        """Pair each call with its result."""
        self._is_valid = False
        self._steps: list[Step] = []
        self._named: dict[str, int] = {}  # id → the last suffix number tried
        self._open: dict[
            str, list[tuple[int, int]]
        ] = {}  # call id → steps and positions without a result, the next one last
        self._reset_sent()
        for message in self.messages if self.summary is None else (self.summary, *self.messages):
            self._pair(message)

    def _reset_sent(self) -> None:
        self._sent = []
        self._done = 0  # the number of steps in the list

    # ---- which result belongs to which call ---------------------------------------------------------------------

    def _pair(self, message: Message) -> None:
        if message.role != "tool":
            stray = ResultPart if message.role == "assistant" else (ResultPart, CallPart)
            parts = tuple(part for part in message.parts if not isinstance(part, stray))
            if parts:
                self._begin(message if len(parts) == len(message.parts) else replace(message, parts=parts))
        for part in message.parts:
            if isinstance(part, ResultPart):
                self._answer(message, part)

    def _begin(self, message: Message) -> None:
        calls = message.calls
        for place in reversed(range(len(calls))):  # the results of one message are assigned in the order of its calls
            self._open.setdefault(calls[place].id, []).append((len(self._steps), place))
        self._steps.append(Step(message, [self._name(call.id) for call in calls]))

    def _answer(self, message: Message, part: ResultPart) -> None:
        """Assign the result to the nearest call that has the same id and no result. If there is no such call, drop
        the result."""
        waiting = self._open.get(part.call_id)
        if waiting is None:
            return
        at, place = waiting.pop()
        if not waiting:
            del self._open[part.call_id]
        self._steps[at].answers[place] = (message, part)
        if at < self._done:
            self._reset_sent()

    def _name(self, call_id: str) -> str:
        """Return the id. If the id is already used, return a unique id with a suffix, such as ``id~2``."""
        name, count = call_id, self._named.get(call_id, 0)
        while name in self._named:
            count += 1
            name = f"{call_id}~{count}"
        self._named[call_id] = max(count, 1)
        self._named.setdefault(name, 1)
        return name

    # ---- how it is sent -----------------------------------------------------------------------------------------

    def _send(self, step: Step, to: list[Message]) -> None:
        message, calls = step.message, step.message.calls
        sources = [answer[0] for answer in step.answers if answer is not None]
        if self._snipped and not self._snipped.isdisjoint(said.id for said in (message, *sources)):
            return
        if not to and message.role != "user":
            to.append(REMOVED)
        if any(call.id != name for call, name in zip(calls, step.names, strict=True)):
            names = iter(step.names)
            parts = (replace(part, id=next(names)) if isinstance(part, CallPart) else part for part in message.parts)
            message = replace(message, parts=tuple(parts))
        to.append(message)
        if calls:
            results = tuple(map(self._result, calls, step.names, step.answers))
            source = sources[0] if sources else Message(f"{message.id}~results", "tool", ())
            same = source.role == "tool" and len(results) == len(source.parts) and all(map(is_, results, source.parts))
            to.append(source if same else Message(source.id, "tool", results))

    def _result(self, call: CallPart, name: str, answer: tuple[Message, ResultPart] | None) -> ResultPart:
        if answer is None:
            return ResultPart(name, call.name, NO_RESULT, is_error=True)
        source, part = answer
        content = self.replaced.get((source.id, part.call_id))
        if content is not None and part is _first_result(source, part.call_id):
            part = replace(part, content=content)
        return part if part.call_id == name else replace(part, call_id=name)


def _first_result(message: Message, call_id: str) -> ResultPart:
    """Return the first result for this call id in a message. A replacement changes only this result."""
    return next(part for part in message.parts if isinstance(part, ResultPart) and part.call_id == call_id)


# ---- the answer of a run -------------------------------------------------------------------------------------------

SHORTEST_OVERLAP = 20
"""Characters that a continued text must repeat before they are removed. Shorter repetitions are often intended."""
SHORTEST_RESTART = 8
"""The same for a text that begins the whole answer again."""


class AnswerText:
    """Collects the text of the messages of a run.

    A tool call in a message discards all text before the last call of the message. The next message continues the
    text of an incomplete message. Complete messages are separated by a blank line. If no text follows the last call,
    ``text`` is the text before this call in its message.
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[str, bool]] = []
        self._before_call = ""

    def begin(self, text: str = "") -> None:
        """Discard the collected text and start with ``text``, the text of an answer that is continued."""
        self._pieces = [(text, False)]
        self._before_call = ""

    def add(self, message: Message, *, is_whole: bool) -> None:
        """Add a message of the model."""
        calls = [number for number, part in enumerate(message.parts) if isinstance(part, CallPart)]
        if calls:
            self._pieces.append((_text_of(message.parts[: calls[-1]]), True))
            self._before_call, self._pieces = self._joined(), []
        self._pieces.append((_text_of(message.parts[calls[-1] + 1 :] if calls else message.parts), is_whole))

    @property
    def text(self) -> str:
        return self._joined() or self._before_call

    @property
    def last(self) -> str:
        """The text of the last complete message, including the earlier parts of the message."""
        at = next((at for at in range(len(self._pieces) - 1, 0, -1) if self._pieces[at - 1][1]), 0)
        return self._joined(at)

    @property
    def begun(self) -> str:
        """The text that the next message of the model will continue; empty after a tool call."""
        joined = self._joined()
        return f"{joined}\n\n" if joined and self._pieces[-1][1] else joined

    def _joined(self, start: int = 0) -> str:
        joined, continues = "", True
        for text, is_whole in self._pieces[start:]:
            if not joined or not text:
                joined += text
            elif continues:
                joined = continued(joined, text)
            else:
                joined = f"{joined.rstrip()}\n\n{text.lstrip()}"
            continues = not is_whole
        return joined


def _text_of(parts: Iterable[object]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


def continued(before: str, text: str) -> str:
    """Return a text that was cut off, joined with its continuation. Words that the continuation repeats are removed."""
    return before + text[_overlap(before, text) :]


def joined_parts(before: tuple[Part, ...], parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts of a message that was cut off, joined with the parts of its continuation."""
    first = next((at for at, part in enumerate(parts) if isinstance(part, Text)), None)
    last = before[-1] if before else None
    if first is None or not isinstance(last, Text):
        return (*before, *parts)
    return (
        *before[:-1],
        *parts[:first],
        Text(continued(last.text, cast(Text, parts[first]).text)),
        *parts[first + 1 :],
    )


def _overlap(before: str, text: str) -> int:
    """Return the number of characters at the start of a continuation that repeat the end of the text before it, or that
    repeat this whole text.

    An end that occurs in ``before`` more than once is not removed, because the repetition may be intended.
    """
    for length in range(min(len(before), len(text), 2_000), 0, -1):
        end = text[:length]
        if before.endswith(end):
            is_restart = length == len(before) >= SHORTEST_RESTART
            is_long = (is_restart or length >= SHORTEST_OVERLAP) and len(end.split()) > 1
            return length if is_long and before.find(end) + length == len(before) else 0
    return 0
