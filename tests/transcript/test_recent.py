"""The end of a session, read from the end, is the end of what is live."""

import os
from pathlib import Path

import pytest

from callgate.transcript.index import index_path, read_index, write_index
from callgate.transcript.loader import load
from callgate.transcript.recent import Recent, recent, recent_messages
from callgate.words.events import CallArrived, CallDecided, CallSettled, MessageAdded
from callgate.words.messages import Message
from tests.transcript.kit import RECORDED, drop_index, put_log, recorded, run, store_in, talk

pytestmark = [pytest.mark.spec("TRS-11"), pytest.mark.parametrize("name", RECORDED)]


def live_messages(log: Path) -> list[Message]:
    fd = os.open(log, os.O_RDONLY)
    try:
        return [event.message for event in load(fd, log).events if isinstance(event, MessageAdded)]
    finally:
        os.close(fd)


def last(log: Path, count: int) -> list[Message]:
    fd = os.open(log, os.O_RDONLY)
    try:
        return recent_messages(fd, log, count)
    finally:
        os.close(fd)


def end(log: Path, count: int) -> Recent:
    fd = os.open(log, os.O_RDONLY)
    try:
        return recent(fd, log, count, lambda message: message.role != "tool")
    finally:
        os.close(fd)


def indexed(name: str, folder: Path) -> Path:
    """A log that a session left, with its index."""

    async def main() -> Path:
        return (await RECORDED[name](store_in(folder))).path

    log = run(main())
    assert index_path(log).exists()
    return log


def test_it_is_the_end_of_what_is_live(name: str, tmp_path: Path) -> None:
    log = indexed(name, tmp_path)
    live = live_messages(log)
    for count in range(len(live) + 2):
        assert last(log, count) == (live[-count:] if count else [])


def test_it_is_the_same_without_an_index_and_with_one_that_does_not_fit(name: str, tmp_path: Path) -> None:
    log = indexed(name, tmp_path)
    live = live_messages(log)
    index = index_path(log).read_bytes()
    drop_index(log)
    assert last(log, 2) == live[-2:]
    other = put_log(store_in(tmp_path / "other"), talk().image)
    index_path(other).write_bytes(index)
    assert [message.id for message in last(other, 1)] == [live_messages(other)[-1].id]


def test_it_is_the_same_with_an_index_of_any_age(name: str, tmp_path: Path) -> None:
    image = recorded(name, tmp_path / "made")
    store = store_in(tmp_path)
    lines = image.splitlines(keepends=True)
    for known in range(1, len(lines), 5):
        log = put_log(store, b"".join(lines[:known]))
        fd = os.open(log, os.O_RDONLY)
        write_index(log, load(fd, log).index())
        os.close(fd)
        log.write_bytes(image)
        assert read_index(log) is not None
        assert last(log, 3) == live_messages(log)[-3:]


def test_damage_in_what_is_read_is_no_reason_to_fail(name: str, tmp_path: Path) -> None:
    log = indexed(name, tmp_path)
    image = bytearray(log.read_bytes())
    at = image.rindex(b'"type":"Text"')
    image[at] ^= 1
    log.write_bytes(image)
    assert last(log, 2) == live_messages(log)[-2:]
    assert end(log, 2).damages


def test_the_facts_of_its_calls_come_with_a_message(name: str, tmp_path: Path) -> None:
    log = indexed(name, tmp_path)
    for count in range(1, 8):
        events = end(log, count).events
        said = [event.message for event in events if isinstance(event, MessageAdded)]
        assert len([message for message in said if message.role != "tool"]) <= count
        called = {part.id for message in said for part in message.calls}
        for kind in (CallArrived, CallSettled):
            assert called <= {event.call_id for event in events if isinstance(event, kind)}
        assert {event.call_id for event in events if isinstance(event, CallDecided)} <= called


def test_what_a_list_shows_is_known_as_well(name: str, tmp_path: Path) -> None:
    log = indexed(name, tmp_path)
    fd = os.open(log, os.O_RDONLY)
    try:
        assert recent(fd, log, 1).about == load(fd, log).about
    finally:
        os.close(fd)


def test_what_is_not_shown_is_not_read(name: str, tmp_path: Path) -> None:
    log = indexed(name, tmp_path)
    wanted = live_messages(log)[-1:]
    image = bytearray(log.read_bytes())
    image[10:200] = b"x" * 190
    log.write_bytes(image)
    assert last(log, 1) == wanted
    assert end(log, 1).damages == ()
