"""The models of an agent, opened for a Config: the main model, the cheap model, the fallback, and their prices."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.config import Config, load_config
from callgate.core.ports import Clock
from callgate.host.clock import LoopClock
from callgate.host.environment import OWN_ENVIRONMENT
from callgate.providers.keys import KeyStore
from callgate.providers.model_source import REPLAY, ConfiguredModel, ModelSource, open_replay
from callgate.words.errors import UsageError
from callgate.words.messages import Usage
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.providers.wire_recording import WireRecorder

__all__ = [
    "AgentModels",
    "ModelChoice",
    "keep_keys_private",
    "model_choices",
    "model_source",
    "open_model",
    "open_models",
]


@noun
class AgentModels:
    """The models of an agent.

    model     the main model
    cheap     the model for titles and summaries; may be ``model`` itself
    fallback  the model that is used when ``model`` is overloaded, or None
    price     returns the price in dollars of one request by model name and usage; None if it is unknown
    open      opens a further model by its name, as ``open_model`` does; an open model is returned again
    opened    returns all open models
    """

    model: ConfiguredModel
    cheap: ConfiguredModel
    fallback: ConfiguredModel | None
    price: Callable[[str, Usage], float | None]
    open: Callable[[str], ConfiguredModel]
    opened: Callable[[], Sequence[ConfiguredModel]]

    async def aclose(self) -> None:
        """Close the open connections of all models."""
        for each in self.opened():
            await each.aclose()


@noun
class ModelChoice:
    """A model that the user may choose.

    window   the size of the context window in tokens
    missing  the command that sets the missing key; empty if the model can be used
    """

    name: str
    window: int
    missing: str = ""
    local: bool = False


def model_choices(config: Config, *, environ: Mapping[str, str] | None = None) -> tuple[ModelChoice, ...]:
    """Return the models of the catalogue and of running local servers, usable models first. Blocks while it searches
    for keys and queries local servers."""
    source = model_source(config, environ=environ)
    found: list[ModelChoice] = []
    for name in source.catalogue.names:
        try:
            model = source.catalogue.resolve(name)
            facts = source.catalogue.facts(model)
        except UsageError:
            continue
        keyless = source.key(model.provider) is None and source.needs_key(model.provider)
        missing = f"callgate auth set {model.provider}" if keyless else ""
        found.append(ModelChoice(str(model), facts.context_tokens, missing))
    for provider, row in source.catalogue.servers.items():
        for name in source.local_models(provider) if row.local else ():
            model = source.catalogue.resolve(f"{provider}/{name}")
            found.append(ModelChoice(str(model), source.catalogue.facts(model).context_tokens, local=True))
    return tuple(sorted({each.name: each for each in found}.values(), key=lambda each: bool(each.missing)))


def model_source(
    config: Config, *, clock: Clock | None = None, environ: Mapping[str, str] | None = None
) -> ModelSource:
    """Return the source that opens models with the settings of a Config and the keys of the user."""
    return ModelSource(
        config.models,
        clock=clock or LoopClock(),
        environ=os.environ if environ is None else environ,
        folder=config.folder,
        keys=KeyStore(config.data if config.own_data else None),
        recorder=_recorder(clock or LoopClock(), os.environ if environ is None else environ),
        learn=_learn,
    )


def keep_keys_private() -> None:
    """Prevent other programs from reading the keys in this process, from the first command of the process on.

    Only for a program that runs nothing but Callgate: the process can no longer be debugged or dumped.
    """
    OWN_ENVIRONMENT.keep_private()


def _learn(name: str, value: str) -> None:
    """Register a key as a secret, so that the record masks it. A key may come from a file, a keyring or a command."""
    from callgate.transcript.masking import learn_secret  # its patterns are costly to load

    learn_secret(name, value)


def _recorder(clock: Clock, environ: Mapping[str, str]) -> "WireRecorder | None":
    """Return a recorder of all exchanges for the folder in CALLGATE_RECORD, or None if the variable is not set."""
    folder = environ.get("CALLGATE_RECORD", "").strip()
    if not folder:
        return None
    from callgate.providers.wire_recording import WireRecorder  # for recordings alone
    from callgate.transcript.masking import Masker

    return WireRecorder(Path(folder), Masker(environ).text, clock)


def open_model(
    name: str,
    config: Config | None = None,
    *,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
) -> ConfiguredModel:
    """Return the model of this name, such as ``opus`` or ``ollama/qwen3``. Raise UsageError for an invalid name or
    setting, and ModelError if the key is missing; the message contains the remedy. Blocks. The caller closes the model
    with ``aclose``.

    config   the providers, keys and model names; default: the settings files
    clock    replaces the clock for retries, in tests
    environ  replaces the environment of the process
    """
    return model_source(config or load_config(environ=environ), clock=clock, environ=environ).open(name)


def open_models(
    config: Config,
    name: str | None = None,
    *,
    fallback: str | None = None,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
) -> AgentModels:
    """Return the models of an agent. Raise UsageError for an invalid name or setting, and ModelError if the key is
    missing; the message contains the ways to provide a key. Blocks.

    name      the main model, overrides the settings; ``replay/FOLDER`` replays recordings
    fallback  the fallback, overrides the settings
    """
    source = model_source(config, clock=clock, environ=environ)
    if (name or config.models.default or "").startswith(REPLAY):
        first, others = open_replay(Path((name or config.models.default or "").removeprefix(REPLAY)))
        return AgentModels(
            model=first,
            cheap=others,
            fallback=None,
            price=source.catalogue.price,
            open=source.open,
            opened=lambda: (first, others),
        )
    opened: dict[str, ConfiguredModel] = {}

    def once(wanted: str) -> ConfiguredModel:
        key = str(source.catalogue.resolve(wanted))
        if key not in opened:
            opened[key] = source.open(wanted)
        return opened[key]

    chosen = name or source.default()
    spare = fallback or config.models.fallback
    return AgentModels(
        model=once(chosen),
        cheap=once(source.cheap(chosen)),
        fallback=None if spare is None else once(spare),
        price=source.catalogue.price,
        open=once,
        opened=lambda: tuple(opened.values()),
    )
