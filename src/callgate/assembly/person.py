"""A question to the person at a session's doors while one of its calls runs.

It is put by a session inside the call, as agents put theirs: the name of the server stands in its path, every door can
show it, and it is on record. Its model says nothing but that one call; a person answers, or says no.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from callgate.assembly.options import Nesting
from callgate.core.gate import CheckGate
from callgate.core.ports import Case, Check, Run
from callgate.tools.tool import schema_tool
from callgate.words.decisions import Ask, AskedField, FieldAnswer
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
from callgate.words.traits import shared

if TYPE_CHECKING:
    from callgate.assembly import Session

_SCHEMA = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}


class SessionPerson:
    """The Person of ``mcp.asking``."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def ask(
        self, run: Run | None, server: str, text: str, fields: Sequence[AskedField]
    ) -> tuple[FieldAnswer, ...] | None:
        from callgate.assembly import Session  # this module is a part of it

        given: list[tuple[FieldAnswer, ...]] = []

        def taken(arguments: dict[str, str], run: Run) -> str:
            given.append(run.answers)
            return "answered"

        asks = schema_tool(
            f"mcp__{server}__question",
            "A question of the server.",
            _SCHEMA,
            taken,
            title=f"{server}: question",
            effects="none",
            locks=shared,
            requires_interaction=True,
            asks=tuple(fields),
            server=server,
        )
        gate = CheckGate((Check("MCP server", lambda case: _asked(case, server, text)),))
        inner = Session(
            _Asking(asks.spec.name, text),
            [asks],
            gate=gate,
            nesting=Nesting(self._session, f"MCP server {server}", () if run is None else run.lineage),
            mode=self._session.mode,
        )
        async with inner:
            await inner.send("ask", until="idle")
        return given[0] if given else None


def _asked(case: Case, server: str, text: str) -> Ask:
    return Ask(f"MCP server {server}", text, unattended="deny", standing=True)


class _Asking:
    """A Model that makes one call and is silent then."""

    abilities = Abilities()

    def __init__(self, tool: str, text: str) -> None:
        self.name = "question"
        self._tool = tool
        self._text: str | None = text

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        text, self._text = self._text, None
        yield MessageStarted("question" if text is not None else "end")
        if text is not None:
            yield PartStarted(0, "tool_call", "question", self._tool)
            yield ArgumentsDelta(0, json.dumps({"message": text}))
            yield PartEnded(0)
        yield MessageEnded("end" if text is None else "tool_calls")
