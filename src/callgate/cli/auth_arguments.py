"""The words of ``callgate auth …``."""

from argparse import SUPPRESS, Namespace
from collections.abc import Sequence

from callgate.cli.parsing import CommandParser, Group, Offered
from callgate.cli.policy.arguments import command


def add_auth(commands: Group) -> None:
    auth = commands.group(
        "auth",
        "keys of providers: set, list, remove, test",
        "Keys are looked for in the environment (ANTHROPIC_API_KEY and the like), by the key_command of your settings, "
        "in the keyring of the system, and in a private file of $CALLGATE_DATA_DIR, in this order.",
    )
    store = command(
        auth,
        "set",
        "store a key",
        "Asks for the key without showing it, or reads it from standard input. It is kept in the keyring of the system "
        'where there is one (pip install "callgate[keyring]"), else in a file that only you can read.',
        "callgate auth set anthropic",
        "pass show openai | callgate auth set openai",
    )
    store.add_argument("provider", metavar="PROVIDER", type=Offered(_names), help="such as anthropic, openai, gemini")
    store.add_argument("key", nargs="*", help=SUPPRESS)
    listed = command(
        auth,
        "list",
        "the keys that would be used, and where they are",
        "Shows at most the last four characters of a key.",
        "callgate auth list",
    )
    listed.add_argument("--json", action="store_true", help="print a list as JSON")
    remove = command(auth, "remove", "forget a stored key", "Forgets a stored key.", "callgate auth remove openai")
    remove.add_argument("provider", metavar="PROVIDER", type=Offered(_names), help="whose key")
    test = command(
        auth,
        "test",
        "try a model with a few small requests",
        "Says what works: text, streaming, tools, a forced tool, JSON Schema, images; and what to do where something "
        "does not. Costs a few hundred tokens.",
        "callgate auth test",
        "callgate auth test openai",
        "callgate auth test ollama/qwen3",
        codes="exit codes: 0 text works, 1 it does not",
    )
    test.add_argument(
        "which", metavar="PROVIDER|MODEL", nargs="?", type=Offered(_names), help="the default model, unless given"
    )
    test.add_argument("--json", action="store_true", help="print each outcome as a line of JSON")


def check_auth(path: str, parser: CommandParser, options: Namespace) -> None:
    if path == "auth set" and options.key:
        parser.error("never give a key as an argument, where others can see it: it is asked for, or read from a pipe")


def _names() -> Sequence[str]:
    from callgate.admin.names import provider_names

    return provider_names()
