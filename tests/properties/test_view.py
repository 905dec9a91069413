"""What a model is sent is legal whatever was said, and what a slow and simple reading of the rules says it is."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from callgate.conversation.view import NO_RESULT, REMOVED, View
from callgate.transcript.compact import kept_from, trimmed
from callgate.words.messages import CallPart, Content, Message, Part, ResultPart, Role, Text
from tests.history import faults

# ---- the rules, read slowly -------------------------------------------------------------------------------------


@dataclass
class Said:
    """All that decides what is sent."""

    summary: Message | None = None
    messages: list[Message] = field(default_factory=list)
    snipped: set[str] = field(default_factory=set)
    replaced: dict[tuple[str, str], tuple[Content, ...]] = field(default_factory=dict)

    def compact(self, summary: Message, kept: str | None) -> None:
        lost = len(self.messages) if kept is None else 0  # of a tail whose first message is lost the rest is kept
        at = next((at for at, message in enumerate(self.messages) if message.id == kept), lost)
        self.summary, self.messages = summary, self.messages[at:]

    def snip(self, message_ids: Sequence[str]) -> None:
        self.snipped |= {message.id for message in self.messages} & set(message_ids)

    def replace(self, message_id: str, call_id: str, content: tuple[Content, ...]) -> None:
        if any(message.id == message_id for message in self.messages):
            self.replaced.setdefault((message_id, call_id), content)


Place = tuple[int, int]
"""Of a part: which message, which of its parts."""


def pairs(messages: Sequence[Message]) -> dict[Place, Place]:
    """Call → its result: for each result the nearest message with an open call of its id, in it the first of those."""
    found: dict[Place, Place] = {}
    for at, message in enumerate(messages):
        for n, part in enumerate(message.parts):
            if not isinstance(part, ResultPart):
                continue
            for back in range(at, -1, -1):
                calls = [(back, k) for k, call in calls_of(messages[back]) if call.id == part.call_id]
                free = [call for call in calls if call not in found]
                if free:
                    found[free[0]] = (at, n)
                    break
    return found


def calls_of(message: Message) -> list[tuple[int, CallPart]]:
    if message.role != "assistant":
        return []
    return [(n, part) for n, part in enumerate(message.parts) if isinstance(part, CallPart)]


def names_of(messages: Sequence[Message]) -> dict[Place, str]:
    names: dict[Place, str] = {}
    for at, message in enumerate(messages):
        for n, call in calls_of(message):
            name, count = call.id, 1
            while name in names.values():
                count += 1
                name = f"{call.id}~{count}"
            names[at, n] = name
    return names


def content_of(said: Said, message: Message, n: int) -> tuple[Content, ...]:
    part = message.parts[n]
    assert isinstance(part, ResultPart)
    same = [
        k for k, other in enumerate(message.parts) if isinstance(other, ResultPart) and other.call_id == part.call_id
    ]
    stand_in = said.replaced.get((message.id, part.call_id))
    return part.content if stand_in is None or same[0] != n else stand_in


def expected(said: Said) -> list[Message]:
    messages = [*([said.summary] if said.summary else []), *said.messages]
    answered, names = pairs(messages), names_of(messages)
    sent: list[Message] = []
    for at, message in enumerate(messages):
        if message.role == "tool":
            continue
        answers = {n: answered.get((at, n)) for n, _ in calls_of(message)}
        touched = {message.id} | {messages[found[0]].id for found in answers.values() if found is not None}
        if touched & said.snipped:
            continue
        parts: list[Part] = []
        results: list[ResultPart] = []
        for n, part in enumerate(message.parts):
            if isinstance(part, CallPart) and message.role == "assistant":
                name, found = names[at, n], answers[n]
                parts.append(CallPart(name, part.name, part.arguments, part.raw_arguments))
                if found is None:
                    results.append(ResultPart(name, part.name, NO_RESULT, is_error=True))
                else:
                    real = messages[found[0]].parts[found[1]]
                    assert isinstance(real, ResultPart)
                    content = content_of(said, messages[found[0]], found[1])
                    results.append(ResultPart(name, real.name, content, real.is_error))
            elif not isinstance(part, ResultPart | CallPart):
                parts.append(part)
        if parts:
            sent.append(Message(message.id, message.role, tuple(parts), message.model, message.usage))
        if results:
            first = next((messages[found[0]].id for found in answers.values() if found), f"{message.id}~results")
            sent.append(Message(first, "tool", tuple(results)))
    if sent and sent[0].role != "user":
        sent.insert(0, REMOVED)
    return sent or ([REMOVED] if said.messages else [])


# ---- random conversations ---------------------------------------------------------------------------------------

CALL_IDS = ("x", "y", "x~2")
call_ids = st.sampled_from(CALL_IDS)
texts = st.text("ab", max_size=3).map(Text)
calls = st.builds(CallPart, call_ids, st.just("Do"), st.just({}))
results = st.builds(ResultPart, call_ids, st.just("Do"), st.tuples(texts), st.booleans())
said_by: dict[Role, st.SearchStrategy[list[Part]]] = {
    "user": st.lists(st.one_of(texts, texts, texts, calls, results), max_size=2),
    "assistant": st.lists(st.one_of(texts, calls, calls, calls, results), max_size=4),
    "tool": st.lists(st.one_of(results, results, results, texts), max_size=4),
}
roles: st.SearchStrategy[Role] = st.sampled_from(("user", "assistant", "assistant", "tool", "tool"))
damaged = roles.flatmap(lambda role: said_by[role].map(lambda parts: (role, tuple(parts))))


@dataclass(frozen=True)
class Op:
    """``spots`` pick messages by their number, modulo how many there are; one more stands for an unknown one."""

    kind: str
    spots: tuple[int, ...] = ()
    call_id: str = "x"
    text: str = ""
    said: tuple[Role, tuple[Part, ...]] = ("user", (Text("go"),))


spots = st.lists(st.integers(0, 30), min_size=1, max_size=3).map(tuple)
ops = st.one_of(
    *[st.builds(Op, st.just("add"), said=damaged)] * 5,
    st.builds(Op, st.just("look")),
    st.builds(Op, st.just("snip"), spots),
    st.builds(Op, st.just("replace"), spots, call_ids, st.text("ab", max_size=3)),
    st.builds(Op, st.just("compact"), spots),
)


class Stage:
    """A view, what it should know, and what it has handed out."""

    def __init__(self) -> None:
        self.view = View()
        self.said = Said()
        self.everything: list[str] = []
        self.handed_out: list[tuple[list[Message], list[Message]]] = []

    def play(self, op: Op) -> None:
        picked = [([*self.everything, "unknown"])[spot % (len(self.everything) + 1)] for spot in op.spots]
        number = len(self.everything)
        match op.kind:
            case "add":
                self.add(Message(f"m{number}", *op.said))
            case "snip":
                self.view.snip(picked)
                self.said.snip(picked)
            case "replace":
                self.view.replace(picked[0], op.call_id, (Text(op.text),))
                self.said.replace(picked[0], op.call_id, (Text(op.text),))
            case "compact":
                summary = Message(f"s{number}", "user", (Text("before"),))
                self.view.compact(summary, picked[0])
                self.said.compact(summary, picked[0])
            case _:
                self.look()

    def add(self, message: Message) -> None:
        self.everything.append(message.id)
        self.view.add(message)
        self.said.messages.append(message)

    def look(self) -> list[Message]:
        history = self.view.history()
        self.handed_out.append((history, list(history)))
        return history

    def again(self) -> View:
        """The same from scratch, each thing said once."""
        view = View()
        if self.said.summary is not None:
            view.compact(self.said.summary, None)
        for message in self.said.messages:
            view.add(message)
        view.snip(self.said.snipped)
        for (message_id, call_id), content in self.said.replaced.items():
            view.replace(message_id, call_id, content)
        return view


def same_objects(one: Sequence[Message], other: Sequence[Message]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


# ---- whatever was said ------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-7", "CMP-1")
@given(st.lists(ops, max_size=30))
def test_what_is_sent_is_legal_and_what_the_rules_say(played: list[Op]) -> None:
    stage = Stage()
    for op in played:
        stage.play(op)
        if op.kind == "look":  # not after each: several changes may come between two requests
            assert list(stage.look()) == expected(stage.said)
    history = stage.look()
    assert faults(history) == []
    assert list(history) == expected(stage.said)
    assert list(history) == list(stage.again().history())
    assert stage.view.messages == stage.said.messages
    assert all(same_objects(list(given_out), then) for given_out, then in stage.handed_out)


@pytest.mark.spec("TRS-7")
@given(st.lists(damaged, max_size=15))
def test_every_prefix_of_what_was_said_can_be_sent_and_every_call_is_answered_once(
    told: list[tuple[Role, tuple[Part, ...]]],
) -> None:
    stage = Stage()
    for n, (role, parts) in enumerate(told):
        stage.add(Message(f"m{n}", role, parts))
        history = stage.look()
        assert faults(history) == []
        made = [call.name for message in stage.said.messages for _, call in calls_of(message)]
        answered = [part for message in history for part in message.parts if isinstance(part, ResultPart)]
        assert len(answered) == len(made)
        assert sum(part.content != NO_RESULT for part in answered) == len(pairs(stage.said.messages))
    assert all(same_objects(list(given_out), then) for given_out, then in stage.handed_out)


# ---- conversations that went well, and what can happen to them --------------------------------------------------


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """As a session writes them: every id once, every result in its place."""
    messages: list[Message] = []
    for n in range(draw(st.integers(1, 6))):
        if not messages or draw(st.booleans()):
            messages.append(Message(f"u{n}", "user", (Text("go"),)))
        made = [CallPart(f"c{n}.{k}", "Do", {}) for k in range(draw(st.integers(0, 3)))]
        messages.append(Message(f"a{n}", "assistant", (Text("well"), *made)))
        if made:
            parts = tuple(ResultPart(call.id, "Do", (Text(f"result of {call.id} " * 20),)) for call in made)
            messages.append(Message(f"r{n}", "tool", parts))
    return messages


@pytest.mark.spec("TRS-7")
@given(conversations(), st.data())
def test_a_healthy_history_grows_by_the_very_objects_that_were_said(told: list[Message], data: st.DataObject) -> None:
    view = View()
    for message in told:
        view.add(message)
        if message.role == "tool" or data.draw(st.booleans()):
            view.history()
    assert same_objects(list(view.history()), told)


@pytest.mark.spec("TRS-7")
@given(conversations(), st.data())
def test_results_that_come_late_split_or_twice_are_sent_in_their_place(
    told: list[Message], data: st.DataObject
) -> None:
    mixed: list[Message] = [message for message in told if message.role != "tool"]
    lost: set[str] = set()
    for part in (part for message in told for part in message.parts if isinstance(part, ResultPart)):
        call_at = next(at for at, message in enumerate(mixed) if any(call.id == part.call_id for call in message.calls))
        times = data.draw(st.integers(0, 2))
        if not times:
            lost.add(part.call_id)
        for n in range(times):
            at = data.draw(st.integers(call_at + 1, len(mixed)))
            mixed.insert(at, Message(f"{part.call_id}/{n}", "tool", (part,)))
    view = View()
    for message in mixed:
        view.add(message)
        if data.draw(st.booleans()):
            view.history()
    history = view.history()
    assert faults(history) == []
    sent = {part.call_id: part for message in history for part in message.parts if isinstance(part, ResultPart)}
    real = {part.call_id: part for message in told for part in message.parts if isinstance(part, ResultPart)}
    assert {call_id for call_id, part in sent.items() if part.content == NO_RESULT} == lost
    assert all(sent[call_id] is real[call_id] for call_id in real.keys() - lost)


@pytest.mark.spec("CMP-1")
@given(conversations(), conversations(), st.integers(0, 20), st.integers(0, 300), st.data())
def test_a_trimmed_result_is_the_same_bytes_in_every_later_history(
    told: list[Message], more: list[Message], keep_last: int, over: int, data: st.DataObject
) -> None:
    view = View()
    for message in told:
        view.add(message)
    events = trimmed(view.messages, at=1.0, over=over, keep_last=keep_last, done=view.replaced)
    for event in events:
        view.replace(event.message_id, event.call_id, event.content)
    frozen = {message.id: repr(message) for message in view.history()}
    assert trimmed(view.history(), at=2.0, over=over, keep_last=keep_last) == []
    for message in more:  # the same ids again, so that they are renamed
        view.add(Message(f"{message.id}'", message.role, message.parts))
        for event in events:
            view.replace(event.message_id, event.call_id, (Text("other"),))
        if data.draw(st.booleans()):
            view.history()
    later = {message.id: repr(message) for message in view.history()}
    assert {message_id: later[message_id] for message_id in frozen} == frozen
    kept = kept_from(view.messages, data.draw(st.integers(1, len(view.messages))))
    assume(kept is not None)
    tail = [message.id for message in view.messages[[message.id for message in view.messages].index(kept or "") :]]
    view.compact(Message("s", "user", (Text("before"),)), kept)
    after = {message.id: repr(message) for message in view.history()}
    assert all(after[message_id] == frozen[message_id] for message_id in tail if message_id in frozen)


@pytest.mark.spec("CMP-1")
@given(st.lists(damaged, max_size=15), st.integers(1, 15))
def test_a_kept_tail_splits_no_call_from_its_result(told: list[tuple[Role, tuple[Part, ...]]], keep: int) -> None:
    messages = [Message(f"m{n}", role, parts) for n, (role, parts) in enumerate(told)]
    split = {at for call, found in pairs(messages).items() for at in range(call[0] + 1, found[0] + 1)}
    fits = [
        at
        for at, message in enumerate(messages)
        if at not in split and message.role != "tool" and len(messages) - at >= keep
    ]
    all_there_is = next((message.id for message in messages if message.role != "tool"), None)
    assert kept_from(messages, keep) == (messages[fits[-1]].id if fits else all_there_is)
