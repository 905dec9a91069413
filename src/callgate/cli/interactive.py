"""Starts the agent in a terminal."""

import os
import sys
from collections.abc import Sequence

from callgate.cli.start_options import read_interactive


def interactive(words: Sequence[str], typed: str = "") -> int:
    """Run the terminal interface and return the exit code. ``typed`` has the keys that were pressed while the
    program started."""
    options = read_interactive(words)
    if os.environ.get("TERM", "dumb") == "dumb" and os.name != "nt":
        why = "this terminal (TERM=dumb) cannot move the cursor: use callgate -p PROMPT, or another terminal"
        print(f"callgate: {why}", file=sys.stderr)
        return 2
    try:
        from callgate.tui.app import run_terminal
        from callgate.tui.theme import theme_for
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "prompt_toolkit":
            raise
        print("callgate: the terminal needs more packages: pip install 'callgate[app]'", file=sys.stderr)
        return 2
    from callgate.cli.terminal_opener import opening_of

    theme = theme_for(encoding=sys.stdout.encoding)
    return run_terminal(opening_of(options), theme, options.prompt or "", typed=typed)
