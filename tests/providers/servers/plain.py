"""A family of our own with the simplest wire there could be, to test what all families share."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from callgate.providers.family import HttpPost, ModelFacts, ServerEvent
from callgate.providers.fault_table import fault_of, http_fault
from callgate.words.errors import ModelError
from callgate.words.messages import Usage
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    PartEnded,
    PartStarted,
    Request,
    TextDelta,
    ThinkingDelta,
)
from tests.providers.servers.script import Answer, Call, Phase, Say, pieces


class PlainParser:
    def feed(self, event: ServerEvent) -> Sequence[ModelEvent | ModelError]:
        try:
            value: Any = json.loads(event.data)
            return self._read(event.event, value)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return [fault_of("protocol", "plain", event.data)]

    def _read(self, kind: str, value: Any) -> Sequence[ModelEvent | ModelError]:
        match kind:
            case "start":
                return [MessageStarted(str(value["id"]), f"plain/{value['model']}")]
            case "part":
                return [PartStarted(value["index"], value["kind"], value.get("id", ""), value.get("name", ""))]
            case "text":
                return [TextDelta(value["index"], value["text"])]
            case "thinking":
                return [ThinkingDelta(value["index"], value["text"], value.get("signature"))]
            case "arguments":
                return [ArgumentsDelta(value["index"], value["text"])]
            case "done":
                return [PartEnded(value["index"])]
            case "end":
                return [MessageEnded(value["stop"], Usage(input=value["input"], output=value["output"]))]
            case "error":
                return [fault_of("overloaded" if value["kind"] == "overloaded" else "server", "plain", value["text"])]
            case _:
                return []

    def end(self) -> Sequence[ModelEvent | ModelError]:
        return []


class PlainFamily:
    name = "plain"

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        if request.options.body.get("unwritable"):
            raise fault_of("bad_request", "plain", "the request cannot be written")
        said = [{"role": message.role, "text": message.text} for message in request.messages]
        notes = ["a temperature is not known"] if request.options.temperature is not None else []
        headers = {"x-api-key": key or "", **request.options.headers}
        return HttpPost("/talk", headers, json.dumps({"model": facts.name, "messages": said}).encode()), notes

    def parser(self) -> PlainParser:
        return PlainParser()

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        try:
            said = str(json.loads(body)["error"])
        except (ValueError, KeyError, TypeError, RecursionError):
            said = body.decode("utf-8", "replace")
        return http_fault(status, headers, "plain", said)


class PlainWriter:
    family = PlainFamily()
    facts = ModelFacts("fake-1", "plain")
    key = "sk-plain-0123456789"

    def events(self, answer: Answer) -> Sequence[tuple[Phase, bytes]]:
        found: list[tuple[Phase, bytes]] = [("start", event("start", {"id": answer.id, "model": answer.model}))]
        for index, part in enumerate(answer.parts):
            if isinstance(part, Call):
                begun = {"index": index, "kind": "tool_call", "id": part.id, "name": part.name}
                found.append(("arguments", event("part", begun)))
                written = [{"index": index, "text": text} for text in pieces(part.arguments, answer.piece)]
                found.extend(("arguments", event("arguments", each)) for each in written)
                found.append(("call", event("done", {"index": index})))
                continue
            kind: Literal["text", "thinking"] = "text" if isinstance(part, Say) else "thinking"
            found.append((kind, event("part", {"index": index, "kind": kind})))
            said = [{"index": index, "text": text} for text in pieces(part.text, answer.piece)]
            found.extend((kind, event(kind, each)) for each in said)
            found.append((kind, event("done", {"index": index})))
        usage = {"input": answer.usage.input, "output": answer.usage.output}
        return [*found, ("end", event("end", {"stop": answer.stop_reason, **usage}))]

    def error_event(self, kind: Literal["overloaded", "server"], message: str) -> bytes:
        return event("error", {"kind": kind, "text": message})

    def error_body(self, status: int, message: str) -> bytes:
        return json.dumps({"error": message}).encode()


def event(name: str, value: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()


WRITER = PlainWriter()
