"""Arguments that look like a command, an address or a path although their tool does not declare them.

The gate can only guess about these: it then reads the argument against the call and never for it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from callgate.words.declared import USUAL_NAMES
from callgate.words.traits import Locks

_SAY: Mapping[str, tuple[tuple[str, ...], str]] = {
    "command": (("command",), 'say command="{0}", so that rules on commands reach it, or command=None if it is none'),
    "address": (("address",), 'say address="{0}", so that rules on hosts reach it, or address=None if it is none'),
    "reads": (
        ("reads", "writes", "command"),
        'say reads="{0}" or writes="{0}", so that rules on paths reach it, or reads=None if it is none',
    ),
}


def undeclared(arguments: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[str, ...]:
    """Advice for each undeclared argument. Locks with paths, or worked out from the arguments, declare places."""
    locks = options.get("locks")
    placed = callable(locks) or (isinstance(locks, Locks) and bool(locks.reads or locks.writes))
    found: list[str] = []
    for kind, (declared_by, advice) in _SAY.items():
        if (kind == "reads" and placed) or any(each in options for each in declared_by):
            continue
        for name, schema in arguments.items():
            if _is_text(schema) and (name in USUAL_NAMES[kind] or (kind == "reads" and _is_path(schema))):
                found.append(f"the argument {name!r} is not declared: {advice.format(name)}")
    return tuple(found)


def _forms(schema: object) -> Iterator[Mapping[str, Any]]:
    """The schema and those it may be instead, and the items of a list."""
    if not isinstance(schema, Mapping):
        return
    node = cast("Mapping[str, Any]", schema)
    yield node
    for key in ("anyOf", "oneOf"):
        for each in cast("list[object]", node.get(key) or []):
            yield from _forms(each)
    yield from _forms(node.get("items"))


def _is_text(schema: object) -> bool:
    return any(form.get("type") == "string" and "enum" not in form for form in _forms(schema))


def _is_path(schema: object) -> bool:
    return any(form.get("format") in ("path", "file-path", "directory-path") for form in _forms(schema))
