"""Headless runs from a prompt to an exit code: formats, questions, going on, limits, schemas."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from time import time
from typing import Literal

import pytest

from callgate.cli import main
from callgate.cli.headless.event_output import HeadlessResult, StreamOutput, TextOutput
from callgate.cli.start_options import read_headless
from callgate.formats.jsonable import from_json
from callgate.testing import call, fail, say, stop, think, turn
from callgate.testing.script import Scene
from callgate.transcript.lock import drop_name, open_log, take_lock
from callgate.words.errors import ModelError
from callgate.words.events import Event, Noted, SessionEvent
from callgate.words.messages import Message, ResultPart, Usage
from tests.cli.headless.kit import Desk
from tests.search.deferred_kit import is_reminder

HELLO = turn(say("Hello you."))
WRITES = turn(call("Read", file_path="a.txt"), call("Write", file_path="b.txt", content="new\n"))
SCHEMA = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'


@pytest.mark.spec("CLI-2")
def test_text_is_the_answer_and_nothing_else(desk: Desk) -> None:
    ran = desk.run(["Say hello."], turn(think("hm"), say("Hello\n\tyou.")))
    assert (ran.code, ran.out, ran.notices) == (0, "Hello\n\tyou.\n", [])
    assert desk.store.list()[0].about.first_prompt == "Say hello."


def test_json_is_one_object_with_what_happened(desk: Desk) -> None:
    ran = desk.run(["Write.", "--output-format", "json", "--mode", "accept_edits"], WRITES, turn(say("Done.")))
    result = ran.json
    assert (ran.code, result["type"], result["reason"], result["exit_code"]) == (0, "result", "done", 0)
    assert (result["text"], result["turns"], result["open_questions"], result["errors"]) == ("Done.", 2, [], [])
    assert [Path(each).name for each in result["changed_files"]] == ["b.txt"]
    assert result["session_id"] == desk.store.list()[0].session
    assert {"usage", "cost", "duration", "structured", "v"} <= result.keys()


def test_stream_json_is_a_start_every_event_and_the_result(desk: Desk) -> None:
    (desk.work / "a.txt").write_text("old\n")
    ran = desk.run(["Write.", "--output-format", "stream-json", "--mode", "accept_edits"], WRITES, HELLO)
    start, *events, result = ran.lines
    assert (start["type"], start["v"], start["cwd"], start["mode"]) == ("start", 1, str(desk.work), "accept_edits")
    assert {"Read", "Write", "Bash"} <= {*start["tools"]}
    assert result["type"] == "result"
    read = [from_json(Event, event) for event in events]
    assert len(read) == len(events)
    kinds = [event["type"] for event in events]
    for kind in ("TextStreamed", "MessageAdded", "CallArrived", "CallDecided", "CallStarted", "CallSettled"):
        assert kind in kinds
    assert [event["reason"] for event in ran.of("RunEnded")] == ["done"]
    assert ran.notices == []  # they are events here


def test_events_of_nested_sessions_have_their_path_in_the_stream_and_are_no_notices_in_a_text(
    desk: Desk, capfd: pytest.CaptureFixture[str]
) -> None:
    async def main() -> None:
        stream, text = StreamOutput(desk.store.masker, lambda: None), TextOutput(desk.store.masker)
        for output in (stream, text):
            for path in ((), ("scout", "reader")):
                output.event(SessionEvent(path, 1, Noted(1.0, "a note", "warning")))
        await stream.end(HeadlessResult(reason="done", session_id=""))

    asyncio.run(main())
    out, err = capfd.readouterr()
    own, nested, _ = map(json.loads, out.splitlines())
    assert nested == {**own, "path": ["scout", "reader"]}
    assert "path" not in own
    assert err == "callgate: a note\n"


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_question_is_kept_the_rest_is_finished_and_the_code_is_3(desk: Desk, form: str) -> None:
    (desk.work / "a.txt").write_text("old\n")
    ran = desk.run(["Write.", "--output-format", form], WRITES)
    (question,) = desk.store.questions()
    assert ran.code == 3
    assert not (desk.work / "b.txt").exists()
    events = desk.store.read().events
    assert "call_1" in [getattr(event, "call_id", "") for event in events if type(event).__name__ == "CallSettled"]
    session = desk.store.list()[0].session
    if form == "text":
        (line,) = ran.notices
        assert f"callgate answer {session} {question.call_id} yes|no" in line
        assert f"callgate -p --resume {session}" in line
        assert ran.out == ""
    else:
        result = ran.lines[-1]
        assert (result["reason"], result["exit_code"]) == ("question", 3)
        assert [each["call_id"] for each in result["open_questions"]] == [question.call_id]


def test_an_answered_question_is_acted_on_by_the_next_run(desk: Desk) -> None:
    assert desk.run(["Write."], WRITES).code == 3
    assert desk.run(["--continue"]).code == 3  # nobody has answered yet
    assert main(["answer", "latest", "yes"]) == 0
    ran = desk.run(["--continue", "--output-format", "json"], turn(say("It is written.")))
    assert (ran.code, ran.json["text"]) == (0, "It is written.")
    assert (desk.work / "b.txt").read_text() == "new\n"
    assert [Path(each).name for each in ran.json["changed_files"]] == ["b.txt"]
    assert len(desk.store.list()) == 1


def test_without_a_record_a_question_says_what_to_do_instead(desk: Desk) -> None:
    ran = desk.run(["Write.", "--no-save"], WRITES)
    assert ran.code == 3
    assert "--allow" in ran.notices[0]
    assert "--no-save" in ran.notices[0]
    assert not desk.store.folder.exists()


def test_dont_ask_denies_and_rules_of_the_command_line_count(desk: Desk) -> None:
    ran = desk.run(["Write.", "--mode", "dont_ask"], WRITES, turn(say("I may not.")))
    assert (ran.code, ran.out) == (0, "I may not.\n")
    assert not (desk.work / "b.txt").exists()
    ran = desk.run(["Write.", "--allow", "Edit(/b.txt)"], WRITES, turn(say("Done.")))
    assert (ran.code, (desk.work / "b.txt").read_text()) == (0, "new\n")
    ran = desk.run(["Write.", "--mode", "bypass", "--deny", "Edit(/b.txt)"], WRITES, turn(say("No.")))
    assert ran.out == "No.\n"
    denied = [part.is_error for part in desk.models[-1].requests[-1].messages[-1].parts if isinstance(part, ResultPart)]
    assert denied == [True, True]


def test_a_limit_is_exit_4_and_says_which(desk: Desk) -> None:
    ran = desk.run(["Read.", "--max-turns", "1", "--output-format", "json"], turn(call("Read", file_path="a.txt")))
    assert (ran.code, ran.json["reason"]) == (4, "limit")
    assert ran.notices[-1] == f"callgate: To continue: callgate -p --resume {ran.json['session_id']}"
    assert "turns" in ran.json["errors"][0]


@pytest.mark.spec("CLI-7")
def test_bare_leaves_out_all_that_the_folder_and_the_person_bring_along(desk: Desk) -> None:
    own = desk.home / ".config/callgate"
    for folder, settings in ((desk.work / ".callgate", "settings.toml"), (own, "settings.toml")):
        (folder / "tools").mkdir(parents=True)
        (folder / settings).write_text(f'[[hooks.UserPromptSubmit]]\ncommand = "touch {desk.work}/hooked"\n')
        (folder / "tools/weigh.py").write_text(
            "from callgate import tool\n\n@tool(effects='none')\ndef weigh(what: str) -> str:\n"
            '    """Weighs."""\n    return what\n'
        )
    (desk.work / "AGENTS.md").write_text("Always use tabs.")

    def sent(*flags: str) -> tuple[set[str], bool, bool]:
        (desk.work / "hooked").unlink(missing_ok=True)
        assert desk.run(["Hi.", "--trust", *flags], HELLO).code == 0
        (request,) = desk.models[-1].requests
        return {spec.name for spec in request.tools}, "use tabs" in repr(request), (desk.work / "hooked").exists()

    assert sent("--bare") == ({"Bash", "Edit", "Read"}, False, False)
    names, read, hooked = sent()
    assert {"weigh", "Write"} <= names
    assert (read, hooked) == (True, True)


def test_failures_of_the_model_are_exit_1_with_their_reason(desk: Desk) -> None:
    refused = ModelError("the key was refused: callgate auth set fake", kind="wrong_key")
    ran = desk.run(["Hi."], turn(fail(refused)))
    assert (ran.code, ran.out) == (1, "")
    assert "callgate auth set fake" in ran.notices[-1]


@pytest.mark.spec("CLI-6")
def test_an_answer_that_does_not_fit_the_schema_is_sent_back_once(desk: Desk) -> None:
    bad, good = turn(say("three")), turn(say('```json\n{"n": 3}\n```'))
    ran = desk.run(["Count.", "--json-schema", SCHEMA, "--output-format", "json"], bad, good)
    assert (ran.code, ran.json["structured"]) == (0, {"n": 3})
    assert [each.about.name for each in desk.store.list()] == ["Count."], "the instruction is no part of the title"
    (desk.work / "schema.json").write_text(SCHEMA)
    ran = desk.run(["Count.", "--json-schema", "schema.json"], good)
    assert (ran.code, json.loads(ran.out)) == (0, {"n": 3})
    ran = desk.run(["Count.", "--json-schema", SCHEMA, "--output-format", "json"], bad, bad)
    assert (ran.code, ran.json["reason"], ran.json["structured"]) == (1, "misfit", None)
    assert "the answer does not match the schema, even after one correction:" in ran.json["errors"][0]


def said(desk: Desk) -> list[Message]:
    """The messages of the last request, without reminders."""
    return [message for message in desk.models[-1].requests[0].messages if not is_reminder(message)]


@pytest.mark.spec("CLI-9")
def test_sessions_are_gone_on_with_by_id_title_and_path_and_forked(desk: Desk) -> None:
    desk.run(["First.", "--session-id", "first-one"], HELLO)
    for which in ("first-one", "firs", "First", str(desk.store.find("first-one"))):
        assert desk.run(["And?", "--resume", which], HELLO).code == 0
    assert len(said(desk)) == 9
    assert desk.run(["And?", "--resume", "first-one", "--fork"], HELLO).code == 0
    assert len(said(desk)) == 11
    assert [each.session == "first-one" for each in desk.store.list()] == [False, True]
    ran = desk.run(["And?", "--resume", "first-one", "--fork", "--session-id", "copy-one"], HELLO)
    assert (ran.code, len(said(desk))) == (0, 11)
    assert desk.store.find("copy-one").stem == "copy-one"
    ran = desk.run(["Again?", "--resume", "first-one", "--resume-at", "a1"], HELLO)
    assert (ran.code, len(said(desk))) == (0, 3)
    ran = desk.run(["X", "--session-id", "first-one", "--output-format", "json"], HELLO)
    assert (ran.code, ran.json["reason"]) == (1, "error")
    assert "session first-one already exists" in ran.json["errors"][0]


def test_going_on_where_nothing_was_left_says_so(desk: Desk) -> None:
    desk.run(["First."], HELLO)
    ran = desk.run(["--continue"])
    assert ran.code == 1
    assert "no work is unfinished; pass a prompt on the command line" in ran.err


def test_a_folder_without_trust_is_named_on_one_line(desk: Desk) -> None:
    tools = desk.work / ".callgate/tools"
    tools.mkdir(parents=True)
    (tools / "weigh.py").write_text(
        "from callgate import tool\n\n@tool\ndef Weigh() -> str:\n    'W.'\n    return 'x'\n"
    )
    ran = desk.run(["Hi."], HELLO)
    assert ran.code == 0
    assert ["not trusted, so 1 file of tools did not run" in line for line in ran.notices] == [True]
    ran = desk.run(["Hi.", "--trust", "--output-format", "stream-json"], HELLO)
    assert "Weigh" in ran.lines[0]["tools"]


@pytest.mark.spec("CLI-5")
def test_prompts_settings_and_folders_of_the_command_line_count(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "x.txt").write_text("from further away\n")
    words = ["Go.", "--add-dir", str(tmp_path / "more"), "--append-system-prompt", "Be brief, please."]
    words += ["--effort", "low"]
    words += ["--settings", '{"limits": {"max_turns": 2}}', "--tools", "Read"]
    ran = desk.run(words, turn(call("Read", file_path=str(tmp_path / "more" / "x.txt"))), turn(say("Read it.")))
    assert (ran.code, ran.out) == (0, "Read it.\n")
    request = desk.models[-1].requests[0]
    assert [spec.name for spec in request.tools] == ["Read"]
    assert "Be brief, please." in request.system
    assert request.options.effort == "low"
    assert str(tmp_path / "more") in request.system
    own = tmp_path / "own.md"
    own.write_text("You sort mail.\n")
    ran = desk.run(["Go.", "--system-prompt-file", str(own), "--no-save", "--tools", ""], HELLO)
    assert desk.models[-1].requests[0].system.startswith("You sort mail.\n\n")
    assert (ran.code, desk.models[-1].requests[0].tools, len(desk.store.list())) == (0, (), 1)


def test_a_change_in_a_further_folder_is_refused_with_the_way_to_make_it(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    new = tmp_path / "more" / "x.txt"
    words = ["Go.", "--add-dir", str(tmp_path / "more"), "--allow", "Write"]
    ran = desk.run(words, turn(call("Write", file_path=str(new), content="x")), turn(say("No.")))
    assert (ran.code, ran.out, new.exists()) == (0, "No.\n", False)
    first, second = desk.models[-1].requests
    assert "Further folder, read-only (Write and Edit work only in the workspace): " in first.system
    assert "Use a command" in str(second.messages[-1])


def test_secrets_are_masked_in_every_form(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-ant-api03-" + "x1Y2" * 8
    (desk.work / "a.txt").write_text(f"key = {secret}\n")
    for form in ("text", "json", "stream-json"):
        ran = desk.run(["Read.", "--output-format", form], turn(call("Read", file_path="a.txt")), turn(say(secret)))
        assert ran.code == 0
        deltas = "".join(f"{json.dumps(line)}\n" for line in ran.of("TextStreamed")) if form == "stream-json" else ""
        assert secret not in ran.out.replace(deltas, "") + ran.err
        assert "[masked:anthropic]" in ran.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["x", "--modle", "y"], "did you mean --mode"),
        (["x", "--output-format", "jsn"], "did you mean json"),
        (["x", "--mode", "dontask"], "did you mean dont_ask"),
        (["x", "y"], "put the whole prompt in quotes"),
        (["x", "--fork"], "requires --continue or --resume ID"),
        (["x", "--continue", "--resume", "y"], "say --continue or --resume, not both"),
        (["x", "--no-save", "--continue"], "not both"),
        (["x", "--agent=f"], "custom agents are not supported yet"),
        (["  "], "the prompt is empty"),
        (["x", "--max-turns", "0"], "a whole number above 0"),
        (["x", "--max-budget", "-1"], "a sum in dollars above 0"),
        (["x", "--wait=soon"], "a number of seconds"),
    ],
)
def test_a_fault_in_the_flags_is_one_line_and_exit_2(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read_headless(["-p", *words])
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "the prompt is missing: use callgate -p PROMPT, or standard input"),
        (["x", "--settings", "{no"], "not JSON"),
        (["x", "--settings", '{"mood": 1}'], "did you mean mode"),
        (["x", "--json-schema", "gone.json"], "gone.json cannot be read"),
        (["x", "--json-schema", '{"type": "thing"}'], "the JSON Schema is invalid"),
        (["x", "--system-prompt-file", "gone.md"], "--system-prompt-file: gone.md cannot be read"),
        (["x", "--add-dir", "gone"], "not a folder"),
        (["x", "--tools", "Reed"], "did you mean Read"),
        (["x", "--session-id", "no/id"], "not a session id"),
        (["x", "--deny", "Bash("], "the closing bracket is missing"),
        (["x", "--allow", "bash(ls)"], "names of tools must be exact: write Bash"),
        (["x", "--settings", '{"permissions": {"ask": ["Bash(ls"]}}'], "the closing bracket is missing"),
    ],
)
def test_a_value_that_cannot_be_is_one_line_and_exit_2(desk: Desk, words: list[str], says: str) -> None:
    ran = desk.run(words, HELLO)
    assert ran.code == 2
    assert says in ran.err
    assert len(ran.notices) == 1
    assert not desk.models[-1].requests


@pytest.mark.parametrize("where", ["home/.config/callgate", "work/.callgate"])
def test_settings_with_which_every_call_would_be_denied_start_nothing(desk: Desk, where: str) -> None:
    file = desk.home.parent / where / "settings.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[permissions]\ndeny = ["Bash("]\n')
    ran = desk.run(["x"], HELLO)
    assert (ran.code, ran.out, desk.models[-1].requests) == (2, "", [])
    (line,) = ran.notices
    assert f"{file}:2" in line


def test_each_run_counts_what_its_own_requests_used(desk: Desk) -> None:
    """A turn that a question or a signal left open is counted by the run that asked the model, not by the next."""

    def used(*words: str, scenes: Sequence[Scene] = ()) -> tuple[int, int, int]:
        result = desk.run([*words, "--output-format", "json"], *scenes).json
        return result["usage"]["input"], result["usage"]["output"], result["turns"]

    asks = turn(call("Write", file_path="b.txt", content="new\n"), stop("tool_calls", Usage(input=10, output=5)))
    ends = turn(say("Done."), stop("end", Usage(input=20, output=2)))
    reads = turn(call("Read", file_path="a.txt"), stop("tool_calls", Usage(input=7, output=1)))
    assert used("Write.", scenes=[reads, asks]) == (17, 6, 2)
    assert used("--continue") == (0, 0, 0)
    assert main(["answer", "latest", "yes"]) == 0
    desk.captured()
    assert used("--continue", scenes=[ends]) == (20, 2, 1)
    assert used("Read.", "--max-turns", "1", scenes=[reads]) == (7, 1, 1)
    assert used("Read.", scenes=[reads, turn(fail(ModelError("no", kind="invalid_request")))]) == (7, 1, 2)


def test_a_flag_sets_the_effort_of_this_run_alone(desk: Desk) -> None:
    desk.run(["Think.", "--effort", "max"], HELLO)
    desk.run(["Go on.", "--continue"], HELLO)
    assert [model.requests[0].options.effort for model in desk.models] == ["max", None]


def test_a_prompt_without_the_flag_is_told_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mend the test"]) == 2
    assert "callgate -p 'mend the test'" in capsys.readouterr().err


@pytest.mark.spec("TRN-13")
def test_a_budget_of_tokens_is_a_limit_of_this_run(desk: Desk) -> None:
    reads = turn(call("Read", file_path="a.txt"), stop("tool_calls", Usage(output=600)))
    ran = desk.run(["Read.", "--token-budget", "500", "--output-format", "json"], reads)
    assert ran.code == 4
    assert ran.lines[-1]["reason"] == "budget"


@pytest.mark.spec("GATE-5")
@pytest.mark.parametrize("outcome", ["yes", "no"])
def test_an_answer_that_an_ending_program_did_not_read_is_used_by_the_next_start(
    desk: Desk, outcome: Literal["yes", "no"]
) -> None:
    """The mailbox is read while questions are open, and a run without --wait ends at its questions."""
    assert desk.run(["Write."], turn(call("Write", file_path="notes.txt", content="x\n"))).code == 3
    (question,), log = desk.store.questions(), desk.store.find()
    holder = open_log(log, os.O_RDWR)
    take_lock(holder, log, time())
    assert desk.store.answer(log, question.yes() if outcome == "yes" else question.no()).how == "left"
    drop_name(log)
    os.close(holder)
    ran = desk.run(["--continue"], turn(say("Done.")))
    assert (ran.code, ran.out) == (0, "Done.\n"), ran.err
    (result,) = desk.models[-1].requests[0].messages[-1].parts
    assert isinstance(result, ResultPart)
    assert result.is_error == (outcome == "no")
    assert (desk.work / "notes.txt").exists() == (outcome == "yes")
