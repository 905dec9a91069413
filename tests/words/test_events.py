"""The one table of events: every class has a row, and everything that is made from rows agrees with it."""

from dataclasses import fields, is_dataclass
from typing import get_args

import pytest

from callgate.conversation.chain import Chain
from callgate.conversation.ledger import Ledger
from callgate.staging.state import State
from callgate.transcript.codec import TYPES, Encoder, read_head, read_line
from callgate.transcript.masking import Masker
from callgate.words import events, turns
from callgate.words.event_table import EVENTS
from callgate.words.events import Durable, Event
from callgate.words.turns import FeatureRecorded, NoticeAdded, NoticeDelivered
from tests.formats.test_jsonable import EVENTS as EXAMPLES

OWN = (events.__name__, turns.__name__)


def test_every_class_of_events_has_a_row_and_is_durable_as_its_row_says() -> None:
    written = {each for each in vars(events).values() if is_dataclass(each) and each.__module__ in OWN}
    classes = {each for each in written if any(field.name == "at" for field in fields(each))}
    assert classes == set(EVENTS) == set(get_args(Event))
    assert (
        {each for each, row in EVENTS.items() if row.on != "nothing"} == set(get_args(Durable)) == set(TYPES.values())
    )


def test_every_event_that_changes_state_has_a_step_of_the_fold_and_no_other_has() -> None:
    of_features = {*State().folds, NoticeAdded, NoticeDelivered, FeatureRecorded}
    assert set(Ledger.FOLDS) | of_features == {each for each, row in EVENTS.items() if row.folds}


def test_rows_name_attributes_that_exist() -> None:
    wrong: list[str] = []
    for example in EXAMPLES:
        row = EVENTS[type(example)]
        for path in filter(None, (row.by, row.target)):
            value: object = example
            for name in path.split("."):
                value = getattr(value, name, "missing")
            if value == "missing":
                wrong.append(f"{type(example).__name__}.{path}")
        if bool(row.by) != (row.on in ("message", "call")) or bool(row.target) != (
            row.line in ("rewound", "branched", "boundary")
        ):
            wrong.append(type(example).__name__)
    assert not wrong


@pytest.mark.spec("TRS-1")
def test_a_line_read_back_has_the_place_that_it_was_written_at() -> None:
    wrong: list[str] = []
    for example in EXAMPLES:
        place = Chain().place(example)
        raw = Encoder("s", Masker({})).encode(example, place).rstrip(b"\n")
        if not read_line(raw).line == read_head(raw).line == place:
            wrong.append(type(example).__name__)
    assert not wrong
