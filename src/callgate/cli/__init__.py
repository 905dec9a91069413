"""The command line: reads arguments, calls a command, turns what happened into an exit code.

Commands are imported when they are called, so that ``callgate --help`` costs next to nothing.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from callgate.cli.arguments import read_arguments
from callgate.cli.terminal import safe
from callgate.words.errors import CallgateError, UsageError

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code: 0 done, 1 failed, 2 usage, 130 interrupted."""
    words = sys.argv[1:] if argv is None else list(argv)
    debug = "--debug" in words
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


def _run(words: list[str]) -> int:
    given = read_arguments(words)
    if isinstance(given, int):
        return given
    options = given.options
    if given.command == "demo":
        from callgate.cli.demo import demo  # brings asyncio and the whole runtime

        return demo(options.speed, options.form)
    if given.command == "tools validate":
        return _validate(options.file)
    if given.command == "tools new":
        return _new_tool(options.name)
    if given.command == "answer":
        from callgate.cli.answer import answer  # brings the room of the transcripts, too

        return answer(options)
    if given.command == "changes":
        from callgate.cli.changes import changes  # brings the room of the changes, too

        return changes(options)
    if given.command == "undo":
        from callgate.cli.undo import undo  # brings hosts and asyncio

        return undo(options)
    if given.command.startswith("policy "):
        from callgate.cli.policy.commands import COMMANDS as POLICY  # brings the room of the policies

        return POLICY[given.command](options)
    if given.command.startswith("trust "):
        from callgate.cli.trust import TRUST

        return TRUST[given.command](options)
    from callgate.cli.session.commands import COMMANDS  # brings the room of the transcripts

    return COMMANDS[given.command](options)


def _new_tool(name: str) -> int:
    from pathlib import Path

    from callgate.cli.tools_new import new_tool

    try:
        for line in new_tool(name, Path.cwd()):
            print(safe(line))
    except UsageError as error:
        _say(str(error))
        return USAGE
    return DONE


def _validate(file: str | None) -> int:
    from callgate.cli.validate import validate_lines  # brings the JSON Schema compiler

    if file in (None, "-"):
        if sys.stdin.isatty():
            _say("reading JSON lines from the keyboard; Ctrl-D ends")
        return validate_lines(sys.stdin.buffer, sys.stdout)
    with open(file, "rb") as lines:
        return validate_lines(lines, sys.stdout)


def _say(text: str, after: str = "") -> None:
    """One line on stderr, whatever the text holds."""
    with suppress(OSError):
        print(f"{after}callgate: {safe(text)}", file=sys.stderr, flush=True)


def _let_go_of_stdout() -> None:
    """Points stdout at the null device after a broken pipe, so that the interpreter's last flush does not fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
