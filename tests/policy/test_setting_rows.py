"""The table of settings, and what each kind takes."""

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from pathlib import Path

import pytest

from callgate.config import Config
from callgate.policy import setting_kinds
from callgate.policy.entries import EVENTS
from callgate.policy.setting_kinds import EXPRESSION, Kind, read_moment
from callgate.policy.setting_rows import SETTINGS, VALUE_ROWS, SettingValues, rows_of
from callgate.words.limits import ExecutorSettings, LoopLimits
from tests.rows import rows


def test_every_key_is_explained_and_named_once() -> None:
    names = [key.name for key in SETTINGS]
    assert len(names) == len(set(names))
    for key in SETTINGS:
        assert key.kind.expected
        assert key.help.endswith(".")


def test_a_setting_with_a_value_is_a_field_of_that_name_with_the_default_of_its_row() -> None:
    defaults = SettingValues()
    wrong = [
        row.name
        for row in VALUE_ROWS.values()
        if row.field != row.name.replace(".", "_") or getattr(defaults, row.field) != row.default
    ]
    assert wrong == []


def test_a_default_can_be_written_in_a_file() -> None:
    def refused(kind: Kind[object], default: object) -> bool:
        try:
            return kind.read([*default] if isinstance(default, tuple) else default) != default
        except ValueError:
            return True

    assert [row.name for row in VALUE_ROWS.values() if row.default is not None and refused(row.kind, row.default)] == []


def test_the_events_are_those_of_the_specification() -> None:
    assert list(EVENTS) == [
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "UserPromptSubmit"),
        *("SessionStart", "SessionEnd", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact"),
        *("Notification", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange"),
    ]


@rows(
    ("section", "names"),
    [
        ("", ["mode"]),
        ("permissions", ["allow", "ask", "deny"]),
        ("permissions.*", ["rule", "match", "not_match", "expires", "note"]),
        ("hooks.*", ["command", "python", "url", "matcher", "if", "timeout", "fail_closed"]),
        ("questions", ["deadline", "notify"]),
        (
            "limits",
            [
                *("denials_in_a_row", "denials_in_session", "max_concurrency", "max_turns"),
                *("max_tool_calls", "max_failures"),
                *("max_output_tokens", "max_seconds", "max_cost", "warn_cost", "background_after"),
            ],
        ),
        ("models", ["default", "cheap", "fallback", "effort"]),
        ("models.options.*", ["thinking", "effort", "temperature", "stop", "service_tier", "body", "headers"]),
        (
            "providers.*",
            ["family", "base_url", "key_variable", "key_command", "headers", "quirks", "idle_timeout"],
        ),
        ("statusline", ["command", "refresh", "padding"]),
        ("nothing", []),
    ],
    ids=[
        "top",
        "permissions",
        "rule",
        "hook",
        "questions",
        "limits",
        "models",
        "options",
        "providers",
        "statusline",
        "unknown",
    ],
)
def test_a_section_has_these_keys(section: str, names: list[str]) -> None:
    assert list(rows_of(section)) == names


def test_the_limits_of_a_config_without_settings_are_those_of_a_session_without_a_config() -> None:
    folder = Path("/")
    config = Config(folder, folder, folder)
    assert config.limits == LoopLimits()
    assert config.executor_settings == ExecutorSettings()
    assert (config.limits.denials_in_a_row, config.limits.denials, config.executor_settings.max_concurrency) == (
        3,
        20,
        10,
    )


TAKEN: list[tuple[str, object, object]] = [
    *(("mode", mode, mode) for mode in ("default", "accept_edits", "plan", "bypass", "dont_ask")),
    ("text", "x", "x"),
    ("tokens", 2_000_000, 2_000_000),
    ("dollars", 5, 5.0),
    ("dollars", 0.25, 0.25),
    ("texts", [], ()),
    ("texts", ["a", ""], ("a", "")),
    ("callable", "a:b", "a:b"),
    ("callable", "a.b_1:C.d", "a.b_1:C.d"),
    ("address", "http://x", "http://x"),
    ("address", "https://x/y?z", "https://x/y?z"),
    ("expression", "", ""),
    ("expression", "*", "*"),
    ("expression", "Edit|Write", "Edit|Write"),
    ("duration", 1, 1.0),
    ("duration", 0.5, 0.5),
    ("duration", "90s", 90.0),
    ("duration", "5m", 300.0),
    ("duration", "2h", 7_200.0),
    ("duration", "30d", 2_592_000.0),
    ("duration", "5 m", 300.0),
    ("duration", "366d", 366 * 86_400.0),
    ("count", 1, 1),
    ("count", 1_000_000, 1_000_000),
    ("interval", 0, 0.0),
    ("interval", 1, 1.0),
    ("interval", "5m", 300.0),
    ("columns", 0, 0),
    ("columns", 20, 20),
    ("flag", True, True),
    ("flag", False, False),
]
REFUSED: list[tuple[str, object]] = [
    *(("mode", value) for value in ("Plan", "", 1, ["plan"])),
    *(("text", value) for value in ("", " \n", "a\0b", 1, ["x"])),
    *(("texts", value) for value in ("x", ["x", 1], {})),
    *(("callable", value) for value in ("a", "a:", ":b", "a.:b", "1a:b", "a:b c", "a:b:c", "a:b()", "ä:b", 1)),
    *(("address", value) for value in ("x", "ftp://x", "file:///x", "http://", "http://a b", "http://a\x01", 1)),
    *(("expression", value) for value in ("(", "[[a]", "a{99999999999999999999}", 1)),
    *(("duration", value) for value in (0, -1, math.inf, math.nan, True, "5", "m", "5w", "-5m", "5m5s", "٥m", "0s")),
    *(("duration", value) for value in ("367d", 366 * 86_400.0 + 1, [5], "1234567890s")),
    *(("count", value) for value in (0, -1, 1.0, True, "1", 1_000_001)),
    *(("interval", value) for value in (0.5, -1, False, "0s", "", math.nan, math.inf)),
    *(("columns", value) for value in (-1, 21, 1.0, True, "1")),
    *(("flag", value) for value in (0, 1, "true")),
]


def kind_of(name: str) -> Kind[object]:
    return getattr(setting_kinds, name.upper())


@rows(("kind", "value", "read"), TAKEN, ids=lambda value: repr(value)[:30])
def test_a_kind_takes_what_it_says(kind: str, value: object, read: object) -> None:
    found = kind_of(kind).read(value)
    assert found == read
    assert type(found) is type(read)


@rows(("kind", "value"), REFUSED, ids=lambda value: repr(value)[:30])
def test_a_kind_refuses_what_it_does_not_say(kind: str, value: object) -> None:
    with pytest.raises(ValueError):
        kind_of(kind).read(value)


def test_a_bad_expression_is_explained() -> None:
    with pytest.raises(ValueError, match="missing"):
        EXPRESSION.read("(")


NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC).timestamp()


@rows(
    ("value", "moment"),
    [
        (date(2027, 1, 1), NEW_YEAR),
        (datetime(2027, 1, 1), NEW_YEAR),
        (datetime(2027, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), NEW_YEAR),
        ("30d", 1_000.0 + 30 * 86_400),
    ],
    ids=["date", "naive", "aware", "duration"],
)
def test_a_moment_is_a_date_a_time_or_a_while_from_now_on(value: object, moment: float) -> None:
    assert read_moment(value, 1_000.0) == moment


@rows("value", [time(7), 5, "soon", True, "2027-01-01"], ids=repr)
def test_what_is_no_moment_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        read_moment(value, 0.0)
