"""``callgate policy explain`` and ``check``: why a call is decided as it is, and whether settings can be relied on."""

import json
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.terminal import width
from tests.cli.policy_kit import Person
from tests.cli.session_kit import BAD

SETTINGS = """\
[permissions]
allow = ["Bash(git log:*)"]
ask = ["Bash(git push:*)"]
deny = [
    { rule = "Bash(rm:*)", match = ["rm -rf x"], not_match = ["ls"], note = "use trash" },
]
"""


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    return Person(tmp_path, monkeypatch, capsys)


def explained(person: Person, *words: str) -> dict[str, Any]:
    (line,) = person.good("policy", "explain", *words, "--json").lines
    return json.loads(line)


# ---- explain ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-1")
def test_the_whole_chain_is_printed(person: Person) -> None:
    person.has_no_sandbox()
    file = person.user(SETTINGS)
    lines = person.good("policy", "explain", "Bash", "rm -rf build").lines
    assert lines[:4] == ["Bash", "  command: rm -rf build", f"deny  by Bash(rm:*) (user, {file}:5)", "      use trash"]
    assert lines[4:7] == ["checks, in order", "  - settings: nothing", "  > deny rules: deny, use trash"]
    assert "  - default: not reached" in lines
    assert lines[lines.index("rules about Bash") + 1 :] == [
        f"  +  deny Bash(rm:*) (user, {file}:5)",
        "      applies: rm -rf build matches rm:*",
        f"  -  ask Bash(git push:*) (user, {file}:3)",
        "      does not apply: no command of the call matches the rule",
        f"  -  allow Bash(git log:*) (user, {file}:2)",
        "      does not apply: no rule covers rm",
    ]


@pytest.mark.spec("GATE-1")
def test_programs_get_the_chain_too(person: Person) -> None:
    file = person.user(SETTINGS)
    found = explained(person, "Bash", "git log -1")
    assert found["tool"] == "Bash"
    assert found["arguments"] == {"command": "git log -1"}
    assert (found["mode"], found["root"]) == ("default", str(person.work))
    assert (found["decision"], found["rule"], found["layer"]) == ("allow", "Bash(git log:*)", "user")
    assert (found["file"], found["line"]) == (str(file), 2)
    decided = [step["check"] for step in found["checks"] if step["decided"]]
    assert decided == ["allow rules"]
    assert [(rule["effect"], rule["applies"]) for rule in found["rules"]] == [
        ("deny", False),
        ("ask", False),
        ("allow", True),
    ]


@pytest.mark.parametrize(
    ("tool", "content", "arguments"),
    [
        ("Bash", "ls", {"command": "ls"}),
        ("Read", "a.py", {"file_path": "a.py"}),
        ("Edit", "a.py", {"file_path": "a.py"}),
        ("Grep", "src", {"path": "src"}),
        ("NotebookEdit", "a.ipynb", {"notebook_path": "a.ipynb"}),
        ("WebFetch", "https://example.com/", {"url": "https://example.com/"}),
        ("WebSearch", "news", {"query": "news"}),
        ("Agent", "explore", {"type": "explore"}),
    ],
)
def test_content_is_what_rules_on_the_tool_are_about(
    person: Person, tool: str, content: str, arguments: dict[str, str]
) -> None:
    assert explained(person, tool, content)["arguments"] == arguments


def test_rules_on_each_kind_of_content_decide(person: Person) -> None:
    person.user('[permissions]\nallow = ["WebFetch(domain:example.com)", "Agent(explore)", "Edit(src/**)"]')
    assert explained(person, "WebFetch", "https://example.com/x")["decision"] == "allow"
    assert explained(person, "WebFetch", "https://example.org/x")["decision"] == "ask"
    assert explained(person, "Agent", "explore")["decision"] == "allow"
    assert explained(person, "Write", "src/a.py")["rule"] == "Edit(src/**)"


