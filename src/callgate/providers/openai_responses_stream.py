"""Parses streams of OpenAI's Responses API.

An answer is a list of items. For each item one part stores the fields that the next request sends back: a call stores
its own fields; any other item becomes an ``opaque`` part, to which the final fields of the item are added at the end.
Texts are separate parts, so that they are logged once and masked; the stored fields have None in place of the texts.
Unknown events are ignored, and unknown items are stored like known items.
"""

from collections.abc import Callable, Mapping, Sequence
from json import dumps

from callgate.providers.family import Json, ServerEvent, object_of
from callgate.providers.openai_shared import count, make_usage, protocol_error, read_object
from callgate.words.errors import ModelError
from callgate.words.messages import Usage
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    OpaqueData,
    PartEnded,
    PartStarted,
    StopReason,
    TextDelta,
    ThinkingDelta,
)
from callgate.words.noun import maker
from callgate.words.tool_search import SEARCH

Out = Sequence[ModelEvent | ModelError]
FAMILY = "openai"
_arguments_delta, _text_delta, _thinking_delta = maker(ArgumentsDelta), maker(TextDelta), maker(ThinkingDelta)
_TEXTS = {"output_text": "text", "refusal": "refusal"}
"""The text contents of a message, and the field with the text."""
TEXT_FIELDS = frozenset(_TEXTS.values())
THOUGHTS = ("summary", "content")
"""The lists of texts in a reasoning item."""
LENGTHS = "callgate_lengths"
"""Our own field in the data of a reasoning item: the length of each of its texts."""
_INCOMPLETE: Mapping[str, StopReason] = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}


class _Item:
    """One item of the answer during streaming.

    called  the name of the called tool
    part    the number of the call part, or of the opaque part
    texts   the text parts by content index: the part number and the received pieces
    """

    __slots__ = ("called", "done", "last", "part", "pieces", "texts", "type")

    def __init__(self, kind: str, part: int, called: str) -> None:
        self.type = kind
        self.called = called
        self.part = part
        self.pieces: list[str] = []
        self.texts: dict[int, tuple[int, list[str]]] = {}
        self.last: object = None
        self.done = False


