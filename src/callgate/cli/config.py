"""``callgate config get``, ``set``, ``unset``, ``list``, ``edit`` and ``path``."""

import subprocess
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any, cast

from callgate.admin.settings import SettingRow, find_setting, list_settings, load_config
from callgate.admin.settings_change import ChangedSetting, WritableLayer, change_setting, faults_in, file_of
from callgate.cli.editing import editor_command
from callgate.cli.policy.words import origin_as_json, room_on
from callgate.cli.session.output import out, put, put_json, say
from callgate.cli.terminal import Line, Safe, Span, paragraph, signs_for
from callgate.words.errors import UsageError

_NEW_FILE = "# Settings of Callgate. Every key: callgate config list\n"


def get(options: Namespace) -> int:
    row, stream = find_setting(load_config(), options.key), out()
    if options.json:
        put_json(_as_json(row), stream)
        return 0 if row.value is not None else 1
    if row.value is None:
        say(f"{row.name} is not set, and there is no default; it is {row.key.type}")
        return 1
    put([(Span(text),) for text in _texts(row.value)], stream)
    return 0


def set_value(options: Namespace) -> int:
    return _told(change_setting(load_config(), options.key, options.value, _layer(options)), "is set in")


def unset(options: Namespace) -> int:
    change = change_setting(load_config(), options.key, None, _layer(options))
    return _told(change, "is not set any more in" if change.changed else "was not set in")


def list_all(options: Namespace) -> int:
    rows = [row for row in list_settings(load_config()) if row.name.startswith(options.section or "")]
    if options.section and not rows:
        raise UsageError(f"no setting begins with {options.section!r}: callgate config list shows all of them")
    if options.set:
        rows = [row for row in rows if row.origins]
    stream = out()
    if options.json:
        put_json([_as_json(row) for row in rows], stream)
        return 0
    if not rows:
        put([(Span("Nothing is set: everything has its default."),)], stream)
    for row in rows:
        put(_row_lines(row, room_on(stream)), stream)
    return 0


def edit(options: Namespace) -> int:
    config, layer = load_config(), _layer(options)
    file, command = file_of(config, layer), editor_command()
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
        say(f"nothing is allowed while settings are wrong: callgate config edit --{layer} opens the file again")
        return 1
    put([(Span(f"Nothing is wrong with {file}."),)], out())
    return 0


def path(options: Namespace) -> int:
    files, stream = load_config().files, out()
    if options.json:
        rows = [{"layer": each.layer, "path": str(each.path), "exists": each.path.exists()} for each in files]
        put_json(rows, stream)
        return 0
    signs = signs_for(stream)
    for each in files:
        mark = (Span(f"{signs.ok} ", "green"),) if each.path.exists() else (Span(f"{signs.waits} ", "dim"),)
        there = () if each.path.exists() else (Span("  (not there)", "dim"),)
        put([(*mark, Span(Safe(f"{each.layer:<9}")), Span(str(each.path)), *there)], stream)
    return 0


def _layer(options: Namespace) -> WritableLayer:
    return cast(WritableLayer, options.layer)


def _told(change: ChangedSetting, what: str) -> int:
    stream = out()
    put([(Span(f"{change.row.name} {what} {change.file}."),)], stream)
    if not change.counts:
        value = ", ".join(_texts(change.row.value)) or "nothing"
        put([(Span(f"It has no effect: the value in force is {value} ({_origin(change.row)})."),)], stream)
    for note in change.notes:
        put(paragraph(note, room_on(stream), "dim"), stream)
    if change.untrusted:
        put([(Span("This folder is not trusted any more, because a file of it changed: callgate trust add"),)], stream)
    return 0


def _row_lines(row: SettingRow, room: int) -> Iterator[Line]:
    texts = _texts(row.value)
    value = ", ".join(texts) if texts else "(not set)"
    where = f"  {_origin(row)}" if row.origins else ""
    yield Span(row.name, "bold"), Span(f" = {value}", "green" if row.origins else "dim"), Span(where, "dim")
    default = "" if row.default in (None, ()) else f" Default: {', '.join(_texts(row.default))}."
    variable = f" Variable: {row.variable}." if row.variable else ""
    yield from paragraph(f"{row.key.meaning} It is {row.key.type}.{default}{variable}", room, "dim", indent=2)


def _origin(row: SettingRow) -> str:
    return ", ".join(dict.fromkeys(str(origin) for origin in row.origins)) or "default"


def _texts(value: Any) -> list[str]:
    """The value as a settings file has it, without quotes."""
    if value is None:
        return []
    if isinstance(value, tuple):
        return [str(each) for each in cast(Sequence[object], value)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


def _as_json(row: SettingRow) -> dict[str, Any]:
    return {
        "key": row.name,
        "value": row.value,
        "default": row.default,
        "origin": [origin_as_json(origin) for origin in row.origins],
        "variable": row.variable or None,
        "type": row.key.type,
        "meaning": row.key.meaning,
        "hidden": row.hidden,
    }
