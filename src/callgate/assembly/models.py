"""The models of an agent, opened for a Config: the one that answers, the cheap one, the fallback, and prices."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.config import Config
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
    """``cheap`` writes titles and summaries and may be ``model`` itself; ``price`` gives the dollars for the usage of
    one request of a model, None where they are not known; ``open`` opens a further model by its name, as ``open_model``
    does, once; ``opened`` are all so far."""

    model: ConfiguredModel
    cheap: ConfiguredModel
    fallback: ConfiguredModel | None
    price: Callable[[str, Usage], float | None]
    open: Callable[[str], ConfiguredModel]
    opened: Callable[[], Sequence[ConfiguredModel]]

    async def aclose(self) -> None:
        """Closes the connections that are kept."""
        for each in self.opened():
            await each.aclose()


@noun
class ModelChoice:
    """A model that a person may choose. ``missing`` says what is needed first; ``window`` is its size in tokens."""

    name: str
    window: int
    missing: str = ""
    local: bool = False


def model_choices(config: Config, *, environ: Mapping[str, str] | None = None) -> tuple[ModelChoice, ...]:
    """The models of the catalogue and of local servers that answer, those that can be used first. Blocks: keys are
    looked for, and local servers asked."""
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
    """Opens models by the settings of a Config and the keys that the person has."""
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
    """Keeps other programs from reading the keys in this process, from its first command on. For a program of its own,
    not for one that Callgate is a part of: it can be neither debugged nor dumped any more."""
    OWN_ENVIRONMENT.keep_private()


def _learn(name: str, value: str) -> None:
    """A key may come from a file, a keyring or a command; the record masks it wherever it came from."""
    from callgate.transcript.masking import learn_secret  # its patterns are costly to load

    learn_secret(name, value)


def _recorder(clock: Clock, environ: Mapping[str, str]) -> "WireRecorder | None":
    """Records every exchange into the folder that CALLGATE_RECORD names."""
    folder = environ.get("CALLGATE_RECORD", "").strip()
    if not folder:
        return None
    from callgate.providers.wire_recording import WireRecorder  # for recordings alone
    from callgate.transcript.masking import Masker

    return WireRecorder(Path(folder), Masker(environ).text, clock)


def open_model(
    name: str, config: Config, *, clock: Clock | None = None, environ: Mapping[str, str] | None = None
) -> ConfiguredModel:
    """One model by its name. UsageError for a name or a setting that cannot be, ModelError without a key. Blocks."""
    return model_source(config, clock=clock, environ=environ).open(name)


def open_models(
    config: Config,
    name: str | None = None,
    *,
    fallback: str | None = None,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
) -> AgentModels:
    """The models of an agent: ``name`` and ``fallback`` are those of the command line, and count before the settings.
    ``replay/FOLDER`` serves recordings back. UsageError for a name or a setting that cannot be; ModelError without a
    key says all ways on. Blocks."""
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
