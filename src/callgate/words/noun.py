"""``@noun``: a frozen dataclass with slots that is cheap to define and cheap to make.

``dataclass`` compiles six methods for every class, which is most of what importing Callgate would cost; and the
constructor of a frozen one sets each field through ``object.__setattr__``, five times as slow as an assignment. Here
the methods are shared by all nouns, and the constructor is compiled when it is first called. It fills an unfrozen twin
of the same layout by plain assignments and turns that into the noun. ``fields``, ``replace``, ``match``, ``pickle``
and ``inspect.signature`` work as with ``dataclass``.
"""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from inspect import Signature, get_annotations, signature
from operator import attrgetter
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")


def nothing() -> dict[str, Any]:
    """The default of a mapping. (``dict[str, Any]`` itself takes five times as long to call.)"""
    return {}


@dataclass_transform(frozen_default=True)
def noun(cls: type[T]) -> type[T]:
    doc, annotations = cls.__doc__, get_annotations(cls)
    defaults = {name: vars(cls)[name] for name in annotations if name in vars(cls)}
    cls.__doc__ = "a noun"  # otherwise dataclass makes one of the signature, which takes long
    described = cast(type[Any], dataclass(init=False, repr=False, eq=False)(cls))
    gone = (*annotations, "__dict__", "__weakref__")
    own = {name: value for name, value in vars(described).items() if name not in gone}
    fixed = {"__slots__": tuple(annotations), "__doc__": doc, "__signature__": _Signature()}
    made: Any = type(cls)(cls.__name__, cls.__bases__, {**_SHARED, **own, **fixed})
    made.__dataclass_params__.frozen = True
    made._noun_values = staticmethod(attrgetter(*annotations) if annotations else nothing_of)
    made.__new__ = _first(made, {**defaults, "__annotations__": annotations, "__doc__": "a twin"})
    return made


def _first(cls: type[Any], namespace: dict[str, Any]) -> Callable[..., Any]:
    """The constructor until it is called for the first time."""

    def make(kind: type[Any], /, *args: Any, **kwargs: Any) -> Any:
        cls.__new__ = _constructor(cls, namespace)
        return cls.__new__(kind, *args, **kwargs)

    cast(Any, make).compiled = lambda: _constructor(cls, namespace)
    return make


def _constructor(cls: type[Any], namespace: dict[str, Any]) -> Callable[..., Any]:
    twin = cast(type[Any], dataclass(slots=True, eq=False, repr=False)(type(cls.__name__, (), namespace)))

    def make(kind: type[Any], /, *args: Any, **kwargs: Any) -> Any:
        made = twin(*args, **kwargs)
        made.__class__ = kind
        return made

    cast(Any, make).compiled = lambda: make
    cast(Any, make).__wrapped__ = twin.__init__
    return make


class _Signature:
    """Compiles the constructor when its signature is asked for."""

    def __get__(self, instance: object, cls: type[Any]) -> Any:
        found = signature(cast(Any, cls.__new__).compiled())
        return found.replace(parameters=[*found.parameters.values()][1:], return_annotation=Signature.empty)


def nothing_of(_: object) -> tuple[()]:
    """The fields of a noun that has none."""
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
}
