"""Builds the choices that the answer "always" offers."""

from collections.abc import Iterator
from dataclasses import replace
from os.path import expanduser
from posixpath import dirname

from callgate import shell
from callgate.core.ports import Case
from callgate.policy.path_patterns import named_below
from callgate.policy.placement import why_outside
from callgate.policy.rule_fields import written
from callgate.policy.rules import sure_server
from callgate.policy.subjects import Subject
from callgate.policy.well_known import COMMANDS, OUTSIDE
from callgate.words.decisions import Choice, Pattern
from callgate.words.late_pattern import late_pattern

_WORD = late_pattern(r"[A-Za-z][A-Za-z0-9_.:+-]*")
_NAME = late_pattern(r"\w+")
_SPECIAL = late_pattern(r"[*,\\]")
_ESCAPED = r"\\\g<0>"
_LONGEST_VALUE = 60
_MOST_FIELDS = 3
_PATH = late_pattern(r"[\w .,+@=#%()-]+(?:/[\w .,+@=#%()-]+)*")
"""Matches a path without characters that are special in a path rule."""


def choices_for(case: Case) -> tuple[Choice, ...]:
    """Return the choices for the answer "always", narrowest first.

    The first choice is a rule on exactly these arguments. It is followed by the choices of the tool. If the tool has
    none, choices are derived from the call: prefix of a command, file and folder, host, agent, single arguments, the
    whole tool, the whole MCP server.
    """
    subject = Subject(case, root=case.root or case.resolve_path(".").resolved, home=expanduser("~"))
    is_command = "command" in subject.declared.kinds
    label = "exactly this command" if is_command else "exactly these arguments"
    if why_outside(subject):
        label = f"{label}, outside the sandbox"
        exact = Choice(label, Pattern("exact", case.arguments_hash), f"{OUTSIDE}({label})", OUTSIDE)
        return (
            exact,
            *(
                replace(each, label=f"{each.label}, outside the sandbox", tool=OUTSIDE)
                for each in _commands(subject, OUTSIDE)
            ),
        )
    exact = Choice(label, Pattern("exact", case.arguments_hash), f"{case.name}({label})")
    own = case.traits.choices_for_always
    return (exact, *(_usual(subject) if own is None else own))


def _usual(subject: Subject) -> tuple[Choice, ...]:
    """Return the choices derived from the call. For a tool that runs commands the whole tool is never offered: users
    must write such a rule themselves."""
    if "command" in subject.declared.kinds:
        return _commands(subject)
    if subject.case.traits.judged_as and not subject.declares_paths:
        return ()  # the call is judged as another tool, but has its own arguments
    return (*_narrow(subject), *_whole(subject.case))


def _narrow(subject: Subject) -> tuple[Choice, ...]:
    name = subject.case.name
    if subject.host is not None and "address" in subject.declared.kinds:
        return (_by_rule(f"every page of {subject.host}", name, f"domain:{subject.host}"),)
    if subject.agent is not None:
        kind = subject.agent
        return (_by_rule(f"agents of type {kind}", name, kind),) if _WORD.fullmatch(kind) else ()
    return _files(subject) if subject.declares_paths else _fields(subject.case)


def _whole(case: Case) -> Iterator[Choice]:
    yield Choice(f"every call of {case.name}", rule=case.name)
    server = case.traits.server or sure_server(case.name)
    if server:
        whole = f"mcp__{server}"
        yield Choice(f"every tool of the server {server}", rule=whole, tool=whole)


def _by_rule(label: str, tool: str, content: str) -> Choice:
    return Choice(label, Pattern("rule", content), f"{tool}({content})")


def _commands(subject: Subject, tool: str = COMMANDS) -> tuple[Choice, ...]:
    """Return a choice with the prefix of the command; empty if there is no prefix that allows the command but no
    other programs."""
    analysis = subject.analysis
    if analysis is None or subject.not_granted is not None:
        return ()
    prefix = shell.prefix_of(analysis)
    if prefix is None:
        return ()
    field = subject.declared.names.get("command", ("",))[0]
    rule = f"{tool}({prefix}:*)"
    return (Choice(f"commands that start with {prefix}", Pattern("prefix", prefix, field), rule),)


def _files(subject: Subject) -> tuple[Choice, ...]:
    """Return choices for the file and its folder. Return no choices if the call has several files, or if the file is
    outside the workspace or reached through a link."""
    case, accesses = subject.case, subject.accesses
    if len(accesses) != 1 or not accesses[0].path.inside or len(accesses[0].path.hops) > 1:
        return ()
    root = case.resolve_path(".").resolved.rstrip("/") + "/"
    path = accesses[0].path.resolved.removeprefix(root)
    if not _PATH.fullmatch(path) or path.startswith(" ") or path.endswith(" "):
        return ()
    folder = dirname(path)
    file = _by_rule(f"{case.name} of {path}", case.name, named_below(path))
    if not folder:
        return (file,)
    return file, _by_rule(f"{case.name} of every file in {folder}/", case.name, f"{named_below(folder)}/**")


def _fields(case: Case) -> tuple[Choice, ...]:
    """Return one choice for each short argument; empty if the call has only one argument."""
    found: list[Choice] = []
    for name, value in case.arguments.items() if len(case.arguments) > 1 else ():
        text = written(value)
        if text is not None and len(text) <= _LONGEST_VALUE and _NAME.fullmatch(name):
            found.append(_by_rule(f"calls with {name} {text}", case.name, f"{name}={_SPECIAL.sub(_ESCAPED, text)}"))
    return tuple(found[:_MOST_FIELDS])
