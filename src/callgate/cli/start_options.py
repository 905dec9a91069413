"""The options that start the agent, in a terminal or with ``-p``."""

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Literal, get_args

from callgate.cli.command_parser import CommandParser, count, split_names
from callgate.cli.command_rows import ArgumentRow
from callgate.words.endings import EXIT_CODES_LINE
from callgate.words.model import Effort, WantedEffort
from callgate.words.modes import MODES, Mode
from callgate.words.noun import noun

_FOREVER = "for ever"
_LATER = {"--agent": "custom agents are not supported yet", "--agents": "custom agents are not supported yet"}
"""Flags of other programs that have no function here yet."""


@noun
class StartOptions:
    """The options of one start of the agent.

    attended  True if a user watches, so that the agent can ask
    resume    the session to resume; empty if the user chooses the session from a list
    wait      the seconds that a question may stay open
    """

    attended: bool
    prompt: str | None = None
    debug: bool = False
    model: str | None = None
    fallback_model: str | None = None
    effort: WantedEffort | None = None
    system_prompt: str | None = None
    system_prompt_file: str | None = None
    append_system_prompt: str | None = None
    append_system_prompt_file: str | None = None
    allow: Sequence[str] = ()
    ask: Sequence[str] = ()
    deny: Sequence[str] = ()
    mode: Mode | None = None
    tools: tuple[str, ...] | None = None
    add_dir: Sequence[str] = ()
    max_turns: int | None = None
    max_budget: float | None = None
    token_budget: int | None = None
    settings: str | None = None
    trust: bool = False
    bare: bool = False
    mcp_config: Sequence[str] = ()
    strict_mcp_config: bool = False
    latest: bool = False
    resume: str | None = None
    fork: bool = False
    resume_at: str | None = None
    session_id: str | None = None
    no_save: bool = False
    output_format: Literal["text", "json", "stream-json"] = "text"
    input_format: Literal["text", "stream-json"] = "text"
    json_schema: str | None = None
    wait: float | None = None

    @property
    def resumes(self) -> bool:
        return self.latest or self.resume is not None


def _seconds(text: str) -> float:
    return inf if text == _FOREVER else _positive(text, "a number of seconds")


def _dollars(text: str) -> float:
    return _positive(text.removeprefix("$"), "a sum in dollars")


