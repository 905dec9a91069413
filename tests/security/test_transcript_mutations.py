"""Every row of the corpus of damaged transcripts, by its id.

The common expectation: all intact records load, what was skipped is named byte for byte and kept in a ``.broken`` copy,
a conversation never turns up empty in silence, and the next append is readable.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from callgate import Session
from callgate.conversation.ledger import Ledger
from callgate.testing import ScriptedModel, call, say, turn
from callgate.transcript.session_paths import data_folder
from callgate.transcript.store import Store
from callgate.words.errors import JournalError, SessionLocked
from callgate.words.events import CallSettled, MessageAdded, Noted
from callgate.words.inputs import Prompt
from callgate.words.messages import Message, Text
from tests.history import faults
from tests.transcript.kit import (
    AT,
    NOBODY,
    SESSION,
    Written,
    broken,
    check_resumes,
    drop_index,
    holding,
    one_call,
    open_and_say,
    opened_elsewhere,
    put_log,
    resealed,
    run,
    said,
    session_on,
    store_in,
    talk,
)

CORPUS = Path(__file__).parents[1] / "data" / "security" / "transcript_mutations.jsonl"
IDS = [json.loads(line)["id"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]

Row = Callable[[Path], None]
ROWS: dict[str, Row] = {}
SLOW = ("tra031",)
ALL = ["u1", "a1", "u2", "a2", "u3", "a3"]


def row(name: str) -> Callable[[Row], Row]:
    def note(body: Row) -> Row:
        ROWS[name] = body
        return body

    return note


def check(folder: Path, image: bytes, messages: Sequence[str], damaged: Sequence[tuple[int, int]] = ()) -> Path:
    """The common expectation, for these messages and damages."""
    store = store_in(folder)
    log = put_log(store, image)
    assert store.list()[0].fault == ""
    journal, before = run(open_and_say(store))
    assert said(before) == list(messages)
    assert [(each.offset, each.length) for each in journal.damages] == list(damaged)
    copy = broken(log).read_bytes() if broken(log).exists() else b""
    assert bool(copy) == bool(damaged)
    assert all(image[at : at + length] in copy for at, length in damaged)
    drop_index(log)
    assert said(store.read(SESSION).events) == [*messages, "new-and now?"]
    after = run(check_resumes(store))
    assert said(after)[: len(messages) + 1] == [*messages, "new-and now?"]
    return log


def without_end() -> tuple[bytes, bytes]:
    """A conversation before its last message, and that message's line."""
    log = talk(3)
    return log.image, Written().says("u4", "a3", "Grüße 你好").lines[0]


@row("tra002")
def cut_inside_a_character(folder: Path) -> None:
    image, _ = without_end()
    line = '{"v":1,"n":17,"type":"message_added","data":{"text":"Grüße 你'.encode()[:-1]
    check(folder, image + line, ALL, [(len(image), len(line))])


@row("tra004")
def torn_line_with_a_whole_one_behind_it(folder: Path) -> None:
    image, line = without_end()
    check(folder, image + line[:60] + line, [*ALL, "u4"], [(len(image), 60)])


@row("tra005")
@row("tra006")
def nothing_in_it(folder: Path) -> None:
    check(folder / "empty", b"", [])
    check(folder / "newline", b"\n", [])


@row("tra007")
def zeros_at_the_end(folder: Path) -> None:
    image, _ = without_end()
    for n, count in enumerate((200, 511, 512, 700)):
        check(folder / str(n), image + bytes(count), ALL, [(len(image), count)])


@row("tra010")
def last_line_twice(folder: Path) -> None:
    image, line = without_end()
    check(folder, image + line + line, [*ALL, "u4"], [(len(image) + len(line), len(line) - 1)])


@row("tra012")
def two_records_on_one_line(folder: Path) -> None:
    lines = talk(3).lines
    check(folder, b"".join(lines[:2]) + lines[2][:-1] + b"".join(lines[3:]), ALL)


@row("tra014")
def separators_inside_strings(folder: Path) -> None:
    """U+2028 and its like are text. Vertical tab and form feed must be escaped in JSON: as they are, they cost their
    line and nothing else."""
    log = talk(3)
    at = next(n for n, line in enumerate(log.lines) if b"answer 2" in line)
    plain = log.lines[at]
    log.lines[at] = resealed(plain, b"answer 2", "a\u2028b\u2029c\u0085d".encode())
    check(folder / "text", log.image, ALL)
    start = len(b"".join(log.lines[:at]))
    log.lines[at] = resealed(plain, b"answer 2", b"a\x0bb\x0cc")
    damaged = [(start, len(log.lines[at]) - 1)]
    check(folder / "control", log.image, ["u1", "a1", "u2", "u3", "a3"], damaged)


