"""Tools from files of one's own: found, loaded, and given an API.

    files       the files in the folders, as bytes; of a folder without trust only the names
    modules     a file as a module under a private name
    offers      the tools that a module offers: ``@tool``, or a factory ``tools(api)``
    attempts    all that runs strangers' code, in a thread and within a time
    installed   entry points ``callgate.tools``
    discovery   all of it together, looked at again on every ``look``
    workspace   the folders that count for a Config: ``custom_tools(config)``

Of tools with the same name one counts: the person's own, then an installed one, then the repository's. A name that a
person is used to, and has written rules for, must not become another tool because they opened a folder.
"""

from callgate.tools.custom.api import Api
from callgate.tools.custom.discovery import Discovery, Loaded, load_tools
from callgate.tools.custom.files import Folder
from callgate.tools.custom.installed import Installed
from callgate.tools.custom.offers import CustomTool
from callgate.tools.custom.problems import Layer, Problem, Skipped
from callgate.tools.custom.workspace import custom_tools, discovery
from callgate.tools.staging import Callbacks, PendingAction, PendingStore

__all__ = [
    "Api",
    "Callbacks",
    "CustomTool",
    "Discovery",
    "Folder",
    "Installed",
    "Layer",
    "Loaded",
    "PendingAction",
    "PendingStore",
    "Problem",
    "Skipped",
    "custom_tools",
    "discovery",
    "load_tools",
]
