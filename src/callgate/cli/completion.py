"""The command ``callgate completion``: a script that completes commands, options and their values.

The scripts are static: completing starts no program.
"""

import sys
from itertools import chain

from callgate.cli.command_rows import GROUPS, ArgumentRow, CommandRow
from callgate.cli.completion_scripts import FILES, SCRIPTS, CompletionEntry, CompletionOption
from callgate.cli.start_options import FLAGS, FORMATS

_FILE_WORDS = ("FILE", "DIR", "FOLDER", "PATH")
_HELP = ArgumentRow("-h --help", "show this help message and exit")
_DEBUG = ArgumentRow("--debug", "show tracebacks")


def completion(shell: str) -> int:
    sys.stdout.write(SCRIPTS[shell](completion_table()))
    return 0


def completion_table() -> tuple[CompletionEntry, ...]:
    """Return an entry for every command, the program itself first."""
    agent = chain.from_iterable((*FLAGS.values(), *FORMATS.values()))
    top = (ArgumentRow("-p --print", "run the agent without a terminal"), _HELP, _DEBUG)
    version = ArgumentRow("--version", "show program's version number and exit")
    entries = [CompletionEntry("", {each.name: each.help for each in GROUPS.values()}, _options(*top, version, *agent))]
    for group in GROUPS.values():
        if group.about:
            rows = {name: row.help for name, row in group.commands.items()}
            entries.append(CompletionEntry(group.name, rows, _options(_HELP, _DEBUG)))
        entries += [_entry(row) for row in group.commands.values()]
    return tuple(entries)


def _entry(command: CommandRow) -> CompletionEntry:
    rows = [row for row in command.arguments if row.help]
    arguments = [_values(row) for row in rows if not row.names]
    files = any(isinstance(values, str) for values in arguments)
    words = dict.fromkeys(chain.from_iterable(each for each in arguments if not isinstance(each, str)))
    options = _options(_HELP, _DEBUG, *(row for row in rows if row.names))
    return CompletionEntry(command.path, {}, options, FILES if files else tuple(words))


def _options(*rows: ArgumentRow) -> tuple[CompletionOption, ...]:
    return tuple(
        CompletionOption(
            row.names, row.help, bool(row.value) and row.count != "?", _values(row) if row.count != "?" else ()
        )
        for row in rows
    )


def _values(row: ArgumentRow) -> tuple[str, ...] | str:
    if row.choices:
        return row.choices
    if row.offers is not None:
        return tuple(row.offers())
    words = row.value.split("|")
    if any(word in _FILE_WORDS for word in words):
        return FILES
    return tuple(words) if words[1:] and row.value.islower() else ()


COMMANDS = (
    CommandRow(
        "completion",
        completion,
        "",
        "Prints a script, which completes commands, options, their values and the keys of settings. It is static: "
        "print it again after an update.",
        (ArgumentRow("SHELL", "bash, zsh or fish", choices=("bash", "zsh", "fish")),),
        examples=(
            "mkdir -p ~/.local/share/bash-completion/completions",
            "callgate completion bash > ~/.local/share/bash-completion/completions/callgate",
            "mkdir -p ~/.zfunc     (and fpath+=~/.zfunc above compinit in ~/.zshrc)",
            "callgate completion zsh > ~/.zfunc/_callgate",
            "mkdir -p ~/.config/fish/completions",
            "callgate completion fish > ~/.config/fish/completions/callgate.fish",
        ),
    ),
)
