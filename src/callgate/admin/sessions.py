"""Finds, lists, shows, exports, checks and removes stored sessions. The functions block.

Interfaces use this module instead of ``transcript``.
"""

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from json import dumps
from os import PathLike
from pathlib import Path
from shlex import quote
from stat import S_ISDIR, S_ISLNK, S_ISREG
from time import time
from typing import Literal

from callgate._version import __version__
from callgate.conversation.ledger import Ledger
from callgate.host.files import write_new
from callgate.staging.state import State
from callgate.transcript.audit import AuditRow, as_csv, as_json, audit_rows, utc
from callgate.transcript.loader import load
from callgate.transcript.lock import LockHolder, holder_of, opened_log, read_holder, unreadable
from callgate.transcript.log_cleanup import Cleaned, Removed, collect, remove_unused
from callgate.transcript.reader import Damage, all_entries, raw_lines
from callgate.transcript.session_list import LATEST, Listed, listed
from callgate.transcript.session_paths import agent_log, agent_logs
from callgate.transcript.session_summary import Summary
from callgate.transcript.share.call_stories import CallStory, UnfinishedMessage, open_questions, unfinished
from callgate.transcript.share.claude_import import looks_like_claude, read_claude
from callgate.transcript.share.plain import pretty_json
from callgate.transcript.share.session_page import Exported, Mark, SaidMessage, moment, read_page
from callgate.transcript.store import Store
from callgate.transcript.verify import LogFault, Verified, verify
from callgate.words.decisions import Question
from callgate.words.errors import JournalError
from callgate.words.events import Durable, MessageAdded, MetadataSet, Noted, PromptQueued, SessionOpened
from callgate.words.messages import Spent
from callgate.words.noun import noun
from callgate.words.pending import Staged

__all__ = ["CallStory", "as_csv", "as_json", "moment", "pretty_json", "utc"]


Shape = Literal["markdown", "html", "ai-sdk"]
_SUFFIX = ".jsonl"


@noun
class Shown:
    """The messages and calls of a session that were not rewound, or only its last messages.

    named      the name by which other commands find the session
    questions  open questions
    pending    staged actions
    waiting    queued prompts
    missing    True if whole lines of the log are missing
    draft      the stored text of an unfinished message
    costs      usage by model
    """

    session: str
    named: str
    about: Summary
    events: tuple[Durable, ...]
    damages: tuple[Damage, ...]
    unknown: int
    questions: tuple[Question, ...]
    missing: bool
    draft: UnfinishedMessage | None
    pending: tuple[Staged, ...] = ()
    waiting: tuple[PromptQueued, ...] = ()
    costs: tuple[Spent, ...] = ()
    agents: tuple[str, ...] = ()

    def page(self) -> Sequence[SaidMessage | Mark]:
        """Return the messages and marks to show to a user."""
        return read_page(self._exported())

    def written_as(self, shape: Shape) -> str:
        """Return the text of an export."""
        exported = self._exported()
        note = f"{self.unknown} lines from a newer version of Callgate are ignored" if self.unknown else ""
        if shape == "ai-sdk":
            from callgate.transcript.share.aisdk import to_ai_sdk  # formats are costly to load, and one is used

            return dumps(to_ai_sdk(exported, note), ensure_ascii=False, indent=2) + "\n"
        if note:
            events = (*exported.events, Noted(self.about.updated_at, note, "warning"))
            exported = replace(exported, events=events)
        if shape == "html":
            from callgate.transcript.share.html import to_html

            return to_html(exported)
        from callgate.transcript.share.markdown import to_markdown

        return to_markdown(exported)

    def _exported(self) -> Exported:
        return Exported(self.session, self.about.title or self.about.first_prompt, self.about.workspace, self.events)


@noun
class TakenIn:
    """The result of an import.

    left_out  the number of lines that are not part of the conversation
    skipped   descriptions of lines that cannot be read
    """

    session: str
    title: str
    workspace: str
    messages: int
    calls: int
    left_out: int
    skipped: tuple[str, ...]


@noun
class Audited:
    session: str
    named: str
    rows: tuple[AuditRow, ...]
    faults: int


