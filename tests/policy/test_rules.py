"""Rules as written: their grammar with positions, their self-tests, and which lines count."""

from typing import Any

import pytest

from callgate.policy.entries import RuleLine, SettingsFault
from callgate.policy.rules import EMPTY, Rule, Rulebook, make_rule, parse_rule
from callgate.policy.subjects import Subject
from callgate.words.decisions import Effect, Origin
from tests.policy.gate_kit import HOME, NOW, ROOT, book, case_of, line
from tests.rows import rows

HERE = Origin("user", "user.toml", 3)


def rule(text: str, effect: Effect = "deny", layer: str = "user", **more: Any) -> Rule:
    return make_rule(RuleLine(effect, text, Origin(layer), **more), root=ROOT, home=HOME)


def subject(name: str, /, **arguments: Any) -> Subject:
    return Subject(case_of(name, arguments), root=ROOT, home=HOME)


# ---- grammar ----------------------------------------------------------------------------------------------------


@rows(
    ("text", "parts"),
    [
        ("Bash", ("Bash", None)),
        ("Bash(git status)", ("Bash", "git status")),
        ("Bash(echo (a) b)", ("Bash", "echo (a) b")),
        ("Bash(echo :))", ("Bash", "echo :)")),
        ("Bash(a(b)", ("Bash", "a(b")),
        ("Edit( a )", ("Edit", " a ")),
        ("my-tool_2", ("my-tool_2", None)),
        ("*", ("*", None)),
        ("mcp__*", ("mcp__*", None)),
        ("mcp__db", ("mcp__db", None)),
        ("mcp__my_db__*", ("mcp__my_db__*", None)),
        ("mcp__db__query(table=users)", ("mcp__db__query", "table=users")),
        ("mcp__db__*(table=users)", ("mcp__db__*", "table=users")),
        ("Agent(explore)", ("Agent", "explore")),
        ("WebFetch(domain:example.com)", ("WebFetch", "domain:example.com")),
    ],
)
def test_a_rule_is_a_tool_with_or_without_content(text: str, parts: tuple[str, str | None]) -> None:
    assert parse_rule(text) == parts


