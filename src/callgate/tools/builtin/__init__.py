"""The tools that come with Callgate, a module each: ``from callgate.tools.builtin.ast_edit import ast_edit``.

    session = Session(model, [ast_grep(), ast_edit(), *plan_tools()], config=config)

A tool of one's own stages with ``callgate.tools.staging.stage`` and says ``@tool(stages=True)``; ``resolve`` comes with
the first such tool.
"""
