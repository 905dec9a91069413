"""The parameters of a function: resolved annotations, the parameter that receives the Run, and their descriptions.

Docstrings in the Google, NumPy and Sphinx styles are supported, even mixed. A docstring without sections is used as the
description of the tool.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from functools import partial
from inspect import Parameter as Declared
from inspect import cleandoc, isroutine, signature, unwrap
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    Protocol,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from callgate.core.ports import Run
from callgate.words.errors import ToolDefinitionError
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

MISSING: Any = Declared.empty
# For an annotation that only a type checker can resolve (`if TYPE_CHECKING: from callgate import Run`).
_SPELLED_RUN = late_pattern(r"(?:[\w.]+\.)?(?:Optional\[)?(?:[\w.]+\.)?Run(?:\[.*\])?\]?(?:\s*\|\s*None)?$")


@noun
class Parameter:
    name: str
    hint: Any
    default: Any = MISSING
    is_annotated: bool = True


@noun
class Signature:
    """The parameters of a function. The parameter that receives the Run is not included; ``run`` is its name, and
    ``deps`` the class X of the annotation ``Run[X]``."""

    parameters: tuple[Parameter, ...]
    run: str | None = None
    deps: type | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)


def read_signature(fn: Callable[..., Any], tool: str, scope: Mapping[str, Any] | None = None) -> Signature:
    """Return the parameters of ``fn``. ``scope`` contains local names that the annotations may use. Raise
    ToolDefinitionError for parameters that cannot be passed by name: ``*args``, ``**kwargs`` and positional-only
    parameters."""
    try:
        declared = signature(fn).parameters.values()
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(f"tool {tool!r}: {fn!r} has no readable signature") from error
    bound = _bound(fn)
    namespace = _namespace(fn, scope or {})
    found: list[Parameter] = []
    run: str | None = None
    deps: type | None = None
    for position, each in enumerate(declared):
        if each.name in bound:
            continue
        _refuse_unfillable(each, position, tool)
        hint = _resolve(each, namespace, tool)
        if not _is_run(hint):
            found.append(Parameter(each.name, hint, each.default, each.annotation is not MISSING))
        elif run is None:
            run, deps = each.name, _deps_of(hint)
        else:
            raise ToolDefinitionError(f"tool {tool!r}: both {run!r} and {each.name!r} are annotated as the Run")
    return Signature(tuple(found), run, deps)


def inside_partials(fn: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(fn, partial):
        fn = cast("partial[Any]", fn).func
    return fn


def code_of(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function or method that a call executes; for another callable, its ``__call__``."""
    inner = inside_partials(fn)
    return inner if isroutine(inner) or isinstance(inner, type) else inner.__call__


def caller_scope(depth: int) -> dict[str, Any]:
    """Return the local names of the calling code, because annotations may use classes defined inside a function."""
    frame = sys._getframe(depth + 1)  # pyright: ignore[reportPrivateUsage]
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)


def _refuse_unfillable(each: Declared, position: int, tool: str) -> None:
    why = {
        Declared.POSITIONAL_ONLY: "is positional-only, but a model passes arguments by name",
        Declared.VAR_POSITIONAL: "(*args) has no name that a model can use; use a list instead",
        Declared.VAR_KEYWORD: "(**kwargs) has no schema; name the parameters, or use a dict",
    }.get(each.kind)
    if why is None and position == 0 and each.name in ("self", "cls") and each.annotation is MISSING:
        why = "belongs to a method; make the tool from the bound method: tool(instance.method)"
    if why is not None:
        raise ToolDefinitionError(f"tool {tool!r}: parameter {each.name!r} {why}")


def _bound(fn: Callable[..., Any]) -> set[str]:
    return set(cast("partial[Any]", fn).keywords) if isinstance(fn, partial) else set()


