"""The words that can follow each command, read from the parsers of the command line."""

from argparse import SUPPRESS, Action
from collections.abc import Iterator, Mapping, Sequence

from callgate.cli.agent.headless_arguments import headless_parser
from callgate.cli.arguments import grammar
from callgate.cli.interactive.arguments import interactive_parser
from callgate.cli.parsing import CommandParser, Group
from callgate.words.noun import noun

FILES = "files"
"""The value of a word that names a file or a folder."""
_FILE_WORDS = ("FILE", "DIR", "FOLDER", "PATH")


@noun
class CompletionOption:
    """``names`` are its spellings. ``takes``: a value follows; ``values`` are those that are known, or FILES."""

    names: tuple[str, ...]
    help: str
    takes: bool
    values: tuple[str, ...] | str = ()


@noun
class CompletionEntry:
    """The words after a command: ``commands`` below it with their help, its options, the values of its arguments."""

    path: str
    commands: Mapping[str, str]
    options: tuple[CompletionOption, ...]
    arguments: tuple[str, ...] | str = ()


def completion_table() -> tuple[CompletionEntry, ...]:
    """An entry for every command, the program itself first."""
    top = grammar()
    own = [_option(action) for action in top.parser._actions if action.option_strings]  # pyright: ignore[reportPrivateUsage]
    agent = (*_options(interactive_parser()), *_options(headless_parser()))
    print_ = CompletionOption(("-p", "--print"), "run the agent without a terminal", takes=False)
    options = {each.names: each for each in (print_, *own, *agent)}
    return (CompletionEntry("", dict(top.summaries), tuple(options.values())), *_below(top, ""))


def _below(group: Group, path: str) -> Iterator[CompletionEntry]:
    for name, each in group.commands.items():
        whole = f"{path} {name}".strip()
        if isinstance(each, Group):
            yield CompletionEntry(whole, dict(each.summaries), tuple(_options(each.parser)))
            yield from _below(each, whole)
        else:
            yield CompletionEntry(whole, {}, tuple(_options(each)), _arguments(each))


def _options(parser: CommandParser) -> Iterator[CompletionOption]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if action.option_strings and action.help is not SUPPRESS:
            yield _option(action)


def _option(action: Action) -> CompletionOption:
    takes = action.nargs is None or action.nargs not in (0, "?")
    text = " ".join((action.help or "").split())
    return CompletionOption(tuple(action.option_strings), text, takes, _values(action) if takes else ())


def _arguments(parser: CommandParser) -> tuple[str, ...] | str:
    """The values of all arguments that have some: the order is left to the person."""
    found: list[str] = []
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if action.option_strings:
            continue
        values = _values(action)
        if isinstance(values, str):
            return values
        found += values
    return tuple(dict.fromkeys(found))


def _values(action: Action) -> tuple[str, ...] | str:
    names: Sequence[str] | None = getattr(action.type, "names", None)
    if names is not None:
        return tuple(names)
    if action.choices is not None:
        return tuple(map(str, action.choices))
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if any(word in _FILE_WORDS for word in metavar.split("|")):
        return FILES
    return tuple(metavar.split("|")) if "|" in metavar and metavar.islower() else ()
