"""Histories in the formats of OpenAI and Anthropic: what is imported is exported unchanged, and a session continues."""

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from callgate import Session, Store
from callgate.formats.chat_history import from_anthropic, from_openai, to_anthropic, to_openai
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.errors import UsageError
from callgate.words.messages import CallPart, Image, Message, Resource, ResultPart, Text, Thinking

PNG = b64encode(b"\x89PNG fake").decode()


def _called(id: str, name: str = "look", arguments: str = '{"at": "a"}') -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


OPENAI: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "a prompt": [{"role": "user", "content": "Hi."}],
    "an answer": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}],
    "a call": [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [_called("c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "assistant", "content": "Seen."},
    ],
    "two calls, run text": [
        {"role": "assistant", "content": "Looking.", "tool_calls": [_called("c1"), _called("c2", "find", "{}")]},
        {"role": "tool", "tool_call_id": "c2", "content": "b"},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
    ],
    "unusual arguments": [
        {"role": "assistant", "content": None, "tool_calls": [_called("c1", arguments='{"at":"ä", "n" : 1}')]},
        {"role": "assistant", "content": None, "tool_calls": [_called("c2", arguments='{"broken')]},
        {"role": "assistant", "content": None, "tool_calls": [_called("c3", arguments="[1]")]},
        {"role": "assistant", "content": None, "tool_calls": [_called("c4", arguments="")]},
    ],
    "an image": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Will be this?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            ],
        }
    ],
    "a file": [
        {
            "role": "user",
            "content": [
                {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"}},
                {"type": "text", "text": "Read it."},
            ],
        }
    ],
    "two prompts": [{"role": "user", "content": "One."}, {"role": "user", "content": "Two."}],
    "empty and long texts": [{"role": "user", "content": ""}, {"role": "user", "content": "ä\n" * 5_000}],
}


def test_a_history_of_openai_is_exported_as_it_was_imported() -> None:
    wrong = [name for name, history in OPENAI.items() if to_openai(from_openai(history)) != history]
    assert not wrong


ANTHROPIC: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "an answer": [
        {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
    ],
    "a call": [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "a"}},
                {"type": "tool_use", "id": "t2", "name": "find", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "seen"}]},
                {"type": "tool_result", "tool_use_id": "t2", "content": [], "is_error": True},
                {"type": "text", "text": "And now?"},
            ],
        },
    ],
    "thinking": [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "abc"},
                {"type": "redacted_thinking", "data": "xyz"},
                {"type": "text", "text": "So."},
            ],
        }
    ],
    "an image": [
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
            ],
        }
    ],
    "documents": [
        {
            "role": "user",
            "content": [
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PNG},
                    "title": "a.pdf",
                },
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "text"},
                    "title": "b",
                },
            ],
        }
    ],
    "an image in a result": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
                    ],
                }
            ],
        },
    ],
    "a block of the server": [
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
                {"type": "text", "text": "Found."},
            ],
        }
    ],
}


def test_a_history_of_anthropic_is_exported_as_it_was_imported() -> None:
    wrong = [name for name, history in ANTHROPIC.items() if to_anthropic(from_anthropic(history)) != history]
    assert not wrong


def test_short_forms_and_system_messages_are_read() -> None:
    plain = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
    assert [message.text for message in from_openai(plain)] == ["Hi."]
    assert [message.text for message in from_anthropic(plain)] == ["Hi."]
    marked = [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}]
    assert to_anthropic(from_anthropic(marked)) == [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    parts = [{"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "a"}]}]
    assert to_openai(from_openai(parts)) == [{"role": "tool", "tool_call_id": "c", "content": "a"}]


OWN: list[Message] = [
    Message("1", "user", (Text("Look."), Image("image/png", b"x"))),
    Message("2", "assistant", (Thinking("hm", "sig"), Text("Looking."), CallPart("c1", "look", {"at": "ä"}))),
    Message("3", "tool", (ResultPart("c1", "look", (Text("seen"),)),)),
    Message("4", "assistant", (Text("Seen."),)),
    Message("5", "user", (Resource("a.pdf", None, b"x", "application/pdf"),)),
]


def _without_ids(messages: Any) -> list[Any]:
    return [(message.role, message.parts) for message in messages]


def test_messages_of_a_session_survive_both_formats() -> None:
    assert _without_ids(from_anthropic(to_anthropic(OWN))) == _without_ids(OWN)
    without_thinking = [
        Message(each.id, each.role, tuple(part for part in each.parts if not isinstance(part, Thinking)))
        for each in OWN
    ]
    assert _without_ids(from_openai(to_openai(OWN))) == _without_ids(without_thinking)


WRONG: list[tuple[Any, str]] = [
    ([7], "message 0 cannot be imported: 7"),
    ([{"content": "x"}], "message 0 cannot be imported: {'content': 'x'}"),
    ([{"role": "robot", "content": "x"}], "message 0 cannot be imported: {'role': 'robot'"),
    ([{"role": "user", "content": 7}], "message 0 cannot be imported: 7"),
    ([{"role": "user", "content": ["x"]}], "message 0 cannot be imported: 'x'"),
    ([{"role": "user", "content": [{"text": "x"}]}], "message 0 cannot be imported: {'text': 'x'}"),
    ([{"role": "user", "content": [{"type": "text"}]}], "message 0 cannot be imported: {'type': 'text'}"),
]
WRONG_OPENAI: list[tuple[Any, str]] = [
    ([{"role": "user", "content": [{"type": "input_audio"}]}], "cannot be imported: {'type': 'input_audio'}"),
    ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}], "not a data URL"),
    ([{"role": "tool", "content": "x"}], "message 0 cannot be imported: {'role': 'tool'"),
    ([{"role": "assistant", "tool_calls": [{"id": "c"}]}], "message 0 cannot be imported: {'id': 'c'}"),
]


def test_a_message_that_cannot_be_read_is_named() -> None:
    for history, message in [*WRONG, *WRONG_OPENAI]:
        with pytest.raises(UsageError, match=message):
            from_openai(history)
    for history, message in WRONG:
        with pytest.raises(UsageError, match=message):
            from_anthropic(history)


def test_a_session_continues_an_imported_history_also_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        store = Store(tmp_path / "work", tmp_path / "data")
        model = ScriptedModel(turn(call("nothing")), turn(say("Third.")), turn(say("Fourth.")))
        async with Session(model, journal=await store.create()) as session:
            session.import_history(from_openai(OPENAI["a call"]))
            assert (await session.run("And?")).text == "Third."
            id = session.id
            with pytest.raises(UsageError, match="without messages"):
                session.import_history(from_openai(OPENAI["an answer"]))
        sent = to_openai(model.requests[0].messages)
        assert sent == [*OPENAI["a call"], {"role": "user", "content": "And?"}]
        async with Session(model, journal=await store.open(id)) as session:
            assert to_openai(session.messages)[:4] == OPENAI["a call"]
            assert (await session.run("More.")).text == "Fourth."
        assert to_openai(model.requests[2].messages)[:5] == sent

    asyncio.run(main())
