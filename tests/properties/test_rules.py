"""Rules whatever they are: more denying never permits, no order matters, and spelling never opens anything."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.core.ports import Case, Hooked
from callgate.policy.entries import RuleLine
from callgate.policy.rules import Rulebook
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Effect, Origin, Pattern
from callgate.words.modes import MODES, Mode
from callgate.words.traits import Traits, reads, writes
from tests.policy.gate_kit import HOME, ROOT, case_of, outcome, shell

PERMITTED = {"deny": 0, "ask": 1, "allow": 2}
EFFECTS: tuple[Effect, ...] = ("deny", "ask", "allow")
LAYERS = ("managed", "user", "project", "local", "command line", "session")

PROGRAMS = ("git status", "git log", "git", "npm run", "rm", "echo", "cat", "ls", "touch", "python", "find")
PATHS = ("a.py", "src/a.py", "src/deep/b.py", ".env", "sub/.env", ".git/config", "/etc/hosts", "/tmp/x", "../up", "src")

contents = st.one_of(
    st.sampled_from(PROGRAMS).map(lambda program: f"Bash({program}:*)"),
    st.sampled_from(PROGRAMS).map(lambda program: f"Bash({program})"),
    st.sampled_from(PROGRAMS).map(lambda program: f"Bash({program} *)"),
    st.tuples(
        st.sampled_from(("Read", "Edit", "Write", "Grep")),
        st.sampled_from(("**", "/src/**", "/src/*.py", ".env", "//**", "//etc/**", "~/**", "/a.py", "src")),
    ).map(lambda parts: f"{parts[0]}({parts[1]})"),
    st.sampled_from(("Bash", "Read", "Edit", "Write", "Deploy", "mcp__db", "mcp__db__query", "WebFetch", "Agent")),
    st.sampled_from(("Deploy(to=prod)", "Deploy(to=*)", "mcp__db(table=users)", "Agent(ex*)", "Agent(general)")),
    st.sampled_from(("WebFetch(domain:example.com)", "WebFetch(domain:*.example.com)")),
)


def made(effect: Effect, text: str, layer: str) -> RuleLine:
    return RuleLine(effect, text, Origin(layer, "settings.toml", 1))


lines = st.builds(made, st.sampled_from(EFFECTS), contents, st.sampled_from(LAYERS))
denies = st.builds(made, st.just("deny"), contents, st.sampled_from(LAYERS))
allows = st.builds(made, st.just("allow"), contents, st.sampled_from(LAYERS))

simple = st.builds(
    lambda program, words: " ".join([program, *words]),
    st.sampled_from((*PROGRAMS, "sudo rm", "env ls", "sh -c ls", "$X", "FOO=1 ls")),
    st.lists(st.sampled_from((*PATHS, "-l", "-rf", "'a b'", '"x"', "$HOME", "*", "~", "{a,b}")), max_size=3),
)
commands = st.builds(
    lambda parts, joint, tail: joint.join(parts) + tail,
    st.lists(simple, min_size=1, max_size=3),
    st.sampled_from((" && ", "; ", " | ", " || ", "\n")),
    st.sampled_from(("", " > out.txt", " > /dev/null", " 2>&1", " $(rm x)", " 'unclosed", " &")),
)
policies = st.one_of(
    st.builds(ApprovalPolicy, st.sampled_from(EFFECTS), st.sampled_from(("Bash", "Write", "Read", "Deploy"))),
    st.builds(
        lambda effect, program: ApprovalPolicy(effect, "Bash", Pattern("prefix", program, "command")),
        st.sampled_from(EFFECTS),
        st.sampled_from(PROGRAMS),
    ),
    st.builds(
        lambda effect, path: ApprovalPolicy(effect, "Write", Pattern("glob", path, "file_path")),
        st.sampled_from(EFFECTS),
        st.sampled_from(("**", "src/**", "//tmp/**", "a.py")),
    ),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    more: dict[str, Any] = {
        "mode": draw(st.sampled_from(tuple(MODES))),
        "policies": draw(st.lists(policies, max_size=3)),
        "links": draw(st.sampled_from(({}, {f"{ROOT}/a.py": "/etc/hosts"}, {f"{ROOT}/src/a.py": f"{ROOT}/.env"}))),
    }
    path = st.sampled_from(PATHS)
    kind = draw(st.integers(0, 6))
    if kind <= 2:
        case = shell(draw(commands), **more)
    elif kind == 3:
        case = case_of(draw(st.sampled_from(("Read", "Write", "Edit", "Grep"))), {"file_path": draw(path)}, **more)
    elif kind == 4:
        case = case_of("Deploy", {"to": draw(st.sampled_from(("prod", "test", ["prod"], 1)))}, **more)
    elif kind == 5:
        effects = draw(st.sampled_from(("none", "idempotent", "mutating")))
        case = case_of("mcp__db__query", traits=Traits(effects, reads(draw(path)) | writes(draw(path))), **more)
    else:
        url = draw(st.sampled_from(("https://example.com/", "https://a.example.com/", "https://evil.org/", "x")))
        name = draw(st.sampled_from(("WebFetch", "Agent")))
        case = case_of(name, {"url": url, "type": "explore"}, **more)
    said = draw(st.sampled_from((None, Hooked("h", Allow("h")), Hooked("h", Ask("h")))))
    return replace(case, hooked=said)


def book(given_lines: list[RuleLine]) -> Rulebook:
    return Rulebook.of(given_lines, root=ROOT, home=HOME)


def permitted(case: Case, given_lines: list[RuleLine]) -> int:
    return PERMITTED[outcome(case, book(given_lines))]


@pytest.mark.spec("GATE-3")
@given(cases(), st.lists(lines, max_size=5), denies)
def test_one_more_deny_rule_never_makes_anything_more_permitted(
    case: Case, before: list[RuleLine], deny: RuleLine
) -> None:
    assert permitted(case, [*before, deny]) <= permitted(case, before)


@given(cases(), st.lists(lines, max_size=5), allows)
def test_one_more_allow_rule_never_permits_what_a_deny_rule_forbids(
    case: Case, before: list[RuleLine], allow: RuleLine
) -> None:
    if outcome(case, book(before)) == "deny":
        assert outcome(case, book([*before, allow])) == "deny"


@given(cases(), st.lists(lines, max_size=5), allows)
def test_one_more_allow_rule_of_the_repository_changes_nothing(
    case: Case, before: list[RuleLine], allow: RuleLine
) -> None:
    for layer in ("project", "local"):
        theirs = replace(allow, origin=Origin(layer, "settings.toml", 1))
        assert permitted(case, [*before, theirs]) == permitted(case, before)


@given(cases(), st.lists(lines, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_rules_and_answers_never_matters(case: Case, given_lines: list[RuleLine], random: Any) -> None:
    other_lines, other_policies = list(given_lines), list(case.policies)
    random.shuffle(other_lines)
    random.shuffle(other_policies)
    assert outcome(replace(case, policies=other_policies), book(other_lines)) == outcome(case, book(given_lines))


@given(cases(), st.lists(lines, max_size=5))
def test_plan_mode_never_allows_effects(case: Case, given_lines: list[RuleLine]) -> None:
    planning = replace(case, mode="plan")
    effects = planning.traits.effects if planning.name != "Bash" else planning.tool.traits(planning.arguments).effects
    if effects != "none":
        assert outcome(planning, book(given_lines)) == "deny"


@given(cases(), st.lists(lines, max_size=5))
def test_a_hook_that_allows_never_permits_what_rules_forbid_or_ask_about(
    case: Case, given_lines: list[RuleLine]
) -> None:
    silent = replace(case, hooked=None)
    deciding = [line for line in given_lines if line.effect != "allow"]
    hooked = replace(case, hooked=Hooked("h", Allow("h")))
    if outcome(replace(silent, mode="bypass"), book(deciding)) != "allow":
        assert outcome(hooked, book(deciding)) != "allow"


plain_words = st.lists(st.sampled_from(("a.py", "src", "-l", "x y", "it's", "$HOME", "~", "*", "", "b")), max_size=3)


def quoted(word: str, how: str) -> str:
    """The word, spelled in one of the ways the shell takes for the same word."""
    if how == "single":
        return "'" + word.replace("'", "'\\''") + "'"
    if how == "double":
        return '"' + "".join(f"\\{letter}" if letter in '"$`\\' else letter for letter in word) + '"'
    if how == "backslash" and word:
        return "".join(f"\\{letter}" for letter in word)
    return "".join(f"'{letter}'" if letter != "'" else "\\'" for letter in word) or "''"


@given(
    st.sampled_from(("git status", "git log", "echo", "cat", "ls", "touch", "rm")),
    plain_words,
    st.lists(st.sampled_from(("single", "double", "backslash", "letters")), min_size=8, max_size=8),
    st.lists(lines, max_size=5),
    st.sampled_from(tuple(MODES)),
)
def test_quoting_a_command_in_another_way_never_turns_ask_into_allow(
    program: str, words: list[str], ways: list[str], given_lines: list[RuleLine], mode: Mode
) -> None:
    plain = " ".join([*program.split(), *(quoted(word, "single") for word in words)])
    every = [*program.split(), *words]
    other = " ".join(quoted(word, how) for word, how in zip(every, ways, strict=False))
    assert permitted(shell(other, mode=mode), given_lines) <= permitted(shell(plain, mode=mode), given_lines)


@given(
    st.sampled_from(("{0}=rm; ${0} x", "echo ${0}", "cat ${{{0}}}", "for {0} in a b; do ls ${0}; done", "{0}=1 ls")),
    st.sampled_from(("A", "B", "FILE", "x", "something", "IFS", "PATH")),
    st.lists(lines, max_size=5),
    st.sampled_from(tuple(MODES)),
)
def test_renaming_a_variable_never_turns_ask_into_allow(
    template: str, name: str, given_lines: list[RuleLine], mode: Mode
) -> None:
    # From a name that no program reads as a setting: only with such a name a loop is read as its commands.
    before, after = template.format("item"), template.format(name)
    assert permitted(shell(after, mode=mode), given_lines) <= permitted(shell(before, mode=mode), given_lines)
