"""The commands ``callgate auth``.

Keys are looked for in the environment (ANTHROPIC_API_KEY and the like), by the key_command of your settings, in the
keyring of the system, and in a private file of $CALLGATE_DATA_DIR, in this order.
"""

import asyncio
import sys
from collections.abc import Sequence
from getpass import getpass

from callgate.admin import provider_keys
from callgate.cli.command_rows import JSON, JSON_LINES, ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.terminal import Span, paragraph, signs_for
from callgate.cli.text_output import json_fields, out, put, put_json, put_text, say, text_width
from callgate.words.errors import UsageError

_LONGEST = 10_000


def set_key(provider: str, key: Sequence[str]) -> int:
    """Store the key of a provider. It is read without echo, or from standard input, and stored in the system keyring
    if there is one (pip install "callgate[keyring]"), otherwise in a file that only you can read.

    examples:
      callgate auth set anthropic
      pass show openai | callgate auth set openai
    """
    if key:
        raise CommandMisuse("others can see a key in an argument: enter the key when asked, or use a pipe")
    provider_keys.check_provider(provider)  # before a person types a key for nothing
    if sys.stdin.isatty():
        given = getpass(f"Key for {provider} (it is not shown): ")
    else:
        given = sys.stdin.read(_LONGEST)
    if not given.strip():
        raise UsageError("no key was entered; nothing was stored")
    place, before = provider_keys.store_key(provider, given)
    put_text(f"The key for {provider} is stored: {place}.")
    if before is not None:
        put_text(f"{before} is also set and has priority.")
    put_text(f"Try it with: callgate auth test {provider}", "dim")
    return 0


def show_keys(as_json: bool) -> int:
    """List the keys in use. At most the last four characters of a key are shown."""
    rows = provider_keys.list_keys()
    if as_json:
        put_json([json_fields(row) for row in rows])
        return 0
    if not rows:
        put_text("There are no keys. Store one with: callgate auth set anthropic")
    longest = max((len(row.provider) for row in rows), default=0)
    for row in rows:
        name = Span(f"{row.provider:<{longest}}  ")
        put([(name, Span(row.fault, "red")) if row.fault else (name, Span(f"{row.origin}  {row.end}"))])
    return 0


def forget_key(provider: str) -> int:
    """Remove a stored key."""
    left = provider_keys.remove_key(provider)
    put_text(f"The key for {provider} is removed.")
    if left is not None:
        put_text(f"{left} is still set and counts.")
    return 0


def test_model(which: str | None, as_json: bool) -> int:
    """Send a few small requests to a model and report which features work: text, streaming, tools, a forced tool,
    JSON Schema, images. For each feature that fails, the report says what to do. Costs a few hundred tokens.

    examples:
      callgate auth test openai
      callgate auth test ollama/qwen3

    exit codes: 0 the model answers, 1 it does not
    """
    name = provider_keys.model_to_test(which)
    if not as_json:
        say(f"trying {name}")
    return asyncio.run(_test(name, as_json=as_json))


async def _test(name: str, *, as_json: bool) -> int:
    stream, code = out(), 1
    signs = signs_for(stream)
    marks = {"works": (signs.ok, "green"), "fails": (signs.bad, "red"), "not offered": (signs.waits, "dim")}
    async for result in provider_keys.probe_model(name):
        if result.ability == "text":
            code = 0 if result.verdict == "works" else 1
        if as_json:
            put_json({"model": name, **json_fields(result, "ability", "verdict", "detail")})
        else:
            mark, style = marks[result.verdict]
            text = f"{mark} {result.ability}" + (f": {result.detail}" if result.detail else "")
            put(paragraph(text, text_width(), style, hang=2))
        stream.flush()
    return code


COMMANDS = (
    CommandRow(
        "auth set",
        set_key,
        "store a key",
        (
            ArgumentRow("PROVIDER", "such as anthropic, openai, gemini", offers=provider_keys.provider_names),
            ArgumentRow("KEY*"),
        ),
    ),
    CommandRow("auth list", show_keys, "list the keys and where they are stored", (JSON,)),
    CommandRow(
        "auth remove",
        forget_key,
        "forget a stored key",
        (ArgumentRow("PROVIDER", "whose key", offers=provider_keys.provider_names),),
    ),
    CommandRow(
        "auth test",
        test_model,
        "try a model with a few small requests",
        (
            ArgumentRow("PROVIDER|MODEL?", "default: the default model", "which", offers=provider_keys.provider_names),
            JSON_LINES,
        ),
    ),
)
