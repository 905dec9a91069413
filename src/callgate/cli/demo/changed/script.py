"""Shared by the two processes of the tenth act: the folder, the model's lines in each process, and their signals."""

import re
from collections.abc import Mapping
from pathlib import Path

from callgate import Store
from callgate.testing import ScriptedModel, call, say, turn

PROMPT = "Give the functions and tables of the shop better names."
TOUCHED = ("cart.py", "checks.py", "prices.py")
"""The files that the rewrite changes."""
BEHIND = "cart.py"
"""Somebody else edits this one between the preview and the apply."""
FOREIGN = b"# a colleague was here\n"

STAGED, GO = "staged", "go"
"""The first process says that its change is shown, and goes on when it is told to."""

_OPS = [{"pattern": "total", "rewrite": "total_of"}, {"pattern": "PRICES", "rewrite": "PRICE_LIST"}]


def kept() -> Store:
    """The sessions of the current folder, kept inside it, apart from those of the other acts."""
    return Store(Path.cwd(), "data-of-changes")


def seen() -> Mapping[str, bytes]:
    """The files as they are now."""
    return {name: Path(name).read_bytes() for name in TOUCHED}


def renamed(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The files as the rewrite must leave them. Every such word in them is code, so replacing plain text is enough."""
    return {
        name: re.sub(rb"\bPRICES\b", b"PRICE_LIST", re.sub(rb"\btotal\b", b"total_of", data))
        for name, data in files.items()
    }


def first_model(speed: float) -> ScriptedModel:
    def tell(text: str):
        return say(text, over=0.3 / speed)

    preview = call("AstEdit", ops=_OPS, paths=list(TOUCHED))
    return ScriptedModel(
        turn(tell("A rewrite by syntax, not by text. First I look at what it would change."), preview),
        turn(tell("That is right."), call("resolve", action="apply", reason="the names are right")),
        turn(
            tell("A file has changed meanwhile: I drop this one and look again."),
            call("resolve", action="discard", reason=f"{BEHIND} has changed"),
            preview,
        ),
        turn(tell("Now it fits."), call("resolve", action="apply", reason="the names are right, the comment stays")),
    )


def second_model(speed: float) -> ScriptedModel:
    return ScriptedModel(turn(say("The rewrite is applied, all of it.", over=0.3 / speed)))
