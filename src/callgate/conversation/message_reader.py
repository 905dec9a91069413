"""Sends the request of a turn and reads the stream. Calls start while the stream is open.

A failed request is sent again if no call of its message has arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from json import dumps, loads
from typing import Any, cast, get_args

from callgate.conversation.allowance import Price
from callgate.conversation.feature_set import Equipment
from callgate.conversation.intake import Intake, Refused
from callgate.conversation.ports import Drafted, Model
from callgate.conversation.recovery import Recovery, Remedy, Repetition
from callgate.conversation.reminders import UnmadeCall
from callgate.core.capabilities import close_stream
from callgate.core.executor import CallExecutor
from callgate.core.gate import is_shutdown
from callgate.core.ports import Clock, Timer, wait_seconds
from callgate.words import model as m
from callgate.words.calls import ToolCall
from callgate.words.errors import JournalError, ModelError, StateError, in_words
from callgate.words.events import Noted, RequestRetried, TextStreamed, ThinkingStreamed
from callgate.words.messages import CallPart, Part, Spent, Text, Usage

WRITTEN_MARKS = ("name", "<function", "[TOOL_CALLS]", "<tool", "<system-", '"tool', '"function', '"action')
"""The first answer without any of these marks that does not begin with the name of a tool, and has no parenthesis at
its end, has no call."""
BATCH_SECONDS = 0.1
_BEFORE_CONTENT = (m.MessageStarted, m.ModelNoted)


class MessageReader:
    """Reads the calls of a message from the stream of a model.

    intake  the message of the last attempt
    error   the failure of the last attempt, or None
    remedy  the next step after this failure
    unmade  a call that the model wrote as text and that was not executed, or None
    """

    def __init__(
        self, kit: Equipment, recovery: Recovery, executor: CallExecutor, message_id: str, limits: m.RequestLimits
    ) -> None:
        self._kit = kit
        self._record = kit.record
        self._clock = kit.host.clock
        self._recovery = recovery
        self._executor = executor
        self._message_id = message_id
        self._limits = limits
        self._asked = kit.model
        self._called = False  # a call of the message has arrived
        self.intake = Intake(message_id, kit.record.ledger)
        self.error: ModelError | None = None
        self.remedy: Remedy = "show"
        self.unmade: UnmadeCall | None = None
        self._is_left = False

    def leave(self) -> None:
        self._is_left = True

    @property
    def model(self) -> Model:
        return self._recovery.model(self._kit.model)

    @property
    def spent(self) -> Spent | None:
        """The costs of the last attempt."""
        return spent_by(self._asked, self.intake.usage, self._kit.price)

    async def run(self, wanted: m.ToolChoice) -> None:
        """Send the request and read the stream.

        After a temporary failure, the request is sent again. If a call of the message has already arrived, the next
        turn repeats the request instead.
        """
        while True:
            due = self._recovery.take()
            if due is not None:
                self._record_repetition(due)
                self.intake, self.error, self.remedy = Intake(self._message_id, self._record.ledger), None, "show"
                await wait_seconds(self._clock, due.delay)
            request = self._request(wanted)
            await self._read_once(request)
            if self.error is None and not self._called and self.intake.finish()[0] == "cut_off":
                self.error = ModelError("the stream ended early", kind="cut_off", retryable=True)
            if self.error is None:
                if not self._called and self.intake.stop_reason == "end":
                    self._read_written_calls(request)
                return
            self.remedy, self.error = self._recovery.failed(self.error, self.spent)
            if self.remedy != "again" or self._called:
                break
        if self.error.kind == "cut_off" and self.remedy == "show":
            self.error = None  # the stop reason is enough

    def _record_repetition(self, due: Repetition) -> None:
        error, other = due.error, due.instead
        if other is not None:
            note = f"{self._kit.model.name} is overloaded: {other.name} is used until this run ends"
            self._record.write(Noted(self._clock.now(), note, "warning"))
        self._record.write(
            RequestRetried(
                at=self._clock.now(),
                message_id=self._message_id,
                attempt=due.attempt,
                delay=due.delay,
                kind=error.kind,
                detail=str(error),
                instead="" if other is None else other.name,
                spent=self.spent,
            )
        )

    async def _read_once(self, request: m.Request) -> None:
        """Send the request and pass the stream to the intake. Calls start while the stream is open."""
        executor, room, intake, stream = self._executor, self._record.room, self.intake, None
        meter, model = self._kit.meter, self.model
        self._asked = model
        awaited = meter
        draft = Draft(self._clock, partial(self._record.draft, intake.message_id))
        try:
            if meter is not None:
                meter.requested(model, request)
            stream = model.stream(request)
            foreign = is_foreign(model)
            if foreign and not hasattr(stream, "__aiter__"):
                raise ModelError(
                    "stream() did not return an async iterator: write it as an async generator", kind="protocol"
                )
            async for event in stream:
                if foreign:
                    event = checked_event(event)
                if awaited is not None and event.__class__ not in _BEFORE_CONTENT:
                    awaited.streaming()
                    awaited = None
                seen = intake.feed(event)
                if seen is None:
                    continue
                if isinstance(seen, ToolCall):
                    self._called = True
                    executor.add(seen)
                elif isinstance(seen, Refused):
                    self._called = True
                    executor.add(seen.call, refused=seen.result)
                else:
                    self._show(seen, draft)
                    continue
                draft.calls += 1
                crowded = room()
                if crowded is not None:
                    await crowded
        except (StateError, JournalError):  # not a failure of the model
            raise
        except BaseException as error:
            if is_shutdown(error):
                raise
            self.error = error if isinstance(error, ModelError) else ModelError(in_words(error))
        finally:
            draft.stop(keep=self._is_left)
            intake.stopped(request)
            if meter is not None:
                meter.received(intake.usage)
            await _close(stream)

    def _show(self, seen: m.TextDelta | m.ThinkingDelta | m.ModelNoted, draft: Draft) -> None:
        if isinstance(seen, m.ModelNoted):
            if seen.text not in self._kit.noted:
                self._kit.noted.add(seen.text)
                self._record.write(Noted(self._clock.now(), seen.text))
        elif isinstance(seen, m.TextDelta):
            draft.add(seen.text)
            self._record.publish(TextStreamed(self._clock.now(), self._message_id, seen.text))
        elif seen.text:
            self._record.publish(ThinkingStreamed(self._clock.now(), self._message_id, seen.text))

    def _read_written_calls(self, request: m.Request) -> None:
        """Execute the calls that the model wrote as text, or report that they are not executed."""
        text = self.intake.text
        if not (request.tools and request.output is None and request.tool_choice.kind != "none"):
            return
        bare = text.strip("`~ \n")
        is_code = bare.endswith(")") or any(bare.startswith(spec.name) for spec in request.tools)
        name, noted = self.model.name, self._kit.noted
        note = f"{name} writes calls as text; Callgate reads them from its answers"
        if not is_code and note not in noted and not any(mark in text for mark in WRITTEN_MARKS):
            return
        from callgate.conversation.written_calls import accept_written_calls  # few models write calls

        found = accept_written_calls(text, request, self._kit.toolbox, self.model.abilities, observed=note in noted)
        if isinstance(found, UnmadeCall):
            self.unmade = found
        elif found is not None:
            if note not in noted:
                noted.add(note)
                self._record.write(Noted(self._clock.now(), note))
            self._called = True
            for call in self.intake.take_written(found.before, [(each.name, each.arguments) for each in found.calls]):
                self._executor.add(call)

    def _request(self, wanted: m.ToolChoice) -> m.Request:
        kit = self._kit
        specs = tuple(tool.spec for tool in kit.toolbox.tools())
        able = self.model.abilities.nearest(wanted)
        own = self._record.ledger.options or m.RunOptions()
        return m.Request(
            system=kit.system,
            messages=self._record.ledger.history(),
            tools=specs,
            tool_choice=able,
            limits=self._limits,
            cache=kit.cache,
            options=kit.options if own.request is None else own.request.over(kit.options),
            output=kit.output if own.output is None else own.output,
            session=kit.session,
        )


def spent_by(model: Model, usage: Usage | None, price: Price | None) -> Spent | None:
    """Return the costs of a message of this model; None if the usage is unknown."""
    if usage is None:
        return None
    return Spent(model.name, usage, None if price is None else price(model.name, usage))


async def _close(stream: object) -> None:
    """Close the stream. The message is complete, so exceptions are ignored unless they stop the program."""
    try:
        await close_stream(stream)
    except BaseException as error:
        if is_shutdown(error):
            raise


# ---- drafts ---------------------------------------------------------------------------------------------------------


class Draft:
    """Collects the text of a streaming message and passes the text to ``keep``, at most once in 100 ms. Each piece
    of text is stored with the number of calls before the piece."""

    def __init__(self, clock: Clock, keep: Callable[[Drafted], None]) -> None:
        self._clock = clock
        self._keep = keep
        self._pieces: list[tuple[int, list[str]]] = []
        self._timer: Timer | None = None
        self.calls = 0

    def add(self, text: str) -> None:
        if not self._pieces or self._pieces[-1][0] != self.calls:
            self._pieces.append((self.calls, []))
        self._pieces[-1][1].append(text)
        if self._timer is None:
            self._timer = self._clock.call_later(BATCH_SECONDS, self._flush)

    def stop(self, *, keep: bool) -> None:
        """Stop the timer. With ``keep``, store the latest text, for a message that will not be recorded."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if keep:
                self._flush()

    def _flush(self) -> None:
        self._timer = None
        self._keep(tuple((calls, "".join(texts)) for calls, texts in self._pieces))


