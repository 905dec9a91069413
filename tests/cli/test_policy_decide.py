"""``callgate policy decide --jsonl``: calls judged a line at a time."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.admin.workspace_policy import CallJudge
from callgate.cli.policy_commands import KEYS, decide_lines
from tests.cli.policy_kit import Person


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    return Person(tmp_path, monkeypatch, capsys)


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"tool": "Bash", "arguments": {"command": command}, **more}


def one(person: Person, call: dict[str, Any]) -> dict[str, Any]:
    code, (answer,) = person.decided(call)
    assert code == 0
    return answer


# ---- decisions ----------------------------------------------------------------------------------------------------


def test_each_line_gets_one_answer_in_its_order(person: Person) -> None:
    code, answers = person.decided(
        shell("rm -rf build", deny=["Bash(rm:*)"]),
        shell("git log", allow=["Bash(git log:*)"]),
        shell("git push", allow=["Bash"], ask=["Bash(git push:*)"]),
    )
    assert code == 0
    assert [answer["decision"] for answer in answers] == ["deny", "allow", "ask"]
    assert [answer["rule"] for answer in answers] == ["Bash(rm:*)", "Bash(git log:*)", "Bash(git push:*)"]
    assert all(answer["by"] == answer["rule"] for answer in answers)
    assert all(answer["layer"] == "command line" for answer in answers)
    assert answers[0]["why"] == ("denied by Bash(rm:*): rm -rf build matches rm:*; no other rule overrides it")


@pytest.mark.parametrize(
    ("call", "decision", "by"),
    [
        (shell("make", mode="bypass"), "allow", "mode bypass"),
        (shell("make", mode="plan"), "deny", "mode plan"),
        (shell("make", mode="dont_ask"), "deny", "mode dont_ask"),
        (shell("make", mode="dont_ask", ask=["Bash(make)"]), "deny", "mode dont_ask"),
        (shell("make"), "ask", "default"),
        (shell("ls"), "allow", "default"),
        (shell("cat ~/.ssh/id_rsa", mode="bypass"), "ask", "hard safety"),
        ({"tool": "Write", "arguments": {"file_path": "a.py"}, "mode": "accept_edits"}, "allow", "mode accept_edits"),
        ({"tool": "AskUserQuestion"}, "ask", "interaction"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.get("mode", "") + value["tool"],
)
def test_where_no_rule_decides_it_is_said_who_does(
    person: Person, call: dict[str, Any], decision: str, by: str
) -> None:
    answer = one(person, call)
    assert (answer["decision"], answer["rule"], answer["by"]) == (decision, None, by)
    assert answer["why"]


def test_a_mode_that_says_nothing_more_is_a_reason(person: Person) -> None:
    assert one(person, shell("make", mode="bypass"))["why"] == "mode bypass allows it"


def test_all_but_the_tool_may_be_left_out(person: Person) -> None:
    assert one(person, {"tool": "Read"})["decision"] in ("allow", "ask")
    assert one(person, {"tool": "mcp__db__query"})["decision"] == "ask"
    nothing = {"tool": "Bash", "mode": None, "root": None}
    assert one(person, nothing)["decision"] == "ask"


def test_a_rule_on_fields_matches_the_argument_and_nothing_within(person: Person) -> None:
    rule = ["mcp__db__query(table=users)"]
    query = {"tool": "mcp__db__query", "allow": rule}
    assert one(person, {**query, "arguments": {"table": "users"}})["decision"] == "allow"
    assert one(person, {**query, "arguments": {"sql": {"table": "users"}}})["decision"] == "ask"


def test_the_risk_is_told_with_a_question(person: Person) -> None:
    assert one(person, shell("cat ~/.ssh/id_rsa"))["risk"]
    assert "risk" not in one(person, shell("ls"))


@pytest.mark.spec("GATE-3a")
def test_links_below_the_root_are_followed_for_real(person: Person) -> None:
    (person.work / "out").symlink_to("/etc")
    call = {"tool": "Edit", "allow": ["Edit(./**)"], "root": str(person.work)}
    assert one(person, {**call, "arguments": {"file_path": "in/x"}})["decision"] == "allow"
    assert one(person, {**call, "arguments": {"file_path": "out/x"}})["decision"] == "ask"
    denied = {**call, "deny": ["Edit(//etc/**)"], "arguments": {"file_path": "out/x"}}
    assert one(person, denied)["decision"] == "deny"


def test_links_are_looked_at_anew_for_each_line(person: Person) -> None:
    bench, call = CallJudge(), {"tool": "Edit", "arguments": {"file_path": "a/x"}, "allow": ["Edit(./**)"]}

    def decision() -> str:
        out = io.StringIO()
        decide_lines([json.dumps({**call, "root": str(person.work)}).encode()], out, bench)
        return json.loads(out.getvalue())["decision"]

    assert decision() == "allow"
    (person.work / "a").symlink_to("/etc")
    assert decision() == "ask"


def test_a_root_that_is_not_there_is_judged_by_its_name(person: Person) -> None:
    call = {"tool": "Edit", "allow": ["Edit(./src/**)"], "root": "/no/such/place"}
    for path, decision in (("src/a", "allow"), ("/no/such/place/src/a", "allow"), ("src/../../a", "ask"), ("b", "ask")):
        assert one(person, {**call, "arguments": {"file_path": path}})["decision"] == decision
    assert not Path("/no").exists()


def test_nothing_is_touched(person: Person) -> None:
    before = sorted(person.work.parent.rglob("*"))
    person.decided(shell("touch a; rm -rf .", allow=["Bash"], mode="bypass"))
    assert sorted(person.work.parent.rglob("*")) == before


# ---- settings -----------------------------------------------------------------------------------------------------


def test_settings_files_are_not_read_unless_one_is_named(person: Person) -> None:
    file = person.user('mode = "plan"\n[permissions]\ndeny = ["Bash(ls:*)"]\nask = [\n  "Bash(git:*)",\n]\n')
    person.project("nonsense")
    assert one(person, shell("ls"))["decision"] == "allow"
    person.given(json.dumps(shell("ls")) + "\n" + json.dumps(shell("git log", mode="default")) + "\n")
    ran = person.good("policy", "decide", "--jsonl", "--settings", str(file))
    denied, asked = map(json.loads, ran.lines)
    assert (denied["rule"], denied["file"], denied["line"]) == ("Bash(ls:*)", str(file), 3)
    assert (asked["rule"], asked["line"], asked["layer"]) == ("Bash(git:*)", 5, "command line")


def test_the_mode_of_the_settings_counts_where_a_line_has_none(person: Person) -> None:
    file = person.user('mode = "plan"')
    person.given(json.dumps(shell("make")) + "\n" + json.dumps(shell("make", mode="bypass")) + "\n")
    ran = person.good("policy", "decide", "--jsonl", "--settings", str(file))
    assert [json.loads(line)["by"] for line in ran.lines] == ["mode plan", "mode bypass"]


@pytest.mark.parametrize("text", ["mode = 1", '[permissions]\nallow = ["Bash("]', "nonsense"])
def test_broken_settings_deny_every_call(person: Person, text: str) -> None:
    file = person.user(text)
    person.given(json.dumps(shell("ls", mode="bypass")) + "\n")
    (line,) = person.good("policy", "decide", "--jsonl", "--settings", str(file)).lines
    answer = json.loads(line)
    assert (answer["decision"], answer["by"], answer["rule"], answer["file"]) == ("deny", "settings", None, str(file))


def test_a_settings_file_that_is_not_there_is_a_failure(person: Person) -> None:
    person.given("")
    said = person.bad(1, "policy", "decide", "--jsonl", "--settings", "none.toml")
    assert said == "callgate: there is no settings file 'none.toml'"


# ---- lines that cannot be used ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "write one JSON object per line, in UTF-8"),
        ("[1]", "write a JSON object, not another value"),
        ('{"tool": "Bash", "arguments": {"x": NaN}}', "NaN is not JSON"),
        ('{"tool": "Bash", "deny": ["Bash(rm:*)"], "deny": []}', "the key 'deny' appears twice"),
        ('{"tool": "Bash", "arguments": {"command": "ls", "command": "rm"}}', "the key 'command' appears twice"),
        ("[" * 100_000, "write one JSON object per line"),
        ("{}", 'the tool is missing: add "tool": "Bash"'),
        ('{"tool": ""}', 'the tool is missing: add "tool": "Bash"'),
        ('{"tool": 1}', '"tool" is a text'),
        ('{"tool": "Bash", "root": []}', '"root" is a text'),
        ('{"tool": "Bash", "mode": true}', '"mode" is a text'),
        ('{"tool": "Bash", "mode": "bypas"}', "unknown mode 'bypas'; the modes are default, accept_edits"),
        ('{"tool": "Bash", "arguments": []}', '"arguments" is an object'),
        ('{"tool": "Bash", "arguments": null}', '"arguments" is an object'),
        ('{"tool": "Bash", "allow": "Bash"}', '"allow" is a list of rules'),
        ('{"tool": "Bash", "deny": [1]}', '"deny" is a list of rules'),
        ('{"tool": "Bash", "root": "src"}', "the root must be an absolute path, not 'src'"),
        ('{"tool": "Bash", "root": "/a\\u0000b"}', "the root '/a\\x00b' is no path"),
        ('{"tool": "Ba\\ud800sh"}', "this cannot be a call"),
        ('{"tool": "Bash", "denny": []}', "there is no key 'denny', did you mean 'deny'?; there are tool, arguments"),
        ('{"tool": "Bash", "xyz": []}', f"there is no key 'xyz'; there are {', '.join(KEYS)}"),
        (
            '{"tool": "Bash", "allow": ["Bash(ls", "Bash(git log:*)"]}',
            "the allow rule Bash(ls is invalid: the closing bracket is missing, at character 7",
        ),
        (
            '{"tool": "Bash", "deny": ["Read()"]}',
            "the deny rule Read() is invalid: the brackets at character 5 are empty",
        ),
        ('{"tool": "Bash", "allow": ["*"]}', "* is possible only in deny and ask rules"),
        ('{"tool": "Bash", "ask": [""]}', "a rule must start with the name of a tool, at character 1"),
    ],
    ids=lambda value: value[:30],
)
def test_a_line_that_cannot_be_used_says_what_to_do(person: Person, line: str, said: str) -> None:
    code, answers = person.decided(shell("ls"), "", line, shell("ls"))
    assert code == 1
    assert [set(answer) & {"decision", "error"} for answer in answers] == [{"decision"}, {"error"}, {"decision"}]
    assert answers[1]["error"].startswith("line 3: ")
    assert said in answers[1]["error"]


def test_bytes_that_are_no_text_are_a_bad_line(person: Person) -> None:
    person.given(b'\xff\n{"tool": "Bash"}\n')
    ran = person.run("policy", "decide", "--jsonl")
    assert ran.code == 1
    assert [next(iter(json.loads(line))) for line in ran.lines] == ["error", "decision"]


def test_several_bad_rules_are_all_named(person: Person) -> None:
    _, (answer,) = person.decided({"tool": "Bash", "allow": ["Bash("], "deny": [")"]})
    assert "the allow rule Bash( is invalid" in answer["error"]
    assert "the deny rule ) is invalid" in answer["error"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["command", "file_path", "path", "url", "type", "patch", "cwd", "table"])
RULES = st.lists(
    st.sampled_from(["Bash", "Bash(ls:*)", "Edit(./**)", "Read(~/x)", "mcp__a(", "*", "A(b=*)"]) | st.text()
)
CALLS = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(["Bash", "Edit", "Read", "WebFetch", "Agent", "ApplyPatch", "Grep"])
        | st.text(max_size=9)
    },
    optional={
        "arguments": st.dictionaries(FIELDS, JSON, max_size=3) | JSON,
        "allow": RULES,
        "ask": RULES,
        "deny": RULES,
        "mode": st.sampled_from(["default", "accept_edits", "plan", "bypass", "dont_ask"]) | JSON,
        "root": st.sampled_from(["/", "/no/where", "x"]) | JSON,
    },
)


@given(st.lists(CALLS | JSON, min_size=1, max_size=4))
def test_whatever_a_line_holds_it_gets_one_answer(calls: list[Any]) -> None:
    out = io.StringIO()
    code = decide_lines([json.dumps(call).encode() for call in calls], out, CallJudge(home="/no/home"))
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len(answers) == len(calls)
    assert code == any("error" in answer for answer in answers)
    assert all("error" in answer or answer["decision"] in ("allow", "ask", "deny") for answer in answers)
    assert not any("check failed" in answer.get("why", "") for answer in answers)


@given(st.binary(max_size=60).filter(lambda line: b"\n" not in line and line.strip()))
def test_bytes_of_any_kind_get_one_answer(line: bytes) -> None:
    out = io.StringIO()
    decide_lines([line], out, CallJudge(home="/no/home"))
    assert len(out.getvalue().splitlines()) == 1


# ---- the command --------------------------------------------------------------------------------------------------


def test_lines_come_from_a_file_too(person: Person) -> None:
    file = person.work / "calls.jsonl"
    file.write_text(json.dumps(shell("ls")), encoding="utf-8")
    (line,) = person.good("policy", "decide", "--jsonl", str(file)).lines
    assert json.loads(line)["decision"] == "allow"
    assert person.bad(1, "policy", "decide", "--jsonl", "none") == "callgate: No such file or directory: none"


def test_json_lines_are_the_default_form(person: Person) -> None:
    person.given("")
    ran = person.run("policy", "decide")
    assert (ran.code, ran.out) == (0, "")


def test_somebody_at_a_keyboard_is_told_what_is_waited_for(person: Person) -> None:
    person.given("", terminal=True)
    ran = person.run("policy", "decide", "--jsonl")
    assert (ran.code, ran.out) == (0, "")
    assert "reading JSON lines from the keyboard" in ran.err


def test_no_answer_steers_a_terminal(person: Person) -> None:
    person.given("".join(json.dumps({"tool": tool}) + "\n" for tool in ("\x1b]0;\x7f", "\u202eBash")))
    out = person.good("policy", "decide", "--jsonl").out
    assert out.isascii()
    assert out.replace("\n", "").isprintable()


def test_answers_come_while_the_asker_waits() -> None:
    command = [sys.executable, "-m", "callgate", "policy", "decide", "--jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text, decision in (("ls", "allow"), ("make", "ask"), ("ls", "allow")):
            process.stdin.write(json.dumps(shell(text)) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["decision"] == decision
        process.stdin.close()
        assert process.wait(60) == 0
