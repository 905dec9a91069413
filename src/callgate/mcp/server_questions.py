"""The running calls of a server, and the questions that the server asks the user during a call: a form, an address to
open, a login."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from callgate.core.ports import Clock, Timer
from callgate.mcp.forms import Person, form_content, form_fault, form_fields, shown_address, shown_text
from callgate.mcp.link_faults import NeedsLogin
from callgate.words.decisions import AskedField, FieldAnswer

Elicited = tuple[str, Mapping[str, Any] | None]
_DECLINED: Elicited = ("decline", None)
_MOST_WAITING = 10
_MOST_TRIES = 5


class RunningCall:
    """A call with a timeout that cancels its task. The timeout is paused while the user is asked.

    expired   True if the task was cancelled because the timeout has passed
    declined  True if the user declined a question of the server; further questions during this call are then declined
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.expired = False
        self.declined = False
        self._clock = clock
        self._seconds = seconds
        self._task = asyncio.current_task()
        self._timer: Timer = clock.call_later(seconds, self._expire)

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Stop the timeout of the call in the ``with`` block, and restart it from the beginning after the block."""
        self._timer.cancel()
        try:
            yield
        finally:
            self._timer = self._clock.call_later(self._seconds, self._expire)

    def _expire(self) -> None:
        if self._task is not None and not self._task.done():
            self.expired = True
            self._task.cancel()

    def end(self) -> None:
        self._timer.cancel()
        if self.expired and self._task is not None:
            self._task.uncancel()


class RunningCalls:
    """The running calls of one server, in the order of their start."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._calls: list[RunningCall] = []

    @property
    def newest(self) -> RunningCall | None:
        """The call to which a question of the server is assigned, because the protocol does not always name the
        call."""
        return self._calls[-1] if self._calls else None

    @contextmanager
    def begun(self) -> Generator[RunningCall]:
        """Register the current task as a running call for the duration of the block."""
        call = RunningCall(self._clock, self._seconds)
        self._calls.append(call)
        try:
            yield call
        finally:
            self._calls.remove(call)
            call.end()


class ServerQuestions:
    """Asks the user the questions of one server, during the server's newest call. Without a running call, or if the
    user cannot be asked, the questions are declined."""

    def __init__(self, server: str, calls: RunningCalls, person: Person | None, warn: Callable[[str], None]) -> None:
        self._server = server
        self._calls = calls
        self._person = person
        self._warn = warn
        self._asking = asyncio.Lock()
        self._waiting = 0

    async def elicit(self, asked: Mapping[str, Any]) -> Elicited:
        """Return the action and the content that answer an elicitation request of the server."""
        if self._calls.newest is None or self._person is None:
            why = "outside of a call" if self._person is not None else "and nobody can answer here"
            self._warn(f"the server {self._server} asked something {why}: it was declined")
            return _DECLINED
        says = shown_text(str(asked.get("message") or ""))
        try:
            if asked.get("mode") == "url":
                says += f"\nPlease open this address: {shown_address(str(asked.get('url')))}"
                return _DECLINED if await self._ask(says, ()) is None else ("accept", None)
            return await self._form(says, asked.get("requestedSchema") or {}, str(asked.get("message") or ""))
        except (ValueError, TypeError, KeyError, AttributeError) as error:  # a form of the server may have any shape
            why = error if isinstance(error, ValueError) else "its form violates the protocol"
            self._warn(f"a question of the server {self._server} was not asked or not answered: {why}")
            return _DECLINED

    async def _form(self, says: str, schema: Mapping[str, Any], message: str) -> Elicited:
        """Ask the user to fill in a form. Repeat the question while the answer violates the schema, because with
        such an answer the call would fail."""
        fields = form_fields(schema, message)
        fault = ""
        for _ in range(_MOST_TRIES):
            answers = await self._ask(f"{fault}\n{says}" if fault else says, [each.asked for each in fields])
            if answers is None:
                return _DECLINED
            content = form_content(fields, answers)
            fault = form_fault(schema, fields, content)
            if not fault:
                return "accept", content
        raise ValueError(fault)

    async def show_login(self, address: str, back: Awaitable[object]) -> None:
        """Show the login address until ``back`` is done. Raise NeedsLogin if the user declines or cannot be asked."""
        if self._calls.newest is None or self._person is None:
            raise NeedsLogin(f"it requires a login: callgate mcp login {self._server}")
        text = f"The MCP server {self._server} requires a login. Open this address: {address}"
        asking = asyncio.ensure_future(self._ask(text, ()))
        coming = asyncio.ensure_future(back)
        try:
            await asyncio.wait({asking, coming}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done() and asking.result() is None:
                raise NeedsLogin("the person did not log in")
        finally:
            if not asking.done():
                asking.cancel()  # the browser has answered the question
                await asyncio.wait({asking})

    async def _ask(self, text: str, fields: Sequence[AskedField]) -> tuple[FieldAnswer, ...] | None:
        """Ask one question at a time; further questions wait in a bounded queue. If the user declines a question,
        decline further questions of the call."""
        if self._waiting >= _MOST_WAITING:
            return None
        self._waiting += 1
        try:
            async with self._asking:
                call = self._calls.newest
                if call is None or self._person is None or call.declined:
                    return None
                with call.waiting():
                    answers = await self._person.ask(
                        fields, by=f"MCP server {self._server}", text=text, name=f"mcp__{self._server}__question"
                    )
                call.declined = answers is None
                return answers
        finally:
            self._waiting -= 1
