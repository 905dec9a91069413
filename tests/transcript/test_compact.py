"""Where a kept tail begins, and old results in short."""

import pytest

from callgate.conversation.view import View
from callgate.transcript.compact import kept_from, trimmed
from callgate.words.messages import CallPart, Content, Image, Message, Resource, ResultPart, Text
from callgate.words.turns import ResultReplaced
from tests.history import faults


def user(message_id: str) -> Message:
    return Message(message_id, "user", (Text("go"),))


def assistant(message_id: str, *call_ids: str) -> Message:
    return Message(message_id, "assistant", (Text("well"), *(CallPart(call_id, "Do", {}) for call_id in call_ids)))


def results(message_id: str, **contents: str | tuple[Content, ...]) -> Message:
    parts = (
        ResultPart(call_id, "Do", (Text(content),) if isinstance(content, str) else content)
        for call_id, content in contents.items()
    )
    return Message(message_id, "tool", tuple(parts))


TALK = (
    user("u1"),
    assistant("a1", "x"),
    results("r1", x="done"),
    assistant("a2", "y"),
    results("r2", y="done"),
    assistant("a3"),
)


# ---- where a kept tail begins -----------------------------------------------------------------------------------


@pytest.mark.spec("CMP-1")
@pytest.mark.parametrize(
    ("keep", "kept"),
    [(0, None), (-1, None), (1, "a3"), (2, "a2"), (3, "a2"), (4, "a1"), (5, "a1"), (6, "u1"), (7, "u1")],
)
def test_a_tail_never_begins_with_a_result(keep: int, kept: str | None) -> None:
    assert kept_from(TALK, keep) == kept


@pytest.mark.spec("CMP-1")
def test_a_tail_holds_the_calls_of_late_results() -> None:
    late = (user("u1"), assistant("a1", "x", "y"), results("r1", x="1"), user("u2"), results("r2", y="2"), user("u3"))
    assert [kept_from(late, keep) for keep in range(1, 7)] == ["u3", "a1", "a1", "a1", "a1", "u1"]


@pytest.mark.spec("CMP-1")
def test_a_result_without_a_call_holds_nothing_back_but_begins_no_tail() -> None:
    stray = (user("u1"), user("u2"), results("r1", q="?"), user("u3"))
    assert [kept_from(stray, keep) for keep in range(1, 5)] == ["u3", "u2", "u2", "u1"]
    assert kept_from([results("r1", q="?")], 1) is None
    assert kept_from([], 1) is None


@pytest.mark.spec("CMP-1")
def test_a_result_belongs_to_the_nearest_call_of_its_id() -> None:
    again = (user("u1"), assistant("a1", "x"), user("u2"), assistant("a2", "x"), results("r1", x="1"))
    assert kept_from(again, 1) == "a2"


# ---- old results in short ---------------------------------------------------------------------------------------

LONG = "".join(f"line {n}\n" for n in range(1000))


def only(found: list[ResultReplaced]) -> str:
    (event,) = found
    (text,) = event.content
    assert isinstance(text, Text)
    return text.text


@pytest.mark.spec("CMP-1")
def test_a_long_old_result_becomes_its_head_and_tail_with_a_note() -> None:
    messages = (user("u1"), assistant("a1", "x", "y"), results("r1", x=LONG, y="short"), user("u2"))
    found = trimmed(messages, at=5.0, over=300, keep_last=1)
    assert [(event.at, event.message_id, event.call_id) for event in found] == [(5.0, "r1", "x")]
    text = only(found)
    assert len(text) <= 300
    head, note, tail = text.partition("\n… 8,649 of 8,890 characters of this old result left out …\n")
    assert note
    assert (len(head) + len(tail)) == 8890 - 8649
    assert LONG.startswith(head)
    assert LONG.endswith(tail)
    assert len(head) > len(tail) > 0
    assert trimmed(messages, at=5.0, over=300, keep_last=1) == found


@pytest.mark.spec("CMP-1")
@pytest.mark.parametrize(("keep_last", "expected"), [(0, ["r1", "r2"]), (1, ["r1"]), (2, ["r1"]), (3, []), (9, [])])
def test_the_last_messages_are_left_alone(keep_last: int, expected: list[str]) -> None:
    messages = (results("r1", x=LONG), user("u2"), results("r2", y=LONG))
    found = trimmed(messages, at=5.0, over=100, keep_last=keep_last)
    assert [event.message_id for event in found] == expected


@pytest.mark.spec("CMP-1")
@pytest.mark.parametrize("over", [0, 1, 60, 100, 5000, len(LONG) - 1])
def test_what_was_trimmed_is_not_trimmed_again(over: int) -> None:
    view = View()
    for message in (user("u1"), assistant("a1", "x"), results("r1", x=LONG), user("u2")):
        view.add(message)
    (event,) = trimmed(view.messages, at=5.0, over=over, keep_last=0, done=view.replaced)
    view.replace(event.message_id, event.call_id, event.content)
    assert len(only([event])) < len(LONG)
    assert faults(view.history()) == []
    for again in (0, over // 2, over):
        assert trimmed(view.history(), at=6.0, over=again, keep_last=0) == []
        assert trimmed(view.messages, at=6.0, over=again, keep_last=0, done=view.replaced) == []


@pytest.mark.parametrize(
    ("text", "over"),
    [
        pytest.param("x" * 100, 100, id="as long as allowed"),
        pytest.param("", 0, id="empty"),
        pytest.param("x" * 50, 10, id="shorter than a note"),
    ],
)
def test_a_result_that_would_not_get_shorter_is_left_alone(text: str, over: int) -> None:
    assert trimmed([results("r1", x=text)], at=5.0, over=over, keep_last=0) == []


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param("8,649 of 8,890", id="of another result"),
        pytest.param(", of ,", id="no numbers"),
        pytest.param(f"{'9' * 5000} of 1", id="too many digits"),
    ],
)
def test_a_result_that_only_quotes_a_note_is_trimmed(numbers: str) -> None:
    quoting = f"{LONG}\n… {numbers} characters of this old result left out …\n{LONG}"
    assert len(trimmed([results("r1", x=quoting)], at=5.0, over=300, keep_last=0)) == 1


def test_pictures_and_addresses_stay_and_text_is_counted_together() -> None:
    image = Image("image/png", b"png")
    content = (Text("a" * 80), image, Resource("file:///x", text="b" * 80, media_type="text/plain"))
    (event,) = trimmed([results("r1", x=content)], at=5.0, over=120, keep_last=0)
    cut, *rest = event.content
    assert isinstance(cut, Text)
    assert cut.text.startswith("aaa")
    assert cut.text.endswith("bbb")
    assert rest == [image, Resource("file:///x", media_type="text/plain")]


def test_only_the_first_of_two_results_with_one_id_can_be_replaced() -> None:
    twice = Message("r1", "tool", (ResultPart("x", "Do", (Text("short"),)), ResultPart("x", "Do", (Text(LONG),))))
    assert trimmed([twice], at=5.0, over=100, keep_last=0) == []
