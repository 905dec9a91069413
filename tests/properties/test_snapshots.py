"""State is the fold of the journal: at every moment, for every prefix."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given

from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal
from callgate.testing import run_virtual
from callgate.words.events import Durable
from tests.profiles import fewer
from tests.properties.test_invariants import Play, Schedule, schedules
from tests.properties.test_previews import editing


def frozen(ledger: Ledger) -> str:
    """All there is to a ledger, as text, so that nobody can change it afterwards. Progress is not on record."""
    calls = {
        call_id: (replace(entry.snapshot(), live_output=""), entry.updated, entry.attempt, entry.asked_as)
        for call_id, entry in ledger.calls.items()
    }
    rest = {name: value for name, value in vars(ledger).items() if name not in ("calls", "message_of", "view")}
    rest["answer"] = (ledger.answer.text, ledger.answer.begun)
    return repr((calls, sorted(ledger.message_of), list(ledger.messages), sorted(rest.items())))


class SnapshotJournal(MemoryJournal):
    """Keeps the live state as it was just before each event."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger: Ledger | None = None
        self.states: list[str] = []

    def append(self, event: Durable) -> None:
        assert self.ledger is not None
        self.states.append(frozen(self.ledger))
        super().append(event)


def check_prefixes(events: Sequence[Durable], states: Sequence[str], live: Ledger) -> None:
    again = Ledger()
    for n, (event, state) in enumerate(zip(events, states, strict=True)):
        assert frozen(again) == state, f"before event {n}"
        again.fold(event)
    assert frozen(again) == frozen(live)


@pytest.mark.spec("CALL-3", "EXE-8")
@given(schedules("interrupt", "cancel", "discard", "drift", each=editing))
@fewer(25)
def test_every_prefix_of_a_journal_folds_to_what_the_ledger_was_then(schedule: Schedule) -> None:
    async def main() -> Play:
        played = Play(schedule, journal=(journal := SnapshotJournal()))
        journal.ledger = played.stage.ledger
        return await played.run()

    stage = run_virtual(main()).stage
    assert isinstance(stage.journal, SnapshotJournal)
    check_prefixes(stage.journal.events, stage.journal.states, stage.ledger)
