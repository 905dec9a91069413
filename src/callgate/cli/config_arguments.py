"""The words of ``callgate config …``."""

from argparse import Namespace
from collections.abc import Sequence

from callgate.cli.parsing import CommandParser, Group, Offered
from callgate.cli.policy.arguments import command

LAYERS = {
    "user": "your own settings, for every folder (default)",
    "project": "the settings that a repository brings along: .callgate/settings.toml",
    "local": "yours for this folder alone: .callgate/settings.local.toml",
}
_KEY = "such as limits.max_turns or providers.lab.base_url"


def add_config(commands: Group) -> None:
    config = commands.group(
        "config",
        "settings: get, set, unset, list, edit, path",
        "Settings are TOML files in layers: that of the machine's owner, your own, those of the repository; above them "
        "CALLGATE_* variables and the command line. A repository can only make things stricter.",
    )
    get = command(
        config,
        "get",
        "the value that is in force",
        "Prints the value alone, a list a line each. Headers and fields that may hold a key are never printed.",
        "callgate config get models.default",
        codes="exit codes: 0 there is a value, 1 nothing is set and there is no default",
    )
    get.add_argument("key", metavar="KEY", type=Offered(_names), help=_KEY)
    get.add_argument("--json", action="store_true", help="print value, default and origin as JSON")
    store = command(
        config,
        "set",
        "change a value in a settings file",
        "Changes one line of the file and leaves comments and order as they are. The new file is checked first: if "
        "anything would be wrong, nothing is changed. Says so where another value counts in spite of it.",
        "callgate config set models.default ollama/qwen3",
        "callgate config set limits.max_seconds 30m",
        "callgate config set --project sandbox.allow_hosts pypi.org files.pythonhosted.org",
    )
    _add_layers(store)
    store.add_argument("key", metavar="KEY", type=Offered(_names), help=_KEY)
    store.add_argument("value", metavar="VALUE", nargs="+", help="as it is, or as TOML; several for a list")
    unset = command(
        config,
        "unset",
        "remove a value from a settings file",
        "Removes its line.",
        "callgate config unset limits.max_cost",
    )
    _add_layers(unset)
    unset.add_argument("key", metavar="KEY", type=Offered(_names), help=_KEY)
    listed = command(
        config,
        "list",
        "every key: value, origin, type, default and meaning",
        "Every key with the value in force and the file and line, or the variable, that it comes from.",
        "callgate config list",
        "callgate config list --set",
        "callgate config list limits",
    )
    listed.add_argument("section", metavar="SECTION", nargs="?", help="only keys that begin so")
    listed.add_argument("--set", action="store_true", help="only those that a file or a variable has set")
    listed.add_argument("--json", action="store_true", help="print them as a list of JSON")
    edit = command(
        config,
        "edit",
        "open a settings file in $VISUAL or $EDITOR",
        "Checks the file when the editor ends and says what is wrong, with its line. The file stays as you left it.",
        "callgate config edit",
        codes="exit codes: 0 nothing is wrong with it, 1 something is",
    )
    _add_layers(edit)
    path = command(
        config, "path", "the files of each layer", "Prints each file, and whether it is there.", "callgate config path"
    )
    path.add_argument("--json", action="store_true", help="print them as a list of JSON")


def check_config(path: str, parser: CommandParser, options: Namespace) -> None:
    if path in ("config set", "config unset", "config edit"):
        chosen = [layer for layer in LAYERS if getattr(options, layer)]
        if len(chosen) > 1:
            parser.error(f"say --{chosen[0]} or --{chosen[1]}, not both")
        options.layer = chosen[0] if chosen else "user"


def _add_layers(parser: CommandParser) -> None:
    for layer, what in LAYERS.items():
        parser.add_argument(f"--{layer}", action="store_true", help=what)


def _names() -> Sequence[str]:
    from callgate.admin.names import setting_names

    return setting_names()
