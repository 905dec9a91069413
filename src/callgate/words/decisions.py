"""Decisions about calls, the questions put to people, and their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from json import JSONEncoder
from math import isfinite
from typing import Any, Literal

from callgate.words.changes import ChangeSet
from callgate.words.noun import noun

Effect = Literal["allow", "ask", "deny"]
Scope = Literal["session", "project", "user"]
ASK_PREFIX = "ask:"
"""The beginning of the ids of questions that are about no call."""
Answered = Literal["yes", "yes_always", "no"]
FieldKind = Literal["text", "number", "integer", "option"]
WANTED: Mapping[FieldKind, str] = {
    "text": "an answer",
    "number": "a number",
    "integer": "a whole number",
    "option": "one of the options",
}
"""The answer that a field of each kind takes, in words."""
LONGEST_ANSWER = 20_000
"""Characters of own words; a longer text belongs in a file."""


_canonical = JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def arguments_hash(tool: str, arguments: Mapping[str, Any]) -> str:
    """The hash that an answer is bound to: of the tool and its arguments, in any order of keys."""
    return sha256(f"{tool}\n{_canonical(arguments)}".encode()).hexdigest()


@noun
class AskedOption:
    """``preview`` is Markdown that shows what the option would look like."""

    label: str
    description: str = ""
    preview: str = ""


@noun
class AskedField:
    """One question with options. Own words are an answer too, of the ``kind`` that is given; a field of the kind
    ``option`` takes none. ``several`` options may be chosen, or one; a field that is not ``required`` may be left
    without an answer, and then ``default`` counts, if there is one."""

    header: str
    question: str
    options: tuple[AskedOption, ...] = ()
    several: bool = False
    required: bool = True
    kind: FieldKind = "text"
    default: str = ""


@noun
class FieldAnswer:
    """The labels of the chosen options, and own words beside or instead of them."""

    chosen: tuple[str, ...] = ()
    text: str = ""


@noun
class Origin:
    """The source of a decision: the layer, file and line of a rule, or the door of a person."""

    layer: str = ""
    file: str = ""
    line: int = 0
    door: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return ", ".join(part for part in (self.layer, place, self.door and f"at {self.door}") if part)


@noun
class Allow:
    """``by`` names the rule, policy, hook or person; ``arguments`` replaces those of the call; ``changed_by`` names who
    changed them, if not ``by``. ``context`` is text from hooks that the model reads with the result. ``answers`` are
    those of a person to the fields of the call, for its tool: they change no arguments."""

    by: str
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
    origin: Origin | None = None
    context: tuple[str, ...] = ()
    changed_by: str = ""
    answers: tuple[FieldAnswer, ...] = ()


@noun
class Ask:
    """A question to a person.

    unattended     the outcome if no person can answer: wait, or deny
    unconditional  asked every time: neither a hook nor a remembered "always" answers it
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
    """``by`` names the check or the hook, ``reason`` is told to the model. ``stop`` ends the run too."""

    by: str
    reason: str = ""
    code: Literal["denied", "blocked_by_hook"] = "denied"
    stop: bool = False
    origin: Origin | None = None


Decision = Allow | Ask | Deny


@noun
class Pattern:
    """The calls of a tool that a policy covers, judged on structured arguments and never on their text.

    ``exact``: ``value`` is the arguments hash. ``prefix``: the words of the string argument ``field`` start
    with the words of ``value``, and it is one plain command. ``glob``: the path in ``field`` matches ``value``.
    ``rule``: ``value`` is what stands between the brackets of a rule, ``Bash(value)``.
    """

    kind: Literal["exact", "prefix", "glob", "rule"]
    value: str
    field: str = ""


@noun
class Choice:
    """One reach of an "always"; no pattern means the whole tool. ``rule`` shows it as a rule. ``tool`` is given where
    it is for more than the tool of the question: ``mcp__server``."""

    label: str
    pattern: Pattern | None = None
    rule: str = ""
    tool: str = ""


@noun
class ApprovalPolicy:
    """A remembered answer. ``created_at`` and ``expires_at`` are seconds since the epoch."""

    effect: Effect
    tool: str
    pattern: Pattern | None = None
    scope: Scope = "session"
    created_at: float = 0.0
    expires_at: float | None = None
    origin: str = ""
    note: str | None = None


