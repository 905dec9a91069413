"""What the tests of pending actions share: a workspace with real files, a tool that stages what a test put in its
cupboard, and a run that tells what became of every call."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from callgate import Answer, Prompt, QuestionAsked, Session, tool
from callgate.config import Config
from callgate.policy.entries import RuleLine
from callgate.policy.setting_rows import SettingValues
from callgate.testing import ScriptedModel, ScriptedTurn, call, say, turn
from callgate.testing.script import Called, Scene
from callgate.tools.staging import Callbacks, stage
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Confirmation, Effect, Origin, Question
from callgate.words.events import ActionResolved, ActionStaged, CallSettled, Event
from callgate.words.model import Request
from callgate.words.modes import Mode
from tests.sessions import grouped_session

NOTHING = "No pending action to resolve. Nothing to apply or discard."
UNSEEN = (
    "An action cannot be resolved in the message that stages it, because its changes have not been shown yet. "
    "Read them, then call resolve."
)

Act = Callbacks | ChangeSet
Replies = Callable[[Session, Question], None]


class Bench:
    """``put`` an action there, and a call of Stager stages it. The tool gives Renamer as the source, so that tests can
    tell the two apart."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.root.mkdir()
        self.heard: list[tuple[str, str, Any]] = []
        self.session: Session = cast("Session", None)
        self.model: ScriptedModel = cast("ScriptedModel", None)
        self.events: list[Event] = []
        self.pending: list[tuple[str, ...]] = []
        """The ids on the stack at each request, newest first."""
        self._acts: dict[str, tuple[tuple[str, Act, Any], ...]] = {}

    # ---- what can be staged -------------------------------------------------------------------------------------

    def put(self, name: str, *acts: Act, label: str | None = None, details: Any = None) -> None:
        self._acts[name] = tuple((label or name, act, details) for act in acts)

    def change(self, *paths: str, before: str | None = "old\n", after: str = "new\n") -> ChangeSet:
        """Of files that are there; with ``before=None`` of files that are not."""
        files: list[FileChange] = []
        for path in paths:
            if before is not None:
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).write_text(before)
            files.append(FileChange(path, None if before is None else before.encode(), after.encode()))
        return ChangeSet(f"change {' and '.join(paths)}", tuple(files))

    def callbacks(self, name: str, gives: Any = None, rejects: Any = None, *, raises: Any = None) -> Callbacks:
        """Functions that note what they heard. ``raises`` is raised by both."""

        def heard(word: str, gives: Any, reason: str, extra: Any) -> Any:
            self.heard.append((f"{word} {name}", reason, extra))
            if raises is not None:
                raise raises
            return gives

        return Callbacks(
            lambda reason, extra: heard("apply", gives, reason, extra),
            lambda reason, extra: heard("reject", rejects, reason, extra),
        )

    @property
    def ran(self) -> list[str]:
        """The callbacks that were called."""
        return [what for what, _reason, _extra in self.heard]

    def text(self, path: str) -> str:
        return (self.root / path).read_text()

    # ---- a session ----------------------------------------------------------------------------------------------

    def tools(self, name: str = "Stager") -> list[Any]:
        def stager(what: str, fails: bool = False) -> str:
            """Stage what is in the cupboard under this name."""
            for label, act, details in self._acts[what]:
                stage(label, act, source_tool_name="Renamer", details=details)
            if fails:
                raise ValueError("after all not")
            return f"staged {what}"

        staging = tool(stager, name=name, effects="none", stages=True)
        return [staging]

    def open(self, *scenes: Scene, tools: Sequence[Any] | None = None, **options: Any) -> Session:
        """A session that may do everything unless the options say otherwise. When the script is over it discards what
        is pending, one by one, and says that it is done."""
        if "config" not in options and "gate" not in options:
            options.setdefault("mode", "bypass")
        if "config" not in options:
            options.setdefault("root", self.root)
        self.pending.clear()
        self.model = ScriptedModel(*(self._watched(scene) for scene in scenes), otherwise=self._watched(self._rest))
        self.session = grouped_session(self.model, self.tools() if tools is None else tools, **options)
        return self.session

    async def run(self, *scenes: Scene, replies: Replies | None = None, **options: Any) -> dict[str, Result]:
        """A whole conversation; what became of every call, by its id."""
        async with self.open(*scenes, **options) as session:
            await self.say(Prompt("go"), replies)
            assert session.status == "idle"
        return self.results()

    async def say(self, sent: Any, replies: Replies | None = None) -> None:
        """Send it and answer what is asked, until the session rests."""
        session = self.session
        async for event in session.send(sent, until="idle" if replies else "rest"):
            self.events.append(event)
            if isinstance(event, QuestionAsked) and replies is not None:
                replies(session, event.question)

    def _watched(self, scene: Scene) -> Scene:
        def play(request: Request) -> ScriptedTurn:
            self.pending.append(tuple(each.id for each in self.session.pending))
            return scene if isinstance(scene, ScriptedTurn) else scene(request)

        return play

    def _rest(self, _request: Request) -> ScriptedTurn:
        return turn(discard("tidied up")) if self.session.pending else turn(say("done"))

    # ---- what came of it ----------------------------------------------------------------------------------------

    def results(self) -> dict[str, Result]:
        return {event.call_id: event.result for event in self.events if isinstance(event, CallSettled)}

    def staged(self) -> list[str]:
        return [event.action.id for event in self.events if isinstance(event, ActionStaged)]

    def resolved(self) -> list[tuple[str, str]]:
        return [(event.id, event.ended) for event in self.events if isinstance(event, ActionResolved)]

    def questions(self) -> list[Question]:
        return [event.question for event in self.events if isinstance(event, QuestionAsked)]

    def reminders(self, action_id: str) -> int:
        """How often the model was told that it is the one to resolve."""
        said = [message.text for message in self.session.messages if message.role == "user"]
        return sum(f"as {action_id}." in text and "`resolve`" in text for text in said)

    def settings(self, *, mode: Mode = "default", **rules: Sequence[str]) -> Config:
        """``allow``, ``ask`` and ``deny``, as a person writes them."""
        lines = [RuleLine(cast("Effect", each), text, Origin("user")) for each in rules for text in rules[each]]
        home, data = self.folder / "home", self.folder / "data"
        return Config(self.root, home, data, settings=SettingValues(mode=mode), rules=tuple(lines), own_data=False)


def stages(what: str, **more: Any) -> Called:
    return call("Stager", what=what, **more)


def apply(reason: str = "fine", **more: Any) -> Called:
    return call("resolve", action="apply", reason=reason, **more)


def discard(reason: str = "not wanted", **more: Any) -> Called:
    return call("resolve", action="discard", reason=reason, **more)


def pending(number: int) -> str:
    return f"pending-action:Renamer:{number}"


def answering(outcome: str) -> Replies:
    """A door that says the same to everything."""

    def reply(session: Session, question: Question) -> None:
        confirmation = Confirmation(question.call_id, cast("Any", outcome), question.arguments_hash)
        session.post(Answer(confirmation))

    return reply
