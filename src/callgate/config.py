"""Settings files and the environment, made into one frozen Config.

The environment is read, ``.env`` files never are. Variables come from many hands (a shell hook, an editor that opens a
repository, a container made from one), so that each can do little: ``policy.variables`` lists them. Those that name a
folder may not name one in the workspace, and CALLGATE_MODE can only make the mode stricter.

The managed settings file is not to be moved by any of them.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from time import time
from typing import Any, Literal, cast

from callgate.host.environment import max_concurrency_from
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
from callgate.policy.keys import KINDS, READERS, SETTINGS
from callgate.policy.layers import FILES, FOLDER, MANAGED, Layers, gather, is_within, read_repository, spoken
from callgate.policy.memory import Memory
from callgate.policy.settings import Settings, SetValue, read_settings, settings_of, shown
from callgate.policy.trust import ChangedFolder, Trust, Trusted, TrustState, Untrusted
from callgate.policy.variables import VARIABLES
from callgate.transcript.session_paths import data_folder
from callgate.words.decisions import Origin
from callgate.words.errors import UsageError
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.model import EFFORTS, ModelSettings, WantedEffort
from callgate.words.modes import Mode, check_mode, is_stricter
from callgate.words.noun import noun

AnyPath = str | PathLike[str]

_FILE = "settings.toml"


@noun
class Config:
    """All that was set. With ``faults`` the gate is closed: the judge must deny every call and name them.
    ``notes`` say what was ignored and why. ``own_data`` says that the data folder is the person's own, so that trust
    and remembered answers count."""

    root: Path
    home: Path
    data: Path
    mode: Mode = "default"
    rules: tuple[RuleLine, ...] = ()
    hooks: tuple[HookLine, ...] = ()
    limits: LoopLimits = LoopLimits()
    deadline: float | None = None
    """Seconds that a question waits for its answer; None waits for ever."""
    notify: str | None = None
    """A command line that is run for every question, for people who are away."""
    max_concurrency: int = ExecutorSettings().max_concurrency
    background_after: float | None = None
    """Seconds after which a command goes on in the background; None leaves it to its timeout."""
    models: ModelSettings = ModelSettings()
    auto_allow: bool = True
    """Commands in a proven sandbox run without a question; see ``frees_commands``."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts that commands in a sandbox may reach."""
    compacts: bool = True
    """The history is compacted by itself before it is too long for the model."""
    titles: bool = True
    """A cheap model writes the title of a session."""
    tool_search: str = "on"
    """The mode of tool search: on, off, auto or auto:N."""
    mcp_connect: float = 30.0
    """Seconds in which an MCP server must connect."""
    mcp_call: float = 600.0
    """Seconds in which an MCP server must answer a call."""
    statusline: StatusLineSettings = StatusLineSettings()
    theme: str = "auto"
    """The colours of the terminal: auto, dark, light or mono."""
    view: str = "inline"
    """The view of the terminal: inline or full."""
    editing: Literal["emacs", "vim"] = "emacs"
    """The keys that edit the input line of the terminal."""
    keybindings: tuple[KeyLine, ...] = ()
    """Other keys for actions of the terminal; the terminal checks them."""
    trust: TrustState = Untrusted()
    faults: tuple[SettingsFault, ...] = ()
    notes: tuple[SettingsFault, ...] = ()
    set_values: tuple[SetValue, ...] = ()
    """The settings that a file, a variable or an argument has set, with their origins."""
    own_data: bool = True
    folder: Path | None = None
    """The folder of the person's own settings and tools; None if it is not set."""
    files: tuple[SettingsFile, ...] = ()
    """The settings files of this workspace, there or not, those that count less first."""

    def mode_for(self, recorded: Mode | None) -> Mode:
        """The mode of a session: the one on record, unless a stricter one was asked for since."""
        if recorded is None:
            return self.mode
        is_set = any(each.name == "mode" for each in self.set_values)
        return self.mode if is_set and is_stricter(self.mode, recorded) else recorded

    @property
    def executor_settings(self) -> ExecutorSettings:
        return replace(ExecutorSettings(), max_concurrency=self.max_concurrency, patience=self.deadline)

    @property
    def frees_commands(self) -> bool:
        """True if a command in a proven sandbox needs no question."""
        return self.auto_allow and self.has_no_untrusted_files

    @property
    def has_no_untrusted_files(self) -> bool:
        """True if the folder is trusted, or brings nothing along to trust."""
        if isinstance(self.trust, Trusted):
            return True
        found = fingerprint(self.root)
        return not found.files and not found.problem

    def memory(self) -> Memory | None:
        """The remembered answers for this workspace; None where there is no place for them."""
        return Memory(self.data, self.root) if self.own_data else None

    def still_trusted(self, digest: str) -> bool:
        """Compares the folder's own files with those that the person trusted, for good, or this once (``digest``)."""
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
    """Reads the settings files and the environment for a workspace. A fault in a file is in ``faults``; a wrong
    argument or variable is a UsageError.

    root              the workspace: the current folder unless given
    mode              the permission mode, in place of the one in the files
    allow, ask, deny  further rules
    settings          one more settings file, above the others, or what would be in it
    values            single settings by their keys, such as {"limits.max_turns": 10}
    trust             trusts the folder this once, as it is
    environ, home     in place of the process's own
    managed           the file of the administrator: for tests alone, no variable and no file names it
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
    state, repository = _repository(place, Trust(data) if has_own_data else None)
    if trust:
        state = Trusted(0.0)
    folder = _config_folder(environment, place, own)
    mode = None if mode is None else check_mode(mode)
    files = _files(MANAGED if managed is None else Path(managed), folder, place)
    layers = gather(
        (
            *(read_settings(each.path, each.layer) for each in files if each.layer in ("managed", "user")),
            *repository,
            *_from_environment(environment),
            *(() if settings is None else (_asked_for(settings),)),
            spoken(
                "command line",
                mode=mode,
                allow=_rules(allow),
                ask=_rules(ask),
                deny=_rules(deny),
                values=_values(values or {}),
            ),
        ),
        trusted=isinstance(state, Trusted),
        tighten=_stricter_mode(environment),
    )
    notes += [SettingsFault(text, Origin("project", str(place))) for text in _about(state)]
    config = _laid(Config(place, own, data, trust=state, own_data=has_own_data, folder=folder, files=files), layers)
    config = replace(config, models=_models(layers, environment))
    memory = config.memory()
    faults = config.faults if memory is None else (*config.faults, *memory.faults())
    return replace(config, faults=faults, notes=(*config.notes, *notes))


def _files(managed: Path, folder: Path, root: Path) -> tuple[SettingsFile, ...]:
    own = (SettingsFile(layer, root / FOLDER / name) for layer, name in FILES)
    return (SettingsFile("managed", managed), SettingsFile("user", folder / _FILE), *own)


def _laid(config: Config, layers: Layers) -> Config:
    # The casts hold, because every value was read as what its key says.
    return replace(
        config,
        mode=cast(Mode, layers.value("mode")),
        rules=layers.rules,
        hooks=layers.hooks,
        limits=LoopLimits(
            max_turns=cast(int | None, layers.value("limits.max_turns")),
            denials_in_a_row=cast(int, layers.value("limits.denials_in_a_row")),
            denials=cast(int, layers.value("limits.denials_in_session")),
            max_output_tokens=cast(int | None, layers.value("limits.max_output_tokens")),
            max_seconds=cast(float | None, layers.value("limits.max_seconds")),
            max_cost=cast(float | None, layers.value("limits.max_cost")),
            warn_cost=cast(float | None, layers.value("limits.warn_cost")),
        ),
        deadline=cast(float | None, layers.value("questions.deadline")),
        notify=cast(str | None, layers.value("questions.notify")),
        max_concurrency=cast(int, layers.value("limits.max_concurrency")),
        background_after=cast(float | None, layers.value("limits.background_after")),
        auto_allow=bool(layers.value("sandbox.auto_allow")),
        allow_hosts=cast(tuple[str, ...], layers.value("sandbox.allow_hosts")),
        compacts=bool(layers.value("session.compact")),
        titles=bool(layers.value("session.title")),
        tool_search=cast(str, layers.value("tools.search")),
        mcp_connect=cast(float, layers.value("mcp.connect_timeout")),
        mcp_call=cast(float, layers.value("mcp.call_timeout")),
        statusline=_status_line(layers),
        theme=cast(str, layers.value("tui.theme")),
        view=cast(str, layers.value("tui.view")),
        editing=cast(Literal["emacs", "vim"], layers.value("tui.editing")),
        keybindings=layers.keybindings,
        faults=layers.faults,
        notes=layers.notes,
        set_values=tuple(layers.values.values()),
    )


def _status_line(layers: Layers) -> StatusLineSettings:
    said = layers.values.get("statusline.command")
    return StatusLineSettings(
        command=cast(str | None, layers.value("statusline.command")),
        refresh=cast(float, layers.value("statusline.refresh")),
        padding=cast(int, layers.value("statusline.padding")),
        from_repository=said is not None and said.origin.layer in IN_REPOSITORY,
    )


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
    if not found or not Path(found).is_absolute():
        raise UsageError("there is no home folder: set HOME to the whole path of one")
    return Path(found)


def _config_folder(environment: Mapping[str, str], root: Path, home: Path) -> Path:
    default = home / ".config" / "callgate"
    for name, below in (("CALLGATE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "callgate")):
        found = environment.get(name)
        if not found:
            continue
        if not Path(found).is_absolute():
            raise UsageError(f"{name} must be a whole path, not {shown(found)}: it would mean another place everywhere")
        folder = Path(found) / below
        if _is_in_workspace(folder, default, root, home):
            raise UsageError(
                f"{name} is {shown(found)}, inside the workspace: a repository would speak for you. Choose another"
            )
        if os.path.lexists(folder) and not folder.is_dir():
            raise UsageError(f"{name} must be a folder, and {shown(found)} is not")
        return folder
    return default


def _is_in_workspace(folder: Path, default: Path, root: Path, home: Path) -> bool:
    """True if a repository could have brought this folder along. It did not bring the default place of the folder,
    and a workspace that holds the home folder is no repository of strangers."""
    inside = is_within(os.path.realpath(folder), str(root))
    return inside and folder != default and not is_within(os.path.realpath(home), str(root))


def _repository(root: Path, store: Trust | None) -> tuple[TrustState, tuple[Settings, ...]]:
    """The state of trust, and the settings of the repository: the very ones that were compared."""
    if store is None or not store.knows(root):
        return Untrusted(), read_repository(root)
    return store.look(root)


def _about(state: TrustState) -> tuple[str, ...]:
    if isinstance(state, ChangedFolder):
        return ("this folder changed since you trusted it, so it is not trusted now: callgate trust show says how",)
    return (f"this folder is not trusted: {state.why}",) if isinstance(state, Untrusted) and state.why else ()


def _asked_for(given: AnyPath | Mapping[str, Any]) -> Settings:
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
    kinds = {key.name: key.kind for key in SETTINGS}
    for name, value in values.items():
        try:
            READERS[kinds[name]](value)
        except KeyError:
            raise UsageError(f"there is no setting {name!r}") from None
        except ValueError:
            raise UsageError(f"{name} must be {KINDS[kinds[name]]}, not {shown(value)}") from None
    return values


def _rules(texts: Iterable[str]) -> tuple[str, ...]:
    if isinstance(texts, str):
        raise UsageError(f"pass a list of rules, not the text {shown(texts)}")
    found = tuple(texts)
    for text in found:
        if not text.strip():
            raise UsageError("a rule cannot be empty: write a tool's name, such as Bash or Bash(git status)")
    return found


def _from_environment(environment: Mapping[str, str]) -> tuple[Settings, ...]:
    found = {
        "limits.max_concurrency": ("CALLGATE_MAX_CONCURRENCY", max_concurrency_from(environment)),
        "models.default": ("CALLGATE_MODEL", (environment.get("CALLGATE_MODEL") or "").strip() or None),
        "tools.search": ("CALLGATE_TOOL_SEARCH", _search_mode(environment)),
    }
    said = [SetValue(key, value, Origin("environment", name)) for key, (name, value) in found.items() if value]
    return (Settings("command line", plain=tuple(said)),) if said else ()


def _search_mode(environment: Mapping[str, str]) -> str | None:
    wanted = (environment.get("CALLGATE_TOOL_SEARCH") or "").strip()
    try:
        return READERS["search"](wanted) if wanted else None
    except ValueError:
        raise UsageError(f"CALLGATE_TOOL_SEARCH must be {KINDS['search']}, not {shown(wanted)}") from None


def _models(layers: Layers, environment: Mapping[str, str]) -> ModelSettings:
    forced = environment.get("CALLGATE_EFFORT") or None
    if forced is not None and forced not in (*EFFORTS, "auto"):
        raise UsageError(f"CALLGATE_EFFORT must be one of {', '.join(EFFORTS)} or auto, not {shown(forced)}")
    caching = environment.get("CALLGATE_PROMPT_CACHE") or "on"
    if caching not in ("on", "off"):
        raise UsageError(f"CALLGATE_PROMPT_CACHE must be on or off, not {shown(caching)}")
    return ModelSettings(
        default=cast(str | None, layers.value("models.default")),
        cheap=cast(str | None, layers.value("models.cheap")),
        fallback=cast(str | None, layers.value("models.fallback")),
        effort=cast(WantedEffort | None, layers.value("models.effort")),
        forced_effort=forced,
        caching=caching == "on",
        options={name: line.options for name, line in layers.options.items()},
        servers={name: line.server for name, line in layers.servers.items()},
    )


def _stricter_mode(environment: Mapping[str, str]) -> tuple[SetValue, ...]:
    wanted = environment.get("CALLGATE_MODE")
    if not wanted:
        return ()
    try:
        check_mode(cast(Mode, wanted))
    except UsageError as error:
        raise UsageError(f"CALLGATE_MODE: {error}") from None
    return (SetValue("mode", wanted, Origin("environment", "CALLGATE_MODE")),)


def _misspelled(environment: Mapping[str, str]) -> list[SettingsFault]:
    """Variables that look like one of ours: CALLGATE_MOED=plan would otherwise be ignored silently."""
    found: list[SettingsFault] = []
    known = [each.name for each in VARIABLES]
    for name in environment:
        meant = get_close_matches(name, known, 1, cutoff=0.85) if name.startswith("CALLGATE_") else []
        if meant and name not in known:
            found.append(
                SettingsFault(f"there is no such variable: did you mean {meant[0]}?", Origin("environment", name))
            )
    return found
