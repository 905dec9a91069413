"""What a model is sent: the legal order, repairs, boundaries, snips, replacements."""

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest

from callgate.conversation.view import NO_RESULT, REMOVED, View
from callgate.words.messages import CallPart, Image, Message, Part, ResultPart, Text, Thinking
from tests.history import faults


def user(message_id: str, text: str = "go") -> Message:
    return Message(message_id, "user", (Text(text),))


def assistant(message_id: str, *call_ids: str, text: str = "well") -> Message:
    return Message(message_id, "assistant", (Text(text), *(CallPart(call_id, "Do", {}) for call_id in call_ids)))


def result(call_id: str, text: str = "done") -> ResultPart:
    return ResultPart(call_id, "Do", (Text(text),))


def results(message_id: str, *parts: str | Part) -> Message:
    return Message(message_id, "tool", tuple(result(part) if isinstance(part, str) else part for part in parts))


def view_of(*messages: Message) -> View:
    view = View()
    for message in messages:
        view.add(message)
    return view


def ids(messages: Sequence[Message]) -> list[str]:
    return [message.id for message in messages]


def answers(messages: Sequence[Message]) -> dict[str, str]:
    """What each call of a history was answered; ``?`` where nothing is known."""
    parts = [part for message in messages for part in message.parts if isinstance(part, ResultPart)]
    return {
        part.call_id: "?" if part.content == NO_RESULT else "".join(c.text for c in part.content if isinstance(c, Text))
        for part in parts
    }


def legal(view: View) -> list[Message]:
    history = view.history()
    assert faults(history) == []
    return history


HEALTHY = (
    user("u1"),
    assistant("a1", "x", "y"),
    results("r1", "x", "y"),
    user("u2"),
    assistant("a2"),
    user("u3"),
    assistant("a3", "z"),
    results("r3", "z"),
)


# ---- the legal order --------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-7")
@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([assistant("a1")], id="an assistant first"),
        pytest.param([results("r1", "x")], id="results first"),
        pytest.param([user("u1"), results("r1", "x")], id="results without calls"),
        pytest.param([user("u1"), assistant("a1", "x")], id="no results at the end"),
        pytest.param([user("u1"), assistant("a1", "x"), user("u2")], id="no results"),
        pytest.param([user("u1"), assistant("a1", "x"), user("u2"), results("r1", "x")], id="results later"),
        pytest.param([user("u1"), assistant("a1", "x", "y"), results("r1", "x")], id="too few results"),
        pytest.param([user("u1"), assistant("a1", "x"), results("r1", "x", "x")], id="a second result"),
        pytest.param([user("u1"), assistant("a1", "x", "y"), results("r1", "y", "x")], id="another order"),
        pytest.param([user("u1"), assistant("a1", "x"), results("r1", "x"), results("r2", "x")], id="results again"),
        pytest.param([user("u1"), assistant("a1", "x"), results("r1", "x", Text("!"))], id="more than results"),
        pytest.param([user("u1"), assistant("a1", "x"), results("r1")], id="an empty answer"),
        pytest.param([user("u1"), assistant("a1", "x", "x"), results("r1", "x", "x")], id="an id twice in a message"),
        pytest.param([*HEALTHY, assistant("a4", "x"), results("r4", "x")], id="an id again"),
        pytest.param([user("u1"), Message("a1", "assistant", ())], id="a message without parts"),
        pytest.param([Message("u1", "user", (result("x"),))], id="a result of a user"),
        pytest.param([Message("u1", "user", (CallPart("x", "Do", {}),)), results("r1", "x")], id="a call of a user"),
        pytest.param([user("u1"), assistant("a1", "x"), Message("u2", "user", (result("x"),))], id="results of a user"),
    ],
)
def test_an_illegal_order_is_found_and_repaired(messages: list[Message]) -> None:
    assert faults(messages)
    view = view_of(*messages)
    legal(view)
    assert view.messages == messages


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([], id="nothing"),
        pytest.param([user("u1")], id="a prompt"),
        pytest.param([user("u1"), user("u2"), assistant("a1"), assistant("a2")], id="in a row"),
        pytest.param(HEALTHY, id="calls and results"),
    ],
)
def test_a_legal_order_is_sent_as_the_very_objects_it_is(messages: Sequence[Message]) -> None:
    assert faults(messages) == []
    assert [id(message) for message in legal(view_of(*messages))] == [id(message) for message in messages]


