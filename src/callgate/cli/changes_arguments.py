"""The words of ``callgate changes`` and ``callgate undo``."""

import sys
from argparse import ArgumentTypeError, Namespace
from difflib import get_close_matches

from callgate.cli.parsing import DATA_FOLDER, CommandParser, Group, count, one_of

_SHOW = "show"
_WHICH = (
    "its id or a beginning of it, its title, words of its prompts, or the file of a log (default: the latest of this "
    "folder)"
)


def add_changes(commands: Group) -> None:
    parser = commands.command(
        "changes",
        "what a session did to files: list it, show a diff",
        "The changes that a session made to files, the last applied first, with their states: applied, reverted, "
        "discarded (not wanted, or could not be applied), staged (waits) or applying (under way, or half applied "
        "because the program or the disk failed: the next start finishes or undoes it). show prints the diff of one. "
        f"{DATA_FOLDER}",
        more="exit codes: 0 shown; 1 failed, or some of it cannot be read",
    )
    parser.usage = "callgate changes [WHICH | --all] [--json]\n       callgate changes show NUMBER [WHICH] [--patch]"
    parser.add_argument("words", metavar="WHICH", nargs="*", help=_WHICH)
    parser.add_argument("--all", action="store_true", help="those of every session of this folder")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each, and nothing else")
    parser.add_argument(
        "--patch", action="store_true", help="with show: nothing but the diff, byte for byte in a pipe, as git takes it"
    )


def check_changes(parser: CommandParser, options: Namespace) -> None:
    """Gives ``number`` (None for a list) and ``which``, out of the words."""
    words: list[str] = options.words
    shows = bool(words) and words[0] == _SHOW
    options.number = _number(parser, words) if shows else None
    rest = words[2:] if shows else words
    if len(rest) > 1:
        near = not shows and get_close_matches(words[0], [_SHOW], n=1, cutoff=0.5)
        parser.error(f"there is no {words[0]!r}; did you mean show?" if near else f"{rest[1]} is not known here")
    options.which = rest[0] if rest else None
    if options.all and (words or options.patch):
        parser.error("say --all, or which one")
    if options.patch and not shows:
        parser.error("--patch goes with show NUMBER")
    if options.json and shows:
        parser.error("--json is for the list; --patch prints the diff for a program")


def _number(parser: CommandParser, words: list[str]) -> int:
    if len(words) < 2:
        parser.error("say which: show NUMBER, as `callgate changes` lists them")
    try:
        return count(words[1])
    except ArgumentTypeError as error:
        parser.error(f"NUMBER {error}")


def add_undo(commands: Group) -> None:
    parser = commands.command(
        "undo",
        "take back what calls did to files",
        "Takes back what calls did to files: the last one, all of the last turn that changed something, or all of the "
        "session. What others have changed since is merged, or is a conflict, and then nothing is undone. Shows first "
        "what it would do and what it cannot undo, and asks. What a crash cut short is settled before that. "
        f"{DATA_FOLDER}",
        more="exit codes: 0 done; 1 failed, conflicts, nothing to undo, or the answer was no; 2 usage; 130 interrupted",
    )
    parser.add_argument(
        "scope", metavar="call|turn|session", nargs="?", type=one_of("call", "turn", "session"), help="default: turn"
    )
    parser.add_argument(
        "--change",
        type=count,
        metavar="N",
        help="only the one of this number; that of an undo brings back what it took",
    )
    parser.add_argument("--session", metavar="WHICH", help=_WHICH)
    parser.add_argument("--dry-run", action="store_true", help="only show it, with the diff")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--partly", action="store_true", help="leave files with conflicts as they are, undo the rest")
    parser.add_argument("--json", action="store_true", help="one line of JSON, and nothing else")


def check_undo(parser: CommandParser, options: Namespace) -> None:
    if options.scope and options.change:
        parser.error("say a scope, or --change")
    if options.yes or options.dry_run:
        return
    if options.json:
        parser.error("--json asks no question: say --yes, or --dry-run to only look")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        parser.error("there is no terminal to ask on: say --yes, or --dry-run to only look")
