"""The lines of values in settings, as people write them."""

import tomllib
from textwrap import dedent

from callgate.policy.settings import KeyPath, locate
from tests.rows import rows

TEXT = dedent(
    """\
    # a comment with [brackets] and a = sign
    mode = "plan"  # ] and more
    a.b . "c d" = 1

    [ permissions ]
    deny = [  # an array [ opens
      "Read(a]#)", 'Write([)', # , ]
      { rule = "Bash(x)", match = ["a", "b"] },
      "Read(b)",
    ]
    allow = ["Read(b)"]
    empty = []
    note = \"\"\"
    [not.a.table]
    \"\"\"
    [[hooks.PreToolUse]]
    command = "one"
    [[hooks.PreToolUse]]
    command = "two"
    [[ hooks . "Post" ]]
    [limits]
    max_turns = 3
    """
)

LINES: dict[KeyPath, int] = {
    (): 1,
    ("mode",): 2,
    ("a", "b", "c d"): 3,
    ("permissions",): 5,
    ("permissions", "deny"): 6,
    ("permissions", "deny", 0): 7,
    ("permissions", "deny", 1): 7,
    ("permissions", "deny", 2): 8,
    ("permissions", "deny", 2, "match"): 8,
    ("permissions", "deny", 3): 9,
    ("permissions", "allow", 0): 11,
    ("permissions", "empty"): 12,
    ("permissions", "note"): 13,
    ("hooks",): 16,
    ("hooks", "PreToolUse"): 16,
    ("hooks", "PreToolUse", 0): 16,
    ("hooks", "PreToolUse", 0, "command"): 17,
    ("hooks", "PreToolUse", 1): 18,
    ("hooks", "PreToolUse", 1, "command"): 19,
    ("hooks", "Post", 0): 20,
    ("limits", "max_turns"): 22,
    # What is not there has the line of what would contain it.
    ("permissions", "deny", 99): 6,
    ("permissions", "nothing", "here"): 5,
    ("nothing",): 1,
    ("hooks", "PreToolUse", 1, "if"): 18,
}


@rows(("path", "line"), LINES.items())
def test_a_value_has_its_line(path: KeyPath, line: int) -> None:
    for text in (TEXT, TEXT.replace("\n", "\r\n")):
        assert locate(text, tomllib.loads(text)).line_of(path) == line