# ---- repairs ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-7")
def test_a_call_without_a_result_is_answered_in_words_until_its_result_comes() -> None:
    view = view_of(user("u1"), assistant("a1", "x", "y"))
    before = legal(view)
    stand_in = before[-1].parts[0]
    assert isinstance(stand_in, ResultPart)
    assert stand_in.is_error
    assert "may have run" in str(stand_in.content)
    assert "check before repeating" in str(stand_in.content)
    view.add(results("r1", "x", "y"))
    assert legal(view)[-1] is view.messages[-1]
    assert answers(before) == {"x": "?", "y": "?"}


@pytest.mark.spec("TRS-7")
def test_a_result_that_never_comes_is_replaced_for_that_call_alone() -> None:
    history = legal(view_of(user("u1"), assistant("a1", "x", "y"), results("r1", "y"), user("u2")))
    assert answers(history) == {"x": "?", "y": "done"}
    assert ids(history) == ["u1", "a1", "r1", "u2"]


@pytest.mark.spec("TRS-7")
def test_a_late_result_is_moved_to_its_call() -> None:
    view = view_of(user("u1"), assistant("a1", "x"), user("u2"))
    assert answers(legal(view)) == {"x": "?"}
    view.add(results("r1", "x"))
    history = legal(view)
    assert ids(history) == ["u1", "a1", "r1", "u2"]
    assert history[2] is view.messages[3]


@pytest.mark.spec("TRS-7")
def test_results_in_several_messages_become_one_in_the_order_of_the_calls() -> None:
    view = view_of(user("u1"), assistant("a1", "x", "y", "z"), results("r1", "z"), results("r2", "x"))
    assert answers(legal(view)) == {"x": "done", "y": "?", "z": "done"}
    view.add(results("r3", "y"))
    history = legal(view)
    assert ids(history) == ["u1", "a1", "r2"]
    assert list(answers(history)) == ["x", "y", "z"]


@pytest.mark.spec("TRS-7")
def test_early_second_and_foreign_results_are_not_sent() -> None:
    early, second = result("x", "early"), result("x", "second")
    messages = (user("u1"), results("r0", early, "q"), assistant("a1", "x"), results("r1", "x", second, "q"))
    history = legal(view_of(*messages, results("r2", second)))
    assert ids(history) == ["u1", "a1", "r1"]
    assert answers(history) == {"x": "done"}


@pytest.mark.spec("TRS-7")
def test_an_id_used_again_is_renamed_with_its_result() -> None:
    view = view_of(user("u1"), assistant("a1", "x"), results("r1", "x"))
    for n in (2, 3):
        view.add(assistant(f"a{n}", "x"))
        view.add(results(f"r{n}", result("x", f"done {n}")))
    history = legal(view)
    assert answers(history) == {"x": "done", "x~2": "done 2", "x~3": "done 3"}
    assert [call.id for call in history[3].calls] == ["x~2"]
    assert history[3].text == "well"
    assert history[1] is view.messages[1]


@pytest.mark.spec("TRS-7")
def test_a_name_made_for_a_call_is_free_whatever_the_others_are_called() -> None:
    messages = (user("u1"), assistant("a1", "x~2", "x"), results("r1", "x~2", "x"), assistant("a2", "x", "x~3"))
    history = legal(view_of(*messages, results("r2", result("x", "2"), result("x~3", "3"))))
    assert answers(history) == {"x~2": "done", "x": "done", "x~3": "2", "x~3~2": "3"}


@pytest.mark.spec("TRS-7")
def test_a_result_belongs_to_the_nearest_open_call_and_inside_a_message_to_the_first() -> None:
    view = view_of(user("u1"), assistant("a1", "x"), assistant("a2", "x", "x"))
    view.add(results("r1", result("x", "one"), result("x", "two"), result("x", "three")))
    assert answers(legal(view)) == {"x": "three", "x~2": "one", "x~3": "two"}


