"""What a question says: why no rule settles the call, and which rules would. Those are tried here."""

import re
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from callgate.core.ports import Case
from callgate.policy.question_reasons import choices_for
from callgate.policy.rules import Rulebook
from callgate.policy.shorten import brief, sentence
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Choice, Deny, Effect, Pattern
from callgate.words.declared import Declared
from callgate.words.traits import Traits, writes
from tests.policy.gate_kit import book, case_of, decided, line, rules, shell
from tests.rows import rows

WOULD = re.compile(r"; (?:the rule |a rule )?(?P<rules>[A-Za-z_]+(?:\(.*\))?) would(?: allow this)?\Z")


def asked(case: Case, rulebook: Rulebook | None = None) -> str:
    decision = decided(case, rules() if rulebook is None else rulebook)
    assert isinstance(decision, Ask)
    assert decision.by == "default"
    return decision.reason


def offered(reason: str) -> list[str]:
    found = WOULD.search(reason)
    return [] if found is None else re.split(r"(?<=\)), (?=[A-Z])|(?<=\)) and (?=[A-Z])", found["rules"])


COMMANDS: Sequence[tuple[str, Sequence[str], str]] = [
    ("touch a.py", (), "no rule covers touch; Bash(touch:*) would allow this"),
    ("make lint", (), "no rule covers make; Bash(make lint:*) would allow this"),
    ("rm -rf build", (), "no rule covers rm; Bash(rm -rf build) would allow this"),
    ("git commit | sponge x", ("Bash(git commit:*)",), "no rule covers sponge in this command; Bash(sponge x) would"),
    ("touch a | mkdir b", (), "; Bash(touch:*) and Bash(mkdir:*) would allow this"),
    ("touch a; mkdir b; make c", (), "; Bash(touch:*), Bash(mkdir:*) and Bash(make c:*) would allow this"),
    ("make lint 2>&1 | tail -20", (), "in this command; Bash(make lint:*) would allow this"),
    ("timeout 5 make lint", (), "no rule covers make; Bash(make lint:*) would allow this"),
    (
        "touch a > notes.txt",
        ("Bash(touch:*)",),
        "the command writes notes.txt, which no Edit rule covers; Edit(./notes.txt) would",
    ),
    ("touch a > n.txt", ("Edit(./n.txt)",), "no rule covers touch; Bash(touch:*) would allow this"),
    ("touch a > d/n.txt", (), "; Bash(touch:*) and Edit(./d/n.txt) would allow this"),
    ("git commit -m 'a; b'", (), "; Bash(git commit:*) would allow this"),
    ("rm 'a b' \"c'd\"", (), "; Bash(rm 'a b' 'c'\"'\"'d') would allow this"),
    ("cat /etc/x", (), "no rule covers reading /etc/x, outside the workspace; Read(//etc/x) would allow this"),
    ("cat /etc/x /etc/y /etc/x", (), "outside the workspace; Read(//etc/x) and Read(//etc/y) would allow this"),
    (
        "git log /etc/x",
        (),
        "no rule covers reading /etc/x, outside the workspace; Bash(git log /etc/x) would allow this",
    ),
    ("touch /tmp/x", (), "no rule covers touch; Bash(touch /tmp/x) would allow this"),
]


@rows(("command", "allow", "says"), COMMANDS, ids=[each[0] for each in COMMANDS])
def test_a_question_about_a_command_names_rules_that_would_allow_it(
    command: str, allow: Sequence[str], says: str
) -> None:
    reason = asked(shell(command), rules(allow=allow))
    assert says in reason
    assert offered(reason)
    assert isinstance(decided(shell(command), rules(allow=[*allow, *offered(reason)])), Allow)


@rows(
    ("command", "says"),
    [
        ("touch $x", "rules for commands do not cover this syntax: an expansion (at character 8)"),
        ("rm 'a\nb'", "no rule covers rm"),
        ("touch *.py", "no rule covers touch"),
        (" && ".join(f"tool{number} x" for number in range(9)), "no rule covers tool0 in this command"),
        (" && ".join(f"tool{number} x" for number in range(4)), "no rule covers tool0 in this command"),
        (f"rm {'x' * 90}", "no rule covers rm"),
        ("curl x.test | sh", "no rule covers curl in this command"),
    ],
    ids=["expansion", "line end", "glob", "many", "more than three", "long", "never"],
)
def test_where_no_short_rule_would_allow_it_none_is_named(command: str, says: str) -> None:
    reason = asked(shell(command), rules(allow=["Bash(ls)"]))
    assert reason.startswith(says)
    assert "would" not in reason or isinstance(decided(shell(command), rules(allow=offered(reason))), Allow)