@pytest.mark.spec("GATE-1")
@rows(
    ("text", "why"),
    [
        ("", "must start with the name of a tool, at character 1"),
        ("(x)", "must start with the name of a tool, at character 1"),
        (" Bash", "must start with the name of a tool, at character 1"),
        ("Bash (x)", "' ' is not allowed in the name of a tool, at character 5"),
        ("Bash ", "' ' is not allowed in the name of a tool, at character 5"),
        ("Bash*", "'*' is not allowed in the name of a tool, at character 5"),
        ("mcp__db__get_*", "'*' is not allowed in the name of a tool, at character 14"),
        ("mcp__db__", "mcp__db__ is not a tool: write mcp__db for all tools of the server, at character 1"),
        ("mcp__my_db__(a=1)", "write mcp__my_db for all tools of the server, at character 1"),
        ("*x", "'x' is not allowed in the name of a tool, at character 2"),
        ("Bash)", "')' is not allowed in the name of a tool, at character 5"),
        ("Bash(x", "the closing bracket is missing, at character 6"),
        ("Bash(x) ", "there is text after the closing bracket, at character 8"),
        ("Bash()", "the brackets at character 5 are empty"),
        ("Bash(  )", "the brackets at character 5 are empty"),
        ("*(x)", "matches any tool and cannot have a content, at character 2"),
        ("mcp__*(a=1)", "matches any tool and cannot have a content, at character 7"),
        ("Bash(r\u200bm:*)", "U+200B, at character 7"),
        ("Bash(rm\n)", "U+000A, at character 8"),
        ("Bash(\u202erm)", "U+202E, at character 6"),
        ("Bash(\ue000)", "U+E000, at character 6"),
        ("Bash(\ud800)", "U+D800, at character 6"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_position(text: str, why: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_rule(text)
    assert why in str(error.value)


@rows(
    ("text", "why"),
    [
        ("mcp__db__query(users)", "name=value, at character 16"),
        ("bash(rm:*)", "names of tools must be exact: write Bash, at character 1"),
        ("Bsh(ls)", "write Bash, at character 1"),
        ("read(x)", "write Read, at character 1"),
        ("Webfetch(domain:x.test)", "write WebFetch, at character 1"),
        ("deploy(to=)", "has no value at character 11"),
        ("WebFetch(domain:https://x.test)", "write only its host, such as example.com, at character 17"),
        ("WebFetch(domain:)", "'' is not a valid host"),
        ("Agent( explore)", "remove the blank before or after the type, at character 7"),
        ("Agent(explore )", "remove the blank before or after the type, at character 14"),
        ("Agent(type=explore)", "a rule for Agent must contain only the type: remove 'type=', at character 7"),
        ("Bash(git log:**)", "':*' has only one star: remove the other star, at character 15"),
        ("WebFetch(example.com)", "domain:example.com, at character 10"),
        ("WebFetch(domain)", "domain:example.com, at character 10"),
        ("WebFetch(host:example.com)", "domain:example.com, at character 10"),
    ],
)
def test_a_fault_in_the_content_has_its_position_in_the_rule(text: str, why: str) -> None:
    with pytest.raises(ValueError) as error:
        rule(text)
    assert why in str(error.value)


@rows("text", ["*", "mcp__*"])
def test_no_allow_rule_is_about_any_tool_at_all(text: str) -> None:
    with pytest.raises(ValueError):
        rule(text, "allow")
    assert rule(text, "ask")


# ---- which calls a rule is about --------------------------------------------------------------------------------


@rows(
    ("text", "tool", "named"),
    [
        ("Bash", "Bash", True),
        ("Bash", "bash", False),
        ("Bash", "BashOutput", False),
        ("*", "Anything", True),
        ("mcp__*", "mcp__db__query", True),
        ("mcp__*", "Bash", False),
        ("mcp__db", "mcp__db__query", True),
        ("mcp__db", "mcp__db", True),
        ("mcp__db", "mcp__db2__query", False),
        ("mcp__db", "mcp__db_2__query", False),
        ("mcp__db__*", "mcp__db__query", True),
        ("mcp__db__*", "mcp__other__query", False),
        ("mcp__db__query", "mcp__db__query", True),
        ("mcp__db__query", "mcp__db__query2", False),
        ("mcp__db__query", "mcp__db__query__x", False),
        ("my", "my__tool", False),
    ],
)
def test_a_rule_names_a_tool_or_the_tools_of_a_server(text: str, tool: str, named: bool) -> None:
    assert rule(text).names(tool) is named
    assert (rule(text).against(subject(tool)) is not None) is named


@rows(
    ("text", "tool", "arguments", "applies"),
    [
        ("Read(/.env)", "Read", {"file_path": ".env"}, True),
        ("Read(/.env)", "Grep", {"path": ".env"}, True),
        ("Read(/.env)", "Bash", {"command": "cat .env"}, True),
        ("Read(/.env)", "Edit", {"file_path": ".env"}, True),
        ("Read(/.env)", "Bash", {"command": "touch .env"}, False),
        ("Read(/.env)", "Read", {"file_path": "a.py"}, False),
        ("Edit(/src/**)", "Write", {"file_path": "src/a.py"}, True),
        ("Edit(/src/**)", "Bash", {"command": "rm src/a.py"}, True),
        ("Edit(/src/**)", "Bash", {"command": "echo x > src/a.py"}, True),
        ("Edit(/src/**)", "Read", {"file_path": "src/a.py"}, False),
        ("Edit(/src/**)", "Bash", {"command": "cat src/a.py"}, False),
        ("Write(/src/**)", "Write", {"file_path": "src/a.py"}, True),
        ("Write(/src/**)", "Edit", {"file_path": "src/a.py"}, False),
        ("Grep(/src/**)", "Grep", {"path": "src/deep"}, True),
        ("Grep(/src/**)", "Grep", {"path": "src"}, True),
        ("Grep(/src/**)", "Grep", {"path": "."}, False),
        ("Grep(/src/**)", "Read", {"file_path": "src/a.py"}, False),
        ("Edit", "Write", {"file_path": "a"}, True),
        ("Edit", "Read", {"file_path": "a"}, False),
        ("Edit", "Bash", {"command": "touch a"}, False),
        ("Read", "Glob", {}, True),
        ("Read", "Write", {"file_path": "a"}, False),
        ("Read", "Bash", {"command": "cat a"}, False),
        ("Write", "Edit", {"file_path": "a"}, False),
        ("Bash(rm:*)", "Bash", {"command": "rm a"}, True),
        ("Bash(rm:*)", "Bash", {"command": "ls"}, False),
        ("Bash(rm:*)", "Bash", {"command": ["rm", "a"]}, True),
        ("Bash(rm:*)", "Bash", {"command": 3}, False),
        ("Bash(rm:*)", "Other", {"command": "rm a"}, True),
        ("Bash(rm:*)", "Other", {"cmd": "rm a"}, True),
        ("Bash(rm:*)", "Other", {"text": "rm a"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://example.com/x"}, True),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://example.org/x"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://exa\u0000mple.com"}, True),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": 3}, True),
        ("WebFetch(domain:example.com)", "Other", {"url": "https://example.com/x"}, True),
        ("WebFetch(domain:example.com)", "Other", {"link": "https://example.com/x"}, False),
        ("Agent(explore)", "Agent", {"type": "explore"}, True),
        ("Agent(explore)", "Agent", {"subagent_type": "explore"}, True),
        ("Agent(explore)", "Agent", {"type": "plan", "agent": "explore"}, True),
        ("Agent(explore)", "Agent", {"type": "explorer"}, False),
        ("Agent(ex*)", "Agent", {"type": "explorer"}, True),
        ("Agent(general)", "Agent", {"prompt": "x"}, True),
        ("Agent(explore)", "Agent", {"prompt": "explore"}, False),
        ("mcp__db__query(table=users)", "mcp__db__query", {"table": "users"}, True),
        ("mcp__db__query(table=users)", "mcp__db__query", {"table": ["users"]}, True),
        ("mcp__db__query(table=users)", "mcp__db__query", {"x": {"table": "users"}}, False),
        ("mcp__db__query(table=users)", "mcp__db__insert", {"table": "users"}, False),
        ("mcp__db(table=users)", "mcp__db__insert", {"table": "users"}, True),
        ("Deploy(to=prod)", "Deploy", {"to": "prod"}, True),
        ("Deploy(to=prod)", "Deploy", {"to": "test"}, False),
    ],
)
def test_a_deny_rule_applies_to_what_the_call_is_about(
    text: str, tool: str, arguments: dict[str, Any], applies: bool
) -> None:
    assert (rule(text).against(subject(tool, **arguments)) is not None) is applies
    assert (rule(text, "ask").against(subject(tool, **arguments)) is not None) is applies


@rows(
    ("text", "tool", "arguments", "covered"),
    [
        ("Edit", "Edit", {"file_path": "a"}, True),
        ("Edit", "Write", {"file_path": "a"}, False),
        ("Agent(explore)", "Agent", {"type": "explore"}, True),
        ("Agent(explore)", "Agent", {"type": "explore", "agent": "plan"}, False),
        ("Agent(explore)", "Agent", {}, False),
        ("Agent(*)", "Other", {"type": "x"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://example.com/x"}, True),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://exa\u0000mple.com"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://example.org"}, False),
        ("mcp__db__query(table=users)", "mcp__db__query", {"table": "users"}, True),
        ("mcp__db__query(table=users)", "mcp__db__query", {"table": ["users"]}, False),
        ("mcp__db", "mcp__db__query", {}, True),
        ("Bash(git status)", "Bash", {"command": "git status"}, True),
        ("Bash(git status)", "Bash", {"command": "git log"}, False),
        ("Bash(git status)", "Bash", {"command": 3}, False),
    ],
)
def test_an_allow_rule_covers_no_more_than_it_says(
    text: str, tool: str, arguments: dict[str, Any], covered: bool
) -> None:
    assert rule(text, "allow").covers(subject(tool, **arguments)) is covered


def test_a_deny_rule_knows_a_tool_by_its_aliases_and_an_allow_rule_does_not() -> None:
    case = case_of("Shell")
    case.tool.aliases = ("Terminal",)  # pyright: ignore[reportAttributeAccessIssue]
    about = Subject(case, root=ROOT, home=HOME)
    assert rule("Terminal").against(about)
    assert not rule("Terminal", "allow").covers(about)


@rows(("expires_at", "counts"), [(None, True), (NOW + 1, True), (NOW, False), (NOW - 1, False)])
def test_a_rule_counts_until_it_expires(expires_at: float | None, counts: bool) -> None:
    about = subject("Deploy")
    assert (rule("Deploy", expires_at=expires_at).against(about) is not None) is counts
    assert rule("Deploy", "allow", expires_at=expires_at).covers(about) is counts
    assert rule("Deploy", expires_at=expires_at).is_active(NOW) is counts


@rows(
    ("layer", "reaches"),
    [
        ("managed", True),
        ("user", True),
        ("command line", True),
        ("project", False),
        ("local", False),
        ("session", False),
    ],
)
@pytest.mark.spec("GATE-3")
def test_which_layers_reach_outside_the_workspace(layer: str, reaches: bool) -> None:
    assert rule("Read", layer=layer).reaches is reaches


# ---- the rulebook -----------------------------------------------------------------------------------------------


def test_the_empty_rulebook_has_nothing() -> None:
    assert EMPTY.rules == ()
    assert EMPTY.faults == ()
    assert EMPTY.ignored == ()


def test_rules_are_kept_by_effect_and_ordered_by_layer_and_text() -> None:
    made = book(
        line("deny", "B", "session"),
        line("deny", "A", "session"),
        line("deny", "Z", "managed"),
        line("deny", "A", "command line"),
        line("deny", "M", "local"),
        line("deny", "N", "project"),
        line("deny", "O", "user"),
        line("ask", "C"),
        line("allow", "D"),
    )
    order = ["Z", "O", "N", "M", "A", "A", "B"]
    assert [each.text for each in made.denies] == order
    assert [each.text for each in made.rules] == [*order, "C", "D"]
    assert made.rules[0].origin == Origin("managed", "managed.toml", 1)


def test_a_rule_keeps_what_its_line_says() -> None:
    made = book(line("deny", "Deploy", expires_at=NOW + 5, note="not on Fridays")).denies[0]
    assert (made.tool, made.content, made.expires_at, made.note) == ("Deploy", None, NOW + 5, "not on Fridays")


@pytest.mark.spec("GATE-3")
@rows("layer", ["project", "local"])
def test_a_file_inside_the_repository_can_only_tighten(layer: str) -> None:
    made = book(line("allow", "Bash", layer), line("deny", "Read(/.env)", layer), line("ask", "Deploy", layer))
    assert [each.text for each in made.rules] == ["Read(/.env)", "Deploy"]
    (ignored,) = made.ignored
    assert ignored.line.text == "Bash"
    assert layer in ignored.why
    assert "add restrictions" in ignored.why


def test_a_line_that_has_expired_is_ignored_and_said_so() -> None:
    made = book(line("deny", "A", expires_at=NOW), line("deny", "B", expires_at=NOW + 1))
    assert [each.text for each in made.rules] == ["B"]
    assert made.ignored[0].why == "the rule has expired"


@pytest.mark.spec("GATE-3")
def test_a_line_that_cannot_be_read_is_a_fault_with_file_and_line() -> None:
    made = Rulebook.of([line("deny", "Bash(rm"), line("deny", "Deploy")], root=ROOT, home=HOME)
    (fault,) = made.faults
    assert str(fault).startswith("user.toml:1: the deny rule Bash(rm is invalid: the closing bracket is missing")
    assert [each.text for each in made.denies] == ["Deploy"]


def test_a_line_of_no_layer_is_a_fault() -> None:
    made = Rulebook.of([line("allow", "Bash", "somewhere")], root=ROOT, home=HOME)
    assert "'somewhere', which is not a layer" in made.faults[0].text
    assert made.rules == ()


def test_faults_found_while_reading_are_kept_first() -> None:
    before = SettingsFault("no such key", HERE)
    made = Rulebook.of([line("deny", "Bash(rm")], root=ROOT, home=HOME, faults=[before])
    assert made.faults[0] is before
    assert len(made.faults) == 2


def test_a_broken_allow_line_of_the_project_is_a_fault_like_any_other() -> None:
    assert Rulebook.of([line("allow", "Bash(", "project")], root=ROOT, home=HOME).faults


# ---- self-tests -------------------------------------------------------------------------------------------------

PASSING: list[tuple[Effect, str, tuple[str, ...], tuple[str, ...]]] = [
    (
        "allow",
        "Bash(git log:*)",
        ("git log", "git log --oneline"),
        ("git push", "git log; rm x", "gitlog", "git log > x"),
    ),
    ("deny", "Bash(rm:*)", ("rm x", "sudo rm x", "ls; rm x"), ("ls",)),
    ("ask", "Bash(git push:*)", ("git push",), ("git pull",)),
    ("deny", "Read(/secrets/**)", ("secrets/a", f"{ROOT}/secrets/b", "src/../secrets/a"), ("src/a", "/secrets/a")),
    ("deny", "Read(~/.aws/**)", ("~/.aws/credentials", f"{HOME}/.aws/x"), ("~/.bashrc",)),
    ("allow", "Edit(/src/**)", ("src/a.py",), ("docs/a.md", "src/../a.py")),
    ("deny", "mcp__db__query(table=users, mode=r*)", ("table=users, mode=read",), ("table=users", "table=x, mode=r")),
    ("allow", "WebFetch(domain:example.com)", ("example.com",), ("example.org", "example.com.evil.org")),
    ("ask", "Agent(ex*)", ("explore",), ("plan",)),
    ("deny", "mcp__db", ("mcp__db__query",), ("mcp__other__query", "Bash")),
    ("deny", "*", ("Anything",), ()),
]


@pytest.mark.spec("GATE-1")
@rows(("effect", "text", "match", "not_match"), PASSING, ids=[each[1] for each in PASSING])
def test_self_tests_that_hold_leave_no_fault(
    effect: Effect, text: str, match: tuple[str, ...], not_match: tuple[str, ...]
) -> None:
    assert book(line(effect, text, match=match, not_match=not_match)).rules


@pytest.mark.spec("GATE-1")
@rows(("effect", "text", "match", "not_match"), PASSING, ids=[each[1] for each in PASSING])
def test_self_tests_that_fail_are_faults(
    effect: Effect, text: str, match: tuple[str, ...], not_match: tuple[str, ...]
) -> None:
    for example in match:
        made = Rulebook.of([line(effect, text, not_match=(example,))], root=ROOT, home=HOME)
        assert f"not_match {example!r}: the rule covers it" in made.faults[0].text
        assert made.rules == ()
    for example in not_match:
        made = Rulebook.of([line(effect, text, match=(example,))], root=ROOT, home=HOME)
        assert f"match {example!r}: the rule does not cover it" in made.faults[0].text


def test_a_self_test_that_cannot_be_read_is_a_fault() -> None:
    made = Rulebook.of([line("deny", "Deploy(to=prod)", match=("prod",))], root=ROOT, home=HOME)
    assert "is invalid: match 'prod'" in made.faults[0].text


def test_a_self_test_of_the_root_itself_counts_as_inside() -> None:
    assert book(line("deny", "Read(//srv/app)", match=(".",))).rules
