"""The words of ``callgate policy …``."""

import argparse
import re
from argparse import ArgumentTypeError, Namespace
from textwrap import fill

from callgate.cli.answering import arguments
from callgate.cli.parsing import CommandParser, Group, one_of
from callgate.words.modes import MODES

# Written out: to ask the nouns for them would make every start slower. A test compares.
EFFECTS = ("allow", "ask", "deny")

_KEPT = "Answers are kept in $CALLGATE_DATA_DIR (default: ~/.local/share/callgate)."
_WHEN = "12h or 30d from now, or a date such as 2027-01-31 (UTC)"
_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


class _Paragraphs(argparse.HelpFormatter):
    """Lines that were written apart stay apart, so that examples can be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        hang = {True: f"{indent}    ", False: indent}
        return "\n".join(
            fill(line, width, initial_indent=indent, subsequent_indent=hang[line[:1] == " "], break_on_hyphens=False)
            for line in text.split("\n")
        )


def add_policy(commands: Group) -> None:
    policy = commands.group(
        "policy",
        "rules and answers: list, explain, check, add, revoke ...",
        "Rules, settings and remembered answers: try them, look at them, change them. Nothing is run. Deny rules are a "
        "convenience and not a wall: the wall is the sandbox, see callgate sandbox.",
    )
    _add_decide(policy)
    _add_explain(policy)
    _add_check(policy)
    _add_list(policy)
    _add_add(policy)
    _add_revoke(policy)
    _add_narrow(policy)
    _add_expire(policy)


def command(group: Group, name: str, what: str, description: str, *examples: str, codes: str = "") -> CommandParser:
    more = "\n".join(("examples:", *(f"  {example}" for example in examples), *((codes,) if codes else ())))
    made = group.command(name, what, description, more=more)
    made.formatter_class = _Paragraphs
    return made


def _add_decide(policy: Group) -> None:
    parser = command(
        policy,
        "decide",
        "what would be decided about calls, a JSON line for each",
        'Reads {"tool": "Bash", "arguments": {"command": "…"}, "allow": […], "ask": […], "deny": […], "mode": "…", '
        '"root": "/…"} and answers {"decision": "allow|ask|deny", "rule", "by", "why"}, a line each, as they come. All '
        "but the tool may be left out. Rules count as given on the command line; no settings are read but those of "
        "--settings, and nothing is run: links below the root are looked at, no more.",
        """echo '{"tool": "Bash", "arguments": {"command": "ls"}}' | callgate policy decide --jsonl""",
        "callgate policy decide --jsonl --settings settings.toml calls.jsonl",
        codes='exit codes: 0 all were answered; 1 some were not, and have {"error": "…"} in their place',
    )
    parser.add_argument("--jsonl", action="store_true", help="JSON lines in and out")
    parser.add_argument(
        "--settings", metavar="FILE", help="rules and the mode of this settings file; hooks are left out"
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="where to read from (default: standard input)")


def _add_explain(policy: Group) -> None:
    parser = command(
        policy,
        "explain",
        "why a call would be decided as it is",
        "The whole chain for one call: which checks were asked, what each said, which one decided, and for each rule "
        "about the tool why it applies or does not. Settings of all layers and remembered answers count; hooks are not "
        "asked, and nothing is run.",
        'callgate policy explain Bash "rm -rf build"',
        "callgate policy explain Edit src/app.py --mode accept_edits",
        "callgate policy explain mcp__db__query --argument table=users",
    )
    parser.add_argument("tool", metavar="TOOL", help="its name, as in rules")
    parser.add_argument(
        "content",
        metavar="CONTENT",
        nargs="?",
        help="what a rule on the tool is about, in quotes: the command of Bash, the path of a file tool, the address "
        "of WebFetch, the type of Agent",
    )
    parser.add_argument(
        "--argument",
        type=_argument,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the call, as text; may be given several times",
    )
    parser.add_argument(
        "--arguments", type=arguments, metavar="JSON", help="all arguments at once; @FILE reads them from a file"
    )
    parser.add_argument("--mode", type=one_of(*MODES), metavar="M", help=f"one of {', '.join(MODES)}")
    _add_root(parser)
    parser.add_argument("--json", action="store_true", help="one line of JSON, and nothing else")


def _add_check(policy: Group) -> None:
    parser = command(
        policy,
        "check",
        "whether the settings can be relied on",
        "Reads the settings of all layers, runs the self-tests of their rules, and says what is wrong, with file and "
        "line. While something is wrong, every call is denied. Also says what is ignored, and why.",
        "callgate policy check",
        "callgate policy check --root ~/src/app",
        codes="exit codes: 0 nothing is wrong, 1 something is",
    )
    _add_root(parser)


def _add_list(policy: Group) -> None:
    parser = command(
        policy,
        "list",
        "the rules in force, and the remembered answers",
        f"Every rule with its layer, file and line, and every remembered answer with its id, how far it reaches, until "
        f"when, and who gave it. {_KEPT}",
        "callgate policy list",
        "callgate policy list --json",
    )
    _add_root(parser)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each, and nothing else")


def _add_add(policy: Group) -> None:
    parser = command(
        policy,
        "add",
        "remember an answer",
        f"Remembers an answer, as the answer `always` does, and prints its id. It is about one tool or one MCP "
        f"server; for everybody who works on a project, write a rule into its settings. {_KEPT}",
        'callgate policy add allow "Bash(npm run *)" --expires 30d',
        'callgate policy add deny "Bash(git push:*)" --scope user --note "I push myself"',
    )
    parser.add_argument("effect", metavar="allow|ask|deny", type=one_of(*EFFECTS), help="what the answer is")
    parser.add_argument("rule", metavar="RULE", help="Tool or Tool(content), in quotes")
    parser.add_argument(
        "--scope",
        type=_scope,
        default="project",
        metavar="S",
        help="project: in this folder (the default); user: in every folder",
    )
    parser.add_argument("--expires", type=moment, metavar="WHEN", help=f"{_WHEN} (default: never)")
    parser.add_argument("--note", metavar="TEXT", help="why, for people; it is shown when the answer decides")
    _add_root(parser)


def _add_revoke(policy: Group) -> None:
    parser = command(
        policy,
        "revoke",
        "forget remembered answers",
        f"Forgets these answers, all or, if one of the ids is not known, none. {_KEPT}",
        "callgate policy revoke 3fa2c1",
    )
    parser.add_argument("ids", metavar="ID", nargs="+", help="as `callgate policy list` shows it")
    _add_root(parser)


def _add_narrow(policy: Group) -> None:
    parser = command(
        policy,
        "narrow",
        "let a remembered answer cover fewer calls",
        f"Replaces what a remembered answer covers by a narrower rule; its id stays. What plainly is not "
        f"narrower is refused. {_KEPT}",
        'callgate policy narrow 3fa2c1 "Bash(git log --oneline:*)"',
    )
    _add_id(parser)
    parser.add_argument("rule", metavar="RULE", help="Tool(content), in quotes")
    _add_root(parser)


def _add_expire(policy: Group) -> None:
    parser = command(
        policy,
        "expire",
        "let a remembered answer end",
        "Sets, changes or removes the time at which a remembered answer ends; one that has ended can be given a later "
        f"time. {_KEPT}",
        "callgate policy expire 3fa2c1 30d",
        "callgate policy expire 3fa2c1 never",
    )
    _add_id(parser)
    parser.add_argument("when", metavar="WHEN", type=_moment_or_never, help=f"{_WHEN}, or never")
    _add_root(parser)


def _add_id(parser: CommandParser) -> None:
    parser.add_argument("id", metavar="ID", help="as `callgate policy list` shows it")


def _add_root(parser: CommandParser) -> None:
    parser.add_argument("--root", metavar="DIR", help="the workspace (default: the current folder)")


def check_policy(path: str, parser: CommandParser, options: Namespace) -> None:
    """Checks that need more than one option."""
    if path == "policy decide" and not options.jsonl:
        parser.error("say --jsonl: JSON lines are the only format")
    if path == "policy explain":
        names = [name for name, _ in options.argument]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            parser.error(f"the argument {twice!r} is given twice")
        if options.arguments is not None and (names or options.content is not None):
            parser.error("--arguments are all arguments: leave the content and --argument out")


# ---- values -------------------------------------------------------------------------------------------------------


def _argument(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"must be NAME=VALUE, not {text!r}")
    return name, value


def _scope(text: str) -> str:
    if text == "session":
        raise ArgumentTypeError("must be user or project: what counts for a session alone is answered in that session")
    return one_of("user", "project")(text)


def _moment_or_never(text: str) -> float | None:
    return None if text == "never" else moment(text)


def moment(text: str) -> float:
    """Seconds since the epoch, ahead of now."""
    from datetime import UTC, datetime  # only now: most commands need no dates
    from time import time

    now = time()
    found = re.fullmatch(r"(\d{1,6})([mhdw])", text, re.ASCII)
    try:
        if found is not None:
            at = now + int(found[1]) * _UNITS[found[2]]
        else:
            date = datetime.fromisoformat(text)
            at = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        datetime.fromtimestamp(at, UTC)  # what has no date cannot be shown
    except (ValueError, OverflowError, OSError):
        raise ArgumentTypeError(f"must be {_WHEN}, not {text!r}") from None
    if at <= now:
        raise ArgumentTypeError(f"must be in the future, and {text} is past: revoke the answer instead")
    return at
