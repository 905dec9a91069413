"""The state of a server, and the surroundings that it is connected from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from callgate.core.ports import Host
from callgate.mcp.approved import ApprovedDefinitions
from callgate.mcp.asking import Person
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.mcp.login import TokenStore

ServerStatus = Literal["connecting", "connected", "failed", "needs login", "disabled"]


@noun
class ServerLimits:
    """Seconds for a connection, and for a call; a wait for a person does not count."""

    connect: float = 30.0
    call: float = 600.0


@noun
class ServerState:
    """``seconds`` is how long it took to connect; ``since`` when this state began, in wall time."""

    status: ServerStatus
    reason: str = ""
    tools: int = 0
    seconds: float | None = None
    version: str = ""
    said: str = ""
    since: float = 0.0


@noun
class ServerPlace:
    """The surroundings that a server is connected from: the session's host and folders, the data folder, and the
    person. ``note`` is called with a sentence for people, ``inform`` with one for people and the model."""

    host: Host
    roots: tuple[str, ...]
    environ: Mapping[str, str]
    data: Path | None
    approved: ApprovedDefinitions
    limits: ServerLimits = ServerLimits()
    person: Person | None = None
    tokens: TokenStore | None = None
    note: Callable[[str], None] = lambda text: None
    inform: Callable[[str], None] = lambda text: None
