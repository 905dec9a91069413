"""Recordings of the wire hold no secrets, and serve back what was streamed."""

import asyncio
import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate.assembly.models import open_models
from callgate.config import load_config
from callgate.providers.http_model import HttpModel
from callgate.providers.wire_recording import ReplayModel, WireRecorder, recordings
from callgate.testing import ManualClock
from callgate.transcript.masking import Masker
from callgate.words.errors import ModelError, UsageError
from callgate.words.messages import Message, Text
from callgate.words.model import ModelEvent, ModelNoted, Request, RequestOptions
from tests.providers.clients import REQUEST, streamed
from tests.providers.clients import text_of as said_by
from tests.providers.servers import CUT, Answer, Call, FakeServer, Reply, Say, WireWriter, writer, writers

WRITERS = writers()
PLAIN = writer("plain")
SECRET = "a-very-secret-value-of-the-environment"
TOKEN = "sk-" + "ant-api03-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 3


async def recorded(
    folder: Path, wire: WireWriter, *replies: Reply, request: Request = REQUEST, **more: Any
) -> list[tuple[list[ModelEvent], ModelError | None]]:
    recorder = WireRecorder(folder, Masker({"MY_SECRET_TOKEN": SECRET}).text, ManualClock())
    async with FakeServer(*replies) as server:
        name = f"{wire.family.name}/{wire.facts.name}"
        model = HttpModel(
            name, wire.family, wire.facts, key=wire.key, clock=ManualClock(), base=server.url, recorder=recorder, **more
        )
        found = [await streamed(model, request) for _ in replies]
        await model.aclose()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert recorder.faults == []
    return found


async def replayed(folder: Path, wire: WireWriter, times: int) -> list[tuple[list[ModelEvent], ModelError | None]]:
    model = ReplayModel(recordings(folder), lambda _: wire.family)
    return [await streamed(model) for _ in range(times)]


def told(found: list[tuple[list[ModelEvent], ModelError | None]]) -> list[tuple[list[ModelEvent], Any]]:
    return [
        (
            [event for event in events if not isinstance(event, ModelNoted)],
            error and (str(error), error.kind, error.retryable),
        )
        for events, error in found
    ]


def text_of(folder: Path) -> str:
    return "".join(file.read_text(encoding="utf-8") for file in sorted(folder.iterdir()))


async def settled(recorder: WireRecorder) -> None:
    """Returns when a worker thread has failed to write."""
    for _ in range(100_000):
        if recorder.faults:
            return
        await asyncio.sleep(0)


@pytest.mark.spec("PRV-4")
@pytest.mark.parametrize("name", WRITERS)
async def test_a_recording_serves_back_what_was_streamed(tmp_path: Path, name: str) -> None:
    wire = WRITERS[name]
    answer = Answer((Say("Hello, wörld.\u2028"), Call("c1", "look", '{"at": 1}')))
    data = [data for _, data in wire.events(answer)]
    live = await recorded(
        tmp_path,
        wire,
        Reply.of(wire, answer),
        Reply(data[:-2]),
        Reply([*data[:3], CUT]),
        Reply([*data[:3], wire.error_event("overloaded", "busy")]),
        Reply.error(wire, 429, "slow down", request_id="req_1"),
        Reply.error(wire, 500, "oops"),
    )
    assert told(await replayed(tmp_path, wire, 6)) == told(live)


@pytest.mark.spec("PRV-4")
@pytest.mark.parametrize("name", WRITERS)
async def test_a_recording_has_no_secret(tmp_path: Path, name: str) -> None:
    wire = WRITERS[name]
    said = f"my secret is {SECRET}, the token {TOKEN}, and the key {wire.key}"
    headers = {
        "Authorization": "Bearer own-bearer-token",
        "X-Company": "company-secret-1",
        "Cookie": "session=abcdefgh",
    }
    request = replace(
        REQUEST,
        messages=[Message("u1", "user", (Text(said),))],
        options=RequestOptions(headers={"X-Also": "also-secret-2"}),
    )
    answer = Answer((Say(said),), piece=1000)
    failed = Reply.error(wire, 400, said, set_cookie="cookie-secret-3", x_org="org-secret-4")
    await recorded(tmp_path, wire, Reply.of(wire, answer), failed, request=request, headers=headers)
    written = text_of(tmp_path)
    secrets = (
        SECRET,
        TOKEN,
        wire.key,
        "own-bearer",
        "company-secret",
        "abcdefgh",
        "also-secret",
        "cookie-secret",
        "org-secret",
    )
    assert [secret for secret in secrets if secret in written] == []
    assert written.count("my secret is") >= 3


