"""Any bytes in place of an answer, in any pieces: model events or a ModelError, nothing else, and an end."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.words.errors import ModelError
from tests.providers.clients import model_on, streamed
from tests.providers.servers import Answer, Call, FakeServer, Reply, Say, WireWriter, writers

WRITERS = writers()
ANSWER = Answer((Say("Hello, wörld."), Call("c1", "look", '{"at": 1}'), Call("c2", "look", '{"at": 2}')))


def whole(wire: WireWriter) -> bytes:
    """A good answer as it goes over the wire."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(data), data) for _, data in wire.events(ANSWER))
    return head + chunks + b"0\r\n\r\n"


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one to four faults."""
    for _ in range(chance.randint(1, 4)):
        at, size = chance.randrange(len(data) + 1), chance.choice((1, 1, 2, 8, 64))
        data = chance.choice(
            (
                data[:at],
                data[:at] + data[at + size :],
                data[:at] + chance.randbytes(size) + data[at + size :],
                data[:at] + chance.randbytes(size) + data[at:],
                data[:at] + data[max(0, at - size) :],
                data[:at] + chance.choice((b"\r\n", b"\n\n", b"{", b"}", b'"', b"null", b"[]", b"\x00")) + data[at:],
            )
        )
    return data


async def answered(wire: WireWriter, data: bytes, cuts: list[int]) -> ModelError | None:
    places = sorted(min(cut, len(data)) for cut in cuts)
    pieces = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    async with FakeServer(Reply(pieces, raw=True)) as server, model_on(server, wire) as (model, _):
        _, error = await asyncio.wait_for(streamed(model), 60)
        assert wire.key not in str(error)
        assert len(server.requests) == 1
        return error


@pytest.mark.parametrize("name", WRITERS)
def test_a_good_answer_is_no_error(name: str) -> None:
    data = whole(WRITERS[name])
    assert asyncio.run(answered(WRITERS[name], data, [*range(0, len(data), 7)])) is None


@given(st.sampled_from(sorted(WRITERS)), st.integers(0, 2**32), st.lists(st.integers(0, 4000), max_size=5))
def test_a_damaged_answer_is_events_or_a_model_error(name: str, seed: int, cuts: list[int]) -> None:
    data = damaged(whole(WRITERS[name]), random.Random(seed))
    asyncio.run(answered(WRITERS[name], data, cuts))


@given(st.sampled_from(sorted(WRITERS)), st.binary(max_size=300), st.booleans())
def test_random_bytes_are_a_model_error(name: str, data: bytes, framed: bool) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" if framed else b""
    error = asyncio.run(answered(WRITERS[name], head + data, []))
    assert error is not None or framed
