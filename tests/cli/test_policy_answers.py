"""``callgate policy list``, ``add``, ``revoke``, ``narrow`` and ``expire``: remembered answers in a person's hands."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any

import pytest

from callgate.admin.workspace_policy import WorkspacePolicy
from callgate.cli.terminal import width
from callgate.policy.memory import Memory
from callgate.words.decisions import ApprovalPolicy, Pattern
from tests.cli.policy_kit import Person
from tests.cli.session_kit import BAD

pytestmark = pytest.mark.spec("GATE-2")

DAY = 86_400.0


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    return Person(tmp_path, monkeypatch, capsys)


def added(person: Person, *words: str) -> str:
    """Its id."""
    return person.good("policy", "add", *words).lines[0]


def listed(person: Person) -> list[dict[str, Any]]:
    return [json.loads(line) for line in person.good("policy", "list", "--json").lines]


def decision(person: Person, command: str) -> str:
    (line,) = person.good("policy", "explain", "Bash", command, "--json").lines
    return json.loads(line)["decision"]


def remembered(person: Person, policy: ApprovalPolicy) -> str:
    """What an answer in a session leaves behind."""
    return Memory(person.data, person.work).add(policy).id


# ---- list ---------------------------------------------------------------------------------------------------------


def test_rules_are_listed_with_layer_file_and_line(person: Person) -> None:
    user = person.user(
        '[permissions]\nallow = [\n"Bash(make)",\n{rule = "Bash(ls)", note = "ok", expires = 2099-01-01}]'
    )
    project = person.project('[permissions]\nallow = ["Bash"]\ndeny = ["Bash(rm:*)"]')
    assert person.good("policy", "list").lines == [
        "3 active rules",
        "  deny   Bash(rm:*)",
        f"      project, {project}:3",
        "  allow  Bash(ls)",
        f"      user, {user}:4; until 2099-01-01 00:00:00 UTC; ok",
        "  allow  Bash(make)",
        f"      user, {user}:3",
        "0 remembered answers",
    ]
    first, second, _ = listed(person)
    assert first == {
        "kind": "rule",
        "effect": "deny",
        "rule": "Bash(rm:*)",
        "layer": "project",
        "file": str(project),
        "line": 3,
        "expires_at": None,
        "note": None,
    }
    assert second["note"] == "ok"


def test_rules_without_effect_are_listed_apart(person: Person) -> None:
    file = person.user('[permissions]\nallow = [{rule = "Bash(ls)", expires = 2020-01-01}]')
    lines = person.good("policy", "list").lines
    assert lines[1:4] == ["1 rule without effect", "  allow  Bash(ls)", f"      user, {file}:2; the rule has expired"]
    assert listed(person) == []


def test_broken_settings_are_pointed_out_beside_the_list(person: Person) -> None:
    person.user("nonsense")
    ran = person.run("policy", "list")
    assert (ran.code, ran.lines[0]) == (0, "0 active rules")
    assert "the settings contain errors, so every call is denied; see `callgate policy check`" in ran.err


def test_answers_are_listed_with_all_there_is_to_know(person: Person) -> None:
    at = 1_800_000_000.0
    ids = [
        remembered(
            person,
            ApprovalPolicy(
                effect="allow",
                tool="Bash",
                pattern=Pattern("prefix", "npm run", "command"),
                scope="user",
                created_at=at,
                expires_at=None,
            ),
        ),
        remembered(
            person,
            ApprovalPolicy(
                effect="deny",
                tool="Bash",
                pattern=None,
                scope="project",
                created_at=at,
                expires_at=at + DAY,
                origin="ann, call c1",
                note="no shell",
            ),
        ),
        remembered(
            person,
            ApprovalPolicy(
                effect="allow",
                tool="Edit",
                pattern=Pattern("exact", "ab" * 32),
                scope="project",
                created_at=at,
                expires_at=1.0,
            ),
        ),
    ]
    assert person.good("policy", "list").lines[1:] == [
        "3 remembered answers",
        f"  {ids[0]}  allow  Bash(npm run:*)",
        "      in every folder; for ever; given by somebody, 2027-01-15 08:00:00 UTC",
        f"  {ids[1]}  deny   Bash",
        "      in this folder; until 2027-01-16 08:00:00 UTC; given by ann, call c1, 2027-01-15 08:00:00 UTC; no shell",
        f"  {ids[2]}  allow  Edit(these arguments, abababab)",
        "      in this folder; EXPIRED 1970-01-01 00:00:01 UTC; given by somebody, 2027-01-15 08:00:00 UTC",
    ]
    found = listed(person)
    assert [each["id"] for each in found] == ids
    assert [each["expired"] for each in found] == [False, False, True]
    assert found[0]["pattern"] == {"type": "Pattern", "kind": "prefix", "value": "npm run", "field": "command"}
    assert (found[1]["pattern"], found[1]["note"], found[1]["scope"]) == (None, "no shell", "project")


def test_a_list_fits_and_steers_nothing(person: Person) -> None:
    person.set("COLUMNS", "60")
    policy = ApprovalPolicy("allow", "Bash", Pattern("rule", "x\x1b[2J" * 20), "user", origin="\u202eann", note="\r")
    remembered(person, policy)
    out = person.good("policy", "list").out
    assert not BAD.search(out)
    assert "\u202e" not in out
    assert max(map(width, out.splitlines())) <= 60


def test_without_a_place_of_ones_own_there_is_nothing_to_list_or_change(person: Person) -> None:
    added(person, "allow", "Bash(make)")
    person.set("CALLGATE_DATA_DIR", str(person.work / "data"))
    assert listed(person) == []
    said = person.bad(1, "policy", "add", "allow", "Bash(make)")
    assert "answers cannot be stored in" in said


# ---- add ----------------------------------------------------------------------------------------------------------


def test_an_answer_is_remembered_and_counts_at_once(person: Person) -> None:
    person.has_no_sandbox()
    assert decision(person, "make") == "ask"
    lines = person.good("policy", "add", "allow", "Bash(make:*)").lines
    assert re.fullmatch(r"[0-9a-f]{6}", lines[0])
    assert lines[1] == f"  {lines[0]}  allow  Bash(make:*)"
    assert "in this folder; for ever; given by person at callgate policy" in lines[2]
    assert decision(person, "make") == "allow"


def test_the_whole_tool_can_be_meant(person: Person) -> None:
    added(person, "deny", "Bash")
    (found,) = listed(person)
    assert (found["covers"], found["pattern"]) == ("Bash", None)
    assert decision(person, "ls") == "deny"


def test_a_project_answer_stays_in_its_folder_and_a_user_answer_does_not(person: Person) -> None:
    other = person.home / "other"
    other.mkdir()
    added(person, "allow", "Bash(make)")
    added(person, "allow", "Bash(ninja)", "--scope", "user", "--root", str(other))
    (alone,) = [json.loads(line) for line in person.good("policy", "list", "--json", "--root", str(other)).lines]
    assert (alone["covers"], alone["scope"]) == ("Bash(ninja)", "user")
    assert len(listed(person)) == 2


@pytest.mark.parametrize(("when", "seconds"), [("30m", 1_800.0), ("12h", DAY / 2), ("30d", 30 * DAY), ("2w", 14 * DAY)])
def test_an_answer_may_end_after_a_while(person: Person, when: str, seconds: float) -> None:
    before = time()
    added(person, "allow", "Bash(make)", "--expires", when)
    assert before + seconds <= listed(person)[0]["expires_at"] <= time() + seconds


@pytest.mark.parametrize(
    ("when", "at"),
    [
        ("2099-01-31", datetime(2099, 1, 31, tzinfo=UTC)),
        ("2099-01-31T12:00", datetime(2099, 1, 31, 12, tzinfo=UTC)),
        ("2099-01-31T12:00:00+02:00", datetime(2099, 1, 31, 10, tzinfo=UTC)),
    ],
)
def test_an_answer_may_end_at_a_date(person: Person, when: str, at: datetime) -> None:
    added(person, "allow", "Bash(make)", "--expires", when, "--note", "for now")
    assert (listed(person)[0]["expires_at"], listed(person)[0]["note"]) == (at.timestamp(), "for now")


def test_the_same_answer_again_keeps_its_id(person: Person) -> None:
    first = added(person, "allow", "Bash(make)", "--expires", "1d")
    assert added(person, "allow", "Bash(make)", "--expires", "2d") == first
    assert len(listed(person)) == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("alow", "Bash"), 2, "there is no 'alow'; did you mean allow?"),
        (("allow",), 2, "the following arguments are required: RULE"),
        (
            ("allow", "Bash", "--scope", "session"),
            2,
            "must be user or project; rules for a session are created by answers in that session",
        ),
        (("allow", "Bash", "--scope", "usr"), 2, "there is no 'usr'; did you mean user?"),
        (("allow", "Bash", "--expires", "soon"), 2, "must be 12h or 30d from now, or a date"),
        (("allow", "Bash", "--expires", "0d"), 2, "must be in the future"),
        (("allow", "Bash", "--expires", "999999w"), 2, "must be 12h or 30d from now, or a date"),
        (("allow", "Bash", "--expires", "2001-01-01"), 2, "must be in the future, and 2001-01-01 is past"),
        (("allow", "Bash("), 1, "the rule 'Bash(' cannot be read: the closing bracket is missing, at character 5"),
        (("allow", "*"), 1, "* is possible only in deny and ask rules"),
        (("deny", "*"), 1, "about one tool or one server, not *: put the rule into your settings"),
        (("deny", "mcp__*"), 1, "a remembered answer is about one tool or one server, not mcp__*"),
        (("allow", "WebFetch(example.com)"), 1, "a rule for WebFetch must name a host"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_remembered_is_refused(person: Person, words: tuple[str, ...], code: int, said: str) -> None:
    assert said in person.bad(code, "policy", "add", *words)
    assert listed(person) == []


def test_an_answer_about_a_whole_server_is_remembered_as_always_does(person: Person) -> None:
    first = added(person, "allow", "mcp__db")
    assert added(person, "allow", "mcp__db__*") == first
    assert [each["tool"] for each in listed(person)] == ["mcp__db"]
    for tool, said in (("mcp__db__query", "allow"), ("mcp__dbs__query", "ask")):
        (line,) = person.good("policy", "explain", tool, "--json").lines
        assert json.loads(line)["decision"] == said


@pytest.mark.parametrize("effect", ["deny", "ask"])
@pytest.mark.parametrize("rule", ["Edit(secrets/**)", "Read(secrets/**)", "Edit", "Read"])
def test_an_answer_that_stops_a_kind_of_tool_stops_them_all(person: Person, effect: str, rule: str) -> None:
    """Whoever forbids Edit(…) means every tool that writes."""
    person.good("policy", "add", effect, rule)
    tool = "Write" if rule.startswith("Edit") else "Grep"
    (line,) = person.good("policy", "explain", tool, "secrets/a", "--json").lines
    assert json.loads(line)["decision"] == effect


# ---- revoke -------------------------------------------------------------------------------------------------------


def test_a_revoked_answer_is_gone_at_once(person: Person) -> None:
    person.has_no_sandbox()
    first, second = added(person, "allow", "Bash(make)"), added(person, "deny", "Bash(ls)", "--scope", "user")
    lines = person.good("policy", "revoke", first, second, first).lines
    assert lines == [f"revoked {first}: allow Bash(make)", f"revoked {second}: deny Bash(ls)"]
    assert listed(person) == []
    assert (decision(person, "make"), decision(person, "ls")) == ("ask", "allow")


def test_an_unknown_id_revokes_nothing(person: Person) -> None:
    known = added(person, "allow", "Bash(make)")
    wrong = known[:-1] + ("0" if known[-1] != "0" else "1")
    said = person.bad(1, "policy", "revoke", known, wrong)
    assert said == f"callgate: no remembered answer has the id {wrong!r}, did you mean {known}?"
    assert "`callgate policy list` lists the remembered answers" in person.bad(1, "policy", "revoke", "zzzzzz")
    assert len(listed(person)) == 1


def test_it_must_be_said_what_is_revoked(person: Person) -> None:
    assert "ID" in person.bad(2, "policy", "revoke")


def test_a_damaged_file_closes_the_gate_until_it_is_removed(person: Person) -> None:
    added(person, "allow", "Bash(make)")
    (file,) = (person.data / "policies").glob("*.json")
    file.write_text("{")
    assert decision(person, "ls") == "deny"
    assert "fix or remove the file" in person.bad(1, "policy", "add", "allow", "Bash(make)")
    file.unlink()
    assert decision(person, "ls") == "allow"


# ---- narrow -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Bash", "Bash(git:*)"),
        ("Bash(git:*)", "Bash(git log:*)"),
        ("Bash(git log:*)", "Bash(git log --oneline)"),
        ("Bash(git log:*)", "Bash(git log *)"),
        ("Bash(npm run *)", "Bash(npm run lint)"),
        ("Edit(src/**)", "Edit(src/app/*.py)"),
        ("Edit(/src/**)", "Edit(/src/a[bc]?.py)"),
        ("Edit(//tmp/**)", "Edit(//tmp/x/**)"),
        ("Read(~/notes/**)", "Read(~/notes/a.md)"),
        ("WebFetch(domain:*.example.com)", "WebFetch(domain:api.example.com)"),
        ("Agent(ex*)", "Agent(explore)"),
        ("mcp__db__query(table=*)", "mcp__db__query(table=users)"),
        ("mcp__db__query(table=*)", r"mcp__db__query(table=\*)"),
    ],
)
def test_an_answer_is_narrowed_and_keeps_its_id(person: Person, before: str, after: str) -> None:
    id = added(person, "allow", before, "--expires", "30d")
    (line,) = person.good("policy", "narrow", id, after).lines
    assert line == f"{id}: allow {after}, instead of {before}"
    (found,) = listed(person)
    assert (found["id"], found["covers"]) == (id, after)
    assert found["expires_at"] is not None


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("Bash(git log:*)", "Bash(rm:*)", "it would cover 'rm', which the answer does not cover"),
        ("Bash(git log:*)", "Bash(git:*)", "it would cover 'git', which the answer does not cover"),
        ("Bash(git log:*)", "Bash(git lo*)", "it still covers 'git log'"),
        ("Edit(src/**)", "Edit(src/)", "it still covers 'src/x'"),
        ("Bash(git log:*)", "Bash", "it applies to every call"),
        ("Bash", "Bash", "it applies to every call"),
        ("Bash(git log:*)", "Read(src/**)", "is a rule for Bash; Read(src/**) is for another tool"),
        ("Edit(src/**)", "Edit(lib/**)", "it would cover 'lib/x', which the answer does not cover"),
        ("Edit(src/**)", "Edit(/**)", "it would cover 'x', which the answer does not cover"),
        ("WebFetch(domain:example.com)", "WebFetch(domain:example.org)", "it would cover 'example.org'"),
        ("Bash(git log:*)", "Bash(", "cannot be read"),
    ],
)
def test_what_is_not_narrower_is_refused(person: Person, before: str, after: str, said: str) -> None:
    id = added(person, "allow", before)
    assert said in person.bad(1, "policy", "narrow", id, after)
    assert listed(person)[0]["covers"] == before


def test_answers_given_in_a_session_are_narrowed_too(person: Person) -> None:
    person.has_no_sandbox()
    prefix = remembered(person, ApprovalPolicy("allow", "Bash", Pattern("prefix", "git commit", "command"), "project"))
    person.good("policy", "narrow", prefix, "Bash(git commit -m:*)")
    assert (decision(person, "git commit -m x"), decision(person, "git commit --amend")) == ("allow", "ask")
    exact = remembered(person, ApprovalPolicy("allow", "Edit", Pattern("exact", "ab" * 32), "project"))
    assert "it already covers only one call" in person.bad(1, "policy", "narrow", exact, "Edit(src/**)")
    glob = remembered(person, ApprovalPolicy("allow", "Edit", Pattern("glob", "src/*.py", "file_path"), "project"))
    assert "it would cover 'lib/a.py'" in person.bad(1, "policy", "narrow", glob, "Edit(lib/a.py)")
    person.good("policy", "narrow", glob, "Edit(src/a.py)")


def test_what_cannot_be_compared_is_for_the_person_to_say(person: Person) -> None:
    broken = remembered(person, ApprovalPolicy("allow", "WebFetch", Pattern("rule", "nonsense"), "project"))
    person.good("policy", "narrow", broken, "WebFetch(domain:example.com)")


# ---- expire -------------------------------------------------------------------------------------------------------


def test_an_answer_is_given_an_end_another_one_and_none(person: Person) -> None:
    id = added(person, "allow", "Bash(make)")
    (line,) = person.good("policy", "expire", id, "2099-01-01").lines
    assert line == f"{id}: allow Bash(make) until 2099-01-01 00:00:00 UTC"
    before = time()
    person.good("policy", "expire", id, "1d")
    assert before + DAY <= listed(person)[0]["expires_at"] <= time() + DAY
    (line,) = person.good("policy", "expire", id, "never").lines
    assert line == f"{id}: allow Bash(make) for ever"
    (found,) = listed(person)
    assert (found["id"], found["expires_at"]) == (id, None)


def test_what_has_ended_may_begin_anew(person: Person) -> None:
    person.has_no_sandbox()
    id = remembered(
        person,
        ApprovalPolicy(
            effect="allow",
            tool="Bash",
            pattern=Pattern("rule", "make"),
            scope="project",
            created_at=0.0,
            expires_at=1.0,
        ),
    )
    assert decision(person, "make") == "ask"
    person.good("policy", "expire", id, "1h")
    assert decision(person, "make") == "allow"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("zzzzzz", "1d"), 1, "no remembered answer has the id 'zzzzzz'"),
        (("zzzzzz", "nevr"), 2, "must be 12h or 30d from now"),
        (("zzzzzz", "2001-01-01"), 2, "revoke the answer instead"),
        (("zzzzzz",), 2, "the following arguments are required: WHEN"),
    ],
    ids=["unknown", "typo", "past", "missing"],
)
def test_an_end_that_is_none_is_refused(person: Person, words: tuple[str, ...], code: int, said: str) -> None:
    assert said in person.bad(code, "policy", "expire", *words)


def test_broken_settings_do_not_keep_a_person_from_their_answers(person: Person) -> None:
    id = added(person, "allow", "Bash(make)")
    person.user("nonsense")
    person.good("policy", "revoke", id)
    assert WorkspacePolicy(person.work).answers() == ()


@pytest.mark.spec("GATE-1")
def test_an_answer_that_is_probably_not_intended_is_noted_when_it_is_added_and_by_check(person: Person) -> None:
    doubtful = {
        "Bash(git*)": "write Bash(git:*)",
        "Bash(* --version)": "write the program, or Bash alone",
        "Bash(git log:)": "git log:*",
        "Bash(git:)": "git:*",
        "Edit(*.{ts,tsx})": "braces are not expanded",
        "Read(src/*.{py,pyi})": "braces are not expanded",
        "Read(src\\app.py)": "src/app.py",
        'mcp__db__query(table="users")': "quotes",
        "mcp_db": "with double underscores",
        "bash": "did you mean Bash?",
        "read": "did you mean Read?",
    }
    wrong: list[str] = []
    for rule, note in doubtful.items():
        out = " ".join(person.good("policy", "add", "allow", rule).out.split())
        if "note: " not in out or note not in out:
            wrong.append(f"{rule}: {out}")
    checked = " ".join(person.good("policy", "check").out.split())
    wrong += [f"check: {rule}" for rule in doubtful if f"allow {rule}: " not in checked]
    assert not wrong, "\n".join(wrong)
    assert f"{len(doubtful)} notes" in checked
    assert "note: " not in person.good("policy", "add", "allow", "Bash(git log:*)").out


def test_an_answer_that_a_session_stored_gets_no_such_note(person: Person) -> None:
    remembered(person, ApprovalPolicy("allow", "terminal", Pattern("rule", "git log:*"), scope="project"))
    assert "nothing is wrong" in person.good("policy", "check").out
