"""Parses and checks a settings file. Every value is stored with its line.

    mode = "default"

    [permissions]
    allow = ["Bash(git status)", { rule = "Bash(npm run *)", match = ["npm run lint"], expires = 2027-01-01 }]
    deny = ["Read(~/.ssh/**)"]

    [[hooks.PostToolUse]]
    command = "make lint"
    matcher = "Edit|Write"

``setting_rows`` lists every key. A file with an error fails closed: the settings contain ``faults``, and the judge
denies every call with these faults as the reason.
"""

import re
import tomllib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeGuard, cast

from callgate.host.files import read_regular
from callgate.policy.entries import EVENTS, IN_REPOSITORY, HookLine, KeyLine, Layer, NamedLine, RuleLine, SettingsFault
from callgate.policy.setting_kinds import CHORDS, MOMENT, RULES, TEXT, Kind, read_moment
from callgate.policy.setting_rows import VALUE_ROWS, Setting, rows_of
from callgate.policy.shorten import brief
from callgate.words.decisions import Effect, Origin
from callgate.words.late_pattern import late_pattern
from callgate.words.model import RequestOptions, ServerSettings
from callgate.words.noun import noun

LARGEST = 128 * 1024
LONGEST_LINE = 2_000
"""The maximum length of a line. ``tomllib`` takes quadratic time in the number of parts of a dotted key."""

_Keys = tuple[str, ...]
_EFFECTS: tuple[Effect, ...] = ("allow", "ask", "deny")
_TARGETS: Mapping[str, Literal["command", "python", "http"]] = {"command": "command", "python": "python", "url": "http"}
_FIELDS = {"rule": "text", "expires": "expires_at", "if": "condition"}

# ---- lines of values ------------------------------------------------------------------------------------------------
# ``tomllib`` reports no lines. Headers and keys are found at the beginning of lines, elements of an array by searching
# their text from the line of the key. If a value is not found, the line of its parent is used.

KeyPath = tuple[str | int, ...]
"""The keys and indices that lead to a value: ``("permissions", "deny", 2)``."""

_KEY_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_KEY = rf"{_KEY_NAME}(?:[ \t]*\.[ \t]*{_KEY_NAME})*"
_STATEMENT = late_pattern(rf"^[ \t]*(?:(\[\[?)[ \t]*({_KEY})[ \t]*\]|({_KEY})[ \t]*=)", re.MULTILINE)
_LONG_TEXT = late_pattern(r"""("{3}|'{3}).*?\1""", re.DOTALL)


@noun
class Positions:
    lines: Mapping[KeyPath, int]

    def line_of(self, path: KeyPath) -> int:
        """Return the line of the key, array element or table header. For a missing path return the line of its
        nearest existing parent."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def locate(text: str, tables: Mapping[str, Any]) -> Positions:
    """Return the positions of the values in a text. ``tables`` is the result of ``tomllib`` for the text."""
    text = _LONG_TEXT.sub(lambda found: "\n" * found[0].count("\n"), text)
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    lines: dict[KeyPath, int] = {(): 1}
    lengths: Counter[KeyPath] = Counter()
    table: KeyPath = ()
    for found in _STATEMENT.finditer(text):
        line = bisect_right(starts, found.start())
        path: KeyPath = () if found[1] else table
        for name in re.findall(_KEY_NAME, found[2] or found[3]):
            path = (*path, name.strip("\"'"))
            lines.setdefault(path, line)
        if found[1] == "[[":
            path = (*path, lengths[path])
            lengths[path[:-1]] += 1
        if found[1]:
            table = path
            lines[path] = line
    for path, values in _arrays(tables, ()):
        if path in lines and path not in lengths:
            at = starts[lines[path] - 1]
            for index, value in enumerate(values):
                at = max(at, text.find(_shown_text(value), at))
                lines[*path, index] = bisect_right(starts, at)
    return Positions(lines)


def _arrays(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, list[object]]]:
    """Return every array in the tables, except arrays inside arrays."""
    if isinstance(value, list):
        yield path, cast(list[object], value)
    elif isinstance(value, dict):
        for name, inner in cast(dict[str, object], value).items():
            yield from _arrays(inner, (*path, name))


def _shown_text(value: object) -> str:
    """Return the first text in the value, in the form in which it probably appears in the file."""
    if isinstance(value, dict):
        inner = cast(dict[str, object], value)
        return _shown_text(inner.get("rule", next(iter(inner.values()), "")))
    return str(value).split("\n")[0]


# ---- the file -------------------------------------------------------------------------------------------------------


@noun
class SetValue:
    name: str
    value: str | int | float | tuple[str, ...]
    origin: Origin


@noun
class LayerSettings:
    """The settings of one layer. ``sha256`` is the hash of the file's bytes; empty if there was no readable file."""

    layer: Layer
    file: str = ""
    rules: tuple[RuleLine, ...] = ()
    hooks: tuple[HookLine, ...] = ()
    plain: tuple[SetValue, ...] = ()
    options: tuple[NamedLine[RequestOptions], ...] = ()
    servers: tuple[NamedLine[ServerSettings], ...] = ()
    keybindings: tuple[KeyLine, ...] = ()
    faults: tuple[SettingsFault, ...] = ()
    sha256: str = ""


