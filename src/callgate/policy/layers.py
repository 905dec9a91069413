"""The layers of settings laid over each other.

    managed        /etc/callgate/settings.toml      the machine's owner
    user           <config>/settings.toml           the person
    project        <root>/.callgate/settings.toml         the repository
    local          <root>/.callgate/settings.local.toml   the repository too: an archive of a folder can hold this file
    command line   --settings FILE, --mode, --allow, --ask, --deny
    session        what was said since

Rules of all layers count together: a deny anywhere stands. Of a plain value the later layer's counts, except that

* what managed says stands, unless another layer is stricter;
* what a repository says counts only if it is stricter than what all others say, and its allow rules never do.

Its deny and ask rules count without trust: they can only tighten and run nothing, and a person who opens a folder for
the first time is the one who needs them. Its hooks, and all else that runs code, count only when it is trusted.

Modes are compared by the strictness in ``words.modes``; the defaults of all values are in ``keys.DEFAULTS``.

Only the folder that is the workspace is looked at, none above it and none below it. ``.env`` files are never read.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import cast, get_args

from callgate.policy.entries import IN_REPOSITORY, HookLine, Layer, RuleLine, SettingsFault
from callgate.policy.keys import DEFAULTS
from callgate.policy.settings import Settings, SetValue, faulty, read_settings, shown
from callgate.words.decisions import Effect, Origin
from callgate.words.modes import MODES, Mode, is_stricter
from callgate.words.noun import nothing, noun

MANAGED = Path("/etc/callgate/settings.toml")
FOLDER = ".callgate"
FILES: tuple[tuple[Layer, str], ...] = (("project", "settings.toml"), ("local", "settings.local.toml"))
"""The settings files of a repository, in its folder ``.callgate``."""

_RUN_CODE = ("questions.notify",)
_NAMED = 5
"""As many lines are named in a note."""


@noun
class Layers:
    """The settings that count, with their origin. ``values`` holds only what was set, not DEFAULTS. ``faults``
    close the gate; ``notes`` say what was ignored, for the person."""

    rules: tuple[RuleLine, ...] = ()
    hooks: tuple[HookLine, ...] = ()
    values: Mapping[str, SetValue] = field(default_factory=nothing)
    faults: tuple[SettingsFault, ...] = ()
    notes: tuple[SettingsFault, ...] = ()

    def value(self, name: str) -> str | int | float | None:
        return self.values[name].value if name in self.values else DEFAULTS[name]


def read_repository(root: Path) -> tuple[Settings, ...]:
    """Reads the repository's own settings files. One that leads outside of it is a fault: what it leads to is not the
    repository's to show, and could change without a question to the person."""
    found: list[Settings] = []
    for layer, name in FILES:
        file = root / FOLDER / name
        if is_within(os.path.realpath(file), os.path.realpath(root)):
            found.append(read_settings(file, layer))
        else:
            found.append(faulty(file, layer, "this leads outside the repository: put a file in its place"))
    return tuple(found)


def spoken(
    layer: Layer,
    *,
    mode: Mode | None = None,
    allow: Iterable[str] = (),
    ask: Iterable[str] = (),
    deny: Iterable[str] = (),
    values: Mapping[str, str | int | float] | None = None,
) -> Settings:
    """Settings that were given without a file, by ``--mode``, ``--allow`` and ``--max-turns``."""
    origin = Origin(layer)
    plain = {**({} if mode is None else {"mode": mode}), **(values or {})}
    listed: tuple[tuple[Effect, Iterable[str]], ...] = (("allow", allow), ("ask", ask), ("deny", deny))
    rules = tuple(RuleLine(effect, text, origin) for effect, texts in listed for text in texts)
    return Settings(layer, rules=rules, plain=tuple(SetValue(name, value, origin) for name, value in plain.items()))


