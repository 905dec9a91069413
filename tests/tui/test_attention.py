"""The title of the terminal and its bell."""

import pytest

from callgate.tui.attention import Absence, recap_offer, rings, title_of
from callgate.tui.fold import ConversationFold
from callgate.words.events import MetadataSet, Noted, RunEnded, StatusChanged


@pytest.mark.spec("TUI-9")
@pytest.mark.parametrize(
    ("status", "title"),
    [
        ("idle", "Mend the shop"),
        ("working", "Mend the shop: working"),
        ("waiting_confirmation", "Mend the shop: waits for you"),
    ],
)
def test_the_title_says_session_and_state(status: str, title: str) -> None:
    fold = ConversationFold()
    fold.apply(MetadataSet(1.0, "title", "Mend the shop"))
    fold.apply(StatusChanged(2.0, status))  # pyright: ignore[reportArgumentType]
    assert title_of(fold, "folder") == title


def test_a_long_title_ends_with_a_mark() -> None:
    fold = ConversationFold()
    fold.apply(MetadataSet(1.0, "title", "Mend the shop and everything that is in it " * 3))
    assert title_of(fold, "") == "Mend the shop and everything that is in it Mend the shop an…"
    fold.apply(MetadataSet(1.0, "title", "x" * 60))
    assert title_of(fold, "") == "x" * 60


def test_a_title_of_a_model_cannot_write_to_the_terminal() -> None:
    fold = ConversationFold()
    fold.apply(MetadataSet(1.0, "title", "x\x1b]0;y\x07"))
    assert "\x1b" not in title_of(fold, "")


@pytest.mark.spec("CMD-8")
def test_a_person_who_comes_back_after_a_while_is_offered_a_recap_once() -> None:
    absence = Absence()
    assert [absence.ended(at) for at in (5.0, 9.0, 600.0)] == ["", "", ""]
    assert absence.ended(600.0 + 2 * 3600) == "You were away for 2 h 0 min: /recap summarizes the session."
    assert absence.ended(601.0 + 2 * 3600) == ""
    assert "3 days" in recap_offer(3 * 86400.0)


def test_the_bell_rings_after_a_long_run_and_not_after_a_short_one() -> None:
    assert rings(RunEnded(20.0, "done"), 1.0)
    assert not rings(RunEnded(5.0, "done"), 1.0)
    assert not rings(Noted(20.0, "x"), 1.0)
