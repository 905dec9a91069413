"""A session from flat options: for kits that pass on whatever a test wants. A listener that gets only the event."""

from collections.abc import Callable, Iterable
from typing import Any

from callgate import Event, ModelSetup, Nesting, Session, SessionLimits
from callgate.features import (
    Feature,
    compaction_feature,
    context_feature,
    search_feature,
    staging_feature,
)
from callgate.words.events import AgentPath

_MODELS = ("models", "open_model", "fallback", "cheap", "price", "cache", "options", "request_limits")
_LIMITS = {"limits": "run", "settings": "calls", "rerun_safe": "rerun_safe"}
_NESTING = ("parent", "label", "lineage")


def grouped_session(model: Any, tools: Any = (), *, features: Iterable[Feature] = (), **flat: Any) -> Session:
    """A Session whose groups of options are made of the fields in ``flat``."""
    setup = {name: flat.pop(name) for name in _MODELS if name in flat}
    limits = {field: flat.pop(name) for name, field in _LIMITS.items() if name in flat}
    nesting = {name: flat.pop(name) for name in _NESTING if name in flat}
    found = [*_features(flat), *features]
    if "root" in flat:
        flat["host"] = flat.pop("root")
    if limits:
        flat["limits"] = SessionLimits(**limits)
    if nesting:
        flat["nesting"] = Nesting(**nesting)
    return Session(ModelSetup(model, **setup) if setup else model, tools, features=found, **flat)


def _features(flat: dict[str, Any]) -> Iterable[Feature]:
    if "deferred" in flat:
        yield search_feature(flat.pop("deferred"))
    if "summarize" in flat:
        yield compaction_feature(flat.pop("summarize"))
    if "context" in flat:
        yield context_feature(flat.pop("context"))
    if "standing" in flat or "pending" in flat:
        yield staging_feature(flat.pop("standing", ()), resolved=flat.pop("pending", "first"))


def with_event(function: Callable[[Event], object], of: AgentPath = ()) -> Callable[[AgentPath, int, Event], None]:
    """A listener that calls the function with each event of the session with this path, and of none inside it."""

    def listener(path: AgentPath, number: int, event: Event) -> None:
        if path == of:
            function(event)

    return listener
