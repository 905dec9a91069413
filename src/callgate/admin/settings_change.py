"""Changes one setting in a settings file: edits the text with ``tomlkit``, checks the new text, and replaces the
file. All functions block."""

import os
import tomllib
from collections.abc import Callable, MutableMapping, Sequence
from pathlib import Path
from stat import S_IMODE
from time import time
from typing import Any, Literal, cast

from callgate.admin.settings import HIDDEN, SettingRow, find_setting, key_of
from callgate.config import Config, load_config
from callgate.host.files import replace_file
from callgate.policy.entries import SettingsFault
from callgate.policy.json_store import one_at_a_time
from callgate.policy.protected import is_beneath
from callgate.policy.rules import Rulebook
from callgate.policy.setting_kinds import RULES
from callgate.policy.setting_rows import Setting
from callgate.policy.settings import settings_in, shown
from callgate.policy.trust import Trusted
from callgate.words.errors import UsageError
from callgate.words.noun import noun

WritableLayer = Literal["user", "project", "local"]
_BY_HAND = "change it in the file: callgate config edit"
_KINDS_IGNORED = {
    "permissions.allow": "allow rules ",
    "models.options.": "options of models ",
    "providers.": "options of models ",
    "keybindings.": "key bindings ",
}
"""Settings that are ignored in files of a repository, and the first words of the note about it."""


@noun
class ChangedSetting:
    """A change of a setting.

    file       the file that was edited
    row        the setting with its effective value
    counts     False if another value overrides the change; ``notes`` has the reason
    untrusted  True if the folder was trusted before the change and is not trusted now
    changed    True if the content of the file changed
    """

    file: Path
    row: SettingRow
    counts: bool
    notes: tuple[str, ...]
    untrusted: bool
    changed: bool


def file_of(config: Config, layer: WritableLayer) -> Path:
    """Return the settings file of a layer. A symbolic link in the user's folder is followed; a symbolic link in a
    repository must not point outside the repository."""
    file = next(each.path for each in config.files if each.layer == layer)
    real = Path(os.path.realpath(file))
    if layer != "user" and not is_beneath(str(real), os.path.realpath(config.root)):
        raise UsageError(f"{file} is a link to a place outside the repository: replace it by a file")
    return real


def faults_in(config: Config, data: bytes, file: Path, layer: WritableLayer) -> tuple[SettingsFault, ...]:
    """Return all faults of a settings file with this content, including faults of its rules."""
    found = settings_in(data, file, layer, time())
    book = Rulebook.of(found.rules, root=str(config.root), home=str(config.home), now=time(), faults=found.faults)
    return book.faults


def change_setting(config: Config, name: str, words: Sequence[str] | None, layer: WritableLayer) -> ChangedSetting:
    """Set a value in the settings file of a layer, or remove it if ``words`` is None. The new content is checked
    before the whole file is replaced. Raise UsageError with the reason if nothing was changed."""
    key, path = key_of(name)
    if path[0] == "hooks" or key.name.startswith("permissions.*"):
        raise UsageError(f"{name} is a field of a list of tables: write it with `callgate config edit --{layer}`")
    value = None if words is None else _read_words(key, words)
    file = file_of(config, layer)
    with one_at_a_time(config.data / "settings"):
        before = file.read_bytes() if file.exists() else b""
        text = _decoded(before, file)
        after = edit_toml(text, path, value).encode()
        faults = faults_in(config, after, file, layer)
        if faults:
            known = [str(each) for each in faults_in(config, before, file, layer)]
            why = "it is wrong already" if str(faults[0]) in known else "it would be wrong"
            raise UsageError(f"{file} was not changed, because {why}: {faults[0]}")
        if after != before:
            _replace(file, after)
    return _outcome(config, name, key, value, file, changed=after != before)


