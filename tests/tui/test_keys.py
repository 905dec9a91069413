"""The table of keys, and the changes that settings make to it."""

import pytest

from callgate.policy.entries import KeyLine
from callgate.tui.actions import InputActions
from callgate.tui.keys import ACTIONS, CONTEXTS, KeyAction, bound_keys, interrupt_key, sequence_of, shown_keys
from callgate.words.decisions import Origin


def line(context: str, action: str, *keys: str, at: int = 1) -> KeyLine:
    return KeyLine(context, action, keys, Origin("user", "/home/me/settings.toml", at))


def keys_now(rows: tuple[KeyAction, ...], context: str, action: str) -> tuple[str, ...]:
    return next(row.keys for row in rows if (row.context, row.action) == (context, action))


def test_the_defaults_are_sound() -> None:
    rows, faults = bound_keys(())
    assert (rows, faults) == (ACTIONS, [])
    assert len({(row.context, row.action) for row in ACTIONS}) == len(ACTIONS)
    assert {row.context for row in ACTIONS} <= {*CONTEXTS}
    assert [key for row in ACTIONS for key in row.keys if sequence_of(key) != key] == []


def test_every_action_of_the_input_line_and_of_every_place_can_be_done() -> None:
    own = [row.action for row in ACTIONS if row.context in ("input", "anywhere")]
    assert [action for action in own if not hasattr(InputActions, action)] == []


@pytest.mark.parametrize(
    ("written", "keys", "shown"),
    [
        ("ctrl-x ctrl-e", "c-x c-e", "Ctrl-X Ctrl-E"),
        ("Alt+Enter", "escape enter", "Alt-Enter"),
        ("shift-tab", "s-tab", "Shift-Tab"),
        ("shift-enter", "c-j", "Ctrl-J"),
        ("esc", "escape", "Esc"),
        ("G", "G", "G"),
        ("up", "up", "↑"),
        ("f5", "f5", "F5"),
        ("hyper-x", None, ""),
        ("entre", None, ""),
        ("", None, ""),
    ],
)
def test_keys_are_written_as_people_do(written: str, keys: str | None, shown: str) -> None:
    assert sequence_of(written) == keys
    assert keys is None or shown_keys(keys) == shown


@pytest.mark.spec("TUI-8")
def test_settings_change_keys_and_the_action_that_had_one_loses_it_with_a_word() -> None:
    rows, faults = bound_keys([line("input", "newline", "enter", at=3), line("input", "submit", "ctrl-s", at=4)])
    assert keys_now(rows, "input", "newline") == ("enter",)
    assert keys_now(rows, "input", "submit") == ("c-s",)
    assert faults == []
    rows, faults = bound_keys([line("anywhere", "transcript", "ctrl-l", at=7)])
    assert keys_now(rows, "anywhere", "redraw") == ()
    told = "Ctrl-L is transcript in keybindings.anywhere, so it no longer runs redraw"
    assert faults == [f"user, /home/me/settings.toml:7: {told}"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([line("input", "sumbit", "f5")], "unknown action keybindings.input.sumbit: did you mean submit?"),
        ([line("inptu", "submit", "f5")], "unknown context inptu"),
        ([line("input", "submit", "hyper-x")], "no terminal sends 'hyper-x'"),
        ([line("input", "submit", "a")], "a single character is typed text"),
        ([line("input", "edit", "f5"), line("input", "queue", "f5", at=9)], "settings.toml:9: F5 is edit"),
    ],
)
@pytest.mark.spec("TUI-8")
def test_a_change_that_cannot_hold_is_named_with_its_place(changes: list[KeyLine], told: str) -> None:
    rows, faults = bound_keys(changes)
    assert len(faults) == 1
    assert told in faults[0]
    assert "settings.toml:" in faults[0]
    assert keys_now(rows, "input", "submit") == ("enter",)


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ((), "Esc"),
        ((line("input", "interrupt", "f2"),), "F2"),
        ((line("input", "interrupt", "f2", "esc"),), "F2"),
        ((line("input", "interrupt", "ctrl-x ctrl-i"),), "Ctrl-X Tab"),
        ((line("input", "interrupt"),), "Ctrl-C"),
        ((line("input", "interrupt"), line("input", "cancel", "f9")), "F9"),
        ((line("input", "interrupt"), line("input", "cancel")), ""),
        ((line("input", "cancel", "esc"),), "Esc"),
    ],
)
def test_the_key_that_interrupts_is_read_from_the_table(lines: tuple[KeyLine, ...], shown: str) -> None:
    assert interrupt_key(bound_keys(lines)[0]) == shown
