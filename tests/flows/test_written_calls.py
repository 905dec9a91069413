"""Calls that a model writes as text, and answers that repeat themselves without end."""

import asyncio
import json
from time import process_time
from typing import Any

import pytest

from callgate import Prompt, Session, Toolbox, tool
from callgate.conversation.intake import MAX_REPEATED_ARGUMENT_CHARS, MAX_REPEATED_CHARS, Intake
from callgate.conversation.record import MemoryJournal
from callgate.conversation.written_calls import accept_written_calls
from callgate.testing import ScriptedModel, call, say, think, turn
from callgate.words.endings import ENDINGS
from callgate.words.events import CallArrived, CallDecided, MessageAdded, Noted, QuestionAsked, RunEnded
from callgate.words.messages import CallPart, Message, Text
from callgate.words.model import Abilities, Request, RunOptions, ToolSpec
from tests.rows import rows

A = '{"name": "look", "arguments": {"path": "a.txt"}}'
FENCED = f"```json\n{A}\n```"
TAGGED = f"<tool_call>\n{A}\n</tool_call>"
KNOWN, NEVER = Abilities(written_calls="known"), Abilities(written_calls="never")


class Looks:
    """A session with two tools that note their calls."""

    def __init__(self, *scenes: Any, able: Abilities | None = None, **options: Any) -> None:
        self.done: list[str] = []

        @tool(effects="none")
        def look(path: str, limit: int = 5) -> str:
            """Look at a file."""
            self.done.append(f"{path} {limit}")
            return f"content of {path}"

        @tool(effects="mutating")
        def change(path: str) -> str:
            """Change a file."""
            self.done.append(f"changed {path}")
            return "changed"

        self.model = ScriptedModel(*scenes, abilities=able, chunk=100, otherwise=turn(say("The end.")))
        self.journal = MemoryJournal()
        self.session = Session(self.model, [look, change], journal=self.journal, **options)

    async def run(self, prompt: Prompt | str = "go") -> RunEnded:
        async with self.session as session:
            events = await session.send(prompt)
        self.asked = [event for event in events if isinstance(event, QuestionAsked)]
        ends = [event for event in events if isinstance(event, RunEnded)]
        return ends[-1] if ends else RunEnded(0, "paused")

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.journal.events if isinstance(event, kind)]


def answered(text: str, able: Abilities | None = None, prompt: str = "go") -> tuple[Looks, RunEnded]:
    looks = Looks(turn(say(text)), able=able)
    return looks, asyncio.run(looks.run(prompt))


WHOLE = [
    A,
    f"\n {A}\n",
    FENCED,
    f"```\n{A}\n```\n",
    f"~~~json\n{A}\n~~~",
    f"[{A}]",
    TAGGED,
    f"<tool_call>{A}</tool_call>",
    f"<think>I should look.</think>\n{TAGGED}",
    f"<function_call>{A}</function_call>",
    '<function=look>{"path": "a.txt"}</function>',
    "<tool_call>\n<function=look>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
    "<function=look><parameter=path>a.txt</parameter><parameter=limit>5</parameter></function>",
    f"<|python_tag|>{A}<|eom_id|>",
    f"[TOOL_CALLS] [{A}]",
    '[TOOL_CALLS]look[ARGS]{"path": "a.txt"}',
    '[TOOL_CALLS]look{"path": "a.txt"}',
    f"functools[{A}]",
    f"<|tool_call|>[{A}]<|/tool_call|>",
    '{"name": "look", "parameters": {"path": "a.txt"}}',
    '{"type": "function", "function": {"name": "look", "arguments": "{\\"path\\": \\"a.txt\\"}"}}',
    f"{A}<|im_end|>",
    f"```json\n{A}",
    f"{A}\n```",
    f"<tools>\n{A}\n</tools>",
    '<tools>\n  <function name="look" arguments=\'{"path": "a.txt"}\'/>\n</tools>',
    '<function name="look" arguments=\'{"path": "a.txt"}\'/>',
    '<tool_call><function name="look" arguments=\'{"path": "a.txt"}\'></function></tool_call>',
    "{{" + A[1:] + "}",
    "{" + A,
    f"```json\n{{{A}}}\n```",
    f"<tool_call>\n{{{A}}}\n</tool_call>",
    '{"tool": "look", "arguments": {"path": "a.txt"}}',
    '{"tool_name": "look", "parameters": {"path": "a.txt"}}',
    '{"function": "look", "args": {"path": "a.txt"}}',
    '{"name": "look", "input": {"path": "a.txt"}}',
    f'{{"tool_calls": [{A}]}}',
    f'{{"tool_calls": [{{"id": "1", "type": "function", "function": {A}}}]}}',
    f"```json\n[\n{A}\n]\n```",
    '```json\n{"name": "look", "arguments": {"path": "a.txt", "limit": "5"}}\n```',
]

