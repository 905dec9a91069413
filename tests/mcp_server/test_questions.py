"""Questions of the gate at MCP clients: as a form, in both eras, or as a denial where a client shows none."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp_types import ElicitResult, InputRequiredResult, InputResponses

from callgate.mcp_server.questions import schema_of
from callgate.words.decisions import AskedField, AskedOption, Question
from callgate.words.events import QuestionAnswered, QuestionAsked
from tests.mcp_server.kit import ERAS, Person, bench, code_of, run, text_of

pytestmark = pytest.mark.spec("MCP-5")
era_of = pytest.mark.parametrize("era", ERAS)
TOUCH = {"command": "touch made"}


@era_of
def test_a_yes_runs_the_call_and_the_form_shows_all_of_it(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        person = Person(["yes"])
        async with bench(tmp_path) as made, made.client(era, person) as client:
            result = await client.call_tool("Bash", TOUCH)
        assert not result.is_error
        assert (made.work / "made").exists()
        assert "command: touch made" in person.asked[0]
        assert "Bash(touch" in person.asked[0], "it says which rule would allow it"
        answers = [each for each in made.store.read().events if isinstance(each, QuestionAnswered)]
        assert [(each.confirmation.outcome, each.confirmation.door) for each in answers] == [("yes", "mcp")]

    run(main)


@era_of
@pytest.mark.parametrize("answer", ["no", "decline", "cancel", {}, {"answer": "certainly"}], ids=str)
def test_all_but_an_explicit_yes_is_a_no(answer: Any, era: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made, made.client(era, Person([answer])) as client:
            result = await client.call_tool("Bash", TOUCH)
        assert (result.is_error, code_of(result)) == (True, "denied")
        assert not (made.work / "made").exists()

    run(main)


@era_of
def test_an_always_holds_for_the_session(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        person = Person([{"answer": "yes, and from now on in this session: exactly this command"}])
        async with bench(tmp_path) as made, made.client(era, person) as client:
            for _ in range(3):
                assert not (await client.call_tool("Bash", TOUCH)).is_error
        assert len(person.asked) == 1

    run(main)


@era_of
def test_a_client_without_forms_gets_a_denial_that_says_which_rule_would_allow_it(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made, made.client(era) as client:
            result = await client.call_tool("Bash", TOUCH)
        assert (result.is_error, code_of(result)) == (True, "denied")
        assert "not support elicitation" in text_of(result)
        assert "Bash(touch" in text_of(result)
        assert "callgate policy add" in text_of(result)

    run(main)


def test_a_rule_is_named_only_where_one_would_allow_the_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made, made.client("legacy") as client:
            made.write(".env", "KEY=1")
            ruled = text_of(await client.call_tool("Bash", TOUCH))
            never = text_of(await client.call_tool("Read", {"file_path": ".env"}))
        assert "--allow RULE" in ruled
        assert never.endswith("the user must approve every such call.")

    run(main)


@era_of
def test_a_question_with_fields_is_a_form_with_a_choice_and_own_words_for_each(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        person = Person([{"choice_1": "Blue", "words_1": "but dark"}])
        options = [{"label": "Blue", "description": "a colour"}, {"label": "Red", "description": "another"}]
        asked = {"questions": [{"header": "Colour", "question": "Which one?", "options": options}]}
        async with bench(tmp_path, tools=["AskUserQuestion"]) as made, made.client(era, person) as client:
            result = await client.call_tool("AskUserQuestion", asked)
        assert "Blue" in text_of(result)
        assert "but dark" in text_of(result)

    run(main)


def test_a_field_that_takes_options_alone_has_no_place_for_own_words() -> None:
    fields = (AskedField("Size", "Which?", (AskedOption("S"),), kind="option"), AskedField("Note", "Else?"))
    question = Question("c1", "ask", {}, "", by="tool", reason="", asked_at=0.0, asks=fields)
    assert [*schema_of(question)["properties"]] == ["choice_1", "words_2"]


def test_a_question_waits_in_no_ones_way_in_the_modern_era_and_its_answer_is_good_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made, made.client("auto", Person()) as client:
            first = await client.session.call_tool("Bash", TOUCH, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            other = await client.call_tool("Bash", {"command": "echo meanwhile"})
            assert text_of(other) == "meanwhile"
            yes: InputResponses = {"question": ElicitResult(action="accept", content={"answer": "yes"})}
            again: dict[str, Any] = {"input_responses": yes, "request_state": first.request_state}
            done = await client.session.call_tool("Bash", TOUCH, **again)
            assert not done.is_error
            with pytest.raises(MCPError, match="expired requestState"):
                await client.session.call_tool("Bash", TOUCH, **again)

    run(main)


def test_a_yes_to_one_call_is_none_to_another(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made, made.client("auto", Person()) as client:
            first = await client.session.call_tool("Bash", TOUCH, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            yes: InputResponses = {"question": ElicitResult(action="accept", content={"answer": "yes"})}
            other = await client.session.call_tool(
                "Bash",
                {"command": "touch other"},
                input_responses=yes,
                request_state=first.request_state,
                allow_input_required=True,
            )
            assert isinstance(other, InputRequiredResult), "it is asked about in its own right"
            assert not (made.work / "other").exists()
        asked = [each.question for each in made.store.read().events if isinstance(each, QuestionAsked)]
        assert len(asked) == 2

    run(main)


def test_what_a_model_wrote_cannot_speak_for_the_form(tmp_path: Path) -> None:
    async def main() -> None:
        person = Person(["no"])
        async with bench(tmp_path) as made, made.client("legacy", person) as client:
            await client.call_tool("Bash", {"command": "touch a\x1b[2J\u202e"})
        assert "\x1b" not in person.asked[0]
        assert "<U+001B>" in person.asked[0]

    run(main)


def test_a_call_that_is_cancelled_while_its_form_is_open_is_over(tmp_path: Path) -> None:
    async def main() -> None:
        scope = anyio.CancelScope()
        person = Person(["yes", "yes"], before=scope.cancel)
        async with bench(tmp_path) as made, made.client("legacy", person) as client:
            with scope:
                await client.call_tool("Bash", TOUCH)
            assert scope.cancelled_caught
            assert text_of(await client.call_tool("Bash", {"command": "echo next"})) == "next"
            assert not (made.work / "made").exists()

    run(main)


def test_a_form_that_stays_open_too_long_counts_as_no(tmp_path: Path) -> None:
    async def main() -> None:
        settings = {"questions": {"deadline": 0.01}}
        person = Person(never=True)
        async with bench(tmp_path, settings=settings) as made, made.client("legacy", person) as client:
            result = await client.call_tool("Bash", TOUCH)
        assert code_of(result) == "denied"
        assert "no answer" in text_of(result)

    run(main)
