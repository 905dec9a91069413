"""The words of ``callgate prompt …``, and the flags about the system prompt that other commands have too."""

import argparse
from argparse import ArgumentTypeError

from callgate.cli.parsing import Group, one_of
from callgate.cli.policy.arguments import command
from callgate.words.modes import MODES


def add_prompt(commands: Group) -> None:
    prompt = commands.group(
        "prompt",
        "the system prompt: show",
        "The system prompt is put together from texts that you can replace, by files in the folder prompt of your "
        "settings.",
    )
    show = command(
        prompt,
        "show",
        "print the system prompt, with the origin of each part",
        "Prints the system prompt that a session in the current folder would begin with.",
        "callgate prompt show",
        "callgate prompt show --text --mode plan",
    )
    form = show.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="only the text, exactly as the model gets it")
    form.add_argument("--json", action="store_true", help="a list of parts with name, origin and text")
    show.add_argument("--mode", type=one_of(*MODES), metavar="MODE", help=f"the mode: {', '.join(MODES)}")
    show.add_argument("--model", metavar="NAME", default="", help="the model to name in it")
    show.add_argument(
        "--tools", type=tool_names, metavar="LIST", default=(), help="only these tools, such as Read,Grep"
    )
    show.add_argument("--unattended", action="store_true", help="as for a session that no person watches (-p)")
    add_prompt_flags(show)


def add_prompt_flags(parser: argparse._ActionsContainer) -> None:  # pyright: ignore[reportPrivateUsage]
    """To a parser, or to a group of its flags."""
    own = parser.add_mutually_exclusive_group()
    own.add_argument("--system-prompt", metavar="TEXT", help="in place of the shipped system prompt")
    own.add_argument("--system-prompt-file", metavar="FILE", help="the same, from a file")
    more = parser.add_mutually_exclusive_group()
    more.add_argument("--append-system-prompt", metavar="TEXT", help="after the system prompt")
    more.add_argument("--append-system-prompt-file", metavar="FILE", help="the same, from a file")


def tool_names(text: str) -> tuple[str, ...]:
    """Names of tools between commas or blanks."""
    names = tuple(text.replace(",", " ").split())
    if not names:
        raise ArgumentTypeError("say which tools, such as Read,Grep")
    return names
