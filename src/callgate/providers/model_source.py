"""Opens models by name: finds the server, facts, key and options, and imports the API family.

The settings of a request are merged in this order of precedence:

    CALLGATE_EFFORT  >  the turn's effort  >  the session's  >  models.options.NAME.effort  >  models.effort  >  default
"""

from asyncio import to_thread
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callgate.core.ports import Clock
from callgate.providers.catalogue import Catalogue, ModelName, ServerRow
from callgate.providers.family import Family, ModelFacts
from callgate.providers.images import ImageFitter, has_image
from callgate.providers.keys import FoundKey, KeyStore, find_key
from callgate.providers.request_json import RequestMemo, effort_level
from callgate.words.errors import ModelError, UsageError
from callgate.words.messages import Message
from callgate.words.model import (
    CacheHints,
    EffortInForce,
    EffortSource,
    MessageStarted,
    ModelEvent,
    ModelNoted,
    ModelSettings,
    Request,
    RequestOptions,
    ServerSettings,
    WantedEffort,
)

if TYPE_CHECKING:
    from callgate.providers.exchange import ConnectionPool
    from callgate.providers.http_model import HttpModel
    from callgate.providers.model_setup import SetupOption
    from callgate.providers.wire_recording import ReplayModel, WireRecorder

FAMILIES: Mapping[str, str] = {
    "anthropic": "anthropic:Anthropic",
    "openai": "openai_responses:OpenAIResponses",
    "openai-chat": "openai_chat:OpenAIChat",
    "gemini": "gemini:Gemini",
}
"""The module and class of each family, imported when a model of it is opened."""