NOT_CALLS = [
    f"The format is:\n{FENCED}\nUse it so.",
    f"Write {TAGGED} in one line.".replace("\n", ""),
    f"> <tool_call>{A}</tool_call>",
    f"Use `{A}` for that.",
    f"```python\n{A}\n```",
    f"{A} is a call.",
    '{"name": "look", "version": 2, "arguments": {"path": "a.txt"}}',
    '{"name": "look"}',
    '{"name": "look", "name": "change", "arguments": {"path": "a.txt"}}',
    '{"name": "look", "arguments": {"path": NaN}}',
    '{"title": "look", "arguments": {"path": "a.txt"}}',
    "The tools are named look and change.",
    "look at the file",
    "look at a.txt",
    "look closer.\nIt is there.",
    "I looked at <function name='look'>.",
    f"An example:\n```\n{TAGGED}\n```\nThat is all.",
    f"- {A}",
]

PROSE = [
    "The tools are named look and change.",
    "look at the file",
    "look at a.txt",
    "look closer.\nIt is there.",
    "I looked at <function name='look'>.",
    f"Use `{A}` for that.",
    f"- {A}",
    '{"name": "look"}',
    '{"name": "callgate", "version": "1.0", "scripts": {"args": "look"}}',
    '```json\n{"name": "demo", "input": "look"}\n```',
    '[{"title": "look", "arguments": {}}]',
    "```python\nprint('look')\n```",
    "```sh\nlook a.txt\n```",
    "The result is 3 (look)",
]

NOT_MADE = [
    ('{"name": "unlink", "arguments": {"path": "a.txt"}}', "no tool 'unlink'"),
    ('{"name": "Look", "arguments": {"path": "a.txt"}}', "no tool 'Look'"),
    ('{"name": "look", "arguments": {"folder": "a.txt"}}', "not valid"),
    ('{"name": "look", "arguments": {}}', "not valid"),
    (f"[{A}, {A.replace('look', 'unlink')}]", "no tool 'unlink'"),
    (f"<tool_call>{A}", "incomplete"),
    (f"<tool_call>{A[:-4]}</tool_call>", "incomplete"),
    (f"{TAGGED}\nI have called it.", "incomplete"),
    (f"{TAGGED}\n<tool_response>content</tool_response>", "incomplete"),
    (f"I will look:\n{FENCED}", "next to other text"),
    (f"I will look:\n{TAGGED}", "after other text"),
    ("<function=look>a.txt</function>", "incomplete"),
    (f"{A}\n```\n12 def look():\n```\n\nThe file is there.", "call of look is incomplete"),
    (f"{FENCED}\nThe file has one line.", "call of look is incomplete"),
    (f"I will look:\n{FENCED}\nThe file has one line.", "next to other text"),
    (A.replace('"', "'"), "call of look is incomplete"),
    (A.replace("}}", ",}}"), "call of look is incomplete"),
    (f"```json\n// read it\n{A}\n```", "call of look is incomplete"),
    (A.replace('"path"', "path"), "call of look is incomplete"),
    (A[:-1], "call of look is incomplete"),
    ('{"action": "look", "action_input": {"path": "a.txt"}}', "call of look is incomplete"),
    ('{"name": "look", "tool": "look", "arguments": {"path": "a.txt"}}', "call of look is incomplete"),
    ('look(path="a.txt")', "call of look is incomplete"),
    ("```python\nlook('a.txt')\n```", "call of look is incomplete"),
    ('`look("a.txt")`', "call of look is incomplete"),
    ("look", "call of look is incomplete"),
    ("look /work/a.txt", "call of look is incomplete"),
    ("`look a.txt`", "call of look is incomplete"),
    (" `look`\n", "call of look is incomplete"),
    ("{{" + A + "}\n{{" + A + "}}}\n```", "call of look is incomplete"),
    ('<tools><function name="look" arguments="a.txt"/></tools>', "incomplete"),
    ("<system-reminder>\nNothing was run.\n</system-reminder>", "invented result"),
    ("<tool_response>\na.txt\n</tool_response>", "invented result"),
    (f"{FENCED}\n<tool_response>\ncontent\n</tool_response>", "invented result"),
]


