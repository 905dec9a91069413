"""``callgate record``: another command, with its exchanges with models recorded."""

import os
from argparse import REMAINDER, Namespace
from pathlib import Path

from callgate.cli.parsing import CommandParser, Group
from callgate.cli.policy.arguments import command


def add_record(commands: Group) -> None:
    parser = command(
        commands,
        "record",
        "run a command and record its exchanges with models",
        "Writes what goes over the wire into the folder: one file of JSON lines for each request, without keys, only "
        "yours to read. The conversation is in them. The model replay/FOLDER serves them back. $CALLGATE_RECORD does "
        "the same for every command.",
        "callgate record tape -- auth test ollama/qwen3",
        codes="exit codes: those of the command",
    )
    parser.add_argument("folder", metavar="FOLDER", help="where to write; it is made")
    parser.add_argument("words", metavar="COMMAND", nargs=REMAINDER, help="the words after callgate, after --")


def check_record(parser: CommandParser, options: Namespace) -> None:
    options.words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not options.words:
        parser.error("say which command: callgate record FOLDER -- COMMAND")


def record(options: Namespace) -> int:
    from callgate.cli import main

    os.environ["CALLGATE_RECORD"] = str(Path(options.folder).absolute())
    return main(options.words)
