"""The command ``callgate record``: runs another command and records its exchanges with models."""

import os
from collections.abc import Sequence
from pathlib import Path

from callgate.cli.command_rows import ArgumentRow, CommandMisuse, CommandRow


def record(folder: str, words: Sequence[str]) -> int:
    """Run a command and record its exchanges with models. Each request is stored in a file of JSON lines, without
    keys, that only you can read. The files contain the conversation. The model replay/FOLDER replays them.
    $CALLGATE_RECORD records every command."""
    from callgate.cli import main

    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        raise CommandMisuse("the command is missing: callgate record FOLDER -- COMMAND")
    os.environ["CALLGATE_RECORD"] = str(Path(folder).absolute())
    return main(words)


COMMANDS = (
    CommandRow(
        "record",
        record,
        "",
        (
            ArgumentRow("FOLDER", "where to write; it is made"),
            ArgumentRow("COMMAND...", "the arguments for callgate, after --", "words"),
        ),
        examples=("callgate record tape -- auth test ollama/qwen3",),
        more="exit codes: the codes of the command",
    ),
)