def test_other_arguments_are_given_by_name_or_all_at_once(person: Person) -> None:
    person.user('[permissions]\nallow = ["mcp__db__query(table=users, limit=5)"]')
    words = ("mcp__db__query", "--argument", "table=users", "--argument", "limit=5")
    found = explained(person, *words)
    assert (found["decision"], found["arguments"]) == ("allow", {"table": "users", "limit": "5"})
    found = explained(person, "mcp__db__query", "--arguments", '{"table": "users", "limit": 5}')
    assert (found["decision"], found["arguments"]["limit"]) == ("allow", 5)
    found = explained(person, "Bash", "ls", "--argument", "cwd=src", "--argument", "x=a=b")
    assert found["arguments"] == {"command": "ls", "cwd": "src", "x": "a=b"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "the following arguments are required: TOOL"),
        (("Bash", "ls", "--argument", "x"), "must be NAME=VALUE, not 'x'"),
        (("Bash", "ls", "--argument", "=x"), "must be NAME=VALUE, not '=x'"),
        (("X", "--argument", "a=1", "--argument", "a=2"), "the argument 'a' is given twice"),
        (
            ("X", "--argument", "a=1", "--arguments", "{}"),
            "--arguments cannot be combined with the content or --argument",
        ),
        (("Bash", "ls", "--arguments", "{}"), "--arguments cannot be combined with the content or --argument"),
        (("Bash", "ls", "--arguments", "["), "is not JSON"),
        (("Bash", "ls", "--mode", "bypas"), "there is no 'bypas'; did you mean bypass?"),
        (("bash", "ls"), "give its arguments with --argument NAME=VALUE; did you mean Bash?"),
        (("mcp__a__b", "x"), "which argument of mcp__a__b this is, is not known"),
        (("Bash", "rm", "-rf"), "-rf is not known here"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_fault_of_the_words_is_one_line(person: Person, words: tuple[str, ...], said: str) -> None:
    assert said in person.bad(2, "policy", "explain", *words)


def test_a_name_that_is_nearly_a_known_one_is_pointed_out(person: Person) -> None:
    ran = person.run("policy", "explain", "websearch", "--json")
    assert ran.code == 0
    assert ran.err == "callgate: websearch is an unknown tool and is judged as such; did you mean WebSearch?\n"
    assert json.loads(ran.out)["decision"] == "ask"


def test_the_mode_is_that_of_the_settings_unless_given(person: Person) -> None:
    person.user('mode = "plan"')
    assert explained(person, "Bash", "make")["by"] == "mode plan"
    assert explained(person, "Bash", "make", "--mode", "bypass")["by"] == "mode bypass"


def test_the_managed_mode_stands_whatever_is_given(person: Person) -> None:
    person.managed.write_text('mode = "plan"')
    found = explained(person, "Bash", "make", "--mode", "bypass")
    assert (found["mode"], found["by"]) == ("plan", "mode plan")


def test_a_question_that_is_not_put_is_a_step_of_its_own(person: Person) -> None:
    person.has_no_sandbox()
    found = explained(person, "Bash", "make", "--mode", "dont_ask")
    assert (found["decision"], found["rule"], found["by"]) == ("deny", None, "mode dont_ask")
    asked, refused = found["checks"][-2:]
    assert (asked["check"], asked["decided"]) == ("default", False)
    assert (refused["check"], refused["decided"]) == ("mode dont_ask", True)
    assert explained(person, "Bash", "ls", "--mode", "dont_ask")["checks"][-1]["check"] == "default"


def test_hooks_are_named_and_not_run(person: Person) -> None:
    ran = person.work / "ran"
    person.user(f'[[hooks.PreToolUse]]\ncommand = "touch {ran}"\nif = "Bash(make:*)"')
    found = explained(person, "Bash", "make")
    assert {"check": "hooks", "said": "decides only when the call is made", "decided": False} in found["checks"]
    assert not ran.exists()
    found = explained(person, "Bash", "ls")
    assert {"check": "hooks", "said": "nothing", "decided": False} in found["checks"]


def test_remembered_answers_count(person: Person) -> None:
    person.good("policy", "add", "deny", "Bash(make:*)", "--note", "not now")
    found = explained(person, "Bash", "make all")
    assert (found["decision"], found["why"], found["layer"]) == ("deny", "not now", "project")
    assert found["rule"] == "policy deny Bash(make:*) [project]"
    lines = person.good("policy", "explain", "Bash", "make all").lines
    assert lines[2] == "deny  by policy deny Bash(make:*) [project]"  # its name has the effect and the scope already
    assert lines[-2:] == ["  +  policy deny Bash(make:*) [project]", "      applies: make all matches make:*"]


def test_the_risk_is_shown(person: Person) -> None:
    lines = person.good("policy", "explain", "Bash", "cat ~/.ssh/id_rsa").lines
    assert lines[2] == "ask  by hard safety"
    assert any(line.startswith("  risk: ") for line in lines)


def test_another_folder_can_be_meant(person: Person) -> None:
    other = person.work / "other"
    other.mkdir()
    assert explained(person, "Bash", "ls", "--root", "other")["root"] == str(other)
    assert "is not a folder" in person.bad(1, "policy", "explain", "Bash", "ls", "--root", "none")


def test_broken_settings_are_what_decides(person: Person) -> None:
    file = person.user("mode = 'bypas'")
    found = explained(person, "Bash", "ls", "--mode", "bypass")
    assert (found["decision"], found["by"], found["rule"], found["file"]) == ("deny", "settings", None, str(file))


def test_nothing_in_a_call_steers_the_terminal_and_all_fits(person: Person) -> None:
    person.set("COLUMNS", "60")
    person.user(SETTINGS)
    evil = "rm \x1b[2J \u202e" + "x" * 2_000 + "\n" * 30
    out = person.good("policy", "explain", "Bash", evil).out
    assert not BAD.search(out)
    assert "\u202e" not in out
    assert "<U+001B>[2J <U+202E>" in out
    assert " more characters>" in out.replace("\n    ", "")
    assert max(map(width, out.splitlines())) <= 60


# ---- check --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-1")
def test_sound_settings_are_summed_up(person: Person) -> None:
    file = person.user('mode = "plan"\n' + SETTINGS)
    person.managed.write_text('[permissions]\ndeny = ["WebFetch"]\n[[hooks.Stop]]\ncommand = "true"')
    person.good("policy", "add", "allow", "Bash(make)")
    assert person.good("policy", "check").lines == [
        f"workspace {person.work}, not trusted",
        f"mode plan (user, {file}:1)",
        "4 rules (1 managed, 3 user), 2 self-tests, 1 hook, 1 remembered answer",
        "nothing is wrong",
    ]


def test_no_settings_are_sound(person: Person) -> None:
    lines = person.good("policy", "check").lines
    assert lines[1:] == ["mode default", "0 rules, 0 self-tests, 0 hooks, 0 remembered answers", "nothing is wrong"]


@pytest.mark.spec("GATE-3")
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("mode = 'bypas'", 1, "mode must be one of default"),
        ("\n[permissions]\nalow = []", 3, "did you mean allow?"),
        ("[permissions]\ndeny = ['Bash(ls']", 2, "the deny rule Bash(ls is invalid: the closing bracket"),
        ("[permissions]\ndeny = [\n{rule = 'Bash(rm:*)', match = ['ls']}]", 3, "a self-test of Bash(rm:*) fails"),
        ("[[hooks.Stop]]\n", 1, "a hook must have exactly one of command, python and url"),
        ("x =", 1, "this is not TOML"),
    ],
    ids=["mode", "key", "rule", "self-test", "hook", "toml"],
)
def test_what_is_wrong_is_told_with_file_and_line(person: Person, text: str, line: int, said: str) -> None:
    for written in (person.user, person.project):
        file = written(text)
        ran = person.run("policy", "check")
        assert (ran.code, ran.err) == (1, "")
        whole = " ".join(ran.out.split())
        assert "1 fault: every call is denied until this is fixed" in whole
        assert f"{file}:{line}: " in whole
        assert said in whole
        file.unlink()


