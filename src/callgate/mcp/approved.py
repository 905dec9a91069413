"""The definitions of tools that were approved: a call of a tool whose definition is another one now is asked about.

A definition is approved when a call of it was let through for the first time, by a person or by a rule; and again by
the person who was shown the difference. The file lies in the data folder; without one, approvals end with the session.
"""

import json
import os
from asyncio import Task, create_task, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from callgate.core.capabilities import facts_of
from callgate.core.ports import Case, Check
from callgate.host.files import make_folders, write_new
from callgate.host.threads import in_thread
from callgate.mcp.definitions import Definition, difference
from callgate.words.decisions import Ask

FILE = "mcp-approved.json"


class ApprovedDefinitions:
    """By server and tool. ``server`` names it and where it is configured: one of a project is another one than a
    person's own of the same name. ``tool`` is a name as rules know it: a server may give it to another of its tools."""

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / FILE
        self._known: dict[str, dict[str, str]] = {}
        self._loaded = folder is None
        self._writing: set[Task[None]] = set()
        self._lock = Lock()

    def load(self) -> None:
        """Reads the file. Blocks; a file that cannot be read counts as empty, so that everything is asked anew."""
        if not self._loaded:
            self._loaded = True
            self._known = self._read()

    def before(self, server: str, tool: str) -> str | None:
        """The text of the definition that was approved; None if none was."""
        return self._known.get(server, {}).get(tool)

    def approve(self, server: str, tool: str, definition: Definition) -> None:
        """Counts from now on, and is written in a thread: see ``written``."""
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
        """Blocks."""
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
        """Other programs may have approved tools of other servers meanwhile."""
        assert self._file is not None
        draft = self._file.with_name(f"{self._file.name}.{os.urandom(8).hex()}.tmp")
        with self._lock, suppress(OSError):  # then it is asked about once more, next time
            make_folders(self._file.parent, 0o700)
            found = self._read()
            kept = {
                name: each
                for name, each in {**found, server: {**found.get(server, {}), **tools} if tools else {}}.items()
                if each
            }
            write_new(draft, json.dumps({"version": 1, "servers": kept}).encode(), 0o600)
            os.replace(draft, self._file)


def definition_check() -> Check:
    """Asks about a tool whose definition changed since it was approved, and about one that was not approved yet and
    reads like an instruction, whatever rules and remembered answers say."""

    def judge(case: Case) -> Ask | None:
        concern = facts_of(case.tool).concern
        if concern is None:
            return None
        reason = concern()
        return Ask("MCP definitions", reason, unattended="deny", unconditional=True) if reason else None

    return Check("MCP definitions", judge)


def concern_about(before: str | None, definition: Definition) -> str:
    """The reason to ask about a definition; empty if there is none."""
    if before == definition.text:
        return ""
    found = definition.suspicion
    orders = f"its description reads like an instruction to the model: … {found} …" if found else ""
    if before is None:
        return orders
    changed = f"its definition changed since it was approved:\n{difference(before, definition.text)}"
    return f"{orders}\n{changed}" if orders else changed
