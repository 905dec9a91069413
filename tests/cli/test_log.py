"""``callgate log``: a session as text, read while it is written; ``tools list`` and ``update``."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.cli.session_log import LogFollower, LogView, log
from callgate.cli.terminal import plain
from callgate.transcript.share.session_page import Exported, Mark, read_page
from callgate.words.events import MessageAdded, RunEnded
from callgate.words.messages import Message, Text
from tests.cli.policy_kit import Person
from tests.cli.session_kit import BAD, Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)


@pytest.mark.spec("CLI-12")
def test_a_session_is_told_in_the_order_of_its_events_and_harmlessly(desk: Desk) -> None:
    path = desk.session()
    said = desk.good("log", path.stem).out
    assert BAD.search(said.replace("\n", "")) is None
    told = re.sub(r"^\d\d:\d\d:\d\d  ", "", said, flags=re.MULTILINE)
    places = [
        told.index(each)
        for each in (
            f"session {path.stem}",
            "user: Look at both.",
            'read: {"path": "a.py"}',
            "read: ok",
            "(45 more lines)",
            "assistant: Reading <U+001B>[31m",  # a message is on record when it is whole; its calls ran before
            "assistant: All is fine.",
            "run: The agent is done.",
        )
    ]
    assert places == sorted(places)
    assert "write: person says no: not this one" in told
    assert "write: denied by" in told
    assert desk.good("log").out == said, "the latest one, unless said otherwise"


def test_a_reminder_to_the_model_is_not_told_as_the_words_of_a_person() -> None:
    reminder = MessageAdded(0.0, Message("u1", "user", (Text("The user took back a.py."),)), about="undo")
    (line,) = (plain(each) for each in LogView(80).lines(reminder))
    assert line == "00:00:00  reminder to the model: The user took back a.py."
    (entry,) = read_page(Exported("s", "", "", (reminder,)))
    assert isinstance(entry, Mark)
    assert (entry.text, entry.body) == ("A reminder to the model, added by Callgate", "The user took back a.py.")


def test_what_was_rewound_is_told_too(desk: Desk) -> None:
    path = desk.rewound()
    said = desk.good("log", path.stem).out
    assert "user: First." in said
    assert "history: goes on from u1" in said
    assert "user: Second." in said


def test_lines_fit_the_window(desk: Desk) -> None:
    desk.session(prompt="word " * 60)
    desk.wide(60)
    assert max(map(len, desk.good("log").lines)) <= 60


def test_a_line_is_read_once_it_is_whole_and_never_twice(desk: Desk, tmp_path: Path) -> None:
    data = desk.session().read_bytes()
    copy = tmp_path / "copy.jsonl"
    cut = data.index(b"\n", len(data) // 2) + 10
    copy.write_bytes(data[:cut])
    follower = LogFollower(copy)
    first = follower.read()
    assert follower.read() == []
    with copy.open("ab") as file:
        file.write(data[cut:])
    second = follower.read()
    follower.close()
    whole = LogFollower(copy)
    assert [*first, *second] == [*whole.read()]
    whole.close()
    assert isinstance(first[1], MessageAdded) or any(isinstance(each, MessageAdded) for each in first)
    assert isinstance(second[-1], RunEnded) or any(isinstance(each, RunEnded) for each in second)
    assert follower.damaged == 0


@pytest.mark.spec("CLI-12")
def test_following_prints_what_is_appended_and_ctrl_c_ends_it(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = desk.session().read_bytes()
    copy = tmp_path / "copy.jsonl"
    cut = data.index(b"\n", len(data) // 2) + 1
    copy.write_bytes(data[:cut])
    looks: list[str] = []

    def pause(seconds: float) -> None:
        looks.append(capsys.readouterr().out)
        if len(looks) == 1:
            with copy.open("ab") as file:
                file.write(data[cut:])
        elif len(looks) == 3:
            raise KeyboardInterrupt

    assert log(str(copy), follow=True, pause=pause) == 0
    assert "Look at both." in looks[0]
    assert "All is fine." in looks[1]
    assert looks[2] == ""


def test_a_damaged_line_is_counted_and_the_rest_is_told(desk: Desk) -> None:
    path = desk.session()
    path.write_bytes(path.read_bytes() + b"torn\n")
    ran = desk.run("log", path.stem)
    assert "All is fine." in ran.out
    assert f"1 line cannot be read: callgate session verify {path.stem}" in ran.err
    assert "no session" in desk.run("log", "nothing-like-it").err


def test_ctrl_c_ends_the_program_with_0(desk: Desk) -> None:
    desk.session()
    command = [sys.executable, "-m", "callgate", "log", "-f"]
    running = subprocess.Popen(
        command, cwd=desk.work, env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    for line in running.stdout:
        if "run:" in line:
            break
    running.send_signal(signal.SIGINT)
    assert running.wait(30) == 0
    running.stdout.close()


# ---- tools list, update -------------------------------------------------------------------------------------------


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    return Person(tmp_path, monkeypatch, capsys)


@pytest.mark.spec("CLI-12")
def test_tools_are_listed_by_kind_with_what_is_not_available_and_why(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = person.config / "tools"
    own.mkdir()
    (own / "greet.py").write_text(
        "from callgate import tool\n\n@tool(effects='none')\ndef greet(name: str) -> str:\n"
        '    """Greets. And more."""\n    return name\n'
        "\n@tool(effects='none')\ndef weather(city: str) -> str:\n"
        '    """查询天气。返回温度。"""\n    return city\n'
    )
    (own / "broken.py").write_text("import nothing_like_it\n")
    theirs = person.work / ".callgate" / "tools"
    theirs.mkdir(parents=True)
    (theirs / "evil.py").write_text("raise SystemExit('was run')\n")
    monkeypatch.setattr("callgate.admin.tool_list._NEEDS", {"AstGrep": ("no_such_module", "edit")})
    rows = {row["name"]: row for row in json.loads(person.good("tools", "list", "--json").out)}
    assert rows["Bash"]["kind"] == "core"
    assert rows["SearchExtraTools"]["kind"] == "core"
    assert rows["WebFetch"]["kind"] == "deferred"
    assert rows["greet"] == {
        "name": "greet",
        "kind": "custom",
        "what": "Greets.",
        "origin": f"{own / 'greet.py'}:3",
        "why": "",
    }
    assert rows["weather"]["what"] == "查询天气。"
    assert rows["AstGrep"]["kind"] == "unavailable"
    assert "pip install 'callgate[edit]'" in rows["AstGrep"]["why"]
    assert "line 1: " in rows[str(own / "broken.py")]["why"]
    (skipped,) = [row for name, row in rows.items() if name.startswith(str(person.work))]
    assert "trust" in skipped["why"]
    text = person.good("tools", "list").out
    assert text.index("core:") < text.index("custom") < text.index("deferred:") < text.index("not available")
    person.set("COLUMNS", "60")
    narrow = " ".join(person.good("tools", "list").out.split())
    assert skipped["why"] in narrow, "a reason is not cut"


@pytest.mark.spec("SRC-11")
def test_the_list_of_tools_ends_with_the_mode_of_search_the_number_deferred_and_their_cost(person: Person) -> None:
    last = " ".join(person.good("tools", "list").out.split()).partition("tool search is ")[2]
    assert last.startswith("on: 5 tools are deferred; in every request they would take about ")
    assert last.endswith("tokens (without tools of MCP servers, which `/tools` lists)")
    for mode, names in (("off", {"deferred"}), ("auto", {"deferred"}), ("auto:0", set[str]())):
        person.set("CALLGATE_TOOL_SEARCH", mode)
        kinds = {row["kind"] for row in json.loads(person.good("tools", "list", "--json").out)}
        assert kinds.isdisjoint(names), mode
    person.set("CALLGATE_TOOL_SEARCH", "off")
    text = person.good("tools", "list").out
    assert text.splitlines()[-1].startswith("tool search is off: no tool is deferred (")
    assert "SearchExtraTools" not in text


@pytest.mark.spec("CLI-12")
def test_update_prints_a_command_and_runs_nothing(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("nothing is run"))
    ran = person.run("update")
    assert ran.code == 0
    assert len(ran.lines) == 1
    assert "pip install" in ran.out or "git -C" in ran.out
    assert ran.err.startswith("callgate: version ")
