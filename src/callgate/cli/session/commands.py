"""The functions of the session commands; see ``arguments`` for the options."""

from argparse import Namespace
from collections.abc import Callable, Mapping

from callgate.cli.session.listing import list_sessions
from callgate.cli.session.page import show
from callgate.cli.session.sharing import audit, export, take_in
from callgate.cli.session.upkeep import collect, lock, remove, verify

COMMANDS: Mapping[str, Callable[[Namespace], int]] = {
    "audit": audit,
    "session list": list_sessions,
    "session show": show,
    "session export": export,
    "session import": take_in,
    "session verify": verify,
    "session gc": collect,
    "session remove": remove,
    "session lock": lock,
}
