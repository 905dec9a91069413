"""The built-in tools, each in a module of its own: ``from callgate.tools.builtin.ast_edit import ast_edit``.

    session = Session(model, [ast_grep(), ast_edit(), *plan_tools()], config=config)
    session = Session(model, builtin_tools("AstGrep", "AstEdit"), config=config)

Other tools stage actions with ``callgate.tools.staging.stage`` and the option ``@tool(stages=True)``; ``resolve`` is
added together with the first tool that stages actions.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.core.ports import Tool
    from callgate.tools.tool import FunctionTool, ToolOptions

BUILTIN: Mapping[str, str] = {
    "ApplyPatch": "apply_patch.apply_patch",
    "AskUserQuestion": "ask_user_question.ask_user_question",
    "AstEdit": "ast_edit.ast_edit",
    "AstGrep": "ast_grep.ast_grep",
    "Bash": "bash.bash",
    "Edit": "edit.edit",
    "EnterPlanMode": "plan.EnterPlanMode",
    "ExitPlanMode": "plan.ExitPlanMode",
    "Glob": "glob.glob",
    "Grep": "grep.grep",
    "NotebookEdit": "notebook_edit.notebook_edit",
    "Read": "read.read",
    "Skill": "skill.skill",
    "Sleep": "sleep.sleep",
    "TaskOutput": "task_output.task_output",
    "TaskStop": "task_output.task_stop",
    "TodoWrite": "todo_write.todo_write",
    "WebFetch": "web_fetch.web_fetch",
    "Write": "write.write",
}
"""Every built-in tool as ``module.factory``. A factory needs no arguments."""


def builtin_tools(*names: str) -> tuple["Tool", ...]:
    """Return the built-in tools with these names, or all of them if no name is passed. Each is made with the defaults
    of its factory."""
    unknown = [name for name in names if name not in BUILTIN]
    if unknown:
        from callgate.tools.tool_names import close_names

        close = close_names(unknown[0], ((name, ()) for name in BUILTIN), 1)
        hint = f"did you mean {close[0]}?" if close else f"the built-in tools are {', '.join(BUILTIN)}"
        raise UsageError(f"there is no built-in tool {', '.join(unknown)}; {hint}")
    rows = [BUILTIN[name].split(".") for name in names or BUILTIN]
    return tuple(getattr(import_module(f"{__name__}.{module}"), factory)() for module, factory in rows)


def builtin_tool(fn: Callable[..., Any], **options: "Unpack[ToolOptions]") -> "FunctionTool[Any]":
    """Make the built-in tool of a function: the function ``task_output`` becomes the tool ``TaskOutput``. Tool search
    does not defer the tool unless ``always_loaded`` is False."""
    from callgate.tools.tool import ToolOptions, tool

    name = "".join(map(str.capitalize, fn.__name__.split("_")))
    usual: ToolOptions = {"name": name, "description": prompt_text(name), "always_loaded": True}
    return tool(fn, **{**usual, **options})


def prompt_text(name: str) -> str:
    """Return the description of a tool for the model from its file, such as ``task_output.md`` for TaskOutput."""
    file = "".join(f"_{char.lower()}" if char.isupper() else char for char in name).removeprefix("_")
    return Path(__file__).with_name(f"{file}.md").read_text(encoding="utf-8").strip()
