"""``callgate answer``: questions shown and answered from outside the program that runs the session."""

import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.terminal import width
from callgate.transcript.answer_files import waiting_answers
from callgate.transcript.lock import LockHolder, holder_of
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import (
    ApprovalPolicy,
    AskedField,
    AskedOption,
    Confirmation,
    FieldAnswer,
    Origin,
    Pattern,
    Question,
)
from tests.cli.session_kit import BAD, Desk
from tests.transcript.asking import AT, Program, on_record, question, waiting_on

pytestmark = pytest.mark.spec("GATE-5")

SIGN = question().arguments_hash[:8]
TWO = (question(), question("toolu_02", "b.py"))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)


@pytest.fixture
def other() -> Iterator[Program]:
    with Program() as program:
        yield program


def asks(desk: Desk, *questions: Question) -> Path:
    """A session with these open questions; its log."""
    session = desk.store.write(waiting_on(*(questions or (question(),))))
    return desk.store.folder / f"{session}.jsonl"


def given(log: Path) -> Confirmation:
    """The one answer on record, without its time."""
    (answer,) = on_record(log)
    return replace(answer, at=0.0)


# ---- answered -----------------------------------------------------------------------------------------------------


def test_an_answer_is_taken_and_what_becomes_of_it_is_said(desk: Desk) -> None:
    log = asks(desk)
    ran = desk.good("answer", "latest", "c1", "yes")
    said = f"yes to write (call c1) of session {log.stem}: the answer applies when the session is resumed"
    assert " ".join(ran.out.split()) == said
    assert given(log) == question().yes(door="callgate answer")


def test_a_running_session_is_left_the_answer(desk: Desk, other: Program) -> None:
    log = asks(desk)
    other.ask(do="hold", log=str(log))
    ran = desk.good("answer", "latest", "no", "--note", "not now")
    assert f"the answer applies now, in the running session (process {other.pid}" in " ".join(ran.out.split())
    (waiting,) = waiting_answers(log).answers.values()
    assert (waiting.outcome, waiting.note) == ("no", "not now")
    assert "answered: no, by person at callgate answer; not applied yet" in " ".join(desk.good("answer").out.split())
    again = desk.run("answer", "latest", "yes")
    assert (again.code, again.out) == (1, "")
    assert again.err == "callgate: call c1 was already answered: no, by person at callgate answer\n"


