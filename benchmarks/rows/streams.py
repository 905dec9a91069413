"""What a streamed event costs: each family's parser against the least there is, bare server-sent events and JSON.

The events are those of the fake servers of the tests. The vendors' SDKs read the same bytes where they are installed
(``sh scripts/setup.sh oracles``), and the note of a row says what they needed.
"""

import gc
import json
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from statistics import median
from typing import Any
from warnings import catch_warnings

from benchmarks.measure import Size, cpu_seconds, interleaved, ratio, spread
from benchmarks.report import Row
from callgate.providers.http_model import HttpModel
from callgate.providers.stream_parser import ServerEventReader
from callgate.testing import ManualClock
from callgate.words.messages import Message, Text
from callgate.words.model import Request
from tests.providers.servers import Answer, Call, FakeServer, Reply, Say, WireWriter, writers

DELTAS = 1_000
LIMIT = 3.0
"""Times bare parsing."""
PIECE = 12
ANSWERS = {
    "text": ("pieces of text", Answer((Say("some words … " * (DELTAS * PIECE // 13)),), piece=PIECE)),
    "arguments": (
        "pieces of arguments",
        Answer((Call("call_1", "write", json.dumps({"content": "x = 1\n" * (DELTAS * PIECE // 7)})),), piece=PIECE),
    ),
}
REQUEST = Request("", (Message("u1", "user", (Text("go"),)),))


def rows(size: Size) -> list[Row]:
    rounds = max(2, size.rounds // 2)
    families = {name: wire for name, wire in writers().items() if name != "plain"}
    made = [_parsed(name, wire, kind, rounds) for name, wire in families.items() for kind in ANSWERS]
    return [*made, *(_whole(name, wire, rounds) for name, wire in families.items())]


def _parsed(name: str, wire: WireWriter, kind: str, rounds: int) -> Row:
    work, answer = ANSWERS[kind]
    chunks = [data for _, data in wire.events(answer)]
    gc.collect()
    found = interleaved(
        {"ours": lambda: _timed(lambda: ours(wire, chunks)), "bare": lambda: _timed(lambda: bare(chunks))}, rounds
    )
    each = 1e6 / len(chunks)
    return Row(
        f"stream_{kind}_{name}",
        f"read an event, {len(chunks):,} {work}, {name}",
        "µs",
        median(found["ours"]) * each,
        median(found["bare"]) * each,
        ratio(found["ours"], found["bare"]),
        LIMIT,
        spread(found["ours"]),
        _sdk_note(name, chunks, rounds) if kind == "arguments" else "",
    )


def ours(wire: WireWriter, chunks: Sequence[bytes]) -> int:
    reader, parser, count = ServerEventReader(), wire.family.parser(), 0
    for chunk in chunks:
        for event in reader.feed(chunk):
            count += len(parser.feed(event))
    return count


def bare(chunks: Sequence[bytes]) -> int:
    """The least that reads the same bytes: lines, and JSON of those with data."""
    count = 0
    for chunk in chunks:
        for line in chunk.split(b"\n"):
            if line.startswith(b"data: ") and line != b"data: [DONE]":
                json.loads(line[6:])
                count += 1
    return count


def _whole(name: str, wire: WireWriter, rounds: int) -> Row:
    """From the socket to model events, server and client in one process."""
    reply = Reply.of(wire, ANSWERS["text"][1])

    async def work(_: None) -> None:
        async with FakeServer(reply) as server:
            model = HttpModel(name, wire.family, wire.facts, key=wire.key, clock=ManualClock(), base=server.url)
            async for _event in model.stream(REQUEST):
                pass
            await model.aclose()

    found = [cpu_seconds(lambda: None, work) for _ in range(rounds)]
    return Row(
        f"wire_{name}",
        f"a streamed event over loopback, with its server, {name}",
        "µs",
        median(found) * 1e6 / len(reply.steps),
        spread=spread(found),
    )


def _timed(work: Callable[[], object]) -> float:
    before = time.process_time_ns()
    work()
    return (time.process_time_ns() - before) / 1e9


def _sdk_note(name: str, chunks: Sequence[bytes], rounds: int) -> str:
    try:
        reads = _SDKS[name](b"".join(chunks))
    except ImportError as error:
        return f"the vendor's SDK is not installed ({error.name}): sh scripts/setup.sh oracles"
    reads()
    least = min(_timed(reads) for _ in range(max(2, rounds // 3)))
    return f"the vendor's SDK: {least * 1e6 / len(chunks):.3g} µs an event"


def _answering(data: bytes) -> Any:
    httpx: Any = import_module("httpx2")
    headers = {"content-type": "text/event-stream"}
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, headers=headers, content=data))
    return httpx.Client(transport=transport)


def _anthropic(data: bytes) -> Callable[[], object]:
    client = import_module("anthropic").Anthropic(api_key="x", max_retries=0, http_client=_answering(data))
    said: Any = [{"role": "user", "content": "go"}]
    return lambda: [*client.messages.create(model="m", max_tokens=9, messages=said, stream=True)]


def _responses(data: bytes) -> Callable[[], object]:
    client = import_module("openai").OpenAI(api_key="x", max_retries=0, http_client=_answering(data))
    return lambda: [*client.responses.create(model="m", input="go", stream=True)]


def _chat(data: bytes) -> Callable[[], object]:
    client = import_module("openai").OpenAI(api_key="x", max_retries=0, http_client=_answering(data))
    said: Any = [{"role": "user", "content": "go"}]
    return lambda: [*client.chat.completions.create(model="m", messages=said, stream=True)]


def _gemini(data: bytes) -> Callable[[], object]:
    with catch_warnings(action="ignore"):  # about its source, where nothing has compiled it yet
        genai = import_module("google.genai")
    client = genai.Client(api_key="x", http_options=genai.types.HttpOptions(httpx_client=_answering(data)))
    return lambda: [*client.models.generate_content_stream(model="m", contents="go")]


_SDKS = {"anthropic": _anthropic, "openai": _responses, "openai-chat": _chat, "gemini": _gemini}
