"""The words of ``callgate trust …``."""

from argparse import ArgumentTypeError

from callgate.cli.parsing import CommandParser, Group
from callgate.cli.policy.arguments import command

DIGITS = 32
"""Of a fingerprint that are shown, and asked for."""

_TRUST = "Which folders are trusted is kept in $CALLGATE_DATA_DIR (default: ~/.local/share/callgate)."


def add_trust(commands: Group) -> None:
    trust = commands.group(
        "trust",
        "whose hooks and tools may run: list, show, add, revoke",
        "Nothing that a folder brings along runs before it is trusted: hooks and other commands of its settings. Its "
        f"deny and ask rules count without that; its allow rules never do. {_TRUST}",
    )
    command(
        trust,
        "list",
        "the trusted folders",
        f"The folders that are trusted, since when, and whether they changed since. {_TRUST}",
        "callgate trust list",
    )
    show = command(
        trust,
        "show",
        "what a folder would run",
        "What the files of a folder would do if it were trusted, what changed since it was, and the fingerprint of "
        "exactly that. Nothing is run.",
        "callgate trust show",
        "callgate trust show ~/src/app",
    )
    _add_folder(show)
    add = command(
        trust,
        "add",
        "trust a folder as it is now",
        "Shows what the folder would run and, on a terminal, asks. Elsewhere --yes answers, with the fingerprint that "
        f"`callgate trust show` printed, so that what was shown is what is trusted. {_TRUST}",
        "callgate trust add",
        "callgate trust add ~/src/app --yes 0123456789abcdef0123456789abcdef",
    )
    _add_folder(add)
    add.add_argument(
        "--yes",
        type=_fingerprint,
        metavar="FINGERPRINT",
        help="do not ask; the fingerprint is the one that `callgate trust show` prints",
    )
    revoke = command(
        trust,
        "revoke",
        "trust a folder no more",
        f"Forgets that the folder was trusted; it need not be there any more. {_TRUST}",
        "callgate trust revoke",
        "callgate trust revoke ~/src/app",
    )
    _add_folder(revoke)


def _add_folder(parser: CommandParser) -> None:
    parser.add_argument("folder", metavar="DIR", nargs="?", help="the folder (default: the current one)")


def _fingerprint(text: str) -> str:
    if len(text) != DIGITS or not set(text) <= set("0123456789abcdef"):
        raise ArgumentTypeError(
            f"is the fingerprint that `callgate trust show` prints, {DIGITS} hexadecimal digits, not {text!r}"
        )
    return text
