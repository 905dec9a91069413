"""Combines the layers of settings.

    managed        /etc/callgate/settings.toml             the administrator
    user           <config>/settings.toml                  the user
    project        <root>/.callgate/settings.toml          the repository
    local          <root>/.callgate/settings.local.toml    the repository: a copied folder may contain the file
    command line   --settings FILE, --mode, --allow, --ask, --deny
    session        set during the session

Rules of all layers apply together: a deny in any layer overrides every allow. For other settings the value of the
later layer is used, with these exceptions:

* A managed value is only overridden by a stricter value.
* A value of a repository is used only if it is stricter than all other values.
* Models and commands (``questions.notify``, ``statusline.command``) of a repository are used only if the repository is
  trusted and the user has set none.

Options of models and servers are merged by name. The later layer overrides the earlier one, and the managed layer
overrides all others. A repository cannot set these options, because a base URL, a header or a command could send the
user's key elsewhere. A repository cannot set key bindings either, because a key in a question must not get an
unexpected meaning.

Deny and ask rules of a repository are used even if it is not trusted, because they only tighten. Its allow rules are
never used. Its hooks, and everything else that runs code, are used only if it is trusted.

``words.modes`` compares modes; ``setting_rows`` has the defaults. Only the folder of the workspace is searched for
settings, not its parents or children. ``.env`` files are never read.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, cast, get_args

from callgate.policy.entries import IN_REPOSITORY, HookLine, KeyLine, Layer, NamedLine, RuleLine, SettingsFault
from callgate.policy.protected import is_beneath
from callgate.policy.setting_rows import VALUE_ROWS, Setting, SettingValues
from callgate.policy.settings import LayerSettings, SetValue, faulty, read_settings, shown
from callgate.words.decisions import Effect, Origin
from callgate.words.model import RequestOptions, ServerSettings
from callgate.words.modes import MODES, Mode, is_stricter
from callgate.words.noun import nothing, noun
from callgate.words.tool_search import EXECUTE, SEARCH

MANAGED = Path("/etc/callgate/settings.toml")
FOLDER = ".callgate"
FILES: tuple[tuple[Layer, str], ...] = (("project", "settings.toml"), ("local", "settings.local.toml"))
"""The settings files in the folder ``.callgate`` of a repository."""

Values = Sequence[SetValue]
_FOREIGN = "{} are ignored, because a repository {}: put them into your own settings"
_NAMED = 5
"""The maximum number of line numbers in a note."""


@noun
class Layers:
    """The effective settings with their origins.

    values  the settings that have a value in some layer
    faults  errors; while there is a fault, the gate denies every call
    notes   descriptions of ignored settings
    """

    rules: tuple[RuleLine, ...] = ()
    hooks: tuple[HookLine, ...] = ()
    values: Mapping[str, SetValue] = field(default_factory=nothing)
    options: Mapping[str, NamedLine[RequestOptions]] = field(default_factory=nothing)
    servers: Mapping[str, NamedLine[ServerSettings]] = field(default_factory=nothing)
    keybindings: tuple[KeyLine, ...] = ()
    """For each action the last entry is used."""
    faults: tuple[SettingsFault, ...] = ()
    notes: tuple[SettingsFault, ...] = ()

    @property
    def settings(self) -> SettingValues:
        set_fields: dict[str, Any] = {VALUE_ROWS[name].field: said.value for name, said in self.values.items()}
        return SettingValues(**set_fields)


def read_repository(root: Path) -> tuple[LayerSettings, ...]:
    """Read the settings files of the repository. A file that is a link out of the repository is a fault, because its
    target could change without a change of the repository."""
    found: list[LayerSettings] = []
    for layer, name in FILES:
        file = root / FOLDER / name
        if is_beneath(os.path.realpath(file), os.path.realpath(root)):
            found.append(read_settings(file, layer))
        else:
            found.append(faulty(file, layer, "this link leaves the repository: replace it with a regular file"))
    return tuple(found)


def settings_of_arguments(
    layer: Layer,
    *,
    mode: Mode | None = None,
    allow: Iterable[str] = (),
    ask: Iterable[str] = (),
    deny: Iterable[str] = (),
    values: Mapping[str, str | int | float] | None = None,
) -> LayerSettings:
    """Return the settings given by options such as ``--mode``, ``--allow`` or ``--max-turns``."""
    origin = Origin(layer)
    plain = {**({} if mode is None else {"mode": mode}), **(values or {})}
    listed: tuple[tuple[Effect, Iterable[str]], ...] = (("allow", allow), ("ask", ask), ("deny", deny))
    rules = tuple(RuleLine(effect, text, origin) for effect, texts in listed for text in texts)
    set_values = tuple(SetValue(name, value, origin) for name, value in plain.items())
    return LayerSettings(layer, rules=rules, plain=set_values)


def gather(settings: Sequence[LayerSettings], *, trusted: bool, tighten: Values = (), override: Values = ()) -> Layers:
    """Combine the layers of settings. Within a layer the last value is used.

    trusted   True if the user trusts the repository
    tighten   values from other sources that are used only if they are stricter
    override  values that are always used
    """
    ordered = sorted(settings, key=lambda each: get_args(Layer).index(each.layer))
    notes: list[SettingsFault] = []
    for each in ordered:
        if each.layer in IN_REPOSITORY:
            notes += _ignored(each, trusted=trusted)
        notes += [SettingsFault(text, rule.origin) for rule in each.rules if (text := _about_search(rule)) is not None]
    values: dict[str, SetValue] = {}
    for row in VALUE_ROWS.values():
        value = _value(row, ordered, tighten, notes, trusted=trusted)
        if value is not None:
            values[row.name] = value
    values |= {said.name: said for said in override}
    return Layers(
        rules=tuple(rule for each in ordered for rule in each.rules if not _is_grant(each, rule)),
        hooks=tuple(hook for each in ordered for hook in each.hooks if trusted or each.layer not in IN_REPOSITORY),
        values=values,
        options={line.name: line for each in _by_rank(ordered) for line in each.options},
        servers={line.name: line for each in _by_rank(ordered) for line in each.servers},
        keybindings=tuple(line for each in _by_rank(ordered) for line in each.keybindings),
        faults=tuple(fault for each in ordered for fault in each.faults),
        notes=tuple(notes),
    )


def _by_rank(ordered: Sequence[LayerSettings]) -> Iterable[LayerSettings]:
    """Return the layers outside the repository in the order of their rank; the managed layer is last."""
    outside = [each for each in ordered if each.layer not in IN_REPOSITORY]
    return sorted(outside, key=lambda each: each.layer == "managed")


def _is_grant(settings: LayerSettings, rule: RuleLine) -> bool:
    return settings.layer in IN_REPOSITORY and rule.effect == "allow"


def _ignored(settings: LayerSettings, *, trusted: bool) -> list[SettingsFault]:
    notes: list[SettingsFault] = []
    grants = [rule.origin for rule in settings.rules if _is_grant(settings, rule)]
    if grants:
        notes.append(_note(_FOREIGN.format("allow rules", "can only add restrictions"), grants))
    options = [line.origin for line in (*settings.options, *settings.servers)]
    if options:
        notes.append(_note(_FOREIGN.format("options of models and servers", "could send your key elsewhere"), options))
    if settings.keybindings:
        what = _FOREIGN.format("key bindings", "must not change your keys")
        notes.append(_note(what, [line.origin for line in settings.keybindings]))
    if settings.hooks and not trusted:
        what = "hooks are not run until you trust this folder: see callgate trust show"
        notes.append(_note(what, [hook.origin for hook in settings.hooks]))
    return notes


def _about_search(rule: RuleLine) -> str | None:
    """Return a note on a rule about a tool of tool search whose effect differs from its wording; None for any other
    rule."""
    name = rule.text.partition("(")[0].strip()
    if name == EXECUTE:
        return f"{rule.effect} {rule.text} has no effect: write a rule for the called tool, or mcp__* for all servers"
    if name == SEARCH and rule.effect == "deny":
        return f'deny {rule.text} does not stop calls of known tools: deny the tools, or set tools.search = "off"'
    return None


def _note(what: str, origins: Sequence[Origin]) -> SettingsFault:
    lines = ", ".join(str(origin.line) for origin in origins[:_NAMED])
    more = f" and {len(origins) - _NAMED} more" if len(origins) > _NAMED else ""
    return SettingsFault(f"{what} (lines {lines}{more})" if len(origins) > 1 else what, origins[0])


def _value(
    row: Setting, settings: Sequence[LayerSettings], tighten: Values, notes: list[SettingsFault], *, trusted: bool
) -> SetValue | None:
    def said_by(is_meant: Callable[[Layer], bool]) -> list[SetValue]:
        return [said for each in settings if is_meant(each.layer) for said in each.plain if said.name == row.name]

    ruling = said_by(lambda layer: layer == "managed")
    own = said_by(lambda layer: layer != "managed" and layer not in IN_REPOSITORY)
    value = own[-1] if own else None
    if ruling and (value is None or not _is_stricter(value, ruling[-1].value)):
        if value is not None and value.value != ruling[-1].value:
            notes.append(_overruled(value, f"{ruling[-1].origin} sets {shown(ruling[-1].value)}, which has priority"))
        value = ruling[-1]
    for said in (*said_by(lambda layer: layer in IN_REPOSITORY), *(each for each in tighten if each.name == row.name)):
        if row.repository != "stricter":
            if trusted and value is None:
                value = said
            elif row.repository == "trusted":
                untrusted = "settings of this folder are not used until you trust it: see callgate trust show"
                notes.append(_overruled(said, "your own settings set another value" if trusted else untrusted))
            continue
        current = row.default if value is None else value.value
        if _is_stricter(said, current):
            value = said
        elif said.value != current:
            notes.append(_overruled(said, f"a repository can only make {shown(current)} stricter"))
    return value


def _overruled(said: SetValue, why: str) -> SettingsFault:
    return SettingsFault(f"{said.name} = {shown(said.value)} is ignored: {why}", said.origin)


def _is_stricter(said: SetValue, than: str | int | float | tuple[str, ...] | None) -> bool:
    if isinstance(said.value, tuple):
        from callgate.policy.hosts import includes  # hosts are the only list setting

        return said.value != than and includes(than if isinstance(than, tuple) else (), said.value)
    if isinstance(said.value, str):
        return said.value in MODES and (than not in MODES or is_stricter(cast(Mode, said.value), cast(Mode, than)))
    return said.value < (than if isinstance(than, int | float) else math.inf)
