"""Parses streams of OpenAI's Responses API.

An answer is a list of items. For each item one part stores the fields that the next request sends back: a call stores
its own fields; any other item becomes an ``opaque`` part, to which the final fields of the item are added at the end.
Texts are separate parts, so that they are logged once and masked; the stored fields have None in place of the texts.
Unknown events are ignored, and unknown items are stored like known items.
"""

from collections.abc import Callable, Mapping
from json import dumps
from typing import Literal

from callgate.providers.family import Json, object_of, read_object, text_of
from callgate.providers.openai_shared import count, make_usage
from callgate.providers.stream_parser import EventParser
from callgate.words.messages import Usage
from callgate.words.model import StopReason
from callgate.words.tool_search import SEARCH

FAMILY = "openai"
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


class ResponsesParser(EventParser):
    def __init__(self, provider: str = FAMILY) -> None:
        super().__init__(FAMILY, provider)
        self._items: dict[int, _Item] = {}
        self._places: dict[object, int] = {}  # indices of items by id, for servers that send no index
        self._refused = False
        self._called = False
        ended = {f"response.{status}": self._ended for status in ("completed", "incomplete", "failed", "cancelled")}
        self._steps: Mapping[object, Callable[[Json], None]] = {
            "response.created": self._begun,
            "response.output_item.added": self._item_added,
            "response.output_item.done": self._item_done,
            "response.output_text.delta": self._text_added,
            "response.refusal.delta": self._text_added,
            "response.function_call_arguments.delta": self._arguments_added,
            "response.reasoning_summary_text.delta": self._thought_added,
            "response.reasoning_text.delta": self._thought_added,
            **ended,
            "response.done": self._ended,
            "error": self._fail,
        }

    def _read(self, data: Json, name: str) -> None:
        kind = data.get("type") or name or ("error" if data.get("error") else "")
        step = self._steps.get(kind)
        if step is not None:
            step(data)

    # ---- pieces -----------------------------------------------------------------------------------------------------

    def _arguments_added(self, data: Json) -> None:
        item, delta = self._item_of(data), text_of(data["delta"])
        if not item.called:
            raise ValueError("arguments for an item that is no call")
        item.pieces.append(delta)
        self._arguments(item.part, delta)

    def _text_added(self, data: Json) -> None:
        item, delta = self._item_of(data), text_of(data["delta"])
        self._text(self._add_text(item, data.get("content_index", 0), "text", delta), delta)

    def _thought_added(self, data: Json) -> None:
        """Append a delta to the thinking part. All summaries or texts of a reasoning item form one part, separated
        by empty lines."""
        item, delta = self._item_of(data), text_of(data["delta"])
        place = (data["type"], data.get("summary_index"), data.get("content_index"))
        if item.texts and place != item.last:
            delta = f"\n\n{delta}"
        item.last = place
        self._thinking(self._add_text(item, 0, "thinking", delta), delta)

    def _add_text(self, item: _Item, index: int, kind: Literal["text", "thinking"], text: str) -> int:
        """Store a piece of a text part of an item and return the number of the part. Start the part if necessary."""
        if index not in item.texts:
            item.texts[index] = (self._start_part(kind), [])
        part, pieces = item.texts[index]
        pieces.append(text)
        return part

    def _item_of(self, data: Json) -> _Item:
        index = data.get("output_index")
        item = self._items[self._places[data["item_id"]] if index is None else index]
        if item.done:
            raise ValueError("a delta for an item that is done")
        return item

    # ---- items ------------------------------------------------------------------------------------------------------

    def _begun(self, data: Json) -> None:
        if not self._started:
            response = object_of(data.get("response"))
            self._start_message(str(response.get("id") or ""), str(response.get("model") or ""))

    def _item_added(self, data: Json) -> None:
        self._add(data.get("output_index", len(self._items)), data["item"])

    def _item_done(self, data: Json) -> None:
        item = data["item"]
        self._item_finished(data.get("output_index", self._place_of(item, len(self._items))), item)

    def _place_of(self, item: Json, otherwise: int) -> int:
        return self._places.get(item.get("id"), self._places.get(item.get("call_id"), otherwise))

    def _add(self, index: int, data: Json) -> _Item:
        if index.__class__ is not int or index in self._items:
            raise ValueError(f"an item cannot start as number {index}")
        self._begun({})
        called = _tool_called(data)
        if called:
            self._called = True
            part = self._start_part("tool_call", str(data.get("call_id") or ""), called)
        else:
            part = self._start_part("opaque")
        item = self._items[index] = _Item(str(data["type"]), part, called)
        self._places.update((data[key], index) for key in ("id", "call_id") if data.get(key))
        return item

    def _item_finished(self, index: int, data: Json) -> None:
        item = self._items.get(index) or self._add(index, data)
        if item.done or data["type"] != item.type:
            raise ValueError(f"item {index} ends twice, or as another one")
        if item.called and data.get("status") == "incomplete":
            return  # the call stays open: its arguments are incomplete
        item.done = True
        kept = data
        if item.called:
            written = data.get("arguments") or ""
            self._rest_of_call(item, written if isinstance(written, str) else dumps(written))
            kept = {key: value for key, value in data.items() if key not in ("type", "call_id", "name", "arguments")}
        elif item.type == "message":
            kept = {**data, "content": [self._content(item, i, each) for i, each in enumerate(data["content"])]}
        elif item.type == "reasoning":
            kept = self._reasoning(item, data)
        self._end_texts(item)
        self._opaque(item.part, kept)
        self._end_part(item.part)

    def _end_texts(self, item: _Item) -> None:
        for part, _ in item.texts.values():
            self._end_part(part)

    def _rest_of_call(self, item: _Item, whole: str) -> None:
        came = "".join(item.pieces)
        if whole.startswith(came):
            self._arguments(item.part, whole[len(came) :])
        elif not whole or read_object(came) != read_object(whole):
            raise ValueError("the arguments of a call differ from the pieces that came before")

    def _content(self, item: _Item, index: int, content: Json) -> Json:
        """Return the content with None in place of its texts, and add events for text that was not streamed."""
        field = _TEXTS.get(content["type"])
        if field is None:
            return content
        self._refused = self._refused or field == "refusal"
        whole = str(content.get(field) or "")
        _, came = item.texts.get(index) or (-1, [])
        if rest := whole[len("".join(came)) :]:
            self._text(self._add_text(item, index, "text", rest), rest)
        return {**content, field: None} if whole else content

    def _reasoning(self, item: _Item, data: Json) -> Json:
        """Return the item with None in place of its texts, and with the lengths of these texts. The joined texts are
        the thinking part."""
        texts = [each["text"] for name in THOUGHTS for each in data.get(name) or ()]
        whole = "\n\n".join(texts)
        if not item.texts and whole:
            self._thinking(self._add_text(item, 0, "thinking", whole), whole)
        if not whole or "".join(item.texts[0][1]) != whole:
            return data
        named = {name: [{**each, "text": None} for each in data[name]] for name in THOUGHTS if data.get(name)}
        return {**data, **named, LENGTHS: [len(text) for text in texts]}

    # ---- the end ----------------------------------------------------------------------------------------------------

    def _ended(self, data: Json) -> None:
        response = object_of(data.get("response"))
        status = response.get("status") or str(data["type"]).rpartition(".")[2]
        if status == "failed" or (response.get("error") and status != "completed"):
            self._fail(response)
            return
        self._begun(data)
        for number, item in enumerate(response.get("output") or ()):
            index = self._place_of(item, number)
            known = self._items.get(index)
            if (known is None or not known.done) and status != "cancelled":
                self._item_finished(index, item)
        for item in self._items.values():
            if not item.done:
                self._end_texts(item)
        stop, detail = self._stop(status, object_of(response.get("incomplete_details")))
        self._finish(stop, usage_of(response.get("usage")), detail)

    def _stop(self, status: object, why: Json) -> tuple[StopReason, str]:
        if status in ("completed", "done"):
            if self._called:
                return "tool_calls", ""
            return ("refusal" if self._refused else "end"), ""
        reason = str(why.get("reason") or status)
        return _INCOMPLETE.get(reason, "cut_off"), reason


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