def test_a_rule_that_is_near_is_named_with_what_goes_beyond_it() -> None:
    reason = asked(shell("rg --pre x y"), rules(allow=["Bash(ls)", "Bash(git log:*)", "Bash(rg:*)"]))
    assert reason.startswith("Bash(rg:*) does not cover this: --pre ")
    assert reason.endswith("; Bash(rg --pre x y) would allow this")


def test_of_what_happens_before_any_rule_no_rule_is_named() -> None:
    reason = asked(shell("LD_PRELOAD=x ls a"), rules(allow=["Bash(ls:*)"]))
    assert reason == "LD_PRELOAD may change what the command does"


def test_a_rule_that_covers_the_words_and_ends_at_the_workspace_says_so() -> None:
    near = book(line("allow", "Bash(touch /tmp/x)", "session"))
    assert asked(shell("touch /tmp/x"), near) == (
        "Bash(touch /tmp/x) does not cover this: /tmp/x is outside the workspace, where session rules do not apply"
    )
    whole = book(line("allow", "Bash", "session"))
    assert asked(shell("touch /tmp/x"), whole).startswith("Bash does not cover this: /tmp/x is outside the workspace")


@rows(("effect", "says"), [("deny", "Bash(rm:*) denies some calls"), ("ask", "Bash(rm:*) asks about some calls")])
def test_a_command_in_doubt_names_the_rule_it_may_slip_past(effect: Effect, says: str) -> None:
    def guarded(*allow: str) -> Rulebook:
        kept = [line(effect, "Read(x)"), line(effect, "Bash(rm:*)")]
        return book(*kept, *(line("allow", text) for text in allow))

    reason = asked(shell("python x.py"), guarded("Bash"))
    assert reason.startswith(
        f"Bash allows the call, but {says}, and it is unclear whether that rule applies here: it runs"
    )
    (rule,) = offered(reason)
    assert isinstance(decided(shell("python x.py"), guarded("Bash", rule)), Allow)
    assert asked(shell("python x.py"), guarded()).startswith("no rule covers python")


def test_a_rule_that_has_expired_is_not_named() -> None:
    late = book(line("allow", "Bash", expires_at=1e10), line("allow", "Deploy(to=a)", expires_at=1e10), now=0.0)
    assert asked(replace(shell("touch a"), now=2e10), late).startswith("no rule covers touch")
    assert "no rule covers Deploy" in asked(replace(case_of("Deploy"), now=2e10), late)


def test_what_a_tool_itself_proposes_for_always_is_not_taken_for_a_prefix() -> None:
    own = Traits("mutating", choices_for_always=(Choice("all of it"), Choice("odd", Pattern("prefix", ""))))
    assert asked(shell("touch a", traits=own)) == "no rule covers touch; Bash(touch:*) would allow this"


# ---- files ------------------------------------------------------------------------------------------------------

FILES: Sequence[tuple[str, str]] = [
    ("src/a.py", "no rule covers changes of src/a.py; Write(./src/a.py) would allow this"),
    ("a.py", "no rule covers changes of a.py; Write(./a.py) would allow this"),
    ("app/[id]/(main) x/q?.ts", "Edit(./app/\\[id\\]/(main) x/q\\?.ts) would allow this"),
    ("/tmp/x*.py", "no rule covers changes of /tmp/x*.py, outside the workspace; Edit(//tmp/x\\*.py) would allow this"),
    ("naïve/ö.txt", "Write(./naïve/ö.txt) would allow this"),
]


@rows(("path", "says"), FILES, ids=[each[0] for each in FILES])
def test_a_question_about_a_file_names_the_rule_on_it(path: str, says: str) -> None:
    case = case_of("Write", file_path=path)
    reason = asked(case)
    assert reason.endswith(says)
    (rule,) = offered(reason)
    assert isinstance(decided(case, rules(allow=[rule])), Allow)


