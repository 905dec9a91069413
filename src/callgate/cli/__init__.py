"""The command line: reads arguments, calls a command, turns what happened into an exit code.

Commands are imported when they are called, so that ``callgate --help`` costs next to nothing.
"""

import gc
import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import cast

from callgate.cli.terminal import safe
from callgate.words.errors import CallgateError

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code: see ``EXIT_CODES`` in ``words/endings.py``."""
    words = sys.argv[1:] if argv is None else list(argv)
    debug = "--debug" in words
    _take_closed_descriptors()
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _say("interrupted", after="\n" if sys.stderr.isatty() else "")  # behind the ^C that the terminal shows
        return INTERRUPTED
    except BrokenPipeError:
        _let_go_of_stdout()
        return DONE  # the reader had enough, as ``head`` has
    except Exception as error:
        if debug:
            traceback.print_exc()
            return FAILED
        if isinstance(error, CallgateError):
            _say(str(error))
        elif isinstance(error, OSError):
            _say(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        else:
            _say(f"{type(error).__name__}: {error}; --debug shows where")
        return FAILED


COMMANDS = {
    "demo": "demo:demo",
    "answer": "answer:answer",
    "auth set": "auth:set_key",
    "auth list": "auth:show_keys",
    "auth remove": "auth:forget_key",
    "auth test": "auth:try_model",
    "audit": "session.sharing:audit",
    "changes": "changes:changes",
    "undo": "undo:undo",
    "tools list": "tools_list:list_rows",
    "tools new": "tools_new:write_new_tool",
    "tools rank": "tools_rank:rank",
    "tools validate": "validate:validate",
    "session list": "session.listing:list_sessions",
    "session show": "session.page:show",
    "session export": "session.sharing:export",
    "session import": "session.sharing:take_in",
    "session verify": "session.upkeep:verify",
    "session gc": "session.upkeep:collect",
    "session remove": "session.upkeep:remove",
    "session lock": "session.upkeep:lock",
    "log": "session.log:log",
    "update": "installation:update",
    "completion": "completion:completion",
    "config get": "config:get",
    "config set": "config:set_value",
    "config unset": "config:unset",
    "config list": "config:list_all",
    "config edit": "config:edit",
    "config path": "config:path",
    "doctor": "doctor:doctor",
    "mcp add": "mcp_servers:add",
    "mcp add-json": "mcp_servers:add_json",
    "mcp remove": "mcp_servers:remove",
    "mcp list": "mcp_servers:list_all",
    "mcp get": "mcp_servers:get",
    "mcp test": "mcp_servers:test",
    "mcp login": "mcp_servers:login",
    "mcp logout": "mcp_servers:logout",
    "mcp serve": "mcp_serve:serve",
    "prompt show": "prompt:show",
    "record": "record:record",
    "policy decide": "policy.decide:decide",
    "policy explain": "policy.explaining:explain",
    "policy check": "policy.checking:check",
    "policy list": "policy.listing:list_rules",
    "policy add": "policy.changing:add",
    "policy revoke": "policy.changing:revoke",
    "policy narrow": "policy.changing:narrow",
    "policy expire": "policy.changing:expire",
    "sandbox prove": "sandbox:prove",
    "sandbox run": "sandbox:run",
    "statusline test": "statusline:try_command",
    "trust list": "trust:list_trusted",
    "trust show": "trust:show",
    "trust add": "trust:add",
    "trust revoke": "trust:revoke",
}
"""The module and the function of each command: imported when it is called, because each brings rooms of its own."""


def function_of(command: str) -> Callable[[Namespace], int]:
    module, _, name = COMMANDS[command].partition(":")
    return getattr(import_module(f"callgate.cli.{module}"), name)


def _run(words: list[str]) -> int:
    commands = [name.partition(" ")[0] for name in COMMANDS]
    if is_headless(words, commands):
        return _headless(words)
    if is_interactive(words, commands):
        return _in_terminal(words) if sys.stdin.isatty() and sys.stdout.isatty() else _without_terminal(words)
    return _command(words)


def _command(words: list[str]) -> int:
    from callgate.cli.arguments import read_arguments  # the grammar of all commands, which -p does without

    found = read_arguments(words)
    return found if isinstance(found, int) else function_of(found.command)(found.options)


def _in_terminal(words: list[str]) -> int:
    from callgate.cli.typeahead import typed_meanwhile

    with typed_meanwhile() as typed:  # before all that takes time
        from callgate.cli.interactive import interactive

        return interactive(words, typed)


def _without_terminal(words: list[str]) -> int:
    """Refuses words that need a terminal, and says what to write instead."""
    from callgate.cli.interactive.arguments import read_interactive

    prompt = "PROMPT"
    if words in ([], ["--debug"]):
        _command(words)  # the help, as a fault
    else:
        try:
            prompt = read_interactive(words).prompt or prompt
        except SystemExit as end:  # told already
            return int(end.code or 0)
    _say(f"there is no terminal here; in a script: callgate -p {prompt if prompt == 'PROMPT' else repr(prompt)}")
    return USAGE


def _headless(words: list[str]) -> int:
    from callgate.cli.agent.headless_arguments import read_headless

    try:
        options = read_headless(words)
    except SystemExit as end:  # told already
        return int(end.code or 0)
    gc.disable()  # a start makes what stays: looking for garbage in it takes a sixth of the time
    try:
        from callgate.cli.headless import headless

        return headless(options)
    finally:
        gc.enable()


def is_headless(words: Sequence[str], commands: Sequence[str]) -> bool:
    """True if these words run the agent: ``-p`` stands before ``--``, and the first one is no command."""
    before = words[: words.index("--")] if "--" in words else words
    return any(word in ("-p", "--print") for word in before) and words[0] not in commands


def is_interactive(words: Sequence[str], commands: Sequence[str]) -> bool:
    """True if these words open the terminal: there are none, the first one is a flag of it, or a prompt of several
    words."""
    if not words:
        return True
    first = words[0]
    if first.startswith("-"):
        return first not in ("-h", "--help", "--version") and not (first == "--debug" and set(words[1:]) & {*commands})
    return first not in commands and " " in first.strip()


def _say(text: str, after: str = "") -> None:
    """One line on stderr, whatever the text holds."""
    with suppress(OSError):
        print(f"{after}callgate: {safe(text)}", file=sys.stderr, flush=True)


def _take_closed_descriptors() -> None:
    """Opens the null device for each standard stream that was closed (``2>&-``): otherwise the next file or socket
    would get its number and be written to as if it were the stream. Standard output is opened for reading, so that what
    is written there fails instead of being lost."""
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest number that is free, and that is this one
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure") and sys.stdout.errors == "strict":
        cast(TextIOWrapper, sys.stdout).reconfigure(errors="backslashreplace")  # for a terminal without Unicode


def _let_go_of_stdout() -> None:
    """Points stdout at the null device after a broken pipe, so that the interpreter's last flush does not fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
