"""One run as a value: text in, text or a typed answer out, from async and from plain code."""

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel, Field

from callgate import Answer, Prompt, Session, run_sync, tool
from callgate.testing import ScriptedModel, call, fail, say, turn
from callgate.words.errors import ModelError, UsageError
from callgate.words.events import MessageAdded
from callgate.words.messages import Text


class Weather(BaseModel):
    city: str
    degrees: float = Field(ge=-100)


@dataclass
class Point:
    x: int
    y: int = 0


class Row(TypedDict):
    name: str
    tags: list[str]


@tool
def write(path: str) -> str:
    """Write a file."""
    return f"wrote {path}"


async def test_a_text_is_a_prompt_wherever_an_input_is_sent() -> None:
    async with Session(ScriptedModel(turn(say("Hello.")), turn(say("Again.")), turn(say("Third.")))) as session:
        events = await session.send("hi")
        assert [event.message.text for event in events if isinstance(event, MessageAdded)] == ["hi", "Hello."]
        session.post("more")
        assert (await session.run("still more")).text == "Third."
    assert [message.text for message in session.messages][2::2] == ["more", "still more"]


async def test_a_run_gives_the_last_text_of_the_model() -> None:
    model = ScriptedModel(turn(say("Looking."), call("look")), turn(say("All is well.")))

    @tool(effects="none")
    def look() -> str:
        """Look."""
        return "nothing"

    async with Session(model, [look]) as session:
        result = await session.run("look")
    assert (result.text, result.output, result.reason, result.ok) == ("All is well.", "All is well.", "done", True)


TYPED: list[tuple[Any, str, Any]] = [
    (Weather, '{"city": "Oslo", "degrees": 3}', Weather(city="Oslo", degrees=3)),
    (Weather, '```json\n{"city": "Oslo", "degrees": 3}\n```', Weather(city="Oslo", degrees=3)),
    (Weather, 'Here it is:\n```json\n{"city": "Oslo", "degrees": 3}\n```\nDone.', Weather(city="Oslo", degrees=3)),
    (Point, '{"x": 1}', Point(1, 0)),
    (Row, '{"name": "a", "tags": []}', {"name": "a", "tags": []}),
    (int, "42", 42),
    (bool, " true\n", True),
    (list[int], "[1, 2,]", [1, 2]),
    (dict[str, float], '{"a": 1.5}', {"a": 1.5}),
    (int | None, "null", None),
    (str, "plain", "plain"),
]


async def test_a_typed_answer_is_a_value_of_its_type() -> None:
    wrong: list[str] = []
    for kind, text, wanted in TYPED:
        async with Session(ScriptedModel(turn(say(text)))) as session:
            result = await session.run("go", output=kind)
        if result.output != wanted or not result.ok:
            wrong.append(f"{kind} from {text!r}: {result}")
    assert not wrong, "\n".join(wrong)


async def test_the_model_is_told_the_schema_with_the_prompt() -> None:
    model = ScriptedModel(turn(say('{"city": "Oslo", "degrees": 3}')))
    async with Session(model) as session:
        await session.run(Prompt((Text("Weather in Oslo?"),)), output=Weather)
    sent = model.requests[0].messages[0].text
    assert sent.startswith("Weather in Oslo?")
    assert '"degrees": {"minimum": -100, "type": "number"}' in sent


async def test_an_answer_that_does_not_fit_is_sent_back_once_with_its_faults() -> None:
    model = ScriptedModel(turn(say('{"city": 7, "degrees": -300}')), turn(say('{"city": "Oslo", "degrees": 3}')))
    async with Session(model) as session:
        result = await session.run("go", output=Weather)
    assert result.output == Weather(city="Oslo", degrees=3)
    sent_back = model.requests[1].messages[-1].text
    assert "$.city: got 7, expected a valid string" in sent_back
    assert "$.degrees: got -300" in sent_back


async def test_a_second_misfit_is_an_error_in_words_and_no_third_request() -> None:
    model = ScriptedModel(turn(say("It is warm.")), turn(say('{"city": "Oslo"}')))
    async with Session(model) as session:
        result = await session.run("go", output=Weather)
    assert (result.output, result.ok, result.reason) == (None, False, "done")
    assert result.error.startswith("the answer is not a valid Weather, even after one correction: $.degrees")
    assert len(model.requests) == 2


async def test_an_output_that_has_no_schema_is_refused_before_anything_is_sent() -> None:
    model = ScriptedModel(turn(say("x")))
    async with Session(model) as session:
        with pytest.raises(UsageError, match="output=Session has no JSON Schema"):
            await session.run("go", output=Session)
    assert model.requests == []


async def test_a_run_that_stops_at_a_question_names_it_and_its_answer_goes_on() -> None:
    model = ScriptedModel(turn(call("write", path="a")), turn(say("7")))
    async with Session(model, [write]) as session:
        waiting = await session.run("go", output=int)
        assert (waiting.reason, waiting.output, waiting.error) == ("question", None, "write waits for an answer")
        result = await session.run(Answer(waiting.questions[0].yes()), output=int)
    assert result.output == 7


async def test_a_run_that_failed_says_why() -> None:
    async with Session(ScriptedModel(turn(fail(ModelError("no such model", kind="bad_request"))))) as session:
        result = await session.run("go")
    assert (result.reason, result.output, result.ok) == ("model_error", None, False)
    assert "no such model" in result.error


def test_plain_code_runs_a_session_over_several_prompts() -> None:
    model = ScriptedModel(turn(say("one")), turn(call("write", path="a")), turn(say("2")))
    with Session(model, [write]) as session:
        assert session.run_sync("first").text == "one"
        waiting = session.run_sync("second", output=int)
        assert session.run_sync(Answer(waiting.questions[0].yes()), output=int).output == 2
    assert session.status == "closed"


def test_one_call_runs_a_session_of_its_own() -> None:
    model = ScriptedModel(turn(call("write", path="a")), turn(say("42")))
    assert run_sync(model, "go", [write], output=int, mode="bypass").output == 42


async def test_inside_a_running_loop_the_plain_door_is_refused_with_the_other_named() -> None:
    session = Session(ScriptedModel(turn(say("x"))))
    with pytest.raises(UsageError, match=r"run_sync cannot be used inside a running event loop: use await session.run"):
        session.run_sync("go")
    with pytest.raises(UsageError, match="with Session cannot be used inside a running event loop"), session:
        pass
    await session.aclose()
