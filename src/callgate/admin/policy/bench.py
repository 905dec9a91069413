"""Calls judged one after the other, each under rules of its own: for tests and for other programs."""

import os
from collections.abc import Mapping
from functools import lru_cache
from os.path import expanduser
from pathlib import Path
from time import time
from typing import Any, cast

from callgate.admin.policy.calls import Ruling, case_of, ruling
from callgate.core.gate import CheckGate
from callgate.host.paths import Resolver
from callgate.policy.checks import standard_checks
from callgate.policy.layers import spoken
from callgate.policy.rules import Rulebook
from callgate.policy.settings import Settings, read_settings
from callgate.words.decisions import Decision
from callgate.words.errors import UsageError
from callgate.words.modes import Mode, check_mode
from callgate.words.noun import noun

_SETS_OF_RULES = 1_000


@noun
class Asked:
    """A call and the rules to judge it by. Without a ``mode`` it is that of the settings file, or ``default``; without
    a ``root`` the current folder. The root need not be there."""

    tool: str
    arguments: Mapping[str, Any]
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    mode: Mode | None = None
    root: str = ""


class Bench:
    """Judges calls by the settings of the named file alone. Each set of rules is compiled once; links are read anew for
    every call, since the files may change in between."""

    def __init__(self, settings: str | None = None, *, home: str | None = None) -> None:
        self._home = home or expanduser("~")
        self._settings = Settings("command line") if settings is None else _named(settings)
        said = [each.value for each in self._settings.plain if each.name == "mode"]
        self._mode: Mode = cast(Mode, said[-1]) if said else "default"
        self._compiled = lru_cache(maxsize=_SETS_OF_RULES)(self._compile)

    def judge(self, asked: Asked) -> Ruling:
        """UsageError for a rule that cannot be read, a mode that there is not, a root that is none."""
        mode = self._mode if asked.mode is None else check_mode(asked.mode)
        resolver = _resolver(asked.root)
        found = self._compiled(asked.allow, asked.ask, asked.deny, resolver.root)
        if isinstance(found, str):
            raise UsageError(found)
        gate, rulebook = found
        # Nothing in this gate waits: it has no hooks.
        decision = cast(Decision, gate.judge(case_of(asked.tool, asked.arguments, resolver, mode=mode)))
        return ruling(decision, rulebook)

    def _compile(
        self, allow: tuple[str, ...], ask: tuple[str, ...], deny: tuple[str, ...], root: str
    ) -> tuple[CheckGate, Rulebook] | str:
        """A fault of a given rule is an error for the caller; a fault of the settings file closes the
        gate."""
        given = spoken("command line", allow=allow, ask=ask, deny=deny).rules
        faults = Rulebook.of(given, root=root, home=self._home).faults
        if faults:
            return "; ".join(fault.text for fault in faults)
        settings = self._settings
        rulebook = Rulebook.of(
            (*settings.rules, *given), root=root, home=self._home, now=time(), faults=settings.faults
        )
        return CheckGate(standard_checks(rulebook)), rulebook


def _resolver(root: str) -> Resolver:
    if root and not os.path.isabs(root):
        raise UsageError(f"the root must be a whole path, not {root!r}")
    try:
        return Resolver(root or os.getcwd())
    except ValueError as error:
        raise UsageError(f"the root {root!r} is no path: {error}") from None


def _named(file: str) -> Settings:
    found = read_settings(Path(file), "command line")
    if not found.sha256 and not found.faults:
        raise UsageError(f"there is no settings file {file!r}")
    return found
