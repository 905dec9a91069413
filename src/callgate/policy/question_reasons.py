"""Builds the choices that the answer "always" offers, and the text of a question: why no allow rule covers the call,
and which rules would allow it. A rule is suggested only after a test shows that it allows the call."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from os.path import expanduser
from posixpath import dirname

from callgate import shell
from callgate.core.ports import Case
from callgate.policy.call_grants import Grants
from callgate.policy.entries import RuleLine
from callgate.policy.path_patterns import literal, named_below
from callgate.policy.placement import why_outside
from callgate.policy.rule_contents import CommandContent
from callgate.policy.rule_fields import written
from callgate.policy.rules import Rule, make_rule, sure_server
from callgate.policy.shorten import brief
from callgate.policy.subjects import PathAccess, Subject
from callgate.policy.well_known import AGENTS, COMMANDS, OUTSIDE, READING, WRITING
from callgate.words.decisions import Choice, Origin, Pattern
from callgate.words.late_pattern import late_pattern
from callgate.words.resolved_path import ResolvedPath

_WORD = late_pattern(r"[A-Za-z][A-Za-z0-9_.:+-]*")
_FIELD_NAME = late_pattern(r"\w+")
_SPECIAL = late_pattern(r"[*,\\]")
_ESCAPED = r"\\\g<0>"
_LONGEST_VALUE = 60
_MOST_FIELDS = 3
_RULE_PATH = late_pattern(r"[\w .,+@=#%()-]+(?:/[\w .,+@=#%()-]+)*")
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
        prefixes = _commands(subject, OUTSIDE)
        return exact, *(replace(each, label=f"{each.label}, outside the sandbox", tool=OUTSIDE) for each in prefixes)
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
    if subject.declared.agent is not None:
        kind = subject.declared.agent
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
    if not _RULE_PATH.fullmatch(path) or path.startswith(" ") or path.endswith(" "):
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
        if text is not None and len(text) <= _LONGEST_VALUE and _FIELD_NAME.fullmatch(name):
            found.append(_by_rule(f"calls with {name} {text}", case.name, f"{name}={_SPECIAL.sub(_ESCAPED, text)}"))
    return tuple(found[:_MOST_FIELDS])


_MOST_RUNS = 6
_MOST_RULES = 3
_MOST_WORDS = 200
_LONGEST = 90
_PLAIN_PATH = late_pattern(r"/(?!.*  )[\w .,+@=#%~()\[\]*?/-]*(?<! )")
_NO_RULE = "no rule covers"
_YOURS = Origin("user")


def why_not_allowed(grants: Grants, guard: Rule | None = None) -> str:
    """Return why a call with side effects is not allowed, and which rules would allow it.

    guard  a deny or ask rule that a command of unknown effect may bypass
    """
    subject = grants.subject
    if subject.declared.command is not None or "command" in subject.declared.kinds:
        return _about_command(grants, guard)
    if subject.edits_files and any(access.way != "read" for access in subject.accesses):
        return _about_files(grants)
    if subject.declared.agent is not None:
        kind = brief(subject.declared.agent, 60)
        rules = [as_offered(f"{AGENTS}({kind})", subject.case)]
        return f"no rule covers starting an agent of type {kind}{_listed(rules) if _all_allow(rules, grants) else ''}"
    name = subject.case.name
    named = next(iter(_living(grants)), None)
    if named is not None:
        return f"{named.text} does not cover this: {grants.why_not(named)}"
    traits = subject.case.traits
    if traits.server:
        return f"no rule covers requests to the MCP server {brief(traits.server, 60)}"
    would = f"; the rule {name} would allow this" if _all_allow([name], grants) else ""
    return f"no rule covers {name}, which may have side effects{would}"


def as_offered(rule: str, case: Case) -> str:
    """Return the rule in the form in which the answer "always" offers it for the tool of the call. If no offered
    rule is equal, return the rule unchanged. The reason and the choices of a question must not contradict each
    other."""
    own = f"{case.name}({rule.partition('(')[2]}"
    return own if any(choice.rule == own for choice in choices_for(case)) else rule


def what_would_read(grants: Grants) -> str:
    """Return the end of a sentence that suggests rules for all paths outside the workspace; empty if there is no
    suggestion."""
    return _on_files(READING, grants.subject.outside, grants)


def what_would_run(grants: Grants) -> str:
    """Return the end of a sentence that suggests rules for the command; empty if there is no suggestion."""
    analysis = grants.subject.analysis
    return "" if analysis is None else _listed(_wanted(grants, analysis))


# ---- commands -----------------------------------------------------------------------------------------------------


def _about_command(grants: Grants, guard: Rule | None) -> str:
    analysis = grants.subject.analysis
    if analysis is None:
        return f"no rule covers the call: {grants.subject.declared.fault or 'its command is missing'}"
    would = _listed(_wanted(grants, analysis))
    whole = next((rule for rule in _living(grants) if rule.content is None), None)
    if whole is not None and guard is not None and grants.guarded is not None:
        unclear = f"it is unclear whether that rule applies here: {grants.guarded}"
        acts = "denies" if guard.effect == "deny" else "asks about"
        return f"{whole.text} allows the call, but {guard.text} {acts} some calls, and {unclear}{would}"
    if whole is not None:
        return f"{whole.text} does not cover this: {grants.why_not(whole)}{would}"
    if analysis.fault is not None:
        return f"rules for commands do not cover this syntax: {analysis.fault}"
    rules = _command_rules(grants)
    answer = _tried(grants, analysis, rules)
    if isinstance(answer, shell.Granted):  # its words are covered
        rule = rules[answer.used[0]]
        return f"{rule.text} does not cover this: {grants.why_not(rule)}{would}"
    if answer.why.startswith(_NO_RULE):
        return f"{answer.why}{' in this command' if len(analysis.script.commands) > 1 else ''}{would}"
    if answer.by is None:
        return f"{answer.why}{would}"
    rule = rules[answer.by]
    program = str(_patterns([rule])[0].program)
    return f"{rule.text} does not cover this: {answer.why.removeprefix(f'{program}: ')}{would}"


def _command_rules(grants: Grants) -> list[Rule]:
    return [rule for rule in _living(grants) if isinstance(rule.content, CommandContent) and not rule.content.field]


def _living(grants: Grants) -> list[Rule]:
    case = grants.subject.case
    return [rule for rule in grants.rules if rule.is_for(grants.subject) and rule.is_active(case.now)]


def _patterns(rules: Sequence[Rule]) -> "list[shell.ShellPattern]":
    return [rule.content.pattern for rule in rules if isinstance(rule.content, CommandContent)]


def _tried(grants: Grants, analysis: "shell.Analysis", rules: Sequence[Rule]) -> "shell.Granted | shell.NotGranted":
    return shell.grant(analysis, _patterns(rules), grants.files)


def _wanted(grants: Grants, analysis: "shell.Analysis") -> list[str]:
    """Return rules that together allow the command, each as narrow as a choice of "always"; empty if there are none."""
    runs = shell.find_inner_commands(analysis).runs
    words = sum(len(simple.words) for simple in analysis.script.commands)
    if analysis.fault is not None or len(runs) > _MOST_RUNS or words > _MOST_WORDS:
        return []
    written: dict[str, None] = {}

    def may_write(path: str) -> bool:
        if not grants.may_write(path):
            written[path] = None
        return True

    have, files = _patterns(_command_rules(grants)), replace(grants.files, may_write=may_write)

    def needed(new: "Sequence[shell.ShellPattern]") -> "list[shell.ShellPattern]":
        """Return the new patterns that are needed to allow the command; empty if even all of them do not allow it."""
        answer = shell.grant(analysis, (*have, *new), files)
        if isinstance(answer, shell.NotGranted) or (answer.free and grants.reads_folders):
            return []
        return [new[at - len(have)] for at in answer.used if at >= len(have)]

    plain = [found for run in runs if (found := shell.quoted_command(run)) is not None]
    new = [shell.parse_pattern(f"{prefix}:*") for each in plain if (prefix := shell.prefix_of(each))]
    found = (needed(new) if new else []) or needed([*new, *_exactly(runs)])
    for pattern in found if len(found) > 1 else ():  # a command that needs no rule by itself needs none here
        found = needed([each for each in found if each is not pattern]) or found
    texts = [f"{grants.tool}({each.content})" for each in found]
    places = map(grants.subject.resolve_in_shell, written)
    texts += [_on_file(WRITING, place, grants.subject.root) or "" for place in places]
    return texts if _all_allow(texts, grants) else []


def _exactly(runs: "Sequence[shell.CommandRun]") -> "Iterator[shell.ShellPattern]":
    for run in runs:
        command = None if any(word.globs for word in run.words) else shell.quoted_command(run)
        if command is not None:
            with suppress(ValueError):  # a line end, and other text that a rule cannot contain
                yield shell.parse_pattern(command.text)


# ---- files --------------------------------------------------------------------------------------------------------


def _about_files(grants: Grants) -> str:
    changed = [access for access in grants.subject.accesses if access.way != "read"]
    closed = [access for access in changed if grants.rule_for(access) is None] or changed
    first = closed[0].path
    more = f" and {len(closed) - 1} more" if len(closed) > 1 else ""
    far = "" if first.inside else ", outside the workspace"
    would = _on_files(WRITING, closed, grants) if grants.subject.declares_paths else ""
    return f"no rule covers changes of {brief(first.spelled)}{more}{far}{would}"


def _on_files(tool: str, accesses: Sequence[PathAccess], grants: Grants) -> str:
    found = dict.fromkeys(_on_file(tool, access.path, grants.subject.root) for access in accesses)
    case = grants.subject.case
    return "" if None in found else _listed([as_offered(each, case) for each in found if each])


def _on_file(tool: str, place: ResolvedPath, root: str) -> str | None:
    """Return the rule on exactly this path; None if the path contains characters that a rule cannot contain."""
    if place.fault is not None or len(place.hops) != 1 or not _PLAIN_PATH.fullmatch(place.resolved):
        return None
    if not place.inside:
        return f"{tool}(/{literal(place.resolved)})"
    return f"{tool}({named_below(place.resolved.removeprefix(root.rstrip('/') + '/'))})"


# ---- rules that would ---------------------------------------------------------------------------------------------


def _listed(texts: Sequence[str]) -> str:
    """Return the rules as the end of a sentence; empty if the text would be too long."""
    if not texts or len(texts) > _MOST_RULES or any(len(text) > _LONGEST for text in texts):
        return ""
    *most, last = texts
    return f"; {', '.join(most)}{' and ' if most else ''}{last} would allow this"


def _all_allow(texts: Sequence[str], grants: Grants) -> bool:
    subject = grants.subject
    try:
        made = [make_rule(RuleLine("allow", text, _YOURS), root=subject.root, home=subject.home) for text in texts]
    except ValueError:
        return False
    return bool(made) and replace(grants, rules=(*grants.rules, *made)).by() is not None
