"""From a file to what is live: with an index, without one, with one that lies; and on from there."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate.conversation.ledger import Ledger
from callgate.transcript.session_summary import Summary
from callgate.transcript.side_files import Index, read_index, write_index
from callgate.transcript.store import Store
from callgate.words.events import CallSettled, Durable, MessageAdded, MetadataSet, Noted, Paused, RunEnded
from callgate.words.inputs import Branch, Compact, Prompt, Rewind
from callgate.words.messages import Message, Text
from callgate.words.turns import Branched, Compacted, Counted, Rewound
from tests.transcript.kit import (
    AT,
    SESSION,
    Written,
    check_resumes,
    check_same_by_index,
    drop_index,
    one_call,
    open_and_say,
    put_log,
    resealed,
    run,
    said,
    sent,
    session_on,
    store_in,
    talk,
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_in(tmp_path)


def index_of(store: Store) -> Path:
    return store.find(SESSION).with_suffix(".index")


def append(store: Store, *events: Any) -> list[str]:
    """Open, write, close; what was live when it was opened."""

    async def main() -> list[str]:
        journal = await store.open(SESSION)
        before = said(list(journal.read()))
        for event in events:
            journal.append(event)
        await journal.aclose()
        return before

    return run(main())


# ---- the index ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-11")
def test_an_index_is_written_on_closing_and_gives_the_same(store: Store) -> None:
    put_log(store, talk(3).image)
    append(store, Noted(AT, "x"))
    assert index_of(store).exists()
    check_same_by_index(store)


@pytest.mark.spec("TRS-11")
def test_an_index_of_the_beginning_is_used_for_a_longer_log(store: Store) -> None:
    put_log(store, talk(3).image)
    run(open_and_say(store, "one"))
    old = index_of(store).read_bytes()
    run(open_and_say(store, "two"))
    index_of(store).write_bytes(old)
    check_same_by_index(store)
    assert said(store.read(SESSION).events)[-2:] == ["new-one", "new-two"]


@pytest.mark.spec("TRS-11")
def test_an_index_of_another_log_is_not_believed(store: Store, tmp_path: Path) -> None:
    other = store_in(tmp_path / "other")
    put_log(other, talk(5).image)
    append(other, MetadataSet(AT, "title", "another"))
    put_log(store, talk(3).image)
    index_of(store).write_bytes(index_of(other).read_bytes())
    loaded = store.read(SESSION)
    assert said(loaded.events) == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert loaded.about.title == ""


LIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "upto is too small for a line": lambda index: index.update(upto=5, live=[]),
    "upto is negative": lambda index: index.update(upto=-1, live=[]),
    "upto is text": lambda index: index.update(upto="12", live=[]),
    "upto is a fraction": lambda index: index.update(upto=float(index["upto"])),
    "upto is null": lambda index: index.update(upto=None),
    "a range is text": lambda index: index.update(live=[["a", "b"]]),
    "a range is missing": lambda index: index["live"].pop(),
    "nothing is live": lambda index: index.update(live=[]),
    "ranges overlap": lambda index: index.update(live=[*index["live"], *index["live"]]),
    "n is text": lambda index: index.update(n="7"),
    "n is another": lambda index: index.update(n=3),
    "leaf is a number": lambda index: index.update(leaf=5),
    "the title is another": lambda index: index["about"].update(title="not mine"),
    "messages is text": lambda index: index["about"].update(messages="many"),
    "updated_at is text": lambda index: index["about"].update(updated_at="now"),
}


@pytest.mark.spec("TRS-11")
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_a_changed_index_is_never_believed_against_the_log(store: Store, lie: Callable[[Any], None]) -> None:
    log = put_log(store, talk(3).image)
    append(store, Rewound(AT, "u3", Counted(6, 3)), MetadataSet(AT, "title", "mine"))
    text = index_of(store).read_text()
    found, end = json.JSONDecoder().raw_decode(text)
    drop_index(log)
    truth = store.read(SESSION)
    lie(found)
    index_of(store).write_text(json.dumps(found, separators=(",", ":")) + text[end:])
    loaded = store.read(SESSION)
    assert loaded.events == truth.events
    assert loaded.about == truth.about
    assert [each.about.title for each in store.list()] == ["mine"]
    assert append(store, Noted(AT, "next")) == ["u1", "a1", "u2", "a2"]
    last = json.loads(log.read_bytes().splitlines()[-1])
    assert last["n"] == truth.n + 1


@pytest.mark.spec("TRS-11")
def test_any_flipped_bit_of_an_index_changes_nothing_that_is_loaded(store: Store) -> None:
    log = put_log(store, talk(3).image)
    append(store, Rewound(AT, "u3", Counted(6, 3)), MetadataSet(AT, "title", "mine"))
    index = index_of(store).read_bytes()
    drop_index(log)
    truth = store.read(SESSION)
    wrong: list[bytes] = []
    for at in range(len(index)):
        bit = (0x01, 0x04, 0x10)[at % 3]
        index_of(store).write_bytes(index[:at] + bytes([index[at] ^ bit]) + index[at + 1 :])
        loaded = store.read(SESSION)
        if (loaded.events, loaded.n, loaded.about) != (truth.events, truth.n, truth.about):
            wrong.append(index[max(0, at - 20) : at + 1])
    assert wrong == []


@pytest.mark.spec("TRS-11")
def test_the_index_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    index = Index(upto=10, n=2, sum="0" * 32, leaf=None, live=((0, 10),), about=Summary(title="t", tags=("a",)))
    write_index(tmp_path / "x.jsonl", index)
    assert read_index(tmp_path / "x.jsonl") == index
    write_index(tmp_path / "x.jsonl", replace(index, v=99))
    assert read_index(tmp_path / "x.jsonl") is None


@pytest.mark.spec("TRS-11")
def test_a_list_shows_what_an_open_session_shows(store: Store) -> None:
    """Also when the lines behind the index repeat the last one."""
    log = put_log(store, talk(2).image)
    run(open_and_say(store, "one"))
    image = log.read_bytes()
    last = image[image.rindex(b"\n", 0, -1) + 1 :]
    log.write_bytes(image + last)
    listed = store.list()[0].about
    assert listed == store.read(SESSION).about


# ---- moves that reach back over what was not loaded ---------------------------------------------------------------


def compacted_log(store: Store) -> Path:
    """u1 a1 u2 a2 u3 a3, of which u3 and a3 are kept behind a boundary; closed, so that there is an index."""
    log = put_log(store, talk(3).image)
    append(store, Compacted(AT, "so far", "u3", counted=Counted(6, 3)))
    return log


@pytest.mark.spec("TRS-1", "TRS-9", "TRS-11")
@pytest.mark.parametrize("moved", [Rewound(AT, "u3"), Branched(AT, "u3")], ids=["rewound", "branched"])
def test_a_move_into_the_kept_tail_finds_what_was_said_before_it(store: Store, moved: Rewound | Branched) -> None:
    wanted = ["u1", "a1", "u2", "a2"] + (["u3"] if isinstance(moved, Branched) else [])
    log = compacted_log(store)

    async def main() -> list[str]:
        journal = await store.open(SESSION)
        assert said(list(journal.read())) == ["u3", "a3"]
        journal.append(moved)
        live = said(list(await journal.live()))
        await journal.aclose()
        return live

    assert run(main()) == wanted
    check_same_by_index(store)
    drop_index(log)
    assert said(store.read(SESSION).events) == wanted


@pytest.mark.spec("TRS-1", "TRS-9", "TRS-11")
def test_a_session_rewound_into_its_kept_tail_goes_on_from_there(store: Store) -> None:
    log = compacted_log(store)

    async def main() -> list[str]:
        session = session_on(await store.open(SESSION))
        await sent(session, Rewind("u3"))
        await sent(session, Prompt("Another way."))
        said_now = [message.id for message in session.messages]
        await session.aclose()
        return said_now

    now = run(main())
    assert now[:4] == ["u1", "a1", "u2", "a2"]
    drop_index(log)
    assert said(store.read(SESSION).events) == now


@pytest.mark.spec("TRS-1", "TRS-9")
def test_a_boundary_made_after_a_branch_was_left_does_not_hide_that_branch(store: Store) -> None:
    """u2 was said before the boundary on a1 was made: who goes back to it wants to see it."""

    async def main() -> list[str]:
        session = session_on(await store.open(SESSION))
        await sent(session, Rewind("u2"))
        await sent(session, Compact())
        await sent(session, Branch("a2"))
        seen = [message.id for message in session.messages]
        await session.aclose()
        return seen

    put_log(store, talk(2).image)
    assert run(main())[-2:] == ["u2", "a2"]
    assert [message.id for message in Ledger(store.read(SESSION).events).messages][-2:] == ["u2", "a2"]


@pytest.mark.spec("TRS-1", "TRS-8")
def test_a_tail_that_is_kept_twice_is_still_there_after_a_restart(store: Store) -> None:
    put_log(store, talk(3).image)

    async def main() -> list[str]:
        session = session_on(await store.open(SESSION))
        await sent(session, Compact(keep=4))
        await sent(session, Compact(keep=2))
        seen = [message.id for message in session.messages]
        await session.aclose()
        return seen

    assert run(main()) == ["u3", "a3"]
    assert [message.id for message in Ledger(store.read(SESSION).events).messages] == ["u3", "a3"]


@pytest.mark.spec("TRS-11")
@pytest.mark.parametrize("kept", ["u3", "a3", None], ids=["kept tail", "kept without its prompt", "nothing kept"])
def test_what_a_list_shows_of_a_compacted_session_does_not_depend_on_the_index(store: Store, kept: str | None) -> None:
    put_log(store, talk(3).image)
    append(store, Compacted(AT, "so far", kept, counted=Counted(6, 3)))
    check_same_by_index(store)


@pytest.mark.spec("TRS-11")
def test_what_a_list_shows_of_a_rewound_session_does_not_depend_on_the_index(store: Store) -> None:
    put_log(store, talk(3).image)
    append(store, Rewound(AT, "u3", Counted(6, 3)))
    check_same_by_index(store)


@pytest.mark.spec("TRS-1", "TRS-11")
def test_a_lost_parent_means_the_same_message_with_an_index_and_without(store: Store) -> None:
    """The leaf goes a1 → u1 → d → f → a1 by moves over messages that are dead in the end."""
    log = Written().says("u1", None).says("a1", "u1", role="assistant").says("f", "a1")
    log.add("rewound", data={"message_id": "a1"}).says("d", "u1")
    log.add("rewound", data={"message_id": "f"}).says("x", "lost")
    put_log(store, log.image)
    assert said(store.read(SESSION).events) == ["u1", "a1", "x"]
    run(open_and_say(store))
    check_same_by_index(store)
    run(open_and_say(store, "later"))
    assert said(store.read(SESSION).events) == ["u1", "a1", "x", "new-and now?", "new-later"]


# ---- ids after damage ---------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-1", "TRS-5")
def test_no_message_takes_the_id_of_one_that_a_lost_rewind_had_left_behind(store: Store) -> None:
    """The line with the count of all messages is lost: new ones must not be taken for those of the dead branch."""
    log = talk(30).add("rewound", data={"message_id": "u2", "counted": {"messages": 60, "turns": 30}})
    log.lines[-1] = b"#" + log.lines[-1][1:]
    put_log(store, log.says("u61", "a1").image)
    before = said(run(check_resumes(store)))
    again = said(run(check_resumes(store)))
    assert again[: len(before)] == before
    assert store.read(SESSION).damages[1:] == [], "nothing that was said is taken for damage"


# ---- lines with a sum that fits and something else that does not --------------------------------------------------

ODD: dict[str, tuple[bytes, bytes]] = {
    "not a number": (b'"answer 2"', b"NaN"),
    "bad UTF-8 in a text": (b"answer 2", b"answer \xff"),
    "bad UTF-8 in an id": (b'"id":"a2","parent"', b'"id":"\xff","parent"'),
    "not JSON": (b'"data":{', b'"data":{{'),
    "n of 5000 digits": (b'"n":9', b'"n":' + b"6" * 5000),
    "n is text": (b'"n":9', b'"n":"6"'),
    "at of 400 digits": (b'"at":1700000000.0', b'"at":1' + b"0" * 400),
    "at is infinite": (b'"at":1700000000.0', b'"at":1e999'),
    "at is text": (b'"at":1700000000.0', b'"at":"noon"'),
    "at is negative": (b'"at":1700000000.0', b'"at":-1e300'),
    "deep nesting": (b'"answer 2"', b"[" * 100_000 + b"]" * 100_000),
    "the message is a list": (b'"data":{"message": {', b'"data":{"message": [], "x": {'),
    "the id of the message is a list": (b'"message": {"id": "a2"', b'"message": {"id": ["a2"]'),
    "the usage is text": (b'"role": "assistant"', b'"role": "assistant", "usage": {"input": "many"}'),
    "the parts are null": (b'"parts": [', b'"parts": null, "x": ['),
    "the text is a number": (b'"text": "answer 2"', b'"text": 2'),
}


@pytest.mark.spec("TRS-5")
@pytest.mark.parametrize(("old", "new"), ODD.values(), ids=ODD.keys())
def test_an_odd_line_with_a_fitting_sum_costs_at_most_itself(store: Store, old: bytes, new: bytes) -> None:
    log = talk(3)
    at = next(n for n, line in enumerate(log.lines) if b"answer 2" in line)
    log.lines[at] = resealed(log.lines[at], old, new)
    path = put_log(store, log.image)
    found = said(store.read(SESSION).events)
    assert [each for each in found if each != "a2"] == ["u1", "a1", "u2", "u3", "a3"]
    assert store.list()[0].fault == ""
    run(check_resumes(store))
    run(check_resumes(store))
    drop_index(path)
    assert [each for each in said(store.read(SESSION).events) if each != "a2"][:5] == ["u1", "a1", "u2", "u3", "a3"]


FACTS: dict[str, tuple[str, dict[str, Any]]] = {
    "tags that are a number": ("metadata_set", {"key": "tags", "value": 5}),
    "a title that is a list": ("metadata_set", {"key": "title", "value": [1]}),
    "a key that is a list": ("metadata_set", {"key": ["title"], "value": 1}),
    "ranges of text": ("lines_quarantined", {"ranges": [["a", "b"]], "kept_in": "x"}),
    "a turn that is text": ("turn_started", {"turn": "one", "message_id": "a9"}),
    "a call id that is a list": ("call_arrived", {"call_id": ["c"], "name": "read", "arguments": {}, "index": 0}),
    "arguments that are text": ("call_arrived", {"call_id": "c", "name": "read", "arguments": "x", "index": 0}),
    "an index that is text": ("call_arrived", {"call_id": "c", "name": "read", "arguments": {}, "index": "x"}),
    "an update that is a list": ("context_updated", {"call_id": "c", "update": [1]}),
    "a count that is text": ("rewound", {"message_id": "u9", "counted": {"messages": "many", "turns": []}}),
    "a mode that is a list": ("mode_set", {"mode": ["plan"]}),
    "a model that is a list": ("model_set", {"model": ["big"]}),
    "ids that are lists": ("snipped", {"message_ids": [["u1"]]}),
    "a policy that is text": ("policy_added", {"policy": "yes"}),
}


@pytest.mark.spec("TRS-5")
@pytest.mark.parametrize(("kind", "data"), FACTS.values(), ids=FACTS.keys())
def test_a_fact_of_an_odd_shape_stops_nobody(store: Store, kind: str, data: dict[str, Any]) -> None:
    """A later version may mean something else by it."""
    log = talk(2)
    put_log(store, log.add(kind, None, None, data).says("last", "a2").image)
    assert said(store.read(SESSION).events) == ["u1", "a1", "u2", "a2", "last"]
    assert store.list()[0].fault == ""
    run(check_resumes(store))
    run(check_resumes(store))


@pytest.mark.spec("TRS-5")
def test_types_and_versions_that_are_not_known_are_kept_and_not_folded(store: Store) -> None:
    log = talk(2).add("from_tomorrow", None, "a2", {"x": 1}).add("noted", None, None, {"text": "x"}, v=2)
    path = put_log(store, log.image)
    loaded = store.read(SESSION)
    assert (loaded.unknown, loaded.damages) == (2, [])
    assert run(open_and_say(store))[0].damages == ()
    assert path.read_bytes().startswith(log.image)


@pytest.mark.spec("TRS-1")
def test_a_message_of_a_later_version_keeps_its_place(store: Store) -> None:
    log = talk(1).add("message_added", "u2", "a1", {"new": "shape"}, v=2).says("x2", "u2", role="assistant")
    put_log(store, log.image)
    assert said(store.read(SESSION).events) == ["u1", "a1", "x2"]
    run(check_resumes(store))


@pytest.mark.spec("TRS-5")
def test_an_empty_log_is_no_conversation_yet_and_can_be_written(store: Store) -> None:
    put_log(store, b"")
    journal, before = run(open_and_say(store))
    assert (journal.damages, before) == ((), [])
    assert said(store.read(SESSION).events) == ["new-and now?"]
    assert MessageAdded(AT, Message("new-and now?", "user", (Text("and now?"),))) in store.read(SESSION).events


# ---- facts of an open turn that are lost --------------------------------------------------------------------------


def without(log: Written, lost: str) -> bytes:
    """The lines of this type are broken."""
    return b"".join(line[:30] + b"#" + line[31:] if f'"{lost}"'.encode() in line else line for line in log.lines)


@pytest.mark.spec("TRS-5", "TRS-7")
@pytest.mark.parametrize("lost", ["call_decided", "call_started"])
def test_a_result_on_record_counts_also_when_a_line_before_it_is_lost(store: Store, lost: str) -> None:
    put_log(store, without(one_call({"content": [{"type": "Text", "text": "was"}]}), lost))
    events = run(check_resumes(store))
    results = [event.result.text for event in events if isinstance(event, CallSettled)]
    assert results == ["was"], "it is neither run again nor told twice"


@pytest.mark.spec("TRS-5", "TRS-7")
def test_a_start_on_record_counts_also_when_the_decision_before_it_is_lost(store: Store) -> None:
    put_log(store, without(one_call(), "call_decided"))
    events = run(check_resumes(store))
    codes = [event.result.code for event in events if isinstance(event, CallSettled)]
    assert codes == ["outcome_unknown"]


@pytest.mark.spec("TRS-11")
def test_a_file_that_is_no_log_is_listed_with_its_fault(store: Store) -> None:
    put_log(store, b"Dear diary,\ntoday nothing happened.\n")
    assert [each.fault for each in store.list()] == ["the log has no valid line"]


@pytest.mark.spec("TRS-11")
@pytest.mark.parametrize(
    "closing", [Paused(AT, "denied often"), RunEnded(AT, "done")], ids=lambda each: type(each).__name__
)
def test_an_event_that_closes_a_branch_one_left_says_the_same_with_and_without_the_index(
    store: Store, closing: Durable
) -> None:
    put_log(store, talk(2).image)  # u1 a1 u2 a2
    append(store, Branched(AT, "a1"))
    append(store, closing)
    append(store, Branched(AT, "a2"))

    def state() -> tuple[bool, bool, list[str]]:
        events = store.read(SESSION).events
        ledger = Ledger(events)
        return ledger.paused, ledger.running, [type(event).__name__ for event in events]

    with_index = state()
    drop_index(store.find(SESSION))
    assert state() == with_index
    assert not with_index[0]


@pytest.mark.spec("TRS-5", "CMP-1")
@pytest.mark.parametrize("lost", ["u2", "a2", "u3"])
def test_a_bad_bit_in_a_kept_message_costs_that_message_alone(store: Store, lost: str) -> None:
    log = talk(4)
    counted = {"messages": 4, "turns": 4}
    log.add("compacted", None, "a4", {"summary": "earlier", "kept": "u2", "counted": counted})
    log.says("u5", "a4", "prompt 5")
    start = f'"type":"message_added","id":"{lost}"'.encode()
    damaged = [line[:-40] + b"#" + line[-39:] if start in line else line for line in log.lines]
    put_log(store, b"".join(damaged))
    ledger = Ledger(store.read(SESSION).events)
    kept = ["u2", "a2", "u3", "a3", "u4", "a4", "u5"]
    assert [message.id for message in ledger.messages] == [each for each in kept if each != lost]
    run(check_resumes(store))