@pytest.mark.spec("GATE-3")
def test_a_file_that_cannot_be_read_is_a_fault(person: Person) -> None:
    (person.config / "settings.toml").mkdir()
    ran = person.run("policy", "check")
    assert ran.code == 1
    assert "this cannot be read (it is a folder)" in ran.out


@pytest.mark.spec("GATE-3")
def test_what_is_ignored_is_told_with_the_reason(person: Person) -> None:
    person.user('[permissions]\nallow = [{rule = "Bash(make)", expires = 2020-01-01}]')
    person.project('mode = "bypass"\n[permissions]\nallow = ["Bash"]\n[[hooks.Stop]]\ncommand = "true"')
    out = " ".join(person.good("policy", "check").out.split())
    assert "4 notes: ignored, or probably not intended" in out
    assert "settings.toml:3: allow rules are ignored, because a repository can only add restrictions" in out
    assert "settings.toml:4: hooks are not run until you trust this folder" in out
    assert "settings.toml:1: mode = 'bypass' is ignored" in out
    assert "settings.toml:2: allow Bash(make): the rule has expired" in out


@pytest.mark.spec("GATE-1")
def test_a_rule_that_is_hardly_meant_that_way_is_noted_and_closes_nothing(person: Person) -> None:
    person.user('[permissions]\nallow = ["Bash(git*)", "Bash(* --version)"]\ndeny = ["Edit(*.{ts,tsx})"]')
    out = " ".join(person.good("policy", "check").out.split())
    assert "settings.toml:2: allow Bash(git*): a star instead of the program allows nothing: write Bash(git" in out
    assert "settings.toml:3: deny Edit(*.{ts,tsx}): braces are not expanded" in out
    assert "3 notes" in out
    assert "nothing else is wrong" in out


