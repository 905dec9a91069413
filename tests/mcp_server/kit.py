"""What the tests of the MCP server share: a workspace, our server, and clients of the SDK that talk to it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import CallToolResult, ElicitResult, TextContent

from callgate import Store
from callgate.config import load_config
from callgate.core.ports import Tool
from callgate.mcp_server.served_session import ServedSessions, session_opener
from callgate.mcp_server.server import McpToolServer

ERAS = ("legacy", "auto")
"""The handshake of the versions up to 2025-11-25, and the modern protocol."""


@dataclass
class Person:
    """The person at a client: answers forms with these, in order; ``asked`` are the messages. ``never``: it does not
    answer at all."""

    answers: list[Any] = field(default_factory=list[Any])
    asked: list[str] = field(default_factory=list[str])
    before: Callable[[], None] = lambda: None
    never: bool = False

    async def fill(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        self.before()
        if self.never:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if answer in ("decline", "cancel"):
            return ElicitResult(action=answer)
        return ElicitResult(action="accept", content=answer if isinstance(answer, dict) else {"answer": answer})


@dataclass
class Bench:
    work: Path
    store: Store
    sessions: ServedSessions
    door: McpToolServer

    def client(self, era: str, person: Person | None = None) -> Client:
        return Client(self.door.server, mode=era, elicitation_callback=None if person is None else person.fill)

    def write(self, name: str, text: str) -> Path:
        (self.work / name).write_text(text)
        return self.work / name


@asynccontextmanager
async def bench(
    folder: Path,
    *,
    tools: Sequence[str] | None = None,
    own: Sequence[Tool] = (),
    idle: float | None = None,
    **settings: Any,
) -> AsyncGenerator[Bench]:
    """A server in this process. ``own`` are tools of the test, in place of those of the product."""
    work, home = folder / "work", folder / "home"
    for each in (work, home):
        each.mkdir(exist_ok=True)
    environ = {"CALLGATE_DATA_DIR": str(folder / "data"), "HOME": str(home), "PATH": "/usr/bin:/bin"}
    config = load_config(work, environ=environ, home=home, **settings)
    # In the sandbox the commands of the tests would run without a question.
    config = replace(config, settings=replace(config.settings, sandbox_disabled=True))
    store = Store(work, config.data)
    opener = session_opener(config, tools, store)
    if own:
        opener = _opener(own, config, store)
    sessions = ServedSessions(opener, idle=idle)
    try:
        yield Bench(work, store, sessions, McpToolServer(sessions, str(work)))
    finally:
        await sessions.aclose()


def _opener(tools: Sequence[Tool], config: Any, store: Store) -> Any:
    from callgate.assembly.serving import served_session
    from callgate.mcp_server.served_session import ServedSession

    async def open_session(client: str) -> ServedSession:
        return ServedSession(served_session(config, tools, await store.create()), f"mcp/{client}")

    return open_session


def text_of(result: CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextContent))


def pending_of(result: CallToolResult) -> str:
    """The id of the action that a result has staged."""
    assert result.meta is not None
    return result.meta["callgate/pending"][0]["id"]


def code_of(result: CallToolResult) -> str:
    assert result.meta is not None
    return result.meta["callgate/code"]


def run(main: Callable[[], Any]) -> None:
    asyncio.run(main())
