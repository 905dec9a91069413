"""The words of ``callgate mcp …`` that are about servers whose tools we use."""

import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from callgate.cli.parsing import CommandParser, Group, Offered, one_of
from callgate.cli.policy.arguments import command

_ADDRESS = re.compile(r"[\w.-]+:\d+(?:/|$)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_WHERE = "user (default): your own, in every folder; project: for all who work on this folder"


def add_mcp_servers(mcp: Group) -> None:
    add = command(
        mcp,
        "add",
        "add a server: a command, or an address",
        "${VAR} and ${VAR:-default} stand for variables of the environment when the server is connected, so that no "
        "secret needs to be written down.",
        "callgate mcp add time -- uvx mcp-server-time",
        "callgate mcp add github https://api.example.com/mcp --header 'Authorization: Bearer ${GITHUB_TOKEN}'",
        "callgate mcp add db --env 'DB_URL=${DB_URL}' -- npx -y some-server --read-only",
    )
    add.add_argument("name", metavar="NAME", help="its tools are called mcp__NAME__TOOL")
    add.add_argument("words", metavar="URL|-- COMMAND", nargs="+", help="an address, or a command with its arguments")
    add.unknown = "; the command and its own flags stand behind --: callgate mcp add NAME -- COMMAND"
    transports = "stdio for a command, http for an address, sse for the address of an old server; mostly not needed"
    add.add_argument("-t", "--transport", metavar="T", type=one_of("stdio", "http", "sse"), help=transports)
    add.add_argument(
        "-e", "--env", metavar="NAME=VALUE", type=_pair("="), action="append", default=[], help="a variable for it"
    )
    add.add_argument(
        "-H",
        "--header",
        metavar="'NAME: VALUE'",
        type=_pair(":"),
        action="append",
        default=[],
        help="sent with requests",
    )
    add.add_argument("--trusted", action="store_true", help="believe the server when it says that a tool only reads")
    _add_scope(add)
    as_json = command(
        mcp,
        "add-json",
        "add a server as an entry of the file",
        "The entry is an object with command, args and env, or with type, url and headers.",
        """callgate mcp add-json time '{"command": "uvx", "args": ["mcp-server-time"]}'""",
    )
    as_json.add_argument("name", metavar="NAME", help="its tools are called mcp__NAME__TOOL")
    as_json.add_argument("entry", metavar="JSON", help="the entry")
    _add_scope(as_json)
    remove = command(mcp, "remove", "remove a server", "Removes its entry, and its login.", "callgate mcp remove time")
    _add_name(remove)
    _add_scope(remove)
    listed = command(
        mcp,
        "list",
        "every server: is it there, how many tools, how fast",
        "Connects all of them at once, within a time. Servers of a folder that is not trusted are not started.",
        "callgate mcp list",
    )
    listed.add_argument("--json", action="store_true", help="print a list as JSON")
    got = command(
        mcp, "get", "one server as it is configured", "Values of secrets are not shown.", "callgate mcp get time"
    )
    _add_name(got)
    got.add_argument("--json", action="store_true", help="print it as JSON")
    test = command(
        mcp,
        "test",
        "connect a server and look at its tools",
        "Says how long it takes, which tools there are, which were left out and why, and which descriptions read like "
        "instructions to the model. No tool is called.",
        "callgate mcp test time",
        codes="exit codes: 0 it is connected, 1 it is not",
    )
    _add_name(test)
    test.add_argument("--json", action="store_true", help="print it as JSON")
    login = command(
        mcp,
        "login",
        "log in to a server that wants it",
        "Shows the address to open and waits until the browser has come back. Tokens are kept in the keyring of the "
        "system where there is one, else in a file that only you can read.",
        "callgate mcp login github",
    )
    _add_name(login)
    _add_name(command(mcp, "logout", "forget a login", "Forgets the tokens of a server.", "callgate mcp logout github"))


def check_mcp_servers(path: str, parser: CommandParser, options: Namespace) -> None:
    """Checks combinations of the options of ``mcp add``."""
    if path != "mcp add":
        return
    if options.words[0] == "--":
        options.words = options.words[1:]
    if not options.words:
        parser.error("say what to connect: an address, or -- and a command")
    if options.transport is None and _ADDRESS.match(options.words[0]):
        parser.error(f"an address begins with http:// or https://: http://{options.words[0]}")
    if _VARIABLE.match(options.words[0]):
        parser.error(f"{options.words[0]} is no command; a variable is given with -e, each with one of its own")
    if len(options.words) == 1 and " " in options.words[0] and not Path(options.words[0]).exists():
        parser.error(f"the words of a command stand apart: callgate mcp add {options.name} -- {options.words[0]}")
    is_url = "://" in options.words[0] or options.words[0].startswith("${")
    if options.transport is None:
        options.transport = "http" if is_url else "stdio"
    if options.transport != "stdio" and len(options.words) > 1:
        parser.error(f"a server of type {options.transport} has one address and nothing else")
    if options.transport == "stdio" and options.header:
        parser.error("--header is for servers with an address")
    if options.transport != "stdio" and options.env:
        parser.error("--env is for servers that are commands")
    if options.trusted and options.scope == "project":
        parser.error("--trusted is your own word, and does not count in a project's file")


def _pair(sign: str) -> Callable[[str], tuple[str, str]]:
    """Reads NAME=VALUE, or NAME: VALUE without the blanks around it."""

    def read(text: str) -> tuple[str, str]:
        name, found, value = text.partition(sign)
        if not found or not name.strip():
            raise ArgumentTypeError(f"must be NAME{sign}VALUE, not {text!r}")
        return name.strip(), value.strip() if sign == ":" else value

    return read


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", type=Offered(_names), help="of the server")


def _add_scope(parser: CommandParser) -> None:
    parser.add_argument("-s", "--scope", metavar="S", type=one_of("user", "project"), default="user", help=_WHERE)


def _names() -> Sequence[str]:
    from callgate.admin.servers import own_names

    return own_names()