@pytest.mark.spec("PRV-16")
@rows("text", WHOLE)
@pytest.mark.parametrize("able", [None, KNOWN], ids=["first answer", "known"])
def test_a_whole_answer_that_is_a_call_is_made(able: Abilities | None, text: str) -> None:
    looks, ended = answered(text, able)
    assert ended.reason == "done"
    assert looks.done == ["a.txt 5"]
    (arrived,) = looks.of(CallArrived)
    assert arrived.from_text
    assert looks.of(CallDecided), "the gate judged it"
    assert any("writes calls as text" in note.text for note in looks.of(Noted))
    message = next(event.message for event in looks.of(MessageAdded) if event.message.role == "assistant")
    assert [type(part) for part in message.parts] == [CallPart]


@pytest.mark.spec("PRV-16")
@rows(
    "written, path",
    [
        (r"\d+\.txt", r"\d+\.txt"),
        (r"\\d", r"\d"),
        (r"\\d \d", r"\d \d"),
        (r"\[a\]\(b\)", r"\[a\]\(b\)"),
        (r"a\"b\w", r'a"b\w'),
        (r"a\u0041\w", r"aA\w"),
    ],
)
def test_a_backslash_that_begins_no_escape_sequence_is_a_backslash(written: str, path: str) -> None:
    looks, _ = answered(FENCED.replace("a.txt", written))
    assert looks.done == [f"{path} 5"]


LONG = [
    "\n" * 30_000,
    " " * 30_000,
    "\n\t" * 15_000 + "x",
    "`" * 30_000,
    "```json\n" * 6_000,
    '{"name": "look"' + " " * 30_000,
    '{"name":"look",' * 3_000,
    "{" * 30_000,
    "I will " * 6_000,
    "[TOOL_CALLS]" * 4_000,
    "<tools>" * 5_000,
    "<function=look>" * 3_000,
    "<think>" * 6_000,
    '{"x": "' + "y" * 60_000 + '"}',
]


@rows("text", LONG)
def test_a_long_answer_is_read_in_linear_time(text: str) -> None:
    request = Request("", (Message("u1", "user", (Text("Hello."),)),), (ToolSpec("look", "", {}),))
    before = process_time()
    accept_written_calls(text, request, Toolbox(), KNOWN, observed=True)
    assert process_time() - before < 5


@pytest.mark.spec("PRV-16")
@rows("text", [*NOT_CALLS])
@pytest.mark.parametrize("able", [None, KNOWN, NEVER], ids=["first answer", "known", "never"])
def test_a_call_in_other_text_is_an_answer(able: Abilities | None, text: str) -> None:
    looks, ended = answered(text, able)
    assert (ended.reason, looks.done, looks.of(CallArrived)) == ("done", [], [])


@pytest.mark.spec("PRV-16")
@rows("text", PROSE)
def test_prose_about_calls_is_not_sent_back(text: str) -> None:
    looks, ended = answered(text, KNOWN)
    assert (ended.reason, looks.done, len(looks.model.requests)) == ("done", [], 1)