@pytest.mark.spec("TRS-7")
def test_a_part_in_a_message_of_the_wrong_role_does_not_hide_the_rest() -> None:
    view = view_of(
        Message("u1", "user", (Text("go"), CallPart("q", "Do", {}))),
        assistant("a1", "x"),
        Message("u2", "user", (result("x"), Text("and now?"))),
    )
    history = legal(view)
    assert ids(history) == ["u1", "a1", "u2", "u2"]
    assert answers(history) == {"x": "done"}
    assert (history[2].role, history[3].parts) == ("tool", (Text("and now?"),))


@pytest.mark.parametrize(
    "first",
    [
        pytest.param((assistant("a1"),), id="an answer"),
        pytest.param((results("r0", "q"), assistant("a1")), id="a result and an answer"),
        pytest.param((Message("u1", "user", ()), assistant("a1")), id="an empty prompt"),
    ],
)
def test_a_history_that_lost_its_beginning_says_so(first: tuple[Message, ...]) -> None:
    assert legal(view_of(*first))[:] == [REMOVED, first[-1]]


def test_a_history_of_which_nothing_is_left_still_can_be_sent() -> None:
    view = view_of(user("u1"))
    view.snip(["u1"])
    assert legal(view)[:] == [REMOVED]
    view.add(user("u2"))
    assert ids(legal(view)) == ["u2"]


# ---- boundaries -------------------------------------------------------------------------------------------------


@pytest.mark.spec("CMP-1")
def test_after_a_boundary_the_summary_comes_first_then_the_kept_tail() -> None:
    view = view_of(*HEALTHY)
    summary = user("s1", "what happened")
    view.compact(summary, "a2")
    assert legal(view)[:] == [summary, *HEALTHY[4:]]
    assert view.messages == list(HEALTHY[4:])
    view.add(assistant("a4"))
    assert ids(legal(view)) == ["s1", "a2", "u3", "a3", "r3", "a4"]
    view.compact(user("s2"), "a3")
    assert ids(legal(view)) == ["s2", "a3", "r3", "a4"]


@pytest.mark.spec("CMP-1")
def test_nothing_is_kept_without_a_message_to_begin_with() -> None:
    view = view_of(*HEALTHY)
    view.compact(user("s0"), "u3")
    view.compact(user("s1"), None)
    assert view.messages == []
    assert ids(legal(view)) == ["s1"]


@pytest.mark.spec("CMP-1")
def test_where_the_first_kept_message_is_lost_the_others_stay() -> None:
    view = view_of(*HEALTHY)
    before = list(view.messages)
    view.compact(user("s1"), "lost")
    assert view.messages == before


@pytest.mark.spec("CMP-1")
def test_a_result_whose_call_is_behind_the_boundary_is_not_sent() -> None:
    view = view_of(*HEALTHY)
    view.compact(user("s1"), "r1")
    assert ids(legal(view)) == ["s1", "u2", "a2", "u3", "a3", "r3"]
    assert view.messages[0].id == "r1"


@pytest.mark.spec("CMP-1")
def test_snips_and_replacements_of_the_kept_tail_stay() -> None:
    view = view_of(*HEALTHY)
    view.snip(["u3"])
    view.replace("r3", "z", (Text("short"),))
    view.replace("r1", "x", (Text("gone"),))
    view.compact(user("s1"), "u2")
    view.replace("r3", "z", (Text("shorter"),))
    history = legal(view)
    assert ids(history) == ["s1", "u2", "a2", "a3", "r3"]
    assert answers(history) == {"z": "short"}
    assert list(view.replaced) == [("r3", "z")]


# ---- snips ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("CMP-1")
@pytest.mark.parametrize("half", ["a1", "r1"])
def test_half_of_a_pair_takes_the_other_along(half: str) -> None:
    view = view_of(*HEALTHY)
    view.snip([half])
    assert ids(legal(view)) == ["u1", "u2", "a2", "u3", "a3", "r3"]
    assert view.messages == list(HEALTHY)


@pytest.mark.spec("CMP-1")
def test_one_of_several_result_messages_takes_its_call_and_no_other() -> None:
    view = view_of(user("u1"), assistant("a1", "x", "y"), results("r1", "x"))
    view.add(assistant("a2", "z"))
    view.add(results("r2", "y", "z"))
    view.snip(["r1"])
    assert ids(legal(view)) == ["u1", "a2", "r2"]
    assert answers(legal(view)) == {"z": "done"}


