"""Validation of events from models that are not part of Callgate. Callgate's own parsers only produce valid events."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from json import dumps, loads
from typing import Any, cast, get_args

from callgate.conversation.ports import Model
from callgate.words import model
from callgate.words.errors import ModelError
from callgate.words.messages import Usage

_COUNTS = tuple(each.name for each in fields(Usage) if each.name != "estimated")


def is_foreign(model: Model) -> bool:
    return not type(model).__module__.startswith("callgate.")


def checked_event(event: Any) -> model.ModelEvent:
    """Return the event, with a copy of its JSON data. Raise ModelError for an object that is not a valid model
    event."""
    checks = _FIELDS.get(cast("model.ModelEvent", event).__class__)
    if checks is None:
        raise ModelError(f"the model streamed {type(event).__name__}, not a model event", kind="protocol")
    for name, check in checks.items():
        value = getattr(event, name)
        try:
            valid = check(value) if callable(check) else value in check
        except (TypeError, ValueError, RecursionError):
            valid = False
        if not valid:
            known = "" if callable(check) else f"; valid values: {', '.join(check)}"
            fault = f"{value!r:.80} is not a valid {name.replace('_', ' ')}{known}"
            raise ModelError(f"the model streamed {event!r:.200}: {fault}", kind="protocol")
    if isinstance(event, model.OpaqueData) and not isinstance(event.data, bytes):
        return replace(event, data=loads(dumps(event.data)))
    return event


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_index(value: Any) -> bool:
    return type(value) is int


def _is_usage(value: Any) -> bool:
    counts = [getattr(value, name) for name in _COUNTS] if isinstance(value, Usage) else [None]
    return all(type(count) is int and count >= 0 for count in counts) and type(value.estimated) is bool


def _is_data(value: Any) -> bool:
    """Return True for bytes, and for a dict that a conversion to JSON and back does not change."""
    return isinstance(value, bytes) or (isinstance(value, dict) and loads(dumps(value, allow_nan=False)) == value)


_FIELDS: Mapping[type, Mapping[str, Callable[[Any], bool] | tuple[str, ...]]] = {
    model.MessageStarted: {"model": _is_text, "usage": _is_usage},
    model.PartStarted: {"index": _is_index, "kind": get_args(model.PartKind), "id": _is_text, "name": _is_text},
    model.TextDelta: {"index": _is_index, "text": _is_text},
    model.ThinkingDelta: {
        "index": _is_index,
        "text": _is_text,
        "signature": lambda value: value is None or _is_text(value),
    },
    model.ArgumentsDelta: {"index": _is_index, "text": _is_text},
    model.OpaqueData: {"index": _is_index, "provider": _is_text, "data": _is_data},
    model.PartEnded: {"index": _is_index},
    model.MessageEnded: {"stop_reason": get_args(model.StopReason), "usage": _is_usage, "detail": _is_text},
    model.ModelNoted: {"text": _is_text},
}