class ResponsesParser:
    def __init__(self, provider: str = FAMILY) -> None:
        self._provider = provider
        self._items: dict[int, _Item] = {}
        self._places: dict[object, int] = {}  # indices of items by id, for servers that send no index
        self._parts = 0
        self._started = False
        self._over = False
        self._refused = False
        self._called = False
        ended = {f"response.{status}": self._ended for status in ("completed", "incomplete", "failed", "cancelled")}
        self._steps: Mapping[object, Callable[[Json], Out]] = {
            "response.created": self._begun,
            "response.output_item.added": self._item_added,
            "response.output_item.done": self._item_done,
            "response.output_text.delta": self._text,
            "response.refusal.delta": self._text,
            "response.function_call_arguments.delta": self._arguments,
            "response.reasoning_summary_text.delta": self._thinking,
            "response.reasoning_text.delta": self._thinking,
            **ended,
            "response.done": self._ended,
            "error": self._failed,
        }

    def feed(self, event: ServerEvent) -> Out:
        if self._over or not event.data or event.data == "[DONE]":
            return ()
        try:
            data = read_object(event.data)
            kind = data.get("type") or event.event
            step = self._steps.get(kind)
            if step is not None:
                return step(data)
            return self._failed(data) if kind == "" and data.get("error") else ()
        except Exception as error:  # invalid data of any kind ends the stream with a ModelError
            self._over = True
            return (protocol_error(self._provider, f"{type(error).__name__}: {error}", event.data),)

    def end(self) -> Out:
        return ()

    # ---- pieces -----------------------------------------------------------------------------------------------------

    def _arguments(self, data: Json) -> Out:
        item, delta = self._item_of(data), data["delta"]
        if delta.__class__ is not str:
            raise TypeError("a piece of text is wanted")
        if not item.called or item.done:
            raise ValueError("arguments for an item that is no open call")
        item.pieces.append(delta)
        return (_arguments_delta(item.part, delta),)

    def _text(self, data: Json) -> Out:
        item, delta, index = self._item_of(data), data["delta"], data.get("content_index", 0)
        if delta.__class__ is not str:
            raise TypeError("a piece of text is wanted")
        if item.done:
            raise ValueError("text for an item that is done")
        known = item.texts.get(index)
        if known is not None:
            known[1].append(delta)
            return (_text_delta(known[0], delta),)
        part = self._new_part()
        item.texts[index] = (part, [delta])
        return PartStarted(part, "text"), _text_delta(part, delta)

    def _thinking(self, data: Json) -> Out:
        """Append a delta to the thinking part. All summaries or texts of a reasoning item form one part, separated
        by empty lines."""
        item, delta = self._item_of(data), data["delta"]
        if delta.__class__ is not str:
            raise TypeError("a piece of text is wanted")
        if item.done:
            raise ValueError("thinking for an item that is done")
        place = (data["type"], data.get("summary_index"), data.get("content_index"))
        known = item.texts.get(0)
        if known is None:
            part = self._new_part()
            item.texts[0] = (part, [delta])
            item.last = place
            return PartStarted(part, "thinking"), _thinking_delta(part, delta)
        if place != item.last:
            item.last, delta = place, f"\n\n{delta}"
        known[1].append(delta)
        return (_thinking_delta(known[0], delta),)

    def _item_of(self, data: Json) -> _Item:
        index = data.get("output_index")
        return self._items[self._places[data["item_id"]] if index is None else index]

    # ---- items ------------------------------------------------------------------------------------------------------

    def _begun(self, data: Json) -> Out:
        out: list[ModelEvent] = []
        self._begin(out, object_of(data.get("response")))
        return out

    def _begin(self, out: list[ModelEvent], response: Json) -> None:
        if not self._started:
            self._started = True
            out.append(MessageStarted(str(response.get("id") or ""), f"{FAMILY}/{response.get('model') or ''}"))

    def _item_added(self, data: Json) -> Out:
        out: list[ModelEvent] = []
        self._add(out, data.get("output_index", len(self._items)), data["item"])
        return out

    def _item_done(self, data: Json) -> Out:
        out: list[ModelEvent] = []
        item = data["item"]
        self._finish(out, data.get("output_index", self._place_of(item, len(self._items))), item)
        return out

    def _place_of(self, item: Json, otherwise: int) -> int:
        return self._places.get(item.get("id"), self._places.get(item.get("call_id"), otherwise))

    def _add(self, out: list[ModelEvent], index: int, data: Json) -> _Item:
        if index.__class__ is not int or index in self._items:
            raise ValueError(f"an item cannot start as number {index}")
        self._begin(out, {})
        item = self._items[index] = _Item(str(data["type"]), self._new_part(), _tool_called(data))
        self._places.update((data[key], index) for key in ("id", "call_id") if data.get(key))
        if item.called:
            self._called = True
            out.append(PartStarted(item.part, "tool_call", str(data.get("call_id") or ""), item.called))
        else:
            out.append(PartStarted(item.part, "opaque"))
        return item

    def _finish(self, out: list[ModelEvent], index: int, data: Json) -> None:
        item = self._items.get(index) or self._add(out, index, data)
        if item.done or data["type"] != item.type:
            raise ValueError(f"item {index} ends twice, or as another one")
        if item.called and data.get("status") == "incomplete":
            return  # the call stays open: its arguments are incomplete
        item.done = True
        kept = data
        if item.called:
            written = data.get("arguments") or ""
            self._rest_of_call(out, item, written if isinstance(written, str) else dumps(written))
            kept = {key: value for key, value in data.items() if key not in ("type", "call_id", "name", "arguments")}
        elif item.type == "message":
            kept = {**data, "content": [self._content(out, item, i, each) for i, each in enumerate(data["content"])]}
        elif item.type == "reasoning":
            kept = self._reasoning(out, item, data)
        out.extend(PartEnded(part) for part, _ in item.texts.values())
        out.append(OpaqueData(item.part, FAMILY, kept))
        out.append(PartEnded(item.part))

    def _rest_of_call(self, out: list[ModelEvent], item: _Item, whole: str) -> None:
        came = "".join(item.pieces)
        if whole.startswith(came):
            if rest := whole[len(came) :]:
                out.append(_arguments_delta(item.part, rest))
        elif not whole or read_object(came) != read_object(whole):
            raise ValueError("the arguments of a call differ from the pieces that came before")

    def _content(self, out: list[ModelEvent], item: _Item, index: int, content: Json) -> Json:
        """Return the content with None in place of its texts, and add events for text that was not streamed."""
        field = _TEXTS.get(content["type"])
        if field is None:
            return content
        self._refused = self._refused or field == "refusal"
        whole = str(content.get(field) or "")
        part, came = item.texts.get(index) or (-1, [])
        rest = whole[len("".join(came)) :]
        if rest:
            if part < 0:
                part = self._new_part()
                item.texts[index] = (part, [])
                out.append(PartStarted(part, "text"))
            out.append(_text_delta(part, rest))
        return {**content, field: None} if whole else content

    def _reasoning(self, out: list[ModelEvent], item: _Item, data: Json) -> Json:
        """Return the item with None in place of its texts, and with the lengths of these texts. The joined texts are
        the thinking part."""
        texts = [each["text"] for name in THOUGHTS for each in data.get(name) or ()]
        whole = "\n\n".join(texts)
        if not item.texts and whole:
            part = self._new_part()
            item.texts[0] = (part, [whole])
            out += (PartStarted(part, "thinking"), _thinking_delta(part, whole))
        if not whole or "".join(item.texts[0][1]) != whole:
            return data
        named = {name: [{**each, "text": None} for each in data[name]] for name in THOUGHTS if data.get(name)}
        return {**data, **named, LENGTHS: [len(text) for text in texts]}

    def _new_part(self) -> int:
        self._parts += 1
        return self._parts - 1

    # ---- the end ----------------------------------------------------------------------------------------------------

    def _ended(self, data: Json) -> Out:
        response = object_of(data.get("response"))
        status = response.get("status") or str(data["type"]).rpartition(".")[2]
        if status == "failed" or (response.get("error") and status != "completed"):
            return self._failed(response)
        out: list[ModelEvent] = []
        self._begin(out, response)
        for number, item in enumerate(response.get("output") or ()):
            index = self._place_of(item, number)
            known = self._items.get(index)
            if (known is None or not known.done) and status != "cancelled":
                self._finish(out, index, item)
        for item in self._items.values():
            if not item.done:
                out.extend(PartEnded(part) for part, _ in item.texts.values())
        self._over = True
        stop, detail = self._stop(status, object_of(response.get("incomplete_details")))
        out.append(MessageEnded(stop, usage_of(response.get("usage")), detail))
        return out

    def _stop(self, status: object, why: Json) -> tuple[StopReason, str]:
        if status in ("completed", "done"):
            if self._called:
                return "tool_calls", ""
            return ("refusal" if self._refused else "end"), ""
        reason = str(why.get("reason") or status)
        return _INCOMPLETE.get(reason, "cut_off"), reason

    def _failed(self, data: Json) -> Out:
        from callgate.providers.openai_faults import stream_fault  # slow to import, rarely needed

        self._over = True
        return (stream_fault(data, self._provider),)


def _tool_called(data: Json) -> str:
    if data["type"] == "tool_search_call" and data.get("execution") == "client":
        return SEARCH
    return str(data["name"]) if data["type"] == "function_call" else ""


def usage_of(data: object) -> Usage:
    """Convert the usage of a response; missing counts are 0."""
    told = object_of(data)
    read, made = object_of(told.get("input_tokens_details")), object_of(told.get("output_tokens_details"))
    return make_usage(
        prompt=count(told.get("input_tokens")),
        cached=count(read.get("cached_tokens")),
        written=count(read.get("cache_write_tokens")),
        output=count(told.get("output_tokens")),
        reasoning=count(made.get("reasoning_tokens")),
    )
