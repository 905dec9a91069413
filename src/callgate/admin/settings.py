"""Lists settings with value, default and origin.

Headers and fields of requests, which may contain secrets, are not shown; secrets in other texts are masked as in the
log. All functions block.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, cast

from callgate.config import Config, load_config
from callgate.policy.entries import SettingsFile
from callgate.policy.setting_kinds import RULES
from callgate.policy.setting_rows import SETTINGS, VARIABLES, Setting, Variable
from callgate.policy.settings import read_settings, shown
from callgate.transcript.masking import Masker
from callgate.words.decisions import Effect, Origin
from callgate.words.errors import UsageError
from callgate.words.noun import noun

__all__ = ["SettingsFile", "VARIABLES", "Variable", "load_config"]


HIDDEN = "(hidden)"
TablePath = tuple[str, ...]


@noun
class SettingRow:
    """A setting with its effective value.

    value    the effective value; None if there is neither a value nor a default
    origins  the places where the value is set, for a list one place for each rule; empty for a default
    """

    name: str
    key: Setting
    value: Any = None
    origins: tuple[Origin, ...] = ()
    hidden: bool = False


def find_setting(config: Config, name: str) -> SettingRow:
    """Return one setting by its full name, such as ``providers.lab.base_url``. Raise UsageError, with a suggestion,
    for an unknown name."""
    key, path = key_of(name)
    if "*" not in key.name:
        return next(row for row in list_settings(config) if row.name == name)
    found = next((row for row in list_settings(config) if row.name == ".".join(path)), None)
    return found or SettingRow(name, key)


def list_settings(config: Config) -> list[SettingRow]:
    """Return every key in the order of the table. A key with ``*`` is returned once for each value that is set, or
    once without a value."""
    masker = Masker()
    tables = [*_named_tables(config)]
    rows: list[SettingRow] = []
    for key in SETTINGS:
        if key.kind is RULES:
            rows.append(_rules(config, key))
        elif key.field:
            rows.append(_plain(config, key))
        else:
            own = [row for path, origin, values in tables if (row := _instance(key, path, origin, values)) is not None]
            rows += own or [SettingRow(key.name, key)]
    return [_masked(row, masker) for row in rows]


def _plain(config: Config, key: Setting) -> SettingRow:
    origin = config.origins.get(key.name)
    return SettingRow(key.name, key, getattr(config.settings, key.field), () if origin is None else (origin,))


def _rules(config: Config, key: Setting) -> SettingRow:
    effect = cast(Effect, key.name.partition(".")[2])
    found = [rule for rule in config.rules if rule.effect == effect]
    texts, origins = tuple(rule.text for rule in found), tuple(rule.origin for rule in found)
    return SettingRow(key.name, key, value=texts, origins=origins)


def _named_tables(config: Config) -> Iterator[tuple[TablePath, Origin, Mapping[str, Any]]]:
    """Yield the effective tables of providers, model options and hooks, each with its path, origin and values."""
    lines: dict[TablePath, Origin] = {}
    for each in sorted(config.files, key=lambda file: file.layer == "managed"):
        if each.layer in ("managed", "user"):
            read = read_settings(each.path, each.layer)
            lines |= {("models", "options", line.name): line.origin for line in read.options}
            lines |= {("providers", line.name): line.origin for line in read.servers}
    for name, options in config.models.options.items():
        path = ("models", "options", name)
        yield path, lines.get(path, Origin("command line")), _fields(options)
    for name, server in config.models.servers.items():
        path = ("providers", name)
        yield path, lines.get(path, Origin("command line")), _fields(server)
    for line in config.hooks:
        target = {"command": "command", "python": "python", "http": "url"}[line.kind]
        values = {target: line.target, "matcher": line.matcher, "if": line.condition, "timeout": line.timeout}
        yield ("hooks", line.event), line.origin, values


def _fields(table: object) -> dict[str, Any]:
    return {each.name: getattr(table, each.name) for each in fields(cast(Any, table))}


def _instance(key: Setting, path: TablePath, origin: Origin, values: Mapping[str, Any]) -> SettingRow | None:
    prefix, _, last = key.name.partition(".*.")
    value = values.get(last) if prefix == ".".join(path[:-1]) else None
    if value in (None, (), {}, ""):
        return None
    return SettingRow(f"{prefix}.{path[-1]}.{last}", key, value=value, origins=(origin,))


def _masked(row: SettingRow, masker: Masker) -> SettingRow:
    if row.key.kind.hidden and row.value:
        return replace(row, value=HIDDEN, hidden=True)
    if isinstance(row.value, str):
        return replace(row, value=masker.text(row.value))
    if isinstance(row.value, tuple):
        return replace(row, value=tuple(masker.text(str(each)) for each in cast(tuple[object, ...], row.value)))
    return row


def key_of(name: str) -> tuple[Setting, TablePath]:
    for key in SETTINGS:
        if key.name == name:
            if "*" in name:
                raise UsageError(f"replace the star by a name in {name}")
            return key, tuple(name.split("."))
    for key in SETTINGS:
        prefix, star, last = key.name.partition(".*.")
        middle = name.removeprefix(f"{prefix}.").removesuffix(f".{last}")
        if star and name == f"{prefix}.{middle}.{last}" and middle:
            return key, (*prefix.split("."), middle, last)
    known = [key.name for key in SETTINGS]
    close = get_close_matches(name, known, 1) or [each for each in known if each.rpartition(".")[2] == name][:1]
    hint = f"did you mean {close[0]}?" if close else "list all settings with: callgate config list"
    raise UsageError(f"unknown setting {shown(name)}: {hint}")


def setting_names() -> tuple[str, ...]:
    """Return the keys without ``*``."""
    return tuple(key.name for key in SETTINGS if "*" not in key.name)
