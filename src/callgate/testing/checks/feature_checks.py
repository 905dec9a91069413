"""A conformance check of Feature: calls every member of a feature in the same order as a session."""

import json
from collections.abc import Iterable
from typing import Any, get_args

from callgate.conversation.feature import (
    REMINDER_PHASES,
    Feature,
    FeaturePart,
    Handler,
    InjectedCall,
    OpenSession,
)
from callgate.conversation.feature_set import Equipment, FeatureSet
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.conversation.reminders import remind
from callgate.core.gate import CheckGate
from callgate.core.ports import Check
from callgate.testing.checks import promise, promise_kind
from callgate.testing.checks.port_checks import check_gate, check_toolbox
from callgate.testing.memory_host import MemoryHost
from callgate.testing.plain import PlainTool, PlainToolbox
from callgate.testing.script import ScriptedModel
from callgate.words.calls import Result
from callgate.words.events import Durable, MessageAdded, TurnEnded, TurnStarted
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Message, Text
from callgate.words.model import Abilities
from callgate.words.traits import Traits
from callgate.words.turns import Compacted

_OWNED = {"tool_choice"}


async def check_feature(feature: Feature, *, needs: Iterable[Feature] = (), config: Any = None) -> None:
    """Check that a feature meets the requirements of Feature, in sessions in memory.

    needs   the other features that the feature requires, in any order
    config  the Config of the sessions
    """
    name = feature.name
    promise(name and name == name.strip(), "a feature has a name")
    promise(name not in feature.needs, f"{name}: a feature does not need itself")
    promise(feature.owns <= _OWNED, f"{name}: a feature may own {', '.join(_OWNED)}, not {feature.owns - _OWNED}")
    journal = MemoryJournal(session="check")
    first = _Stage(feature, needs, config, journal)
    other = _Stage(feature, needs, config, MemoryJournal(session="other"))
    promise_kind(first.part, FeaturePart, text=f"{name}: open() returns a FeaturePart")
    promise(first.part is not other.part, f"{name}: each session has a part of its own")
    first.check_values()
    promise(first.part.instructions == other.part.instructions, f"{name}: instructions stay the same")
    await check_toolbox(lambda: first.box)
    await check_gate(lambda: CheckGate(first.part.checks))
    await first.play()
    later = _Stage(feature, needs, config, MemoryJournal(journal.events, session="check"))
    promise(later.state() == first.state(), f"{name}: the state is a fold of the recorded events: {later.state()}")
    for _ in first.features.follow(journal.read()):
        pass
    first.features.folded(first.record.ledger)
    promise(later.state() == first.state(), f"{name}: reset() clears the state: {first.state()}")
    written = len(journal.events)
    for each in (first, later, other):
        await each.features.close(discard=False)
    promise(len(journal.events) == written, f"{name}: close() writes nothing unless it discards")


class _Stage:
    def __init__(self, feature: Feature, needs: Iterable[Feature], config: Any, journal: MemoryJournal) -> None:
        self.name = feature.name
        self.record = Record(journal, Ledger())
        host = MemoryHost()
        settings = ExecutorSettings()
        opened = OpenSession(
            self.record, host, journal, lineage=("check",), settings=settings, cheap=ScriptedModel(), config=config
        )
        self.features = FeatureSet.open((*needs, feature), opened)
        self.part = self.features.parts[feature.name]
        self.record.adopt(Ledger(self.features.follow(journal.read())), self.features.folds)
        self.box = self.features.toolbox(PlainToolbox(PlainTool("Plain", aliases=["Simple"])))
        self._now = host.clock.now
        self._model = ScriptedModel()
        self._is_woken = False
        self.equipment = Equipment(
            model=self._model,
            toolbox=self.box,
            gate=CheckGate(self.features.checks),
            host=host,
            record=self.record,
            features=self.features,
        )
        opened.bind(self)
        self.features.folded(self.record.ledger)
        self.features.begin()

    async def ask(self, *_: object, **_about: object) -> None:
        return None

    def wake(self) -> None:
        self._is_woken = True

    def end_message(self) -> None:
        return

    def warn(self, text: str) -> None:
        promise(text.strip(), f"{self.name}: a note has a text")

    def state(self) -> object:
        return (self.part.wakes, self.part.unreported, self.part.due_chars, self.part.holds_open())

    def check_values(self) -> None:
        name, part = self.name, self.part
        promise({*part.folds} <= {*get_args(Durable)}, f"{name}: only durable events are folded")
        for handler in part.inputs.values():
            promise_kind(handler, Handler, text=f"{name}: an input has a Handler")
        for check in part.checks:
            promise_kind(check, Check, text=f"{name}: checks are Check")
        promise(json.loads(json.dumps(dict(part.context))) == dict(part.context), f"{name}: context is JSON")
        promise_kind(part.instructions, str, text=f"{name}: instructions are a text")

    async def play(self) -> None:
        """Run one turn and a compaction. Call the features in the same way as a session does."""
        name, part, features = self.name, self.part, self.features
        await features.recover()
        promise_kind(await part.starting(resumed=False), str, type(None), text=f"{name}: starting() returns a reason")
        promise_kind(await part.prompted((Text("Hello"),)), tuple, str, text=f"{name}: prompted() returns the parts")
        said = Message("u1", "user", (Text("Hello"),))
        self.record.write(MessageAdded(self._now(), said))
        for each in part.calls_before([said]):
            promise_kind(each, InjectedCall, text=f"{name}: calls_before() returns InjectedCalls")
        await part.before_resume(["Plain"])
        promise_kind(await part.make_room(self._model), str, type(None), text=f"{name}: make_room() returns a reason")
        self._request()
        self.record.write(TurnStarted(self._now(), 1, "m1"))
        for traits in (Traits("none"), Traits("idempotent"), Traits("mutating")):
            promise_kind(
                part.admits("Plain", traits), Result, type(None), text=f"{name}: admits() returns a Result or None"
            )
        self.record.write(MessageAdded(self._now(), Message("m1", "assistant", (Text("Hi"),)), "end"))
        features.message_over("m1", whole=True)
        promise_kind(part.file_outcome("none"), str, text=f"{name}: file_outcome() returns a sentence")
        self.record.write(ended := TurnEnded(self._now(), 1, "answered"))
        await features.after_turn(ended)
        promise_kind(await part.ending(again=False), str, type(None), text=f"{name}: ending() returns a text")
        await part.compacting("PreCompact", "", "manual")
        self.record.write(Compacted(self._now(), "Summed up.", unreported=features.unreported))
        await part.compacting("PostCompact", "Summed up.", "manual")
        promise_kind(await part.too_long(self._model), bool, text=f"{name}: too_long() returns True if it shortened")
        self._request()
        await part.moving()
        promise_kind(
            part.interrupt("the check"), bool, text=f"{name}: interrupt() returns True if it stopped something"
        )
        promise(part.seconds >= 0, f"{name}: seconds are not negative")

    def _request(self) -> None:
        due, _ = self.features.before_request(Abilities())
        for each in due:
            promise(each.text and each.about, f"{self.name}: a reminder has a text and a subject")
            promise(each.phase in REMINDER_PHASES, f"{self.name}: unknown phase {each.phase!r}")
            remind(self.record, each, self._now())