def _outcome(config: Config, name: str, key: Setting, value: object, file: Path, *, changed: bool) -> ChangedSetting:
    now = load_config(config.root)
    row = find_setting(now, name)
    in_force = getattr(now.settings, key.field) if key.field else row.value  # not masked
    wanted = None if value is None or key.kind is RULES else key.kind.read(value)
    return ChangedSetting(
        file=file,
        row=row,
        counts=wanted is None or row.hidden or in_force == wanted,
        notes=tuple(str(note) for note in now.notes if _is_about(note, name, file)),
        untrusted=isinstance(config.trust, Trusted) and not isinstance(now.trust, Trusted),
        changed=changed,
    )


def _is_about(note: SettingsFault, name: str, file: Path) -> bool:
    """Return True if the note says why this setting, or every setting of its kind in this file, is ignored."""
    kinds = (words for beginning, words in _KINDS_IGNORED.items() if name.startswith(beginning))
    return note.text.startswith(f"{name} = ") or (note.origin.file == str(file) and note.text.startswith((*kinds,)))


def _read_words(key: Setting, words: Sequence[str]) -> object:
    try:
        return key.kind.written(words)
    except ValueError:
        given = HIDDEN if key.kind.hidden else shown(" ".join(words))
        raise UsageError(f"{key.name} must be {key.kind.expected}, not {given}") from None


def _decoded(data: bytes, file: Path) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8: save it as UTF-8 first") from None


def _replace(file: Path, data: bytes) -> None:
    """Replace the file atomically and keep its mode."""

    def keep_mode(number: int) -> None:
        if file.exists():
            os.fchmod(number, S_IMODE(file.stat().st_mode))

    replace_file(file, data, 0o644, folders=0o777, prepare=keep_mode)


def edit_toml(text: str, path: tuple[str, ...], value: object) -> str:
    """Return a TOML text in which one value is set, or removed if the value is None. Comments, order and blank lines
    are kept. Raise UsageError if the text is not TOML, or if the value cannot be edited without changing other
    values."""
    try:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError
    except ImportError:
        raise UsageError("to edit settings, install a package: pip install 'callgate[config]'") from None
    body = text.removeprefix("\ufeff")
    try:
        wanted, before = tomllib.loads(body), tomllib.loads(body)
    except ValueError as error:
        raise UsageError(f"this file is not TOML: {error}; {_BY_HAND}") from None
    _put(wanted, path, value, dict)
    if wanted == before:
        return text
    try:
        document = tomlkit.parse(body)
        item: Any = value
        if isinstance(value, dict):  # a table with a header of its own could not be removed alone
            item = tomlkit.inline_table()
            item.update(cast(dict[str, Any], value))
        _put(document, path, item, tomlkit.table)
        changed = tomlkit.dumps(document)
        if "\r\n" in body:
            changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
        if tomllib.loads(changed) == wanted:
            return text[: len(text) - len(body)] + changed
    except (TOMLKitError, ValueError):
        pass
    raise UsageError(f"{'.'.join(path)} has a form that cannot be changed automatically; {_BY_HAND}")


def _put(root: Any, path: tuple[str, ...], value: object, new_table: Callable[[], Any]) -> None:
    """Set the value in plain tables or in a document, or remove it if it is None."""
    table = root
    for part in path[:-1]:
        if value is None and part not in table:
            return
        table = table.setdefault(part, new_table())
        if not isinstance(cast(object, table), MutableMapping):
            raise UsageError(f"{part} is not a table in this file; {_BY_HAND}")
    if value is None:
        table.pop(path[-1], None)
    elif new_table is dict or path[-1] in table:
        table[path[-1]] = value
    else:
        _append(table, path[-1], value)


def _append(table: Any, name: str, value: object) -> None:
    """Add a line to a table, above the comments before the next header."""
    from tomlkit.items import Table

    lines = table.value.body if isinstance(table, Table) else []
    below: list[Any] = []
    while lines and lines[-1][0] is None:
        below.insert(0, lines.pop()[1])
    table[name] = value
    for line in below:
        table.append(None, line)
