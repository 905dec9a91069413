"""Questions that a server has while a call runs: a form, an address to open, a login."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from callgate.mcp.asking import Person, form_content, form_fault, form_fields, shown_address, shown_text
from callgate.mcp.calling import CallsUnderWay
from callgate.mcp.faults import NeedsLogin
from callgate.words.decisions import AskedField, FieldAnswer

Elicited = tuple[str, Mapping[str, Any] | None]
_DECLINED: Elicited = ("decline", None)
_MOST_WAITING = 10
_MOST_TRIES = 5


class ServerQuestions:
    """Puts them to the person in the newest call of the server; without a call, or a person, they are declined."""

    def __init__(self, server: str, calls: CallsUnderWay, person: Person | None, warn: Callable[[str], None]) -> None:
        self._server = server
        self._calls = calls
        self._person = person
        self._warn = warn
        self._asking = asyncio.Lock()
        self._waiting = 0

    async def elicit(self, asked: Mapping[str, Any]) -> Elicited:
        """The action and the content for an elicitation."""
        if self._calls.newest is None or self._person is None:
            why = "outside of a call" if self._person is not None else "and nobody can answer here"
            self._warn(f"the server {self._server} asked something {why}: it was declined")
            return _DECLINED
        says = shown_text(str(asked.get("message") or ""))
        try:
            if asked.get("mode") == "url":
                says += f"\nIt wants you to open this address: {shown_address(str(asked.get('url')))}"
                return _DECLINED if await self._ask(says, ()) is None else ("accept", None)
            return await self._form(says, asked.get("requestedSchema") or {}, str(asked.get("message") or ""))
        except (ValueError, TypeError, KeyError, AttributeError) as error:  # the form is a stranger's, of any shape
            why = error if isinstance(error, ValueError) else "its form does not keep to the protocol"
            self._warn(f"a question of the server {self._server} was not put, or not answered: {why}")
            return _DECLINED

    async def _form(self, says: str, schema: Mapping[str, Any], message: str) -> Elicited:
        """Asks again while an answer does not keep to the limits of the form: a server refuses the call then."""
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
        """Shows the address until the browser has come ``back`` from there. NeedsLogin where nobody can be asked."""
        if self._calls.newest is None or self._person is None:
            raise NeedsLogin(f"it needs a login: callgate mcp login {self._server}")
        asking = asyncio.ensure_future(
            self._ask(f"The MCP server {self._server} needs a login. Open this address: {address}", ())
        )
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
        """One question at a time, and not many that wait; after a no there is none in the same call any more."""
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
