"""Checks of keys, configured models and local servers. No key is shown; a key_command runs only with --online."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from urllib.parse import urlsplit

from callgate.admin.doctor.diagnosis import Diagnosis, NoSettings, Patient, fault, fine, skipped, warning
from callgate.admin.provider_keys import probe_model
from callgate.assembly.agent import SMALL_WINDOW
from callgate.assembly.models import model_source
from callgate.config import Config
from callgate.providers.fault_table import START_COMMANDS
from callgate.providers.model_setup import LocalServer, find_local
from callgate.providers.model_source import REPLAY, ModelSource
from callgate.words.errors import ModelError, UsageError

_MODELS_NAMED = 3


def key(patient: Patient) -> Sequence[Diagnosis]:
    source = _source(patient)
    providers = list(_providers(patient, source))
    if not providers and _chosen(patient, source):
        return [skipped("the model of the settings has an unknown provider")]
    if not providers:
        ways = [way for way in source.setup_options() if way.kind != "demo"]
        problem = "; or ".join(way.what for way in ways)
        return [fault("no key, and no model in the settings", problem, *(way.command for way in ways))]
    return [_key_of(provider, patient, source) for provider in dict.fromkeys(providers)]


def model(patient: Patient) -> Sequence[Diagnosis]:
    source = _source(patient)
    name = _chosen(patient, source)
    if not name:
        return [skipped("no model is set, and there is no key of a known provider")]
    found = [_known(which, each, source) for which, each in _named(patient.settings, name)]
    if patient.online and found[0].status != "fault":
        found.append(asyncio.run(_answers(name, patient.settings)))
    return found


def local_servers(patient: Patient) -> Sequence[Diagnosis]:
    source = model_source(patient.settings, environ=patient.environ)
    servers = source.catalogue.servers
    answering = {each.provider: each for each in find_local(servers)}
    local = {name: row for name, row in servers.items() if row.local}
    silent = ", ".join(f"{name} at {_place(row.base_url)}" for name, row in local.items() if name not in answering)
    seen = [_about(each) for each in answering.values()] + ([f"no answer from {silent}"] if silent else [])
    saw = "; ".join(seen)
    chosen = _chosen(patient, source)
    try:
        wanted = source.catalogue.resolve(chosen) if chosen and not chosen.startswith(REPLAY) else None
    except UsageError:
        wanted = None
    if wanted is None or wanted.provider not in local:
        return [fine(saw)]
    server = answering.get(wanted.provider)
    if server is None:
        start = START_COMMANDS.get(wanted.provider, f"start the server of {wanted.provider}")
        return [fault(saw, f"{wanted} is the model of your settings, and its server does not answer", start)]
    if wanted.name not in server.models and f"{wanted.name}:latest" not in server.models:
        get = f"ollama pull {wanted.name}" if wanted.provider == "ollama" else f"load {wanted.name} in that server"
        return [fault(saw, f"the server of {wanted.provider} has no model {wanted.name}", get)]
    return [fine(saw)]


def _source(patient: Patient) -> ModelSource:
    if patient.settings.faults:
        raise NoSettings
    return model_source(patient.settings, environ=patient.environ)


def _about(server: LocalServer) -> str:
    names = ", ".join(server.models[:_MODELS_NAMED]) + (", …" if len(server.models) > _MODELS_NAMED else "")
    return f"{server.provider} at {_place(server.base_url)} answers ({names or 'without models'})"


def _place(base_url: str) -> str:
    return urlsplit(base_url).netloc.rpartition("@")[2]


def _named(config: Config, name: str) -> Iterator[tuple[str, str]]:
    named = {"answers": name, "models.cheap": config.models.cheap, "models.fallback": config.models.fallback}
    yield from ((which, each) for which, each in named.items() if each)


def _chosen(patient: Patient, source: ModelSource) -> str:
    """Return the name of the configured or default model, or an empty string. No key_command is run."""
    if patient.settings.models.default:
        return patient.settings.models.default
    for provider, (name, _) in source.catalogue.defaults.items():
        if _has_command(provider, patient) or _has_key(provider, source):
            return f"{provider}/{name}"
    return ""


def _has_key(provider: str, source: ModelSource) -> bool:
    try:
        return source.key(provider) is not None
    except UsageError:  # there is one that cannot be used: told by the check of keys
        return True


def _providers(patient: Patient, source: ModelSource) -> Iterator[str]:
    name = _chosen(patient, source)
    for _, each in _named(patient.settings, name) if name else ():
        if not each.startswith(REPLAY):
            try:
                yield source.catalogue.resolve(each).provider
            except UsageError:
                continue  # told by the check of models


def _has_command(provider: str, patient: Patient) -> bool:
    """Return True if a key_command is configured for the provider."""
    own = patient.settings.models.servers.get(provider)
    return own is not None and own.key_command is not None


def _key_of(provider: str, patient: Patient, source: ModelSource) -> Diagnosis:
    if _has_command(provider, patient) and not patient.online:
        variables = source.catalogue.servers[provider].key_variables
        found = next(
            (name for name in variables if patient.environ.get(name)), "its key_command, which doctor does not run"
        )
        return fine(f"{provider}: a key from {found}")
    try:
        found = source.key(provider)
    except UsageError as error:
        return fault(f"{provider}: an unusable key", str(error), f"callgate auth set {provider}")
    if found is not None:
        places = {"file": "your private file", "keyring": "the keyring", "key_command": "its key_command"}
        return fine(f"{provider}: a key from {places.get(found.origin, found.origin)}")
    if source.needs_key(provider):
        return fault(f"{provider}: no key", "its models cannot be asked", f"callgate auth set {provider}")
    return fine(f"{provider}: no key, and none is needed")


def _known(which: str, name: str, source: ModelSource) -> Diagnosis:
    if name.startswith(REPLAY):
        return fine(f"{name}: recordings are played back")
    try:
        resolved = source.catalogue.resolve(name)
        facts = source.catalogue.facts(resolved)
    except UsageError as error:
        return fault(f"{which}: {name}", str(error), "callgate config set models.default NAME")
    if source.catalogue.servers[resolved.provider].local:
        asked = source.with_server_window(resolved, facts, None)
        origin = asked.abilities.context_from
        window = f"{asked.context_tokens:,} tokens of context" + (f", {origin}" if origin else "")
        small = "; so the agent has a short prompt and fewer tools" if asked.context_tokens < SMALL_WINDOW else ""
        return fine(f"{resolved} ({which}), {window}{small}")
    saw = f"{resolved} ({which}), {facts.context_tokens:,} tokens of context"
    if not facts.known:
        return warning(saw, "this model is not in the table, so its limits and price are assumed", "callgate auth test")
    return fine(saw)


async def _answers(name: str, config: Config) -> Diagnosis:
    """Send the model one request for a short text."""
    try:
        async with aclosing(probe_model(name, config)) as results:
            async for result in results:
                if result.ability == "note":
                    continue
                if result.verdict == "works":
                    return fine(f"{name} answers: {result.detail}" if result.detail else f"{name} answers")
                return fault(f"{name} was asked", f"no answer: {result.detail}", f"callgate auth test {name}")
    except (ModelError, UsageError, OSError) as error:
        return fault(f"{name} was asked", str(error), f"callgate auth test {name}")
    return fault(f"{name} was asked", "no answer", f"callgate auth test {name}")