REPLAY = "replay/"
"""The prefix of a model name whose rest is a folder of recordings."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_OLLAMA_PORT = 11434


REPORTED = "reported by the server"


class ConfiguredModel:
    """A model with its settings. Images are adapted to the limits of the model; an image that the server refuses is not
    sent again.

    notes  notes for the user, sent before the events of the first answer
    """

    def __init__(
        self,
        inner: "HttpModel | ReplayModel",
        facts: ModelFacts,
        options: RequestOptions,
        *,
        forced: WantedEffort | None = None,
        caching: bool = True,
        notes: Sequence[str] = (),
    ) -> None:
        self._inner = inner
        self.name = inner.name
        self.abilities = inner.abilities
        self.facts = facts
        self._options = options
        self._forced: WantedEffort | None = forced
        self._caching = caching
        self._notes = list(notes)
        self._images = ImageFitter(facts)
        self._with_images = RequestMemo[Message, bool]()

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent]:
        options = request.options.over(self._options)
        if self._forced is not None:
            options = replace(options, effort=self._forced)
        request = replace(request, options=options, cache=request.cache if self._caching else _UNCACHED)
        if any(self._with_images.convert(request.messages, has_image)):
            request, told = await to_thread(self._images.fit, request)  # decoding is slow
            self._notes += told
        notes, self._notes = self._notes, []
        for note in notes:
            yield ModelNoted(note)
        try:
            async with aclosing(self._inner.stream(request)) as events:
                async for event in events:
                    if isinstance(event, MessageStarted):
                        self._images.mark_accepted()
                    yield event
        except ModelError as error:
            raise self._name_images(error) from None

    def effort_in_force(self, wanted: WantedEffort | None, source: EffortSource) -> EffortInForce:
        """Return the effort that a request uses, after overrides and defaults are applied."""
        if self._forced is not None:
            wanted, source = self._forced, "environment"
        elif wanted is None and self._options.effort is not None:
            wanted, source = self._options.effort, "settings"
        if wanted is None or wanted == "auto":
            return EffortInForce(wanted, "model" if wanted is None else source, self.facts.effort)
        return EffortInForce(wanted, source, effort_level(tuple(self.facts.efforts or ()), wanted))

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _name_images(self, error: ModelError) -> ModelError:
        """Return the error. If the server refused an image, add the names of the images that are not sent again to
        its message."""
        refused = self._images.mark_refused() if error.kind == "image" else []
        if not refused:
            return error
        text = f"{error} (refused: {', '.join(refused)}; the next request goes without)"
        return ModelError(text, kind=error.kind, retryable=error.retryable, retry_after=error.retry_after)


_UNCACHED = CacheHints(tools=False, system=False, messages=None)


class ModelSource:
    """Opens models with the user's settings.

    settings  the settings in ``Config.models``
    clock     the clock for timeouts
    environ   the environment, for keys and base URLs
    folder    the folder with the user's models.toml
    keys      the stored keys
    today     the date that selects among prices with different start dates
    recorder  records the exchanges of every model
    learn     a callback that gets the name and value of each secret (key or header with credentials) before the secret
              is used
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        clock: Clock,
        environ: Mapping[str, str],
        folder: Path | None = None,
        keys: KeyStore | None = None,
        today: date | None = None,
        recorder: "WireRecorder | None" = None,
        learn: Callable[[str, str], None] = lambda name, value: None,
    ) -> None:
        self._settings = settings
        self._learn = learn
        self._recorder = recorder
        self._pool: ConnectionPool | None = None
        self._clock = clock
        self._environ = environ
        self._keys = keys or KeyStore(None)
        self._found: dict[str, FoundKey | None] = {}
        self.catalogue = Catalogue(folder, servers=self._configured, today=today)

    def open(self, name: str) -> ConfiguredModel:
        """Return the model with this name. May block for a command that prints the key.

        Raise UsageError for an invalid name or setting. Raise ModelError of the kind ``no_key`` if the server needs
        a key and there is none.
        """
        model = self.catalogue.resolve(name)
        facts = self.catalogue.facts(model)
        key = self.key(model.provider)
        if key is None and self.needs_key(model.provider):
            names = self.catalogue.servers[model.provider].key_variables
            variable = f"set {' or '.join(names)}, or " if names else ""
            why = f"there is no key for {model.provider}: {variable}store one with"
            raise ModelError(f"{why} `callgate auth set {model.provider}`", kind="no_key")
        facts = self.with_server_window(model, facts, None if key is None else key.value)
        is_reported = facts.abilities.context_from.startswith(REPORTED)
        notes = [] if facts.known or is_reported else [self.catalogue.unknown_model_notice(model, facts)]
        try:
            from callgate.providers.exchange import ConnectionPool
            from callgate.providers.http_model import (  # imports the network modules
                IDLE_SECONDS,
                LOCAL_IDLE_SECONDS,
                HttpModel,
                secrets_of,
            )
        except ImportError as error:
            raise UsageError(f'{error.name} is needed for real models: pip install "callgate[app]"') from None
        if self._pool is None:  # all models share certificates and connections
            self._pool = ConnectionPool(self._clock, self._environ)
        row, own = self.catalogue.servers[model.provider], self._server_settings(model.provider)
        is_local = row.base_url.removeprefix("http://").startswith(_LOOPBACK)
        if key is not None and row.base_url.startswith("http://") and not is_local:
            notes.append(f"The key of {model.provider} is sent to {row.base_url} without encryption.")
        headers = {**own.headers, **self.options(model).headers}
        for secret in secrets_of(None if key is None else key.value, headers):
            self._learn(f"{model.provider}_key", secret)
        inner = HttpModel(
            str(model),
            family_of(row.family, model.provider),
            facts,
            key=None if key is None else key.value,
            clock=self._clock,
            base=row.base_url,
            headers=own.headers,
            idle_seconds=own.idle_timeout or (LOCAL_IDLE_SECONDS if row.local else IDLE_SECONDS),
            pool=self._pool,
            recorder=self._recorder,
        )
        return ConfiguredModel(
            inner,
            facts,
            self.options(model),
            forced=self._settings.forced_effort,
            caching=self._settings.caching,
            notes=notes,
        )

    def with_server_window(self, model: ModelName, facts: ModelFacts, key: str | None) -> ModelFacts:
        """Return the facts with the context window that the local server of the model reports. A context window that
        the user set is not changed. Blocks for at most a short timeout, or until the server has loaded its model."""
        row = self.catalogue.servers[model.provider]
        if self.catalogue.sets_context(model):
            return _with_window(facts, facts.context_tokens, "from your models.toml")
        if not row.local or row.family != "openai-chat":
            return facts
        from callgate.providers.model_setup import find_window  # imports the HTTP client

        headers = {**self._server_settings(model.provider).headers}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        found = find_window(row.base_url, model.name, headers)
        if found is None:
            return _with_window(facts, facts.context_tokens, "assumed, because the server did not report it")
        if found.is_bound and found.tokens > facts.context_tokens:
            why = f"assumed; the server reported only a maximum of {found.tokens:,} ({found.path})"
            return _with_window(facts, facts.context_tokens, why)
        facts = replace(facts, output_tokens=min(facts.output_tokens, max(found.tokens // 4, 256)))
        at_most = ", as a maximum" if found.is_bound else ""
        return _with_window(facts, found.tokens, f"{REPORTED}{at_most} ({found.path})")

    def key(self, provider: str) -> FoundKey | None:
        """Return the key of a provider; None if there is none. The result is cached."""
        if provider not in self._found:
            row, own = self.catalogue.servers[provider], self._server_settings(provider)
            found = find_key(provider, row.key_variables, own.key_command, self._keys, self._environ)
            if found is None and provider == "openai-chat":  # OpenAI's other API
                found = self._keys.find("openai")
            self._found[provider] = found
        return self._found[provider]

    def options(self, model: ModelName) -> RequestOptions:
        """Return the request options that the settings define for a model."""
        listed = self._settings.options
        own = listed.get(str(model)) or listed.get(model.name) or RequestOptions()
        return replace(own, effort=own.effort or self._settings.effort)

    def local_models(self, provider: str) -> tuple[str, ...]:
        """Return the model names of a local server; empty if the server does not answer. Blocks for at most a short
        timeout."""
        from callgate.providers.model_setup import find_local

        row = replace(self.catalogue.servers[provider], local=True)
        return next((each.models for each in find_local({provider: row})), ())

    def default(self) -> str:
        """Return the name of the default model: from the settings, otherwise of the first vendor with a key. If
        there is neither, raise ModelError of the kind ``no_key`` with the ways to set up a model."""
        if self._settings.default is not None:
            return self._settings.default
        found = self.first_with_key()
        if found is None:
            from callgate.providers.model_setup import no_model_text

            raise ModelError(no_model_text(self.setup_options()), kind="no_key")
        return f"{found}/{self.catalogue.defaults[found][0]}"

    def first_with_key(self) -> str | None:
        """Return the name of the first vendor that has a default model and a key; None if there is none."""
        return next((provider for provider in self.catalogue.defaults if self.key(provider) is not None), None)

    def setup_options(self) -> "tuple[SetupOption, ...]":
        """Return the ways to set up a model. Detects local servers, so it blocks for at most a short timeout."""
        from callgate.providers.model_setup import (
            find_local,  # rarely needed
            setup_options,
        )

        servers = self.catalogue.servers
        return setup_options(servers, self.catalogue.defaults, find_local(servers))

    def cheap(self, model: str) -> str:
        """Return the model for titles and summaries: the model from the settings, otherwise the cheap model of the
        vendor of ``model``, otherwise ``model``."""
        if self._settings.cheap is not None:
            return self._settings.cheap
        provider = self.catalogue.resolve(model).provider
        small = self.catalogue.defaults.get(provider)
        return model if small is None else f"{provider}/{small[1]}"

    # ---- servers --------------------------------------------------------------------------------------------------

    def _server_settings(self, provider: str) -> ServerSettings:
        return self._settings.servers.get(provider, ServerSettings())

    def _configured(self, vendors: Mapping[str, ServerRow]) -> Mapping[str, ServerRow]:
        names = dict.fromkeys((*vendors, *self._settings.servers))
        return {name: self._server(name, vendors.get(name)) for name in names}

    def _server(self, provider: str, known: ServerRow | None) -> ServerRow:
        own = self._server_settings(provider)
        if known is None:
            if own.base_url is None:
                raise UsageError(f"the provider {provider} has no base_url: set providers.{provider}.base_url")
            known = ServerRow(own.family or "openai-chat", own.base_url)
        base = own.base_url or _base_url_in(self._environ.get(known.base_variable, ""), known.base_variable)
        variables = known.key_variables if own.key_variable is None else (own.key_variable,)
        return replace(
            known,
            family=own.family or known.family,
            base_url=base or known.base_url,
            key_variables=variables,
            quirks=(*known.quirks, *own.quirks),
        )

    def needs_key(self, provider: str) -> bool:
        """Return True if the base URL belongs to the vendor. Servers at other base URLs may accept any key or no
        key."""
        row = self.catalogue.servers[provider]
        known = self.catalogue.vendors.get(provider)
        return known is not None and not known.local and row.base_url == known.base_url


def open_replay(place: Path) -> tuple[ConfiguredModel, ConfiguredModel]:
    """Return two models that replay recordings: the first replays the exchanges of the first recorded model, the
    second replays the exchanges of all other models, which wrote titles and summaries. Raise UsageError if there are
    no recordings."""
    from callgate.providers.wire_recording import ReplayModel, recordings  # imports the network modules

    found = recordings(place)
    name = f"{REPLAY}{place}"
    kept = ([each for each in found if (each.model == found[0].model) is main] for main in (True, False))
    first, others = (ReplayModel(each, lambda family: family_of(family, family), name) for each in kept)
    facts = ModelFacts(name, "replay")
    return ConfiguredModel(first, facts, RequestOptions()), ConfiguredModel(others, facts, RequestOptions())


def family_of(name: str, provider: str) -> Family:
    """Return the API family with this name.

    provider  the name of the server, for errors
    """
    if name not in FAMILIES:
        raise UsageError(f"there is no family {name!r} of APIs; there are {', '.join(FAMILIES)}")
    module, _, kind = FAMILIES[name].partition(":")
    made: Callable[..., Any] = getattr(import_module(f"callgate.providers.{module}"), kind)
    return made(provider)


def _base_url_in(text: str, variable: str) -> str | None:
    """Return the base URL from the value of a variable; None if the value is empty. OLLAMA_HOST contains a host and
    a port, with or without a scheme."""
    text = text.strip().rstrip("/")
    if not text:
        return None
    if variable != "OLLAMA_HOST":
        if not text.startswith(("http://", "https://")):
            raise UsageError(f"{variable} must begin with http:// or https://, not {text!r}")
        return text
    address = text if "://" in text else f"http://{text}"
    scheme, _, host = address.partition("://")
    host = host.replace("0.0.0.0", "127.0.0.1")
    port = "" if ":" in host.rpartition("]")[2] or scheme == "https" else f":{_OLLAMA_PORT}"
    return f"{scheme}://{host}{port}/v1"


def _with_window(facts: ModelFacts, context: int, source: str) -> ModelFacts:
    """Return the facts with this context window."""
    output = facts.output_tokens
    able = replace(facts.abilities, context_tokens=context, context_from=source, output_tokens=output)
    return replace(facts, context_tokens=context, abilities=able)
