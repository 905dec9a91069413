"""The commands ``callgate config``.

Settings are TOML files in layers: the machine owner's file, your own, the repository's files; above them
CALLGATE_* variables and the command line. A repository can only make things stricter.
"""

import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any, cast

from callgate.admin.settings import SettingRow, find_setting, list_settings, load_config, setting_names
from callgate.admin.settings_change import ChangedSetting, WritableLayer, change_setting, faults_in, file_of
from callgate.cli.command_rows import JSON, ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.terminal import Line, Safe, Span, paragraph, signs_for
from callgate.cli.text_output import (
    json_fields,
    origin_as_json,
    out,
    put,
    put_json,
    put_paragraph,
    put_text,
    say,
    text_width,
)
from callgate.words.errors import UsageError

_NEW_FILE = "# Settings of Callgate. Every key: callgate config list\n"


def get(key: str, as_json: bool) -> int:
    """Print the value of a setting. A list is printed with one item per line. Headers and fields that may contain a
    key are never printed.

    examples:
      callgate config get models.default

    exit codes: 0 a value was printed, 1 the key is not set and has no default
    """
    row = find_setting(load_config(), key)
    if as_json:
        put_json(_as_json(row))
    elif row.value is None:
        say(f"{row.name} is not set, and there is no default; it is {row.key.kind.expected}")
    else:
        put((Span(text),) for text in _texts(row.value))
    return 0 if row.value is not None else 1


def set_value(key: str, value: Sequence[str], **layers: bool) -> int:
    """Change one line of a settings file; comments and order are kept. The new file is checked first, and nothing is
    changed if it has a fault. Prints a note if another layer overrides the value.

    examples:
      callgate config set models.default ollama/qwen3
      callgate config set limits.max_seconds 30m
      callgate config set --project sandbox.allow_hosts pypi.org files.pythonhosted.org
    """
    return _report(change_setting(load_config(), key, value, _layer(layers)), "is set in")


def unset(key: str, **layers: bool) -> int:
    """Remove the line of a setting from a settings file."""
    change = change_setting(load_config(), key, None, _layer(layers))
    return _report(change, "is removed from" if change.changed else "was not set in")


def list_all(section: str | None, only_set: bool, as_json: bool) -> int:
    """List every setting with the value in force and its origin: file and line, or variable.

    examples:
      callgate config list --set
      callgate config list limits
    """
    rows = [row for row in list_settings(load_config()) if row.name.startswith(section or "")]
    if section and not rows:
        raise UsageError(f"no setting begins with {section!r}; list all settings with: callgate config list")
    if only_set:
        rows = [row for row in rows if row.origins]
    if as_json:
        put_json([_as_json(row) for row in rows])
        return 0
    if not rows:
        put_text("No setting is set. All settings have their defaults.")
    for row in rows:
        put(_row_lines(row, text_width()))
    return 0


def edit(**layers: bool) -> int:
    """Open a settings file in your editor, and check it when the editor ends. Faults are reported with their line;
    the file stays as you saved it.

    exit codes: 0 the file is valid, 1 it is not
    """
    layer, config = _layer(layers), load_config()
    file, command = file_of(config, layer), _editor_command()
    is_new = not file.exists()
    if is_new:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_NEW_FILE, encoding="utf-8")
    try:
        code = subprocess.run([*command, str(file)], check=False).returncode
    except OSError as error:
        raise UsageError(f"the editor {command[0]!r} cannot be started: {error.strerror}; set $EDITOR") from None
    finally:
        if is_new and file.exists() and file.read_text(encoding="utf-8", errors="replace") == _NEW_FILE:
            file.unlink()
    if code != 0:
        say(f"the editor ended with {code}")
    faults = faults_in(config, file.read_bytes() if file.exists() else b"", file, layer)
    for fault in faults:
        say(str(fault))
    if faults:
        say(f"every call is denied until the error is fixed: callgate config edit --{layer} opens the file again")
        return 1
    put_text(f"Nothing is wrong with {file}.")
    return 0


def _editor_command() -> list[str]:
    """Return the user's editor as a list of words. Raise UsageError if it cannot be parsed."""
    given = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        words = shlex.split(given)
    except ValueError:
        words = []
    if not words:
        raise UsageError(f"the editor {given!r} was not found: set $EDITOR to an editor")
    return words


