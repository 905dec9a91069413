"""The tools that come with Callgate, for a session's list, and what a tool needs that stages instead of doing.

    session = Session(model, [ast_grep(), ast_edit(), *plan_tools()], config=config)

``resolve`` is in every session by itself. A tool of one's own stages with ``stage``; it says ``@tool(stages=True)``.
"""

from callgate.changes.pending import Callbacks
from callgate.tools.builtin.ast_edit import ast_edit
from callgate.tools.builtin.ast_grep import ast_grep
from callgate.tools.builtin.plan import plan_tools
from callgate.tools.staging import stage

__all__ = ["Callbacks", "ast_edit", "ast_grep", "plan_tools", "stage"]
