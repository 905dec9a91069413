"""Questions of servers to a person: forms, addresses, and what is never asked."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from callgate.host.local import LocalHost
from callgate.mcp.server_questions import RunningCalls, ServerQuestions
from callgate.words.decisions import FieldAnswer
from tests.mcp.client_kit import Answering, connected, place_in, raw, use

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.spec("MCP-2")
def test_of_many_questions_at_once_the_first_ones_wait_and_the_others_are_declined(tmp_path: Path) -> None:
    class Slow:
        """A Person who answers when all questions have arrived."""

        def __init__(self) -> None:
            self.arrived = asyncio.Event()
            self.asked = 0

        async def ask(self, fields: Any, *, by: str, text: str, name: str) -> tuple[FieldAnswer, ...]:
            self.asked += 1
            await self.arrived.wait()
            return (FieldAnswer(text="x"),)

    async def main() -> None:
        person, calls = Slow(), RunningCalls(LocalHost(tmp_path).clock, 60.0)
        questions = ServerQuestions("srv", calls, person, lambda text: None)
        with calls.begun():
            asking = [asyncio.ensure_future(questions.elicit({"requestedSchema": CITY})) for _ in range(1_000)]
            await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            assert sum(each.done() for each in asking) == 990
            person.arrived.set()
            assert sum(action == "accept" for action, _ in await asyncio.gather(*asking)) == person.asked == 10

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
@pytest.mark.parametrize(
    ("asked", "answers", "got"),
    [
        ({"requestedSchema": CITY}, (FieldAnswer(text="Ulm"),), {"action": "accept", "content": {"city": "Ulm"}}),
        ({"requestedSchema": CITY}, None, {"action": "decline"}),
        (
            {
                "requestedSchema": {
                    "type": "object",
                    "properties": {
                        "n": {"type": "integer"},
                        "sure": {"type": "boolean"},
                        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["small", "large"]},
                    },
                }
            },
            (FieldAnswer(text="3"), FieldAnswer(("Yes",)), FieldAnswer(("large",))),
            {"action": "accept", "content": {"n": 3, "sure": True, "size": "l"}},
        ),
    ],
)
def test_a_question_of_a_server_goes_to_the_person(
    tmp_path: Path, asked: dict[str, object], answers: tuple[FieldAnswer, ...] | None, got: object
) -> None:
    async def main() -> None:
        person = Answering(answers)
        value = json.dumps({"message": "Which \x1b[31mone?", **asked})
        async with connected(place_in(tmp_path, person=person), raw("elicits", value)) as servers:
            result = await use(servers.servers["srv"], "add", a=1)
        assert json.loads(result.text) == got
        assert person.asked[0][:2] == ("srv", "Which one?")

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_a_form_is_asked_again_while_an_answer_does_not_keep_to_its_limits(tmp_path: Path) -> None:
    nights = {"type": "integer", "minimum": 1, "maximum": 10}
    colour = {"type": "string", "oneOf": [{"const": "r", "title": "Red"}], "default": "r"}
    form = {"type": "object", "properties": {"n": nights, "mail": {"type": "string", "format": "email"}, "c": colour}}

    def given(count: str, mail: str) -> tuple[FieldAnswer, ...]:
        return FieldAnswer(text=count), FieldAnswer(text=mail), FieldAnswer()

    async def main() -> None:
        person = Answering(given("99", "a@b.c"), given("9", "nomail"), given("9", "a@b.c"))
        value = json.dumps({"message": "Well?", "requestedSchema": form})
        async with connected(place_in(tmp_path, person=person), raw("elicits", value)) as servers:
            result = await use(servers.servers["srv"], "add", a=1)
        assert json.loads(result.text)["content"] == {"n": 9, "mail": "a@b.c", "c": "r"}
        first, second, third = [text for _, text, _ in person.asked]
        assert first == "Well?"
        assert second.startswith("$.n: ")
        assert third == "mail: email is wanted\nWell?"
        fields = person.asked[0][2]
        assert fields[0].question == "n (a whole number, 1 to 10)"
        assert (fields[2].default, fields[2].question) == ("Red", "c; Red unless said")

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_the_fields_of_a_form_take_answers_of_their_kind_alone(tmp_path: Path) -> None:
    kinds = {
        "text": {"type": "string", "format": "date"},
        "number": {"type": "number"},
        "integer": {"type": "integer"},
        "option": {"type": "string", "enum": ["s", "l"]},
        "sure": {"type": "boolean"},
        "any": {"type": "array", "items": {"enum": ["a", "b"]}},
    }

    async def main() -> None:
        person = Answering(None)
        value = json.dumps({"message": "Which?", "requestedSchema": {"type": "object", "properties": kinds}})
        async with connected(place_in(tmp_path, person=person), raw("elicits", value)) as servers:
            await use(servers.servers["srv"], "add", a=1)
        asked = [each.kind for each in person.asked[0][2]]
        assert asked == ["text", "number", "integer", "option", "option", "option"]

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_after_a_no_the_same_call_asks_nothing_more(tmp_path: Path) -> None:
    async def main() -> None:
        person = Answering(None)
        value = json.dumps({"message": "Well?", "requestedSchema": CITY})
        async with connected(place_in(tmp_path, person=person), raw("nags", value)) as servers:
            assert json.loads((await use(servers.servers["srv"], "add", a=1)).text) == ["decline"] * 3
        assert len(person.asked) == 1

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_question_is_withdrawn_when_its_server_dies(tmp_path: Path) -> None:
    class Slow:
        """A Person who does not answer. ``gone``: the question was taken back."""

        def __init__(self) -> None:
            self.gone = asyncio.Event()

        async def ask(self, fields: Any, *, by: str, text: str, name: str) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.gone.set()

    async def main() -> None:
        person = Slow()
        value = json.dumps({"message": "Well?", "requestedSchema": CITY})
        async with connected(place_in(tmp_path, person=person), raw("asks and dies", value)) as servers:
            result = await use(servers.servers["srv"], "add", a=1)
            assert "). It may have partly run." in result.text
            await person.gone.wait()

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
@pytest.mark.parametrize(
    "asked",
    [
        {"requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}}},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "title": "Your API key"}}}},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "object"}}}},
        {"message": "Paste your API key", "requestedSchema": CITY},
        {"message": "Your pass\u200bword?", "requestedSchema": CITY},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "title": "Pass\u00adphrase"}}}},
        {"message": "Your recovery phrase?", "requestedSchema": CITY},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "oneOf": [{"title": "x"}]}}}},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "oneOf": "x"}}}},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "enum": 7}}}},
        {"mode": "url", "elicitationId": "1", "url": "javascript:alert(1)"},
        {"mode": "url", "elicitationId": "1", "url": "file:///etc/passwd"},
        {"mode": "url", "elicitationId": "1", "url": "https://user:pw@x.example/"},
        {"mode": "url", "elicitationId": "1", "url": "https://x.example/\x1b[2J"},
        {"mode": "url", "elicitationId": "1", "url": f"https://x.example/{'a' * 5000}"},
    ],
)
def test_secrets_and_odd_addresses_are_never_asked_for(tmp_path: Path, asked: dict[str, object]) -> None:
    async def main() -> None:
        person = Answering()
        async with connected(
            place_in(tmp_path, person=person), raw("elicits", json.dumps({"message": "m", **asked}))
        ) as servers:
            result = await use(servers.servers["srv"], "add", a=1)
        assert json.loads(result.text) == {"action": "decline"}
        assert person.asked == []

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_an_address_is_shown_with_its_host(tmp_path: Path) -> None:
    async def main() -> None:
        person = Answering(())
        asked = {"mode": "url", "message": "Log in", "elicitationId": "1", "url": "https://login.example/x?y=1"}
        async with connected(place_in(tmp_path, person=person), raw("elicits", json.dumps(asked))) as servers:
            assert json.loads((await use(servers.servers["srv"], "add", a=1)).text) == {"action": "accept"}
        assert "https://login.example/x?y=1\n(on the host login.example)" in person.asked[0][1]

    asyncio.run(main())
