"""The outcomes of the attacks on a sandbox, and the criteria of a proof."""

from typing import Literal

from callgate.host.sandbox.sandbox import Backend
from callgate.words.noun import noun

INDISPENSABLE = (
    "write_outside",
    "create_outside",
    "write_kept",
    "create_new",
    "read_secret",
    "connect_tcp",
    "connect_unix",
)
"""Attacks that succeed on any machine without a sandbox. A proof requires that they were tried."""


@noun
class AttackOutcome:
    """The outcome of one attack: ``held`` if the sandbox stopped the attack, ``escaped`` if not, and ``untried`` if
    the attack does not succeed on this machine without a sandbox either."""

    name: str
    outcome: Literal["held", "escaped", "untried"]
    why: str = ""


@noun
class Proof:
    """The outcomes of all attacks on one backend.

    fault  the reason why the attacks could not be run; empty if they were run
    """

    backend: Backend
    outcomes: tuple[AttackOutcome, ...] = ()
    fault: str = ""

    @property
    def holds(self) -> bool:
        held = {each.name for each in self.outcomes if each.outcome == "held"}
        return not self.fault and not self.escaped and held.issuperset(INDISPENSABLE)

    @property
    def escaped(self) -> tuple[AttackOutcome, ...]:
        return tuple(each for each in self.outcomes if each.outcome == "escaped")

    @property
    def why_not(self) -> str:
        """The reason why the sandbox is not proven; empty if it is proven."""
        if self.fault or self.holds:
            return self.fault
        if self.escaped:
            return f"{len(self.escaped)} escape tests succeeded: {', '.join(each.name for each in self.escaped[:5])}"
        tried = {each.name for each in self.outcomes if each.outcome == "held"}
        return f"escape tests not run: {', '.join(name for name in INDISPENSABLE if name not in tried)}"