def read_settings(file: Path, layer: Layer) -> LayerSettings:
    """Return the settings of a file; empty settings if the file does not exist. An unreadable or invalid file
    becomes a fault; no exception is raised."""
    found = _read(file, layer)
    if not isinstance(found, tuple):
        return LayerSettings(layer, str(file), faults=() if found is None else (found,))
    return settings_in(found[0], file, layer, found[1])


def settings_in(data: bytes, file: Path, layer: Layer, changed_at: float) -> LayerSettings:
    digest = sha256(data).hexdigest()
    try:
        tables, places = _parse(data)
        return _FileParser(file, layer, changed_at, places).settings(tables, digest)
    except _ParseError as wrong:
        line, text = wrong.line, str(wrong)
    except RecursionError:
        line, text = 1, "this is nested too deeply: simplify it"
    return LayerSettings(layer, str(file), faults=(SettingsFault(text, Origin(layer, str(file), line)),), sha256=digest)


def settings_of(tables: Mapping[str, Any], layer: Layer, now: float) -> LayerSettings:
    """Return the settings in a value, such as JSON given on the command line."""
    return _FileParser(Path(), layer, now, Positions({(): 0})).settings(tables, "")


def faulty(file: Path, layer: Layer, text: str) -> LayerSettings:
    """Return settings that contain only a fault, for a file that must not be opened."""
    return LayerSettings(layer, str(file), faults=(SettingsFault(text, Origin(layer, str(file))),))


def shown(value: object) -> str:
    """Return a value from a file on one line, shortened. The caller must escape the text."""
    return brief(repr(value))