CASES: dict[str, tuple[tuple[str, ...], Confirmation]] = {
    "no": (("no",), question().no()),
    "a note": (("no", "--note", "use b"), question().no("use b")),
    "stop": (("no", "--stop"), question().no(stop=True)),
    "a noted yes": (("yes", "--note", "ok"), replace(question().yes(), note="ok")),
    "other arguments": (("yes", "--arguments", '{"path": "b.py"}'), question().yes({"path": "b.py"})),
    "no arguments": (("yes", "--arguments", "{}"), question().yes({})),
    "always": (("always",), question().always(question().choices[0])),
    "the second choice": (
        ("always", "--choice", "2", "--scope", "project"),
        replace(question().always(), always=ApprovalPolicy("allow", "write", None, "project")),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_answer_can_be_given(name: str, desk: Desk) -> None:
    words, wanted = CASES[name]
    log = asks(desk)
    ran = desk.good("answer", "latest", *words)
    assert given(log) == replace(wanted, door="callgate answer")
    assert ("; the changed arguments are validated then" in " ".join(ran.out.split())) == ("--arguments" in words)


def test_arguments_come_from_a_file_or_from_standard_input(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = asks(desk)
    (desk.work / "new.json").write_text('{"path": "ä.py"}')
    desk.good("answer", "latest", "yes", "--arguments", "@new.json")
    assert given(log).arguments == {"path": "ä.py"}
    log = asks(desk)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"path": "in"}')))
    desk.good("answer", log.stem, "yes", "--arguments", "@-")
    assert given(log).arguments == {"path": "in"}


@pytest.mark.parametrize("call", ["toolu_02", "toolu", TWO[1].arguments_hash[:8], TWO[1].arguments_hash])
def test_a_question_is_named_by_its_call_or_by_its_sign(call: str, desk: Desk) -> None:
    log = asks(desk, *TWO)
    desk.good("answer", log.stem[:12], call, "yes")
    assert given(log).call_id == "toolu_02"
    desk.good("answer", str(log), "yes")  # one is left
    assert [each.call_id for each in on_record(log)] == ["toolu_02", "c1"]


def test_programs_hear_what_was_taken(desk: Desk, other: Program) -> None:
    log = asks(desk, *TWO)
    ran = desk.good("answer", "latest", "c1", "yes", "--json")
    assert json.loads(ran.out) == {
        "session": log.stem,
        "call_id": "c1",
        "tool": "write",
        "arguments_hash": question().arguments_hash,
        "outcome": "yes",
        "how": "recorded",
        "holder": None,
    }
    other.ask(do="hold", log=str(log))
    left = json.loads(desk.good("answer", "latest", "toolu_02", "always", "--json").out)
    assert (left["how"], left["holder"], left["outcome"]) == ("left", other.pid, "yes_always")


# ---- refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["yes"], f"2 questions are open in session ID; name one: {SIGN} (write, c1), "),
        (["toolu_03", "yes"], "no question 'toolu_03' is open in session ID, did you mean toolu_02?"),
        (["elsewhere", "yes"], f"no question 'elsewhere' is open in session ID; open are {SIGN} (write, c1), "),
        (["c1", "always", "--choice", "3"], "there is no choice 3; there are 2"),
        (["deadbeef"], "no question 'deadbeef' is open in session ID"),
    ],
    ids=["which", "close", "unknown", "choice", "unknown sign"],
)
def test_what_cannot_be_taken_is_refused_with_1(words: list[str], why: str, desk: Desk) -> None:
    log = asks(desk, *TWO)
    ran = desk.run("answer", "latest", *words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.replace(log.stem, "ID").startswith(f"callgate: {why}")
    assert on_record(log) == []


def test_a_second_answer_is_refused_and_told_whose_the_first_was(desk: Desk) -> None:
    log = asks(desk, *TWO)
    desk.good("answer", "latest", "c1", "yes")
    assert desk.run("answer", "latest", "c1", "no") == (
        1,
        "",
        "callgate: call c1 was already answered: yes, by person at callgate answer\n",
    )
    assert len(on_record(log)) == 1


def test_the_same_arguments_twice_need_the_id_of_the_call(desk: Desk) -> None:
    asks(desk, question("call-one"), question("call-two"))
    ran = desk.run("answer", "latest", SIGN, "yes")
    assert ran.code == 1
    assert f"several questions match '{SIGN}': {SIGN} (write, call-one), {SIGN} (write, call-two)" in ran.err
    assert desk.run("answer", "latest", "call", "yes").code == 1
    desk.good("answer", "latest", "call-two", "yes")


def test_many_questions_are_counted_when_they_are_named(desk: Desk) -> None:
    asks(desk, *(question(f"c{n}") for n in range(9)))
    assert desk.run("answer", "latest", "yes").err.endswith("(write, c4) and 4 more\n")


def test_what_is_asked_every_time_has_no_always(desk: Desk) -> None:
    log = asks(desk, question(choices=()))
    ran = desk.run("answer", "latest", "always")
    assert (ran.code, ran.err) == (
        1,
        "callgate: write needs an answer every time, so `always` is not possible: answer `yes` or `no`\n",
    )
    assert "yes|no" in desk.good("answer").out
    assert "always" not in desk.good("answer").out
    assert on_record(log) == []


def test_without_a_question_there_is_nothing_to_answer(desk: Desk) -> None:
    log = desk.session()
    assert desk.good("answer").lines == [f"There is no open question in session {log.stem}."]
    assert desk.good("answer", "--json").out == ""
    assert desk.run("answer", "latest", "yes").err == f"callgate: there is no open question in session {log.stem}\n"
    assert desk.run("answer", "latest", "c9", "yes").err == (
        f"callgate: no question 'c9' is open in session {log.stem}\n"
    )


def test_a_session_that_is_not_there_is_1(desk: Desk) -> None:
    assert desk.run("answer").code == 1
    assert desk.run("answer", "nowhere", "yes") == (1, "", "callgate: this workspace has no sessions yet\n")


# ---- usage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["latest", "c1", "yse"], "there is no 'yse'; did you mean yes?"),
        (["latest", "c1", "perhaps"], "there is no 'perhaps'; there are yes, no, always"),
        (["yes"], "name a session: callgate answer latest yes"),
        (["latest", "--note", "x"], "--note goes with yes or no or always"),
        (["latest", "yes", "--stop"], "--stop goes with no"),
        (["latest", "no", "--arguments", "{}"], "--arguments goes with yes"),
        (["latest", "always", "--arguments", "{}"], "--arguments goes with yes"),
        (["latest", "yes", "--choice", "1"], "--choice goes with always"),
        (["latest", "yes", "--scope", "user"], "--scope goes with always"),
        (["latest", "always", "--scope", "projet"], "there is no 'projet'; did you mean project?"),
        (["latest", "always", "--choice", "0"], "must be a whole number above 0, not '0'"),
        (["latest", "yes", "--arguments", "[]"], "must be an object such as {}, not list"),
        (["latest", "yes", "--arguments", "{"], "is not JSON: "),
        (["latest", "yes", "--arguments", '{"n": NaN}'], "is not JSON: NaN is not JSON"),
        (["latest", "yes", "--arguments", "@gone.json"], "cannot be read from gone.json: No such file"),
        (["latest", "yes", "--nots", "x"], "--nots is not known here, did you mean --note"),
        (["latest", "c1", "yes", "more"], "more is not known here"),
    ],
)
def test_what_makes_no_sense_is_2_and_says_what_to_do(words: list[str], why: str, desk: Desk) -> None:
    log = asks(desk)
    ran = desk.run("answer", *words)
    assert (ran.code, ran.out) == (2, "")
    assert why in ran.err
    assert ran.err.endswith("see callgate answer --help\n")
    assert on_record(log) == []


