"""The journal of a session on disk: one log file, one thread that writes the log, and one lock.

The first message or call creates the log file. A program that only starts and exits creates no files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, TypeVar

from callgate.conversation.chain import Chain
from callgate.conversation.ports import Drafted
from callgate.core.ports import Maybe
from callgate.host.files import make_folders, sync_folder
from callgate.host.threads import in_thread
from callgate.transcript import side_files
from callgate.transcript.answer_files import forget_answers, tidy_answers, waiting_answers
from callgate.transcript.codec import START, Encoder
from callgate.transcript.loader import LoadedLog, read_live, read_message, whole
from callgate.transcript.lock import drop_name, open_log, take_lock
from callgate.transcript.question_fold import QuestionFold
from callgate.transcript.reader import Damage, all_entries
from callgate.transcript.repair import repair
from callgate.transcript.session_paths import agent_log
from callgate.transcript.session_summary import Summary, Tally
from callgate.transcript.tape import Tape
from callgate.transcript.writer import WrittenJournal
from callgate.words.decisions import Confirmation
from callgate.words.errors import JournalError, StateError
from callgate.words.events import Durable, MessageAdded, TurnStarted
from callgate.words.messages import Message
from callgate.words.turns import Branched, Compacted, Rewound

if TYPE_CHECKING:
    from callgate.transcript.masking import Masker  # its patterns are costly to load


T = TypeVar("T")

_INDEX_EVERY = 4 << 20
_MOVES = (Rewound, Branched)


class DiskJournal(WrittenJournal):
    """The journal of a session on disk, open for writing. Created by a Store."""

    def __init__(self, log: Path, masker: Masker, *, loaded: LoadedLog | None = None, fd: int = -1) -> None:
        self._events: Sequence[Durable] | None = () if loaded is None else loaded.events
        self._questions = QuestionFold(self._events or ())
        self._log = _Lines(log, masker, loaded, fd, self._questions)
        super().__init__(
            log,
            self._log,
            exists=loaded is not None,
            number=0 if loaded is None else loaded.n,
            draft=("", ()) if loaded is None else side_files.read_draft(log),
        )
        self.damages: tuple[Damage, ...] = () if loaded is None else tuple(loaded.damages)
        self._waiting: Mapping[str, Confirmation] = {}  # answer files, as last read
        self._faults: dict[str, bool] = {}  # invalid answer files, and whether they were reported
        self._moved = False  # the log must be read to find the new leaf
        self.notes: tuple[str, ...] = ()
        """Notes for the user who resumes the session."""
        if loaded is not None and loaded.unknown:
            self.notes = (
                f"{loaded.unknown} lines of this session were written by a newer version of Callgate and are ignored",
            )

    def clean(self, value: T, /) -> T:
        return self._log.masker.noun(value)

    def new_agent(self, name: str) -> DiskJournal:
        """Return the journal of a new nested session."""
        return DiskJournal(agent_log(self.path, name), self._log.masker)

    @property
    def about(self) -> Summary:
        return self._log.tally.summary()

    def append(self, event: Durable) -> None:
        if self._moved and isinstance(event, MessageAdded):
            raise StateError("after a move, call live() before a message is appended")
        super().append(event)
        self._moved = self._moved or isinstance(event, _MOVES)
        self._questions.fold(event)

    def read(self) -> Iterable[Durable]:
        """Return the live events of the opened log. The method can be called once, because the events are not kept
        in memory."""
        if self._closed or self._events is None:
            how = "closed" if self._closed else "already used by another Session"
            raise StateError(f"the journal of session {self.session} is {how}: open a new journal")
        events, self._events = self._events, None
        return events

    async def live(self) -> Sequence[Durable]:
        if self._held is not None:
            return tuple(self._held)
        events = await self._writer.call(self._log.read_live)
        self._moved = False
        self._questions.restart(events)
        return events

    async def recall(self, message_id: str) -> Message | None:
        if self._held is not None:
            return None
        return await self._writer.call(partial(self._log.recall, message_id))

    async def answers(self) -> Sequence[Confirmation]:
        """Return the answers of other programs to the open questions. Every call returns the same answer until it is
        recorded or removed by ``forget_answers``."""
        if self._closed or self._held is not None or not self._questions.open:
            return ()
        found = await in_thread(partial(waiting_answers, self.path))
        self._faults |= {fault: False for fault in found.faults if fault not in self._faults}
        self._waiting = found.answers
        if self._moved:  # the open questions are not known yet
            return ()
        open_now = {asked.key for asked in self._questions.open.values()}
        return tuple(answer for key, answer in found.answers.items() if key in open_now)

    def answer_faults(self) -> Sequence[str]:
        """Return descriptions of invalid answer files. Each file is described once."""
        new = [fault for fault, is_reported in self._faults.items() if not is_reported]
        self._faults |= dict.fromkeys(new, True)
        return new

    def forget_answers(self, call_ids: Iterable[str]) -> Maybe:
        """Remove the answer files of these calls that ``answers`` returned, after all events so far are on disk. The
        returned awaitable may be ignored."""
        calls = set(call_ids)
        keys = [key for key, answer in self._waiting.items() if answer.call_id in calls]
        if not keys or self._closed:
            return None
        self._waiting = {key: answer for key, answer in self._waiting.items() if key not in keys}
        return self._writer.call(partial(forget_answers, self.path, keys))


class _Lines:
    """Encodes events and writes them to the log file of a session. Implements ``Lines`` for the thread of a Writer."""

    def __init__(
        self, log: Path, masker: Masker, loaded: LoadedLog | None, fd: int, questions: QuestionFold | None = None
    ) -> None:
        self.path = log
        self._questions = questions  # owned by the loop; read here only after its last append
        self.tally = Tally() if loaded is None else loaded.tally
        self._fd = fd
        self._new = loaded is None
        self._chain = Chain() if loaded is None else loaded.chain
        n, prev = (0, START) if loaded is None else (loaded.n, loaded.sum)
        self._encoder = Encoder(log.stem, masker, n=n, prev=prev)
        self._end = 0 if loaded is None else loaded.end
        self._indexed = self._end if loaded is not None and loaded.indexed else -1
        self._complete = loaded is None or loaded.complete
        self._moved = False  # the chain may not know the leaf, and the tally counts dead branches
        self._boundary = False
        self.masker = masker
        self.draft: tuple[str, Drafted] | None = None
        self._drafted = loaded is not None and side_files.draft_path(log).exists()
        self._draft_over = False
        self._used = False  # a turn started since the session was recorded as the last used one

    def open(self) -> Tape:
        if self._fd < 0:
            self._fd = _create(self.path)
        return Tape(self._fd, self._end, self.path)

    def line(self, event: Durable, at: int) -> bytes:
        place = self._chain.place(event)
        data = self._encoder.encode(event, place)
        self._end = at + len(data)
        self._chain.add(place, at, self._end)
        self.tally.fold(self._encoder.event or event)
        self._moved = self._moved or isinstance(event, _MOVES)
        self._boundary = self._boundary or isinstance(event, Compacted)
        self._used = self._used or isinstance(event, TurnStarted)
        self._draft_over = self._draft_over or (self._drafted and isinstance(event, MessageAdded))
        return data

    def write(self, tape: Tape, events: Iterable[Durable]) -> None:
        """Write all events and sync them to disk in the current thread."""
        for event in events:
            tape.put(self.line(event, tape.end))
            if tape.crowded:
                tape.write()
                tape.sync()
        tape.write()
        tape.sync()

    def aside(self) -> None:
        self._note_used()
        draft, self.draft = self.draft, None
        if draft is not None and draft[0] not in self._chain and draft[1]:
            side_files.write_draft(self.path, self.masker, *draft)
            self._drafted = True

    def _note_used(self) -> None:
        if self._used and self.path.parent.name != "agents":
            side_files.note_used(self.path)
        self._used = False

    def rest(self) -> None:
        if self._draft_over:  # the complete message is on disk
            side_files.drop_beside(side_files.draft_path(self.path))
            self._drafted = self._draft_over = False
        if self._moved:
            side_files.drop_beside(side_files.index_path(self.path))  # it lists dead branches
        elif self._boundary:
            self.read_live()  # counts the summary anew; few events are live after a compaction
        elif self._end - self._indexed >= _INDEX_EVERY:
            self._write_index()

    def close(self) -> None:
        if self._fd < 0:
            return
        self._note_used()
        fd, self._fd = self._fd, -1
        size = os.fstat(fd).st_size
        if size == 0 and self._new:  # the first line could not be written
            self.path.unlink(missing_ok=True)
        elif size == self._end:
            if self._questions is not None:
                tidy_answers(self.path, {asked.key for asked in self._questions.open.values()})
            if self._moved or self._boundary:
                self._fd = fd
                self.read_live()
                self._fd = -1
            elif self._end > self._indexed:
                self._write_index()
        drop_name(self.path)
        os.close(fd)

    def read_live(self) -> Sequence[Durable]:
        if self._moved and not self._complete:
            self._load_whole()
        events = read_live(self._fd, self._chain.live())
        self._moved = False
        self.tally = Tally(Summary(first_prompt=self.tally.summary().first_prompt))
        self.tally.fold_all(events)
        self._write_index()
        return events

    def recall(self, message_id: str) -> Message | None:
        """Return a message from any position in the log, or None. If the message was not loaded, read the whole log
        first."""
        if message_id not in self._chain and not self._complete:
            self._load_whole()
        return read_message(self._fd, self._chain.where(message_id))

    def after(self, number: int) -> Sequence[tuple[int, Durable]]:
        found = all_entries(self._fd)
        return [(entry.n, entry.event) for entry in found if entry.n > number and entry.event is not None]

    def _load_whole(self) -> None:
        known = whole(self._fd, self.path.stem).chain
        known.take_open(self._chain)
        self._chain, self._complete = known, True

    def _write_index(self) -> None:
        live = tuple(self._chain.live())
        index = side_files.Index(
            upto=self._end,
            n=self._encoder.n,
            sum=self._encoder.prev,
            leaf=self._chain.leaf,
            live=live,
            about=self.tally.summary(),
        )
        side_files.write_index(self.path, index)
        self._indexed, self._boundary = self._end, False


def write_log(log: Path, masker: Masker, events: Iterable[Durable]) -> None:
    """Write a new log under a temporary name, sync it to disk and rename it. Blocks."""
    part, fd = log.with_name(f"{log.name}.{os.getpid()}.tmp"), -1
    try:
        make_folders(log.parent, 0o700)
        fd = open_log(part, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        lines = _Lines(log, masker, None, fd)
        lines.write(Tape(fd, 0, part), events)
        os.rename(part, log)
        sync_folder(log.parent)
    except BaseException as error:
        if fd >= 0:
            os.close(fd)
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise JournalError(f"{log} cannot be written: {error.strerror or error}") from error
        raise
    lines.close()


def append_to_log(log: Path, masker: Masker, loaded: LoadedLog, fd: int, events: Iterable[Durable]) -> None:
    """Repair a locked and loaded log, append all events and release the lock. If the write fails, no event is
    appended. Blocks."""
    quarantined = repair(fd, log, loaded, time())
    end = loaded.end
    lines = _Lines(log, masker, loaded, fd)
    try:
        lines.write(lines.open(), events if quarantined is None else (quarantined, *events))
    except OSError as error:
        with suppress(OSError):
            os.ftruncate(fd, end)
        raise JournalError(f"{log} cannot be written: {error.strerror or error}") from error
    finally:
        lines.close()


def _create(log: Path) -> int:
    make_folders(log.parent, 0o700)
    fd = open_log(log, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        take_lock(fd, log, time())
        sync_folder(log.parent)
    except BaseException:
        drop_name(log)
        log.unlink()
        os.close(fd)
        raise
    return fd
