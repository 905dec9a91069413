"""The errors of connections to servers, and their messages. The SDK is not imported."""

from collections.abc import Callable
from typing import Any, cast

from callgate.mcp.tool_definitions import clean
from callgate.words.noun import noun

_LONGEST = 500
INSTALL = "MCP servers need a package: pip install 'callgate[mcp]'"


class LinkFault(Exception):
    """Raised if a request to a server failed. ``lost`` is True if the connection cannot be used any more."""

    def __init__(self, text: str, *, lost: bool = False) -> None:
        super().__init__(text)
        self.lost = lost


class NeedsLogin(Exception):
    """Raised if the server requires a login, but the user cannot be asked now."""


class NotInstalled(Exception):
    pass


@noun
class ConnectionFault:
    """The reason why a connection ended. ``final`` is True if a retry would fail too."""

    text: str
    final: bool = False
    login: bool = False


def sentence_of(error: BaseException) -> str:
    """Return an error as one sentence; for a validation error, its first fault."""
    listed: Callable[[], list[dict[str, Any]]] | None = getattr(error, "errors", None)
    if not isinstance(error, ValueError) or listed is None:
        return str(error)
    first = listed()[0]
    return f"the answer violates the protocol: {'.'.join(map(str, first['loc']))}: {first['msg']}"


def innermost(error: BaseException) -> BaseException:
    """Return the first error that is not an exception group, searching nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[Any]", error).exceptions[0]
    return error


def fault_of(error: BaseException, lost: str, where: str) -> ConnectionFault:
    """Convert an exception of a connection to a ConnectionFault.

    lost   the reason that the transport reported for its end; may be empty
    where  the address of an HTTP server
    """
    error = innermost(error)
    login = isinstance(error, NeedsLogin)
    final = login or isinstance(error, NotInstalled | FileNotFoundError | PermissionError | ValueError)
    if isinstance(error, OSError):
        what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        what = clean(what, _LONGEST)
        return ConnectionFault(f"it cannot be started: {what}" if final else what, final=final)
    text = clean(lost or sentence_of(error), _LONGEST) or type(error).__name__
    if where and type(error).__name__ == "ConnectError":
        text = f"no connection to {clean(where, _LONGEST)}: {text}"
    return ConnectionFault(text, final=final, login=login)
