"""Transcripts of Claude Code become events that fold."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from callgate.conversation.ledger import Ledger
from callgate.conversation.view import NO_RESULT
from callgate.transcript.share.claude_import import Imported, read_claude
from callgate.words.events import MessageAdded, RunEnded
from callgate.words.messages import Image, Opaque, Resource, ResultPart, Text, Thinking, Usage
from callgate.words.turns import Compacted

pytestmark = pytest.mark.spec("TRS-12")

DATA = Path(__file__).parents[1] / "data" / "claude"


def sample(name: str) -> Imported:
    return read_claude((DATA / f"{name}.jsonl").read_bytes().split(b"\n"))


def read(*entries: dict[str, Any]) -> Imported:
    return read_claude(json.dumps(entry).encode() for entry in entries)


def user(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"role": "user", "content": content}, **more}


def model(uuid: str, parent: str | None, name: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "id": name, "model": "claude-x", "content": list(blocks), **more}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": arguments}


def answer(name: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def messages(imported: Imported) -> list[tuple[str, str]]:
    return [(event.message.role, event.message.id) for event in imported.events if isinstance(event, MessageAdded)]


def results(imported: Imported) -> dict[str, ResultPart]:
    said = [event.message for event in imported.events if isinstance(event, MessageAdded)]
    return {part.call_id: part for message in said for part in message.parts if isinstance(part, ResultPart)}


def text_of(part: ResultPart) -> str:
    return "".join(item.text for item in part.content if isinstance(item, Text))


def test_the_blocks_of_one_message_and_the_results_of_parallel_calls_come_together() -> None:
    imported = sample("parallel")
    assert messages(imported) == [("user", "u-1"), ("assistant", "a-1"), ("tool", "r-1"), ("assistant", "a-6")]
    said = Ledger(imported.events).messages
    assert said[1].parts[:2] == (
        Thinking("Two files. I can read both at once.", "c2lnbmVk"),
        Text("I look at both files."),
    )
    assert [part.id for part in said[1].calls] == ["toolu_1", "toolu_2", "toolu_3"]
    assert [part.call_id for part in said[2].parts if isinstance(part, ResultPart)] == ["toolu_1", "toolu_2", "toolu_3"]
    assert said[1].usage == Usage(12, 200, 40, 7)
    assert said[1].model == "claude-opus-4-5"
    assert text_of(results(imported)["toolu_1"]) == "1→four beds\n2→a pond"
    assert isinstance(results(imported)["toolu_2"].content[0], Image)
    assert results(imported)["toolu_3"].is_error


def test_an_answered_conversation_is_over() -> None:
    ledger = Ledger(sample("parallel").events)
    assert (ledger.running, ledger.open_turn, ledger.calls) == (False, None, {})


def test_title_and_workspace_are_found_and_other_entries_are_counted() -> None:
    imported = sample("parallel")
    assert (imported.title, imported.workspace, imported.skipped) == ("Count the beds", "/home/ada/garden", ())
    assert imported.left_out == 6


def test_the_newest_branch_is_the_conversation_and_what_was_left_is_counted() -> None:
    imported = sample("branches")
    assert messages(imported) == [("user", "u-1"), ("assistant", "a-1"), ("user", "u-3"), ("assistant", "a-4")]
    assert imported.left_out == 6
    assert imported.title == "Counting"


def test_a_compaction_becomes_a_boundary_after_what_it_summed_up() -> None:
    imported = sample("compacted")
    at = next(i for i, event in enumerate(imported.events) if isinstance(event, Compacted))
    boundary = imported.events[at]
    assert isinstance(boundary, Compacted)
    assert (boundary.trigger, boundary.kept) == ("imported", None)
    assert boundary.summary == "The user wanted beans planted; there were no seeds."
    assert (boundary.counted.messages, boundary.counted.turns, boundary.counted.usage.output) == (4, 2, 6)
    before = [event.message.id for event in imported.events[:at] if isinstance(event, MessageAdded)]
    assert before == ["u-1", "a-1", "r-1", "a-2"]
    assert imported.left_out == 1
    assert results(imported)["toolu_1"].is_error


def test_a_call_without_a_result_is_told_to_the_model_as_one() -> None:
    imported = sample("compacted")
    assert "toolu_2" not in results(imported)
    ledger = Ledger(imported.events)
    assert ledger.running
    assert text_of(cast(ResultPart, ledger.history()[-1].parts[0])) == NO_RESULT[0].text


def test_the_lines_of_agents_are_left_out_and_counted() -> None:
    imported = sample("agents")
    assert messages(imported) == [("user", "u-1"), ("assistant", "a-1"), ("tool", "r-1"), ("assistant", "a-2")]
    sides = (DATA / "agents.jsonl").read_bytes().count(b'"isSidechain":true')
    assert imported.left_out == sides > 0


def test_bad_lines_are_skipped_and_named_and_the_rest_is_read() -> None:
    imported = sample("damaged")
    assert imported.skipped == (
        "line 2: not JSON",
        "line 3: not JSON",
        "line 6: the same as line 5",
        "line 7: not an object",
        "line 11: not JSON",
    )
    assert [role for role, _ in messages(imported)] == ["user", "assistant", "tool", "assistant", "tool"]
    assert {name: text_of(part) for name, part in results(imported).items()} == {
        "toolu_1": "Sunday",
        "toolu_1~2": "Sunday \ufffd",
    }
    times = [event.at for event in imported.events if isinstance(event, MessageAdded)]
    assert len(set(times)) < len(times), "a line without a time takes that of the line before"


def test_lines_that_are_not_text_or_nested_too_deeply_are_said() -> None:
    deep = b'{"type":"x","data":' + b"[" * 200 + b"]" * 200 + b"}"
    hopeless = b"[" * 200_000
    imported = read_claude([b'{"type":"\xff"}', deep, hopeless, b"\xef\xbb\xbf" + b'{"type":"x"}', b" \r\n"])
    assert imported.skipped == ("line 1: not UTF-8", "line 2: nested too deeply", "line 3: nested too deeply")
    assert imported.left_out == 1


def test_nothing_gives_nothing() -> None:
    assert read_claude([]) == Imported((), "", "", 0, ())


def test_a_missing_parent_does_not_cost_the_history_before_it() -> None:
    imported = read(user("u", None, "hello"), model("a", "gone", "m", {"type": "text", "text": "hi"}))
    assert messages(imported) == [("user", "u"), ("assistant", "a")]


def test_parents_in_a_circle_end() -> None:
    imported = read(user("u", "a", "hello"), model("a", "u", "m", {"type": "text", "text": "hi"}))
    assert messages(imported) == [("user", "u"), ("assistant", "a")]


@pytest.mark.parametrize("first", ["v", "b", "w"])
def test_the_history_before_a_circle_of_parents_is_kept(first: str) -> None:
    said = (
        user("u", None, "hello"),
        model("a", "u", "m1", {"type": "text", "text": "hi"}),
        user("v", first, "and then"),
        model("b", "v", "m2", {"type": "text", "text": "this"}),
        user("w", "b", "and now"),
    )
    assert [name for _, name in messages(read(*said))] == ["u", "a", "v", "b", "w"]


def test_two_calls_of_one_id_keep_their_own_results() -> None:
    imported = read(
        user("u", None, "go"),
        model("a", "u", "m1", call("t", command="1")),
        model("b", "a", "m2", call("t", command="2")),
        user("s", "b", [answer("t", "second")]),
        user("r", "a", [answer("t", "first")]),
        user("v", "s", "and then"),
    )
    assert {name: text_of(part) for name, part in results(imported).items()} == {"t": "first", "t~2": "second"}


def test_a_result_that_answers_no_call_is_left_out() -> None:
    imported = read(user("u", None, "go"), user("r", "u", [answer("nobody", "what")]), user("v", "r", "on"))
    assert imported.left_out == 1
    assert messages(imported) == [("user", "u"), ("user", "v")]


def test_what_a_person_says_beside_a_result_is_a_message_of_its_own() -> None:
    imported = read(
        user("u", None, "go"),
        model("a", "u", "m", call("t")),
        user("r", "a", [answer("t", "done"), {"type": "text", "text": "stop here"}]),
    )
    assert messages(imported) == [("user", "u"), ("assistant", "a"), ("tool", "r"), ("user", "r~2")]


def test_a_cut_off_answer_and_an_error_of_the_program_are_not_whole_answers() -> None:
    imported = read(
        user("u", None, "go"),
        model("a", "u", "m", {"type": "text", "text": "half a"}, stop_reason="max_tokens"),
        {**model("e", "a", "n", {"type": "text", "text": "API Error"}), "isApiErrorMessage": True},
    )
    assert [event.reason for event in imported.events if isinstance(event, RunEnded)] == ["cut_off"]
    assert imported.left_out == 1


def test_parts_without_a_counterpart_survive_unread() -> None:
    hidden = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    paper = {
        "type": "document",
        "title": "a.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
    }
    broken = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "%%"}}
    imported = read(
        user("u", None, [paper, broken, "words"]), model("a", "u", "m", hidden, {"type": "brand_new", "x": 1})
    )
    said = Ledger(imported.events).messages
    assert said[0].parts == (
        Resource("a.pdf", None, b"%PDF", "application/pdf"),
        Opaque("anthropic", broken),
        Text("words"),
    )
    assert said[1].parts == (Opaque("anthropic", hidden), Opaque("anthropic", {"type": "brand_new", "x": 1}))


def test_arguments_that_are_no_object_and_numbers_json_cannot_hold_do_no_harm() -> None:
    lines = [
        b'{"type":"assistant","uuid":"a","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"B","input":[1]},'
        b'{"type":"tool_use","id":"s","name":"B","input":{"n":1e999,"m":NaN}},{"type":"tool_use"}]}}'
    ]
    imported = read_claude(lines)
    calls = Ledger(imported.events).messages[0].calls
    assert [(call.id, call.arguments, call.raw_arguments) for call in calls] == [
        ("t", {}, "[1]"),
        ("s", {"n": "1e999", "m": "NaN"}, None),
        ("a-2", {}, None),
    ]


def test_a_summary_without_a_boundary_follows_what_it_sums_up() -> None:
    imported = read(
        user("u", None, "go"),
        model("a", "u", "m", {"type": "text", "text": "gone"}),
        user("c", None, "so far", isCompactSummary=True),
        user("v", "c", "on"),
    )
    assert messages(imported) == [("user", "u"), ("assistant", "a"), ("user", "v")]
    assert [event.summary for event in imported.events if isinstance(event, Compacted)] == ["so far"]
