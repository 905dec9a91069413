"""One value of a TOML text is changed, and nothing else of the text."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.admin.settings_change import edit_toml
from callgate.words.errors import UsageError

TEXT = """\
# my settings
mode = "plan"  # strict, "#" and all

# limits of every session
[limits]
max_turns = 3
max_cost = 1.5 # dollars

[permissions]
allow = [
  "Bash(git log #1)", # one
  "Read",
]  # two

[[hooks.Stop]]
command = '''
make  # all
'''
"""

ROWS: list[tuple[tuple[str, ...], object, str, str]] = [
    (("mode",), "default", 'mode = "plan"  # strict', 'mode = "default"  # strict'),
    (("limits", "max_turns"), 10, "max_turns = 3", "max_turns = 10"),
    (("limits", "max_cost"), 2.0, "max_cost = 1.5 # dollars", "max_cost = 2.0 # dollars"),
    (("limits", "max_seconds"), "5m", "# dollars\n", '# dollars\nmax_seconds = "5m"\n'),
    (
        ("permissions", "allow"),
        ["Read"],
        '[\n  "Bash(git log #1)", # one\n  "Read",\n]  # two',
        '["Read"]  # two',
    ),
    (("permissions", "deny"), ["Bash"], "]  # two\n", ']  # two\ndeny = ["Bash"]\n'),
    (("models", "default"), "a/b", "make  # all\n'''\n", "make  # all\n'''\n\n[models]\ndefault = \"a/b\"\n"),
]


@pytest.mark.parametrize(("path", "value", "old", "new"), ROWS)
def test_a_value_is_changed_in_its_place_and_comments_stay(
    path: tuple[str, ...], value: object, old: str, new: str
) -> None:
    assert TEXT.count(old) == 1
    assert edit_toml(TEXT, path, value) == TEXT.replace(old, new)


@pytest.mark.parametrize(
    ("text", "path", "value", "changed"),
    [
        ("", ("mode",), "plan", 'mode = "plan"\n'),
        ("", ("providers", "a.b/c", "base_url"), "http://x", '[providers."a.b/c"]\nbase_url = "http://x"\n'),
        ("# only this", ("mode",), "plan", '# only this\nmode = "plan"\n'),
        ("[limits]\nmax_turns=3", ("mode",), "plan", 'mode = "plan"\n\n[limits]\nmax_turns=3'),
        ("# about\n[limits]\n", ("mode",), "plan", '# about\nmode = "plan"\n\n[limits]\n'),
        ("[limits]\na = 1\n\n# b\n[b]\n", ("limits", "c"), 2, "[limits]\na = 1\nc = 2\n\n# b\n[b]\n"),
        ("limits = { max_turns = 3 }\n", ("limits", "max_turns"), 4, "limits = { max_turns = 4 }\n"),
        ("[limits]\nmax_turns=3", ("limits", "max_cost"), 1, "[limits]\nmax_turns=3\nmax_cost = 1\n"),
        ("limits.max_turns = 3\n", ("limits", "max_turns"), 4, "limits.max_turns = 4\n"),
        ('"mode" = "a"\r\n[limits]\r\n', ("mode",), "b", '"mode" = "b"\r\n[limits]\r\n'),
        ("[limits]\r\nmax_turns = 1\r\n", ("limits", "max_cost"), 2, "[limits]\r\nmax_turns = 1\r\nmax_cost = 2\r\n"),
        ("\ufeffmode = 'a'\n", ("mode",), "b", '\ufeffmode = "b"\n'),
        ("x = '\u2028'\nmode = 'a'\n", ("mode",), "b", "x = '\u2028'\nmode = \"b\"\n"),
    ],
)
def test_a_new_value_gets_a_line_where_it_belongs(
    text: str, path: tuple[str, ...], value: object, changed: str
) -> None:
    assert edit_toml(text, path, value) == changed


@pytest.mark.parametrize(
    ("text", "path", "told"),
    [
        ("limits = 3\n", ("limits", "max_turns"), "limits is not a table"),
        ("[[limits]]\nmax_turns = 3\n", ("limits", "max_turns"), "limits is not a table"),
        ("mode = \n", ("mode",), "not TOML"),
    ],
)
def test_what_cannot_be_changed_alone_is_refused_and_left_to_an_editor(
    text: str, path: tuple[str, ...], told: str
) -> None:
    with pytest.raises(UsageError, match=told) as refused:
        edit_toml(text, path, 4)
    assert "callgate config edit" in str(refused.value)


def test_a_value_is_removed_with_its_line() -> None:
    assert edit_toml(TEXT, ("limits", "max_turns"), None) == TEXT.replace("max_turns = 3\n", "")
    assert edit_toml(TEXT, ("limits", "max_seconds"), None) == TEXT
    assert edit_toml(TEXT, ("nothing", "here"), None) == TEXT
    assert edit_toml("limits = { max_turns = 3, max_cost = 1 }\n", ("limits", "max_turns"), None) == (
        "limits = {  max_cost = 1 }\n"
    )


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=6)
LEAVES = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20),
)
VALUES = st.one_of(LEAVES, st.lists(LEAVES, max_size=4), st.dictionaries(NAMES, LEAVES, max_size=3))


@given(value=VALUES, path=st.lists(NAMES, min_size=1, max_size=3).map(tuple))
def test_any_value_at_any_path_reads_back_and_the_rest_is_as_it_was(value: Any, path: tuple[str, ...]) -> None:
    changed = edit_toml(TEXT, path, value) if path[0] not in tomllib.loads(TEXT) else TEXT
    found: Any = tomllib.loads(changed)
    before = tomllib.loads(TEXT)
    assert {name: each for name, each in found.items() if name != path[0]} == {
        name: each for name, each in before.items() if name != path[0]
    }
    if changed != TEXT:
        for name in path:
            found = found[name]
        assert found == value
        assert tomllib.loads(edit_toml(changed, path, None)).keys() >= before.keys()
