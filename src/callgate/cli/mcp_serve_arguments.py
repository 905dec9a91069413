"""The words of ``callgate mcp serve``."""

from argparse import ArgumentTypeError, Namespace

from callgate.cli.parsing import CommandParser, Group, one_of
from callgate.cli.policy.arguments import command
from callgate.words.modes import MODES

PORT = 8765
TOKEN = "CALLGATE_MCP_TOKEN"


def add_mcp_serve(mcp: Group) -> None:
    parser = command(
        mcp,
        "serve",
        "offer the built-in tools to other programs",
        "Serves the tools over standard input and output to the program that started it, or with --http on a port of "
        "this machine. Each call is judged by the rules of this folder; questions go to the person at the client, and "
        "a client that cannot ask gets a denial that says which rule would allow the call. Edits are shown first: the "
        "client applies or discards them with `resolve`. Each connection is a session: see callgate session list.",
        "callgate mcp serve",
        "callgate mcp serve --tools Read,Grep,Bash --allow 'Bash(npm test)'",
        "callgate mcp serve --http --port 8765",
        codes="exit codes: 0 the client has ended, 1 it could not be served, 2 the package mcp is missing, or usage",
    )
    parser.add_argument("--tools", metavar="LIST", type=_names, help="only these, such as Read,Grep")
    _add_http(parser)
    for effect, what in (("allow", "runs without a question"), ("ask", "is asked about"), ("deny", "never runs")):
        parser.add_argument(
            f"--{effect}", metavar="RULE", action="append", default=[], help=f"{what}, such as 'Bash(npm test)'"
        )
    parser.add_argument("--mode", metavar="MODE", type=one_of(*MODES), help=", ".join(MODES))
    parser.add_argument("--settings", metavar="FILE", help="settings above those in files")
    parser.add_argument("--trust", action="store_true", help="trust this folder, this once, with its tools and hooks")
    parser.add_argument("--no-save", action="store_true", help="keep no record")


def _add_http(parser: CommandParser) -> None:
    parser.add_argument(
        "--http",
        action="store_true",
        help=f"on a port; the token that clients have to send is that of ${TOKEN}, or a new one, printed at the start",
    )
    parser.add_argument("--port", metavar="N", type=_port, help=f"with --http (default {PORT}; 0 takes a free one)")
    parser.add_argument(
        "--host", metavar="ADDRESS", help="with --http: an address of this machine that clients use (default 127.0.0.1)"
    )


def check_mcp_serve(parser: CommandParser, options: Namespace) -> None:
    if not options.http and (options.port is not None or options.host is not None):
        parser.error("--port and --host are about --http: say that too")


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.replace(",", " ").split())
    if not names:
        raise ArgumentTypeError("names tools, such as Read,Grep")
    return names


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 1 << 16):
        raise ArgumentTypeError(f"must be a port from 0 to 65535, not {text!r}")
    return int(text)