def with_text(calls: Sequence[CallPart], drafted: Iterable[tuple[int, str]]) -> tuple[Part, ...]:
    """Return the parts of a message, with the pieces of drafted text placed between its calls."""
    texts = list(drafted)
    parts: list[Part] = []
    for at, call in enumerate(calls):
        parts += [Text(text) for before, text in texts if before == at]
        parts.append(call)
    parts += [Text(text) for before, text in texts if before >= len(calls)]
    return tuple(parts)


# ---- events of models of other packages -----------------------------------------------------------------------------


def is_foreign(model: Model) -> bool:
    return not type(model).__module__.startswith("callgate.")


def checked_event(event: Any) -> m.ModelEvent:
    """Return the event, with a copy of its JSON data. Raise ModelError for an object that is not a valid model
    event."""
    checks = _FIELDS.get(cast("m.ModelEvent", event).__class__)
    if checks is None:
        raise ModelError(f"the model streamed {type(event).__name__}, not a model event", kind="protocol")
    for name, check in checks.items():
        value = getattr(event, name)
        try:
            valid = check(value) if callable(check) else value in check
        except (TypeError, ValueError, RecursionError):
            valid = False
        if not valid:
            known = "" if callable(check) else f"; valid values: {', '.join(check)}"
            fault = f"{value!r:.80} is not a valid {name.replace('_', ' ')}{known}"
            raise ModelError(f"the model streamed {event!r:.200}: {fault}", kind="protocol")
    if isinstance(event, m.OpaqueData) and not isinstance(event.data, bytes):
        return replace(event, data=loads(dumps(event.data)))
    return event


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_index(value: Any) -> bool:
    return type(value) is int


