"""``callgate --help``: how to start the agent, and every command under a topic."""

import re
from shutil import get_terminal_size
from textwrap import fill

from callgate.cli.parsing import CommandParser
from callgate.words.endings import EXIT_CODES_LINE

TOPICS: dict[str, tuple[str, ...]] = {
    "begin": ("demo", "auth", "doctor", "config", "completion", "update"),
    "what a session did": ("session", "log", "audit", "answer", "changes", "undo"),
    "what may run": ("policy", "trust", "sandbox"),
    "make it yours": ("tools", "mcp", "prompt", "statusline", "record"),
}
"""Every command, under the topic in which the help lists it."""

ELSEWHERE = {
    "version": "callgate --version",
    "resume": "callgate --resume",
    "continue": "callgate --continue",
    "run": "callgate -p PROMPT",
    "chat": "callgate, and nothing more",
    "login": "callgate auth set anthropic, or openai, or gemini",
    "logout": "callgate auth remove, and the name of the provider",
    "model": "callgate --model NAME; callgate config set models.default NAME keeps it",
    "models": "callgate --model NAME; callgate config set models.default NAME keeps it",
    "settings": "callgate config list",
    "permissions": "callgate policy list",
    "init": "/init in the terminal",
}
"""Words that are commands in other programs, and what does the same here."""

COLUMNS = 80

_START = """\
usage: callgate [PROMPT] [options]     the agent in this terminal
       callgate -p PROMPT [options]    the agent without a terminal, for scripts
       callgate COMMAND ...

An agent in a terminal: it shows what it is about to do, asks once and remembers, and takes back exactly what it did."""

_END = """\
options of the agent (all of them: callgate -p --help):
  -c, --continue     go on with the newest session of this folder
  -r, --resume [ID]  go on with another one, chosen from a list unless named
  --model NAME       such as anthropic/claude-opus-5-5 or ollama/qwen3
  --mode MODE        how calls are judged: default, plan, accept_edits, ...

  --version, --help (also of every command), --debug (tracebacks)
"""


class OverviewParser(CommandParser):
    """The parser of the program itself. ``summaries`` are the lines of its commands by their names."""

    summaries: dict[str, str]

    def format_help(self) -> str:
        blocks = [_START]
        for topic, names in TOPICS.items():
            blocks.append("\n".join((f"{topic}:", *(f"  {name:<12}{self.summaries[name]}" for name in names))))
        text = "\n\n".join((*blocks, f"{_END}{EXIT_CODES_LINE}\n"))
        room = min(COLUMNS, get_terminal_size().columns)
        return "\n".join(_fitted(line, room) for line in text.split("\n"))


def _fitted(line: str, room: int) -> str:
    """The line broken to the terminal, below the beginning of its second column."""
    second = re.search(r"\S {2,}(?=\S)", line)
    indent = second.end() if second else 0
    return line if len(line) <= room else fill(line, max(room, indent + 20), subsequent_indent=" " * indent)
