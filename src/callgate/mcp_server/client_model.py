"""The client of the server as the model of a session: what it calls is what the model says.

    calls of the client ──▶ one message of calls ──▶ turn ──▶ gate, executor, record

A message grows while calls of it run: calls that come meanwhile join it, so that they overlap as the locks allow. It
ends when all of its calls have settled, when it has many, or with a call that stages: what a message stages is only
known to be staged when the message is whole.
"""

from asyncio import Event
from collections import deque
from collections.abc import AsyncIterator, Collection
from json import dumps

from callgate.words.model import (
    Abilities,
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    PartEnded,
    PartStarted,
    Request,
)
from callgate.words.noun import noun

MOST_CALLS = 50
"""In one message; later ones wait for the next."""


@noun
class ClientCall:
    id: str
    name: str
    arguments: str


class ClientModel:
    """Says what it is told to call, until ``end``. ``staging`` are the names of the tools that stage."""

    abilities = Abilities()

    def __init__(self, name: str, staging: Collection[str] = ()) -> None:
        self.name = name
        self.staging = staging
        self._waiting: deque[ClientCall] = deque()
        self._open: set[str] = set()
        self._changed = Event()
        self._over = False

    def call(self, call_id: str, name: str, arguments: object) -> None:
        self._waiting.append(ClientCall(call_id, name, dumps(arguments, ensure_ascii=False)))
        self._changed.set()

    def waits(self, call_id: str) -> bool:
        """True if the call was not said yet."""
        return any(each.id == call_id for each in self._waiting)

    def withdraw(self, call_id: str) -> bool:
        """Takes back a call that was not said yet. False: it was."""
        waits = self.waits(call_id)
        self._waiting = deque(each for each in self._waiting if each.id != call_id)
        return waits

    def settled(self, call_id: str) -> None:
        self._open.discard(call_id)
        self._changed.set()

    def end(self) -> None:
        """The client is gone: the message under way is the last one."""
        self._over = True
        self._changed.set()

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        yield MessageStarted("", self.name)
        self._open.clear()
        said = 0
        while said < MOST_CALLS and not (said and not self._waiting and not self._open):
            if not self._waiting:
                if self._over:
                    break
                self._changed.clear()
                await self._changed.wait()
                continue
            call = self._waiting.popleft()
            self._open.add(call.id)
            yield PartStarted(said, "tool_call", call.id, call.name)
            yield ArgumentsDelta(said, call.arguments)
            yield PartEnded(said)
            said += 1
            if call.name in self.staging:
                break
        yield MessageEnded("tool_calls" if said else "end")