async def test_recordings_are_lines_of_json_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    await recorded(folder, PLAIN, Reply.of(PLAIN, Answer()), Reply.of(PLAIN, Answer()))
    files = sorted(folder.iterdir())
    assert [file.name[-10:] for file in files] == ["0001.jsonl", "0002.jsonl"]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    lines = [json.loads(line) for line in files[0].read_text(encoding="utf-8").splitlines()]
    assert lines[0]["model"] == "plain/fake-1"
    assert lines[0]["url"].startswith("http://127.0.0.1:")
    assert lines[1]["body"]["messages"] == [{"role": "user", "text": "hi"}]
    assert lines[1]["sent"]["x-api-key"] == "[removed]"
    assert lines[2]["status"] == 200
    assert lines[-2]["event"] == "end"
    assert lines[-1] == {"end": "whole"}


async def test_a_stream_that_is_closed_early_is_recorded_as_far_as_it_came(tmp_path: Path) -> None:
    recorder = WireRecorder(tmp_path, str, ManualClock())
    async with FakeServer(Reply.of(PLAIN, Answer())) as server:
        model = HttpModel(
            "plain/x", PLAIN.family, PLAIN.facts, key=None, clock=ManualClock(), base=server.url, recorder=recorder
        )
        stream = model.stream(REQUEST)
        await anext(stream)
        await stream.aclose()
        await asyncio.get_running_loop().shutdown_default_executor()
    assert recordings(tmp_path)[0].end == {"end": "closed"}


async def test_a_recording_that_cannot_be_written_is_told_and_stops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    recorder = WireRecorder(folder, str, ManualClock())
    folder.rmdir()
    async with FakeServer(Reply.of(PLAIN, Answer()), Reply.of(PLAIN, Answer())) as server:
        model = HttpModel(
            "plain/x", PLAIN.family, PLAIN.facts, key=None, clock=ManualClock(), base=server.url, recorder=recorder
        )
        await streamed(model)
        await settled(recorder)
        events, error = await streamed(model)
        assert error is None
        assert isinstance(events[0], ModelNoted)
        assert "not recorded" in events[0].text
        await model.aclose()
        await asyncio.get_running_loop().shutdown_default_executor()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="nothing can be recorded"):
        WireRecorder(tmp_path / "file" / "x", str, ManualClock())


@pytest.mark.parametrize(
    "text", ["nonsense\n", "[]\n", '{"model": 1}\n', "\x00\n", '{"model": "m", "family": "f", "status": "x"}\n']
)
def test_a_file_that_is_no_recording_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(UsageError, match=r"x\.jsonl, line 1"):
        recordings(tmp_path)


def test_a_folder_without_recordings_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no recording"):
        recordings(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        recordings(tmp_path / "gone.jsonl")


async def test_a_replay_that_is_asked_too_often_says_so(tmp_path: Path) -> None:
    await recorded(tmp_path, PLAIN, Reply.of(PLAIN, Answer()))
    _, (_, error) = await replayed(tmp_path, PLAIN, 2)
    assert error is not None
    assert "has no more answers (played: 1)" in str(error)


async def test_the_model_replay_serves_a_folder_and_others_models_apart(tmp_path: Path) -> None:
    chat = writer("openai-chat")
    titled = replace(chat.facts, name="small")
    tape = tmp_path / "tape"
    recorder = WireRecorder(tape, str, ManualClock())
    async with FakeServer(*(Reply.of(chat, Answer((Say(text),))) for text in ("one", "title", "two"))) as server:
        models = [
            HttpModel(name, chat.family, facts, key=None, clock=ManualClock(), base=server.url, recorder=recorder)
            for name, facts in (("openai-chat/big", chat.facts), ("openai-chat/small", titled))
        ]
        for index in (0, 1, 0):
            await streamed(models[index])
        for model in models:
            await model.aclose()
    await asyncio.get_running_loop().shutdown_default_executor()
    found = load_config(tmp_path, home=tmp_path, environ={}, managed=tmp_path / "none")
    served = open_models(found, f"replay/{tape}", environ={})
    said = [said_by((await streamed(model))[0]) for model in (served.model, served.model, served.cheap)]
    assert said == ["one", "two", "title"]
    await served.aclose()