def _namespace(fn: Callable[..., Any], scope: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    inner: Any = unwrap(code_of(fn))
    inner = getattr(inner, "__func__", inner)
    names: dict[str, Any] = dict(scope)
    free = getattr(getattr(inner, "__code__", None), "co_freevars", ())
    for name, cell in zip(free, getattr(inner, "__closure__", None) or (), strict=False):
        with suppress(ValueError):  # not bound yet
            names[name] = cell.cell_contents
    return getattr(inner, "__globals__", {}), names


def _resolve(each: Declared, namespace: tuple[dict[str, Any], dict[str, Any]], tool: str) -> Any:
    annotation = each.annotation
    if annotation is MISSING:
        return Any

    # get_type_hints resolves nested strings too; a separate holder limits errors to this parameter.
    class Holder:
        pass

    Holder.__annotations__ = {each.name: annotation}
    try:
        return accepted(get_type_hints(Holder, *namespace, include_extras=True)[each.name])
    except Exception as error:
        text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
        if isinstance(text, str) and _SPELLED_RUN.match(text.strip("'\" ")):
            return Run
        raise ToolDefinitionError(
            f"tool {tool!r}: the annotation {annotation!r} of parameter {each.name!r} cannot be resolved: {error}"
        ) from error


def _is_run(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        return {get_origin(kind) or kind for kind in get_args(hint) if kind is not NoneType} == {Run}
    return (get_origin(hint) or hint) is Run


def _deps_of(hint: Any) -> type | None:
    """Return the class X of ``Run[X]``; None without a class, and for a Protocol."""
    if get_origin(hint) in (Annotated, Union, UnionType):
        return next((found for kind in get_args(hint) if (found := _deps_of(kind)) is not None), None)
    wanted = next(iter(get_args(hint)), None) if get_origin(hint) is Run else None
    if not isinstance(wanted, type) or wanted is Any or get_origin(wanted) is not None:
        return None
    return None if Protocol in wanted.__mro__ else wanted


Remade = dict[Any, Any]


def accepted(hint: Any) -> Any:
    """Return the annotation with each TypedDict of ``typing`` replaced by a TypedDict of ``typing_extensions``.
    pydantic requires this before Python 3.12."""
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


_PARAMETERS = {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"}
_OTHERS = {"returns", "return", "yields", "yield", "raises", "raise", "warns", "attributes", "see also", "references"}
_HEADER = late_pattern(r"(?P<title>[A-Za-z][A-Za-z ]*?)\s*(?P<colon>:?)\s*$")
_UNDERLINE = late_pattern(r"\s*-{3,}\s*$")
_GOOGLE = late_pattern(r"(?P<names>\*{0,2}\w+)\s*(?:\(.*?\)\s*)?:(?:\s+(?P<text>.*)|\s*)$")
_NUMPY = late_pattern(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX = late_pattern(r":(?P<field>\w+)(?:\s+(?P<about>[^:]*))?:\s*(?P<text>.*)$")
_SPHINX_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword"}
_SPHINX_OTHERS = {"type", "return", "returns", "rtype", "yield", "yields", "raise", "raises", "except", "exception"}


@noun
class Docstring:
    """The parsed docstring. ``description`` is the text before the first section; ``parameters`` maps parameter names
    to descriptions."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def read_docstring(text: str | None) -> Docstring:
    """Parse a docstring of any style. Unknown sections are omitted. Never raises."""
    lines = cleandoc(text or "").splitlines()
    start = next((at for at in range(len(lines)) if _opens_section(lines, at)), len(lines))
    found: dict[str, str] = {}
    for names, words in _entries(lines, start):
        for name in names.split(","):
            found.setdefault(name.strip().lstrip("*"), " ".join(words.split()))
    return Docstring("\n".join(lines[:start]).strip(), {name: words for name, words in found.items() if words})


def _opens_section(lines: list[str], at: int) -> bool:
    return _section(lines, at) is not None or _sphinx(lines[at]) is not None


def _section(lines: list[str], at: int) -> tuple[str, bool] | None:
    """Return the title of the section that begins at this line, and True if it is underlined as in the NumPy style;
    None if no section begins here."""
    header = _HEADER.match(lines[at])
    if header is None:
        return None
    title = header["title"].lower()
    underlined = at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1]) is not None
    # A bare word is a heading only if it is marked as one, because text may contain a line like "Returns".
    if underlined or (header["colon"] and title in _PARAMETERS | _OTHERS):
        return title, underlined
    return None


def _sphinx(line: str) -> re.Match[str] | None:
    match = _SPHINX.match(line)
    return match if match and match["field"] in _SPHINX_PARAMETERS | _SPHINX_OTHERS else None


def _entries(lines: list[str], at: int) -> Iterator[tuple[str, str]]:
    """Yield the names (joined by commas) and the description of each entry in the parameter sections."""
    while at < len(lines):
        end = next((later for later in range(at + 1, len(lines)) if _opens_section(lines, later)), len(lines))
        section, sphinx = _section(lines, at), _sphinx(lines[at])
        if sphinx and sphinx["field"] in _SPHINX_PARAMETERS and sphinx["about"]:
            # ":param int limit: …": the name is the last word.
            yield sphinx["about"].split()[-1], " ".join((sphinx["text"], *_indented(lines[at + 1 : end])))
        elif section and section[0] in _PARAMETERS:
            form, body = (_NUMPY, lines[at + 2 : end]) if section[1] else (_GOOGLE, lines[at + 1 : end])
            yield from _listed(form, body)
        at = end


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line and not line[0].isspace():
            return
        yield line


def _listed(form: re.Pattern[str], lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the entries at the indentation of the first entry. A line with deeper indentation continues an entry."""
    names, words, indent = "", list[str](), -1
    for line in lines:
        bare = line.strip()
        depth = len(line) - len(line.lstrip())
        if not bare:
            continue
        if indent < 0:
            indent = depth
        if depth > indent:
            words.append(bare)
            continue
        if names:
            yield names, " ".join(words)
        entry = form.match(bare) if depth == indent else None
        if entry is None:
            # Less indent, or not an entry at all: the list is over.
            return
        names, words = entry["names"], [entry.groupdict().get("text") or ""]
    if names:
        yield names, " ".join(words)
