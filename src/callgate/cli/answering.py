"""The words of ``callgate answer``."""

import sys
from argparse import ArgumentTypeError, Namespace
from difflib import get_close_matches
from typing import Any, NoReturn, cast

from callgate.cli.parsing import DATA_FOLDER, CommandParser, Group, count, one_of

ANSWERS = ("yes", "no", "always")


def add_answer(commands: Group) -> None:
    parser = commands.command(
        "answer",
        "the questions of a session: show them, answer one",
        "Shows the questions that a session waits with, or answers one of them, whoever has the session open. If it "
        "runs, the program that runs it acts on the answer; otherwise the answer is put on record for when it is "
        f"resumed. The first answer counts. {DATA_FOLDER}",
        more="exit codes: 0 shown, or the answer was taken; 1 refused: the question has an answer, or is not open; "
        "2 usage",
    )
    parser.add_argument(
        "which",
        metavar="SESSION",
        nargs="?",
        help="its id or a beginning of it, its title, words of its prompts, the file of a log, or latest (the default)",
    )
    parser.add_argument(
        "call",
        metavar="CALL",
        nargs="?",
        help="the question: the sign that is shown beside it, which stands for exactly these arguments, or the id of "
        "its call. Not needed where only one is open; without an answer, all of that question is shown",
    )
    parser.add_argument("answer", metavar="yes|no|always", nargs="?", help="always remembers it: see --choice, --scope")
    parser.add_argument("--note", metavar="TEXT", help="with no: what the model is told; with yes: for the record")
    parser.add_argument("--stop", action="store_true", help="with no: end the turn too")
    parser.add_argument(
        "--arguments",
        type=arguments,
        metavar="JSON",
        help="with yes: run it with these arguments instead; @FILE reads them from a file, @- from standard input. "
        "They are checked when the answer is acted on",
    )
    parser.add_argument(
        "--edit",
        nargs="?",
        const="",
        metavar="ARGUMENT",
        help="with yes: change a text argument, such as a plan, in $VISUAL or $EDITOR first; its name is not needed "
        "where there is only one",
    )
    parser.add_argument(
        "--pick",
        action="append",
        metavar="ANSWER",
        help="with yes, once for each question that the call asks, in their order: the number of an option, several as "
        "1,3, or own words; = in front says that a number is own words",
    )
    parser.add_argument(
        "--choice", type=count, metavar="N", help="with always: how far it reaches, as numbered (default: 1)"
    )
    parser.add_argument(
        "--scope",
        type=one_of("session", "project", "user"),
        metavar="S",
        help="with always: for this session (default), the project or the user",
    )
    parser.add_argument("--json", action="store_true", help="lines of JSON, and nothing else; nothing is cut there")


def check_answer(parser: CommandParser, options: Namespace) -> None:
    """Checks combinations of words, which no single word's parser can see."""
    if options.call in ANSWERS and options.answer is None:
        options.call, options.answer = None, options.call
    if options.which in ANSWERS and options.call is options.answer is None:
        parser.error(f"say which session: {parser.prog} latest {options.which}")
    said: str | None = options.answer
    if said is not None and said not in ANSWERS:
        close = get_close_matches(said, ANSWERS, n=1)
        hint = f"did you mean {close[0]}?" if close else "say yes, no or always"
        parser.error(f"there is no answer {said!r}; {hint}")
    if options.edit is not None and options.arguments is not None:
        parser.error("--edit and --arguments both change the arguments: give one of them")
    for name, wanted in _WITH.items():
        if getattr(options, name) not in (None, False) and options.answer not in wanted:
            parser.error(f"--{name} goes with {' or '.join(wanted)}")


_WITH = {
    "note": ANSWERS,
    "stop": ("no",),
    "arguments": ("yes",),
    "edit": ("yes",),
    "pick": ("yes",),
    "choice": ("always",),
    "scope": ("always",),
}


def arguments(text: str) -> dict[str, Any]:
    """A JSON object, or the file that has it."""
    from json import loads  # costly, and hardly ever needed

    try:
        found: Any = loads(_text(text), parse_constant=_no_constant)
    except OSError as error:
        raise ArgumentTypeError(f"cannot be read from {text[1:]}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ArgumentTypeError(f"must be an object such as {{}}, not {type(found).__name__}")
    return cast(dict[str, Any], found)


def _text(given: str) -> str | bytes:
    if given == "@-":
        return sys.stdin.buffer.read()
    if given.startswith("@"):
        with open(given[1:], "rb") as file:
            return file.read()
    return given


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
