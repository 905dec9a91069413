"""Determines the prefix rule that the answer "always" offers. The rule never allows the program to run other
programs."""

import re
import shlex
from collections.abc import Sequence

from callgate.shell.command import Analysis, Script, Simple, Word
from callgate.shell.command_grants import Granted, grant
from callgate.shell.command_patterns import parse_pattern
from callgate.shell.programs.inner_commands import CommandRun, known_as
from callgate.shell.programs.program_table import PROGRAMS, read, step_of
from callgate.shell.programs.uses import text_of
from callgate.shell.reach import doubt

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.:+-]*")
_DEEPEST = 4


def quoted_command(run: CommandRun) -> Analysis | None:
    """Return the analysis of the single command with every word quoted; None if a word is unknown."""
    values = [word.value for word in run.words if word.value is not None]
    if not values or len(values) < len(run.words):
        return None
    return Analysis(shlex.join(values), Script((Simple(tuple(map(Word, values))),)))


def prefix_of(analysis: Analysis) -> str | None:
    """Return the prefix to offer for a single simple command; None if a rule with the prefix would not allow the
    command."""
    commands = analysis.script.commands
    if analysis.fault is not None or len(commands) != 1 or commands[0].assignments or commands[0].redirects:
        return None
    words = _prefix(commands[0].words, 0)
    if words is None or doubt(analysis) is not None:
        return None
    prefix = " ".join(words)
    return prefix if isinstance(grant(analysis, (parse_pattern(f"{prefix}:*"),)), Granted) else None


def _prefix(words: Sequence[Word], depth: int) -> list[str] | None:
    """Return the words of the prefix: the program, its subcommand, and as many operands as its row requires; for a
    wrapper, followed by the prefix of the inner command. Return None if the program has no prefix rule."""
    if not words or depth > _DEEPEST or words[0].value is None:
        return None
    step, start = step_of(known_as(text_of(words[0])), words)
    entry = PROGRAMS.get(step)
    if entry is None or entry.no_prefix or entry.subcommands:
        return None
    inner = next((use.on for use in read(step, tuple(words), start) if use.role == "argv" and not use.granted), None)
    if inner is not None:
        rest = _prefix(words[inner:], depth + 1) if inner == start else None
        return None if rest is None else _plain([*words[:start]], rest)
    module = 2 if entry.prefix_operands and text_of(words[min(start, len(words) - 1)]) == "-m" else 0
    count = start + max(entry.prefix_operands, module)
    return None if count > len(words) else _plain(words[:count], [], module=bool(module))


def _plain(words: Sequence[Word], rest: list[str], *, module: bool = False) -> list[str] | None:
    texts = [text_of(word) for word in words]
    plain = all(_WORD.fullmatch(text) for text in texts if not (module and text == "-m"))
    return [*texts, *rest] if plain else None
