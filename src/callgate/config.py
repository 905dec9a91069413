"""Combines settings files and environment variables into one frozen Config.

``.env`` files are never read. Environment variables come from many sources (a shell hook, an editor that opens a
repository, a container), so the effect of each is limited: ``policy.setting_rows.VARIABLES`` lists them. A variable
for a folder must name a folder outside the workspace, and CALLGATE_MODE can only make the mode stricter. No variable
changes the path of the managed settings file.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import field
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from time import time
from typing import Any

from callgate.policy.entries import (
    IN_REPOSITORY,
    HookLine,
    KeyLine,
    RuleLine,
    SettingsFault,
    SettingsFile,
    StatusLineSettings,
)
from callgate.policy.fingerprint import fingerprint
from callgate.policy.layers import (
    FILES,
    FOLDER,
    MANAGED,
    Layers,
    gather,
    read_repository,
    settings_of_arguments,
)
from callgate.policy.memory import Memory
from callgate.policy.protected import is_beneath
from callgate.policy.setting_rows import VALUE_ROWS, VARIABLES, SettingValues, VariableUse, from_variables
from callgate.policy.settings import LayerSettings, SetValue, read_settings, settings_of, shown
from callgate.policy.trust import ChangedFolder, Trust, Trusted, TrustState, Untrusted
from callgate.transcript.session_paths import data_folder
from callgate.words.decisions import Origin
from callgate.words.errors import UsageError
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.model import ModelSettings
from callgate.words.modes import Mode, check_mode, is_stricter
from callgate.words.noun import nothing, noun

AnyPath = str | PathLike[str]

_FILE = "settings.toml"


@noun
class Config:
    """The effective settings of a workspace.

    faults    errors in settings; with a fault the gate denies every call and names the fault
    notes     the ignored settings, with the reasons
    own_data  True if the data folder is outside the workspace, so that trust and remembered answers are used
    attended  False if nobody can answer during the run: calls that repeat themselves are then denied instead of asked
    """

    root: Path
    home: Path
    data: Path
    settings: SettingValues = SettingValues()
    origins: Mapping[str, Origin] = field(default_factory=nothing)
    """The origin of each setting that a file, a variable or an argument has set, by key."""
    rules: tuple[RuleLine, ...] = ()
    hooks: tuple[HookLine, ...] = ()
    models: ModelSettings = ModelSettings()
    keybindings: tuple[KeyLine, ...] = ()
    """Keys for actions of the terminal interface, which validates them."""
    trust: TrustState = Untrusted()
    faults: tuple[SettingsFault, ...] = ()
    notes: tuple[SettingsFault, ...] = ()
    own_data: bool = True
    attended: bool = True
    folder: Path | None = None
    """The folder of the user's settings and tools; None if it is not set."""
    files: tuple[SettingsFile, ...] = ()
    """The paths of the settings files of this workspace, lowest precedence first; they may not exist."""

    @property
    def mode(self) -> Mode:
        return self.settings.mode

    def mode_for(self, recorded: Mode | None) -> Mode:
        """Return the mode of a session: the recorded mode, or the mode of the settings if it is stricter. A looser
        mode is not taken from a log in the workspace, where others may write."""
        if recorded is None or (not self.own_data and is_stricter(self.mode, recorded)):
            return self.mode
        return self.mode if "mode" in self.origins and is_stricter(self.mode, recorded) else recorded

    @property
    def limits(self) -> LoopLimits:
        return LoopLimits(
            max_turns=self.settings.limits_max_turns,
            max_output_tokens=self.settings.limits_max_output_tokens,
            max_seconds=self.settings.limits_max_seconds,
            max_cost=self.settings.limits_max_cost,
            warn_cost=self.settings.limits_warn_cost,
            max_tool_calls=self.settings.limits_max_tool_calls,
            max_failures=self.settings.limits_max_failures,
            denials_in_a_row=self.settings.limits_denials_in_a_row,
            denials=self.settings.limits_denials_in_session,
        )

    @property
    def executor_settings(self) -> ExecutorSettings:
        return ExecutorSettings(
            max_concurrency=self.settings.limits_max_concurrency, patience=self.settings.questions_deadline
        )

    @property
    def statusline(self) -> StatusLineSettings:
        origin = self.origins.get("statusline.command")
        return StatusLineSettings(
            command=self.settings.statusline_command,
            refresh=self.settings.statusline_refresh,
            padding=self.settings.statusline_padding,
            from_repository=origin is not None and origin.layer in IN_REPOSITORY,
        )

    @property
    def frees_commands(self) -> bool:
        """True if commands in a proven sandbox run without a question."""
        return self.settings.sandbox_auto_allow and self.has_no_untrusted_files

    @property
    def has_no_untrusted_files(self) -> bool:
        """True if the folder is trusted, or has no files that require trust."""
        if isinstance(self.trust, Trusted):
            return True
        found = fingerprint(self.root)
        return not found.files and not found.problem

    def memory(self) -> Memory | None:
        """Return the remembered answers for this workspace; None if the data folder is in the workspace."""
        return Memory(self.data, self.root) if self.own_data else None

    def still_trusted(self, digest: str) -> bool:
        """Return True if the files of the folder are still trusted. Without stored trust, return True if their
        digest is the given one."""
        store = Trust(self.data)
        if self.own_data and store.knows(self.root):
            return isinstance(store.state(self.root), Trusted)
        return fingerprint(self.root).digest == digest


