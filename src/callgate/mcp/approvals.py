"""Stores approved tool definitions, and asks the user before a call of a tool whose definition has changed.

The first allowed call of a tool approves its definition. A changed definition is approved when the user allows a call
after seeing the difference. Approvals are stored in the data folder; without a data folder they last for the session.
"""

import json
from asyncio import Task, create_task, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from callgate.core.capabilities import facts_of
from callgate.core.ports import Case, Check
from callgate.host.files import replace_file
from callgate.host.threads import in_thread
from callgate.mcp.tool_definitions import Definition, difference
from callgate.words.decisions import Ask
from callgate.words.errors import UsageError

FILE = "mcp-approved.json"


class ApprovedDefinitions:
    """The approved tool definitions, by server and tool.

    server  the identity of a server: name and, for a project's server, the project
    tool    the name of the tool in rules
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / FILE
        self._known: dict[str, dict[str, str]] = {}
        self._loaded = folder is None
        self._writing: set[Task[None]] = set()
        self._lock = Lock()

    def load(self) -> None:
        """Read the file of approvals. Blocks. An unreadable file is treated as empty, so every tool needs approval
        again."""
        if not self._loaded:
            self._loaded = True
            self._known = self._read()

    def before(self, server: str, tool: str) -> str | None:
        """Return the text of the approved definition, or None if no definition is approved."""
        return self._known.get(server, {}).get(tool)

    def approve(self, server: str, tool: str, definition: Definition) -> None:
        """Approve a definition at once and store it in a thread; ``written`` waits until it is stored."""
        if self.before(server, tool) != definition.text:
            tools = self._known.setdefault(server, {})
            tools[tool] = definition.text
            if self._file is not None:
                writing = create_task(in_thread(partial(self._write, server, {tool: definition.text})))
                self._writing.add(writing)
                writing.add_done_callback(self._writing.discard)

    async def written(self) -> None:
        if self._writing:
            await wait(self._writing)

    def forget(self, server: str) -> None:
        """Remove all approvals of a server. Blocks."""
        self._known.pop(server, None)
        if self._file is not None and server in self._read():
            self._write(server, {})

    def _read(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        if self._file is not None:
            with suppress(OSError, ValueError, AttributeError, KeyError, TypeError):
                kept: Any = json.loads(self._file.read_bytes())
                for server, tools in kept["servers"].items():
                    found[str(server)] = {str(name): str(text) for name, text in tools.items()}
        return found

    def _write(self, server: str, tools: dict[str, str]) -> None:
        """Merge the approvals into the file, because other processes may have approved tools of other servers."""
        assert self._file is not None
        with self._lock, suppress(UsageError):  # the user is asked again next time
            found = self._read()
            if tools:
                found.setdefault(server, {}).update(tools)
            else:
                found.pop(server, None)
            replace_file(self._file, json.dumps({"version": 1, "servers": found}).encode(), 0o600)


def definition_check() -> Check:
    """Return the check that asks the user about a changed definition, and about a new definition that reads like an
    instruction. The check asks even if a rule or a remembered answer allows the call."""

    def judge(case: Case) -> Ask | None:
        concern = facts_of(case.tool).concern
        if concern is None:
            return None
        reason = concern()
        return Ask("MCP definitions", reason, unattended="deny", unconditional=True) if reason else None

    return Check("MCP definitions", judge)


def concern_about(before: str | None, definition: Definition) -> str:
    """Return the reason why the user must be asked about a definition, or an empty string."""
    if before == definition.text:
        return ""
    found = definition.suspicion
    orders = f"its description contains an instruction to the model: … {found} …" if found else ""
    if before is None:
        return orders
    changed = f"its definition changed since it was approved:\n{difference(before, definition.text)}"
    return f"{orders}\n{changed}" if orders else changed
