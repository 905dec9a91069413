"""Slash commands: lookup, completion and execution. ``command_table`` lists the commands; a module is imported when
one of its commands is first used."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from callgate.tui.blocks import TYPED, NoticeBlock
from callgate.tui.commands.command_table import COMMANDS, MISSING
from callgate.tui.keys import interrupt_key
from callgate.tui.port import SlashCommand
from callgate.tui.render.measures import seconds_text
from callgate.words.errors import CallgateError, StateError, UsageError, in_words

if TYPE_CHECKING:
    from callgate import Session
    from callgate.config import Config
    from callgate.tui.port import Terminal


__all__ = ["COMMANDS", "all_commands", "argument_words", "is_command", "read_custom", "run_command", "run_shell"]


def all_commands(terminal: Terminal) -> tuple[SlashCommand, ...]:
    """Return the built-in commands, then custom commands and skills, then prompts of MCP servers."""
    has_servers = terminal.session is not None and terminal.session.controls.servers is not None
    return (*COMMANDS, *terminal.custom, *(_function("slash_servers:server_prompts")(terminal) if has_servers else ()))


def find_command(terminal: Terminal, name: str) -> SlashCommand | None:
    return next((each for each in all_commands(terminal) if name in (each.name, *each.aliases)), None)


def argument_words(terminal: Terminal, name: str) -> Sequence[tuple[str, str]]:
    """Return completion candidates for the arguments of a command, each with a description. Must be fast."""
    found = find_command(terminal, name)
    if found is None or not found.words:
        return ()
    return _function(found.words)(terminal) if isinstance(found.words, str) else [*found.words.items()]


def is_command(text: str) -> bool:
    """Return True for a slash command, False for a path and other text."""
    return text.startswith("/") and bool(text[1:2].strip()) and "/" not in text[1:].split(None, 1)[0]


def run_command(terminal: Terminal, text: str) -> None:
    """Run a slash command, or show that there is no such command."""
    words = text[1:].split(None, 1)
    name, rest = words[0], words[1].strip() if words[1:] else ""
    found = find_command(terminal, name)
    if found is None:
        terminal.show(NoticeBlock(unknown(terminal, name), "warning"))
    elif not found.at_once:
        terminal.once_open(lambda: _run(terminal, found, rest))
    else:
        _run(terminal, found, rest)


async def read_custom(terminal: Terminal, config: Config) -> None:
    """Read the custom commands in a thread and show a warning for each unusable file."""

    def read() -> tuple[tuple[SlashCommand, ...], tuple[str, ...]]:
        return _function("custom_prompts:custom_commands")(config)

    terminal.custom, problems = await asyncio.to_thread(read)
    if problems:
        terminal.show(*(NoticeBlock(problem, "warning") for problem in problems))


def _run(terminal: Terminal, command: SlashCommand, text: str) -> None:
    if command.at_rest and terminal.fold.status in ("working", "waiting_confirmation"):
        key = interrupt_key(terminal.keys)
        terminal.show(
            NoticeBlock(f"/{command.name} requires that the agent is idle: press {key} to interrupt it.", "warning")
        )
        return
    run = _function(command.run) if isinstance(command.run, str) else command.run
    with _errors_shown(terminal):
        work = run(terminal, text)
        if work is not None:
            terminal.start(_finish(terminal, work))


async def _finish(terminal: Terminal, work: Coroutine[Any, Any, None]) -> None:
    with _errors_shown(terminal):
        await work


@contextmanager
def _errors_shown(terminal: Terminal) -> Generator[None]:
    try:
        yield
    except (CallgateError, OSError) as error:
        text = str(error) if isinstance(error, CallgateError) else in_words(error)
        terminal.show(NoticeBlock(text, "error"))


def _function(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), function)


def unknown(terminal: Terminal, name: str) -> str:
    """Return the message for an unknown command, with the closest command name or the missing requirement."""
    from difflib import get_close_matches  # only for an unknown name

    missing = MISSING.get(name)
    if missing is not None:
        return f"/{name} does not exist: {missing}"
    names = [word for each in all_commands(terminal) for word in (each.name, *each.aliases)]
    close = get_close_matches(name, names, 1, 0.75)
    return f"There is no command /{name}; {f'did you mean /{close[0]}?' if close else '/help lists them'}"


def run_shell(terminal: Terminal, text: str) -> None:
    """Run ``!command`` as a call of Bash that the user makes. The next request sends the command and its output to the
    model."""
    command = text[1:].strip()
    if not command:
        terminal.show(NoticeBlock("Write a command after the exclamation mark: !ls"))
        return

    async def run() -> None:

        session = session_of(terminal)
        if session.status == "working":
            terminal.show(NoticeBlock(f"!{command:.60} runs when the current work is done."))
        result = await session.call("Bash", {"command": command}, by="the user", id=f"{TYPED}{token_hex(6)}")
        if result.code in ("never_started", "unknown_tool", "invalid_arguments"):
            terminal.show(NoticeBlock(result.text, "error"))

    def start() -> None:
        terminal.start(_finish(terminal, run()))

    terminal.once_open(start)


def session_of(terminal: Terminal) -> Session:
    """Return the session of the terminal. Raise StateError if no session is open, for example during a change of
    sessions."""
    if terminal.session is None:
        raise StateError("The session is being opened; try again in a moment.")
    return terminal.session


def config_of(terminal: Terminal) -> Config:
    if terminal.config is None:
        raise StateError("The session is being opened; try again in a moment.")
    return terminal.config


def said(terminal: Terminal, text: str) -> None:
    terminal.show(NoticeBlock(text))


def count_of(text: str, default: int, what: str) -> int:
    """Parse a number, or return the default for an empty text. Raise UsageError if the text is not a number."""
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:9]) <= 100_000:
        raise UsageError(f"{what} must be a number from 1 on, not {text!r:.40}")
    return int(text)


def seconds(value: float) -> str:
    """Return a duration as text: 340 ms, 2.1 s, 3 min 5 s."""
    return f"{value * 1000:.0f} ms" if value < 1 else seconds_text(value)


def dollars(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"${value:.2f}" if value >= 1 else f"${value:.4f}"


def first_sentence(text: str) -> str:
    line = " ".join(text.strip().partition("\n\n")[0].split())
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]