def load_config(
    root: AnyPath | None = None,
    *,
    mode: Mode | None = None,
    allow: Iterable[str] = (),
    ask: Iterable[str] = (),
    deny: Iterable[str] = (),
    settings: AnyPath | Mapping[str, Any] | None = None,
    values: Mapping[str, str | int | float] | None = None,
    trust: bool = False,
    environ: Mapping[str, str] | None = None,
    home: AnyPath | None = None,
    managed: AnyPath | None = None,
) -> Config:
    """Read the settings files and environment variables for a workspace and return the Config. Errors in files are
    returned in ``faults``. Raise UsageError for an invalid argument or variable.

    root              the workspace; default: the current folder
    mode              the permission mode; overrides the files
    allow, ask, deny  further rules
    settings          a further settings file that overrides the others, or its content
    values            single settings by key, such as {"limits.max_turns": 10}
    trust             True to trust the folder for this run
    environ, home     replace the environment and the home folder of the process
    managed           the administrator's file, for tests; no variable or file sets it
    """
    environment = os.environ if environ is None else environ
    place = _workspace(root)
    own = _home(home, environment)
    data = data_folder({**environment, "HOME": str(own)})
    notes = _misspelled(environment)
    has_own_data = not _is_in_workspace(data, own / ".local" / "share" / "callgate", place, own)
    if not has_own_data:
        text = "this lies in the workspace, so neither trust nor remembered answers count: choose another data folder"
        notes.append(SettingsFault(text, Origin("environment", str(data))))
    store = Trust(data) if has_own_data else None
    known = store is not None and store.knows(place)
    # the settings that were read for the comparison
    state, repository = store.look(place) if store and known else (Untrusted(), read_repository(place))
    if trust:
        state = Trusted(0.0)
    folder = _config_folder(environment, place, own)
    mode = None if mode is None else check_mode(mode)
    files = _files(MANAGED if managed is None else Path(managed), folder, place)
    variables: dict[VariableUse, list[SetValue]] = {"value": [], "tightens": [], "overrides": []}
    for name, value in from_variables(environment).items():
        row = VALUE_ROWS[name]
        variables[row.variable_use].append(SetValue(name, value, Origin("environment", row.variable)))
    layers = gather(
        (
            *(read_settings(each.path, each.layer) for each in files if each.layer in ("managed", "user")),
            *repository,
            LayerSettings("command line", plain=tuple(variables["value"])),
            *(() if settings is None else (_asked_for(settings),)),
            settings_of_arguments(
                "command line",
                mode=mode,
                allow=_rules(allow),
                ask=_rules(ask),
                deny=_rules(deny),
                values=_values(values or {}),
            ),
        ),
        trusted=isinstance(state, Trusted),
        tighten=variables["tightens"],
        override=variables["overrides"],
    )
    if isinstance(state, ChangedFolder):
        text = "this folder changed since you trusted it, so it is not trusted now: callgate trust show says how"
        notes.append(SettingsFault(text, Origin("project", str(place))))
    elif isinstance(state, Untrusted) and state.why:
        notes.append(SettingsFault(f"this folder is not trusted: {state.why}", Origin("project", str(place))))
    memory = Memory(data, place) if has_own_data else None
    return Config(
        place,
        own,
        data,
        layers.settings,
        {name: said.origin for name, said in layers.values.items()},
        rules=layers.rules,
        hooks=layers.hooks,
        models=_models(layers, environment),
        keybindings=layers.keybindings,
        trust=state,
        faults=(*layers.faults, *(memory.faults() if memory else ())),
        notes=(*layers.notes, *notes),
        own_data=has_own_data,
        folder=folder,
        files=files,
    )


def _files(managed: Path, folder: Path, root: Path) -> tuple[SettingsFile, ...]:
    own = (SettingsFile(layer, root / FOLDER / name) for layer, name in FILES)
    return (SettingsFile("managed", managed), SettingsFile("user", folder / _FILE), *own)


