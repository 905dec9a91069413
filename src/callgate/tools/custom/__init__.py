"""Custom tools from Python files and installed packages.

tool_files        read the files of the folders as bytes, and run a file as a module under a private name
offers            the tools that a module defines: ``@tool``, or a factory ``tools(api)``
tool_loader       load the tools of files and entry points; ``custom_tools(config)`` loads the tools of a workspace

If several tools have one name, the user's own tool is used, then an installed tool, then the repository's tool. So a
folder that is opened cannot replace a tool for which the user has written rules.
"""

from callgate.tools.custom.offers import Api
from callgate.tools.custom.tool_loader import LoadedTools, custom_tools, load_tools

__all__ = ["Api", "LoadedTools", "custom_tools", "load_tools"]