def ago(at: float, now: float) -> str:
    """Return the elapsed time in a short form such as ``5 min``, or the date in UTC if it is more than a week ago."""
    passed = now - at
    if -60 < passed < 60:
        return "now"
    for most, seconds, unit in ((3600, 60, "min"), (86400, 3600, "h"), (7 * 86400, 86400, "d")):
        if 0 < passed < most:
            return f"{passed / seconds:.0f} {unit}"
    return utc(at)[:10] if at and "T" in utc(at) else "unknown"


class Archive:
    """The stored sessions. Sessions of this workspace come first; an id can also name a session of another
    workspace."""

    def __init__(self, workspace: str | PathLike[str] | None = None, data: str | PathLike[str] | None = None) -> None:
        self._store = Store(workspace, data)

    @property
    def folder(self) -> str:
        """The folder of the logs of this workspace."""
        return str(self._store.folder)

    # ---- found --------------------------------------------------------------------------------------------------

    def here(self) -> Sequence[Listed]:
        """Return the sessions of this workspace, last used first."""
        return self._store.list()

    def everywhere(self) -> Sequence[Listed]:
        """Return the sessions of all workspaces, last used first."""
        found: list[Listed] = []
        for folder in self._projects():
            try:
                found += listed(folder)
            except JournalError as error:
                found.append(Listed(folder.name, str(folder), 0, Summary(), str(error)))
        return sorted(found, key=lambda each: (each.about.updated_at, each.session), reverse=True)

    def name(self, log: Path) -> str:
        """Return the unique name of a log: the id of its session or, for the log of an agent, its path in the data
        folder."""
        if log.parent.name != "agents":
            return log.stem
        return str(log.relative_to(self._store.data) if log.is_relative_to(self._store.data) else log)

    def find(self, which: str | None) -> Path:
        """Return the log of a session. ``which`` is an id, a prefix of an id, a title, words of a prompt,
        ``session/name`` for a nested session, or a file (a text that contains a slash or ends in .jsonl). None and
        "latest" select the latest session of this workspace."""
        if which is None or which == LATEST:
            return self._latest()
        if _is_file(which):
            outer, _, name = which.rpartition("/")
            if outer and name and not os.path.lexists(which) and not which.endswith(_SUFFIX):
                log = agent_log(self.find(outer), name)
                if os.path.lexists(log):
                    return log
            return Path(which)
        exact = [folder / f"{which}{_SUFFIX}" for folder in (self._store.folder, *self._projects())]
        for log in exact:
            if which and os.path.lexists(log):
                return log
        try:
            return self._store.find(which)
        except JournalError:
            others = [log for log in self._logs() if len(which) >= 4 and log.stem.startswith(which)]
            if len(others) == 1:
                return others[0]
            if others:
                names = ", ".join(log.stem for log in others[:5])
                raise JournalError(f"several sessions match {which!r}: {names}; use a longer part of the id") from None
            raise

    def _latest(self) -> Path:
        try:
            return self._store.find(LATEST)
        except JournalError as error:
            if any(self._logs()):
                raise JournalError(
                    f"{error}; `callgate session list --all` lists the sessions of all folders"
                ) from None
            raise

    def _projects(self) -> list[Path]:
        try:
            with os.scandir(self._store.data / "projects") as entries:
                return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
        except FileNotFoundError:
            return []

    def _logs(self) -> list[Path]:
        return [log for folder in self._projects() for log in sorted(folder.glob(f"*{_SUFFIX}"))]

    # ---- shown --------------------------------------------------------------------------------------------------

    def show(self, which: str | None, tail: int | None = None) -> Shown:
        """Return the messages and calls of a session that were not rewound, or only its last ``tail`` messages. A
        message includes the results of its calls."""
        log = self.find(which)
        with opened(log, which) as fd:
            _refuse_other(fd, log)
            missing = verify(fd).missing
            loaded = load(fd, log)
        events = tuple(loaded.events)
        ledger = Ledger(events)
        return Shown(
            session=log.stem,
            named=_named(which, log),
            about=loaded.about,
            events=events if tail is None else _last(events, tail),
            damages=tuple(loaded.damages),
            unknown=loaded.unknown,
            questions=open_questions(events),
            missing=missing,
            draft=unfinished(log, events),
            pending=tuple(State(events).actions.values()),
            waiting=tuple(ledger.waiting.values()),
            costs=tuple(ledger.costs.values()),
            agents=tuple(f"{_named(which, log)}/{name}" for name in ledger.agents if agent_log(log, name).exists()),
        )

    def audit(self, which: str | None) -> Audited:
        """Return every recorded decision, including decisions about rewound calls. ``faults`` is the number of
        damaged places in the log."""
        log = self.find(which)
        with opened(log, which) as fd:
            _refuse_other(fd, log)
            rows = audit_rows((entry.n, entry.event) for entry in all_entries(fd) if entry.event is not None)
            found = verify(fd)
        return Audited(log.stem, _named(which, log), tuple(rows), len(found.faults) + found.more)

    # ---- taken in -----------------------------------------------------------------------------------------------

    def take_in(self, lines: Iterable[bytes], name: str) -> TakenIn:
        """Import a Claude Code transcript as a new session of this workspace. Raise JournalError if it has no
        conversation."""
        read = read_claude(lines)
        said = [event.message for event in read.events if isinstance(event, MessageAdded)]
        if not said:
            skipped = f"; {len(read.skipped)} lines could not be read, {read.skipped[0]}" if read.skipped else ""
            raise JournalError(f"{name} contains no conversation of Claude Code{skipped}")
        now = time()
        source = f"claude-code {name}" + (f" ({read.workspace})" if read.workspace else "")
        head: list[Durable] = [SessionOpened(now, __version__, str(self._store.workspace), source)]
        if read.title:
            head.append(MetadataSet(now, "title", read.title))
        return TakenIn(
            session=self._store.write([*head, *read.events]),
            title=read.title,
            workspace=read.workspace,
            messages=len(said),
            calls=sum(len(message.calls) for message in said),
            left_out=read.left_out,
            skipped=read.skipped,
        )

    # ---- looked after -------------------------------------------------------------------------------------------

    def verify(self, which: str | None, head: str | None = None) -> Sequence[tuple[Path, Verified]]:
        """Verify one log and the logs of its agents."""
        log = self.find(which)
        with opened(log, which) as fd:
            found = [(log, verify(fd, session=None if _is_file(which) else log.stem, head=head))]
        return [*found, *(_verified(agent) for agent in agent_logs(log))]

    def verify_all(self) -> Generator[tuple[Path, Verified]]:
        """Verify every log in the data folder."""
        for log in self._logs():
            yield _verified(log)
            for agent in agent_logs(log):
                yield _verified(agent)

    def clean(self, older_than: float | None, *, everywhere: bool, dry_run: bool) -> Cleaned:
        """Remove leftover files of this workspace's sessions, or of all sessions."""
        project = None if everywhere else self._store.folder.name
        return collect(self._store.data, now=time(), project=project, older_than=older_than, dry_run=dry_run)

    def remove(self, which: str) -> Sequence[Removed]:
        """Remove a session with all its files. Return the removed files. Raise SessionLocked while the session is
        open."""
        log = self._exactly(which)
        try:
            return remove_unused(log, time())
        except OSError as error:
            raise JournalError(f"session {log.stem} cannot be removed: {error.strerror or error}") from error

    def rename(self, which: str, title: str) -> Path:
        """Set the title of a session and return its log. An empty title removes the title. Raise SessionLocked while
        the session is open."""
        log = self._exactly(which)
        self._store.append(log, MetadataSet(time(), "title", title.strip() or None))
        return log

    def _exactly(self, which: str) -> Path:
        """Return the log of the session that will be changed. ``which`` is an id, a unique prefix of an id, or the
        whole title of a session of this workspace."""
        if _is_file(which):
            raise JournalError(f"{which} is a file: use the id of the session")
        logs = self._logs()
        found = [log for log in logs if log.stem == which]
        if len(found) > 1:
            found = [log for log in found if log.parent == self._store.folder] or found
        if not found:
            titled = {each.path for each in self.here() if each.about.title and each.about.title == which}
            found = [log for log in logs if (len(which) >= 4 and log.stem.startswith(which)) or str(log) in titled]
        if len(found) > 1:
            names = ", ".join(str(log) for log in found[:5])
            raise JournalError(f"several sessions match {which!r}: {names}; nothing was changed")
        if not found:
            raise JournalError(
                f"there is no session {which!r}: use its id, a beginning of the id (at least four characters) "
                "or its whole title; `callgate session list` shows them"
            )
        return found[0]

    def holder(self, which: str | Path | None) -> tuple[Path, LockHolder | None, LockHolder]:
        """Return the log, the process that has the log open or None, and the process that is recorded in the lock
        file."""
        log = which if isinstance(which, Path) else self.find(which)
        if _is_file(which):
            _refuse_no_file(str(which))
        try:
            return log, holder_of(log), read_holder(log)
        except OSError as error:
            raise unreadable(log, error) from error