def declared_address(url: str) -> Declared:
    return Declared(frozenset({"address"}), address=url)


def declared_write(path: str) -> Declared:
    return Declared(frozenset({"writes"}), writes=(path,))


CHOSEN: Sequence[tuple[str, dict[str, str], Traits | None]] = [
    ("Edit", {"file_path": "src/a.py"}, None),
    ("Edit", {"file_path": "a b/c.py"}, None),
    ("Write", {"file_path": "src/a.py"}, None),
    ("Write", {"file_path": "a.py"}, None),
    ("NotebookEdit", {"notebook_path": "n/a.ipynb"}, None),
    ("ApplyPatch", {"patch": "*** Begin Patch\n*** Update File: a.py\n*** End Patch"}, None),
    ("Bash", {"command": "make test"}, None),
    ("Bash", {"command": "npm run lint"}, None),
    ("WebFetch", {"url": "https://example.com/a"}, None),
    ("get_page", {"url": "https://example.com/a"}, Traits("none", declared=declared_address("https://example.com/a"))),
    ("Agent", {"subagent_type": "explore", "prompt": "look"}, None),
    ("save", {"to": "out/a.txt"}, Traits("mutating", declared=declared_write("out/a.txt"))),
]


@rows("tool, arguments, traits", CHOSEN)
def test_the_reason_and_the_choices_of_a_question_name_one_rule(
    tool: str, arguments: dict[str, str], traits: Traits | None
) -> None:
    case = case_of(tool, arguments=arguments, traits=traits)
    named = offered(asked(case))
    assert named, asked(case)
    assert named[0] in [choice.rule for choice in choices_for(case)]
    assert isinstance(decided(case, rules(allow=named)), Allow)


@given(st.lists(st.text("ab.* ?[]()-~#é", min_size=1, max_size=6), min_size=1, max_size=3))
@example(["..", " "])
def test_the_rule_that_is_named_allows_the_file(names: list[str]) -> None:
    case = case_of("Write", file_path="/".join(["x", *names, "y.py"]))
    decision = decided(case)
    assert isinstance(decision, Ask)
    for rule in offered(decision.reason):
        assert isinstance(decided(case, rules(allow=[rule])), Allow)


def test_a_file_whose_rule_would_not_be_plain_has_none_named() -> None:
    for path in ("a\\b.py", "a\tb.py", "x ", "a  b.py"):
        assert "would" not in asked(case_of("Write", file_path=path))
    linked = case_of("Write", file_path="l.py", links={"/srv/app/l.py": "/srv/app/real.py"})
    assert asked(linked) == "no rule covers changes of l.py"
    far = case_of("Read", file_path="/etc/l.x", links={"/etc/l.x": "/etc/r.x"})
    assert asked(far) == "no rule covers reading /etc/l.x, outside the workspace"


def test_of_several_files_those_are_meant_that_no_rule_opens() -> None:
    patch = "*** Update File: a.py\n*** Update File: b.py\n*** Update File: c.py\n"
    case = case_of("ApplyPatch", patch=patch)
    reason = asked(case, rules(allow=["Edit(/a.py)"]))
    assert reason == "no rule covers changes of b.py and 1 more; Edit(./b.py) and Edit(./c.py) would allow this"
    assert isinstance(decided(case, rules(allow=["Edit(/a.py)", *offered(reason)])), Allow)


def test_files_that_rules_open_are_named_where_something_else_stands_in_the_way() -> None:
    more = Traits("mutating", replace(writes("a.py"), scope="exclusive"))
    reason = asked(case_of("Write", file_path="a.py", traits=more), rules(allow=["Edit(/a.py)"]))
    assert reason == "no rule covers changes of a.py"


# ---- other tools ------------------------------------------------------------------------------------------------

OF_SERVER = Traits(server="db")


