"""Decides whether allow rules and remembered answers, taken together, cover a whole call.

Either one rule covers the call, or every part has a rule: each simple command of a shell command, each path of a file
tool.
"""

from collections.abc import Sequence

from callgate import shell
from callgate.policy.rule_contents import READS, WRITES, CommandContent, PathContent
from callgate.policy.rules import Rule
from callgate.policy.subjects import Subject, Touch, Way
from callgate.words.noun import noun

_WAYS: dict[str, frozenset[Way]] = {"writes": WRITES, "reads": READS}


@noun
class Grants:
    """The allow rules that apply to one call.

    edits    the mode accept_edits replaces Edit rules inside the workspace
    guarded  why a rule on the whole shell does not cover this command
    swept    a command reads whole folders, which may contain a file that a deny or ask rule names
    """

    subject: Subject
    rules: Sequence[Rule]
    edits: bool = False
    guarded: str | None = None
    swept: bool = False

    def by(self) -> Rule | None:
        """Return the rule that is reported as the one that allows the call, or None."""
        return self.whole() or self.commands() or self.places()

    def whole(self) -> Rule | None:
        """Return a rule that covers the whole call."""
        for rule in self.rules:
            if self._taken_apart(rule) or (rule.content is None and self.guarded is not None):
                continue
            if rule.covers(self.subject) and self._reaches(rule):
                return rule
        return None

    def commands(self) -> Rule | None:
        """Return the first of the rules that together cover every simple command."""
        rules = self._command_rules()
        answer = self._granted(rules)
        if not isinstance(answer, shell.Granted) or (answer.free and self.swept):
            return None
        return rules[answer.used[0]] if answer.used else None

    def why_not(self, rule: Rule) -> str | None:
        """Return why this rule alone does not cover the call, or None if it does."""
        subject = self.subject
        if not rule.lives(subject.case.now):
            return "it has expired"
        if isinstance(rule.content, PathContent) and self._taken_apart(rule):
            return self._why_no_place(rule, rule.content)
        if isinstance(rule.content, CommandContent) and self._taken_apart(rule):
            answer = self._granted((rule,))
            if isinstance(answer, shell.NotGranted):
                return answer.why
        elif rule.content is None and self.guarded is not None:
            return f"other rules are about a part of {rule.tool}, and {self.guarded}"
        elif not rule.covers(subject):
            return "the call is not what it speaks of"
        return None if self._reaches(rule) else _too_far(rule, subject.outside)

    def _why_no_place(self, rule: Rule, content: PathContent) -> str | None:
        meant = [touch for touch in self.subject.touches if touch.way in content.ways]
        for touch in meant:
            if not content.opens(touch):
                return f"it does not cover all the way to {touch.place.spelled}"
            if not touch.place.inside and not rule.reaches:
                return _too_far(rule, (touch,))
        return None if meant else "the call is not known to touch a file that way"

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
        """Return why the command may not run in its folder: it is outside the workspace and no rule allows it."""
        if self.subject.folder is None:
            return None
        place = self.subject.place_in_shell(".")
        if place.inside or self.place(Touch(place, "read")) is not None:
            return None
        return f"it runs in {place.spelled}, outside the workspace"

    def _command_rules(self) -> list[Rule]:
        rules = [rule for rule in self.rules if isinstance(rule.content, CommandContent) and self._taken_apart(rule)]
        living = (rule for rule in rules if rule.lives(self.subject.case.now) and rule.is_for(self.subject))
        return [rule for rule in living if self._reaches(rule)]

    def places(self) -> Rule | None:
        """Return the first of the rules that together cover every path. Reads inside the workspace need no rule."""
        subject = self.subject
        named: Rule | None = None
        if not (subject.placed or subject.declared.command is not None) or subject.has("address") or subject.agent:
            return None
        edits = subject.edits_files and any(touch.way != "read" for touch in subject.touches)
        if subject.hidden is not None or not (edits or subject.effects == "none"):
            return None
        for touch in subject.touches:
            rule = self.place(touch)
            if rule is None and not (touch.way == "read" and touch.place.inside):
                return None
            named = named or rule
        return named

    def place(self, touch: Touch) -> Rule | None:
        """Return the rule that allows this access to this path."""
        case = self.subject.case
        for rule in self.rules:
            content = rule.content
            if _whole_kind(rule, touch) and rule.lives(case.now):
                return rule
            if not isinstance(content, PathContent) or content.field or not rule.lives(case.now):
                continue
            if rule.kind not in _WAYS and not rule.is_for(self.subject):
                continue
            far_enough = touch.place.inside or rule.reaches
            if far_enough and touch.way in content.ways and content.opens(touch):
                return rule
        return None

    def may_write(self, path: str) -> bool:
        """Return True if a redirection to this path is allowed."""
        place = self.subject.place_in_shell(path)
        if self.subject.danger_of(place, "write") is not None:
            return False
        return (self.edits and place.inside) or self.place(Touch(place, "write")) is not None

    def may_use_paths(self, path: str) -> bool:
        """Return True if a command may use this path although no pattern names it: it is inside the workspace, or rules
        allow all accesses of the command to it."""
        place = self.subject.place_in_shell(path)
        if place.inside:
            return True
        ways = [touch for touch in self.subject.touches if touch.place.resolved == place.resolved]
        return bool(ways) and all(self.place(touch) is not None for touch in ways)

    @property
    def files(self) -> "shell.FileTests":
        """The file tests that ``shell.grant`` needs."""
        subject = self.subject
        return shell.FileTests(
            may_write=self.may_write,
            may_read=self.may_use_paths,
            stays=self.stays,
            folder=subject.is_folder,
            fills=subject.fills,
        )

    def stays(self, path: str) -> bool:
        """Return True if the folder is the one in which a command starts."""
        return self.subject.place_in_shell(path or ".").resolved == self.subject.place_in_shell(".").resolved

    def _taken_apart(self, rule: Rule) -> bool:
        """Return True if the rule covers only a part of a call: a command or a path."""
        if isinstance(rule.content, CommandContent):
            names = ("", *self.subject.declared.names.get("command", ()))
            return self.subject.declared.command is not None and rule.content.field in names
        return isinstance(rule.content, PathContent) and not rule.content.field

    def _reaches(self, rule: Rule) -> bool:
        return rule.reaches or all(self.place(touch) is not None for touch in self.subject.outside)


def _whole_kind(rule: Rule, touch: Touch) -> bool:
    """Return True for a rule ``Edit`` or ``Read`` without content, which equals ``Edit(**)``. A remembered answer on
    the tool does not count."""
    return rule.text == rule.tool and touch.place.inside and touch.way in _WAYS.get(rule.kind, ())


def _too_far(rule: Rule, outside: Sequence[Touch]) -> str:
    return f"{outside[0].place.spelled} is outside the workspace, where a rule of the {rule.origin.layer} layer ends"