@row("tra015")
def carriage_returns(folder: Path) -> None:
    check(folder, talk(3).image.replace(b"\n", b"\r\n"), ALL)


@row("tra016")
def byte_order_mark(folder: Path) -> None:
    check(folder, b"\xef\xbb\xbf" + talk(3).image, ALL, [(0, 3)])


@row("tra018")
def half_a_character(folder: Path) -> None:
    log = talk(2).says("u3", "a2", "half \ud800 of it").says("x3", "u3", "yes", "assistant")
    assert rb"\ud800" in log.image
    check(folder, log.image, [*ALL[:5], "x3"])


@row("tra019")
def not_a_number(folder: Path) -> None:
    log = talk(3)
    at = next(n for n, line in enumerate(log.lines) if b"answer 2" in line)
    log.lines[at] = resealed(log.lines[at], b'"answer 2"', b"NaN")
    start = len(b"".join(log.lines[:at]))
    check(folder, log.image, ["u1", "a1", "u2", "u3", "a3"], [(start, len(log.lines[at]) - 1)])


@row("tra022")
def circle_of_parents(folder: Path) -> None:
    log = Written().says("x", "z").says("y", "x", role="assistant").says("z", "y").says("self", "self")
    check(folder, log.image, ["x", "y", "z", "self"])


@row("tra023")
def killed_while_a_call_ran(folder: Path) -> None:
    store = store_in(folder)
    put_log(store, one_call().image)
    events = run(check_resumes(store))
    (settled,) = [event for event in events if isinstance(event, CallSettled)]
    assert settled.result.code == "outcome_unknown"
    assert said(events)[:5] == ["u1", "a1", "u2", "a2", "r2"]


@row("tra025")
def result_without_a_call(folder: Path) -> None:
    check(folder, talk(2).answers("r9", "a2", "nobody").image, ["u1", "a1", "u2", "a2", "r9"])


@row("tra026")
def two_results_for_one_call(folder: Path) -> None:
    log = talk(1).says("u2", "a1").calls("x2", "u2", "c1").answers("y2", "x2", "c1", "c1").answers("y3", "y2", "c1")
    check(folder, log.image, ["u1", "a1", "u2", "x2", "y2", "y3"])


@row("tra027")
def result_before_its_call(folder: Path) -> None:
    log = talk(1).says("u2", "a1").answers("y2", "u2", "c1").calls("x2", "y2", "c1")
    check(folder, log.image, ["u1", "a1", "u2", "y2", "x2"])


@row("tra029")
def odd_times(folder: Path) -> None:
    log = Written()
    times = ("0.0", "9214646400", "1e300", "1e999", "-1", '"2025-01-01T00:00:00Z"', "null", "[]", "true", "9" * 400)
    last = None
    for n, at in enumerate(times, 1):
        message = {"id": f"m{n}", "role": "user", "parts": [{"type": "Text", "text": "…"}]}
        log.add("message_added", f"m{n}", last, {"message": message}, at=at)
        last = f"m{n}"
    check(folder, log.image, [f"m{n}" for n in range(1, len(times) + 1)])


@row("tra031")
def very_big_file(folder: Path) -> None:
    """Scaled down to 100 MB and 200,000 lines, most of them on branches that were left, with damage in the middle."""
    store = store_in(folder)
    log, text, count = talk(1), "x" * 380, 200_000
    path = put_log(store, log.image)
    with path.open("ab") as file:
        for n in range(count):
            log.says(f"m{n}", "a1", text)
            file.write(log.lines.pop())
            log.lines.append(b"")  # only counted
    with path.open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"\0" * 4096)
    assert path.stat().st_size > 100_000_000
    journal, before = run(open_and_say(store))
    assert said(before) == ["u1", "a1", f"m{count - 1}"]
    assert sum(each.length for each in journal.damages) >= 4096
    read = _bytes_read(lambda: said(store.read(SESSION).events))
    assert read < 1_000_000, "with an index, what is live is read and nothing else"
    assert said(store.read(SESSION).events) == ["u1", "a1", f"m{count - 1}", "new-and now?"]


def _bytes_read(work: Callable[[], object]) -> int:
    def so_far() -> int:
        rows = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
        return int(next(line for line in rows if line.startswith("rchar")).split()[1])

    before = so_far()
    work()
    return so_far() - before


