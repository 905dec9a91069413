"""The types of the rows that define the command line, and the table of its groups."""

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from inspect import cleandoc
from typing import Any

from callgate.words.noun import noun

SESSION_HELP = "id or its beginning, a title, words of its prompts, or a log file (default: the newest of this folder)"


class CommandMisuse(Exception):
    """Raised by the function of a command for a combination of arguments that the command does not accept.

    The message is shown like an error of the parser, and the exit code is 2.
    """


@noun
class ArgumentRow:
    """One argument or option of a command.

    form     the form on the command line: "--json", "-o --output FILE", "ID", "ID?", "ID+", "ID*", "COMMAND..." (all
             words that follow)
    help     the line in the help; empty to hide the argument
    to       the parameter of the function; by default the name of the option, or the name of the value in lower case
    read     converts the text; raises ArgumentTypeError for an invalid text
    offers   returns the values for shell completion
    many     True if the option may be given several times
    apart    the name of a group of options that exclude each other
    """

    form: str
    help: str = ""
    to: str = ""
    read: Callable[[str], Any] | None = None
    offers: Callable[[], Iterable[str]] | None = None
    default: Any = None
    const: Any = None
    many: bool = False
    required: bool = False
    apart: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The spellings of an option; empty for an argument."""
        return tuple(word for word in self.form.split() if word.startswith("-") and word != "--")

    @property
    def value(self) -> str:
        """The name of the value in the help; empty for an option without a value."""
        return " ".join(word for word in self.form.split() if word not in self.names).rstrip("?+*.")

    @property
    def count(self) -> str:
        """The end of the form, which gives the number of values: "?", "+", "*", "...", or an empty string for one
        value."""
        return self.form[len(self.form.rstrip("?+*.")) :]

    @property
    def choices(self) -> tuple[str, ...]:
        """The only allowed values: the words of a value in lower case, such as "yes|no"; empty if any value is
        allowed."""
        return tuple(self.value.split("|")) if self.value.islower() else ()

    @property
    def parameter(self) -> str:
        return self.to or (self.names[-1].lstrip("-") if self.names else self.value.lower()).replace("-", "_")


JSON = ArgumentRow("--json", "print JSON", "as_json")
JSON_LINES = ArgumentRow("--json", "print one line of JSON for each", "as_json")


@noun
class CommandRow:
    """One command of the command line. The docstring of its function is the help: a description, then examples and exit
    codes.

    path     the words that call the command, such as "auth set"
    run      the function, or "module:function" in this package; takes the arguments by name and returns the exit code
    help     the line in the help of the group; for a command without a group, the line is in ``GROUPS``
    usage    the usage lines, if the generated lines are not suitable
    unknown  a text that is added to the error for an unknown option
    """

    path: str
    run: Callable[..., int] | str
    help: str
    arguments: Sequence[ArgumentRow] = ()
    usage: str = ""
    unknown: str = ""

    @property
    def function(self) -> Callable[..., int]:
        if not isinstance(self.run, str):
            return self.run
        module, _, name = self.run.partition(":")
        return getattr(import_module(f"callgate.cli.{module}"), name)

    @property
    def about(self) -> str:
        """The description: the first paragraph of the docstring, on one line."""
        return _paragraphs(self.function)[0]

    @property
    def notes(self) -> str:
        """The other paragraphs of the docstring, and the third paragraph of the docstring of the group's module."""
        module = import_module(f"callgate.cli.{GROUPS[self.path.split()[0]].module}")
        return "\n".join((*_paragraphs(self.function)[1:], *_paragraphs(module)[2:]))


@noun
class CommandGroup:
    """The first word of a command line: a group of commands, or a command without subcommands."""

    topic: str
    name: str
    help: str
    module: str

    @property
    def commands(self) -> dict[str, CommandRow]:
        """The commands of the group by their last word; for a command without subcommands, the command by its name.
        Imports the module of the group."""
        rows: Sequence[CommandRow] = import_module(f"callgate.cli.{self.module}").COMMANDS
        return {row.path.rpartition(" ")[2]: row for row in rows if row.path.split()[0] == self.name}

    @property
    def about(self) -> str:
        """The description of a group: the second paragraph of the docstring of its module."""
        return _paragraphs(import_module(f"callgate.cli.{self.module}"))[1]


def _paragraphs(documented: object) -> list[str]:
    """Return the paragraphs of a docstring, each on one line; examples keep their lines."""
    found = cleandoc(documented.__doc__ or "").split("\n\n")
    return [each if each.startswith("examples:") else " ".join(each.split()) for each in found]


_BEGIN, _SESSIONS, _RULES, _OWN = "begin", "what a session did", "what may run", "make it yours"
_MCP = "servers of the Model Context Protocol: add, list, test, login, serve ..."
_CHANGES = "list the changes of files in a session, or show a diff"
GROUPS = {
    group.name: group
    for group in (
        CommandGroup(_BEGIN, "demo", "watch a scripted session, without a key or network", "begin_commands"),
        CommandGroup(_BEGIN, "auth", "keys of providers: set, list, remove, test", "auth_commands"),
        CommandGroup(_BEGIN, "doctor", "find problems and the commands that repair them", "begin_commands"),
        CommandGroup(_BEGIN, "config", "settings: get, set, unset, list, edit, path", "config_commands"),
        CommandGroup(_BEGIN, "completion", "print the completion script for bash, zsh or fish", "completion"),
        CommandGroup(_BEGIN, "update", "show the command that installs the newest version", "begin_commands"),
        CommandGroup(_SESSIONS, "session", "sessions: list, show, export, import, rename, gc ...", "session_commands"),
        CommandGroup(_SESSIONS, "log", "print the events of a session as text", "session_commands"),
        CommandGroup(_SESSIONS, "audit", "list decisions: by whom, about what, with what outcome", "session_commands"),
        CommandGroup(_SESSIONS, "answer", "show the open questions of a session, or answer one", "answer_command"),
        CommandGroup(_SESSIONS, "changes", _CHANGES, "changes_commands"),
        CommandGroup(_SESSIONS, "undo", "undo changes of files", "changes_commands"),
        CommandGroup(_RULES, "policy", "rules and answers: list, explain, check, add ...", "policy_commands"),
        CommandGroup(_RULES, "trust", "trusted folders: list, show, add, revoke", "trust_commands"),
        CommandGroup(_RULES, "sandbox", "the sandbox for commands: prove, run", "sandbox_commands"),
        CommandGroup(_OWN, "tools", "tools: list, new, rank, validate", "tools_commands"),
        CommandGroup(_OWN, "mcp", _MCP, "mcp_commands"),
        CommandGroup(_OWN, "prompt", "the system prompt: show", "prompt_commands"),
        CommandGroup(_OWN, "statusline", "the status line of the terminal: test", "prompt_commands"),
        CommandGroup(_OWN, "record", "run a command and record its exchanges with models", "begin_commands"),
    )
}
"""The first words of the command line, in the order of the help."""


def all_commands() -> dict[str, CommandRow]:
    """Return every command by its path, in the order of the help. Imports the modules of all groups."""
    return {row.path: row for group in GROUPS.values() for row in group.commands.values()}
