"""Every combination of two hooks' outcomes, in both finishing orders: with real programs, and with functions."""

import asyncio
import itertools
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from callgate.policy.entries import HookLine
from callgate.testing import ManualClock, settle
from callgate.words.decisions import Allow, Ask, Deny
from tests.policy.hooks.kit import Bench, as_json, command, hook, permission

ALLOW, ASK, DENY = (as_json(permission(word, f"says {word}")) for word in ("allow", "ask", "deny"))
SCRIPTS = {
    "allow": f"echo '{ALLOW}'",
    "ask": f"echo '{ASK}'",
    "deny": f"echo '{DENY}'",
    "exit 2 with JSON": f"echo '{ALLOW}'; echo blocked >&2; exit 2",
    "exit 2": "echo blocked >&2; exit 2",
    "crash": "echo oops >&2; exit 1",
    "bad output": "echo '{\"decision\": 1}'",
    "timeout": "read _ < never",
    "no opinion": "true",
}
FAILS = ("crash", "bad output", "timeout")
OUTCOMES = (*SCRIPTS, *(f"{name}, closed" for name in FAILS))
MEANS = {
    "allow": "allow",
    "ask": "ask",
    "deny": "deny",
    "exit 2 with JSON": "deny",
    "exit 2": "deny",
    **{f"{name}, closed": "deny" for name in FAILS},
}
"""What an outcome counts for; nothing, if it is not here."""

PAIRS = [pytest.param(pair, id=" + ".join(pair)) for pair in itertools.product(OUTCOMES, repeat=2)]
# How two outcomes are merged is the same for programs and functions: of programs, each outcome meets an allow.
PROGRAMS = [pytest.param((outcome, "allow"), id=outcome) for outcome in OUTCOMES]


def strictest(pair: tuple[str, str]) -> str | None:
    counted = {MEANS.get(outcome) for outcome in pair}
    return next((effect for effect in ("deny", "ask", "allow") if effect in counted), None)


def check(pair: tuple[str, str], hooked: Any, bench: Bench, names: tuple[str, str]) -> None:
    wanted = strictest(pair)
    kinds = {"deny": Deny, "ask": Ask, "allow": Allow, None: type(None)}
    assert type(hooked.decision) is kinds[wanted]
    if wanted == "deny":
        assert hooked.decision.code == "blocked_by_hook"
    if wanted is not None:
        deciding = [n for n, outcome in enumerate(pair) if MEANS.get(outcome) == wanted]
        assert hooked.decision.by == ", ".join(f"hook PreToolUse {names[n]}" for n in deciding)
        assert hooked.decision.origin.line == deciding[0] + 1
    failed = [n for n, outcome in enumerate(pair) if outcome.removesuffix(", closed") in FAILS]
    where = [f"hook PreToolUse {names[n]} (user, settings.toml:{n + 1})" for n in failed]
    assert [text[: len(place)] for text, place in zip(bench.warnings, where, strict=True)] == where


class Stage:
    """Two programs: each says that it is there, and does what it shall when it is let go. Its end is seen."""

    def __init__(self, folder: Path, pair: tuple[str, str], earlier: int) -> None:
        self.folder = folder
        self.pair = pair
        self.clock = ManualClock()
        os.mkfifo(folder / "never")
        for n, outcome in enumerate(pair):
            for name in (f"life{n}", f"go{n}"):
                os.mkfifo(folder / name)
            script = SCRIPTS[outcome.removesuffix(", closed")]
            (folder / f"{n}.sh").write_text(f"exec 9>life{n}\nread _ < go{n}\n{script}\n")
        self.limits = [5.0 if n == earlier else 7.0 for n in range(2)]
        self.bench = Bench(*(self.line(n) for n in range(2)), root=folder, clock=self.clock)

    def line(self, n: int) -> HookLine:
        outcome = self.pair[n]
        timeout = self.limits[n] if outcome.startswith("timeout") else 60.0
        return command(f"sh {n}.sh", line=n + 1, fail_closed=outcome.endswith("closed"), timeout=timeout)

    async def there(self) -> None:
        opened = [asyncio.to_thread(os.open, self.folder / f"life{n}", os.O_RDONLY) for n in range(2)]
        self.lives = await asyncio.gather(*opened)

    async def finish(self, n: int) -> None:
        await asyncio.to_thread((self.folder / f"go{n}").write_text, "\n")
        if self.pair[n].startswith("timeout"):
            self.clock.advance(self.limits[n] - self.clock.monotonic())
        while await asyncio.to_thread(os.read, self.lives[n], 100):
            pass
        os.close(self.lives[n])


@pytest.mark.spec("HOOK-1", "HOOK-2")
@pytest.mark.parametrize("pair", PROGRAMS)
def test_two_programs_in_both_orders(pair: tuple[str, str], tmp_path: Path) -> None:
    async def main(stage: Stage, order: tuple[int, int]) -> None:
        task = asyncio.create_task(stage.bench.before())
        await stage.there()
        for n in order:
            await stage.finish(n)
        check(pair, await task, stage.bench, ("sh 0.sh", "sh 1.sh"))
        assert stage.clock.next_timer is None

    for order in ((0, 1), (1, 0)):
        folder = tmp_path / f"{order[0]} first"
        folder.mkdir()
        asyncio.run(main(Stage(folder, pair, order[0]), order))


# ---- functions ----------------------------------------------------------------------------------------------------


def crash(_told: Any) -> None:
    raise RuntimeError("oops")


FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "allow": lambda told: permission("allow", "says allow"),
    "ask": lambda told: permission("ask", "says ask"),
    "deny": lambda told: permission("deny", "says deny"),
    "crash": crash,
    "bad output": lambda told: {"decision": 1},
    "timeout": crash,
    "no opinion": lambda told: None,
}
CALLED = [outcome for outcome in OUTCOMES if outcome.removesuffix(", closed") in FUNCTIONS]


@pytest.mark.spec("HOOK-1", "HOOK-2")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first first", "second first"])
@pytest.mark.parametrize(
    "pair", [pytest.param(pair, id=" + ".join(pair)) for pair in itertools.product(CALLED, repeat=2)]
)
def test_two_functions_in_both_orders(pair: tuple[str, str], order: tuple[int, int]) -> None:
    def late(n: int) -> bool:
        return pair[n].startswith("timeout")

    async def main() -> None:
        gates = [asyncio.Event() for _ in pair]
        clock = ManualClock()
        limits = [5.0 if n == order[0] else 7.0 for n in range(2)]

        def function(n: int) -> Callable[[dict[str, Any]], Coroutine[Any, Any, object]]:
            async def run(told: dict[str, Any]) -> object:
                await gates[n].wait()
                return FUNCTIONS[pair[n].removesuffix(", closed")](told)

            return run

        lines = [
            hook(f"f{n}", line=n + 1, fail_closed=pair[n].endswith("closed"), timeout=limits[n] if late(n) else 60.0)
            for n in range(2)
        ]
        bench = Bench(*lines, clock=clock, f0=function(0), f1=function(1))
        task = asyncio.create_task(bench.before())
        await settle(20)
        for n in order:
            assert not task.done()
            if late(n):
                clock.advance(limits[n] - clock.monotonic())
            else:
                gates[n].set()
            await settle(20)
        check(pair, await task, bench, ("f0", "f1"))
        assert clock.next_timer is None

    asyncio.run(main())