@noun
class Question:
    """Everything a person needs to decide. ``path`` labels the nested agents it came through. Without an answer by
    ``deadline`` (seconds since the epoch), the answer is no. ``through`` is the tool that was called, if ``tool`` names
    another one for what it would do; ``shown`` is the fingerprint of the preview: it tells if the preview on record,
    where secrets are masked, is whole. ``asks`` are fields that a yes answers."""

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
        """False for a question that a feature, a server or the embedding program asks."""
        return not self.call_id.startswith(ASK_PREFIX)

    @property
    def whole_preview(self) -> ChangeSet | None:
        """The preview, if it is the one that was shown."""
        return self.preview if self.preview is not None and self.shown in ("", self.preview.fingerprint) else None

    def yes(self, arguments: Mapping[str, Any] | None = None, *, by: str = "person", door: str = "") -> "Confirmation":
        """The answer that runs it, with other arguments if given."""
        return Confirmation(
            self.call_id, "yes", self.arguments_hash, by, arguments=arguments, door=door, path=self.path
        )

    def answered(
        self,
        *answers: FieldAnswer,
        arguments: Mapping[str, Any] | None = None,
        by: str = "person",
        door: str = "",
    ) -> "Confirmation":
        """The yes that answers the fields of the question, in their order; with other arguments if given, which a
        question with required fields does not take."""
        return replace(self.yes(arguments, by=by, door=door), answers=answers)

    def no(self, note: str | None = None, *, stop: bool = False, by: str = "person", door: str = "") -> "Confirmation":
        """The answer that denies it, with a note for the model; ``stop`` ends the turn."""
        return Confirmation(
            self.call_id, "no", self.arguments_hash, by, stop=stop, note=note, door=door, path=self.path
        )

    def always(
        self, choice: Choice | None = None, *, scope: Scope = "session", by: str = "person", door: str = ""
    ) -> "Confirmation":
        """The answer that runs it and remembers: as far as the choice reaches, or exactly these arguments."""
        pattern = Pattern("exact", self.arguments_hash) if choice is None else choice.pattern
        tool = self.tool if choice is None else choice.tool or self.tool
        policy = ApprovalPolicy("allow", tool, pattern, scope)
        return Confirmation(
            self.call_id, "yes_always", self.arguments_hash, by, always=policy, door=door, path=self.path
        )


@noun
class Confirmation:
    """An answer to a question.

    ``arguments`` present means "yes, with these arguments instead". ``always`` is the policy the person picked;
    without one, ``yes_always`` takes the narrowest choice. ``stop`` ends the turn. ``by`` says who answered,
    ``door`` where. ``path`` is that of the question. ``answers`` are those to its fields, in their order.
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
    """The reason why these are not the answers to these fields, or None. Answers stand in the order of the fields; none
    at all is right where no field is required."""
    if not answers and not any(field.required for field in fields):
        return None
    if not fields:
        return "this call asks for yes or no, and takes no answers"
    if len(answers) != len(fields):
        return f"there are {len(fields)} questions and {len(answers)} answers: answer each, in their order"
    found = (_fault(field, answer) for field, answer in zip(fields, answers, strict=True))
    return next((fault for fault in found if fault is not None), None)


def _fault(field: AskedField, answer: FieldAnswer) -> str | None:
    name, text = field.header or field.question, answer.text.strip()
    labels = [option.label for option in field.options]
    unknown = [label for label in answer.chosen if label not in labels]
    if unknown:
        return f"{name}: there is no option {unknown[0]!r}; there are {', '.join(map(repr, labels)) or 'none'}"
    if len(set(answer.chosen)) != len(answer.chosen):
        return f"{name}: an option is chosen twice"
    if len(answer.chosen) > 1 and not field.several:
        return f"{name}: only one option can be chosen"
    if len(answer.text) > LONGEST_ANSWER:
        return f"{name}: own words have at most {LONGEST_ANSWER:,} characters"
    if text and not _fits(field.kind, text):
        return f"{name}: {WANTED[field.kind]} is wanted, not {text!r:.40}"
    if field.required and not answer.chosen and not text:
        either = bool(labels) and field.kind != "option"
        return f"{name}: {'choose an option or say it in own words' if either else f'{WANTED[field.kind]} is wanted'}"
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
