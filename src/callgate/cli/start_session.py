"""Opens a session from the options of a start: settings, model and log."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any

from callgate import Model, ModelSetup, Session, Store
from callgate.assembly.agent import agent_session
from callgate.assembly.models import AgentModels, keep_keys_private, open_models
from callgate.assembly.options import Journal, ServerFlags
from callgate.assembly.prompting import PromptPart, PromptWishes
from callgate.assembly.settings import broken_settings
from callgate.cli.start_options import StartOptions
from callgate.config import Config, load_config
from callgate.words.errors import UsageError
from callgate.words.inputs import SetModel

Say = Callable[[str], None]
_LARGEST = 1 << 20  # bytes of a text in a file


def config_of(options: StartOptions) -> Config:
    """Load the settings, overridden by the options. Raise UsageError for an invalid value or a fault in the
    settings."""
    given = {
        "limits.max_turns": options.max_turns,
        "limits.max_cost": options.max_budget,
        "models.default": options.model,
        "models.fallback": options.fallback_model,
        "models.effort": options.effort,
    }
    settings = options.settings
    if settings is not None and settings.lstrip().startswith("{"):
        settings = _object(settings, "--settings")
    config = load_config(
        mode=options.mode,
        allow=[*options.allow, *_for_folders(options)],
        ask=options.ask,
        deny=options.deny,
        settings=settings,
        values={key: value for key, value in given.items() if value is not None},
        trust=options.trust,
    )
    faults = broken_settings(replace(config, hooks=()) if options.bare else config)
    if faults:  # every call would be denied, and paid for
        more = f" (and {len(faults) - 1} more)" if faults[1:] else ""
        raise UsageError(f"every call is denied until the settings are fixed: {faults[0]}{more}")
    if options.attended:
        return config
    # A script pays only for its own requests.
    return replace(config, settings=replace(config.settings, session_title=False))


def folders_of(options: StartOptions) -> tuple[Path, ...]:
    for each in options.add_dir:
        if not Path(each).is_dir():
            raise UsageError(f"--add-dir: {each} is not a folder")
    return tuple(Path(each).resolve() for each in options.add_dir)


def _for_folders(options: StartOptions) -> Iterator[str]:
    """Yield rules that allow reading in additional folders."""
    for place in folders_of(options):
        yield f"Read(/{place}/**)"


def schema_of(options: StartOptions) -> Mapping[str, Any] | None:
    """Return the JSON Schema of the answer, given as JSON or as a file name."""
    given = options.json_schema
    if given is None:
        return None
    if not given.lstrip().startswith("{"):
        given = _text_of(given, "--json-schema")
    return _object(given, "--json-schema")


def prompt_wishes(options: Mapping[str, Any]) -> PromptWishes:
    """Return the parts of the system prompt that are given as texts or files, with their origins."""
    own = _part("own", "--system-prompt", options)
    return PromptWishes(own=own, appended=_part("appended", "--append-system-prompt", options))


def _part(name: str, flag: str, options: Mapping[str, Any]) -> PromptPart | None:
    parameter = flag.removeprefix("--").replace("-", "_")
    text, file = options[parameter], options[f"{parameter}_file"]
    if text is not None:
        return PromptPart(name, text, flag)
    return None if file is None else PromptPart(name, _text_of(file, f"{flag}-file").strip(), file)


def _text_of(file: str, flag: str) -> str:
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise UsageError(f"{flag}: {file} has more than {_LARGEST >> 20} MiB")
        return data.decode()
    except OSError as error:
        raise UsageError(f"{flag}: {file} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{flag}: {file} is not UTF-8") from None


@asynccontextmanager
async def open_session(options: StartOptions, config: Config, model: Model | None, say: Say) -> AsyncGenerator[Session]:
    """Open a new or resumed session for an ``async with`` block. At the end of the block the connections are closed,
    but not the session."""
    if model is not None:
        yield await _session(options, config, model, None, say)
        return
    models = open_models(config)
    keep_keys_private()
    try:
        session = await _session(options, config, models.model, models, say)
        if options.model is not None and session.model != models.model.name:
            session.post(SetModel(models.model.name))  # a resumed session had another one
        yield session
    finally:
        await models.aclose()


async def _session(
    options: StartOptions, config: Config, model: Model, models: AgentModels | None, say: Say
) -> Session:
    setup = ModelSetup(model)
    if models is not None:
        setup = ModelSetup(
            model, open_model=models.open, fallback=models.fallback, cheap=models.cheap, price=models.price
        )
    journal = await journal_of(options, config, say)
    try:
        return await agent_session(
            config,
            setup,
            journal=journal,
            tools=options.tools,
            bare=options.bare,
            wishes=prompt_wishes(asdict(options)),
            attended=options.attended,
            folders=folders_of(options),
            mcp=ServerFlags(tuple(options.mcp_config), options.strict_mcp_config),
        )
    except BaseException:
        if journal is not None:
            await journal.aclose()
        raise


async def journal_of(options: StartOptions, config: Config, say: Say) -> Journal | None:
    """Open a new log, the log of an earlier session, or a copy of that log. Return None with --no-save."""
    if options.no_save:
        return None
    store = Store(config.root, config.data)
    if options.latest:
        which, passed = store.unheld()
        for each in passed:
            say(f"passed over: {each}")
    elif options.resume is not None:
        is_path = "/" in options.resume or options.resume.endswith(".jsonl")
        which = Path(options.resume) if is_path else options.resume
    else:
        return await store.create(options.session_id)
    return await (store.fork(which, options.session_id) if options.fork else store.open(which))


def _object(text: str, flag: str) -> Mapping[str, Any]:
    try:
        found = loads(text)
    except (JSONDecodeError, RecursionError) as error:
        raise UsageError(f"{flag}: this is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{flag}: an object is wanted")
    return found  # pyright: ignore[reportUnknownVariableType]