@pytest.mark.spec("PRV-16")
@rows("text, why", NOT_MADE)
def test_a_call_that_is_never_made_ends_the_run_with_the_reason(text: str, why: str) -> None:
    looks = Looks(*[turn(say(text))] * 5)
    ended = asyncio.run(looks.run())
    assert (ended.reason, looks.done) == ("call_not_made", [])
    assert len(looks.model.requests) == 3, "the model was asked twice to repeat the call"
    assert why in ended.detail
    assert ENDINGS[ended.reason].exit_code == 1
    assert "tool call that was not made" in ended.sentence


@pytest.mark.spec("PRV-16")
@rows("text, why", NOT_MADE)
@pytest.mark.parametrize("then", ["a call", "a call as text", "an answer"])
def test_the_model_may_repeat_a_call_that_was_not_made(then: str, text: str, why: str) -> None:
    second = {"a call": call("look", path="a.txt"), "a call as text": say(FENCED), "an answer": say("It is 3.")}[then]
    looks = Looks(turn(say(text)), turn(second))
    ended = asyncio.run(looks.run())
    assert ended.reason == "done"
    assert looks.done == ([] if then == "an answer" else ["a.txt 5"])
    told = looks.model.requests[1].messages[-1].text
    assert why in told
    assert "Nothing was run" in told
    assert any("was not made" in note.text for note in looks.of(Noted))


ANNOUNCED = [
    "I will read the file first.",
    "Let's proceed to the next call.",
    "The file does not exist. I will search for it in the workspace.",
    "There was an error.\n\nLet me look at the other file:",
    "Now I'll run the tests…",
    "OK, I am going to look at b.txt",
]
CONCLUDED = [
    "The file has one line.",
    "It is done. Let me know if you need anything else.",
    "I will not change the file, because it is correct. It has one line.",
    "Let me explain: the file has one line.\n\nIt is the name.",
    "The function says what I will do.",
]


@pytest.mark.spec("PRV-16")
@rows("text", ANNOUNCED)
def test_a_model_that_writes_calls_is_asked_for_the_call_that_it_announces(text: str) -> None:
    looks = Looks(turn(say(FENCED)), turn(say(text)), turn(say(A.replace("a.txt", "b.txt"))))
    assert (asyncio.run(looks.run()).reason, looks.done) == ("done", ["a.txt 5", "b.txt 5"])
    assert "announces a call" in looks.model.requests[2].messages[-1].text
    looks = Looks(turn(call("look", path="a.txt")), turn(say(text)))
    assert (asyncio.run(looks.run()).reason, len(looks.model.requests)) == ("done", 2), "a model with calls of its API"


@pytest.mark.spec("PRV-16")
@rows("text", CONCLUDED)
def test_an_answer_that_announces_nothing_ends_the_run(text: str) -> None:
    looks = Looks(turn(say(FENCED)), turn(say(text)))
    assert (asyncio.run(looks.run()).reason, len(looks.model.requests)) == ("done", 2)


@pytest.mark.spec("PRV-16")
def test_the_model_receives_the_faults_of_a_call_and_the_names_of_the_tools() -> None:
    looks = Looks(turn(say(NOT_MADE[0][0])), turn(say(NOT_MADE[2][0])))
    asyncio.run(looks.run())
    assert "The tools are look, change." in looks.model.requests[1].messages[-1].text
    assert "folder" in looks.model.requests[2].messages[-1].text


@pytest.mark.spec("PRV-16")
@rows("text", WHOLE)
def test_a_model_with_calls_of_its_own_api_does_not_make_written_ones(text: str) -> None:
    looks, ended = answered(text, NEVER)
    assert (ended.reason, looks.done, len(looks.model.requests)) == ("call_not_made", [], 1)


