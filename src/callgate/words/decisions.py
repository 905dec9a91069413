"""Decisions about calls, questions to the user, and answers."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from json import JSONEncoder
from math import isfinite
from typing import Any, Literal

from callgate.words.changes import ChangeSet
from callgate.words.noun import noun

Effect = Literal["allow", "ask", "deny"]
Scope = Literal["session", "project", "user"]
ASK_PREFIX = "ask:"
"""The prefix of ids of questions that are not about a call."""
Answered = Literal["yes", "yes_always", "no"]
FieldKind = Literal["text", "number", "integer", "option"]
WANTED: Mapping[FieldKind, str] = {
    "text": "an answer",
    "number": "a number",
    "integer": "a whole number",
    "option": "one of the options",
}
"""A description of the answers that a field takes, by its kind."""
LONGEST_ANSWER = 20_000
"""The maximum length of a written answer in characters."""


_WOULD = (" would", " would allow this")
_canonical = JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def arguments_hash(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the hash of a tool and its arguments. The order of the keys does not change the hash."""
    return sha256(f"{tool}\n{_canonical(arguments)}".encode()).hexdigest()


@noun
class AskedOption:
    """An option of a field. ``preview`` is Markdown that shows the outcome of the option."""

    label: str
    description: str = ""
    preview: str = ""


@noun
class AskedField:
    """A field of a question: the user chooses options or writes an answer.

    several   more than one option may be chosen
    required  the field must be answered; an optional field without an answer gets ``default``, if set
    kind      the type of a written answer; ``option`` allows only the options
    """

    header: str
    question: str
    options: tuple[AskedOption, ...] = ()
    several: bool = False
    required: bool = True
    kind: FieldKind = "text"
    default: str = ""


@noun
class FieldAnswer:
    """The answer to a field: the labels of the chosen options, a written text, or both."""

    chosen: tuple[str, ...] = ()
    text: str = ""


@noun
class Origin:
    """The source of a decision: the layer, file and line of a rule, or the interface (``door``) of the user."""

    layer: str = ""
    file: str = ""
    line: int = 0
    door: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return ", ".join(part for part in (self.layer, place, self.door and f"at {self.door}") if part)


@noun
class Allow:
    """A decision that the call runs.

    by          the rule, policy, hook or user that decided
    arguments   the new arguments of the call; None if they are unchanged
    context     texts of hooks that the model reads with the result
    changed_by  the author of ``arguments``, if different from ``by``
    answers     the answers of the user to the fields of the question, for the tool
    """

    by: str
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
    origin: Origin | None = None
    context: tuple[str, ...] = ()
    changed_by: str = ""
    answers: tuple[FieldAnswer, ...] = ()


@noun
class Ask:
    """A decision that the user is asked about the call.

    unattended     the result if no user can answer: the call waits, or is denied
    unconditional  the question is asked each time: hooks and a remembered "always" do not answer it
    """

    by: str
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
    risk: str | None = None
    unattended: Literal["wait", "deny"] = "wait"
    unconditional: bool = False
    origin: Origin | None = None
    context: tuple[str, ...] = ()
    changed_by: str = ""


@noun
class Deny:
    """A decision that the call does not run.

    by      the check, hook or user that decided
    reason  a text for the model
    stop    the run ends too
    """

    by: str
    reason: str = ""
    code: Literal["denied", "blocked_by_hook"] = "denied"
    stop: bool = False
    origin: Origin | None = None


Decision = Allow | Ask | Deny


@noun
class Pattern:
    """A condition that selects calls of a tool by their parsed arguments.

    exact   ``value`` is the hash of the arguments
    prefix  the argument ``field`` is one plain command whose words start with the words of ``value``
    glob    the path in the argument ``field`` matches ``value``
    rule    ``value`` is the part of a rule in parentheses: ``Bash(value)``
    """

    kind: Literal["exact", "prefix", "glob", "rule"]
    value: str
    field: str = ""


@noun
class Choice:
    """One of the scopes that the user can choose for an "always".

    pattern  selects the allowed calls; None allows every call of the tool
    rule     the scope as a rule, for the user
    tool     the allowed tools, if different from the tool of the question: ``mcp__server``
    """

    label: str
    pattern: Pattern | None = None
    rule: str = ""
    tool: str = ""


@noun
class ApprovalPolicy:
    """A remembered answer to questions about calls of a tool. Times are seconds since the epoch."""

    effect: Effect
    tool: str
    pattern: Pattern | None = None
    scope: Scope = "session"
    created_at: float = 0.0
    expires_at: float | None = None
    origin: str = ""
    note: str | None = None

    @property
    def covers(self) -> str:
        """The calls that the answer covers, written like a rule: ``Bash(npm test:*)``."""
        pattern = self.pattern
        if pattern is None:
            return self.tool
        if pattern.kind == "exact":
            return f"{self.tool}(these arguments, {pattern.value[:8]})"
        return f"{self.tool}({pattern.value}{':*' if pattern.kind == 'prefix' else ''})"


