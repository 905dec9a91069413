"""A program for terminal tests: ``callgate`` with a scripted model in place of a real one.

    python -m tests.terminal.scripted PLAY

PLAY names a function below that makes the model. Settings, tools, gate, record and terminal are the real ones.
"""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from callgate import Model, Session, Store
from callgate.assembly.agent import agent_session
from callgate.config import Config, load_config
from callgate.testing import ScriptedModel, call, pause, say, turn
from callgate.tui.app import run_terminal
from callgate.tui.port import SessionStart, Terminal
from callgate.tui.theme import theme_for

FOREVER = 3600.0


def talks() -> Model:
    """Answers everything with one sentence."""
    return ScriptedModel(otherwise=turn(say("All **done** here.\n")))


def asks() -> Model:
    """Wants to create a file, which has to be asked about."""
    return ScriptedModel(
        turn(say("I make a file.\n\nIt is called x.\n"), call("Bash", command="echo hi; touch x.txt")),
        otherwise=turn(say("The file is there.\n")),
    )


def streams() -> Model:
    """Says a long text and does not come to its end."""
    words = [say(f"Line {number} of a long text.\n\n") for number in range(60)]
    return ScriptedModel(turn(*words, say("The last line"), pause(FOREVER)), otherwise=turn(say("Afterwards.\n")))


def rambles() -> Model:
    """Says one paragraph that is longer than a low screen, and does not come to its end."""
    words = [say(f"Word {number} of a paragraph, ") for number in range(60)]
    return ScriptedModel(turn(*words, say("and so on"), pause(FOREVER)), otherwise=turn(say("Afterwards.\n")))


def runs() -> Model:
    """Runs a command that takes long; reading the clock needs no question."""
    return ScriptedModel(turn(call("Sleep", seconds=3600)), otherwise=turn(say("Afterwards.\n")))


def thinks() -> Model:
    """Is asked, and sends nothing."""
    return ScriptedModel(turn(pause(FOREVER)), otherwise=turn(say("Afterwards.\n")))


def writes() -> Model:
    """Wants to write three files, which are three questions at once."""
    calls = [call("Write", file_path=f"{name}.txt", content=f"{name}\n") for name in "abc"]
    return ScriptedModel(turn(*calls), otherwise=turn(say("All are written.\n")))


def deep() -> Model:
    """Names files by absolute paths: reads one that is not there, writes one, edits it, and reads outside."""
    path = f"{os.getcwd()}/src/shop/basket/models/seasonal.py"
    return ScriptedModel(
        turn(call("Read", file_path=f"{os.getcwd()}/missing.py")),
        turn(call("Write", file_path=path, content="RATE = 10\nNAME = 'spring'\n")),
        turn(call("Edit", file_path=path, old_string="RATE = 10", new_string="RATE = 15")),
        turn(call("Read", file_path="/etc/hostname", limit=5)),
        otherwise=turn(say("All is changed.\n")),
    )


def renames() -> Model:
    """Stages a rewrite of two files, and thinks about it."""
    ops = [{"pattern": "old($A)", "rewrite": "new($A)"}]
    return ScriptedModel(turn(call("AstEdit", ops=ops, paths=["."])), otherwise=turn(pause(FOREVER)))


def sums() -> Model:
    """Talks once; the summary of that does not come to its end."""
    return ScriptedModel(turn(say("Well said.\n")), turn(pause(FOREVER)), otherwise=turn(say("Afterwards.\n")))


def wonders() -> Model:
    """Asks the person two questions with options."""
    colours = [{"label": "red", "description": "like fire"}, {"label": "blue", "description": "like water"}]
    sizes = [{"label": "small", "description": "fits"}, {"label": "large", "description": "shows"}]
    questions = [
        {"question": "Which colour?", "header": "Colour", "options": colours},
        {"question": "Which sizes?", "header": "Size", "options": sizes, "multiSelect": True},
    ]
    return ScriptedModel(turn(call("AskUserQuestion", questions=questions)), otherwise=turn(say("Thank you.\n")))


PLAYS = {
    each.__name__: each for each in (talks, asks, deep, streams, rambles, runs, thinks, writes, renames, sums, wonders)
}


@asynccontextmanager
async def _opened(play: str, resume: str, *, fork: bool) -> AsyncGenerator[tuple[Session, Config]]:
    config = load_config()
    # In the sandbox the commands of the plays would run without a question.
    config = replace(config, settings=replace(config.settings, sandbox_disabled=True))
    store = Store(config.root, config.data)
    journal = await (store.create() if not resume else store.fork(resume) if fork else store.open(resume))
    session = await agent_session(config, PLAYS[play](), journal=journal)
    yield session, config


def main(play: str, resume: str = "") -> int:
    theme = theme_for(os.environ, sys.stdout.encoding)

    def opening(_terminal: Terminal, start: SessionStart) -> AbstractAsyncContextManager[tuple[Session, Config]]:
        return _opened(play, start.resume or ("" if start.new else resume), fork=start.fork)

    return run_terminal(opening, theme)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
