"""Decides whether allow rules and remembered answers together cover a whole call.

A call is covered if one rule covers it, or if rules cover all of its parts. The parts are the simple commands of a
shell command or the paths of a file tool.
"""

from collections.abc import Sequence

from callgate import shell
from callgate.policy.rule_contents import READS, WRITES, CommandContent, PathContent
from callgate.policy.rules import Rule
from callgate.policy.subjects import PathAccess, Subject, Way
from callgate.policy.well_known import COMMANDS
from callgate.words.noun import noun

_WAYS: dict[str, frozenset[Way]] = {"writes": WRITES, "reads": READS}


@noun
class Grants:
    """The allow rules that apply to one call.

    edits          the mode is accept_edits, so edits inside the workspace need no Edit rule
    guarded        why a rule on the whole shell does not cover the command, or None
    reads_folders  the command reads whole folders, which may contain a file with secrets or a file
                   that a deny or ask rule names
    tool           the tool of suggested rules on commands
    """

    subject: Subject
    rules: Sequence[Rule]
    edits: bool = False
    guarded: str | None = None
    reads_folders: bool = False
    tool: str = COMMANDS

    def by(self) -> Rule | None:
        """Return the rule to report as the reason for allowing the call, or None if the call is not covered."""
        return self.whole() or self.commands() or self.places()

    def of_commands(self) -> Rule | None:
        """Return the rule on the whole tool or on commands that covers the call, or None. Rules on paths alone do not
        cover a command."""
        return self.whole() or self.commands()

    def whole(self) -> Rule | None:
        """Return the first rule that covers the whole call, or None."""
        for rule in self.rules:
            if self._taken_apart(rule) or (rule.content is None and self.guarded is not None):
                continue
            if rule.covers(self.subject) and self._reaches(rule):
                return rule
        return None

    def commands(self) -> Rule | None:
        """Return the first of several rules that together cover every simple command, or None."""
        rules = self._command_rules()
        answer = self._granted(rules)
        if not isinstance(answer, shell.Granted) or (answer.free and self.reads_folders):
            return None
        return rules[answer.used[0]] if answer.used else None

    def why_not(self, rule: Rule) -> str | None:
        """Return why the rule alone does not cover the call, or None if the rule covers it."""
        subject = self.subject
        if not rule.is_active(subject.case.now):
            return "the rule has expired"
        if isinstance(rule.content, PathContent) and self._taken_apart(rule):
            return self._why_no_place(rule, rule.content)
        if isinstance(rule.content, CommandContent) and self._taken_apart(rule):
            answer = self._granted((rule,))
            if isinstance(answer, shell.NotGranted):
                return answer.why
        elif rule.content is None and self.guarded is not None:
            return f"other rules apply to some calls of {rule.tool}, and {self.guarded}"
        elif not rule.covers(subject):
            return "the call does not match the rule"
        return None if self._reaches(rule) else _too_far(rule, subject.outside)

    def _why_no_place(self, rule: Rule, content: PathContent) -> str | None:
        meant = [access for access in self.subject.accesses if access.way in content.ways]
        for access in meant:
            if not content.opens(access):
                return f"the rule does not cover every link on the path to {access.path.spelled}"
            if not access.path.inside and not rule.reaches:
                return _too_far(rule, (access,))
        return None if meant else "the call is not known to access files in this way"

    def _granted(self, rules: Sequence[Rule]) -> "shell.Granted | shell.NotGranted | None":
        analysis = self.subject.analysis
        refused = self.subject.not_granted or self._folder_closed()
        if refused is not None:
            return shell.NotGranted(refused)
        patterns = [rule.content.pattern for rule in rules if isinstance(rule.content, CommandContent)]
        if analysis is None or not patterns:
            return None
        return shell.grant(analysis, patterns, self.files)

    def _folder_closed(self) -> str | None:
        """Return why the command may not run in its working folder, or None. A folder outside the workspace needs a
        rule."""
        if self.subject.folder is None:
            return None
        place = self.subject.resolve_in_shell(".")
        if place.inside or self.rule_for(PathAccess(place, "read")) is not None:
            return None
        return f"the command runs in {place.spelled}, outside the workspace"

    def _command_rules(self) -> list[Rule]:
        rules = [rule for rule in self.rules if isinstance(rule.content, CommandContent) and self._taken_apart(rule)]
        living = (rule for rule in rules if rule.is_active(self.subject.case.now) and rule.is_for(self.subject))
        return [rule for rule in living if self._reaches(rule)]

    def places(self) -> Rule | None:
        """Return the first of several rules that together cover every path, or None. Reads inside the workspace need
        no rule."""
        subject = self.subject
        named: Rule | None = None
        known = subject.declares_paths or subject.declared.command is not None
        if not known or subject.has("address") or subject.declared.agent:
            return None
        edits = subject.edits_files and any(access.way != "read" for access in subject.accesses)
        if self.reads_folders and subject.declared.command is not None:
            return None
        if subject.hidden is not None or not (edits or subject.effects == "none"):
            return None
        for access in subject.accesses:
            rule = self.rule_for(access)
            if rule is None and not (access.way == "read" and access.path.inside):
                return None
            named = named or rule
        return named

    def rule_for(self, access: PathAccess) -> Rule | None:
        """Return the first rule that allows the access to its path, or None."""
        case = self.subject.case
        for rule in self.rules:
            content = rule.content
            # a rule ``Edit`` or ``Read`` without content, but not a remembered answer on the whole tool
            whole = rule.text == rule.tool and access.path.inside and access.way in _WAYS.get(rule.kind, ())
            if whole and rule.is_active(case.now):
                return rule
            if not isinstance(content, PathContent) or content.field or not rule.is_active(case.now):
                continue
            if rule.kind not in _WAYS and not rule.is_for(self.subject):
                continue
            far_enough = access.path.inside or rule.reaches
            if far_enough and access.way in content.ways and content.opens(access):
                return rule
        return None

    def may_write(self, path: str) -> bool:
        place = self.subject.resolve_in_shell(path)
        if self.subject.danger_of(place, "write") is not None:
            return False
        return (self.edits and place.inside) or self.rule_for(PathAccess(place, "write")) is not None

    def may_use(self, path: str) -> bool:
        """Return True if a command may use a path that no command rule names. The path must be inside the workspace,
        or rules must allow all accesses of the command to the path."""
        place = self.subject.resolve_in_shell(path)
        if place.inside:
            return True
        ways = [access for access in self.subject.accesses if access.path.resolved == place.resolved]
        return bool(ways) and all(self.rule_for(access) is not None for access in ways)

    @property
    def files(self) -> "shell.FileTests":
        """The file tests for ``shell.grant``."""
        subject = self.subject
        return shell.FileTests(
            may_write=self.may_write,
            may_read=self.may_use,
            stays=self.stays,
            folder=subject.is_folder,
            expand_glob=subject.expand_glob,
            project_file=subject.project_file,
            elsewhere=subject.folder is not None and not self._is_root(subject.folder),
        )

    def _is_root(self, folder: str) -> bool:
        case = self.subject.case
        return case.resolve_path(folder).resolved == (case.root or case.resolve_path(".").resolved)

    def stays(self, path: str) -> bool:
        """Return True if the path is the folder in which the command starts."""
        return self.subject.resolve_in_shell(path or ".").resolved == self.subject.resolve_in_shell(".").resolved

    def _taken_apart(self, rule: Rule) -> bool:
        """Return True if the rule covers single commands or paths of a call instead of the whole call."""
        if isinstance(rule.content, CommandContent):
            names = ("", *self.subject.declared.names.get("command", ()))
            return self.subject.declared.command is not None and rule.content.field in names
        return isinstance(rule.content, PathContent) and not rule.content.field

    def _reaches(self, rule: Rule) -> bool:
        return rule.reaches or all(self.rule_for(access) is not None for access in self.subject.outside)


def _too_far(rule: Rule, outside: Sequence[PathAccess]) -> str:
    return f"{outside[0].path.spelled} is outside the workspace, where {rule.origin.layer} rules do not apply"
