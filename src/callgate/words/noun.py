"""``@noun``: a frozen dataclass with slots. The definition of the class and the creation of objects are fast.

``dataclass`` compiles six methods for each class, which would take most of the import time of Callgate. Its frozen
constructor sets fields by ``object.__setattr__``, which is five times slower than an assignment.

Nouns share their methods instead. The constructor is compiled at its first call. It creates an object of an unfrozen
class with the same layout, assigns the fields and then sets ``__class__``. ``fields``, ``replace``, ``match``,
``pickle`` and ``inspect.signature`` work as with ``dataclass``.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass
from inspect import Signature, get_annotations, signature
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar, cast, dataclass_transform

P = ParamSpec("P")
T = TypeVar("T")


def nothing() -> dict[str, Any]:
    """Return an empty dict. As a default factory it is five times faster than ``dict[str, Any]``."""
    return {}


@dataclass_transform(frozen_default=True)
def noun(cls: type[T]) -> type[T]:
    annotations = get_annotations(cls)
    own = {**_SHARED, **vars(cls)}
    defaults = {name: own.pop(name) for name in annotations if name in own}
    for name in ("__dict__", "__weakref__"):
        own.pop(name, None)
    own["__slots__"] = own["__match_args__"] = tuple(annotations)
    made: Any = type(cls)(cls.__name__, cls.__bases__, own)
    made._noun_defaults = defaults
    made._noun_values = staticmethod(attrgetter(*annotations) if annotations else nothing_of)
    made.__new__ = _compile_first
    return made


class _Described:
    """A descriptor that creates ``__dataclass_fields__`` and ``__dataclass_params__`` when one of them is first
    read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, cls: type[Any]) -> Any:
        # With a docstring: otherwise ``dataclass`` makes one of the signature, which is slow.
        space = {"__annotations__": get_annotations(cls), "__module__": cls.__module__, "__doc__": "a noun"}
        plain = type(cls.__name__, (), {**space, **cls._noun_defaults})
        described: Any = dataclass(init=False, repr=False, eq=False)(plain)
        described.__dataclass_params__.frozen = True
        for name in ("__dataclass_fields__", "__dataclass_params__"):
            setattr(cls, name, getattr(described, name))
        return getattr(described, self._name)


def _compile_first(kind: type[Any], /, *args: Any, **kwargs: Any) -> Any:
    kind.__new__ = _constructor(kind)
    return kind.__new__(kind, *args, **kwargs)


class _Factory:
    """The placeholder for the default of a field with a default factory, used in signatures."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def maker(cls: Callable[P, T]) -> Callable[P, T]:
    """Return the constructor of a noun as a plain function. A call of this function is two to four times faster than
    a call of the class. Used for nouns that every call creates."""
    return _constructor(cast("type[Any]", cls), {"_kind": cls})


def _constructor(cls: type[Any], known: dict[str, Any] | None = None) -> Callable[..., Any]:
    twin = type(cls.__name__, (), {"__slots__": cls.__slots__})
    parameters = ["_kind"] if known is None else []
    lines = ["_made = _twin()"]
    known = {"_twin": twin, "_FACTORY": _FACTORY, **(known or {})}
    for name in cls.__slots__:
        value: str = name
        default: Any = cls._noun_defaults.get(name, MISSING)
        factory: Any = MISSING
        if isinstance(default, Field):
            factory, default = cast(Any, default).default_factory, cast(Any, default).default
        if factory is not MISSING:
            known[f"_make_{name}"] = factory
            parameters.append(f"{name}=_FACTORY")
            value = f"_make_{name}() if {name} is _FACTORY else {name}"
        elif default is not MISSING:
            known[f"_default_{name}"] = default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f"_made.{name} = {value}")
    body = "\n    ".join([*lines, "_made.__class__ = _kind", "return _made"])
    exec(f"def __init__({', '.join(parameters)}):\n    {body}", known)
    make = known["__init__"]
    make.__qualname__ = f"{cls.__qualname__}.__init__"
    return make


class _Signature:
    """A descriptor that creates the signature of the constructor when it is read."""

    def __get__(self, instance: object, cls: type[Any]) -> Any:
        found = signature(_constructor(cls))
        notes = get_annotations(cls)
        parameters = [each.replace(annotation=notes[each.name]) for each in [*found.parameters.values()][1:]]
        return found.replace(parameters=parameters, return_annotation=Signature.empty)


def nothing_of(_: object) -> tuple[()]:
    """Return an empty tuple, the values of a noun without fields."""
    return ()


def _equal(self: Any, other: object) -> bool:
    if self.__class__ is not other.__class__:
        return NotImplemented
    return self._noun_values(self) == self._noun_values(other)


def _hash(self: Any) -> int:
    return hash(self._noun_values(self))


def _shown(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{self.__class__.__qualname__}({values})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduced(self: Any) -> tuple[Any, tuple[Any, ...]]:
    return self.__class__, tuple(getattr(self, name) for name in self.__match_args__)


_SHARED: dict[str, Any] = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _shown,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__reduce__": _reduced,
    "__signature__": _Signature(),
    "__dataclass_fields__": _Described("__dataclass_fields__"),
    "__dataclass_params__": _Described("__dataclass_params__"),
}