def test_a_misspelt_answer_is_not_taken_for_a_call(desk: Desk) -> None:
    asks(desk)
    assert desk.run("answer", "latest", "yse") == (
        2,
        "",
        "callgate answer: unknown answer 'yse', did you mean yes?; see callgate answer --help\n",
    )
    assert desk.run("answer", "latest", "yse", "yes").code == 2


def test_the_help_says_it_all_and_fits(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.wide(60)
    ran = desk.run("answer", "--help")
    assert ran.code == 0
    for word in (
        "SESSION",
        "CALL",
        "yes|no|always",
        "--note",
        "--stop",
        "--arguments",
        "--choice",
        "--scope",
        "--json",
    ):
        assert word in ran.out
    assert max(map(width, ran.lines)) <= 60
    assert desk.run("answr", "latest").err == "callgate: there is no command 'answr'; did you mean answer?\n"


# ---- shown --------------------------------------------------------------------------------------------------------

EVIL = "ok\x1b[2J\u202etxt.exe\u200b"


def shown(desk: Desk, *words: str) -> list[str]:
    return [line.strip() for line in desk.good("answer", *words).lines]


def rich(**more: Any) -> Question:
    origin = Origin("user", "settings.toml", 12)
    change = ChangeSet(
        "edit two files",
        (
            FileChange("a.py", b"one\ntwo\nthree\n", b"one\n2\nthree\n"),
            FileChange("new.bin", None, b"\0\1"),
            FileChange("old.txt", b"\xff\n", None),
        ),
    )
    fields = {"preview": change, "risk": "it removes files", "path": ("helper", "deep"), "origin": origin}
    return replace(question(), deadline=AT + 60, **{**fields, **more})


def test_a_question_shows_everything_a_person_needs(desk: Desk) -> None:
    log = asks(desk, question("c2", "b.py"), rich(path=()))
    lines = shown(desk)
    assert lines[0] == f"2 questions are open in session {log.stem}; no process has it open"
    after = lines[lines.index(f"? write  {SIGN}  c1") + 1 :]
    assert after == [
        "asked because of default (user, settings.toml:12): write may change something",
        "risk: it removes files",
        "since 2023-11-14 22:13:20 UTC, denied without an answer at 2023-11-14 22:14:20 UTC",
        'path: "a.py"',
        "change: edit two files",
        "replace a.py",
        "@@ -1,3 +1,3 @@",
        "one",
        "-two",
        "+2",
        "three",
        "create new.bin (binary)",
        "delete old.txt",
        "@@ -1 +0,0 @@",
        "-<U+DCFF>",
        '"always" allows one of',
        "1  exactly these arguments",
        "2  any call of write",
        f"callgate answer {log.stem} {SIGN} yes|no|always",
    ]


def test_who_has_it_open_and_which_agent_asks_are_told(desk: Desk, other: Program) -> None:
    log = asks(desk, rich())
    other.ask(do="hold", log=str(log))
    lines = shown(desk)
    assert f"1 question is open in session {log.stem}; it is open in process {other.pid}" in " ".join(lines)
    assert "agent: helper > deep" in lines
    assert isinstance(holder_of(log), LockHolder)


def test_nothing_in_a_question_can_steer_the_terminal_or_hide(desk: Desk) -> None:
    evil = replace(
        question(EVIL, "b"),
        tool=EVIL,
        arguments={EVIL: EVIL, "n": {"k": EVIL}, "text": f"{EVIL}\nrisk: none"},
        by=EVIL,
        reason=EVIL,
        risk=EVIL,
        preview=ChangeSet(EVIL, (FileChange(EVIL, None, EVIL.encode()),)),
        path=(EVIL,),
    )
    desk.store.write(waiting_on(question(), evil))
    desk.wide(60)
    for ran in (desk.good("answer"), desk.good("answer", "--json"), desk.run("answer", "latest", EVIL, EVIL)):
        assert not BAD.search(ran.out + ran.err)
        assert not set(ran.out + ran.err) & set("\u202e\u200b\x1b")
    ran = desk.good("answer")
    assert max(map(width, ran.lines)) <= 60
    assert sum("<U+202E>" in line for line in ran.lines) > 5
    assert "  | risk: none" in "\n".join(ran.lines)


@pytest.mark.parametrize("columns", [24, 60, 80, 120])
def test_questions_fit_the_terminal_without_losing_a_sign(columns: int, desk: Desk) -> None:
    long = replace(rich(path=()), arguments={"path": "x" * 300 + "END", "text": "line\n" * 3 + "y" * 200 + "LAST"})
    asks(desk, long, question("toolu_" + "9" * 60, "b.py"))
    desk.wide(columns)
    ran = desk.good("answer")
    assert max(map(width, ran.lines)) <= columns
    whole = "".join(line.strip().removeprefix("| ") for line in ran.lines)
    assert "x" * 300 + "END" in whole
    assert "y" * 200 + "LAST" in whole
    assert "9" * 60 in whole


def test_what_is_left_out_is_counted_and_shown_when_asked_for(desk: Desk) -> None:
    text = "\n".join(f"line {n}" for n in range(100))
    change = ChangeSet("new", (FileChange("new.txt", None, text.encode()),))
    asked = replace(question(), arguments={"text": text}, preview=change)
    asked = replace(asked, arguments_hash=question().arguments_hash)
    asks(desk, asked)
    lines = shown(desk)
    assert "<60 more lines>" in " ".join(lines)
    assert "<62 more lines>" in lines
    assert "| line 99" not in lines
    every = shown(desk, "latest", "c1")
    assert "| line 99" in every
    assert "+line 99" in every
    assert not any("more line" in line for line in every)


def test_masked_arguments_are_pointed_out_and_only_no_can_be_said(desk: Desk) -> None:
    log = asks(desk, replace(question(), arguments={"path": "[masked:private_key]"}))
    lines = shown(desk)
    assert "Secrets are masked here: only the program with the session accepts a yes." in lines
    assert lines[-1] == f"callgate answer {log.stem} {SIGN} no"
    ran = desk.run("answer", "latest", "yes")
    assert (ran.code, "masked in the log" in ran.err) == (1, True)
    desk.good("answer", "latest", "no")


def test_a_call_without_arguments_is_shown_as_one(desk: Desk) -> None:
    asks(desk, replace(question(), arguments={}))
    assert "no arguments" in shown(desk)


def test_one_question_can_be_shown_alone_and_programs_get_all_of_it(desk: Desk) -> None:
    log = asks(desk, *TWO)
    assert not any("toolu_02" in line for line in shown(desk, "latest", "c1"))
    found = [json.loads(line) for line in desk.good("answer", "--json").lines]
    assert [each["question"]["call_id"] for each in found] == ["c1", "toolu_02"]
    assert found[0]["sign"] == SIGN
    assert found[0]["session"] == log.stem
    assert found[0]["answer"] is None
    assert found[0]["exact"] is True
    assert found[0]["question"]["choices"][0]["pattern"] == {
        "type": "Pattern",
        "kind": "exact",
        "value": question().arguments_hash,
        "field": "",
    }
    (alone,) = desk.good("answer", "latest", "toolu_02", "--json").lines
    assert json.loads(alone) == found[1]


def test_a_real_session_left_in_the_middle_is_answered(desk: Desk) -> None:
    log = desk.unanswered()
    assert any(line.startswith("? write") for line in shown(desk))
    desk.good("answer", "latest", "always")
    policy = given(log).always
    assert policy is not None
    assert policy.pattern == Pattern("exact", given(log).arguments_hash)
    assert os.listdir(log.with_suffix("") / "answers") == []


# ---- questions with options ---------------------------------------------------------------------------------------

_OPTIONS = (AskedOption("Red", "warm", "a *preview*\nof two lines"), AskedOption("Blue", "cold"))
ASKS = (AskedField("Colour", "Which one?", _OPTIONS), AskedField("Parts", "Which ones?", _OPTIONS, several=True))
PICKS: dict[str, tuple[tuple[str, ...], tuple[FieldAnswer, ...]]] = {
    "numbers": (("2", "1,2"), (FieldAnswer(("Blue",)), FieldAnswer(("Red", "Blue")))),
    "own words": (("teal", "= none"), (FieldAnswer(text="teal"), FieldAnswer(text=" none"))),
    "a number as own words": (("=7", "1"), (FieldAnswer(text="7"), FieldAnswer(("Red",)))),
}


@pytest.mark.spec("BLT-10")
def test_a_number_answers_a_field_that_takes_numbers(desk: Desk) -> None:
    log = asks(desk, question(asks=(AskedField("Nights", "How many?", kind="integer"),), choices=()))
    desk.good("answer", "latest", "yes", "--pick", "3")
    assert given(log) == question().answered(FieldAnswer(text="3"), door="callgate answer")


@pytest.mark.spec("BLT-10")
@pytest.mark.parametrize("case", PICKS)
def test_fields_are_answered_by_number_or_in_own_words(desk: Desk, case: str) -> None:
    log = asks(desk, question(asks=ASKS, choices=()))
    picks, answers = PICKS[case]
    desk.good("answer", "latest", "yes", *(word for pick in picks for word in ("--pick", pick)))
    assert given(log) == question().answered(*answers, door="callgate answer")


@pytest.mark.spec("BLT-10")
def test_picks_that_do_not_fit_are_refused_before_anything_is_on_record(desk: Desk) -> None:
    log = asks(desk, question(asks=ASKS, choices=()))
    rows = {
        ("yes",): "there are 2 questions and 0 answers: give one answer for each question, in order",
        ("yes", "--pick", "1"): "there are 2 questions and 1 answers: give one answer for each question, in order",
        ("yes", "--pick", "3", "--pick", "1"): "question 1 has no option 3; to answer with this text, write =3",
        ("yes", "--pick", "1,2", "--pick", "1"): "Colour: only one option can be chosen",
    }
    said = {words: desk.run("answer", "latest", *words) for words in rows}
    assert {words: (ran.code, ran.err) for words, ran in said.items()} == {
        words: (1, f"callgate: {reason}\n") for words, reason in rows.items()
    }
    assert on_record(log) == []
    assert desk.run("answer", "latest", "no", "--pick", "1").code == 2


@pytest.mark.spec("BLT-10")
def test_the_fields_are_shown_with_numbers_descriptions_and_previews(desk: Desk) -> None:
    asks(desk, question(asks=ASKS, choices=()))
    shown = desk.good("answer").out
    for text in ("Colour: Which one?", "1  Red", "warm", "| a *preview*", "2  Blue", "any of these, or own words"):
        assert text in shown
    assert f"{SIGN} yes --pick … --pick …" in shown
    assert f"{SIGN} no\n" in shown


# ---- edited -------------------------------------------------------------------------------------------------------


def editor(desk: Desk, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """An editor that does this to the file ``$1``."""
    path = desk.store.folder.parent / "editor.sh"
    path.write_text(f"set -e\n{script}\n")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"sh {path}")


@pytest.mark.spec("BLT-11")
def test_a_text_is_changed_in_the_editor_before_the_yes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = asks(desk)
    editor(desk, monkeypatch, 'test "$(cat "$1")" = a.py; echo b.py > "$1"')
    desk.good("answer", "latest", "yes", "--edit")
    assert given(log) == question().yes({"path": "b.py"}, door="callgate answer")


@pytest.mark.spec("BLT-11")
def test_a_text_that_was_left_as_it_is_is_a_plain_yes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = asks(desk)
    editor(desk, monkeypatch, "true")
    desk.good("answer", "latest", "yes", "--edit", "path")
    assert given(log) == question().yes(door="callgate answer")


@pytest.mark.spec("BLT-11")
def test_nothing_is_answered_when_the_editor_fails_or_there_is_nothing_to_edit(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = asks(desk)
    editor(desk, monkeypatch, "exit 3")
    assert "failed; the question is still open" in desk.run("answer", "latest", "yes", "--edit").err
    editor(desk, monkeypatch, 'rm "$1"')
    assert "failed; the question is still open" in desk.run("answer", "latest", "yes", "--edit").err
    monkeypatch.setenv("EDITOR", "/nowhere/editor")
    assert "failed; the question is still open" in desk.run("answer", "latest", "yes", "--edit").err
    assert "has no text 'content' to edit; it has path" in desk.run("answer", "latest", "yes", "--edit", "content").err
    assert desk.run("answer", "latest", "yes", "--edit", "--arguments", "{}").code == 2
    assert desk.run("answer", "latest", "no", "--edit").code == 2
    assert on_record(log) == []


@pytest.mark.spec("BLT-11")
def test_masked_arguments_are_not_edited(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = asks(desk, replace(question(), arguments={"path": "[masked:key]"}))
    editor(desk, monkeypatch, 'echo b > "$1"')
    assert "secrets are masked" in desk.run("answer", "latest", "yes", "--edit").err
    assert on_record(log) == []
