"""The tools that come with Callgate, a module each: ``from callgate.tools.builtin.ast_edit import ast_edit``.

    session = Session(model, [ast_grep(), ast_edit(), *plan_tools()], config=config)

A tool of one's own stages with ``callgate.tools.staging.stage`` and says ``@tool(stages=True)``; ``resolve`` comes with
the first such tool.
"""

from importlib.resources import files


def prompt_text(name: str) -> str:
    """The description of a tool for the model, from the file beside it."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8").strip()
