"""Creates, resumes, forks, finds and reads the sessions of one workspace."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, cast

from callgate._version import __version__
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Journal
from callgate.host.threads import in_thread
from callgate.transcript.answer_files import tidy_answers
from callgate.transcript.disk_journal import DiskJournal, append_to_log, write_log
from callgate.transcript.loader import LoadedLog, read_log
from callgate.transcript.lock import holder_of
from callgate.transcript.question_answers import AnswerTaken, answer_question, left_answers, questions_in
from callgate.transcript.question_fold import QuestionFold
from callgate.transcript.repair import locked_log, repair
from callgate.transcript.session_list import LATEST, Listed, find, listed
from callgate.transcript.session_paths import data_folder, new_session_id, project_key
from callgate.words import events as e
from callgate.words.decisions import Confirmation, Question
from callgate.words.errors import JournalError, SessionLocked, UsageError
from callgate.words.late_pattern import late_pattern
from callgate.words.turns import Counted

if TYPE_CHECKING:
    from callgate.transcript.masking import Masker

_ID = late_pattern(r"[A-Za-z0-9_][A-Za-z0-9_-]{3,63}")


class Store:
    """The sessions of one workspace on disk.

    workspace  the project folder, by default the current folder
    data       the folder with all sessions, by default the user's data folder
    masker     hides secrets in stored events, by default with the standard patterns

    Reading and writing blocks; methods for programs with an event loop are async.
    """

    def __init__(
        self,
        workspace: str | PathLike[str] | None = None,
        data: str | PathLike[str] | None = None,
        *,
        masker: Masker | None = None,
    ) -> None:
        if not hasattr(os, "pwrite"):
            raise JournalError("sessions cannot be stored on this system: use --no-save, or journal=None")
        self.workspace = Path(fspath(workspace or Path.cwd())).absolute()
        self.data = data_folder() if data is None else Path(fspath(data)).absolute()
        self._masker = masker

    @property
    def folder(self) -> Path:
        return self.data / "projects" / project_key(self.workspace)

    @property
    def masker(self) -> Masker:
        if self._masker is None:
            from callgate.transcript.masking import Masker  # its patterns are costly to load

            self._masker = Masker()
        return self._masker

    async def create(self, session: str | None = None) -> DiskJournal:
        """Create a session, with this id if one is given. Its first message creates the files on disk."""
        now = time()
        journal = DiskJournal(self.new_log(session), self.masker)
        journal.append(e.SessionOpened(now, __version__, str(self.workspace)))
        return journal

    async def open(self, which: str | Path = LATEST) -> DiskJournal:
        """Resume a session.

        The session is found by the path of its log, its id, the start of its id, its title, words of its title or
        prompts, or is the latest session. Raise SessionLocked if another program has the session open, and JournalError
        if no session or several sessions match.

        If the log is outside the data folder, or another user owns it or can write it, a copy of its conversation in
        the data folder is opened instead.
        """
        return await in_thread(partial(self._open, which))

    async def fork(self, which: str | Path | Journal = LATEST, session: str | None = None) -> DiskJournal:
        """Create a session, with this id if one is given, that begins with the live history of another session.

        The other session is only read. If it is open in this program, pass its journal, so that all its events are
        included.
        """
        named = which if isinstance(which, str | Path) else which.session
        if named != which and (waiting := cast(Journal, which).barrier()) is not None:
            await waiting
        return await in_thread(partial(self._open_copy, named, session))

    def list(self, limit: int | None = None) -> Sequence[Listed]:
        """Return the sessions of this workspace, last used first."""
        return listed(self.folder, limit)

    def unheld(self) -> tuple[str, tuple[SessionLocked, ...]]:
        """Return the id of the newest session that no program has open, and the newer sessions, each with the
        program that has the session open. Raise JournalError if every session is open."""
        passed: list[SessionLocked] = []
        for each in self.list():
            holder = holder_of(Path(each.path))
            if holder is None:
                return each.session, tuple(passed)
            passed.append(SessionLocked(f"session {each.session} is open in {holder}", pid=holder.pid))
        if passed:
            raise JournalError(f"every session of this workspace is open elsewhere: {'; '.join(map(str, passed))}")
        raise JournalError("this workspace has no sessions yet")

    def read(self, which: str | Path = LATEST) -> LoadedLog:
        """Read a session without locking or changing its files."""
        return read_log(self._log(which))

    def questions(self, which: str | Path = LATEST) -> tuple[Question, ...]:
        """Return the open questions of a session without locking the session. A path is the path of a log."""
        log = self._log(which)
        return tuple(each.question for each in questions_in(log).open)

    def answer(self, which: str | Path, confirmation: Confirmation) -> AnswerTaken:
        """Answer a question of a session.

        If a program has the session open, that program receives the answer; otherwise the answer is recorded for a
        resume. Raise AnswerRefused if the question is not open or has an answer, and UsageError if the answer is
        malformed.
        """
        log = self._log(which)
        return answer_question(log, self.masker, confirmation)

    def find(self, which: str = LATEST) -> Path:
        """Return the path of the log of a session. If no session or several sessions match, raise JournalError with
        the possible matches."""
        return find(self.folder, which)

    def copy(self, original: LoadedLog, session: str | None = None, *, own: bool = True) -> str:
        """Write a new session with the events of another session and return the new id. Unfinished calls are not
        copied.

        own  False if another person may have written the session: only the conversation is copied, without modes,
             remembered answers and other state
        """
        now = time()
        events: list[e.Durable] = [
            e.SessionOpened(now, __version__, str(self.workspace), f"session {original.session}", forked=True),
            *(event for event in original.events if _is_copied(event, own=own)),
        ]
        if original.unknown:
            left_out = f"{original.unknown} lines of a newer version of Callgate were not copied"
            events.append(e.Noted(now, left_out, "warning"))
        return self.write([*events, e.Forked(now, original.session, Ledger(original.events).counted)], session)

    def write(self, events: Iterable[e.Durable], session: str | None = None) -> str:
        """Write a new session with these events, and with this id if one is given. Return the id."""
        log = self.new_log(session)
        write_log(log, self.masker, events)
        return log.stem

    def append(self, log: Path, *events: e.Durable) -> None:
        """Append events to a log that no program has open. Raise SessionLocked if a program has the log open."""
        fd, loaded = locked_log(log, time())
        append_to_log(log, self.masker, loaded, fd, events)

    def new_log(self, session: str | None = None) -> Path:
        """Return the path of the log of a new session, with this id if one is given."""
        return self.folder / f"{new_session_id(time())}.jsonl" if session is None else self._named(session)

    def _log(self, which: str | Path) -> Path:
        return which if isinstance(which, Path) else self.find(which)

    def _named(self, session: str) -> Path:
        if _ID.fullmatch(session) is None or session == LATEST:
            raise UsageError(
                f"{session!r} is not a session id: use 4 to 64 letters, digits, - and _, without - at the beginning"
            )
        log = self.folder / f"{session}.jsonl"
        if os.path.lexists(log):
            raise JournalError(f"session {session} already exists: resume it, or choose another id")
        return log

    def _is_own(self, log: Path) -> bool:
        """Return True if only this user can have written the log: the log is in the data folder, belongs to the
        user, and no other user can write to it."""
        projects = os.path.realpath(self.data / "projects")
        if not os.path.realpath(log).startswith(f"{projects}/"):
            return False
        try:
            status = log.stat()
        except OSError:  # reading it will report the error
            return True
        return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

    def _open_copy(self, which: str | Path, session: str | None = None) -> DiskJournal:
        log = self._log(which)
        own = self._is_own(log)
        journal = self._open(self.copy(read_log(log), session, own=own))
        if not own:
            journal.notes = (*journal.notes, f"{log} {_NOT_OWN}")
        return journal

    def _open(self, which: str | Path) -> DiskJournal:
        log = self._log(which)
        if not self._is_own(log):
            return self._open_copy(log)
        fd, loaded = locked_log(log, time())
        quarantined = repair(fd, log, loaded, time())
        if quarantined is not None:
            loaded.events.append(quarantined)
        # A killed program may have left answer files of closed questions.
        questions = QuestionFold(loaded.events)
        tidy_answers(log, {asked.key for asked in questions.open.values()})
        answered = [e.QuestionAnswered(time(), each) for each in left_answers(log, self.masker, questions)]
        journal = DiskJournal(log, self.masker, loaded=loaded, fd=fd)
        if loaded.unknown and quarantined is None:  # those lines may have messages: their ids are not given again
            (messages, turns), ledger = loaded.chain.counted, Ledger(loaded.events)
            if messages > ledger.added or turns > ledger.turn:
                loaded.events.append(e.LinesQuarantined(time(), (), "", Counted(messages, turns)))
                journal.append(loaded.events[-1])
        if quarantined is not None:
            journal.append(quarantined)
        for event in answered:  # nobody may wait until the mailbox is read, as in a run that ends at its questions
            loaded.events.append(event)
            journal.append(event)
        return journal


_OF_THE_FILE = (e.SessionOpened, e.Rewound, e.Branched, e.LinesQuarantined, e.PromptQueued, e.PromptDequeued)
"""Events about the lines or the queue of the original session, which do not apply to a copy."""

_CONVERSATION = (
    *(e.MessageAdded, e.TurnStarted, e.TurnEnded, e.RunEnded, e.Paused, e.CallArrived, e.CallDecided),
    *(e.QuestionAsked, e.QuestionAnswered, e.CallStarted, e.CallSettled),
    *(e.Compacted, e.Snipped, e.ResultReplaced, e.Forked, e.Noted),
)
"""The events that are copied from a log that somebody else may have written."""

_NOT_OWN = (
    "may have been written by another user: its conversation continues as a copy, without its permission mode, "
    "model and remembered answers"
)


def _is_copied(event: e.Durable, *, own: bool) -> bool:
    if own:
        return not isinstance(event, _OF_THE_FILE)
    return isinstance(event, _CONVERSATION) or (isinstance(event, e.MetadataSet) and event.key == "title")
