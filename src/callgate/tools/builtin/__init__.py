"""The tools that come with Callgate, for a session's list, and what a tool needs that stages instead of doing.

    session = Session(model, [ast_grep(), ast_edit(), *plan_tools()], config=config)

A tool of one's own stages with ``stage`` and says ``@tool(stages=True)``; ``resolve`` comes with the first such tool.
"""

from callgate.tools.builtin.ast_edit import ast_edit
from callgate.tools.builtin.ast_grep import ast_grep
from callgate.tools.builtin.plan import plan_tools
from callgate.tools.staging import Callbacks, stage

__all__ = ["Callbacks", "ast_edit", "ast_grep", "plan_tools", "stage"]