@pytest.mark.spec("PRV-16")
def test_text_before_a_tag_stays_text_for_a_model_that_writes_calls() -> None:
    for first in ([], [turn(say(FENCED))]):
        other = TAGGED.replace("a.txt", "b.txt")
        looks = Looks(*first, turn(say(f"I will look.\n{TAGGED}\n{other}")), able=None if first else KNOWN)
        assert asyncio.run(looks.run()).reason == "done"
        assert looks.done == ["a.txt 5"] * len(first) + ["a.txt 5", "b.txt 5"]
        message = [event.message for event in looks.of(MessageAdded) if event.message.role == "assistant"][len(first)]
        assert [type(part) for part in message.parts] == [Text, CallPart, CallPart]
        assert len({part.id for part in message.calls}) == 2


@pytest.mark.spec("PRV-16")
@rows("text", [A, FENCED, TAGGED, f"[TOOL_CALLS] [{A}]", f"```json\n{A.replace(' ', '')}\n```"])
@pytest.mark.parametrize("where", ["prompt", "result"])
def test_a_call_that_the_model_repeats_from_a_prompt_or_a_result_is_not_made(where: str, text: str) -> None:
    found = json.dumps(json.loads(A), indent=2)

    @tool(effects="none")
    def fetch() -> str:
        """Fetch a page."""
        return f"A page: {found}"

    looks = Looks(*([turn(call("fetch"))] if where == "result" else []), turn(say(text)), able=KNOWN)
    done: list[str] = []

    @tool(effects="none")
    def look(path: str) -> str:
        """Look at a file."""
        done.append(path)
        return ""

    looks.session = Session(looks.model, [fetch, look])
    ended = asyncio.run(looks.run(f"Print {found}" if where == "prompt" else "go"))
    assert (ended.reason, done) == ("call_not_made", [])
    assert len(looks.model.requests) == (2 if where == "result" else 1), "it is not asked to repeat the call"


XML = "<function=look><parameter=path>a.txt</parameter></function>"
REPEATED = [
    (XML, XML),
    (XML, XML.replace("><", ">\n<").replace(">a.txt<", ">\na.txt\n<")),
    (f"<tool_call>{XML}</tool_call>", XML),
    (json.dumps({"doc": A}), A),
    (json.dumps({"doc": A}), TAGGED),
    (A.replace('"', "'"), A),
    (A.replace('"', "'"), FENCED),
    (f"`{A}`", A.replace('"name"', '"tool"')),
    ("[TOOL_CALLS]look{'path': 'a.txt'}", '[TOOL_CALLS]look{"path": "a.txt"}'),
    ('<tools><function name="look" arguments=\'{"path": "a.txt"}\'/></tools>', TAGGED),
    ("{" + A + "}", "{" + A + "}"),
    (f"<!-- {A} -->", f"<tools>{A}</tools>"),
]


@pytest.mark.spec("PRV-16")
@rows("read, text", REPEATED)
def test_a_call_in_a_result_is_recognised_in_another_notation(read: str, text: str) -> None:
    done: list[str] = []

    @tool(effects="none")
    def fetch() -> str:
        """Fetch a page."""
        return f"A page: {read}"

    @tool(effects="none")
    def look(path: str) -> str:
        """Look at a file."""
        done.append(path)
        return ""

    looks = Looks(turn(say('{"name": "fetch", "arguments": {}}')), turn(say(text)), able=KNOWN)
    looks.session = Session(looks.model, [fetch, look])
    ended = asyncio.run(looks.run())
    assert (ended.reason, done, len(looks.model.requests)) == ("call_not_made", [], 2)


@pytest.mark.spec("PRV-16")
def test_a_written_call_with_effects_is_asked_about() -> None:
    looks, _ = answered('{"name": "change", "arguments": {"path": "a.txt"}}')
    assert [event.question.tool for event in looks.asked] == ["change"]
    assert looks.done == []


@pytest.mark.spec("PRV-16")
def test_thoughts_and_structured_answers_are_not_read() -> None:
    looks = Looks(turn(think(A), say("Fine.")))
    assert (asyncio.run(looks.run()).reason, looks.done) == ("done", [])
    looks = Looks(turn(say(A)))
    prompt = Prompt("go", RunOptions(output={"type": "object"}))
    assert (asyncio.run(looks.run(prompt)).reason, looks.done) == ("done", [])


