"""The table of modes, walked: each says what it allows, and everything that lists modes lists these."""

from typing import get_args

import pytest

from callgate.cli.command_rows import all_commands
from callgate.policy.setting_kinds import MODE
from callgate.words.decisions import Effect
from callgate.words.errors import UsageError
from callgate.words.modes import MODES, Mode, check_mode, is_stricter


def test_every_mode_is_in_the_table_and_is_one_thing() -> None:
    assert tuple(MODES) == get_args(Mode)
    wrong = [
        mode
        for mode, each in MODES.items()
        if each.forbids_changes + each.allows_edits + each.allows_all + each.never_asks != (mode != "default")
        or not each.meaning
    ]
    assert wrong == []


def test_a_mode_that_allows_is_less_strict_than_one_that_asks_and_one_that_forbids_more() -> None:
    for mode, each in MODES.items():
        if each.allows_all or each.allows_edits:
            assert is_stricter("default", mode)
        if each.forbids_changes or each.never_asks:
            assert is_stricter(mode, "default")
    assert not is_stricter("plan", "dont_ask")
    assert not is_stricter("dont_ask", "plan")


def test_an_unknown_mode_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=", ".join(MODES)):
        check_mode("yolo")  # pyright: ignore[reportArgumentType]
    assert [check_mode(mode) for mode in MODES] == list(MODES)


def test_what_the_command_line_and_the_settings_list_comes_from_the_tables() -> None:
    assert get_args(Effect) == all_commands()["policy add"].arguments[0].choices
    assert all(MODE.read(mode) == mode for mode in MODES)
