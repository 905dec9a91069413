"""The session of a run, made of its options: settings, model, record, and where it goes on."""

from argparse import Namespace
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any

from callgate import Model, Session, Store
from callgate.assembly.agent import ServerFlags, agent_session
from callgate.assembly.models import AgentModels, keep_keys_private, open_models
from callgate.assembly.options import Journal
from callgate.assembly.settings import broken_settings
from callgate.cli.agent.texts import prompt_wishes, text_of
from callgate.config import Config, load_config
from callgate.words.errors import UsageError
from callgate.words.inputs import SetModel

Say = Callable[[str], None]


def config_of(options: Namespace) -> Config:
    """The settings with those of the command line above them. UsageError for a value that cannot be."""
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
        raise UsageError(f"nothing is allowed while settings are wrong: {faults[0]}{more}")
    return config if options.attended else replace(config, titles=False)  # a script pays for its own request alone


def folders_of(options: Namespace) -> tuple[Path, ...]:
    for each in options.add_dir:
        if not Path(each).is_dir():
            raise UsageError(f"--add-dir: {each} is not a folder")
    return tuple(Path(each).resolve() for each in options.add_dir)


def _for_folders(options: Namespace) -> Iterator[str]:
    """Rules for further folders: reading there is free. File tools change files of the workspace alone."""
    for place in folders_of(options):
        yield f"Read(/{place}/**)"


def schema_of(options: Namespace) -> Mapping[str, Any] | None:
    """The JSON Schema for the answer, from a file or the command line."""
    given = options.json_schema
    if given is None:
        return None
    if not given.lstrip().startswith("{"):
        given = text_of(given, "--json-schema")
    return _object(given, "--json-schema")


@asynccontextmanager
async def open_session(options: Namespace, config: Config, model: Model | None, say: Say) -> AsyncGenerator[Session]:
    """The agent's session, new or resumed; its connections are closed at the end. The session itself is not."""
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


async def _session(options: Namespace, config: Config, model: Model, models: AgentModels | None, say: Say) -> Session:
    journal = await journal_of(options, config, say)
    try:
        return await agent_session(
            config,
            model,
            fallback=None if models is None else models.fallback,
            cheap=None if models is None else models.cheap,
            price=None if models is None else models.price,
            open_model=None if models is None else models.open,
            journal=journal,
            tools=options.tools,
            bare=options.bare,
            wishes=prompt_wishes(options),
            attended=options.attended,
            folders=folders_of(options),
            mcp=ServerFlags(tuple(options.mcp_config), options.strict_mcp_config),
        )
    except BaseException:
        if journal is not None:
            await journal.aclose()
        raise


async def journal_of(options: Namespace, config: Config, say: Say) -> Journal | None:
    """The record of the session: a new one, one to go on with, or a copy of that; None keeps nothing."""
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
