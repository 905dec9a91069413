"""The tool AskUserQuestion: asks the user questions with options.

The approval question of the call contains the questions as fields; the answers are part of the user's approval and are
recorded with the decision. The tool itself only converts the answers to text.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from callgate.core.ports import Run
from callgate.tools.builtin import builtin_tool
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.decisions import AskedField, AskedOption, FieldAnswer
from callgate.words.errors import ToolFailure
from callgate.words.messages import Text
from callgate.words.traits import shared

_UNANSWERED = "The user did not answer: continue with the most sensible choice, and say which one you chose."


def _line(most: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=most)


class OfferedOption(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: Annotated[str, _line(80)] = Field(description="what is chosen, in one to five words")
    description: Annotated[str, StringConstraints(max_length=500)] = Field(description="what follows from it")
    preview: Annotated[str, StringConstraints(max_length=5_000)] = Field(
        default="", description="Markdown that shows what it would look like"
    )


class OfferedQuestion(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, _line(500)] = Field(description="the whole question, ending with a question mark")
    header: Annotated[str, _line(24)] = Field(description="its subject in a word or two")
    options: list[OfferedOption] = Field(min_length=2, max_length=4)
    multiSelect: bool = Field(default=False, description="several options may be chosen")  # noqa: N815 - as models know it

    @field_validator("options")
    @classmethod
    def _differ(cls, options: list[OfferedOption]) -> list[OfferedOption]:
        if len({option.label for option in options}) != len(options):
            raise ValueError("two options have the same label")
        return options


def _field(asked: OfferedQuestion) -> AskedField:
    options = tuple(AskedOption(each.label, each.description, each.preview) for each in asked.options)
    return AskedField(asked.header, asked.question, options, asked.multiSelect)


def ask_user_question() -> FunctionTool[Any]:

    async def ask_user_question(
        questions: Annotated[list[OfferedQuestion], Field(min_length=1, max_length=4)], run: Run
    ) -> Result:
        """Ask.

        Args:
            questions: what to ask, one to four
        """
        if len(run.answers) != len(questions):
            raise ToolFailure(_UNANSWERED)
        pairs = zip(questions, run.answers, strict=True)
        told = "\n\n".join(f"{asked.question}\n{_in_words(answer)}" for asked, answer in pairs)
        return Result((Text(told),))

    return builtin_tool(
        ask_user_question,
        title="Ask a question",
        icon="ask",
        label=lambda a: a.questions[0].question,
        effects="none",
        locks=shared,
        requires_interaction=True,
        asks=lambda a: [_field(each) for each in a.questions],
    )


def _in_words(answer: FieldAnswer) -> str:
    chosen = f"Chosen: {'; '.join(answer.chosen)}" if answer.chosen else ""
    own = f"Answer in own words: {answer.text.strip()}" if answer.text.strip() else ""
    return "\n".join(line for line in (chosen, own) if line)
