"""What the tests of pending actions share: a workspace on disk, tools that stage, and what the model was told."""

import shutil
from collections.abc import Callable, Coroutine, Iterable
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

from callgate import Prompt, Session, Store, tool
from callgate.changes.history import ChangeHistory, Kept
from callgate.conversation.ports import Journal, Model
from callgate.testing import Latch, ScriptedModel, call, say, turn
from callgate.tools.staging import Callbacks, stage
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.events import ActionResolved, CallSettled, Event, InputRefused
from callgate.words.model import Request
from callgate.words.traits import Traits, exclusive, shared
from tests.flows.gated import of
from tests.flows.keep import run
from tests.sessions import grouped_session

DONE = turn(say("Done."))
FIRST = "pending-action:Renamer:1"
SECOND = "pending-action:Renamer:2"

_copies = count(1)


def really(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """On a loop whose time is real: what threads do to files takes some."""

    @wraps(test)
    def on_a_loop(*given: Any, **named: Any) -> None:
        run(test(*given, **named))

    return on_a_loop


def every_change(store: Store) -> list[Kept]:
    """The changes of all sessions of a store."""
    history = ChangeHistory(store.folder)
    return [kept for folder in store.folder.glob("*") for kept in history.all(folder.name)]


class Bench:
    """A workspace with tools that stage, look and change something, and note in ``done`` what really happened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.root.mkdir()
        self.store = Store(self.root, folder / "data")
        self.done: list[str] = []
        self.fails: Exception | None = None
        self.wait = Latch("Wait", Traits("none", shared))

    def tools(self) -> list[Any]:
        # One behind the other, so that what a message stages is in the order of its calls.
        @tool(name="Stage", effects="none", locks=exclusive, stages=True)
        def stages(path: str, text: str = "new", label: str = "") -> str:
            """Stage a new text for a file."""
            file = self.root / path
            before = file.read_bytes() if file.exists() else None
            named = label or f"write {path}"
            changes = ChangeSet(named, (FileChange(path, before, text.encode()),), "Stage")
            stage(named, changes, source_tool_name="Renamer")
            return "Shown."

        @tool(name="StageAct", effects="none", locks=exclusive, stages=True)
        def acts(label: str) -> str:
            """Stage something that only functions can finish."""
            stage(
                label,
                Callbacks(self._noting(f"apply {label}"), self._noting(f"reject {label}")),
                source_tool_name="Renamer",
            )
            return "Shown."

        @tool(name="Look", effects="none")
        def look(at: str = "") -> str:
            """Look at something."""
            self.done.append(f"look {at}")
            return f"seen {at}"

        @tool(name="Touch")
        def touch(at: str = "") -> str:
            """Change something."""
            self.done.append(f"touch {at}")
            return f"touched {at}"

        return [stages, acts, look, touch, self.wait]

    def _noting(self, what: str) -> Callable[[str, Any], None]:
        def note(reason: str, extra: Any) -> None:
            if self.fails is not None:
                raise self.fails
            self.done.append(f"{what}: {reason}" + (f" {extra}" if extra is not None else ""))

        return note

    def session(self, model: Model, journal: Journal | None = None, **options: Any) -> Session:
        options.setdefault("mode", "bypass")
        return grouped_session(
            model, [*self.tools(), *options.pop("more", ())], root=self.root, journal=journal, **options
        )

    async def kept(self, model: Model, **options: Any) -> Session:
        return self.session(model, await self.store.create(), **options)

    async def again(self, model: Model, **options: Any) -> Session:
        """The same session in another life of the program."""
        return self.session(model, await self.store.open(), **options)

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def files(self) -> dict[str, str]:
        return {file.name: file.read_text() for file in sorted(self.root.iterdir())}

    def states(self) -> list[str]:
        """What became of the changes in the history, oldest first."""
        return [kept.state for kept in sorted(every_change(self.store), key=lambda kept: kept.number)]

    def crash(self, *, before: str = "", after: str = "") -> None:
        """From now on the store is as a power cut had left it: the log ends ``before`` or ``after`` the first line of
        this kind, or where it is now."""
        data = self.folder / f"crashed{next(_copies)}"
        shutil.copytree(self.store.data, data)
        self.store = Store(self.root, data)
        log = self.store.find()
        lines = log.read_bytes().splitlines(keepends=True)
        cut = len(lines)
        if before or after:
            wanted = f'"{before or after}"'.encode()
            cut = next(at for at, line in enumerate(lines) if wanted in line[:200]) + bool(after)
        log.write_bytes(b"".join(lines[:cut]))


def model_of(*turns: Any, **options: Any) -> ScriptedModel:
    """It is done when the script is over."""
    return ScriptedModel(*turns, otherwise=DONE, **options)


def staging(path: str = "a.txt", **more: Any) -> Any:
    return call("Stage", path=path, **more)


def acting(label: str = "send it") -> Any:
    return call("StageAct", label=label)


def apply(reason: str = "it is right", **more: Any) -> Any:
    return call("resolve", action="apply", reason=reason, **more)


def discard(reason: str = "not wanted", **more: Any) -> Any:
    return call("resolve", action="discard", reason=reason, **more)


async def sent(session: Session, what: Any) -> list[Event]:
    """Send it and hear everything until the session rests."""
    return [event async for event in session.send(Prompt(what) if isinstance(what, str) else what)]


def told(request: Request) -> list[str]:
    """The reminders in a request, oldest first."""
    texts = (message.text for message in request.messages if message.role == "user")
    return [text for text in texts if text.startswith("<system-reminder>")]


def about(request: Request, action_id: str, words: str = "") -> list[str]:
    """The reminders that begin with this action: what was staged below it is named in passing."""
    heads = ((text, text.splitlines()[1]) for text in told(request))
    return [text for text, head in heads if action_id in head and words in head]


def choices(model: ScriptedModel) -> list[str]:
    """How each request held the model to a tool."""
    return [each.tool_choice.name or each.tool_choice.kind for each in model.requests]


def refusals(events: Iterable[Event]) -> list[str]:
    return [event.reason for event in of(events, InputRefused)]


def codes(events: Iterable[Event]) -> list[str]:
    """How calls ended, in that order."""
    return [event.result.code for event in of(events, CallSettled)]


def texts(events: Iterable[Event]) -> list[str]:
    return [event.result.text for event in of(events, CallSettled)]


def ends(events: Iterable[Event]) -> list[tuple[str, str]]:
    """What became of pending actions, and by whose word."""
    return [(event.ended, event.by) for event in of(events, ActionResolved)]