def test_a_rule_on_a_server_whose_name_is_nearly_that_of_a_configured_one_is_noted(person: Person) -> None:
    person.user('[permissions]\nallow = ["mcp__evry", "mcp__every", "mcp__db"]\nask = ["TaskStop"]')
    (person.config / "mcp.json").write_text('{"mcpServers": {"every": {"command": "no-such-program"}}}')
    out = " ".join(person.good("policy", "check").out.split())
    assert "1 note:" in out
    assert "settings.toml:2: allow mcp__evry: unknown MCP server: did you mean mcp__every?" in out


@pytest.mark.spec("HOOK-5")
def test_a_hook_for_an_event_that_nothing_tells_is_noted(person: Person) -> None:
    events = ("ConfigChange", "TeammateIdle", "SubagentStop")
    person.user("".join(f'[[hooks.{event}]]\ncommand = "true"\n' for event in events))
    out = " ".join(person.good("policy", "check").out.split())
    assert "2 notes" in out
    assert "ConfigChange is not published yet" in out
    assert "SubagentStop" not in out


def test_what_cannot_be_seen_is_spelled_once(person: Person) -> None:
    person.user('mode = "a\\u3164"')
    assert "not 'a<U+3164>'" in person.run("policy", "check").out
    person.user('[permissions]\ndeny = ["Edit(a\\u3164)"]')
    assert "Edit(a<U+3164>)" in person.run("policy", "check").out


def test_how_it_stands_with_trust_is_told(person: Person) -> None:
    file = person.project('[[hooks.Stop]]\ncommand = "true"')
    shown = person.good("trust", "show").lines[-1].split()[-1]
    person.good("trust", "add", "--yes", shown)
    assert person.good("policy", "check").lines[0] == f"workspace {person.work}, trusted"
    file.write_text('[[hooks.Stop]]\ncommand = "false"')
    lines = person.good("policy", "check").lines
    assert lines[0] == f"workspace {person.work}, changed since it was trusted"
    assert any("this folder changed since you trusted it" in line for line in lines)


def test_answers_that_cannot_be_read_any_more_are_noted_or_close_the_gate(person: Person) -> None:
    person.good("policy", "add", "allow", "WebFetch(domain:example.com)")
    (file,) = (person.data / "policies").glob("*.json")
    kept = file.read_text()
    file.write_text(kept.replace("domain:example.com", "nonsense"))
    out = " ".join(person.good("policy", "check").out.split())
    assert "allow WebFetch(nonsense): it cannot be read" in out
    assert "revoke it" in out
    file.write_text(kept[:-5])
    ran = person.run("policy", "check")
    assert ran.code == 1
    assert "these remembered answers cannot be used" in " ".join(ran.out.split())


def test_a_variable_that_makes_no_sense_is_one_line(person: Person) -> None:
    person.set("CALLGATE_MODE", "bypas")
    assert person.bad(1, "policy", "check").startswith("callgate: CALLGATE_MODE must be one of default")


def test_check_fits_and_steers_nothing(person: Person) -> None:
    person.set("COLUMNS", "60")
    person.user('[permissions]\nallow = ["Bash(\\u001b[2J"]\n')
    out = person.run("policy", "check").out
    assert not BAD.search(out)
    assert max(map(width, out.splitlines())) <= 60
