"""Bodies for the Gemini API."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from callgate.formats.jsonable import from_json, to_json
from callgate.providers.family import ModelFacts
from callgate.providers.gemini import Gemini
from callgate.words.messages import CallPart, Image, Message, Opaque, Resource, ResultPart, Text, Thinking
from callgate.words.model import Abilities, Request, RequestLimits, RequestOptions, ToolChoice, ToolSpec
from tests.providers.fixtures import folded, parsed, streamed

FACTS = ModelFacts(
    name="gemini-3.8-flash",
    family="gemini",
    output_tokens=65_536,
    abilities=Abilities(caches=True, structured=True, efforts=("low", "high")),
    efforts={"low": "low", "high": "high"},
    thinking="always",
)
OLD = replace(FACTS, name="gemini-2.5-flash", thinking="budget", efforts={"low": 1024, "high": 24_576})
PRO = replace(OLD, name="gemini-2.5-pro", quirks=frozenset({"no_off"}))
HELLO = Message("u1", "user", (Text("Hello"),))
READ = ToolSpec("Read", "Reads a file", {"type": "object", "properties": {"path": {"type": "string"}}})
NOW = ToolSpec("Now", "", {"type": "object", "properties": {}})


def sent(request: Request, facts: ModelFacts = FACTS) -> dict[str, Any]:
    return json.loads(Gemini().post(request, facts, "key")[0].body)


def notes(request: Request, facts: ModelFacts = FACTS) -> list[str]:
    return list(Gemini().post(request, facts, "key")[1])


def test_a_request_has_its_address_its_headers_and_a_body_without_spaces() -> None:
    request = Request("Be brief.", [HELLO], (READ, NOW))
    post, said = Gemini().post(request, FACTS, "AIza")
    assert said == []
    assert post.path == "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
    assert post.headers["x-goog-api-key"] == "AIza"
    assert "AIza" not in post.path
    assert json.loads(post.body) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "Read", "description": "Reads a file", "parametersJsonSchema": READ.parameters},
                    {"name": "Now"},
                ]
            }
        ],
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "generationConfig": {"maxOutputTokens": 65_536, "thinkingConfig": {"includeThoughts": True}},
    }
    assert b": " not in post.body
    assert post.body == Gemini().post(request, FACTS, "AIza")[0].body
    assert (
        Gemini()
        .post(request, replace(FACTS, name="tunedModels/a b"), None)[0]
        .path.startswith("/v1beta/tunedModels/a%20b:")
    )


@pytest.mark.spec("PRV-13")
@pytest.mark.parametrize("name", ["thinking_and_calls", "signed_text", "own_parts"])
def test_what_the_provider_sent_goes_back_as_it_came_after_a_trip_through_the_record(name: str) -> None:
    """Parts of the stream are those of the next request; texts that followed each other are one, thoughts without a
    signature are left out, and absent arguments are empty ones."""
    events, _ = parsed(Gemini().parser(), streamed("gemini", name))
    message = from_json(Message, json.loads(json.dumps(to_json(folded(events)))))
    content = sent(Request("", [HELLO, message]))["contents"][1]["parts"]
    expected: list[dict[str, Any]] = []
    for data in (json.loads(event.data) for event in streamed("gemini", name)):
        for part in data["candidates"][0].get("content", {}).get("parts", ()):
            if part == {"text": ""} or part.get("thought"):
                continue
            if "functionCall" in part:
                part["functionCall"].setdefault("args", {})
            if part.keys() == {"text"} and expected and expected[-1].keys() == {"text"}:
                expected[-1]["text"] += part["text"]
            else:
                expected.append(part)
    assert content == expected


def test_signed_thoughts_go_back_and_those_of_other_families_do_not() -> None:
    parts = (Thinking("Hm", "sig"), Text("x"))
    own = sent(Request("", [HELLO, Message("a", "assistant", parts, "gemini/gemini-3.8-flash")]))["contents"][1]
    assert own["parts"] == [{"text": "Hm", "thought": True, "thoughtSignature": "sig"}, {"text": "x"}]
    foreign = (Thinking("Hm", "sig"), Opaque("anthropic", {"type": "x"}), Text("x"))
    other = sent(Request("", [HELLO, Message("a", "assistant", foreign, "anthropic/claude")]))["contents"][1]
    assert other["parts"] == [{"text": "x"}]


def test_calls_of_other_models_get_a_word_for_a_signature_where_one_is_asked_for() -> None:
    calls = (CallPart("1", "Read", {"path": "a"}), CallPart("2", "Read", {"path": "b"}))
    request = Request("", [HELLO, Message("a", "assistant", calls, "anthropic/claude")])
    first, second = sent(request)["contents"][1]["parts"]
    assert first["thoughtSignature"] == "skip_thought_signature_validator"
    assert "thoughtSignature" not in second
    assert all("thoughtSignature" not in part for part in sent(request, OLD)["contents"][1]["parts"])


def test_results_have_the_name_and_the_id_of_their_call_and_stand_apart_from_words() -> None:
    kept = Opaque("gemini", {"functionCall": {"id": "fc_1"}, "thoughtSignature": "s"})
    calls = (CallPart("fc_1", "use_tool", {}, '{"tool": "Read"}', kept), CallPart("c2", "Read", {"path": "b"}))
    results = (
        ResultPart("fc_1", "Read", (Text("one"), Image("image/png", b"png"))),
        ResultPart("c2", "Read", (Text("No such file"),), is_error=True),
    )
    messages = [
        HELLO,
        Message("a", "assistant", calls),
        Message("t", "tool", results),
        Message("u", "user", (Text("?"),)),
    ]
    _, asked, answered, words = sent(Request("", messages))["contents"]
    assert asked["parts"][0] == {
        "functionCall": {"id": "fc_1", "name": "use_tool", "args": {"tool": "Read"}},
        "thoughtSignature": "s",
    }
    png = {"inlineData": {"mimeType": "image/png", "data": "cG5n"}}
    assert answered == {
        "role": "user",
        "parts": [
            {
                "functionResponse": {
                    "id": "fc_1",
                    "name": "use_tool",
                    "response": {"output": "one"},
                    "parts": [png],
                }
            },
            {"functionResponse": {"name": "Read", "response": {"error": "No such file"}}},
        ],
    }
    assert words == {"role": "user", "parts": [{"text": "?"}]}
    old = sent(Request("", messages), OLD)["contents"][2]["parts"]
    assert "parts" not in old[0]["functionResponse"]
    assert old[2] == png


def test_names_that_the_api_refuses_are_replaced_alike_in_calls_and_results() -> None:
    names = ["1st", "no such tool!", "x" * 200, ""]
    calls = Message("a", "assistant", tuple(CallPart(str(at), name, {}) for at, name in enumerate(names)))
    results = Message("t", "tool", tuple(ResultPart(str(at), name, ()) for at, name in enumerate(names)))
    _, asked, answered = sent(Request("", [HELLO, calls, results]))["contents"]
    found = [part["functionCall"]["name"] for part in asked["parts"]]
    assert found == [part["functionResponse"]["name"] for part in answered["parts"]]
    assert len(set(found)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z_][\w-]{0,127}", name) for name in found)


def test_images_resources_and_empty_texts() -> None:
    pdf = Resource("a.pdf", data=b"%PDF", media_type="application/pdf")
    parts = (Text(""), Image("image/gif", b"g"), Image("image/webp", b"w"), pdf, Resource("x", "text"))
    assert sent(Request("", [Message("u", "user", parts)]))["contents"][0]["parts"] == [
        {"text": "[an image of type image/gif, 1 bytes, which this model does not support]"},
        {"inlineData": {"mimeType": "image/webp", "data": "dw=="}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}},
        {"text": "[x]\ntext"},
    ]


def test_neighbours_of_one_role_are_one_content_and_the_first_is_the_persons() -> None:
    messages = [Message("a", "assistant", (Text("Summary"),)), HELLO, Message("u2", "user", (Text("More"),))]
    contents = sent(Request("", messages))["contents"]
    assert [(each["role"], len(each["parts"])) for each in contents] == [("user", 1), ("model", 1), ("user", 2)]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (ToolChoice("auto"), None),
        (ToolChoice("required"), {"mode": "ANY"}),
        (ToolChoice("named", "Read"), {"mode": "ANY", "allowedFunctionNames": ["Read"]}),
        (ToolChoice("none"), {"mode": "NONE"}),
    ],
)
def test_tool_choices(choice: ToolChoice, expected: dict[str, Any] | None) -> None:
    config = sent(Request("", [HELLO], (READ,), choice)).get("toolConfig")
    assert config == (None if expected is None else {"functionCallingConfig": expected})
    assert "toolConfig" not in sent(Request("", [HELLO], (), choice))


def test_a_choice_that_the_model_cannot_be_held_to_is_said() -> None:
    loose = replace(FACTS, abilities=Abilities(force=frozenset({"auto", "required"})))
    request = Request("", [HELLO], (READ,), ToolChoice("named", "Read"))
    assert sent(request, loose)["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
    assert notes(request, loose)


@pytest.mark.parametrize(
    ("facts", "options", "expected", "noted"),
    [
        (FACTS, RequestOptions(), {"includeThoughts": True}, False),
        (FACTS, RequestOptions(effort="high"), {"includeThoughts": True, "thinkingLevel": "high"}, False),
        (FACTS, RequestOptions(effort="max"), {"includeThoughts": True, "thinkingLevel": "high"}, True),
        (FACTS, RequestOptions(thinking="off"), {"includeThoughts": True}, True),
        (FACTS, RequestOptions(thinking="adaptive"), {"includeThoughts": True}, False),
        (FACTS, RequestOptions(thinking=5000), {"includeThoughts": True}, True),
        (OLD, RequestOptions(effort="high"), {"includeThoughts": True, "thinkingBudget": 24_576}, False),
        (OLD, RequestOptions(thinking=5000), {"includeThoughts": True, "thinkingBudget": 5000}, False),
        (OLD, RequestOptions(thinking="adaptive"), {"includeThoughts": True, "thinkingBudget": -1}, False),
        (OLD, RequestOptions(thinking="off"), {"thinkingBudget": 0}, False),
        (PRO, RequestOptions(thinking="off"), {"includeThoughts": True, "thinkingBudget": 128}, True),
        (replace(FACTS, thinking="none", efforts=None), RequestOptions(thinking=5000), None, True),
        (replace(FACTS, thinking="none", efforts=None), RequestOptions(thinking="off"), None, False),
    ],
)
def test_thinking(facts: ModelFacts, options: RequestOptions, expected: dict[str, Any] | None, noted: bool) -> None:
    request = Request("", [HELLO], options=options)
    assert sent(request, facts)["generationConfig"].get("thinkingConfig") == expected
    assert bool(notes(request, facts)) is noted


def test_a_budget_obeys_its_limit() -> None:
    request = Request(
        "", [HELLO], limits=RequestLimits(100, max_thinking_tokens=50), options=RequestOptions(thinking=5000)
    )
    config = sent(request, OLD)["generationConfig"]
    assert config["maxOutputTokens"] == 100
    assert config["thinkingConfig"]["thinkingBudget"] == 50


@pytest.mark.spec("PRV-8")
def test_options_of_ones_own_go_out_as_they_are() -> None:
    options = RequestOptions(
        temperature=0.5,
        stop=tuple("abcdef"),
        service_tier="flex",
        body={"generationConfig": {"topK": 3}, "tools": [{"googleSearch": {}}], "labels": {"a": "b"}},
        headers={"X-Mine": "2"},
    )
    post, said = Gemini().post(Request("", [HELLO], (READ,), options=options), FACTS, None)
    body = json.loads(post.body)
    assert body["generationConfig"]["temperature"] == 0.5
    assert body["generationConfig"]["stopSequences"] == ["a", "b", "c", "d", "e"]
    assert body["generationConfig"]["topK"] == 3
    assert body["serviceTier"] == "flex"
    assert body["tools"][1] == {"googleSearch": {}}
    assert body["labels"] == {"a": "b"}
    assert post.headers["x-mine"] == "2"
    assert said == ["gemini-3.8-flash takes 5 stop sequences: the others are omitted."]
    quiet = replace(FACTS, quirks=frozenset({"no_sampling"}))
    assert "temperature" not in sent(Request("", [HELLO], options=options), quiet)["generationConfig"]


def test_an_output_schema_goes_as_json_schema_but_not_beside_the_tools_of_an_old_model() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    config = sent(Request("", [HELLO], output=schema))["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == schema
    beside = Request("", [HELLO], (READ,), output=schema)
    assert "responseJsonSchema" in sent(beside)["generationConfig"]
    assert "responseJsonSchema" not in sent(beside, OLD)["generationConfig"]
    assert notes(beside, OLD) == ["gemini-2.5-flash does not support a JSON Schema while it has tools: omitted."]


def test_schemas_of_tools_have_nothing_beside_a_reference_and_no_const() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "kind": {"const": "a"},
            "place": {"$ref": "#/$defs/Place", "description": "Where"},
            "many": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
            "const": {"type": "string"},
        },
        "additionalProperties": False,
        "$defs": {"Place": {"anyOf": [{"const": 3}, {"type": "null"}]}},
    }
    (tool,) = sent(Request("", [HELLO], (ToolSpec("A", "", schema),)))["tools"][0]["functionDeclarations"]
    assert tool["parametersJsonSchema"] == {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a"]},
            "place": {"anyOf": [{"$ref": "#/$defs/Place"}], "description": "Where"},
            "many": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
            "const": {"type": "string"},
        },
        "additionalProperties": False,
        "$defs": {"Place": {"anyOf": [{"enum": [3]}, {"type": "null"}]}},
    }
