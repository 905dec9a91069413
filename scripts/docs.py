"""Redraw the generated blocks of the docs; with --check, fail where one is stale.

A block stands between `<!-- generated:NAME -->` and `<!-- /generated -->`; the text around it is written by people.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

ROOT = Path(__file__).resolve().parents[1]


def transitions_mermaid() -> str:
    """The table of statuses as a Mermaid state diagram."""
    # Not at the top: --help works on an incomplete tree.
    from callgate.words.calls import TERMINAL, TRANSITIONS, Status

    lines = ["stateDiagram-v2", f"    [*] --> {Status.VALIDATING}"]
    for before, moves in TRANSITIONS.items():
        lines += [f"    {before} --> {after}" for after in Status if after in moves]
    lines += [f"    {status} --> [*]" for status in Status if status in TERMINAL]
    return "\n".join(lines)


def statuses() -> str:
    """The diagram of a call's statuses, drawn from the transition table."""
    return f"```mermaid\n{transitions_mermaid()}\n```"


def codes() -> str:
    """Every code of a result, with its status and its meaning."""
    from callgate.words.calls import CODES

    rows = (f"| `{code}` | {row.status} | {row.meaning} |" for code, row in CODES.items())
    return "\n".join(("| code | status | |", "|---|---|---|", *rows))


def events() -> str:
    """Every event with its fields, its row of the table and what its docstring says, durable ones first."""
    from callgate.words.event_table import EVENTS

    lines: list[str] = []
    for title, durable in (("On record", True), ("Passing, never stored", False)):
        lines += [f"## {title}", "", "| event | fields | belongs to | published | |", "|---|---|---|---|---|"]
        for event, row in EVENTS.items():
            if (row.on != "nothing") is not durable:
                continue
            names = ", ".join(f"`{field.name}`" for field in fields(event) if field.name != "at")
            written = event.__doc__ or ""
            said = "" if written.startswith(f"{event.__name__}(") else " ".join(written.split())
            lines.append(f"| `{event.__name__}` | {names} | {row.on} | {row.published} | {said} |")
        lines.append("")
    return "\n".join(lines).strip()


