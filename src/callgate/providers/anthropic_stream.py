"""Parses server-sent events of the Anthropic Messages API.

Blocks without an equivalent in Callgate become ``opaque`` parts into which their deltas are merged: redacted thinking,
server-side tools and their results, compaction, and blocks of unknown types. Events of unknown types are ignored.
"""

from collections.abc import Callable, Mapping
from json import dumps
from typing import Final, Literal, cast

from callgate.providers.family import Json, object_of, read_object, rest_of, text_of
from callgate.providers.stream_parser import EventParser
from callgate.words.messages import Usage
from callgate.words.model import StopReason

NAME: Final = "anthropic"
STOPS: Final[Mapping[str, StopReason]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "context_full",
    "refusal": "refusal",
    "pause_turn": "paused",
    "compaction": "paused",
}
"""Maps ``stop_reason`` of the API. With any other value the message ends as cut off, so that no call is run."""


class _Block:
    """A content block during streaming.

    kind  the type of the block; ``opaque`` for a block without an equivalent in Callgate
    data  the block of an opaque part, or the fields of a text block or call that have no equivalent in Callgate
    json  the received pieces of the call's input
    """

    __slots__ = ("data", "json", "kind", "part")

    def __init__(self, kind: Literal["text", "thinking", "tool_use", "opaque"], part: int, data: Json) -> None:
        self.kind = kind
        self.part = part
        self.data = data
        self.json: list[str] = []


class AnthropicParser(EventParser):
    def __init__(self, provider: str = NAME) -> None:
        super().__init__(NAME, provider)
        self._blocks: dict[int, _Block] = {}
        self._calls: set[str] = set()
        self._first = Usage()
        self._counts: dict[str, int] = {}
        self._stop: str | None = None
        self._detail = ""
        self._container: Json | None = None
        self._steps: Mapping[str, Callable[[Json], None]] = {
            "content_block_delta": self._delta,
            "content_block_start": self._block_started,
            "content_block_stop": self._block_stopped,
            "message_start": self._message_started,
            "message_delta": self._message_delta,
            "message_stop": self._message_stopped,
            "error": self._fail,
        }

    def _read(self, data: Json, name: str) -> None:
        step = self._steps.get(data.get("type") or name)
        if step is not None:
            step(data)

    def _message_started(self, data: Json) -> None:
        message: Json = data["message"]
        if self._started:
            raise ValueError("the message started twice")
        self._count(message.get("usage"))
        self._first = self._usage()
        self._start_message(text_of(message["id"]), text_of(message["model"]), self._first)

    def _block_started(self, data: Json) -> None:
        index, given = data["index"], dict(cast("Json", data["content_block"]))
        if not self._started or index in self._blocks:
            raise ValueError("a block started before the message, or twice")
        kind = text_of(given["type"])
        if kind == "text":
            block = _Block(kind, self._start_part("text"), given)
            self._text(block.part, text_of(given.pop("text", None) or ""))
        elif kind == "thinking":
            block = _Block(kind, self._start_part("thinking"), given)
            self._thinking(block.part, text_of(given.pop("thinking", None) or ""))
            self._thinking(block.part, "", text_of(given.pop("signature", None) or ""))
        elif kind == "tool_use":
            block = self._call_started(given)
        else:
            block = _Block("opaque", self._start_part("opaque"), given)
        if block.kind != "opaque":
            del given["type"]
        if kind == "tool_use" and (kept := _without_empty(given)):
            self._opaque(block.part, kept)
        self._blocks[index] = block

    def _call_started(self, given: Json) -> _Block:
        name, call_id = text_of(given.pop("name")), text_of(given.pop("id"))
        if not name or not call_id or call_id in self._calls:
            raise ValueError("a call without a name or an id of its own")
        self._calls.add(call_id)
        block = _Block("tool_use", self._start_part("tool_call", call_id, name), given)
        if whole := given.pop("input", None):
            block.json.append(dumps(whole, ensure_ascii=False))
        return block

    def _delta(self, data: Json) -> None:
        block, delta = self._blocks[data["index"]], cast("Json", data["delta"])
        match block.kind, delta["type"]:
            case "text", "text_delta":
                self._text(block.part, text_of(delta["text"]))
            case "tool_use", "input_json_delta":
                if text := text_of(delta["partial_json"]):
                    block.json.clear()
                    self._arguments(block.part, text)
            case "thinking", "thinking_delta":
                self._thinking(block.part, text_of(delta["thinking"]))
            case "thinking", "signature_delta":
                self._thinking(block.part, "", text_of(delta["signature"]))
            case "text" | "opaque", "citations_delta":
                block.data["citations"] = [*(block.data.get("citations") or ()), delta["citation"]]
            case "opaque", "input_json_delta":
                block.json.append(text_of(delta["partial_json"]))
            case "opaque", "text_delta" | "thinking_delta" as kind:
                field = kind.removesuffix("_delta")
                block.data[field] = text_of(block.data.get(field) or "") + text_of(delta[field])
            case "opaque", "signature_delta" | "compaction_delta":
                block.data.update({k: value for k, value in delta.items() if k != "type" and value is not None})
            case _:
                pass

    def _block_stopped(self, data: Json) -> None:
        block = self._blocks.pop(data["index"])
        if block.kind == "opaque":
            if block.json:
                block.data["input"] = read_object("".join(block.json) or "{}")
            self._opaque(block.part, block.data)
        elif block.kind == "tool_use":
            self._arguments(block.part, "".join(block.json))  # from a server that sends all arguments at once
        self._end_part(block.part)
        if block.kind in ("text", "thinking") and (beside := _without_empty(block.data)):
            self._opaque_part({**beside, "on": "block"})

    def _message_delta(self, data: Json) -> None:
        delta: Json = data["delta"]
        self._count(data.get("usage"))
        if stop := delta.get("stop_reason"):
            self._stop, self._detail = text_of(stop), _detail(delta)
        if isinstance(container := delta.get("container"), dict):
            self._container = cast("Json", container)

    def _message_stopped(self, _: Json) -> None:
        if not self._started or self._stop is None or self._blocks:
            raise ValueError("the message ended before it started, without a reason, or inside a block")
        reason: StopReason = STOPS.get(self._stop, "cut_off")
        if reason in ("end", "tool_calls"):
            reason = "tool_calls" if self._calls else "end"
        if self._container is not None:
            self._opaque_part({"container": self._container, "on": "message"})
        detail = self._detail if reason not in ("cut_off", "paused") else self._stop
        self._finish(reason, rest_of(self._usage(), self._first), detail)

    def _count(self, usage: object) -> None:
        """Store the token counts of an event. Counts are cumulative: later values replace earlier values, and a
        count that is missing in the event is unchanged."""
        given = object_of(usage)
        for name, value in (*given.items(), *object_of(given.get("output_tokens_details")).items()):
            if type(value) is int and value >= 0:
                self._counts[name] = value

    def _usage(self) -> Usage:
        count = self._counts.get
        output = count("output_tokens", 0)
        return Usage(
            input=count("input_tokens", 0),
            cache_read=count("cache_read_input_tokens", 0),
            cache_write=count("cache_creation_input_tokens", 0),
            output=output,
            reasoning=min(count("thinking_tokens", 0), output),
        )


def _detail(delta: Json) -> str:
    if details := object_of(delta.get("stop_details")):
        said = (details.get(name) for name in ("category", "explanation"))
        return ": ".join(each for each in said if isinstance(each, str))
    sequence = delta.get("stop_sequence")
    return sequence if isinstance(sequence, str) else ""


def _without_empty(data: Json) -> Json:
    return {name: value for name, value in data.items() if value is not None and value != []}