def _is_usage(value: Any) -> bool:
    counts = [getattr(value, name) for name in _COUNTS] if isinstance(value, Usage) else [None]
    return all(type(count) is int and count >= 0 for count in counts) and type(value.estimated) is bool


def _is_data(value: Any) -> bool:
    """Return True for bytes, and for a dict that a conversion to JSON and back does not change."""
    return isinstance(value, bytes) or (isinstance(value, dict) and loads(dumps(value, allow_nan=False)) == value)


_COUNTS = tuple(each.name for each in fields(Usage) if each.name != "estimated")
_FIELDS: Mapping[type, Mapping[str, Callable[[Any], bool] | tuple[str, ...]]] = {
    m.MessageStarted: {"model": _is_text, "usage": _is_usage},
    m.PartStarted: {"index": _is_index, "kind": get_args(m.PartKind), "id": _is_text, "name": _is_text},
    m.TextDelta: {"index": _is_index, "text": _is_text},
    m.ThinkingDelta: {
        "index": _is_index,
        "text": _is_text,
        "signature": lambda value: value is None or _is_text(value),
    },
    m.ArgumentsDelta: {"index": _is_index, "text": _is_text},
    m.OpaqueData: {"index": _is_index, "provider": _is_text, "data": _is_data},
    m.PartEnded: {"index": _is_index},
    m.MessageEnded: {"stop_reason": get_args(m.StopReason), "usage": _is_usage, "detail": _is_text},
    m.ModelNoted: {"text": _is_text},
}
