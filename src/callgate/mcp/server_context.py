"""The state of a server, and the objects of the session that a server uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from callgate.core.ports import Host
from callgate.mcp.approvals import ApprovedDefinitions
from callgate.mcp.server_questions import Person
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.mcp.oauth import TokenStore

ServerStatus = Literal["connecting", "connected", "failed", "needs login", "disabled"]


@noun
class ServerLimits:
    """The timeouts of a server, in seconds. The timeout of a call is paused while the user is asked."""

    connect: float = 30.0
    call: float = 600.0


@noun
class ServerState:
    """The state of a server.

    seconds  the duration of the connection attempt
    said     the name and version that the server reports
    since    the wall time at which this state began
    """

    status: ServerStatus
    reason: str = ""
    tools: int = 0
    seconds: float | None = None
    version: str = ""
    said: str = ""
    since: float = 0.0

    @property
    def is_late(self) -> bool:
        """True until the first attempt to connect has succeeded or failed."""
        return self.status == "connecting" and not self.reason


@noun
class ServerContext:
    """The objects and callbacks of the session that a server uses.

    note    called with a sentence for the user
    inform  called with a sentence for the user and the model
    mask    returns a text with secrets masked, for the log
    """

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
    mask: Callable[[str], str] = str
