"""Conversion of questions into forms for a client, and of completed forms into answers.

The texts of a question come from a model, so control characters are replaced. Long texts are shortened, with the
number of omitted characters.
"""

from collections.abc import Mapping
from hashlib import sha256
from json import dumps
from typing import Any, cast

from callgate.changes.diff import display
from callgate.formats.display import excerpt, visible, visible_lines
from callgate.words.decisions import AskedField, Confirmation, FieldAnswer, Question, answers_fault

DOOR = "mcp"
YES, NO = "yes", "no"
_ALWAYS = "yes, and from now on in this session: "
_MOST_LINES = 200
_MOST_CHARS = 20_000


def message_of(question: Question, root: str) -> str:
    """Return the question as text: the tool, the reason, the arguments and the diff."""
    through = f" (through {question.through})" if question.through else ""
    lines = [f"{visible(question.tool)}{visible(through)} wants to run."]
    if question.reason:
        lines.append(f"Asked because: {visible_lines(question.reason)}")
    if question.risk:
        lines.append(f"Risk: {visible_lines(question.risk)}")
    fields = [f"{visible(each.header)}: {visible_lines(each.question)}" for each in question.asks]
    shown = dict(question.arguments) if not fields else {}
    arguments = [f"{visible(name)}: {_shown(value)}" for name, value in shown.items()]
    change = [] if question.preview is None else [_shown(display(question.preview, root=root).body)]
    return "\n\n".join(("\n".join(lines), *fields, *(["\n".join(arguments)] if arguments else ()), *change))


def hash_of(question: Question) -> str:
    """Return the hash of a question. Equal questions about the same call and change have the same hash."""
    preview = "" if question.preview is None else question.preview.fingerprint
    told = (question.tool, question.arguments_hash, preview, question.by, question.reason, question.risk or "")
    return sha256(dumps(told).encode()).hexdigest()


def schema_of(question: Question) -> dict[str, Any]:
    """Return the JSON schema of the form: one choice, or a choice and a free text for each field of the question."""
    if not question.asks:
        answers = [YES, *(f"{_ALWAYS}{visible(each.label)}" for each in question.choices), NO]
        answer = {"type": "string", "title": "Answer", "enum": answers}
        note = {"type": "string", "title": "Note", "description": "If the answer is no: what to do instead."}
        return {"type": "object", "properties": {"answer": answer, "note": note}, "required": ["answer"]}
    properties: dict[str, Any] = {}
    for number, field in enumerate(question.asks, start=1):
        if field.options:
            properties[f"choice_{number}"] = _choice(field)
        if field.kind != "option":
            properties[f"words_{number}"] = {"type": "string", "title": f"{visible(field.header)}: in own words"}
    return {"type": "object", "properties": properties}


def answer_of(question: Question, action: str, content: Mapping[str, Any] | None) -> Confirmation:
    """Return the answer that a completed form contains. An empty form is a refusal."""
    given = content or {}
    if action != "accept":
        return question.no(f"The user of the client chose {action}.", door=DOOR)
    if question.asks:
        answers = [_field_answer(number, given) for number in range(1, len(question.asks) + 1)]
        fault = answers_fault(question.asks, answers)
        return question.answered(*answers, door=DOOR) if fault is None else question.no(fault, door=DOOR)
    answer = str(given.get("answer", NO))
    if answer == YES:
        return question.yes(door=DOOR)
    for choice in question.choices:
        if answer == f"{_ALWAYS}{visible(choice.label)}":
            return question.always(choice, scope="session", door=DOOR)
    return question.no(str(given.get("note") or "") or None, door=DOOR)


def unasked(question: Question) -> Confirmation:
    """Return the refusal for a client without forms. If a rule could allow the call, the text names the command that
    adds rules."""
    why = question.reason or question.by
    told = (
        "The call needs the approval of a user, but this client cannot ask one (it does not support elicitation). "
        f"{why.rstrip('.')}."
    )
    if question.choices:
        told += " To allow such calls, run `callgate policy add allow RULE`, or start the server with --allow RULE."
    return question.no(told, by="callgate mcp serve", door=DOOR)


def _choice(field: AskedField) -> dict[str, Any]:
    labels = [option.label for option in field.options]
    told = "; ".join(f"{option.label}: {option.description}" for option in field.options if option.description)
    about = {"title": visible(field.header), "description": visible_lines(f"{field.question} {told}".strip())}
    if field.several:
        return {"type": "array", "items": {"type": "string", "enum": labels}, **about}
    return {"type": "string", "enum": labels, **about}


def _field_answer(number: int, given: Mapping[str, Any]) -> FieldAnswer:
    chosen: Any = given.get(f"choice_{number}")
    labels = cast("list[Any]", chosen) if isinstance(chosen, list) else [] if chosen in (None, "") else [chosen]
    return FieldAnswer(tuple(map(str, labels)), str(given.get(f"words_{number}") or ""))


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
    return excerpt(text, lines=_MOST_LINES, chars=_MOST_CHARS)
