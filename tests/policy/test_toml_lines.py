"""The line of every value, whatever TOML lets people write. Random documents are in properties/test_settings.py."""

import tomllib
from textwrap import dedent

import pytest

from callgate.policy.toml_lines import Path, locate

TEXT = dedent(
    """\
    # a comment with [brackets] and a = sign
    mode = "plan"  # ] and more
    a.b . "c d" = 1
    'e.f'.g = 2
    "\\u0068" = 3

    [ permissions ]
    deny = [  # an array [ opens
      "Read(a]#)", 'Write([)', # , ]
      [1,
       [ 2 , ], ],
      { rule = "Bash(x)", match = ["a",
    "b"], deep.er = 4 }, {},
    ]
    empty = []
    table = {}
    long = \"\"\"
    [not.a.table]
    x = "1" \\\"\"\"
    \"\"\"\"\"
    raw = '''
    [nor.this]''''
    after = 1979-05-27 07:32:00
    [[hooks.PreToolUse]]
    command = "one"
    [[hooks.PreToolUse]]
    command = "two"
    [hooks.PreToolUse.more]
    x = true
      [[hooks.PreToolUse.more.list]]
      y = 1
    [[ hooks . "Post" ]]
    [late.er]
    z = +1.5e3
    [late]
    w = inf
    """
)

LINES: dict[Path, int] = {
    (): 1,
    ("mode",): 2,
    ("a",): 3,
    ("a", "b"): 3,
    ("a", "b", "c d"): 3,
    ("e.f",): 4,
    ("e.f", "g"): 4,
    ("h",): 5,
    ("permissions",): 7,
    ("permissions", "deny"): 8,
    ("permissions", "deny", 0): 9,
    ("permissions", "deny", 1): 9,
    ("permissions", "deny", 2): 10,
    ("permissions", "deny", 2, 0): 10,
    ("permissions", "deny", 2, 1): 11,
    ("permissions", "deny", 2, 1, 0): 11,
    ("permissions", "deny", 3): 12,
    ("permissions", "deny", 3, "rule"): 12,
    ("permissions", "deny", 3, "match"): 12,
    ("permissions", "deny", 3, "match", 0): 12,
    ("permissions", "deny", 3, "match", 1): 13,
    ("permissions", "deny", 3, "deep"): 13,
    ("permissions", "deny", 3, "deep", "er"): 13,
    ("permissions", "deny", 4): 13,
    ("permissions", "empty"): 15,
    ("permissions", "table"): 16,
    ("permissions", "long"): 17,
    ("permissions", "raw"): 21,
    ("permissions", "after"): 23,
    ("hooks",): 24,
    ("hooks", "PreToolUse"): 24,
    ("hooks", "PreToolUse", 0): 24,
    ("hooks", "PreToolUse", 0, "command"): 25,
    ("hooks", "PreToolUse", 1): 26,
    ("hooks", "PreToolUse", 1, "command"): 27,
    ("hooks", "PreToolUse", 1, "more"): 28,
    ("hooks", "PreToolUse", 1, "more", "x"): 29,
    ("hooks", "PreToolUse", 1, "more", "list"): 30,
    ("hooks", "PreToolUse", 1, "more", "list", 0): 30,
    ("hooks", "PreToolUse", 1, "more", "list", 0, "y"): 31,
    ("hooks", "Post"): 32,
    ("hooks", "Post", 0): 32,
    ("late",): 35,
    ("late", "er"): 33,
    ("late", "er", "z"): 34,
    ("late", "w"): 36,
}


def test_every_value_of_a_document_has_its_line_and_nothing_else_has_one() -> None:
    tomllib.loads(TEXT)
    assert dict(locate(TEXT).lines) == LINES


def test_lines_that_end_as_on_windows_count_once() -> None:
    assert dict(locate(TEXT.replace("\n", "\r\n")).lines) == LINES


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("permissions", "deny", 99), 8),
        (("permissions", "nothing", "here"), 7),
        (("nothing",), 1),
        (("hooks", "PreToolUse", 1, "if"), 26),
    ],
    ids=["element", "table", "top", "hook"],
)
def test_what_is_not_there_has_the_line_of_what_would_contain_it(path: Path, line: int) -> None:
    assert locate(TEXT).line_of(path) == line


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("", (), 1),
        ("\n\n# only a comment", (), 1),
        ("\n\nx = 1", ("x",), 3),
        ('x = ""\ny = 1', ("y",), 2),
        ("x = ''\ny = 1", ("y",), 2),
        ('x = """"""\ny = 1', ("y",), 2),
        ('x = """a""""\ny = 1', ("y",), 2),
        ('x = """a"""""\ny = 1', ("y",), 2),
        ('x = """a\\\\"""\ny = 1', ("y",), 2),
        ('x = """a\\""""\ny = 1', ("y",), 2),
        ("x = ''''''\ny = 1", ("y",), 2),
        ("x = '''a'''''\ny = 1", ("y",), 2),
        ("x = 'a\\'\ny = 1", ("y",), 2),
        ('x = "a\\"]\\\\"\ny = 1', ("y",), 2),
        ('"a\\"b" = 1\n', ('a"b',), 1),
        ("'' = 1\n", ("",), 1),
        ("x=[\n\n\n1#]\n,\n\n2]", ("x", 1), 7),
        ("x = [[],\n[]]\ny=1", ("y",), 3),
        ("x = [{a=[1]},\n{a=[2,\n3]}]\ny=1", ("x", 1, "a", 1), 3),
        ("x = { y = { z = 1 } }\nw = 1", ("w",), 2),
        ("\tx\t=\t1\t\n\ty = 2", ("y",), 2),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_odd_ways_to_write_are_followed_to_their_end(text: str, path: Path, line: int) -> None:
    tomllib.loads(text)
    assert locate(text).line_of(path) == line