@pytest.mark.spec("PRV-16")
@rows("text", [f"I looked:\n{FENCED}", f"I looked:\n{FENCED}\nIt has one line.", f"It is 3.\n{FENCED}\n{FENCED}"])
def test_an_answer_that_reports_calls_that_were_made_ends_the_run(text: str) -> None:
    looks = Looks(turn(say(FENCED)), turn(say(text)))
    ended = asyncio.run(looks.run())
    assert (ended.reason, looks.done, len(looks.model.requests)) == ("done", ["a.txt 5"], 2)


@pytest.mark.spec("PRV-16")
def test_an_example_of_a_model_that_makes_calls_is_an_answer() -> None:
    looks = Looks(turn(call("look", path="b")), turn(say(f"An example:\n{FENCED}")))
    assert (asyncio.run(looks.run()).reason, looks.done) == ("done", ["b 5"])


# ---- repetition -----------------------------------------------------------------------------------------------------

ENDLESS = [
    "\n",
    " ",
    "\t\n",
    "ab",
    "The same line.\n",
    "I will read the file now. ",
    "- item\n- item two\n",
    "0",
    "ü",
    "def f():\n    return f()\n\n",
    "x" * 700 + "\n",
    "Sorry! Sorry? ",
]
FINITE = [
    "".join(f"line {n}\n" for n in range(3_000)),
    "The same line.\n" * (MAX_REPEATED_CHARS // 20),
    "\n" * 3_000 + "the end",
    json.dumps([{"number": n, "name": "same"} for n in range(2_000)]),
    ("x" * 2_500 + "\n") * 20,
]


@pytest.mark.spec("PRV-17")
@rows("phrase", ENDLESS)
@pytest.mark.parametrize("kind", ["text", "thinking", "arguments"])
@pytest.mark.parametrize("before", ["", "Here it is: "])
def test_an_answer_that_repeats_itself_is_stopped(kind: str, before: str, phrase: str) -> None:
    if kind == "arguments" and not any(map(str.isspace, phrase)):
        return  # data, such as a long key
    limit = MAX_REPEATED_ARGUMENT_CHARS if kind == "arguments" else MAX_REPEATED_CHARS
    text = before + phrase * (2 * limit // len(phrase))
    part = {"text": say, "thinking": think}.get(kind, lambda each: call("look", path=each))(text)
    looks = Looks(turn(part))
    ended = asyncio.run(looks.run())
    assert (ended.reason, ended.kind, looks.done) == ("model_error", "repetition", [])
    assert "repeats" in ended.detail
    written = sum(len(event.message.text) for event in looks.of(MessageAdded) if event.message.role == "assistant")
    assert written < 2 * MAX_REPEATED_CHARS


@pytest.mark.parametrize("kind", ["text", "thinking", "arguments"])
@pytest.mark.parametrize("parts", [1, 3])
def test_an_answer_over_the_limit_is_stopped_and_the_limit_is_named(
    kind: str, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults: dict[str, Any] = {**(Intake.__init__.__kwdefaults__ or {}), "max_chars": 50_000}
    monkeypatch.setattr(Intake.__init__, "__kwdefaults__", defaults)
    step: Any = {"text": say, "thinking": think}.get(kind, lambda each: call("look", path=each))
    text = "".join(f"line {n}\n" for n in range(60_000 // parts // 10))
    looks = Looks(turn(*[step(text) for _ in range(parts)]))
    ended = asyncio.run(looks.run())
    assert (ended.reason, ended.kind) == ("model_error", "oversized")
    assert ended.detail == "the answer was stopped, because it has more than 50,000 characters"
    written = sum(len(event.message.text) for event in looks.of(MessageAdded) if event.message.role == "assistant")
    assert written < 51_000


@pytest.mark.spec("PRV-17")
@rows("text", FINITE)
def test_a_long_answer_that_does_not_repeat_itself_is_complete(text: str) -> None:
    _, ended = answered(text)
    assert ended.reason == "done"
