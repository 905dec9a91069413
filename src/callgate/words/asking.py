"""Questions of a call beyond yes or no: fields with options, and the answers to them."""

from collections.abc import Sequence

from callgate.words.noun import noun

LONGEST_ANSWER = 20_000
"""Characters of own words; a longer text belongs in a file."""


@noun
class AskedOption:
    """``preview`` is Markdown that shows what the option would look like."""

    label: str
    description: str = ""
    preview: str = ""


@noun
class AskedField:
    """One question with options. Own words are always an answer too. ``several`` options may be chosen, or one; a field
    that is not ``required`` may be left without an answer."""

    header: str
    question: str
    options: tuple[AskedOption, ...] = ()
    several: bool = False
    required: bool = True


@noun
class FieldAnswer:
    """The labels of the chosen options, and own words beside or instead of them."""

    chosen: tuple[str, ...] = ()
    text: str = ""


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
    name = field.header or field.question
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
    if field.required and not answer.chosen and not answer.text.strip():
        return f"{name}: choose an option or say it in own words"
    return None
