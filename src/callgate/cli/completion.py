"""The command ``callgate completion``: fills the tables of ``completion.bash``, ``.zsh`` and ``.fish`` from the rows.

Names in the tables are plain words, so that no shell expands them.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from callgate.cli.command_rows import GROUPS, ArgumentRow, CommandRow
from callgate.cli.start_options import FLAGS, FORMATS

SHELLS = ("bash", "zsh", "fish")
FILES = "@files"
"""Stands for the names of files in the values of an option or argument."""
_FILE_WORDS = {"FILE", "DIR", "FOLDER", "PATH"}
_HELP = ArgumentRow("-h --help", "show this help message and exit")
_DEBUG = ArgumentRow("--debug", "show tracebacks")


@dataclass(frozen=True, slots=True)
class CompletionEntry:
    """A command with its subcommands, their help, and its own arguments. ``path`` is empty for the program itself."""

    path: str
    commands: Mapping[str, str]
    rows: Sequence[ArgumentRow]

    @property
    def options(self) -> list[ArgumentRow]:
        return [row for row in self.rows if row.names]

    @property
    def arguments(self) -> str:
        """The completion values of all arguments, or FILES if an argument is a file."""
        found = [values_of(row) for row in self.rows if not row.names]
        return FILES if FILES in found else " ".join(filter(None, found))


def completion(shell: str) -> int:
    """Print a script that completes commands, options, values and setting names. The script starts no program; print
    it again after an update.

    examples:
      mkdir -p ~/.local/share/bash-completion/completions
      callgate completion bash > ~/.local/share/bash-completion/completions/callgate
      mkdir -p ~/.zfunc     (and fpath+=~/.zfunc above compinit in ~/.zshrc)
      callgate completion zsh > ~/.zfunc/_callgate
      mkdir -p ~/.config/fish/completions
      callgate completion fish > ~/.config/fish/completions/callgate.fish
    """
    sys.stdout.write(completion_script(shell))
    return 0


def completion_table() -> list[CompletionEntry]:
    """Return an entry for every command, the program itself first."""
    top = (ArgumentRow("-p --print", "run the agent without a terminal"), ArgumentRow("--version", "show the version"))
    flags = chain.from_iterable((*FLAGS.values(), *FORMATS.values()))
    commands = {each.name: each.help for each in GROUPS.values()}
    entries = [CompletionEntry("", commands, (*top, _HELP, _DEBUG, *flags))]
    for group in GROUPS.values():
        if group.name not in group.commands:
            below = {name: row.help for name, row in group.commands.items()}
            entries.append(CompletionEntry(group.name, below, (_HELP, _DEBUG)))
        for command in group.commands.values():
            shown = (row for row in command.arguments if row.help)
            entries.append(CompletionEntry(command.path, {}, (_HELP, _DEBUG, *shown)))
    return entries


def completion_script(shell: str) -> str:
    table = completion_table()
    takes = [f"{entry.path} {name}" for entry in table for row in entry.options if _takes(row) for name in row.names]
    if shell == "fish":
        parts = {
            "takes": " ".join(map(_quoted, takes)),
            "paths": " ".join(_quoted(entry.path) for entry in table if entry.path),
            "lines": "\n".join(_fish_lines(table)),
        }
    else:
        parts = {
            "takes": "|".join(map(_quoted, takes)),
            "entries": "\n".join(map(_entry_case, table)),
            "values": "\n".join(_value_cases(table)),
        }
    text = Path(__file__).with_name(f"completion.{shell}").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def values_of(row: ArgumentRow) -> str:
    """Return the known values of an argument or option, FILES, or an empty text."""
    if row.offers is not None:
        return " ".join(row.offers())
    return FILES if _FILE_WORDS & {*row.value.split("|")} else " ".join(row.choices)


def _takes(row: ArgumentRow) -> bool:
    """Return True if the next word is the value of the option."""
    return bool(row.value) and row.count != "?"


def _entry_case(entry: CompletionEntry) -> str:
    options = " ".join(name for row in entry.options for name in row.names)
    commands = " ".join(entry.commands)
    return f"        '{entry.path}') commands='{commands}' options='{options}' arguments='{entry.arguments}' ;;"


def _value_cases(table: Sequence[CompletionEntry]) -> Iterator[str]:
    for entry in table:
        for row in entry.options:
            if _takes(row) and values_of(row):
                cases = "|".join(f"'{entry.path} {name}'" for name in row.names)
                yield f"        {cases}) values='{values_of(row)}' ;;"


def _fish_lines(table: Sequence[CompletionEntry]) -> Iterator[str]:
    for entry in table:
        here = f"complete -c callgate -n {_quoted(f'__callgate_at {_quoted(entry.path)}')}"
        for name, help in entry.commands.items():
            yield f"{here} -a {_quoted(name)} -d {_quoted(help)}"
        if entry.arguments:
            yield f"{here} {_fish_values(entry.arguments)}"
        for row in entry.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in row.names)
            values = _fish_values(values_of(row))
            after = f"{'-r' if values == '-F' else '-x'} {values} " if _takes(row) else ""
            yield f"{here} {names} {after}-d {_quoted(row.help)}"


def _fish_values(values: str) -> str:
    return "-F" if values == FILES else f"-a {_quoted(values)}" if values else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


COMMANDS = (CommandRow("completion", completion, "", (ArgumentRow("bash|zsh|fish", "the shell", "shell"),)),)
