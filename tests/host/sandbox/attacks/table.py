"""The table of all attacks: those of the product, and those that only tests run."""

import os

from callgate.host.sandbox.attacks import ATTACKS, Attack

X86 = os.uname().machine == "x86_64"

ALL_ATTACKS: dict[str, Attack] = {**ATTACKS}
"""Complete when ``program`` is imported."""


class NothingToAttack(Exception):
    """Raised if this machine lacks the target of an attack."""


def attack(function: Attack) -> Attack:
    ALL_ATTACKS[function.__name__] = function
    return function