def _last(events: Sequence[Durable], count: int) -> tuple[Durable, ...]:
    """Return the last ``count`` messages with their events and the results of their calls. The events of a message
    come before the message in the log, so the result starts after the message before."""
    said = [at for at, event in enumerate(events) if isinstance(event, MessageAdded) and event.message.role != "tool"]
    if count >= len(said):
        return tuple(events)
    facts = [each for each in events[said[-count - 1] + 1 : said[-count]] if not isinstance(each, MessageAdded)]
    return (*facts, *events[said[-count] :])


def write_file(path: Path, data: bytes, *, replace: bool) -> None:
    """Write a file that only its owner can read. If the file exists, replace it atomically, or raise FileExistsError
    if ``replace`` is False."""
    if not replace or not os.path.lexists(path):
        write_new(path, data, 0o600)
    elif path.is_symlink() or path.is_file():
        draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        write_new(draft, data, 0o600)
        os.replace(draft, path)
    else:  # a terminal, a pipe
        path.write_bytes(data)


def _verified(log: Path) -> tuple[Path, Verified]:
    try:
        with opened_log(log) as fd:
            return log, verify(fd, session=log.stem)
    except (OSError, JournalError) as error:
        why = str(error) if isinstance(error, JournalError) else str(error.strerror or error)
        return log, Verified(
            session=log.stem, lines=0, head="", faults=(LogFault(0, None, 0, f"unreadable: {why}"),), size=0
        )


