"""The command line: calls a command and returns its exit code.

Commands are imported when they are called, so that ``callgate --help`` starts fast.
"""

import gc
import os
import signal
import sys
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from types import FrameType
from typing import Any, cast

from callgate.cli.command_rows import GROUPS
from callgate.cli.terminal import write_all
from callgate.cli.text_output import say
from callgate.words.errors import CallgateError

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
_MOST_BYTES = 65_536


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code, one of ``EXIT_CODES`` in ``words/endings.py``."""
    if argv is None:
        _require_unicode()
    words = sys.argv[1:] if argv is None else list(argv)
    debug = "--debug" in words
    _take_closed_descriptors()
    if argv is None:
        _ignore_errors_of_stderr()
        _wait_for_stdout()
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except SystemExit as end:  # the help or a fault is printed, or a signal came
        return int(end.code or 0)
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # after the ^C that the terminal shows
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _close_stdout()
        return DONE  # the reader closed its end, as ``head`` does
    except Exception as error:
        if debug:
            traceback.print_exc()
            return FAILED
        if isinstance(error, CallgateError):
            say(str(error))
        elif isinstance(error, OSError):
            say(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        else:
            say(f"{type(error).__name__}: {error}; --debug shows the traceback")
        return FAILED


def _run(words: list[str]) -> int:
    if is_headless(words):
        return _headless(words)
    if is_interactive(words):
        return _in_terminal(words) if sys.stdin.isatty() and sys.stdout.isatty() else _without_terminal(words)
    return _command(words)


def _command(words: list[str]) -> int:
    from callgate.cli.command_parser import run_command

    return run_command(words)


def _in_terminal(words: list[str]) -> int:
    with _typed_meanwhile() as typed:  # before the slow imports
        from callgate.cli.terminal_opener import interactive

        return interactive(words, typed)


def _without_terminal(words: list[str]) -> int:
    """Print an error for a command line that needs a terminal, with the command line to use in a script. Return the
    exit code."""
    from callgate.cli.start_options import read_interactive

    prompt = None
    if words in ([], ["--debug"]):
        with suppress(SystemExit):
            _command(words)  # prints the help to standard error
    else:
        prompt = read_interactive(words).prompt
    say(f"this is not a terminal; in a script, use callgate -p {repr(prompt) if prompt else 'PROMPT'}")
    return USAGE


def _headless(words: list[str]) -> int:
    from callgate.cli.start_options import read_headless

    options = read_headless(words)
    gc.disable()  # objects of the start live on: collecting takes a sixth of its time
    try:
        from callgate.cli.headless import headless

        return headless(options)
    finally:
        gc.enable()


def is_headless(words: Sequence[str]) -> bool:
    """Return True if the command line starts the agent without a terminal: it has ``-p``, and its first word is not
    a command."""
    before = words[: words.index("--")] if "--" in words else words
    return any(word in ("-p", "--print") for word in before) and words[0] not in GROUPS


def is_interactive(words: Sequence[str]) -> bool:
    """Return True if the command line starts the terminal interface: it is empty, or its first word is a flag or a
    prompt of several words."""
    if not words:
        return True
    first = words[0]
    if first.startswith("-"):
        return first not in ("-h", "--help", "--version") and not (first == "--debug" and set(words[1:]) & {*GROUPS})
    return first not in GROUPS and " " in first.strip()


def _require_unicode() -> None:
    """Start Python again in its UTF-8 mode if the encoding of the system is ASCII (``LC_ALL=POSIX``). Otherwise
    prompts, paths and output could only have ASCII characters."""
    if sys.getfilesystemencoding() == "ascii" and not any("utf8" in word for word in sys.orig_argv[:4]):
        with suppress(OSError):
            os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _take_closed_descriptors() -> None:
    """Open the null device for each standard stream that is closed (``2>&-``).

    Otherwise the next file or socket would get its number and be written to as if it were the stream. Standard output
    is opened for reading, so that writing fails instead of being lost.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest free number, which is this one
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure") and sys.stdout.errors == "strict":
        cast(TextIOWrapper, sys.stdout).reconfigure(errors="backslashreplace")  # for a terminal without Unicode


class _BestEffort(FileIO):
    """A file whose write errors are ignored."""

    def write(self, data: Any) -> int:
        with suppress(OSError):
            write_all(self.fileno(), data)
        return len(data)


class _Waiting(FileIO):
    """A file whose writes wait while a non-blocking pipe is full."""

    def write(self, data: Any) -> int:
        write_all(self.fileno(), data)
        return len(data)


def _ignore_errors_of_stderr() -> None:
    """Ignore write errors on standard error. Otherwise a full disk or a closed pipe could change the exit code, even in
    the final flush when Python exits."""
    sys.stderr = TextIOWrapper(_BestEffort(2, "w", closefd=False), "utf-8", "backslashreplace", line_buffering=True)


def _wait_for_stdout() -> None:
    """Wait while standard output is full if the parent process made it non-blocking, as Node.js does. Otherwise long
    output would be cut."""
    with suppress(OSError):
        if not os.get_blocking(1):
            raw = _Waiting(1, "w", closefd=False)
            sys.stdout = TextIOWrapper(
                BufferedWriter(raw),
                sys.stdout.encoding,
                sys.stdout.errors,
                line_buffering=bool(sys.stdout.line_buffering),
            )


def _close_stdout() -> None:
    """Point stdout at the null device after a broken pipe, so that the last flush of the interpreter does not fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# ---- keys that are pressed while the program starts ---------------------------------------------------------------

# Until a program reads the terminal, the terminal echoes keys and turns Enter into a line feed. Both are switched off
# early, so that the input line gets every key once, and no key is echoed twice.


@contextmanager
def _typed_meanwhile() -> Generator[str]:
    """Yield the keys so far; later keys stay in the terminal. The terminal is restored at the end, also after an
    exception or a signal."""
    try:
        import termios
    except ImportError:  # not on this system: its terminals keep keys by themselves
        yield ""
        return
    try:
        before = termios.tcgetattr(0)
    except termios.error:
        yield ""
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _exit_by_signal)
    changed = termios.tcgetattr(0)
    changed[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
    changed[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    changed[6][termios.VMIN] = changed[6][termios.VTIME] = 0
    try:
        termios.tcsetattr(0, termios.TCSANOW, changed)
        typed = os.read(0, _MOST_BYTES)
        changed[6][termios.VMIN] = 1
        termios.tcsetattr(0, termios.TCSANOW, changed)
        if typed and before[3] & termios.ECHO:
            _erase(typed)
        yield typed.replace(b"\n", b"\r").replace(b"\0", b"").decode("utf-8", "ignore")
    finally:
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(0, termios.TCSANOW, before)


def _erase(typed: bytes) -> None:
    """Remove echoed keys from the screen."""
    if os.environ.get("TERM", "dumb") == "dumb":
        return
    try:
        columns = max(os.get_terminal_size(1).columns, 1)
    except OSError:
        return
    lines = typed.decode("utf-8", "replace").split("\n")
    above = sum(sum(1 if sign.isprintable() else 2 for sign in line) // columns for line in lines) + len(lines) - 1
    # The row and those below it one after the other: see FrameOutput.erase_down.
    sys.stdout.write("\r" + f"\x1b[{above}A" * bool(above) + "\x1b7\x1b[K\x1b[B\r\x1b[J\x1b8")
    sys.stdout.flush()


def _exit_by_signal(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
