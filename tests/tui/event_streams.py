"""Random events in any order, with few ids, so that they meet."""

from dataclasses import fields, replace
from typing import Any, get_args

from hypothesis import strategies as st

from callgate.words.calls import Result
from callgate.words.event_table import EVENTS
from callgate.words.events import CallSettled, Event, MessageAdded, QuestionAnswered, QuestionAsked, TextStreamed
from callgate.words.messages import CallPart, Message, Text, Thinking
from tests.formats.test_jsonable import nouns_of

CALLS, MESSAGES = ("c1", "c2", "c3"), ("m1", "m2", "m1.2")
TEXTS = ("One.\n\n", "- a\n", "- b\n\n", "```py\n", "x = 1\n", "| a |\n|---|\n", "\x1b[31m", "中文 ", "word ", "\n")


@st.composite
def events(draw: st.DrawFn) -> Event:
    event: Any = draw(st.sampled_from(list(EVENTS)).flatmap(nouns_of))
    named = {each.name for each in fields(event)}
    changes: dict[str, Any] = {"at": draw(st.floats(0, 100))}
    if "call_id" in named:
        changes["call_id"] = draw(st.sampled_from(CALLS))
    if "message_id" in named:
        changes["message_id"] = draw(st.sampled_from(MESSAGES))
    match event:
        case MessageAdded():
            parts = st.one_of(
                st.sampled_from(TEXTS).map(Text),
                st.sampled_from(TEXTS).map(Thinking),
                st.sampled_from(CALLS).map(lambda call: CallPart(call, "tool", {})),
            )
            role = draw(st.sampled_from(get_args(Message.__annotations__["role"])))
            message = Message(draw(st.sampled_from(MESSAGES)), role, tuple(draw(st.lists(parts, max_size=4))))
            changes["message"] = message
        case QuestionAsked(question=question):
            changes["question"] = replace(question, call_id=draw(st.sampled_from(CALLS)))
        case QuestionAnswered(confirmation=said):
            changes["confirmation"] = replace(said, call_id=draw(st.sampled_from(CALLS)))
        case TextStreamed():
            changes["text"] = draw(st.sampled_from(TEXTS))
        case CallSettled(result=result):
            assert isinstance(result, Result)
        case _:
            pass
    return replace(event, **changes)


streams = st.lists(events(), max_size=40)