def gather(settings: Sequence[Settings], *, trusted: bool, tighten: Sequence[SetValue] = ()) -> Layers:
    """Lays them over each other. Within a layer the later one counts. ``trusted``: the repository is trusted;
    ``tighten`` are values from elsewhere that, like those of a repository, count only if they are stricter."""
    ordered = sorted(settings, key=lambda each: get_args(Layer).index(each.layer))
    notes: list[SettingsFault] = []
    for each in ordered:
        if each.layer in IN_REPOSITORY:
            notes += _ignored(each, trusted=trusted)
    values: dict[str, SetValue] = {}
    for name in DEFAULTS:
        value = _value(name, ordered, tighten, notes, trusted=trusted)
        if value is not None:
            values[name] = value
    return Layers(
        tuple(rule for each in ordered for rule in each.rules if not _is_grant(each, rule)),
        tuple(hook for each in ordered for hook in each.hooks if trusted or each.layer not in IN_REPOSITORY),
        values,
        tuple(fault for each in ordered for fault in each.faults),
        tuple(notes),
    )


def is_within(path: str, folder: str) -> bool:
    """True if a resolved path is the folder or beneath it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_grant(settings: Settings, rule: RuleLine) -> bool:
    return settings.layer in IN_REPOSITORY and rule.effect == "allow"


def _ignored(settings: Settings, *, trusted: bool) -> list[SettingsFault]:
    notes: list[SettingsFault] = []
    grants = [rule.origin for rule in settings.rules if _is_grant(settings, rule)]
    if grants:
        what = "allow rules are ignored, because a repository can only tighten: put yours into your own settings"
        notes.append(_note(what, grants))
    if settings.hooks and not trusted:
        what = "hooks do nothing before this folder is trusted"
        notes.append(_note(what, [hook.origin for hook in settings.hooks]))
    return notes


def _note(what: str, origins: Sequence[Origin]) -> SettingsFault:
    lines = ", ".join(str(origin.line) for origin in origins[:_NAMED])
    more = f" and {len(origins) - _NAMED} more" if len(origins) > _NAMED else ""
    return SettingsFault(f"{what} (lines {lines}{more})" if len(origins) > 1 else what, origins[0])


def _value(
    name: str, settings: Sequence[Settings], tighten: Sequence[SetValue], notes: list[SettingsFault], *, trusted: bool
) -> SetValue | None:
    def said_by(is_meant: Callable[[Layer], bool]) -> list[SetValue]:
        return [said for each in settings if is_meant(each.layer) for said in each.plain if said.name == name]

    ruling = said_by(lambda layer: layer == "managed")
    own = said_by(lambda layer: layer != "managed" and layer not in IN_REPOSITORY)
    value = own[-1] if own else None
    if ruling and (value is None or not _is_stricter(value, ruling[-1].value)):
        if value is not None and value.value != ruling[-1].value:
            notes.append(_overruled(value, f"{ruling[-1].origin} says {shown(ruling[-1].value)}, and that stands"))
        value = ruling[-1]
    for said in (*said_by(lambda layer: layer in IN_REPOSITORY), *(each for each in tighten if each.name == name)):
        if name in _RUN_CODE:
            if trusted and value is None:
                value = said
            else:
                why = "you have your own" if trusted else "it does nothing before this folder is trusted"
                notes.append(_overruled(said, why))
            continue
        current = DEFAULTS[name] if value is None else value.value
        if _is_stricter(said, current):
            value = said
        elif said.value != current:
            notes.append(_overruled(said, f"it can only be made stricter here than {shown(current)}"))
    return value


def _overruled(said: SetValue, why: str) -> SettingsFault:
    return SettingsFault(f"{said.name} = {shown(said.value)} is ignored: {why}", said.origin)


def _is_stricter(said: SetValue, than: str | int | float | None) -> bool:
    if isinstance(said.value, str):
        return said.value in MODES and (than not in MODES or is_stricter(cast(Mode, said.value), cast(Mode, than)))
    return said.value < (than if isinstance(than, int | float) else math.inf)
