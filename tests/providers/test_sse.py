"""Server-sent events, cut anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.providers.family import ServerEvent
from callgate.providers.stream_parser import EventTooLarge, ServerEventReader

CASES: list[tuple[bytes, list[tuple[str, str]]]] = [
    (b"data: a\n\n", [("", "a")]),
    (b"event: x\ndata: a\n\n", [("x", "a")]),
    (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("", "a"), ("", "b"), ("", "c")]),
    (b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", [("", "a")]),
    (b": comment\n:\ndata: a\n: more\ndata: b\n\n", [("", "a\nb")]),
    (b"data:a\ndata:  b\ndata\n\n", [("", "a\n b\n")]),
    (b"data\n\n", [("", "")]),
    (b"event: x\n\ndata: a\n\n", [("", "a")]),
    (b"id: 1\nretry: 5\nodd: y\ndatax: z\ndata : q\n\n", []),
    (b"\n\n\ndata: a\n\n\n\n", [("", "a")]),
    (b"data: a\n", []),
    (b"data: a\n\ndata: b", [("", "a")]),
    (b"event: x\nevent: y\ndata: \xc3\xa4\xff\n\n", [("y", "ä\ufffd")]),
    (b"data: a\rdata: b\r\n\r", [("", "a\nb")]),
    ("data: a\u2028b\x0cc\n\n".encode(), [("", "a\u2028b\x0cc")]),
]


def read(reader: ServerEventReader, chunks: list[bytes]) -> list[ServerEvent]:
    return [event for chunk in chunks for event in reader.feed(chunk)]


@pytest.mark.parametrize(("data", "expected"), CASES)
def test_events_are_the_same_however_the_bytes_are_cut(data: bytes, expected: list[tuple[str, str]]) -> None:
    wanted = [ServerEvent(*pair) for pair in expected]
    assert read(ServerEventReader(), [data]) == wanted
    assert read(ServerEventReader(), [data[i : i + 1] for i in range(len(data))]) == wanted
    for cut in range(len(data)):
        assert read(ServerEventReader(), [data[:cut], b"", data[cut:]]) == wanted, cut


@given(
    st.lists(
        st.sampled_from(
            [b"data", b"event", b"id", b":", b" ", b"\n", b"\r", b"\r\n", b"a", b"\xc3", b"\xa4", b"\xef\xbb\xbf"]
        )
    ),
    st.data(),
)
def test_any_bytes_give_the_same_events_in_any_pieces(parts: list[bytes], data: st.DataObject) -> None:
    text = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert read(ServerEventReader(), chunks) == read(ServerEventReader(), [text])


def test_an_event_without_an_end_is_not_kept_without_a_limit() -> None:
    reader = ServerEventReader(most_bytes=100)
    with pytest.raises(EventTooLarge):
        read(reader, [b"data: x"] * 20)
    with pytest.raises(EventTooLarge):
        read(ServerEventReader(most_bytes=100), [b"data: 12345\n"] * 20)
    assert len(read(ServerEventReader(most_bytes=100), [b"data: 12345\n\n"] * 20)) == 20
    assert read(ServerEventReader(most_bytes=100), [b": 12345\n"] * 2000) == []


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["data: a", "data:b", "event: x", "data", ": c", "", "", "ä€🙂", "data:  d"])), st.data()
)
def test_the_reader_of_httpx2_finds_the_same_events(lines: list[str], data: st.DataObject) -> None:
    sse = pytest.importorskip("httpx2._sse")
    text = "".join(line + data.draw(st.sampled_from(["\n", "\r", "\r\n"])) for line in lines)
    text = f"{text}: a comment, because theirs takes a CR at the very end for two\n".encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    theirs = sse._SSEParser()
    found = [*theirs.decode(text.decode()), *theirs.flush()]
    # The standard drops an event without a line of data; theirs gives it, with empty data.
    ours = read(ServerEventReader(), chunks)
    assert [(event.event or "message", event.data) for event in ours if event.data] == [
        (event.event, event.data) for event in found if event.data
    ]
