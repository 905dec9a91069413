"""The words of ``callgate`` in a terminal."""

from argparse import Namespace

from callgate.cli.agent.flags import (
    add_model_flags,
    add_rules_flags,
    add_server_flags,
    add_session_flags,
    check_session_flags,
    refuse_later,
)
from callgate.cli.parsing import CommandParser
from callgate.cli.prompt_arguments import add_prompt_flags


def read_interactive(words: list[str]) -> Namespace:
    """Ends the program with a line about the first fault."""
    parser = interactive_parser()
    refuse_later(parser, words)
    options, unknown = parser.parse_known_args(_with_picker(words))
    if unknown:
        parser.refuse(unknown[0])
    check_session_flags(parser, options)
    return options


def interactive_parser() -> CommandParser:
    parser = CommandParser("callgate", description="The agent in this terminal.", allow_abbrev=False)
    parser.set_defaults(attended=True)
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="what to do first")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    model = parser.add_argument_group("the model")
    add_model_flags(model)
    add_prompt_flags(model)
    allowed = parser.add_argument_group("what it may do")
    add_rules_flags(allowed)
    add_server_flags(allowed)
    add_session_flags(parser.add_argument_group("the session"))
    return parser


def _with_picker(words: list[str]) -> list[str]:
    """``--resume`` without an id gets an empty one, for which the terminal shows the sessions to choose from."""
    for at, word in enumerate(words):
        if word == "--":
            break
        following = words[at + 1] if at + 1 < len(words) else "-"
        if word in ("-r", "--resume") and following.startswith("-"):
            return [*words[:at], "--resume=", *words[at + 1 :]]
    return words
