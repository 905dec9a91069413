"""Stores, lists, removes and tests the keys of providers. The functions block."""

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from difflib import get_close_matches

from callgate.assembly.models import model_source
from callgate.config import Config, load_config
from callgate.host.clock import LoopClock
from callgate.providers.catalogue import Catalogue
from callgate.providers.keys import KeyStore
from callgate.providers.model_probe import ProbeResult, probe
from callgate.providers.model_setup import NO_MODEL
from callgate.providers.model_source import ModelSource
from callgate.words.errors import ModelError, UsageError
from callgate.words.noun import noun


@noun
class KeyRow:
    """The key of a provider: its origin, its last characters, and the fault if the key is unusable."""

    provider: str
    origin: str
    end: str = ""
    fault: str = ""


def check_provider(provider: str) -> None:
    """Raise UsageError if there is no provider of this name."""
    _known(_parts()[0], provider)


def store_key(provider: str, key: str) -> tuple[str, str | None]:
    """Store a key. Return the place where it is stored, and the environment variable that overrides it, if one is
    set."""
    source, store = _parts()
    row = source.catalogue.servers[_known(source, provider)]
    place = store.store(provider, key)
    return place, next((name for name in row.key_variables if os.environ.get(name)), None)


def remove_key(provider: str) -> str | None:
    """Remove a stored key. Return the environment variable that still contains a key, if there is one. Raise
    UsageError if no key was stored."""
    source, store = _parts()
    row = source.catalogue.servers.get(provider)
    variables = () if row is None else row.key_variables
    if not store.remove(provider):
        stored = ", ".join(store.names())
        raise UsageError(f"no key is stored for {provider}" + (f": there are keys for {stored}" if stored else ""))
    return next((name for name in variables if os.environ.get(name)), None)


def list_keys() -> list[KeyRow]:
    """Return a row for each key in use. A key_command is listed, but not run."""
    config = load_config()
    source, store = _parts()
    found: list[KeyRow] = []
    for provider in dict.fromkeys((*source.catalogue.servers, *store.names())):
        own = config.models.servers.get(provider)
        row = source.catalogue.servers.get(provider)
        is_set = row is not None and any(os.environ.get(name) for name in row.key_variables)
        if own is not None and own.key_command is not None and not is_set:
            found.append(KeyRow(provider, "key_command"))
            continue
        try:
            key = store.find(provider) if row is None else source.key(provider)
        except UsageError as error:
            found.append(KeyRow(provider, "", fault=str(error)))
            continue
        is_twin = provider == "openai-chat" and key is not None and KeyRow("openai", key.origin, key.end) in found
        if key is not None and not is_twin:
            found.append(KeyRow(provider, key.origin, key.end))
    return found


def model_to_test(wanted: str | None) -> str:
    """Return the name of the model to test: ``wanted``, the small model of a provider, or the default."""
    source, _ = _parts()
    if wanted is None:
        return source.default()
    small = source.catalogue.defaults.get(wanted)
    if small is not None:
        return f"{wanted}/{small[1]}"
    if wanted in source.catalogue.servers:
        models = source.local_models(wanted)
        if not models:
            raise ModelError(f"{wanted} lists no models: name one, such as {wanted}/NAME", kind="unknown_model")
        return f"{wanted}/{models[0]}"
    return str(source.catalogue.resolve(wanted))


async def probe_model(name: str, config: Config | None = None) -> AsyncGenerator[ProbeResult]:
    """Yield the result of each probe of a model. ``config`` defaults to the settings of the current folder."""
    clock = LoopClock()
    model = model_source(config or load_config(), clock=clock).open(name)
    try:
        async with aclosing(probe(model, clock)) as results:
            async for result in results:
                yield result
    finally:
        await model.aclose()


def _parts() -> tuple[ModelSource, KeyStore]:
    config = load_config()
    return model_source(config), KeyStore(config.data if config.own_data else None)


def _known(source: ModelSource, provider: str) -> str:
    known = source.catalogue.servers
    if provider not in known:
        close = get_close_matches(provider, known, 1)
        hint = f"did you mean {close[0]}?" if close else f"known providers are {', '.join(known)}"
        raise UsageError(f"there is no provider {provider!r}: {hint}")
    return provider


def provider_names() -> tuple[str, ...]:
    """Return the names of the built-in providers, without providers from the user's settings."""
    return tuple(Catalogue().vendors)


def first_run_page(config: Config) -> str:
    """Return lines that explain how to set up a model, or an empty string if a model or a key is configured.
    Requests for a list of models are sent to local servers only."""
    source = model_source(config)
    if config.models.default is not None or source.first_with_key() is not None:
        return ""
    ways = source.setup_options()
    if not ways:
        return ""
    lines = [f"{NO_MODEL.capitalize()}. Ways to go on:"]
    for way in ways:
        lines += [f"- {way.what}:", f"    {way.command}"]
    return "\n".join((*lines, "`callgate doctor` checks everything else."))
