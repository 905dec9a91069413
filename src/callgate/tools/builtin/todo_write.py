"""The tool TodoWrite: writes the agent's to-do list, which is stored in the context of the session."""

from collections import Counter
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from callgate.tools.builtin import builtin_tool
from callgate.tools.session_state import TODOS, TodoItem, TodoStatus, todos_of
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Display, Result
from callgate.words.messages import Text
from callgate.words.traits import shared

MOST_TODOS = 100
_Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class TodoEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: _Line = Field(description="what is to be done")
    status: TodoStatus
    activeForm: _Line = Field(description="the same in the present tense")  # noqa: N815 - as models know it


def _one_at_a_time(todos: list[TodoEntry]) -> list[TodoEntry]:
    active = sum(entry.status == "in_progress" for entry in todos)
    if active > 1:
        raise ValueError(f"{active} items are in progress; only one is allowed")
    return todos


def todo_write() -> FunctionTool[Any]:
    """Make the tool ``TodoWrite``; ``session.controls.todos`` returns the list."""

    async def todo_write(
        todos: Annotated[list[TodoEntry], Field(max_length=MOST_TODOS), AfterValidator(_one_at_a_time)],
    ) -> Result:
        """Keep.

        Args:
            todos: the whole list; an empty one clears it
        """
        update = {TODOS: [entry.model_dump() for entry in todos]}
        items = todos_of(update)
        shown = Display("text", "\n".join(item.line for item in items), "To do")
        return Result((Text(_told(items)),), (shown,), context_update=update)

    return builtin_tool(
        todo_write,
        title="Update the to-do list",
        icon="think",
        label=lambda a: next(
            (each.activeForm for each in a.todos if each.status == "in_progress"), f"list of {len(a.todos)}"
        ),
        effects="idempotent",
        locks=shared,
        own_state=True,
    )


def _told(items: tuple[TodoItem, ...]) -> str:
    if not items:
        return "The to-do list is empty."
    words: dict[TodoStatus, str] = {"completed": "done", "in_progress": "in progress", "pending": "to do"}
    counts = Counter(item.status for item in items)
    counted = [f"{counts[status]} {word}" for status, word in words.items() if counts[status]]
    return f"The to-do list is stored: {', '.join(counted)}."