def _workspace(root: AnyPath | None) -> Path:
    try:
        place = Path(os.path.realpath(Path.cwd() if root is None else Path(root)))
    except (OSError, ValueError) as error:
        raise UsageError(f"the workspace cannot be found: {error}") from error
    if not place.is_dir():
        raise UsageError(f"the workspace {fspath(place)!r} is not a folder")
    return place


def _home(home: AnyPath | None, environment: Mapping[str, str]) -> Path:
    found = home or environment.get("HOME") or environment.get("USERPROFILE")
    data = environment.get("CALLGATE_DATA_DIR")
    if not found and data:
        found = os.path.expanduser("~")  # the home folder in the list of users
        if not os.path.isabs(found):  # services and containers may run as a user without one
            found = os.path.abspath(data)
    if not found or not Path(found).is_absolute():
        raise UsageError("there is no home folder: set HOME to its absolute path, or CALLGATE_DATA_DIR to a folder")
    return Path(found)


def _config_folder(environment: Mapping[str, str], root: Path, home: Path) -> Path:
    default = home / ".config" / "callgate"
    for name, below in (("CALLGATE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "callgate")):
        found = environment.get(name)
        if not found:
            continue
        if not Path(found).is_absolute():
            raise UsageError(f"{name} must be an absolute path, not {shown(found)}")
        folder = Path(found) / below
        if _is_in_workspace(folder, default, root, home):
            raise UsageError(f"{name} is {shown(found)}, inside the workspace: choose a folder outside it")
        if os.path.lexists(folder) and not folder.is_dir():
            raise UsageError(f"{name} must be a folder, and {shown(found)} is not")
        return folder
    return default


def _is_in_workspace(folder: Path, default: Path, root: Path, home: Path) -> bool:
    """Return True if the folder is in the workspace, where a repository may write. Return False for the default
    path, and if the workspace contains the home folder."""
    inside = is_beneath(os.path.realpath(folder), str(root))
    return inside and folder != default and not is_beneath(os.path.realpath(home), str(root))


def _asked_for(given: AnyPath | Mapping[str, Any]) -> LayerSettings:
    if isinstance(given, Mapping):
        found = settings_of(given, "command line", time())
        if found.faults:
            raise UsageError(f"these settings are wrong: {found.faults[0].text}")
        return found
    file = Path(given)
    found = read_settings(file, "command line")
    if not found.sha256 and not found.faults:
        raise UsageError(f"there is no settings file {shown(str(file))}")
    return found


def _values(values: Mapping[str, str | int | float]) -> Mapping[str, str | int | float]:
    for name, value in values.items():
        if name not in VALUE_ROWS:
            raise UsageError(f"unknown setting {name!r}")
        kind = VALUE_ROWS[name].kind
        try:
            kind.read(value)
        except ValueError:
            raise UsageError(f"{name} must be {kind.expected}, not {shown(value)}") from None
    return values


def _rules(texts: Iterable[str]) -> tuple[str, ...]:
    if isinstance(texts, str):
        raise UsageError(f"pass a list of rules, not the text {shown(texts)}")
    found = tuple(texts)
    for text in found:
        if not text.strip():
            raise UsageError("a rule cannot be empty: write a tool's name, such as Bash or Bash(git status)")
    return found


def _models(layers: Layers, environment: Mapping[str, str]) -> ModelSettings:
    caching = environment.get("CALLGATE_PROMPT_CACHE") or "on"
    if caching not in ("on", "off"):
        raise UsageError(f"CALLGATE_PROMPT_CACHE must be on or off, not {shown(caching)}")
    settings, effort = layers.settings, layers.values.get("models.effort")
    is_forced = effort is not None and effort.origin.layer == "environment"
    return ModelSettings(
        default=settings.models_default,
        cheap=settings.models_cheap,
        fallback=settings.models_fallback,
        effort=settings.models_effort,
        forced_effort=settings.models_effort if is_forced else None,
        caching=caching == "on",
        options={name: line.value for name, line in layers.options.items()},
        servers={name: line.value for name, line in layers.servers.items()},
    )


def _misspelled(environment: Mapping[str, str]) -> list[SettingsFault]:
    """Return a note for each variable with a name close to a known one. Without the note CALLGATE_MOED=plan would be
    ignored silently."""
    found: list[SettingsFault] = []
    known = [each.name for each in VARIABLES]
    for name in environment:
        meant = get_close_matches(name, known, 1, cutoff=0.85) if name.startswith("CALLGATE_") else []
        if meant and name not in known:
            found.append(SettingsFault(f"unknown variable: did you mean {meant[0]}?", Origin("environment", name)))
    return found