@noun
class Question:
    """A question to the user about a call.

    path      the names of the agents from the root to the session that asks
    deadline  the time, in seconds since the epoch, at which the question is answered "no" automatically
    through   the tool that was called, if ``tool`` is the name of an action that the call would perform
    shown     the fingerprint of the preview as recorded; masked secrets change the fingerprint
    asks      fields that must be answered with a "yes"
    """

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    arguments_hash: str
    by: str
    reason: str
    asked_at: float
    choices: tuple[Choice, ...] = ()
    preview: ChangeSet | None = None
    risk: str | None = None
    path: tuple[str, ...] = ()
    origin: Origin | None = None
    deadline: float | None = None
    through: str = ""
    shown: str = ""
    asks: tuple[AskedField, ...] = ()

    @property
    def is_about_call(self) -> bool:
        """True for a question about a call. False for a question of a feature, a server or the embedding program."""
        return not self.call_id.startswith(ASK_PREFIX)

    @property
    def why(self) -> str:
        """The reason without the rules that would allow the call, for interfaces that list these rules as choices."""
        why, _, would = self.reason.rpartition("; ")
        return why if why and would.endswith(_WOULD) else self.reason

    @property
    def whole_preview(self) -> ChangeSet | None:
        """The preview if it is complete; None if secrets were masked in the preview."""
        return self.preview if self.preview is not None and self.shown in ("", self.preview.fingerprint) else None

    def yes(self, arguments: Mapping[str, Any] | None = None, *, by: str = "person", door: str = "") -> "Confirmation":
        """Return the answer that allows the call, with other arguments if given."""
        return self._answer("yes", by, door, arguments=arguments)

    def answered(
        self,
        *answers: FieldAnswer,
        arguments: Mapping[str, Any] | None = None,
        by: str = "person",
        door: str = "",
    ) -> "Confirmation":
        """Return a "yes" with answers to the fields of the question, in the order of the fields. A question with
        required fields does not accept other arguments."""
        return self._answer("yes", by, door, arguments=arguments, answers=answers)

    def no(self, note: str | None = None, *, stop: bool = False, by: str = "person", door: str = "") -> "Confirmation":
        """Return the answer that denies the call, with a note for the model. ``stop`` ends the turn."""
        return self._answer("no", by, door, stop=stop, note=note)

    def always(
        self, choice: Choice | None = None, *, scope: Scope = "session", by: str = "person", door: str = ""
    ) -> "Confirmation":
        """Return the answer that allows this call and later calls: the calls in the scope of ``choice``, or by
        default the calls with equal arguments."""
        pattern = Pattern("exact", self.arguments_hash) if choice is None else choice.pattern
        tool = self.tool if choice is None else choice.tool or self.tool
        return self._answer("yes_always", by, door, always=ApprovalPolicy("allow", tool, pattern, scope))

    def _answer(self, outcome: Answered, by: str, door: str, **fields: Any) -> "Confirmation":
        return Confirmation(self.call_id, outcome, self.arguments_hash, by, door=door, path=self.path, **fields)


@noun
class Confirmation:
    """An answer to a question.

    by         the name of the user, program or hook that answered
    always     the policy that the user chose; by default ``yes_always`` uses the narrowest scope
    stop       the turn ends
    arguments  the new arguments of the call, if given
    door       the interface where the question was answered
    path       the path of the question
    answers    answers to the fields of the question, in the order of the fields
    """

    call_id: str
    outcome: Answered
    arguments_hash: str
    by: str = "person"
    at: float = 0.0
    always: ApprovalPolicy | None = None
    stop: bool = False
    arguments: Mapping[str, Any] | None = None
    note: str | None = None
    door: str = ""
    path: tuple[str, ...] = ()
    answers: tuple[FieldAnswer, ...] = ()


def answers_fault(fields: Sequence[AskedField], answers: Sequence[FieldAnswer]) -> str | None:
    """Return the reason why the answers do not match the fields, or None if they match.

    Answers are in the order of the fields. They may be empty if no field is required.
    """
    if not answers and not any(field.required for field in fields):
        return None
    if not fields:
        return "this question accepts only yes or no, not answers to fields"
    if len(answers) != len(fields):
        return (
            f"there are {len(fields)} questions and {len(answers)} answers: give one answer for each question, in order"
        )
    found = (_fault(field, answer) for field, answer in zip(fields, answers, strict=True))
    return next((fault for fault in found if fault is not None), None)


def _fault(field: AskedField, answer: FieldAnswer) -> str | None:
    name, text = field.header or field.question, answer.text.strip()
    labels = [option.label for option in field.options]
    unknown = [label for label in answer.chosen if label not in labels]
    if unknown:
        return f"{name}: unknown option {unknown[0]!r}; the options are {', '.join(map(repr, labels)) or 'none'}"
    if len(set(answer.chosen)) != len(answer.chosen):
        return f"{name}: the same option is chosen twice"
    if len(answer.chosen) > 1 and not field.several:
        return f"{name}: only one option can be chosen"
    if len(answer.text) > LONGEST_ANSWER:
        return f"{name}: a free-text answer can have at most {LONGEST_ANSWER:,} characters"
    if text and not _fits(field.kind, text):
        return f"{name}: expected {WANTED[field.kind]}, not {text!r:.40}"
    if field.required and not answer.chosen and not text:
        either = bool(labels) and field.kind != "option"
        return f"{name}: {'choose an option or write an answer' if either else f'expected {WANTED[field.kind]}'}"
    return None


def _fits(kind: FieldKind, text: str) -> bool:
    if kind == "text":
        return True
    if kind == "option":
        return False
    try:
        return isfinite(int(text) if kind == "integer" else float(text))
    except (ValueError, OverflowError):
        return False