def exit_codes() -> str:
    """Every exit code with its meaning."""
    from callgate.words.endings import EXIT_CODES

    rows = (f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    return "\n".join(("| exit code | |", "|---|---|", *rows))


def endings() -> str:
    """Every cause that ends a run, with its exit code and its sentence."""
    from callgate.words.endings import ENDINGS

    lines = ["| reason | exit code | sentence | `Continue()` |", "|---|---|---|---|"]
    for reason, ending in ENDINGS.items():
        then = "continues" if ending.continues else "refused"
        lines.append(f"| `{reason}` | {ending.exit_code} | {ending.sentence} | {then} |")
    return "\n".join(lines)


def reasons() -> str:
    """The values of the reasons in RunEnded and TurnEnded."""
    from callgate.words.endings import RunReason
    from callgate.words.turns import TurnReason

    values = (("RunEnded.reason", RunReason), ("TurnEnded.reason", TurnReason))
    rows = (f"| `{name}` | {', '.join(f'`{each}`' for each in get_args(kind))} |" for name, kind in values)
    return "\n".join(("| field | values |", "|---|---|", *rows))


def status_faces() -> str:
    """The sign, the word and the colour of every status of a call in the terminal."""
    from callgate.tui.theme import STATUSES

    rows = (
        f"| {face.sign} | `{face.ascii}` | {face.word} | {face.style} | {status.replace('_', ' ')} |"
        for status, face in STATUSES.items()
    )
    return "\n".join(("| sign | in ASCII | word | colour | status |", "|---|---|---|---|---|", *rows))


def keys() -> str:
    """Every action that has a key in the terminal, by place."""
    from callgate.tui.keys import ACTIONS, CONTEXTS, shown_keys

    lines: list[str] = []
    for context, place in CONTEXTS.items():
        lines += [
            f"## {place[0].upper()}{place[1:]}",
            "",
            f"`[keybindings.{context}]`",
            "",
            "| action | keys | |",
            "|---|---|---|",
        ]
        for row in ACTIONS:
            if row.context == context:
                shown = ", ".join(f"`{shown_keys(key)}`" for key in row.keys)
                lines.append(f"| `{row.action}` | {shown} | {row.help} |")
        lines.append("")
    return "\n".join(lines).strip()


def slash_commands() -> str:
    """Every slash command of the terminal, by group, and those that say what is missing."""
    from callgate.tui.commands.command_table import GROUPS, MISSING

    lines = ["| command | |", "|---|---|"]
    for group, rows in GROUPS.items():
        lines.append(f"| **{group}** | |")
        for each in rows:
            form = f"/{each.name} {each.arguments}".strip().replace("|", "\\|")
            also = f"; also {', '.join(f'`/{name}`' for name in each.aliases)}" if each.aliases else ""
            rest = " (while the agent is idle)" if each.at_rest else ""
            lines.append(f"| `{form}` | {each.help}{rest}{also} |")
    names = ", ".join(f"`/{name}`" for name in MISSING)
    return "\n".join((*lines, "", f"Not there yet, and typed they say what to do instead: {names}."))


def modes() -> str:
    """Every mode with its meaning."""
    from callgate.words.modes import MODES

    rows = (f"| `{mode}` | {rules.meaning} |" for mode, rules in MODES.items())
    return "\n".join(("| mode | |", "|---|---|", *rows))


def settings() -> str:
    """Every key of a settings file, by section, with its type, its default and its variable."""
    import tomlkit

    from callgate.policy.setting_rows import SETTINGS

    lines: list[str] = []
    section = None
    for key in SETTINGS:
        top = key.name.partition(".")[0] if "." in key.name else ""
        if top != section:
            section = top
            lines += [
                "",
                f"### `[{top}]`" if top else "### At the top",
                "",
                "| key | type | default | |",
                "|---|---|---|---|",
            ]
        shown = "" if key.default is None else f"`{tomlkit.item(key.default).as_string()}`"
        more = f" Variable: `{key.variable}`." if key.variable else ""
        lines.append(f"| `{key.name}` | {_cell(key.kind.expected)} | {shown} | {_cell(key.help)}{more} |")
    return "\n".join(lines).strip()


def variables() -> str:
    """Every environment variable that is read."""
    from callgate.policy.setting_rows import VARIABLES

    rows = (f"| `{each.name}` | {f'`{each.key}`' if each.key else ''} | {_cell(each.meaning)} |" for each in VARIABLES)
    return "\n".join(("| variable | setting | |", "|---|---|---|", *rows))


def shell_commands() -> str:
    """Every command of the shell by topic, as it is typed, with its line of the help."""
    from callgate.cli.command_rows import GROUPS

    lines = ["| command | |", "|---|---|"]
    for topic in dict.fromkeys(group.topic for group in GROUPS.values()):
        lines.append(f"| **{topic}** | |")
        for group in GROUPS.values():
            if group.topic == topic:
                rows = group.commands.values()
                lines += [f"| `{_cell(_typed(row))}` | {_cell(row.help or group.help)} |" for row in rows]
    return "\n".join(lines)


def options() -> str:
    """Every flag of the agent, then every command with its description, arguments, options and examples."""
    from callgate.cli.command_parser import command_parser
    from callgate.cli.command_rows import ArgumentRow, all_commands
    from callgate.cli.start_options import FLAGS, FORMATS

    prompt = ArgumentRow("PROMPT", "what to do; standard input is added to it")
    top = (ArgumentRow("-h --help", "show this help message and exit"), ArgumentRow("--debug", "show tracebacks"))
    lines = ["## `callgate` and `callgate -p`", "", "| flag | |", "|---|---|"]
    lines += [f"| {_spelled(row)} | {_cell(row.help)} |" for row in (top[0], prompt, top[1])]
    for alone, rows in ((" (`-p` alone)", FORMATS), ("", FLAGS)):
        lines += [f"| {_spelled(row)} | {_cell(row.help)}{alone} |" for each in rows.values() for row in each]
    for path, command in all_commands().items():
        lines += ["", f"## `callgate {path}`", "", command.about, ""]
        if shown := _shown(command):
            lines += ["| | |", "|---|---|"]
            lines += [f"| {_spelled(row)} | {_cell(row.help)} |" for row in shown]
        if more := command_parser(command).epilog:
            lines += ["", "```text", more, "```"]
    return "\n".join(lines)


def _typed(command: Any) -> str:
    """A command with all that may follow it."""
    words = [f"callgate {command.path}"]
    for row in _shown(command):
        name = " ".join(filter(None, (*row.names[-1:], _value(row))))
        is_needed = row.required or not (row.names or row.count in ("?", "*"))
        words.append(name if is_needed else f"[{name}]")
    return " ".join(words)


def _shown(command: Any) -> list[Any]:
    return [row for row in command.arguments if row.help]


def _spelled(row: Any) -> str:
    return ", ".join(f"`{_cell(' '.join(filter(None, (name, _value(row)))))}`" for name in row.names or ("",))


def _value(row: Any) -> str:
    """The place of an option's value; the values themselves where they are known."""
    name = f"{row.value}…" if row.count in ("+", "*", "...") else row.value
    return f"[{name}]" if row.count == "?" and row.names else name


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def models() -> str:
    """Every model that has a row."""
    from datetime import date

    from callgate.providers.catalogue import Catalogue

    known = Catalogue(today=date.max)
    lines = ["| model | context | output | input $ | output $ | cached $ | efforts |", "|---|---|---|---|---|---|---|"]
    for name in known.names:
        model = known.resolve(name)
        facts = known.facts(model)
        prices = facts.prices
        dollars = ("", "", "") if prices is None else (prices.input, prices.output, prices.cache_read)
        cells = [f"`{model}`", f"{facts.context_tokens:,}", f"{facts.output_tokens:,}"]
        cells += [f"{each:g}" if each != "" else "" for each in dollars]
        lines.append(f"| {' | '.join((*cells, ', '.join(facts.efforts or ())))} |")
    return "\n".join(lines)


def api() -> str:
    """Every public name with its signature, its docstring, its fields and its methods; then the nouns that they use."""
    import callgate
    from callgate.assembly import Executor
    from callgate.config import Config
    from callgate.core.ports import Host
    from callgate.session.controls import SessionControls
    from callgate.session.run import RunResult
    from callgate.words.decisions import Confirmation, Question
    from callgate.words.errors import ModelError
    from callgate.words.limits import ExecutorSettings, LoopLimits
    from callgate.words.messages import CallPart, Image, Message, Resource, ResultPart, Text, Thinking, Usage
    from callgate.words.model import Abilities, Request, RequestLimits, ToolSpec

    public = [(name, getattr(callgate, name)) for name in callgate.__all__ if name != "__version__"]
    used = (
        *(Request, RequestLimits, ToolSpec, Abilities, Message, Text, Thinking, CallPart, ResultPart, Image, Resource),
        *(
            Usage,
            ModelError,
            Host,
            ExecutorSettings,
            LoopLimits,
            Config,
            Confirmation,
            Executor,
            Question,
            RunResult,
            SessionControls,
        ),
    )
    names = {name for name, _ in public}
    lines = ["## `from callgate import …`", ""]
    for name, value in public:
        lines += _entry(name, value)
    lines += ["## Nouns and ports that they use", ""]
    for kind in sorted(used, key=lambda kind: kind.__name__):
        if kind.__name__ not in names:
            lines += _entry(kind.__name__, kind, home=kind.__module__)
    return "\n".join(lines).strip()


def testing() -> str:
    """Every name of callgate.testing with its signature, its docstring and its methods, in groups."""
    import callgate.testing

    def is_check(name: str) -> bool:
        return name.startswith("check_")

    names = [name for name in callgate.testing.__all__ if name != "Scene"]  # an alias of two types
    steps = [name for name in names if getattr(callgate.testing, name).__module__ == "callgate.testing.script"]
    groups = {
        "Scripts of models": [*steps, "GatedModel", "GatedStream"],
        "Conformance checks": [name for name in names if is_check(name)],
    }
    grouped = [name for group in groups.values() for name in group]
    groups["Hosts, clocks and tools for tests"] = [name for name in names if name not in grouped]
    lines: list[str] = []
    for title, group in groups.items():
        lines += [f"## {title}", ""]
        for name in group:
            lines += _entry(name, getattr(callgate.testing, name))
    return "\n".join(lines).strip()


def _entry(name: str, value: Any, home: str = "") -> list[str]:
    shown = "" if get_origin(value) else _signature(value)
    lines = [f"### `{name}`", "", *([f"`from {home} import {name}`", ""] if home else [])]
    if shown:
        lines += ["```python", f"{name}{shown}", "```", ""]
    if isinstance(value, type) or callable(value):
        lines += ["```text", inspect.cleandoc(value.__doc__), "```", ""] if value.__doc__ else []
    if not isinstance(value, type):
        return lines
    methods = [each for each in _members(value) if each is not None]
    return [*lines, "| | |", "|---|---|", *methods, ""] if methods else lines


def _members(kind: type) -> Iterator[str | None]:
    own = {field.name for field in fields(kind)} if is_dataclass(kind) else set[str]()
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if name.startswith("_") or name in own or not (inspect.isroutine(member) or isinstance(member, property)):
            continue
        if not any(home.__module__.startswith("callgate") for home in kind.__mro__ if name in vars(home)):
            continue
        said = " ".join((inspect.getdoc(member) or "").split()).replace("|", "\\|")
        found = "" if isinstance(member, property) else _signature(getattr(kind, name))
        call = " ".join(found.replace("|", "\\|").split()).replace("( ", "(").replace(", )", ")")
        yield f"| `{name}{call}` | {said} |"


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    shown: list[str] = []
    star = False
    for each in found.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not star:
            star = True
            shown.append("*")
        if each.name != "self":
            shown.append(_parameter(each))
    back = "" if found.return_annotation is found.empty else f" -> {_type(found.return_annotation)}"
    short = f"({', '.join(shown)}){back}"
    return short if len(short) <= 110 else f"(\n    {_LINE.join(shown)},\n){back}"


_LINE = ",\n    "


def _parameter(each: inspect.Parameter) -> str:
    stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
    hint = "" if each.annotation is each.empty else f": {_type(each.annotation)}"
    if each.default is each.empty:
        return f"{stars}{each.name}{hint}"
    default = getattr(each.default, "__name__", None) or repr(each.default)
    return f"{each.name}{hint} = {'...' if ' at 0x' in default or default.startswith('<') else default}"


def _type(hint: Any) -> str:
    plain = isinstance(hint, type) and not get_args(hint)
    text = hint if isinstance(hint, str) else hint.__name__ if plain else str(hint)
    text = re.sub(r"\*<class '([\w.]+)'>", r"Unpack[\1]", text)  # str() of an unpacked TypedDict
    return re.sub(r"\bcallgate(?:\.\w+)*\.|\bcollections\.abc\.|\btyping\.", "", text)


BLOCKS: dict[str, tuple[Path, Callable[[], str]]] = {
    "statuses": (Path("docs/reference/statuses.md"), statuses),
    "codes": (Path("docs/reference/statuses.md"), codes),
    "exit-codes": (Path("docs/reference/endings.md"), exit_codes),
    "endings": (Path("docs/reference/endings.md"), endings),
    "api": (Path("docs/reference/api.md"), api),
    "testing": (Path("docs/reference/testing.md"), testing),
    "events": (Path("docs/reference/events.md"), events),
    "reasons": (Path("docs/reference/events.md"), reasons),
    "status-faces": (Path("docs/guides/terminal.md"), status_faces),
    "keys": (Path("docs/reference/keys.md"), keys),
    "slash-commands": (Path("docs/reference/commands.md"), slash_commands),
    "modes": (Path("docs/concepts/gate.md"), modes),
    "models": (Path("docs/reference/models.md"), models),
    "settings": (Path("docs/reference/settings.md"), settings),
    "shell-commands": (Path("docs/reference/cli.md"), shell_commands),
    "options": (Path("docs/reference/options.md"), options),
    "variables": (Path("docs/reference/settings.md"), variables),
}


def redrawn(text: str, name: str, content: str) -> str:
    """The text with its block `name` holding `content`; LookupError if it has not exactly one such block."""
    block = re.compile(rf"(<!-- generated:{re.escape(name)} -->\n).*?(<!-- /generated -->)", re.DOTALL)
    found = len(block.findall(text))
    if found != 1:
        raise LookupError(f"wanted one block generated:{name}, found {found}")
    return block.sub(lambda match: f"{match[1]}\n{content}\n\n{match[2]}", text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Redraw the generated blocks of the docs.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a block is stale")
    check: bool = parser.parse_args().check
    faults = 0
    for name, (path, draw) in BLOCKS.items():
        try:
            old = (ROOT / path).read_text(encoding="utf-8")
            new = redrawn(old, name, draw())
        except (OSError, LookupError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            faults += 1
            continue
        if new == old:
            print(f"{path}: {name} is up to date")
        elif check:
            print(f"{path}: {name} is stale; run `make docs`", file=sys.stderr)
            faults += 1
        else:
            (ROOT / path).write_text(new, encoding="utf-8")
            print(f"{path}: {name} redrawn")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