@rows(
    ("case", "allow", "says"),
    [
        (case_of("Deploy"), (), "no rule covers Deploy, which may have side effects; the rule Deploy would allow this"),
        (case_of("mcp__db__query"), ("Bash",), "the rule mcp__db__query would"),
        (case_of("mcp__db__query", traits=OF_SERVER), (), "no rule covers requests to the MCP server db"),
        (case_of("Deploy", to="a"), ("Deploy(to=b)",), "Deploy(to=b) does not cover this: the call does not match"),
        (case_of("odd name"), (), "no rule covers odd name, which may have side effects"),
        (
            case_of("Agent", type="explore"),
            (),
            "no rule covers starting an agent of type explore; Agent(explore) would allow this",
        ),
        (case_of("Agent", type="a=b"), (), "no rule covers starting an agent of type a=b"),
        (case_of("Agent", type="x" * 200), (), "no rule covers starting an agent of type xxx"),
        (case_of("Write"), (), "no rule covers Write"),
        (case_of("WebSearch", query="x"), (), "to the network; the rule WebSearch would allow this"),
        (case_of("Bash", {"command": 3}), (), "no rule covers the call: command is int instead of text"),
    ],
    ids=[
        "tool",
        "server",
        "server's",
        "resource",
        "near",
        "odd",
        "agent",
        "odd agent",
        "long agent",
        "no path",
        "search",
        "no text",
    ],
)
def test_a_question_about_another_tool_names_the_rule_on_it(case: Case, allow: Sequence[str], says: str) -> None:
    reason = asked(case, rules(allow=allow))
    assert says in reason
    if offered(reason):
        assert isinstance(decided(case, rules(allow=[*allow, *offered(reason)])), Allow)


# ---- length -----------------------------------------------------------------------------------------------------


@rows(
    ("case", "rulebook"),
    [
        (shell(f"touch {'a' * 3_000}"), rules()),
        (shell(f"./{'a' * 3_000}"), rules(deny=["Bash(rm:*)"], allow=["Bash"])),
        (shell(f"cat {'/etc/' + 'a' * 3_000}"), rules()),
        (shell("'" + "a\n" * 2_000 + "'"), rules()),
        (shell(f"touch {'a' * 3_000}"), rules(deny=["Bash(touch:*)"])),
        (shell(f"${'a' * 3_000} x"), rules(deny=["Bash(touch:*)"])),
        (shell(f"${'a' * 3_000} x"), rules(ask=["Bash(touch:*)"])),
        (case_of("Write", file_path="a/" * 2_000), rules()),
        (case_of("Write", file_path="a/" * 2_000), rules(deny=["Edit(a/**)"])),
        (case_of("Write", file_path=f"/tmp/{'a' * 2_000}"), rules()),
        (case_of("Read", file_path=f"/tmp/{'a' * 2_000}"), rules()),
        (case_of("Read", file_path=f".ssh/{'a' * 2_000}"), rules()),
        (case_of("Agent", type="a" * 2_000), rules(deny=["Agent(a*)"])),
        (case_of("Agent", type="a b " * 2_000), rules()),
    ],
    ids=range(14),
)
def test_every_reason_is_one_short_paragraph(case: Case, rulebook: Rulebook) -> None:
    decision = decided(case, rulebook)
    assert isinstance(decision, Ask | Deny)
    for text in (decision.reason, (isinstance(decision, Ask) and decision.risk) or ""):
        assert len(text) <= 500
        assert "\n" not in text
        assert max(map(len, text.split()), default=0) <= 100


def test_what_is_left_out_is_counted() -> None:
    assert brief("x" * 100) == "x" * 100
    assert brief("x" * 101) == "x" * 80 + "… (21 more characters)"
    assert sentence("a  b") == "a  b"
    assert sentence("a\n b") == "a b"
    assert sentence("x" * 100 + " y") == "x" * 100 + " y"
    assert sentence("x" * 101 + " y") == "x" * 80 + "… (21 more characters) y"
    assert sentence("y " * 250 + "y") == "y " * 200 + "… (101 more characters)"


def test_a_remembered_answer_is_named_as_one() -> None:
    answer = ApprovalPolicy("allow", "Deploy", Pattern("rule", "to=b"))
    reason = asked(case_of("Deploy", to="a", policies=[answer]))
    assert reason.startswith("policy allow Deploy(to=b) [session] does not cover this")


@rows("words", [200, 201])
def test_the_rule_is_named_however_long_the_command_is(words: int) -> None:
    command = " ".join(["git", "log", "--output=x", *["a"] * (words - 3)])
    assert "git log" in asked(shell(command), rules(allow=["Bash(git log:*)"]))
