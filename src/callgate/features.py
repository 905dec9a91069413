"""Features of sessions: the interface for new features, and functions that return the built-in ones.

    Session(model, tools, features=[search_feature(many_tools), Feature("budget", BudgetPart)])

The guide "write a feature" has an example. Each module is imported on first use.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callgate.assembly.settings import hooks_feature
    from callgate.compaction.compaction_feature import compaction_feature
    from callgate.conversation.feature import (
        Feature,
        FeaturePart,
        Handler,
        InjectedCall,
        OpenSession,
        Reminder,
        context_feature,
    )
    from callgate.mcp.mcp_feature import servers_feature
    from callgate.notices.notices_feature import NoticesPart
    from callgate.search.search_feature import search_feature
    from callgate.staging.feature import staging_feature
    from callgate.staging.toolbox import DefaultHandler

_HOMES: Mapping[str, str] = {
    "DefaultHandler": "callgate.staging.toolbox",
    "NoticesPart": "callgate.notices.notices_feature",
    "compaction_feature": "callgate.compaction.compaction_feature",
    "hooks_feature": "callgate.assembly.settings",
    "search_feature": "callgate.search.search_feature",
    "servers_feature": "callgate.mcp.mcp_feature",
    "staging_feature": "callgate.staging.feature",
}

__all__ = [
    "DefaultHandler",
    "Feature",
    "FeaturePart",
    "Handler",
    "InjectedCall",
    "NoticesPart",
    "OpenSession",
    "Reminder",
    "compaction_feature",
    "context_feature",
    "hooks_feature",
    "search_feature",
    "servers_feature",
    "staging_feature",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'callgate.features' has no attribute {name!r}")
    home = _HOMES.get(name, "callgate.conversation.feature")
    value = globals()[name] = getattr(import_module(home), name)
    return value
