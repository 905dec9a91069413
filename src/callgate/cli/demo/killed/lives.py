"""One session in two lives, and what is known of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from callgate import Event, Status
from callgate.cli.demo.board import Board, Row
from callgate.cli.terminal import clip
from callgate.words.calls import TERMINAL
from callgate.words.events import QuestionAsked


@dataclass(frozen=True, slots=True)
class Left:
    """The files on disk at the end of the act."""

    events: Sequence[Event] = ()
    lines: int = 0
    damages: int = 0
    deployed: Sequence[str] = ()
    uploads: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(slots=True)
class Lives:
    """``board`` hears both lives. ``first`` and ``second`` are their events: of the first only those that were
    acknowledged, which is everything it told before it was ready."""

    board: Board
    pid: int = 0
    first: list[Event] = field(default_factory=list[Event])
    ready: bool | None = None
    """Whether it got where it was to be killed; None until that is known."""
    code: int | None = None
    before: Mapping[str, Status] = field(default_factory=dict[str, Status])
    status: str = ""
    second: list[Event] = field(default_factory=list[Event])
    results: Sequence[tuple[str, str]] = ()
    """Call and text of each result in what the model was sent in the second life."""
    left: Left = field(default_factory=Left)

    def died(self, code: int) -> None:
        self.code = code
        self.before = {row.id: row.status for row in self.board.rows}

    @property
    def asked_again(self) -> bool:
        return any(isinstance(event, QuestionAsked) for event in self.second)


_BEFORE = {
    Status.SUCCESS: "finished",
    Status.EXECUTING: "in the middle",
    Status.AWAITING_APPROVAL: "asked",
}


def before_words(row: Row, lives: Lives) -> str:
    """The call's status while the first process runs, and at the moment it was killed."""
    status = lives.before.get(row.id, row.status)
    return _BEFORE.get(status, "failed" if status in TERMINAL else "not started")


def after_words(row: Row, lives: Lives, mark: str) -> str:
    """The status of a call after the kill: the model's result once there is one, the viewer's text before."""
    before = lives.before.get(row.id)
    said = "" if row.result is None else " ".join(row.result.text.split())
    if before in TERMINAL:
        return f"finished: {clip(said, 44, mark)}"
    if row.result is not None and row.result.is_error:
        return said
    if before is Status.EXECUTING and row.attempt > 1:
        return f"run again with the same key (attempt {row.attempt})"
    if before is Status.AWAITING_APPROVAL and lives.asked_again:
        return "asked again, then run once" if row.result is not None else "asked again"
    return ""


def fate(lives: Lives) -> list[str]:
    """The steps of the process and its session, in order."""
    steps: list[str] = []
    if lives.ready is not None:
        steps.append("All of this is on disk." if lives.ready else "It did not get where it was to be killed.")
    if lives.code is not None:
        gone = "was killed" if lives.ready else "is gone"
        steps.append(f"Process {lives.pid} {gone}: it ended with {lives.code}.")
    if lives.status:
        steps.append(f"Another one opens its session: {lives.status}, so Continue.")
    return steps