def _is_file(which: str | Path | None) -> bool:
    """Return True if the user gave a file instead of the name of a session."""
    return isinstance(which, str) and ("/" in which or os.sep in which or which.endswith(_SUFFIX))


def _named(which: str | None, log: Path) -> str:
    return quote(which) if which is not None and _is_file(which) else log.stem


def _refuse_no_file(given: str) -> None:
    """Raise JournalError for a path that is not a regular file."""
    try:
        mode = os.lstat(given).st_mode
    except OSError:  # opening it says why
        return
    if S_ISREG(mode):
        return
    what = "a folder" if S_ISDIR(mode) else "a symbolic link" if S_ISLNK(mode) else "not a regular file"
    instead = "the file it leads to" if S_ISLNK(mode) else "the file of a log"
    raise JournalError(
        f"{given} is {what} and no log of a session: give {instead}, or an id (`callgate session list` shows them)"
    )


def _refuse_other(fd: int, log: Path) -> None:
    """Raise JournalError if no line of the file can be read."""
    if next(all_entries(fd), None) is not None:
        return
    size = os.fstat(fd).st_size
    if not size:
        raise JournalError(f"there is no line in {log}: it is empty")
    hint = ""
    if looks_like_claude(data for _, _, data in raw_lines(fd, 0, size)):
        hint = f"; it looks like a transcript of Claude Code: `callgate session import {quote(str(log))}` imports it"
    raise JournalError(f"no line of {log} is valid, so the file is not the log of a session{hint}")


@contextmanager
def opened(log: Path, which: str | None = None) -> Generator[int]:
    """Open a log for reading. Raise JournalError if the log cannot be opened, or if ``which`` names a file that is
    not regular."""
    if which is not None and _is_file(which):
        _refuse_no_file(which)
    with opened_log(log) as fd:
        yield fd