def _read(file: Path, layer: Layer) -> tuple[bytes, float] | SettingsFault | None:
    origin = Origin(layer, str(file))
    try:
        found = read_regular(file, LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        is_cut = file.is_symlink() or (file.parent.is_symlink() and not file.parent.exists())
        return SettingsFault("this link is broken: fix or remove it", origin) if is_cut else None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        return SettingsFault(f"this cannot be read ({why}): make it a readable file, or remove it", origin)
    if found.is_cut:
        return SettingsFault(f"this is larger than {LARGEST // 1024} KiB: make it smaller", origin)
    if layer not in IN_REPOSITORY and found.is_writable_by_others:
        return SettingsFault("any user can write this file, so it is not used: chmod o-w it", origin)
    return found.data, found.status.st_mtime


class _ParseError(Exception):
    """The file cannot be parsed. ``line`` is the line of the error."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def _parse(data: bytes) -> tuple[dict[str, Any], Positions]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _ParseError(line, "this line is not UTF-8: save the file as UTF-8") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > LONGEST_LINE:
            raise _ParseError(number, f"this line has {len(line)} characters, more than {LONGEST_LINE}: break it up")
    try:
        tables = tomllib.loads(text)
        return tables, locate(text, tables)
    except ValueError as error:  # TOMLDecodeError, or a number with thousands of digits
        place = re.search(r" \(at line ([0-9]+), column ([0-9]+)\)", str(error))
        line = int(place[1]) if place else text.count("\n") + 1
        where = f" (column {place[2]})" if place else ""
        message = re.sub(r" \(at .*\)$", "", str(error), flags=re.DOTALL)
        raise _ParseError(line, f"this is not TOML: {shown(message)[1:-1]}{where}: correct this line") from None


class _FileParser:
    """Parses the tables of one file and collects values and faults."""

    def __init__(self, file: Path, layer: Layer, changed_at: float, places: Positions) -> None:
        self._shown_file = "" if file == Path() else str(file)
        self._layer: Layer = layer
        self._changed_at = changed_at
        self._places = places
        self._faults: list[SettingsFault] = []
        self._found: defaultdict[str, list[Any]] = defaultdict(list)
        """The parsed lines by the field of ``LayerSettings``."""

    def settings(self, tables: Mapping[str, Any], digest: str) -> LayerSettings:
        sections = {"permissions": self._permissions, "hooks": self._all_hooks}
        plain = dict.fromkeys(row.section for row in VALUE_ROWS.values() if row.section)
        sections |= {section: partial(self._plain_section, section) for section in plain}
        sections |= {"models": self._models, "providers": self._providers, "keybindings": self._all_keys}
        for name, value in tables.items():
            if name in sections:
                if self._is_table(value, (name,)):
                    sections[name](value)
            elif name in rows_of(""):
                self._plain_value((name,), value, rows_of("")[name])
            else:
                self._unknown((name,), [*rows_of(""), *sections])
        faults = tuple(sorted(self._faults, key=lambda fault: fault.origin.line))
        if faults:  # so that a caller that ignores faults gets no grant from a broken file, and runs nothing
            self._found = defaultdict(list, rules=[rule for rule in self._found["rules"] if rule.effect != "allow"])
        found: dict[str, Any] = {name: tuple(lines) for name, lines in self._found.items()}
        return LayerSettings(self._layer, self._shown_file, **found, faults=faults, sha256=digest)

    def _permissions(self, table: dict[str, Any]) -> None:
        for effect in _EFFECTS:
            path: KeyPath = ("permissions", effect)
            listed = table.get(effect, [])
            if not isinstance(listed, list):
                self._wrong(path, listed, RULES)
                continue
            for index, written in enumerate(cast(list[object], listed)):
                self._rule(effect, written, (*path, index))
        for name in table:
            if name not in _EFFECTS:
                self._unknown(("permissions", name), list(_EFFECTS))

    def _all_hooks(self, table: dict[str, Any]) -> None:
        for event, listed in table.items():
            if event not in EVENTS:
                self._unknown(("hooks", event), list(EVENTS))
            elif isinstance(listed, list):
                for index, written in enumerate(cast(list[object], listed)):
                    if self._is_table(written, ("hooks", event, index)):
                        self._hook(event, written, ("hooks", event, index))
            else:
                self._fault(("hooks", event), f"hooks are a list of tables: begin each hook with [[hooks.{event}]]")

    def _all_keys(self, table: dict[str, Any]) -> None:
        for context, actions in table.items():
            if self._is_table(actions, ("keybindings", context)):
                for action, written in actions.items():
                    path = ("keybindings", context, action)
                    keys = self._value(path, written, CHORDS)
                    if keys is not None:
                        self._found["keybindings"].append(KeyLine(context, action, keys, self._origin(path)))

    def _models(self, table: dict[str, Any]) -> None:
        self._plain_section("models", {name: value for name, value in table.items() if name != "options"})
        for model, read, path in self._tables("models.options.*", table.get("options", {}), ("models", "options")):
            self._found["options"].append(NamedLine(model, RequestOptions(**read), self._origin(path)))

    def _providers(self, table: dict[str, Any]) -> None:
        for name, read, path in self._tables("providers.*", table, ("providers",)):
            self._found["servers"].append(NamedLine(name, ServerSettings(**read), self._origin(path)))

    def _tables(self, section: str, tables: object, path: _Keys) -> Iterator[tuple[str, dict[str, Any], _Keys]]:
        """Return the names, values and paths of the valid tables. A fault is added for each invalid table."""
        if not self._is_table(tables, path):
            return
        for name, table in tables.items():
            had, place = len(self._faults), (*path, name)
            if self._is_table(table, place):
                read = self._fields(section, table, place)
                if len(self._faults) == had:
                    yield name, read, place

    def _plain_section(self, section: str, table: dict[str, Any]) -> None:
        known = rows_of(section)
        for name, value in table.items():
            if name in known:
                self._plain_value((section, name), value, known[name])
            else:
                self._unknown((section, name), list(known))

    def _plain_value(self, path: tuple[str, ...], value: object, row: Setting) -> None:
        read = self._value(path, value, row.kind)
        if read is not None:
            self._found["plain"].append(SetValue(row.name, read, self._origin(path)))

    def _rule(self, effect: Effect, written: object, path: KeyPath) -> None:
        if isinstance(written, str):
            text = self._value(path, written, TEXT)
            if text is not None:
                self._found["rules"].append(RuleLine(effect, text, self._origin(path)))
            return
        if not isinstance(written, dict):
            self._fault(path, f"a rule must be a string or a table, not {shown(written)}")
            return
        had = len(self._faults)
        read = self._fields("permissions.*", cast(dict[str, object], written), path)
        if "rule" not in written:
            self._fault(path, 'this table has no rule: add rule = "…"')
        if len(self._faults) == had:
            self._found["rules"].append(RuleLine(effect=effect, origin=self._origin(path), **read))

    def _hook(self, event: str, written: dict[str, Any], path: KeyPath) -> None:
        had = len(self._faults)
        read = self._fields("hooks.*", written, path)
        targets = [name for name in _TARGETS if name in written]
        if len(targets) != 1:
            found = f"has {' and '.join(targets)}" if targets else "has none"
            self._fault(path, f"a hook must have exactly one of command, python and url; this hook {found}")
        if len(self._faults) == had:
            kind, target = _TARGETS[targets[0]], read.pop(targets[0])
            self._found["hooks"].append(HookLine(event, kind, target, self._origin(path), **read))

    def _fields(self, section: str, table: Mapping[str, object], path: KeyPath) -> dict[str, Any]:
        known, found = rows_of(section), dict[str, Any]()
        for name, value in table.items():
            if name in known:
                found[_FIELDS.get(name, name)] = self._value((*path, name), value, known[name].kind)
            else:
                self._unknown((*path, name), list(known))
        return found

    def _value(self, path: KeyPath, value: object, kind: Kind[Any]) -> Any:
        """Return the parsed value. If the value is invalid, add a fault and return None."""
        try:
            return read_moment(value, self._changed_at) if kind is MOMENT else kind.read(value)
        except ValueError as error:
            self._wrong(path, value, kind, str(error))
            return None

    def _is_table(self, value: object, path: KeyPath) -> TypeGuard[dict[str, Any]]:
        if not isinstance(value, dict):
            self._fault(path, f"{_dotted(path)} must be a table, not {shown(value)}")
        return isinstance(value, dict)

    def _wrong(self, path: KeyPath, value: object, kind: Kind[Any], more: str = "") -> None:
        said = f" ({more})" if more else ""
        self._fault(path, f"{_dotted(path)} must be {kind.expected}, not {shown(value)}{said}")

    def _unknown(self, path: KeyPath, known: list[str]) -> None:
        name = str(path[-1])
        close = get_close_matches(name.lower(), [each.lower() for each in known], 1)
        meant = next((each for each in known if close and each.lower() == close[0]), None)
        tip = f"did you mean {meant}?" if meant else f"possible keys: {', '.join(known)}"
        self._fault(path, f"unknown setting {shown(_dotted(path))}: {tip}")

    def _fault(self, path: KeyPath, text: str) -> None:
        self._faults.append(SettingsFault(text, self._origin(path)))

    def _origin(self, path: KeyPath) -> Origin:
        return Origin(self._layer, self._shown_file, self._places.line_of(path))


def _dotted(path: KeyPath) -> str:
    return ".".join(str(part) for part in path if isinstance(part, str))
