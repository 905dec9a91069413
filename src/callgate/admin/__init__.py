"""Plain functions over layer 2 and assembly that the interfaces share: sessions, servers, settings, checks.

The functions block. A module is imported when it is first used, so that the command line starts fast.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.admin import installed as installed
    from callgate.admin import provider_keys as provider_keys
    from callgate.admin import servers as servers
    from callgate.admin import session_changes as session_changes
    from callgate.admin import sessions as sessions
    from callgate.admin import settings as settings
    from callgate.admin import settings_change as settings_change
    from callgate.admin import tool_list as tool_list
    from callgate.admin import workspace_policy as workspace_policy


def __getattr__(name: str) -> ModuleType:
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"there is no module {name} in {__name__}: {error}") from None
