"""``callgate session verify``, ``gc``, ``remove`` and ``lock``."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.transcript.disk_journal import write_log
from callgate.transcript.lock import lock_path, open_log, take_lock
from callgate.words.events import SessionOpened
from tests.cli.session_kit import Desk

pytestmark = pytest.mark.spec("TRS-12")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)


# ---- verify -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-11")
def test_a_sound_log_is_0_and_says_its_lines_and_its_head(desk: Desk) -> None:
    log = desk.session()
    lines = log.read_bytes().splitlines()
    said = f"  {len(lines)} lines checked, {log.stat().st_size:,} bytes, head {json.loads(lines[-1])['sum']}"
    assert desk.good("session", "verify").lines == [f"{log.stem}: sound", said]


@pytest.mark.spec("GATE-11")
def test_a_changed_and_a_removed_line_are_1_and_named(desk: Desk) -> None:
    log = desk.session()
    lines = log.read_bytes().splitlines(True)
    lines[5] = lines[5].replace(b'"data":{', b'"data":{ ')
    log.write_bytes(b"".join((*lines[:8], *lines[9:])))
    ran = desk.run("session", "verify")
    assert (ran.code, ran.err) == (1, "")
    assert ran.lines[0] == f"{log.stem}: not sound, 2 faults"
    offset = len(b"".join(lines[:5]))
    assert ran.lines[1] == f"  line 6 (n 6, offset {offset}): changed or torn: its checksum does not match"
    assert ran.lines[2].endswith(": removed: n 9 should stand before line 9")


@pytest.mark.spec("GATE-11")
def test_an_end_that_was_cut_off_is_found_with_the_head_noted_before(desk: Desk) -> None:
    log = desk.session()
    lines = log.read_bytes().splitlines(True)
    head = json.loads(lines[-1])["sum"]
    assert desk.good("session", "verify", "--head", head).lines[-1].endswith(f"is line {len(lines)}, the last")
    log.write_bytes(b"".join(lines[:-1]))
    assert desk.run("session", "verify").code == 0
    ran = desk.run("session", "verify", "--head", head)
    assert ran.code == 1
    assert ran.lines[0] == f"{log.stem}: not sound, the head is not in it"
    assert f"the head {head} is not in the log: its end was removed" in ran.lines[-1]
    older = json.loads(lines[3])["sum"]
    assert desk.good("session", "verify", "--head", older).lines[-1].endswith("is line 4, followed by newer ones")


@pytest.mark.spec("GATE-11")
def test_all_logs_are_verified_on_demand_and_one_bad_one_is_1(desk: Desk) -> None:
    assert desk.good("session", "verify", "--all").lines == ["No sessions yet."]
    good = desk.session()
    desk.go("elsewhere")
    bad = desk.session()
    assert desk.good("session", "verify", "--all").lines[-1] == "2 logs, 0 not sound"
    bad.write_bytes(bad.read_bytes()[:-20])
    ran = desk.run("session", "verify", "--all")
    assert ran.code == 1
    assert f"{good.stem}: sound" in ran.lines
    assert f"{bad.stem}: not sound, 1 fault" in ran.lines
    assert ran.lines[-1] == "2 logs, 1 not sound"


def test_a_file_without_a_line_is_not_sound(desk: Desk) -> None:
    (desk.work / "copy.jsonl").write_bytes(b"")
    ran = desk.run("session", "verify", "copy.jsonl")
    assert (ran.code, ran.lines) == (1, ["copy: not sound, there is no line in it", "  0 lines checked, 0 bytes"])


def test_the_log_of_an_agent_is_named_with_its_session(desk: Desk) -> None:
    log = desk.session()
    agent = log.with_suffix("") / "agents" / "a1.jsonl"
    agent.parent.mkdir(parents=True)
    write_log(agent, desk.store.masker, [SessionOpened(1.0, "1", "/w")])
    name = f"projects/{log.parent.name}/{log.stem}/agents/a1.jsonl"
    for words in (("--all",), (log.stem,), (str(agent),)):
        assert f"{name}: sound" in desk.good("session", "verify", *words).lines


def test_a_torn_file_without_an_ending_in_its_name_is_verified_too(desk: Desk) -> None:
    log = desk.session()
    (desk.work / "copy").write_bytes(log.read_bytes()[:-20])
    ran = desk.run("session", "verify", "./copy")
    assert (ran.code, ran.err, ran.lines[0]) == (1, "", "copy: not sound, 1 fault")


def test_a_log_that_cannot_be_opened_does_not_stop_the_others(desk: Desk) -> None:
    good = desk.session()
    good.with_name("20250101-000000-00000000.jsonl").symlink_to(good)
    ran = desk.run("session", "verify", "--all")
    assert ran.code == 1
    assert f"{good.stem}: sound" in ran.lines
    assert "symbolic link" in ran.out


def test_a_copy_elsewhere_is_verified_by_its_path(desk: Desk) -> None:
    log = desk.session()
    copy = desk.work / "copy.jsonl"
    copy.write_bytes(log.read_bytes())
    assert desk.good("session", "verify", "copy.jsonl").lines[0] == "copy: sound"
    (log.with_name("20250101-000000-00000000.jsonl")).write_bytes(log.read_bytes())
    ran = desk.run("session", "verify", "20250101-000000-00000000")
    assert ran.code == 1
    assert "to another session" in ran.lines[1]


@pytest.mark.spec("TRS-5")
def test_damage_on_record_is_told_apart(desk: Desk) -> None:
    log = desk.session()
    lines = log.read_bytes().splitlines(True)
    log.with_suffix(".index").unlink()
    log.write_bytes(b"".join((*lines[:3], b"x" * 20 + b"\n", *lines[3:])))
    assert "on record" not in desk.run("session", "verify").out
    _resume(desk)
    ran = desk.run("session", "verify")
    assert ran.code == 1
    assert f"these bytes are kept in {log.name}.broken" in ran.lines[2]


def test_a_torn_end_of_an_open_session_may_just_be_on_its_way(desk: Desk) -> None:
    log = desk.session()
    log.write_bytes(log.read_bytes()[:-20])
    fd = open_log(log, os.O_RDWR)
    try:
        take_lock(fd, log, 0.0)
        ran = desk.run("session", "verify")
    finally:
        os.close(fd)
    assert ran.code == 1
    assert ran.lines[-1].endswith("its last line may not be complete yet")


def _resume(desk: Desk) -> None:
    async def main() -> None:
        await (await desk.store.open()).aclose()

    asyncio.run(main())


# ---- gc -----------------------------------------------------------------------------------------------------------


def test_there_may_be_nothing_to_remove(desk: Desk) -> None:
    nothing = "nothing to remove of this folder's sessions; --all looks at those of all folders\n"
    assert desk.good("session", "gc").out == nothing
    desk.session()
    assert desk.good("session", "gc", "--older-than", "30d").out == nothing
    assert desk.good("session", "gc", "--all").out == "nothing to remove\n"


def test_only_the_sessions_of_this_folder_are_cleaned_up_unless_all_is_said(desk: Desk) -> None:
    there = desk.session()
    desk.go("elsewhere")
    here = desk.session()
    for log in (there, here):
        os.utime(log, (1_700_000_000, 1_700_000_000))
    ran = desk.good("session", "gc", "--older-than", "30d")
    assert here.stem in ran.out
    assert (here.exists(), there.exists()) == (False, True)
    assert there.stem in desk.good("session", "gc", "--older-than", "30d", "--all").out
    assert not there.exists()


def test_old_sessions_and_litter_are_removed_and_counted(desk: Desk) -> None:
    old, young = desk.session(), desk.session()
    os.utime(old, (1_700_000_000, 1_700_000_000))
    (old.parent / "gone.index").write_text("12345")
    planned = desk.good("session", "gc", "--older-than", "30d", "--dry-run")
    assert old.exists()
    ran = desk.good("session", "gc", "--older-than", "30d")
    assert ran.out == planned.out.replace("would remove", "removed")
    assert ran.lines[0].startswith(f"removed session {old.stem}, ")
    assert ran.lines[0].endswith(" bytes, last used 2023-11-14 22:13:20 UTC")
    assert ran.lines[1] == f"removed {old.parent / 'gone.index'}: its session was removed"
    assert ran.lines[2].startswith("removed 1 session and 1 leftover, ")
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.spec("TRS-6")
def test_a_session_in_use_stays_and_it_is_said(desk: Desk) -> None:
    log = desk.session()
    os.utime(log, (1_700_000_000, 1_700_000_000))
    fd = open_log(log, os.O_RDWR)
    try:
        take_lock(fd, log, 0.0)
        ran = desk.good("session", "gc", "--older-than", "1h")
    finally:
        os.close(fd)
    assert ran.lines[0].startswith(f"kept session {log.stem} is open in process {os.getpid()}")
    assert ran.lines[1].startswith("nothing to remove")
    assert log.exists()


def test_programs_get_one_line_of_json_about_it(desk: Desk) -> None:
    log = desk.session()
    os.utime(log, (1_700_000_000, 1_700_000_000))
    size = sum(path.stat().st_size for path in log.parent.glob(f"{log.stem}*"))
    (line,) = desk.good("session", "gc", "--older-than", "6w", "--json").lines
    found = json.loads(line)
    assert (found["dry_run"], found["kept"], found["failed"]) == (False, [], [])
    assert (found["removed"][0]["session"], found["removed"][0]["size"]) == (log.stem, size)
    assert found["bytes"] >= size


# ---- remove -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["id", "beginning", "title"])
def test_one_session_is_removed_and_it_is_said_what_went(how: str, desk: Desk) -> None:
    other = desk.session("Another one")
    other = other.rename(other.with_name("20250101-000000-00000000.jsonl"))
    log = desk.session("Fix the tests")
    artifacts = log.with_suffix("") / "artifacts"
    artifacts.mkdir(parents=True)
    which = {"id": log.stem, "beginning": log.stem[:15], "title": "Fix the tests"}[how]
    first, *paths = desk.good("session", "remove", which).lines
    assert first.startswith(f"removed session {log.stem}, ")
    assert paths == [f"  {path}" for path in (log, log.with_suffix(".index"), log.with_suffix(""))]
    assert not list(log.parent.glob(f"{log.stem}*"))
    assert other.exists()


@pytest.mark.parametrize("which", ["fix tests", "fix the tests", "Fix", "latest", "", "202"])
def test_words_are_not_enough_to_remove_a_session(which: str, desk: Desk) -> None:
    log = desk.session("Fix the tests")
    ran = desk.run("session", "remove", which)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"callgate: there is no session {which!r}: use its id, ")
    assert log.exists()


def test_a_session_that_several_could_be_or_that_is_a_file_is_not_removed(desk: Desk) -> None:
    logs = [desk.session("Fix the tests"), desk.session("Fix the tests")]
    for which in ("Fix the tests", logs[0].stem[:4]):
        ran = desk.run("session", "remove", which)
        assert (ran.code, ran.out) == (1, "")
        assert all(str(log) in ran.err for log in logs)
    ran = desk.run("session", "remove", str(logs[0]))
    assert (ran.code, ran.err) == (1, f"callgate: {logs[0]} is a file: use the id of the session\n")
    assert all(log.exists() for log in logs)


def test_a_session_of_another_folder_is_removed_by_its_id_and_not_by_its_title(desk: Desk) -> None:
    log = desk.session("Fix the tests")
    desk.go("elsewhere")
    assert desk.run("session", "remove", "Fix the tests").code == 1
    assert log.exists()
    copy = desk.session()
    copy = copy.rename(copy.with_name(log.name))
    desk.good("session", "remove", log.stem)
    assert (copy.exists(), log.exists()) == (False, True)
    desk.good("session", "remove", log.stem)
    assert not log.exists()


@pytest.mark.spec("TRS-6")
def test_a_session_in_use_is_not_removed(desk: Desk) -> None:
    log = desk.session()
    fd = open_log(log, os.O_RDWR)
    try:
        take_lock(fd, log, 0.0)
        ran = desk.run("session", "remove", log.stem)
    finally:
        os.close(fd)
    assert (ran.code, ran.out) == (1, "")
    assert f"session {log.stem} is open in process {os.getpid()}" in ran.err
    assert log.exists()


# ---- lock ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-6")
def test_nobody_has_it_open(desk: Desk) -> None:
    log = desk.session()
    assert desk.good("session", "lock").out == f"no process has session {log.stem} open\n"
    lock_path(log).write_text('{"pid": 12345, "since": 1700000000, "host": "there"}')
    assert desk.good("session", "lock").out == (
        f"no process has session {log.stem} open; process 12345 on there since 2023-11-14 22:13:20 UTC "
        "left a stale name, which does not lock the session\n"
    )


@pytest.mark.spec("TRS-6")
def test_whoever_has_it_open_is_named(desk: Desk) -> None:
    log = desk.session()
    fd = open_log(log, os.O_RDWR)
    try:
        take_lock(fd, log, 1_700_000_000.0)
        said = desk.good("session", "lock", log.stem).out
        assert said == (
            f"session {log.stem} is open in process {os.getpid()} on {os.uname().nodename} "
            "since 2023-11-14 22:13:20 UTC; that process is alive\n"
        )
        for name, end in (
            ({"pid": 1, "since": 0, "host": "elsewhere"}, "check on that machine whether the process is running\n"),
            (
                {"pid": _dead(), "since": 0, "host": os.uname().nodename},
                "an unknown process has the session open\n",
            ),
            ({}, "it left no name\n"),
        ):
            lock_path(log).write_text(json.dumps(name))
            assert desk.good("session", "lock").out.endswith(end)
    finally:
        os.close(fd)


def _dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


# ---- session rename -----------------------------------------------------------------------------------------------


def test_a_session_gets_another_title_and_an_empty_one_removes_it(desk: Desk) -> None:
    log = desk.session()
    assert desk.good("session", "rename", log.stem, " Prices ").out == f"session {log.stem}: Prices\n"
    assert "Prices" in desk.good("session", "list").out
    assert desk.good("session", "rename", "Prices", "").out == f"session {log.stem}: (no title)\n"
    assert "Prices" not in desk.good("session", "list").out
    assert desk.good("session", "verify", log.stem).code == 0
