"""State that built-in tools keep in the context of their session: the to-do list, the place of the plan and the working
folder of commands.

The context is on record, comes back on resume and passes a compaction; each agent has its own. Values that are not as
these tools write them count as absent, because a program may put anything into a context.
"""

from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

from callgate.words.noun import noun

TODOS = "callgate:todos"
PLAN = "callgate:plan"
WORKING_FOLDER = "working_folder"
"""The folder in which the next command runs, unless it is the workspace."""
ENTER, EXIT = "EnterPlanMode", "ExitPlanMode"
"""The tools that turn plan mode on and present the plan."""

TodoStatus = Literal["pending", "in_progress", "completed"]
_MARKS: Mapping[str, str] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


@noun
class TodoItem:
    """``active_form`` is the text in the present tense that is shown while it is worked on."""

    content: str
    status: TodoStatus
    active_form: str

    @property
    def line(self) -> str:
        return f"{_MARKS[self.status]} {self.active_form if self.status == 'in_progress' else self.content}"


def todos_of(context: Mapping[str, Any]) -> tuple[TodoItem, ...]:
    """The to-do list of a session, in the model's order."""
    kept = context.get(TODOS)
    rows = cast("list[Any]", kept) if isinstance(kept, list) else []
    try:
        found = tuple(TodoItem(str(row["content"]), row["status"], str(row["activeForm"])) for row in rows)
    except (TypeError, KeyError):
        return ()
    return found if all(item.status in get_args(TodoStatus) for item in found) else ()


def plan_of(context: Mapping[str, Any]) -> str | None:
    """The path of the file with the session's plan."""
    kept = context.get(PLAN)
    return kept if isinstance(kept, str) and kept else None


def folder_of(context: Mapping[str, Any]) -> str | None:
    """The folder in which the next command runs; None is the workspace."""
    kept = context.get(WORKING_FOLDER)
    return kept if isinstance(kept, str) and kept else None


def carried_over(context: Mapping[str, Any]) -> str:
    """Text for the model behind the summary of a compaction, which would otherwise lose the list; empty without one."""
    todos, plan = todos_of(context), plan_of(context)
    parts: list[str] = []
    if todos:
        parts.append("The to-do list as it stands:\n" + "\n".join(item.line for item in todos))
    if plan:
        parts.append(f"The plan is in the file {plan}.")
    return "\n\n".join(parts)
