"""Random trees of nested sessions with random kills: events, costs, limits and rules reach every session."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import ModelSetup, Nesting, Session, SessionLimits
from callgate.config import Config
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Check, Run
from callgate.policy.entries import RuleLine
from callgate.testing import MemoryHost, PlainTool, PlainToolbox, ScriptedModel, pause, run_virtual, say, stop, turn
from callgate.testing.script import raw_call
from callgate.words.decisions import Allow, Origin
from callgate.words.errors import StateError
from callgate.words.events import AgentPath, AgentSpent, Event, spent_in
from callgate.words.inputs import Interrupt, Prompt
from callgate.words.limits import LoopLimits
from callgate.words.messages import Usage
from callgate.words.traits import Traits, shared, writes
from tests.flows.test_nested_restrictions import AllowingGate
from tests.profiles import fewer
from tests.properties.stage import VirtualClock
from tests.properties.strategies import passing

FORBIDDEN = "forbidden"
GIVEN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "bypass": {"mode": "bypass"},
    "check": {"gate": [Check("allows", lambda case: Allow("allows"))]},
    "gate": {"gate": AllowingGate()},
}
CONFIG = Config(
    Path("/workspace"),
    Path("/home/somebody"),
    Path("/home/somebody/data"),
    rules=(RuleLine("deny", f"Touch(where={FORBIDDEN})", Origin("user")),),
    own_data=False,
)


@dataclass(frozen=True)
class Node:
    """A session: what it is given, the calls of each message, and the tokens and the time that each message takes."""

    given: str = "nothing"
    messages: tuple[tuple["str | Node", ...], ...] = ()
    tokens: int = 100
    takes: float = 0.5


def _nodes(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Node]:
    calls = st.lists(st.one_of(st.sampled_from(("a", "b", FORBIDDEN)), inside), max_size=3).map(tuple)
    return st.builds(
        Node,
        st.sampled_from(tuple(GIVEN)),
        st.lists(calls, max_size=2).map(tuple),
        st.sampled_from((10, 100, 300)),
        st.sampled_from((0.0, 0.5, 2.0)),
    )


leaves = _nodes(st.just("a"))
trees = _nodes(_nodes(_nodes(_nodes(leaves))))
kills = st.lists(
    st.tuples(st.integers(0, 40).map(lambda n: n / 4), st.integers(0, 9), st.sampled_from(("close", "interrupt"))),
    max_size=4,
)


class Forest:
    """One life of a tree. ``faults`` are what must never be."""

    def __init__(self, tree: Node, kills: list[tuple[float, int, str]], limit: float | None) -> None:
        self.kills = kills
        self.limit = limit
        self.host = MemoryHost(clock=VirtualClock())
        self.sessions: list[Session] = []
        self.journals: dict[AgentPath, MemoryJournal] = {}
        self.received: dict[AgentPath, list[tuple[int, Event]]] = {}
        self.faults: list[str] = []
        limits = SessionLimits(LoopLimits(max_cost=limit))
        self.root = self._open(tree, None, config=CONFIG, mode="bypass", limits=limits)
        self.root.listen(lambda path, number, event: self.received.setdefault(path, []).append((number, event)))

    def _open(self, node: Node, parent: Session | None, **given: Any) -> Session:
        async def touch(arguments: Mapping[str, Any], run: Run) -> str:
            await passing(0.1)
            if arguments["where"] == FORBIDDEN:
                self.faults.append("a forbidden call has run")
            return "touched"

        async def delegate(arguments: Mapping[str, Any], run: Run) -> str:
            inner = node.messages[arguments["message"]][arguments["at"]]
            assert isinstance(inner, Node)
            async with self._open(inner, session, **GIVEN[inner.given]) as child:
                await child.send(Prompt("go"), until="idle")
            return "helped"

        tools = (
            PlainTool("Touch", touch, traits=lambda arguments: Traits("mutating", writes(arguments["where"]))),
            PlainTool("Delegate", delegate, traits=Traits("none", shared)),
        )
        journal = MemoryJournal(session=f"s{len(self.sessions)}")
        session = Session(
            ModelSetup(ScriptedModel(otherwise=self._scene(node)), price=lambda name, usage: usage.output / 1_000),
            PlainToolbox(*tools),
            host=self.host,
            journal=journal,
            nesting=Nesting(parent, "agent"),
            **given,
        )
        if session.path in self.journals:
            self.faults.append(f"two sessions have the path {session.path}")
        self.sessions.append(session)
        self.journals[session.path] = journal
        return session

    def _scene(self, node: Node) -> Any:
        at = -1

        def scene(request: Any) -> Any:
            nonlocal at
            at += 1
            if self.limit is not None and self.root.cost >= self.limit:
                self.faults.append(f"a request at ${self.root.cost:.2f} of ${self.limit:.2f}")
            end = [pause(node.takes), stop("end", Usage(output=node.tokens))]
            if at >= len(node.messages) or not node.messages[at]:
                return turn(say("Done."), *end)
            found = [
                raw_call("Delegate", {"message": at, "at": n}, id=f"c{at}.{n}")
                if isinstance(each, Node)
                else raw_call("Touch", {"where": each}, id=f"c{at}.{n}")
                for n, each in enumerate(node.messages[at])
            ]
            end[-1] = stop("tool_calls", Usage(output=node.tokens))
            return turn(*found, *end)

        return scene

    async def live(self) -> "Forest":
        self.root.post(Prompt("go"))
        begun = asyncio.get_running_loop().time()
        for when, which, how in sorted(self.kills):
            await passing(max(0.0, begun + when - asyncio.get_running_loop().time()))
            session = self.sessions[which % len(self.sessions)]
            if how == "close" and session is not self.root:
                await session.aclose()
            elif session.status != "closed":
                session.post(Interrupt())
        await passing(400.0)
        await self.root.aclose()
        self._check()
        return self

    def _check(self) -> None:
        for path, journal in self.journals.items():
            received = [each for each in self.received.get(path, []) if each[0]]
            written = list(enumerate(journal.events, 1))
            if received != (written if path else written[-len(received) :]):
                self.faults.append(f"the root did not receive every event of {path} once and in order")
        unknown = self.received.keys() - self.journals.keys()
        if unknown:
            self.faults.append(f"events of nobody: {unknown}")
        for path in self.journals:
            inside = [each for each in self.journals if each[: len(path)] == path]
            own = sum(
                spent.cost or 0.0
                for each in inside
                for event in self.journals[each].events
                if not isinstance(event, AgentSpent) and (spent := spent_in(event)) is not None
            )
            cost = next(session.cost for session in self.sessions if session.path == path)
            if abs(cost - own) > 1e-9:
                self.faults.append(f"{path} has cost ${cost}, and its sessions ${own}")


@pytest.mark.spec("AGT-7", "AGT-15")
@fewer(40)
@given(tree=trees, kills=kills, limit=st.sampled_from((None, 0.6, 1.5)))
def test_a_tree_of_sessions_keeps_its_promises_whatever_ends_early(
    tree: Node, kills: list[tuple[float, int, str]], limit: float | None
) -> None:
    async def main() -> Forest:
        return await Forest(tree, kills, limit).live()

    try:
        forest = run_virtual(main())
    except StateError as error:
        raise AssertionError(f"a session was used after its end: {error}") from error
    assert forest.faults == []


@pytest.mark.spec("AGT-15")
def test_the_deepest_tree_is_reached() -> None:
    tree = Node(messages=(("a", FORBIDDEN),))
    for _ in range(4):
        tree = Node(messages=((tree, "a", tree),), takes=0.0)

    async def main() -> Forest:
        return await Forest(tree, [], None).live()

    forest = run_virtual(main())
    assert forest.faults == []
    assert max(map(len, forest.journals)) == 4