def test_a_snip_of_an_unknown_message_does_nothing_also_later() -> None:
    view = view_of(*HEALTHY)
    before = view.history()
    view.snip(["u9"])
    view.add(user("u9"))
    assert legal(view)[:] == [*before, view.messages[-1]]


def test_the_names_of_calls_outlive_a_snip() -> None:
    view = view_of(*HEALTHY, assistant("a4", "x"), results("r4", "x"))
    view.snip(["a1"])
    assert list(answers(legal(view))) == ["z", "x~2"]


# ---- replacements -----------------------------------------------------------------------------------------------


@pytest.mark.spec("CMP-1")
def test_the_first_replacement_of_a_result_is_for_good() -> None:
    failed = ResultPart("x", "Do", (Text("very long"), Image("image/png", b"png")), is_error=True)
    view = view_of(user("u1"), assistant("a1", "x", "y"), results("r1", failed, "y"))
    view.replace("r1", "x", (Text("short"),))
    sent = legal(view)[-1]
    assert sent == Message("r1", "tool", (ResultPart("x", "Do", (Text("short"),), is_error=True), result("y")))
    view.replace("r1", "x", (Text("other"),))
    view.add(user("u2"))
    assert legal(view)[2] is sent


def test_a_replacement_of_an_unknown_result_changes_nothing() -> None:
    view = view_of(*HEALTHY)
    before = view.history()
    view.replace("r9", "x", (Text("short"),))
    view.replace("r1", "z", (Text("short"),))
    assert all(sent is said for sent, said in zip(legal(view), before, strict=True))


def test_a_replacement_means_the_first_of_two_results_with_one_id() -> None:
    view = view_of(user("u1"), assistant("a1", "x", "x"), results("r1", result("x", "one"), result("x", "two")))
    view.replace("r1", "x", (Text("short"),))
    assert answers(legal(view)) == {"x": "short", "x~2": "two"}


# ---- what was handed out, and what it costs ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda view: view.add(user("u9")), id="add"),
        pytest.param(lambda view: view.snip(["u2", "r3"]), id="snip"),
        pytest.param(lambda view: view.replace("r1", "x", (Text("short"),)), id="replace"),
        pytest.param(lambda view: view.compact(user("s1"), "u3"), id="compact"),
    ],
)
def test_a_history_that_was_handed_out_never_changes(change: Callable[[View], None]) -> None:
    view = view_of(*HEALTHY)
    before = view.history()
    change(view)
    assert legal(view)[:] != [*before]
    assert tuple(before) == HEALTHY


def test_a_message_keeps_its_thinking_when_its_calls_are_renamed() -> None:
    thinking = Thinking("hm", "signature")
    again = Message("a4", "assistant", (thinking, CallPart("x", "Do", {"n": 1}, '{"n":1}')), model="m")
    sent = legal(view_of(*HEALTHY, again, results("r4", "x")))[-2]
    assert sent == Message("a4", "assistant", (thinking, CallPart("x~2", "Do", {"n": 1}, '{"n":1}')), model="m")


def steps_taken(work: Callable[[], object]) -> int:
    """How many lines of the view were run; other code, such as a collector's finalizers, may run at any time."""
    count = 0

    def trace(frame: FrameType, _event: str, _arg: Any) -> Any:
        nonlocal count
        count += frame.f_code.co_filename.endswith("view.py")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    ("beginning", "again"),
    [
        pytest.param((assistant("a0", "q"), results("r0", "q")), "", id="healthy"),
        pytest.param((assistant("a0", "q"),), "", id="a result is missing"),
        pytest.param((), "same", id="ids are used again"),
    ],
)
def test_a_request_of_turn_1000_costs_what_an_early_one_did(beginning: tuple[Message, ...], again: str) -> None:
    view = view_of(user("u0"), *beginning)

    def turn(n: int) -> None:
        view.add(user(f"u{n}"))
        view.history()
        view.add(assistant(f"a{n}", again or f"x{n}", f"y{n}"))
        view.add(results(f"r{n}", again or f"x{n}", f"y{n}"))
        requests.append(view.history())

    requests: list[list[Message]] = []
    costs = [steps_taken(lambda n=n: turn(n)) for n in range(1, 1001)]
    assert set(costs[2:]) == {costs[2]}  # the second may be the first that needs a closer look
    assert faults(requests[-1]) == []
