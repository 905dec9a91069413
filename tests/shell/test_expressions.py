"""Regular expressions of the gate: no text makes one of them take long."""

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

import callgate.policy
import callgate.shell

LONGEST = 0.2
"""Seconds of processor time: what grows with a power of the length passes it before the sixth size."""
SIZES = (16, 20, 24, 28, 32, 200, 1_000)


def expressions() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every compiled expression that a module of the two rooms holds, alone or in a table."""
    for room in (callgate.shell, callgate.policy):
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for name, value in vars(importlib.import_module(found.name)).items():
                table = cast("Mapping[str, Any]", value) if isinstance(value, dict) else {"": value}
                for key, each in table.items():
                    if isinstance(each, re.Pattern):
                        yield f"{found.name}.{name} {key}", cast("re.Pattern[str]", each)


def test_no_repeated_character_makes_an_expression_take_long() -> None:
    listed = dict(expressions())
    assert len(listed) > 40
    bad: list[str] = []
    for name, expression in listed.items():
        telling = [*dict.fromkeys(c for c in f"{expression.pattern}a0! " if not c.isalnum() or c in "a0")]
        for piece in (*telling, *(f"{one}a" for one in telling)):
            for size in SIZES:
                started = time.process_time()
                expression.fullmatch(f"a{piece * size}\0(")
                if time.process_time() - started > LONGEST:
                    bad.append(f"{name}: {piece!r} {size} times")
                    break
    assert not bad, "\n".join(bad)
