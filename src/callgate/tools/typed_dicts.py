"""``typing.TypedDict`` before Python 3.12, which pydantic refuses, as the one of typing_extensions, which it takes."""

import sys
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

Remade = dict[Any, Any]


def accepted(hint: Any) -> Any:
    """The same hint with every such TypedDict in it made anew; on newer Pythons the hint itself."""
    return hint if sys.version_info >= (3, 12) else _swapped(hint, {})


def _swapped(hint: Any, remade: Remade) -> Any:
    if is_typeddict(hint) and type(hint).__module__ == "typing":
        return remade[hint] if hint in remade else _made_anew(hint, remade)
    origin, args = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal:
        return hint
    if origin is Annotated:
        inner = _swapped(args[0], remade)
        return hint if inner is args[0] else Annotated[(inner, *args[1:])]
    swapped = tuple(_swapped(each, remade) for each in args)
    if all(new is old for new, old in zip(swapped, args, strict=True)):
        return hint
    if origin in (Union, UnionType):
        return Union[swapped]  # noqa: UP007
    only, *more = swapped
    return origin[swapped if more else only]  # NotRequired takes no tuple


def _made_anew(kind: Any, remade: Remade) -> Any:
    from typing_extensions import TypedDict

    # Empty at first, so that a TypedDict which contains itself finds the new one.
    made = remade[kind] = cast(Any, TypedDict)(kind.__name__, {})
    hints = get_type_hints(kind, include_extras=True)
    made.__annotations__ = {name: _swapped(each, remade) for name, each in hints.items()}
    for name in ("__required_keys__", "__optional_keys__", "__total__", "__doc__", "__module__", "__qualname__"):
        setattr(made, name, getattr(kind, name))
    if hasattr(kind, "__pydantic_config__"):
        made.__pydantic_config__ = kind.__pydantic_config__
    return made
