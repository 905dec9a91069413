"""The words of ``callgate -p``."""

import argparse
from argparse import Namespace
from math import inf

from callgate.cli.agent.flags import (
    FlagGroup,
    add_model_flags,
    add_rules_flags,
    add_server_flags,
    add_session_flags,
    check_session_flags,
    positive,
    refuse_later,
)
from callgate.cli.parsing import CommandParser, one_of
from callgate.cli.prompt_arguments import add_prompt_flags
from callgate.words.endings import EXIT_CODES_LINE

_FOR_EVER = "for ever"
FORMATS = ("text", "json", "stream-json")


def read_headless(words: list[str]) -> Namespace:
    """Ends the program with a line about the first fault."""
    words = [*words]
    parser = headless_parser()
    refuse_later(parser, words)
    for at, word in enumerate(words):
        if word == "--wait":
            words[at] = f"--wait={_FOR_EVER}"  # a value only with "=": the next word is the prompt
        if word == "--":
            break
    options, unknown = parser.parse_known_args(words)
    if unknown:
        extra = unknown[0]
        if extra.startswith("-"):
            parser.refuse(extra)
        parser.error(f"{extra!r} is one prompt too many: put the whole prompt in quotes")
    _check(parser, options)
    return options


def headless_parser() -> CommandParser:
    parser = CommandParser(
        "callgate -p",
        usage="callgate -p [PROMPT] [options]",
        description="Runs the agent once, without a terminal: it works until it is done, and prints its answer. It "
        "never asks: a question is kept, what does not depend on it is finished, and the exit code is 3.",
        epilog=EXIT_CODES_LINE,
        allow_abbrev=False,
    )
    parser.add_argument("-p", "--print", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(attended=False)
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="what to do; standard input is added to it")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    _add_formats(parser.add_argument_group("in and out"))
    model = parser.add_argument_group("the model")
    add_model_flags(model)
    add_prompt_flags(model)
    allowed = parser.add_argument_group("what it may do")
    add_rules_flags(allowed)
    add_server_flags(allowed)
    add_session_flags(parser.add_argument_group("the session"))
    return parser


def _add_formats(group: FlagGroup) -> None:
    group.add_argument(
        "--output-format",
        metavar="F",
        type=one_of(*FORMATS),
        default="text",
        help="text: the answer (default); json: one object at the end; stream-json: every event as a line of JSON",
    )
    group.add_argument(
        "--input-format",
        metavar="F",
        type=one_of("text", "stream-json"),
        default="text",
        help="stream-json: inputs as lines of JSON, such as prompts and answers, until standard input ends",
    )
    group.add_argument(
        "--json-schema", metavar="FILE|JSON", help="the answer must be JSON of this schema; it is sent back once"
    )
    group.add_argument(
        "--wait",
        metavar="S",
        type=_seconds,
        help="wait for answers to questions (callgate answer), and go on; --wait=S: at most S seconds for each",
    )


def _check(parser: CommandParser, options: Namespace) -> None:
    check_session_flags(parser, options)
    if options.json_schema is not None and options.input_format == "stream-json":
        parser.error("--json-schema is about one answer, and stream-json may bring several prompts")


# ---- values -------------------------------------------------------------------------------------------------------


def _seconds(text: str) -> float:
    return inf if text == _FOR_EVER else positive(text, "a number of seconds")
