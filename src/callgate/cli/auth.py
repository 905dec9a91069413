"""``callgate auth set``, ``list``, ``remove`` and ``test``."""

import asyncio
import sys
from argparse import Namespace
from getpass import getpass

from callgate.admin.auth import (
    KeyRow,
    ProbeResult,
    check_provider,
    list_keys,
    model_to_test,
    remove_key,
    store_key,
    tried,
)
from callgate.cli.policy.words import room_on
from callgate.cli.session.output import out, put, put_json, say
from callgate.cli.terminal import Span, paragraph, signs_for
from callgate.words.errors import UsageError

_LONGEST = 10_000


def set_key(options: Namespace) -> int:
    provider: str = options.provider
    check_provider(provider)  # before a person types a key for nothing
    if sys.stdin.isatty():
        key = getpass(f"Key for {provider} (it is not shown): ")
    else:
        key = sys.stdin.read(_LONGEST)
    if not key.strip():
        raise UsageError("no key was given, so nothing was stored")
    place, before = store_key(provider, key)
    stream = out()
    put([(Span(f"The key for {provider} is stored: {place}."),)], stream)
    if before is not None:
        put([(Span(f"{before} is set as well, and counts before it."),)], stream)
    put([(Span(f"Try it with: callgate auth test {provider}", "dim"),)], stream)
    return 0


def show_keys(options: Namespace) -> int:
    rows, stream = list_keys(), out()
    if options.json:
        put_json([_as_json(row) for row in rows], stream)
        return 0
    if not rows:
        put([(Span("There are no keys. Store one with: callgate auth set anthropic"),)], stream)
    longest = max((len(row.provider) for row in rows), default=0)
    for row in rows:
        name = Span(f"{row.provider:<{longest}}  ")
        put([(name, Span(row.fault, "red")) if row.fault else (name, Span(f"{row.origin}  {row.end}"))], stream)
    return 0


def forget_key(options: Namespace) -> int:
    left = remove_key(options.provider)
    stream = out()
    put([(Span(f"The key for {options.provider} is removed."),)], stream)
    if left is not None:
        put([(Span(f"{left} is still set and counts."),)], stream)
    return 0


def try_model(options: Namespace) -> int:
    name = model_to_test(options.which)
    if not options.json:
        say(f"trying {name}")
    return asyncio.run(_try(name, as_json=options.json))


async def _try(name: str, *, as_json: bool) -> int:
    stream, code = out(), 1
    signs, columns = signs_for(stream), room_on(stream)
    marks = {"works": (signs.ok, "green"), "fails": (signs.bad, "red"), "not offered": (signs.waits, "dim")}
    async for result in tried(name):
        if result.ability == "text":
            code = 0 if result.verdict == "works" else 1
        if as_json:
            put_json(_probed(name, result), stream)
        else:
            mark, style = marks[result.verdict]
            text = f"{mark} {result.ability}" + (f": {result.detail}" if result.detail else "")
            put(paragraph(text, columns, style, hang=2), stream)
        stream.flush()
    return code


def _probed(name: str, result: ProbeResult) -> dict[str, str]:
    return {"model": name, "ability": result.ability, "verdict": result.verdict, "detail": result.detail}


def _as_json(row: KeyRow) -> dict[str, str]:
    return {"provider": row.provider, "origin": row.origin, "end": row.end, "fault": row.fault}
