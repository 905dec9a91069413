"""Parses shell commands and knows programs. This module is the whole interface: ``from callgate import shell``.

``analyse`` parses a command with two parsers and keeps what both agree on. ``grant`` returns whether allow patterns
cover it, ``reaches`` whether a deny or ask pattern applies, ``effects_of`` whether it only reads, ``touched`` which
paths it names, ``inside`` which commands it starts, ``doubt`` why its effect is unknown.

The parsers and the table of programs are costly to load and most sessions never judge a command, so each name is
imported from its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.shell.analysis import analyse as analyse
    from callgate.shell.command import Analysis as Analysis
    from callgate.shell.command_grants import FileTests as FileTests
    from callgate.shell.command_grants import Granted as Granted
    from callgate.shell.command_grants import NotGranted as NotGranted
    from callgate.shell.command_grants import grant as grant
    from callgate.shell.command_patterns import ShellPattern as ShellPattern
    from callgate.shell.command_patterns import matches as matches
    from callgate.shell.command_patterns import parse_pattern as parse_pattern
    from callgate.shell.effects import Touched as Touched
    from callgate.shell.effects import effects_of as effects_of
    from callgate.shell.effects import folder_readers as folder_readers
    from callgate.shell.effects import runs_settings as runs_settings
    from callgate.shell.effects import settings_folders as settings_folders
    from callgate.shell.effects import touched as touched
    from callgate.shell.expansions import filled as filled
    from callgate.shell.prefixes import alone as alone
    from callgate.shell.prefixes import prefix_of as prefix_of
    from callgate.shell.programs.inner_commands import CommandRun as CommandRun
    from callgate.shell.programs.inner_commands import inside as inside
    from callgate.shell.reach import Doubt as Doubt
    from callgate.shell.reach import doubt as doubt
    from callgate.shell.reach import reaches as reaches

_MODULES = {
    "analysis": ("analyse",),
    "command": ("Analysis",),
    "effects": ("Touched", "effects_of", "runs_settings", "settings_folders", "folder_readers", "touched"),
    "expansions": ("filled",),
    "command_grants": ("FileTests", "Granted", "NotGranted", "grant"),
    "command_patterns": ("ShellPattern", "matches", "parse_pattern"),
    "prefixes": ("alone", "prefix_of"),
    "programs.inner_commands": ("CommandRun", "inside"),
    "reach": ("Doubt", "doubt", "reaches"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
