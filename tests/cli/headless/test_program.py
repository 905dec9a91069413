"""The real program on a fake server: one run of each kind. The longer stories are in test_stories."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.headless.blackbox import KEY, calls, program, refuses, says


def test_it_reads_edits_and_answers_with_results_in_order(tmp_path: Path) -> None:
    work = tmp_path / "work"
    wanted = [("Read", {"file_path": f"{n}.txt"}) for n in range(5)]
    write = ("Write", {"file_path": "sum.txt", "content": "10\n"})
    with program(tmp_path, calls(*wanted, write), says("The sum is 10.")) as callgate:
        for n in range(5):
            (work / f"{n}.txt").write_text(f"number {n}\n")
        ran = callgate.run("Add them.", "--mode", "accept_edits", "--output-format", "json", stdin=b"and be quick\n")
    assert (ran.code, ran.json["text"], ran.json["reason"]) == (0, "The sum is 10.", "done"), ran.err
    assert ran.json["usage"]["input"] == 20
    first, second = (received.json for received in callgate.server.requests)
    assert first["model"] == "fake-1"
    assert "Add them.\n\n<stdin>\nand be quick\n</stdin>" in json.dumps(first["messages"], ensure_ascii=False).replace(
        "\\n", "\n"
    )
    told = [said["content"] for said in second["messages"] if said["role"] == "tool"]
    assert [f"number {n}" in text for n, text in enumerate(told[:5])] == [True] * 5
    assert (work / "sum.txt").read_text() == "10\n"
    assert KEY not in ran.out + ran.err


@pytest.mark.slow
def test_a_truncated_message_changes_nothing_and_the_cut_is_told(tmp_path: Path) -> None:
    cut = calls(("Write", {"file_path": "x.txt", "content": "x"}), whole=False)
    with program(tmp_path, *[cut] * 12) as callgate:
        ran = callgate.run("Write.", "--mode", "bypass", "--output-format", "json", "--max-turns", "1")
    assert ran.code in (1, 4)
    assert ran.json["reason"] != "done"
    assert ran.json["errors"]
    assert not (tmp_path / "work" / "x.txt").exists()


def test_a_busy_server_is_asked_again_and_the_person_reads_one_line(tmp_path: Path) -> None:
    busy = refuses(429, "slow down", retry_after="0")
    with program(tmp_path, busy, says("Here you are.")) as callgate:
        ran = callgate.run("Hi.")
    assert (ran.code, ran.out) == (0, "Here you are.\n")
    (line,) = ran.notices[-1:]
    assert "; retrying in" in line
    assert len([each for each in ran.notices if "; retrying in" in each]) == 1


def test_no_key_a_wrong_key_and_an_unknown_model_each_say_what_to_do(tmp_path: Path) -> None:
    wrong = refuses(401, f"Incorrect API key provided: {KEY}")
    unknown = refuses(404, "The model `fake-1` does not exist")
    with program(tmp_path, wrong, unknown) as callgate:
        for expected in ("key", "model"):
            ran = callgate.run("Hi.")
            assert (ran.code, ran.out) == (1, "")
            assert expected in ran.notices[-1]
            assert KEY not in ran.err
        ran = callgate.run("Hi.", "--model", "anthropic/claude-opus-5-5", "--output-format", "json")
    assert ran.code == 1
    assert "ANTHROPIC_API_KEY" in ran.json["errors"][0]


def test_standard_input_brings_prompts_answers_and_the_end(tmp_path: Path) -> None:
    lines = [{"type": "Prompt", "content": "Say hello."}, {"type": "Nonsense"}]
    data = "\n".join(map(json.dumps, lines)).encode() + b"\n"
    with program(tmp_path, says("Hello.")) as callgate:
        ran = callgate.run("--input-format", "stream-json", "--output-format", "stream-json", stdin=data)
    assert ran.code == 0, ran.err
    assert ran.lines[-1]["text"] == "Hello."
    assert ["cannot be used" in each["reason"] for each in ran.of("InputRefused")] == [True]


@pytest.mark.parametrize(
    ("closed", "form", "code", "told"),
    [
        ("<&-", "text", 0, ""),
        (">&-", "text", 1, "standard output"),
        (">&-", "json", 1, "standard output"),
        (">&-", "stream-json", 130, ""),
        ("2>&-", "text", 0, ""),
        ("<&- >&- 2>&-", "text", 1, ""),
    ],
)
@pytest.mark.slow
def test_a_standard_stream_that_is_closed_is_no_other_file(
    tmp_path: Path, closed: str, form: str, code: int, told: str
) -> None:
    """Its number is given to no file or socket: the answer is not written there, and no notice stands in the answer."""
    with program(tmp_path, says("Hello.")) as callgate:
        line = f"exec {shlex.quote(sys.executable)} -m callgate -p Hi. --output-format {form} {closed}"
        ran = callgate.run_shell(line)
    assert ran.code == code, ran
    assert ran.out == ("Hello.\n" if code == 0 else "")
    assert told in ran.err
    assert "Error" not in ran.err
    assert len(callgate.server.requests) <= 1


@pytest.mark.slow
def test_a_folder_that_was_removed_is_one_line(tmp_path: Path) -> None:
    with program(tmp_path) as callgate:
        line = f"mkdir gone; cd gone; rmdir ../gone; exec {shlex.quote(sys.executable)} -m callgate -p Hi."
        ran = callgate.run_shell(line)
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert "the workspace cannot be found" in ran.err


@pytest.mark.slow
def test_a_run_that_ends_with_a_question_tells_its_cost(tmp_path: Path) -> None:
    with program(tmp_path, calls(("Write", {"file_path": "b.txt", "content": "b"})), says("Done.")) as callgate:
        row = "prices = { input = 1, output = 2 }"
        (callgate.home / ".config/callgate/models.toml").write_text(f'[models."fake/fake-1"]\n{row}\n')
        asked = callgate.run("Write.", "--output-format", "json")
        assert asked.code == 3
        assert callgate.answer("latest", "yes").code == 0
        done = callgate.run("--continue", "--output-format", "json")
    assert [ran.json["cost"] for ran in (asked, done)] == [pytest.approx(20e-6)] * 2


@pytest.mark.slow
def test_lines_that_are_no_input_are_each_refused_in_a_sentence_and_the_rest_goes_on(tmp_path: Path) -> None:
    wrong = [b"\xff\xfe", b"[]", b"null", b"{", b'{"type": "Promt"}', b'{"type": "Prompt"}', b'{"a":' * 100_000]
    both = ("--input-format", "stream-json", "--output-format", "stream-json")
    with program(tmp_path, says("Hello.")) as callgate:
        ran = callgate.run(*both, stdin=b"\n".join([*wrong, b'{"type": "Prompt", "content": "Hi."}']))
        silent = callgate.run(*both, stdin=b"")
    assert (ran.code, ran.lines[-1]["text"]) == (0, "Hello.")
    refused = [each["reason"] for each in ran.of("InputRefused")]
    assert [f"line {n} of" in reason for n, reason in enumerate(refused, start=1)] == [True] * len(wrong)
    assert not [reason for reason in refused if "callgate." in reason or len(reason) > 400]
    assert (silent.code, len(callgate.server.requests)) == (1, 1)
    assert "no prompt was received: send a line such as" in silent.lines[-1]["errors"][0]


HEADERS = {
    "X-Gateway": "gw-73k20qpm1x9",
    "X-Team-Secret": "several words",
    "Authorization": "Bearer opaque.of.a.gateway",
    "X-Portkey-Virtual-Key": "vk-abcdefgh1",
    "Cookie": "session=0f1e2d3c4b5a",
    "X-Auth": "hunter2-hunter3",
    "cf-access-client-id": "9f8e7d6c5b4a.access",
    "CF-Access-Client-Secret": "lettersonlybutlong",
    "Api-Key": "0123456789abcdef",
    "X-Signature": "sig:1:2:3:4",
}


@pytest.mark.spec("TRS-13")
def test_values_of_headers_are_on_no_stream_and_not_on_record(tmp_path: Path) -> None:
    echo = ", ".join(f"{name}: {value}" for name, value in HEADERS.items())
    replies = (refuses(400, f"the request was refused: {echo}"), says(f"I was sent {echo}"))
    for form in ("text", "stream-json"):
        with program(tmp_path / form, *replies) as callgate:
            settings = callgate.home / ".config/callgate/settings.toml"
            rows = "".join(f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in HEADERS.items())
            settings.write_text(f"{settings.read_text()}[providers.fake.headers]\n{rows}X-Title = 'Callgate'\n")
            ran = callgate.run("Go.", "--output-format", form)
            again = callgate.run("Go on.", "--continue", "--output-format", "json")
            assert callgate.server.requests[-1].headers["x-gateway"] == HEADERS["X-Gateway"]
            logs = "".join(log.read_text() for log in callgate.store.folder.glob("*.jsonl"))
        assert "the request was refused" in ran.out + ran.err
        assert "I was sent" in again.out
        shown = ran.out + ran.err + logs
        assert not [name for name, value in HEADERS.items() if value.split()[-1] in shown and name != "X-Team-Secret"]
        assert "several words" not in ran.out + ran.err
