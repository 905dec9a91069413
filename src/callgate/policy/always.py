"""How far an "always" may reach: what a person may pick instead of a plain yes."""

import re
from collections.abc import Iterator
from posixpath import dirname

from callgate import shell
from callgate.core.ports import Case
from callgate.policy.fields import written
from callgate.policy.rules import sure_server
from callgate.policy.subjects import Subject
from callgate.policy.well_known import COMMANDS
from callgate.words.decisions import Choice, Pattern

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.:+-]*")
_NAME = re.compile(r"\w+")
_SPECIAL = re.compile(r"[*,\\]")
_ESCAPED = r"\\\g<0>"
_LONGEST_VALUE = 60
_MOST_FIELDS = 3
_PATH = re.compile(r"[\w .,+@=#%()-]+(?:/[\w .,+@=#%()-]+)*")
"""No character that means something in a path rule."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BY_SUBCOMMAND = _names("""
    apt brew bun bundle bunx cargo conda deno docker dotnet flutter gh git glab go gradle hatch hg just kubectl make mvn
    node npm npx nx pdm pip pip3 pipenv pipx pnpm pnpx podman poetry python python3 rustup svn systemctl terraform uv
    uvx yarn
""")
"""Programs that are many programs: without the second word nothing is said."""

_BY_THREE = frozenset(
    """bun run|bun x|bundle exec|conda run|docker compose|gh issue|gh pr|gh release|gh repo|gh run|gh workflow
    |hatch run|npm exec|npm run|npm x|pdm run|pipenv run|pipx run|pnpm dlx|pnpm exec|pnpm run|poetry run|python -m
    |python3 -m|uv pip|uv run|yarn dlx|yarn exec|yarn run""".replace("\n    ", "").split("|")
)
"""The same with two words: ``npm run`` and ``python -m`` say nothing without the third."""

_NEVER = _names("""
    chmod chown curl dd doas env eval exec find kill killall mkfs nice nohup parallel pkill rm rmdir rsync scp sed shred
    source ssh su sudo tar tee time timeout truncate unlink watch wget xargs
""")
"""Too much can be done by their other arguments: only exactly this command is offered."""


def choices_for(case: Case) -> tuple[Choice, ...]:
    """Narrowest first: exactly these arguments; then the tool's own, or else those its subject gives (the beginning of
    a command, a file and its folder, a host, an agent, single arguments), the whole tool and the whole MCP server."""
    subject = Subject(case, root="", home="")
    is_command = "command" in subject.declared.kinds
    label = "exactly this command" if is_command else "exactly these arguments"
    exact = Choice(label, Pattern("exact", case.arguments_hash), f"{case.name}({label})")
    own = case.traits.choices_for_always
    return (exact, *(_usual(subject) if own is None else own))


def _usual(subject: Subject) -> tuple[Choice, ...]:
    """A command runner is never offered as a whole: that is for a rule somebody writes on purpose."""
    if "command" in subject.declared.kinds:
        return _commands(subject)
    return (*_narrow(subject), *_whole(subject.case))


def _narrow(subject: Subject) -> tuple[Choice, ...]:
    name = subject.case.name
    if subject.host is not None and "address" in subject.declared.kinds:
        return (_by_rule(f"anything from {subject.host}", name, f"domain:{subject.host}"),)
    if subject.agent is not None:
        kind = subject.agent
        return (_by_rule(f"agents of type {kind}", name, kind),) if _WORD.fullmatch(kind) else ()
    return _files(subject) if subject.placed else _fields(subject.case)


def _whole(case: Case) -> Iterator[Choice]:
    yield Choice(f"every call of {case.name}", rule=case.name)
    server = case.traits.server or sure_server(case.name)
    if server:
        whole = f"mcp__{server}"
        yield Choice(f"every tool of the server {server}", rule=whole, tool=whole)


def _by_rule(label: str, tool: str, content: str) -> Choice:
    return Choice(label, Pattern("rule", content), f"{tool}({content})")


def _commands(subject: Subject) -> tuple[Choice, ...]:
    """A prefix, if it is one plain command, and if that prefix would really have allowed it."""
    analysis = subject.analysis
    if analysis is None or subject.not_granted is not None:
        return ()
    prefix = prefix_of(analysis)
    if not prefix:
        return ()
    field = subject.declared.names.get("command", ("",))[0]
    rule = f"{COMMANDS}({prefix}:*)"
    return (Choice(f"commands that start with {prefix}", Pattern("prefix", prefix, field), rule),)


def prefix_of(analysis: "shell.Analysis") -> str:
    """The first words of a plain command that an "always" may cover; empty where none may."""
    commands = analysis.script.commands
    if analysis.fault is not None or len(commands) != 1 or commands[0].assignments or commands[0].redirects:
        return ""
    words = [word.value or "" for word in commands[0].words[:3]]
    if not words or words[0] in _NEVER:
        return ""
    needed = 3 if " ".join(words[:2]) in _BY_THREE else 2 if words[0] in _BY_SUBCOMMAND else 1
    words = words[:needed]
    plain = all(_WORD.fullmatch(word) for word in words if needed < 3 or word != "-m")
    if len(words) < needed or not plain or shell.doubt(analysis) is not None:
        return ""
    prefix = " ".join(words)
    granted = shell.grant(analysis, (shell.parse_pattern(f"{prefix}:*"),), lambda path: False)
    return prefix if isinstance(granted, shell.Granted) else ""


def _files(subject: Subject) -> tuple[Choice, ...]:
    """The file and its folder, if there is one file, inside the workspace, and no link leads to it."""
    case, touches = subject.case, subject.touches
    if len(touches) != 1 or not touches[0].place.inside or len(touches[0].place.hops) > 1:
        return ()
    root = case.place(".").resolved.rstrip("/") + "/"
    path = touches[0].place.resolved.removeprefix(root)
    if not _PATH.fullmatch(path) or path.startswith(" ") or path.endswith(" "):
        return ()
    folder = dirname(path)
    file = _by_rule(f"{case.name} of {path}", case.name, f"./{path}")
    if not folder:
        return (file,)
    return file, _by_rule(f"{case.name} of anything in {folder}/", case.name, f"./{folder}/**")


def _fields(case: Case) -> tuple[Choice, ...]:
    """One argument as it is, the others free; for a call of several arguments, and values that are short."""
    found: list[Choice] = []
    for name, value in case.arguments.items() if len(case.arguments) > 1 else ():
        text = written(value)
        if text is not None and len(text) <= _LONGEST_VALUE and _NAME.fullmatch(name):
            found.append(_by_rule(f"calls with {name} {text}", case.name, f"{name}={_SPECIAL.sub(_ESCAPED, text)}"))
    return tuple(found[:_MOST_FIELDS])