def _positive(text: str, what: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not (isfinite(found) and found > 0):
        raise ArgumentTypeError(f"must be {what} above 0, not {text!r}")
    return found


PROMPT_TEXTS = (
    ArgumentRow("--system-prompt TEXT", "replace the built-in system prompt", apart="own"),
    ArgumentRow("--system-prompt-file FILE", "the same, from a file", apart="own"),
    ArgumentRow("--append-system-prompt TEXT", "after the system prompt", apart="appended"),
    ArgumentRow("--append-system-prompt-file FILE", "the same, from a file", apart="appended"),
)
MODE = ArgumentRow(f"--mode {'|'.join(MODES)}", "the permission mode")
RULES = (
    ArgumentRow("--allow RULE", "allow without a question, such as 'Bash(npm test)'", many=True),
    ArgumentRow("--ask RULE", "always ask, such as 'Bash(npm test)'", many=True),
    ArgumentRow("--deny RULE", "always deny, such as 'Bash(npm test)'", many=True),
    MODE,
)
FORMATS: Mapping[str, Sequence[ArgumentRow]] = {
    "in and out": (
        ArgumentRow(
            "--output-format text|json|stream-json",
            "text: the answer (default); json: one object at the end; stream-json: every event as a line of JSON",
            default="text",
        ),
        ArgumentRow(
            "--input-format text|stream-json",
            "stream-json: inputs as lines of JSON, such as prompts and answers, until standard input ends",
            default="text",
        ),
        ArgumentRow("--json-schema FILE|JSON", "the schema of the answer; an invalid answer is sent back once"),
        ArgumentRow(
            "--wait S",
            "wait until questions are answered (callgate answer) and continue; --wait=S: at most S seconds for each",
            read=_seconds,
        ),
    )
}
FLAGS: Mapping[str, Sequence[ArgumentRow]] = {
    "the model": (
        ArgumentRow("--model NAME", "such as anthropic/claude-… or ollama/…"),
        ArgumentRow("--fallback-model NAME", "the model to use if the first is overloaded"),
        ArgumentRow(f"--effort {'|'.join(get_args(Effort))}|auto", "how much the model thinks"),
        *PROMPT_TEXTS,
    ),
    "what it may do": (
        *RULES,
        ArgumentRow("--tools LIST", "only these tools: Read,Grep; '' for none", read=split_names),
        ArgumentRow("--add-dir DIR", "a folder that may be read; file tools change only the workspace", many=True),
        ArgumentRow("--max-turns N", "the maximum number of requests to the model", read=count),
        ArgumentRow("--max-budget DOLLARS", "the maximum cost of the session", read=_dollars),
        ArgumentRow("--token-budget N", "the maximum number of output tokens for this prompt", read=count),
        ArgumentRow("--settings FILE|JSON", "a settings file with priority over all others"),
        ArgumentRow("--trust", "trust this folder with its tools and hooks for this start"),
        ArgumentRow("--bare", "only Bash, Read and Edit; no project files, hooks, skills"),
        ArgumentRow("--mcp-config FILE|JSON", "additional MCP servers", many=True),
        ArgumentRow("--strict-mcp-config", "use only the servers of --mcp-config"),
    ),
    "the session": (
        ArgumentRow("-c --continue", "continue the newest session of this folder", "latest"),
        ArgumentRow("-r --resume ID", "continue a session: an id, a title, words, a log file; without ID, show a list"),
        ArgumentRow("--fork", "continue a copy; the original session is unchanged"),
        ArgumentRow("--resume-at MESSAGE", "continue after this message, such as a3, without later messages"),
        ArgumentRow("--session-id ID", "the id of a new session"),
        ArgumentRow("--no-save", "keep no record"),
    ),
}


def headless_parser() -> CommandParser:
    parser = CommandParser(
        "callgate -p",
        usage="callgate -p [PROMPT] [options]",
        description="Runs the agent once, without a terminal: it works until it is done, and prints its answer. It "
        "never asks: a question is kept, what does not depend on it is finished, and the exit code is 3.",
        epilog=EXIT_CODES_LINE,
    )
    parser.add_rows([ArgumentRow("-p --print"), ArgumentRow("PROMPT?", "the task; standard input is added to it")])
    for title, rows in {**FORMATS, **FLAGS}.items():
        parser.add_rows(rows, title)
    return parser


def interactive_parser() -> CommandParser:
    parser = CommandParser("callgate", description="The agent in this terminal.")
    parser.add_rows([ArgumentRow("PROMPT?", "what to do first")])
    for title, rows in FLAGS.items():
        parser.add_rows(rows, title)
    return parser


def read_headless(words: Sequence[str]) -> StartOptions:
    """Parse the words of ``callgate -p``. An invalid word ends the program with exit code 2."""
    parser, words = headless_parser(), [*words]
    for at, word in enumerate(_before_dashes(words)):
        if word == "--wait":
            words[at] = f"--wait={_FOREVER}"  # a value only with "=": the next word is the prompt
    options, unknown = parser.parse_known_args(_supported(parser, words))
    if unknown and unknown[0].startswith("-"):
        parser.refuse(unknown[0])
    if unknown:
        parser.error(f"{unknown[0]!r} is a second prompt: put the whole prompt in quotes")
    values = vars(options)
    del values["print"]
    found = _checked(parser, StartOptions(attended=False, **values))
    if found.json_schema is not None and found.input_format == "stream-json":
        parser.error("--json-schema cannot be combined with --input-format stream-json (several prompts)")
    return found


def read_interactive(words: Sequence[str]) -> StartOptions:
    """Parse the words of ``callgate`` in a terminal. An invalid word ends the program with exit code 2."""
    parser = interactive_parser()
    options, unknown = parser.parse_known_args(_with_picker(_supported(parser, words)))
    if unknown:
        parser.refuse(unknown[0])
    return _checked(parser, StartOptions(attended=True, **vars(options)))


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def _supported(parser: CommandParser, words: Sequence[str]) -> Sequence[str]:
    for word in _before_dashes(words):
        flag = word.partition("=")[0]
        if flag in _LATER:
            parser.error(f"leave out {flag}: {_LATER[flag]}")
    return words


def _with_picker(words: Sequence[str]) -> Sequence[str]:
    """Set the value of ``--resume`` without an id to an empty text, which opens the list of sessions."""
    for at, word in enumerate(_before_dashes(words)):
        following = words[at + 1] if at + 1 < len(words) else "-"
        if word in ("-r", "--resume") and following.startswith("-"):
            return [*words[:at], "--resume=", *words[at + 1 :]]
    return words


def _checked(parser: CommandParser, options: StartOptions) -> StartOptions:
    """Return the options. Flags that exclude each other and an empty prompt end the program with an error."""
    given = {
        "--continue": options.latest,
        "--resume": options.resume is not None,
        "--no-save": options.no_save,
        "--session-id": options.session_id is not None,
        "--fork": options.fork,
        "--resume-at": options.resume_at is not None,
    }
    for first, second in (
        ("--continue", "--resume"),
        ("--no-save", "--continue"),
        ("--no-save", "--resume"),
        ("--no-save", "--session-id"),
    ):
        if given[first] and given[second]:
            parser.error(f"say {first} or {second}, not both")
    for flag in ("--fork", "--resume-at"):
        if given[flag] and not options.resumes:
            parser.error(f"{flag} requires --continue or --resume ID")
    if options.session_id is not None and options.resumes and not options.fork:
        parser.error("--session-id is for a new session: add --fork to continue in a copy with this id")
    if options.prompt is not None and not options.prompt.strip():
        parser.error("the prompt is empty")
    return options
