"""The play: what lies in the folder, what the model says, which rules hold, how long things take."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from callgate import Allow, Ask, Check, DecisionGate
from callgate.testing import ScriptedModel, call, limit, open_call, pause, say, turn

PROMPT = "Switch the shop from dollars to euros, and see that the checks still pass."

FILES: Mapping[str, str] = {
    "prices.py": 'CURRENCY = "USD"\nPRICES = {"tea": 3, "cake": 4}\n',
    "cart.py": (
        "from prices import CURRENCY, PRICES\n\n\ndef total(items):\n    # a price in dollars\n"
        '    return f"{sum(PRICES[item] for item in items)} {CURRENCY}"\n'
    ),
    "README.md": "# Shop\n\nAll prices are in USD.\n",
    "settings.toml": '[shop]\ncurrency = "USD"\nopen = false\n',
    "checks.py": (
        "from cart import total\n\n"
        'found = total(["tea", "cake"])\n'
        'if found != "7 USD":\n    raise SystemExit(f"expected 7 USD, found {found}")\n'
    ),
    "build.py": 'import time\n\nprint("building", flush=True)\ntime.sleep(15)\nprint("built")\n',
}

READS = ("prices.py", "cart.py", "README.md")
"""The three of the first act."""
GUARDED = "settings.toml"
"""Only a person may have this one changed."""
CUT = "checks.py"
"""What the cut-off message wanted to change."""

OVERLAP, PARALLEL, BEHIND, APPROVAL, CASCADE, UNKNOWN, TRUNCATED, END, KILLED, CHANGED = range(1, 11)
TITLES: Mapping[int, str] = {
    OVERLAP: "Three reads overlap while the text still streams",
    PARALLEL: "Two edits wait for the whole message, then run side by side",
    BEHIND: "An edit waits for the read of the same file, and for nothing else",
    APPROVAL: "A person is asked, sees the change, and gets exactly that",
    CASCADE: "A failing command takes its siblings down with it",
    UNKNOWN: "A tool that does not exist holds nobody up",
    TRUNCATED: "A message that is cut off changes nothing",
    END: "The model is done",
    KILLED: "Killed in the middle of a batch, and what is known afterwards",
    CHANGED: "A rewrite is shown, refused, applied, killed half-way, finished, and taken back",
}


class Stage:
    """Durations that a person can follow, divided by ``speed``."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._reads = 0
        self._all_reading = asyncio.Event()

    async def spend(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)

    async def read(self, path: str) -> None:
        """Reading takes its time. On a busy machine the first three take longer, until each of them has begun: what
        the act shows must not depend on luck. If they cannot overlap they give up, and the act has failed."""
        self._reads += 1
        if self._reads == len(READS):
            self._all_reading.set()
        await self.spend({"prices.py": 1.0, "cart.py": 0.7, "README.md": 0.4}.get(path, 0.3))
        if path in READS:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_reading.wait(), 2)

    def model(self) -> ScriptedModel:
        """One message an act."""
        faster = self.speed

        def tell(text: str, seconds: float):  # spread over so many seconds, as a model would
            return say(text, over=seconds / faster)

        def swap(path: str, old: str, new: str):
            return call("edit", path=path, old=old, new=new)

        return ScriptedModel(
            turn(
                tell("I start with the prices,", 0.25),
                call("read", path="prices.py"),
                tell("then how a total is made,", 0.25),
                call("read", path="cart.py"),
                tell("and what the README promises.", 0.25),
                call("read", path="README.md"),
                tell("All three are being read while I am still writing this sentence.", 0.9),
            ),
            turn(
                tell("Two files name the currency.", 0.15),
                swap("prices.py", "USD", "EUR"),
                swap("README.md", "USD", "EUR"),
                tell("An edit has effects, so it starts once I have finished.", 0.5),
            ),
            turn(
                tell("A comment in cart.py is wrong too.", 0.15),
                call("read", path="cart.py"),
                swap("cart.py", "dollars", "euros"),
                call("read", path="checks.py"),
            ),
            turn(
                tell("The settings are guarded, so this one needs you.", 0.2),
                swap("settings.toml", "USD", "EUR"),
                call("read", path="build.py"),
            ),
            turn(
                tell("Now the build and the checks.", 0.15),
                call("run", command="python build.py"),
                call("run", command="python checks.py"),
                swap("README.md", "EUR", "euros"),
            ),
            turn(
                tell("The checks expect dollars. Let me see them.", 0.15),
                call("raed", path="checks.py"),
                call("read", path="checks.py"),
            ),
            turn(
                tell("I mend the checks and the README", 0.25),
                swap(CUT, "USD", "EUR"),
                pause(0.3 / faster),
                open_call("edit", '{"path": "README.md", "old": "All pri'),
                limit(),
            ),
            turn(tell("My last message was cut off, so nothing of it was done. I would send it again now.", 0.3)),
        )


def rules() -> DecisionGate:
    """Reads, commands and edits are allowed here, one file excepted; a real session asks about far more."""
    return DecisionGate(
        (
            Check("rule: guarded", lambda case: _guarded(case.arguments.get("path"), case.traits.effects)),
            Check("rule: demo", lambda case: Allow("rule: demo")),
        )
    )


def _guarded(path: object, effects: str) -> Ask | None:
    if path == GUARDED and effects != "none":
        return Ask("rule: guarded", f"only a person may have {GUARDED} changed")
    return None