def path(as_json: bool) -> int:
    """List the settings files, and whether they exist."""
    files = load_config().files
    if as_json:
        put_json([{"layer": each.layer, "path": str(each.path), "exists": each.path.exists()} for each in files])
        return 0
    signs = signs_for(out())
    for each in files:
        mark = Span(f"{signs.ok} ", "green") if each.path.exists() else Span(f"{signs.waits} ", "dim")
        there = () if each.path.exists() else (Span("  (not found)", "dim"),)
        put([(mark, Span(Safe(f"{each.layer:<9}")), Span(str(each.path)), *there)])
    return 0


def _layer(layers: dict[str, bool]) -> WritableLayer:
    """Return the settings layer that the flag selects; by default the user's own settings."""
    chosen = [layer for layer, given in layers.items() if given] or ["user"]
    if len(chosen) > 1:
        raise CommandMisuse(f"say --{chosen[0]} or --{chosen[1]}, not both")
    return cast(WritableLayer, chosen[0])


def _report(change: ChangedSetting, what: str) -> int:
    put_text(f"{change.row.name} {what} {change.file}.")
    if not change.counts:
        value = ", ".join(_texts(change.row.value)) or "nothing"
        put_text(f"It has no effect, because this value has priority: {value} ({_origin(change.row)}).")
    for note in change.notes:
        put_paragraph(note, "dim")
    if change.untrusted:
        put_text("This folder is no longer trusted, because a file changed. To trust it again: callgate trust add")
    return 0


def _row_lines(row: SettingRow, room: int) -> Iterator[Line]:
    texts = _texts(row.value)
    value = ", ".join(texts) if texts else "(not set)"
    where = f"  {_origin(row)}" if row.origins else ""
    yield Span(row.name, "bold"), Span(f" = {value}", "green" if row.origins else "dim"), Span(where, "dim")
    default = "" if row.key.default in (None, ()) else f" Default: {', '.join(_texts(row.key.default))}."
    variable = f" Variable: {row.key.variable}." if row.key.variable else ""
    yield from paragraph(f"{row.key.help} It is {row.key.kind.expected}.{default}{variable}", room, "dim", indent=2)


def _origin(row: SettingRow) -> str:
    return ", ".join(dict.fromkeys(str(origin) for origin in row.origins)) or "default"


def _texts(value: Any) -> list[str]:
    """Return a value as it is written in a settings file, without quotes."""
    if value is None:
        return []
    if isinstance(value, tuple):
        return [str(each) for each in cast(Sequence[object], value)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


def _as_json(row: SettingRow) -> dict[str, Any]:
    paths = {"key": "name", "type": "key.kind.expected", "meaning": "key.help"}
    about = json_fields(row, "value", "key.default", "hidden", **paths)
    return {**about, "origin": [*map(origin_as_json, row.origins)], "variable": row.key.variable or None}


_LAYERS = (
    ArgumentRow("--user", "your own settings, for every folder (default)"),
    ArgumentRow("--project", "the settings of the repository: .callgate/settings.toml"),
    ArgumentRow("--local", "your settings for this folder: .callgate/settings.local.toml"),
)
_KEY = ArgumentRow("KEY", "such as limits.max_turns or providers.lab.base_url", offers=setting_names)
COMMANDS = (
    CommandRow(
        "config get",
        get,
        "the value that is in force",
        (_KEY, ArgumentRow("--json", "print value, default and origin as JSON", "as_json")),
    ),
    CommandRow(
        "config set",
        set_value,
        "change a value in a settings file",
        (*_LAYERS, _KEY, ArgumentRow("VALUE+", "a text, or TOML; several values for a list")),
    ),
    CommandRow("config unset", unset, "remove a value from a settings file", (*_LAYERS, _KEY)),
    CommandRow(
        "config list",
        list_all,
        "list every key with its value, origin, type, default and meaning",
        (
            ArgumentRow("SECTION?", "only keys that begin so"),
            ArgumentRow("--set", "only keys that a file or a variable sets", "only_set"),
            JSON,
        ),
    ),
    CommandRow("config edit", edit, "open a settings file in $VISUAL or $EDITOR", _LAYERS),
    CommandRow("config path", path, "the files of each layer", (JSON,)),
)
