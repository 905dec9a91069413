"""Custom tools from Python files and installed packages.

tool_files        read the files of the folders as bytes; of an untrusted folder only the names
private_modules   run a file as a module under a private name
offers            the tools that a module defines: ``@tool``, or a factory ``tools(api)``
entry_points      tools of installed packages: the entry point group ``callgate.tools``
tool_loader       load all of these, and ``custom_tools(config)`` for a workspace

If several tools have one name, the user's own tool is used, then an installed one, then the repository's: a name for
which the user has written rules must not become another tool because a folder was opened.
"""

from callgate.tools.custom.api import Api
from callgate.tools.custom.tool_loader import LoadedTools, custom_tools, load_tools

__all__ = ["Api", "LoadedTools", "custom_tools", "load_tools"]
