"""The permission modes of a session.

A mode decides about calls that match no rule. Deny rules, ask rules and hard safety checks apply in every mode.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from callgate.words.errors import UsageError
from callgate.words.noun import noun

Mode = Literal["default", "accept_edits", "plan", "bypass", "dont_ask"]


@noun
class ModeRules:
    """The properties of a mode.

    strictness       a repository or an environment variable can only choose a mode of higher strictness
    forbids_changes  denies all effects except changes of the state of the session
    allows_edits     allows changes of files in the workspace
    allows_all       allows every call
    never_asks       replaces each question by a denial
    in_cycle         True if the key for the next mode can select the mode
    """

    meaning: str
    strictness: int
    forbids_changes: bool = False
    allows_edits: bool = False
    allows_all: bool = False
    never_asks: bool = False
    in_cycle: bool = False


MODES: Mapping[Mode, ModeRules] = {
    "default": ModeRules("asks about every call that no rule covers", 2, in_cycle=True),
    "accept_edits": ModeRules("edits files of the workspace without a question", 1, allows_edits=True, in_cycle=True),
    "plan": ModeRules("reads, but changes nothing", 3, forbids_changes=True, in_cycle=True),
    "bypass": ModeRules("asks only if a rule or hard safety requires a question", 0, allows_all=True),
    "dont_ask": ModeRules("denies every call that would need a question", 3, never_asks=True),
}
"""``plan`` and ``dont_ask`` are equally strict: one forbids changes that rules allow, the other never asks."""

PLANNING: Mode = next(mode for mode, rules in MODES.items() if rules.forbids_changes)


def check_mode(mode: Mode) -> Mode:
    """Return the mode. Raise UsageError for an unknown mode, so that a typing error does not make a session less
    safe."""
    if mode not in get_args(Mode):
        raise UsageError(f"unknown mode {mode!r}; the modes are {', '.join(get_args(Mode))}")
    return mode


def strictest(mode: Mode, outer: Mode) -> Mode:
    """Return the stricter of the modes of a nested session and its parent session."""
    if MODES[mode].strictness == MODES[outer].strictness:
        return outer if MODES[outer].forbids_changes else mode
    return outer if is_stricter(outer, mode) else mode


def is_stricter(mode: Mode, than: Mode) -> bool:
    return MODES[mode].strictness > MODES[than].strictness
