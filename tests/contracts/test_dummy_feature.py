"""A feature in one file can do everything that a built-in feature package does."""

from collections.abc import Iterable, Sequence
from typing import Any

from callgate import Session, tool
from callgate.conversation.feature import Feature, FeaturePart, Handler, InjectedCall, OpenSession, Reminder
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Case, Check, Tool, ToolSource
from callgate.testing import MemoryHost, ScriptedModel, call, check_feature, run_virtual, say, settle, turn
from callgate.tools.toolbox import Merged, Toolbox
from callgate.words.calls import Result
from callgate.words.decisions import Deny
from callgate.words.events import CallDecided, CallSettled, MessageAdded, RunEnded, TurnEnded, TurnStarted
from callgate.words.inputs import Rewind, SetTitle
from callgate.words.messages import Message, Part, Text
from callgate.words.model import Abilities, ToolChoice
from callgate.words.noun import noun
from callgate.words.traits import Traits
from callgate.words.turns import FeatureRecorded, TurnCause
from tests.sessions import with_event

NAME = "dummy"


@noun
class Ring:
    """An input of this feature."""


class DummyPart(FeaturePart):
    """Uses every member: its calls are in ``calls``, its state is a fold of the record."""

    instructions = "Be a dummy."

    def __init__(self, opened: OpenSession) -> None:
        self.opened = opened
        self.calls: list[str] = []
        self.asked = False
        self.folds = {FeatureRecorded: self._fold}
        self.inputs = {Ring: Handler(self._ring)}
        self.checks = (Check("dummy", self._judge),)
        self.context = {"dummy": 1}
        self.reset()

    # ---- state: a fold of its own facts

    def reset(self) -> None:
        self.rings = 0
        self.reported = 0

    def _fold(self, event: FeatureRecorded) -> None:
        if event.feature == NAME:
            self.rings += event.kind == "ring"
            self.reported += event.kind == "reported"

    def _ring(self, _sent: Ring) -> str | None:
        if self.rings == 3:
            return "it rang often enough"
        self.opened.store(NAME, "ring", {})
        self.opened.session.wake()
        return None

    @property
    def wakes(self) -> Sequence[str]:
        return [f"ring-{self.rings}"] if self.rings > self.reported else []

    # ---- tools and checks

    def toolbox(self, inner: ToolSource) -> ToolSource:
        @tool(effects="none")
        def rings() -> str:
            """Return how often it rang. It needs the session."""
            return f"{self.rings} rings, {len(self.opened.record.ledger.messages)} messages"

        own: Tool = rings
        return Merged(inner, Toolbox(own))

    def _judge(self, case: Case) -> Deny | None:
        return Deny("dummy", "the dummy forbids it") if case.name == "forbidden" else None

    def admits(self, name: str, traits: Traits) -> Result | None:
        return Result.failed("skipped", "The dummy holds it back.", effects="none") if name == "held" else None

    # ---- around a run

    def begin(self) -> None:
        self.calls.append("begin")

    async def recover(self) -> None:
        self.calls.append("recover")

    async def starting(self, *, resumed: bool) -> str | None:
        self.calls.append("starting")
        return None

    async def prompted(self, parts: tuple[Part, ...]) -> tuple[Part, ...] | str:
        if any(isinstance(each, Text) and each.text == "refuse me" for each in parts):
            return "the dummy refuses"
        return (*parts, Text(" (seen by the dummy)"))

    def calls_before(self, said: Sequence[Message]) -> Sequence[InjectedCall]:
        if any("ring?" in each.said for each in said):
            return [InjectedCall(f"dummy_{said[-1].id}", "rings")]
        return ()

    def before_request(self, abilities: Abilities) -> Iterable[Reminder | ToolChoice]:
        if self.rings > self.reported:
            self.opened.store(NAME, "reported", {"at": self.rings})
            yield Reminder("It rang.", f"ring-{self.rings}")
        if not self.asked:
            self.asked = True
            yield ToolChoice("required")

    async def after_turn(self, ended: TurnEnded) -> None:
        self.calls.append("after_turn")

    def holds_open(self) -> TurnCause | None:
        return "notice" if self.rings > self.reported else None

    async def ending(self, *, again: bool) -> str | None:
        return None if again else "Say it again."

    async def moving(self) -> None:
        self.calls.append("moving")

    async def close(self, *, discard: bool) -> None:
        self.calls.append("close")


def dummy_feature() -> Feature:
    return Feature(NAME, DummyPart, owns=frozenset({"tool_choice"}))


# ---- what a session does with it -----------------------------------------------------------------------------------


def named(name: str) -> Tool:
    def body() -> str:
        """Do nothing."""
        return "done"

    return tool(body, name=name)


def session_on(model: ScriptedModel, journal: MemoryJournal | None = None) -> tuple[Session, DummyPart]:
    session = Session(
        model,
        [named("forbidden"), named("held")],
        features=[
            dummy_feature(),
            Feature("staging", lambda _: FeaturePart()),
            Feature("workspace", lambda _: FeaturePart()),
        ],
        system="You are a test.",
        host=MemoryHost(),
        journal=journal,
        mode="bypass",
    )
    part = session.part(NAME)
    assert isinstance(part, DummyPart)
    return session, part


def test_it_keeps_the_contract() -> None:
    run_virtual(check_feature(dummy_feature()))


async def test_it_does_everything() -> None:
    calls = turn(call("forbidden"), call("held"), call("rings"))
    model = ScriptedModel(calls, otherwise=turn(say("ok")))
    journal = MemoryJournal(session="s")
    session, part = session_on(model, journal)
    events: list[Any] = []
    async with session:
        session.listen(with_event(events.append))
        await session.run("ring?")
        first, second = model.requests[0], model.requests[-1]
        assert first.system == "You are a test.\n\nBe a dummy."
        assert first.tool_choice == ToolChoice("required")
        assert "rings" in [each.name for each in first.tools]
        assert session.context["dummy"] == 1
        assert session.messages[0].text == "ring? (seen by the dummy)"
        assert any("Say it again." in each.text for each in second.messages)
        results = {each.call_id: each.result.text for each in events if isinstance(each, CallSettled)}
        assert [text for text in results.values() if "0 rings" in text][1:] != []  # before the model, and by the model
        assert any("the dummy forbids it" in text for text in results.values())
        assert "The dummy holds it back." in results.values()
        assert any(isinstance(each, CallDecided) and each.decision.by == "dummy" for each in events)
        # a refusal
        await session.send("refuse me", until="idle")
        assert "refuse me" not in str(session.messages)
        # an input, a reminder and a turn in an idle session
        session.post(Ring())  # type: ignore[arg-type]
        async for found in session.events():
            if isinstance(found.event, RunEnded):
                break
        assert [each.because for each in journal.events if isinstance(each, TurnStarted)][-2:] == ["notice", "hook"]
        assert sum("It rang." in each.message.text for each in journal.events if isinstance(each, MessageAdded)) == 1
        await session.send(Rewind(session.messages[-1].id))
        assert part.rings == 1
        session.post(SetTitle("other"))
        await settle()
    assert part.calls[0] == "begin"
    assert {*part.calls} == {"begin", "recover", "starting", "after_turn", "moving", "close"}
    # its state is in the record
    again, later = session_on(ScriptedModel(otherwise=turn(say("ok"))), MemoryJournal(journal.events, session="s"))
    async with again:
        assert (later.rings, later.reported) == (part.rings, part.reported)
