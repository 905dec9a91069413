"""Tools from files of one's own: found, loaded, and given an API.

    files       the files in the folders, as bytes; of a folder without trust only the names
    modules     a file as a module under a private name
    offers      the tools that a module offers: ``@tool``, or a factory ``tools(api)``
    installed   entry points ``callgate.tools``
    loading     all of it together; all that runs strangers' code does so in a thread and within a time
    workspace   the folders that count for a Config: ``custom_tools(config)``

Of tools with the same name one counts: the person's own, then an installed one, then the repository's. A name that a
person is used to, and has written rules for, must not become another tool because they opened a folder.
"""

from callgate.tools.custom.api import Api
from callgate.tools.custom.loading import LoadedTools, load_tools
from callgate.tools.custom.workspace import custom_tools

__all__ = ["Api", "LoadedTools", "custom_tools", "load_tools"]