@row("tra032")
def link_instead_of_a_file(folder: Path) -> None:
    store = store_in(folder)
    log = put_log(store, talk(1).image)
    elsewhere = log.rename(folder / "elsewhere")
    log.symlink_to(elsewhere)
    for attempt in (lambda: run(store.open(SESSION)), lambda: store.read(SESSION)):
        with pytest.raises(JournalError, match="symbolic link"):
            attempt()
    assert store.list()[0].fault != ""
    assert elsewhere.read_bytes() == talk(1).image
    (folder / "target").write_bytes(b"keep me")
    log.unlink()
    put_log(store, talk(1).image + b"torn")
    broken(log).symlink_to(folder / "target")
    with pytest.raises(JournalError):
        run(store.open(SESSION))
    assert (folder / "target").read_bytes() == b"keep me"


@row("tra033")
def pipe_instead_of_a_file(folder: Path) -> None:
    """Nobody may wait at the other end: not for the log, nor for what lies beside it."""
    store = store_in(folder)
    log = put_log(store, talk(1).image)
    log.unlink()
    os.mkfifo(log)
    for attempt in (lambda: run(store.open(SESSION)), lambda: store.read(SESSION)):
        with pytest.raises(JournalError, match="regular file"):
            attempt()
    assert store.list()[0].fault != ""
    log.unlink()
    put_log(store, talk(1).image)
    os.mkfifo(log.with_suffix(".index"))
    assert said(store.read(SESSION).events) == ["u1", "a1"]
    image = talk(1).image + b"torn"
    for beside in (log.with_suffix(".lock"), broken(log)):
        put_log(store, image)
        os.mkfifo(beside)
        assert opened_elsewhere(store) or log.read_bytes() == image, "not opened, so not changed"


@row("tra037")
def cut_by_somebody_while_open(folder: Path) -> None:
    store = store_in(folder)
    log = put_log(store, talk(3).image)

    async def main() -> None:
        journal = await store.open(SESSION)
        os.truncate(log, log.stat().st_size - 100)
        journal.append(Noted(AT, "lost"))
        waiting = journal.barrier()
        assert waiting is not None
        with pytest.raises(JournalError, match="another program changed"):
            await waiting
        with pytest.raises(JournalError, match="another program changed"):
            await journal.aclose()

    run(main())
    image = log.read_bytes()
    at = image.rindex(b"\n") + 1
    check(folder, image, ALL, [(at, len(image) - at)])


@row("tra039")
def lock_of_a_dead_process(folder: Path) -> None:
    store = store_in(folder)
    log = put_log(store, talk(3).image)
    with holding(log) as process:
        names = ('{"pid": 1, "since": 0.0, "host": ""}', "", "[]", '{"pid": 1e999, "since": 1, "host": ""}')
        for name in (*names, '{"pid": 1, "since": 1e999, "host": ""}', '{"pid": 1, "since": 1e17, "host": ""}'):
            log.with_suffix(".lock").write_text(name)
            with pytest.raises(SessionLocked):
                run(store.open(SESSION))
        process.send_signal(signal.SIGKILL)
        process.wait()
        log.with_suffix(".lock").write_text(json.dumps({"pid": os.getpid(), "since": AT, "host": "here"}))
        assert said(run(open_and_say(store))[1]) == ALL, "a process of that number lives, but it has no lock"


@row("tra040")
def name_of_a_killed_holder(folder: Path) -> None:
    store = store_in(folder)
    for n, left in enumerate((b'{"pid": 999999, "since": 1.0, "host": "x"}', b"", b"\0" * 40, b"{")):
        log = put_log(store, talk(3).image)
        log.with_suffix(".lock").write_bytes(left)
        assert said(run(open_and_say(store, str(n)))[1]) == ALL
        assert not log.with_suffix(".lock").exists()


@row("tra042")
def folder_renamed_while_open(folder: Path) -> None:
    store = store_in(folder)
    put_log(store, talk(3).image)
    moved = Store(folder / "work", folder / "elsewhere", masker=NOBODY)

    async def main() -> None:
        journal = await store.open(SESSION)
        journal.append(MessageAdded(AT, Message("before", "user", (Text("…"),))))
        assert said(list(await journal.live()))[-1] == "before"
        (folder / "data").rename(folder / "elsewhere")
        journal.append(MessageAdded(AT, Message("after", "user", (Text("…"),))))
        assert said(list(await journal.live()))[-1] == "after"
        await journal.aclose()

    run(main())
    assert not store.folder.exists()
    assert said(run(open_and_say(moved))[1]) == [*ALL, "before", "after"]


