"""The state that built-in tools store in the context of their session: to-do list, path of the plan, working folder.

The context is recorded, restored when the session is resumed, and preserved by a compaction; each agent has its own.
Values of an unexpected form are treated as absent, because a program may store any value in a context.
"""

from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

from callgate.words.noun import noun

TODOS = "callgate:todos"
PLAN = "callgate:plan"
WORKING_FOLDER = "working_folder"
"""The context key of the working folder, which is set if it is not the workspace."""
ENTER, EXIT = "EnterPlanMode", "ExitPlanMode"
"""The names of the tools that start plan mode and present the plan."""

TodoStatus = Literal["pending", "in_progress", "completed"]
_MARKS: Mapping[str, str] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


@noun
class TodoItem:
    """An item of the to-do list. ``active_form`` is shown while the item is in progress."""

    content: str
    status: TodoStatus
    active_form: str

    @property
    def line(self) -> str:
        return f"{_MARKS[self.status]} {self.active_form if self.status == 'in_progress' else self.content}"


def todos_of(context: Mapping[str, Any]) -> tuple[TodoItem, ...]:
    kept = context.get(TODOS)
    rows = cast("list[Any]", kept) if isinstance(kept, list) else []
    try:
        found = tuple(TodoItem(str(row["content"]), row["status"], str(row["activeForm"])) for row in rows)
    except (TypeError, KeyError):
        return ()
    return found if all(item.status in get_args(TodoStatus) for item in found) else ()


def plan_of(context: Mapping[str, Any]) -> str | None:
    kept = context.get(PLAN)
    return kept if isinstance(kept, str) and kept else None


def folder_of(context: Mapping[str, Any]) -> str | None:
    """Return the working folder of the next command, or None for the workspace."""
    kept = context.get(WORKING_FOLDER)
    return kept if isinstance(kept, str) and kept else None


def carried_over(context: Mapping[str, Any]) -> str:
    """Return the to-do list and the path of the plan as text, which follows the summary of a compaction; empty if
    neither exists."""
    todos, plan = todos_of(context), plan_of(context)
    parts: list[str] = []
    if todos:
        parts.append("The current to-do list:\n" + "\n".join(item.line for item in todos))
    if plan:
        parts.append(f"The plan is in the file {plan}.")
    return "\n\n".join(parts)
