"""Parses shell commands and determines their effects.

This module is the whole interface of the package: ``from callgate import shell``.

analyse              parses a command with two parsers and compares the results
grant                decides whether allow patterns cover the command
reaches              returns why a deny or ask pattern applies to the command
effects_of           returns whether the command only reads
named_paths          returns the paths that the command names
find_inner_commands  returns the commands that the command would start
doubt                returns why the effect of the command is unknown

The parsers and the table of programs are slow to import, and most sessions need neither. Therefore each name is
imported from its module at its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.shell.analysis import analyse as analyse
    from callgate.shell.command import Analysis as Analysis
    from callgate.shell.command import Script as Script
    from callgate.shell.command import Simple as Simple
    from callgate.shell.command import Word as Word
    from callgate.shell.command_grants import FileTests as FileTests
    from callgate.shell.command_grants import Granted as Granted
    from callgate.shell.command_grants import NotGranted as NotGranted
    from callgate.shell.command_grants import grant as grant
    from callgate.shell.command_patterns import ShellPattern as ShellPattern
    from callgate.shell.command_patterns import matches as matches
    from callgate.shell.command_patterns import parse_pattern as parse_pattern
    from callgate.shell.effects import NamedPaths as NamedPaths
    from callgate.shell.effects import effects_of as effects_of
    from callgate.shell.effects import folder_readers as folder_readers
    from callgate.shell.effects import named_paths as named_paths
    from callgate.shell.effects import prints_addresses as prints_addresses
    from callgate.shell.effects import program_names as program_names
    from callgate.shell.effects import repository_readers as repository_readers
    from callgate.shell.effects import runs_project_files as runs_project_files
    from callgate.shell.effects import runs_settings as runs_settings
    from callgate.shell.effects import settings_folders as settings_folders
    from callgate.shell.expansions import known_expansions as known_expansions
    from callgate.shell.prefixes import prefix_of as prefix_of
    from callgate.shell.prefixes import quoted_command as quoted_command
    from callgate.shell.programs.inner_commands import CommandRun as CommandRun
    from callgate.shell.programs.inner_commands import find_inner_commands as find_inner_commands
    from callgate.shell.programs.program_table import runs_project as runs_project
    from callgate.shell.reach import Doubt as Doubt
    from callgate.shell.reach import doubt as doubt
    from callgate.shell.reach import reaches as reaches

# In the order of their cost: a rule of the settings needs only its pattern.
_MODULES = (
    *("command_patterns", "command", "analysis", "programs.program_table", "programs.inner_commands", "command_grants"),
    *("effects", "expansions", "reach", "prefixes"),
)


def __getattr__(name: str) -> object:
    for module in _MODULES:
        if not name.startswith("_") and hasattr(found := import_module(f"{__name__}.{module}"), name):
            return globals().setdefault(name, getattr(found, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