@row("tra043")
def index_missing_or_old(folder: Path) -> None:
    store = store_in(folder)
    log = put_log(store, talk(3).image)
    run(open_and_say(store, "one"))
    index = log.with_suffix(".index")
    old = index.read_bytes()
    run(open_and_say(store, "two"))
    for text in (old, b"", old[:40]):
        index.write_bytes(text)
        assert said(store.read(SESSION).events) == [*ALL, "new-one", "new-two"]
    index.unlink()
    (store.folder / "sessions.catalogue").unlink(missing_ok=True)
    assert store.list()[0].about.messages == 8
    assert said(run(open_and_say(store, "three"))[1]) == [*ALL, "new-one", "new-two"]


@row("tra044")
def index_broken(folder: Path) -> None:
    store = store_in(folder)
    log = put_log(store, talk(3).image)
    run(open_and_say(store, "one"))
    index = log.with_suffix(".index")
    good = index.read_bytes()
    texts = [b"\0" * 400, b"[]", b"null", b"\xff", b"[" * 100_000, good.replace(b'"upto":', b'"upto":-')]
    texts += [
        good.replace(b'"live":[[', b'"live":[["a",'),
        b'{"v":1,"upto":3,"n":1,"sum":"","leaf":null,"live":[],"about":{}}',
    ]
    for text in texts:
        index.write_bytes(text)
        assert said(store.read(SESSION).events) == [*ALL, "new-one"]
        (store.folder / "sessions.catalogue").write_bytes(text)
        assert [each.fault for each in store.list()] == [""]
    index.unlink()
    index.mkdir()
    assert said(run(open_and_say(store, "two"))[1]) == [*ALL, "new-one"]


@row("tra046")
def kept_output_that_is_gone(folder: Path) -> None:
    """There are no checkpoints of files yet; what a record refers to today is an output that was kept."""
    store = store_in(folder)
    artifact = {"path": str(folder / "gone.txt"), "size": 5}
    log = one_call({"content": [{"type": "Text", "text": "see the file"}], "artifacts": [artifact]})
    put_log(store, log.answers("r2", "a2", "c1").image)
    events = run(check_resumes(store))
    assert said(events)[:5] == ["u1", "a1", "u2", "a2", "r2"]
    assert faults(Ledger(events).history()) == []


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.rglob("*")}


def leave_everything(folder: Path) -> Path:
    """A session with all the files that one may leave: log, index, list, copy of what was broken, kept output."""
    store = store_in(folder)

    async def main() -> None:
        journal = await store.create()
        script = ScriptedModel(turn(call("big")), turn(say("ok")))
        async with Session(script, [big], host=folder, journal=journal, mode="bypass") as session:
            await session.send(Prompt("go"), until="idle")
        with journal.path.open("ab") as file:
            file.write(b"torn")
        async with session_on(await store.open(journal.session)):
            pass

    def big() -> str:
        """Gives much."""
        return "x" * 2_000_000

    run(main())
    store.list()
    return folder / "data"


def check_private(data: Path) -> None:
    found = modes(data)
    wrong = {name: oct(mode) for name, mode in found.items() if mode not in (0o600, 0o700)}
    assert wrong == {}
    assert data.stat().st_mode & 0o777 == 0o700
    kinds = {Path(name).suffix for name in found}
    assert {".jsonl", ".index", ".catalogue", ".broken", ".txt"} <= kinds, kinds


@row("tra048")
def private_files(folder: Path) -> None:
    check_private(leave_everything(folder))


@row("tra049")
def no_umask(folder: Path) -> None:
    with umask(0):
        check_private(leave_everything(folder))


@row("tra050")
def no_home(folder: Path) -> None:
    for environment in ({}, {"HOME": ""}, {"HOME": "relative"}):
        with pytest.raises(JournalError, match="CALLGATE_DATA_DIR"):
            data_folder(environment)
    assert data_folder({"CALLGATE_DATA_DIR": "/x"}) == Path("/x")
    (folder / "file").write_bytes(b"")
    store = Store(folder, folder / "file" / "data", masker=NOBODY)  # not writable, whoever asks

    async def main() -> None:
        journal = await store.create()
        journal.append(MessageAdded(AT, Message("u1", "user", (Text("…"),))))
        waiting = journal.barrier()
        assert waiting is not None
        with pytest.raises(JournalError, match="cannot be written"):
            await waiting
        with pytest.raises(JournalError):
            await journal.aclose()

    run(main())


@pytest.mark.spec("TRS-5", "TRS-8", "TRS-11")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in sorted(ROWS)]
)
def test_row(name: str, tmp_path: Path) -> None:
    ROWS[name](tmp_path)


def test_every_row_of_the_corpus_has_a_test() -> None:
    assert sorted(IDS) == sorted(ROWS)
