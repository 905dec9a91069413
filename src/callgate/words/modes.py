"""The modes of a session: one table that says what each allows, forbids and asks.

A mode decides where no rule was written. Deny rules, ask rules and hard safety hold in every one of them.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from callgate.words.errors import UsageError
from callgate.words.noun import noun

Mode = Literal["default", "accept_edits", "plan", "bypass", "dont_ask"]


@noun
class ModeRules:
    """``strictness`` orders modes: a repository or a variable can only make it higher. ``forbids_changes`` denies all
    effects but those on the session's own state, ``allows_edits`` allows changes to files of the workspace,
    ``allows_all`` every call, ``never_asks`` turns each question into a denial."""

    meaning: str
    strictness: int
    forbids_changes: bool = False
    allows_edits: bool = False
    allows_all: bool = False
    never_asks: bool = False


MODES: Mapping[Mode, ModeRules] = {
    "default": ModeRules("asks about what no rule covers", 2),
    "accept_edits": ModeRules("edits files of the workspace without asking", 1, allows_edits=True),
    "plan": ModeRules("looks around and changes nothing", 3, forbids_changes=True),
    "bypass": ModeRules("asks only where a rule or hard safety does", 0, allows_all=True),
    "dont_ask": ModeRules("denies what it would have to ask about", 3, never_asks=True),
}
"""Plan changes nothing where dont_ask does what rules allow, and dont_ask never asks where plan does: they are equally
strict, so neither stands in for the other."""

PLANNING: Mode = next(mode for mode, rules in MODES.items() if rules.forbids_changes)


def check_mode(mode: Mode) -> Mode:
    """UsageError for an unknown mode: a typo must not make a session less safe than it seems."""
    if mode not in get_args(Mode):
        raise UsageError(f"there is no mode {mode!r}; there are {', '.join(get_args(Mode))}")
    return mode


def is_stricter(mode: Mode, than: Mode) -> bool:
    return MODES[mode].strictness > MODES[than].strictness
