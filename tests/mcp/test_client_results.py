"""Answers and prompts of servers: data, bounded in size and number, without what cannot be seen."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from callgate.mcp.server_context import ServerLimits
from callgate.mcp.server_requests import message_content, result_of
from callgate.mcp.server_tool import prompts_of
from callgate.mcp.tool_definitions import read_definition
from callgate.words.errors import ToolFailure
from callgate.words.messages import Image, Resource, Text
from tests.mcp.client_kit import connected, place_in, raw
from tests.mcp.test_client_hostile import called
from tests.rows import rows


@pytest.mark.spec("MCP-2")
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "pwn"}}]},
            "the answer violates the protocol:",
        ),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, "no"),
        ({"content": [{"type": "image", "data": "%%%", "mimeType": "image/png"}]}, "not base64"),
        ({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/x-odd"}]}, "cannot be shown"),
        ({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}, "whose 3 bytes are not an image"),
        ({"content": [{"type": "image", "data": "", "mimeType": "image/png"}]}, "whose 0 bytes are not an image"),
        ({"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]}, ", which cannot be played]"),
        ({"content": [], "structuredContent": {"a": 1}}, '{"a": 1}'),
        ("nonsense", "violates the protocol"),
    ],
)
def test_an_answer_is_data_whatever_it_holds(tmp_path: Path, answer: object, says: str) -> None:
    assert says in called(tmp_path, "result", json.dumps(answer)).text


@pytest.mark.spec("MCP-2")
@rows(
    "texts, structured, wanted",
    [
        (["5"], {"result": 5}, "5"),
        (["5.5"], {"result": 5.5}, "5.5"),
        (["true"], {"result": True}, "true"),
        (["null"], {"result": None}, "null"),
        (["rain"], {"result": "rain"}, "rain"),
        (["5"], {"result": "5"}, "5"),
        (["1", "2"], {"result": [1, 2]}, "1\n2"),
        (["a", "b"], {"result": ["a", "b"]}, "a\nb"),
        (['["a", "b"]'], {"result": ["a", "b"]}, '["a", "b"]'),
        (['{"a": 1}'], {"result": {"a": 1}}, '{"a": 1}'),
        (['{"a": 1}', '{"a": 2}'], {"result": [{"a": 1}, {"a": 2}]}, '{"a": 1}\n{"a": 2}'),
        (['{"a": 1}'], {"a": 1}, '{"a": 1}'),
        (["note", '{"a": 1}'], {"a": 1}, 'note\n{"a": 1}'),
        ([], {"result": []}, '{"result": []}'),
        ([], {"result": 5}, '{"result": 5}'),
        (["It is 5."], {"result": 5}, 'It is 5.\n{"result": 5}'),
        (["5"], {"result": 6}, '5\n{"result": 6}'),
        (["5"], {"result": 5, "unit": "m"}, '5\n{"result": 5, "unit": "m"}'),
        (["found"], {"rows": [1]}, 'found\n{"rows": [1]}'),
    ],
)
def test_structured_content_is_not_repeated_and_stands_on_its_own_line(
    texts: list[str], structured: object, wanted: str
) -> None:
    definition = read_definition({"name": "x", "inputSchema": {"type": "object"}})
    blocks = [{"type": "text", "text": text} for text in texts]
    assert result_of({"content": blocks, "structuredContent": structured}, definition).text == wanted


@pytest.mark.spec("MCP-3")
@pytest.mark.parametrize(
    "block",
    [
        {"type": "resource_link", "uri": f"x:{'a' * 20_000}", "name": "n", "mimeType": "b" * 20_000},
        {"type": "resource", "resource": {"uri": f"x:{'a' * 20_000}", "text": "t", "mimeType": "b" * 20_000}},
        {"type": "resource", "resource": {"uri": f"x:{'a' * 20_000}", "blob": "AAAA", "mimeType": "b" * 20_000}},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
    ],
)
def test_parts_that_are_no_texts_are_bounded_in_number_and_in_what_they_say_of_themselves(
    block: dict[str, Any],
) -> None:
    definition = read_definition({"name": "x", "inputSchema": {"type": "object"}})
    content = result_of({"content": [block] * 1_000}, definition).content
    others = [part for part in content if not isinstance(part, Text)]
    assert len(others) == 100
    assert all(len(part.uri) + len(part.media_type or "") < 2_200 for part in others if isinstance(part, Resource))
    assert content[-1] == Text("[900 more images and resources are omitted]")


@pytest.mark.spec("MCP-2")
def test_an_image_is_of_the_kind_that_its_bytes_have() -> None:
    definition = read_definition({"name": "x", "inputSchema": {"type": "object"}})
    block = {"type": "image", "data": "R0lGODlhAQABAAAAACw=", "mimeType": "image/png"}
    (image,) = result_of({"content": [block]}, definition).content
    assert isinstance(image, Image)
    assert image.media_type == "image/gif"


@pytest.mark.spec("MCP-3")
@pytest.mark.parametrize(("said", "fault"), [("", "did not answer within 0.1 s"), ("x" * 100_001, "is too long")])
def test_a_prompt_that_does_not_come_or_is_too_long_fails_in_words(tmp_path: Path, said: str, fault: str) -> None:
    async def main() -> None:
        place = place_in(tmp_path, limits=ServerLimits(call=30.0 if said else 0.1))
        async with connected(place, raw("prompts", said)) as servers:
            with pytest.raises(ToolFailure, match=fault):
                await servers.servers["srv"].requests.prompt_parts("p", {})

    asyncio.run(main())


@pytest.mark.spec("MCP-4")
def test_a_prompt_holds_no_hidden_characters(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), raw("prompts", "Re\U000e0041view\u202e it\x1b[2J")) as servers:
            assert await servers.servers["srv"].requests.prompt_parts("p", {}) == (Text("Review it"),)

    asyncio.run(main())


@pytest.mark.spec("MCP-4")
def test_a_resource_in_a_prompt_holds_no_hidden_characters() -> None:
    block = {
        "type": "resource",
        "resource": {"uri": "note://a\u202e", "text": "Re\U000e0041view\x1b[2J", "mimeType": "x/y"},
    }
    assert message_content([{"role": "user", "content": block}]) == (
        Resource("note://a", text="Review", media_type="x/y"),
    )


@pytest.mark.spec("MCP-4")
def test_prompts_are_commands_with_plain_names_and_one_short_line() -> None:
    said: list[str] = []
    listed = [
        {"name": "a b\x1b[2J"},
        {"name": "ok", "description": "\x1b[31mred\nsecond " + "x" * 1000, "arguments": [{"name": "path"}]},
        {"name": "odd", "arguments": [{"name": "a b"}]},
    ]
    (made,) = prompts_of(listed, said.append)
    assert made["description"].startswith("red second xxx")
    assert len(made["description"]) < 300
    assert len(said) == 2


@pytest.mark.spec("MCP-2")
def test_a_server_whose_prompts_cannot_be_listed_has_its_tools(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), raw("refuses prompts")) as servers:
            assert (servers.servers["srv"].state.tools, servers.servers["srv"].prompts) == (2, ())

    asyncio.run(main())
