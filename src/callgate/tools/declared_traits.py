"""The traits of a tool as declared by its author: each is a value or a function of the arguments.

The fields of a call's subject (``command``, ``reads`` …) are names of arguments, or functions that return the value.
Undeclared arguments that look like a command, an address or a path cause warnings: the gate uses such an argument only
to deny a call or to ask, never to allow it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from inspect import iscoroutinefunction, signature
from math import isfinite
from typing import Any, TypedDict, cast

from callgate.words.decisions import AskedField, Choice
from callgate.words.declared import KINDS, UNDECLARED, USUAL_NAMES, Declaration, Declared, Given, Part
from callgate.words.errors import ToolDefinitionError, in_words
from callgate.words.traits import ICONS, Effects, Icon, Locks, OnSteer, Traits, exclusive

PartOption = str | Sequence[str] | Callable[[Any], Any] | None


class TraitOptions(TypedDict, total=False):
    """The options of ``tool`` and ``schema_tool`` that declare traits. An option that is a function receives one
    ``Given``.

    max_timeout  the upper limit of ``timeout``; if ``timeout`` is not set, it is the timeout
    locks        the default is the declared paths; without paths, a tool with ``effects="none"`` locks the workspace
                 for reading, and other tools run alone

    ``command``, ``folder``, ``environment``, ``reads``, ``writes``, ``address``, ``agent`` and ``label`` declare the
    subject of a call (see ``words.declared``): the name of an argument, several names, a function of the arguments, or
    None to declare that no argument has this meaning.
    """

    effects: Effects | Callable[[Any], Effects]
    locks: Locks | Callable[[Any], Locks | None] | None
    timeout: float | Callable[[Any], float | None] | None
    max_timeout: float | None
    interrupt: OnSteer | Callable[[Any], OnSteer]
    cascade: bool | Callable[[Any], bool]
    max_result_chars: int | Callable[[Any], int | None] | None
    requires_interaction: bool | Callable[[Any], bool]
    asks: Sequence[AskedField] | Callable[[Any], Sequence[AskedField]]
    own_state: bool | Callable[[Any], bool]
    needs_no_question: bool | Callable[[Any], bool]
    repeats: bool | Callable[[Any], bool]
    choices_for_always: Sequence[Choice] | Callable[[Any], Sequence[Choice] | None] | None
    server: str | Callable[[Any], str]
    icon: Icon | Callable[[Any], Icon]
    command: PartOption
    folder: PartOption
    environment: PartOption
    reads: PartOption
    writes: PartOption
    address: PartOption
    agent: PartOption
    label: PartOption


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0 and isfinite(value)


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, kind) for each in cast(Sequence[object], value))


_TIMEOUT = "a positive number of seconds or None"
# Option → (the condition on its value, in words).
_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("cascade", "requires_interaction", "own_state", "needs_no_question", "repeats"),
        (lambda it: isinstance(it, bool), "true or false"),
    ),
    "effects": (lambda it: it in ("none", "idempotent", "mutating"), "none, idempotent or mutating"),
    "locks": (
        lambda it: it is None or isinstance(it, Locks),
        "a value of reads(), writes() or another lock function",
    ),
    "timeout": (lambda it: it is None or _is_number(it), _TIMEOUT),
    "interrupt": (lambda it: it in ("block", "cancel"), "block or cancel"),
    "max_result_chars": (lambda it: it is None or (type(it) is int and it > 0), "a positive int"),
    "asks": (lambda it: _is_list_of(AskedField, it), "a list of AskedField"),
    "choices_for_always": (lambda it: it is None or _is_list_of(Choice, it), "a list of Choice"),
    "icon": (lambda it: it in ICONS, f"one of {', '.join(ICONS)}"),
    "server": (lambda it: isinstance(it, str), "the name of a server"),
}
_FIELDS = {"locks": "declared_locks", "icon": "declared_icon"}
"""Option → field of Traits, if their names differ."""
# Option → its value if its function fails; the default of Traits for others.
_MOST_CAREFUL: Mapping[str, Any] = {
    "effects": "mutating",
    "locks": exclusive,
    "interrupt": "block",
    "requires_interaction": True,
    "choices_for_always": (),
}


class DeclaredTraits:
    """The checked trait options of a tool.

    arguments  the argument names that fields of the subject may use
    fixed      the Traits of a tool whose traits do not depend on the arguments
    """

    def __init__(self, tool: str, options: TraitOptions, arguments: Collection[str]) -> None:
        self._tool = tool
        self._most = options.get("max_timeout")
        if self._most is not None and not _is_number(self._most):
            raise ToolDefinitionError(f"tool {tool!r}: max_timeout must be {_TIMEOUT}, not {self._most!r}")
        self._functions: dict[str, Callable[[Given], Any]] = {}
        constants: dict[str, Any] = {}
        parts: dict[str, Part] = {}
        for name, value in options.items():
            if name == "max_timeout":
                continue
            if name in KINDS:
                parts[name] = _part(tool, name, value, arguments)
            elif callable(value):
                self._functions[name] = _one_argument(cast("Callable[..., Any]", value), name, tool)
            else:
                constants[name] = value
        if self._most is not None and "timeout" not in self._functions:
            constants.setdefault("timeout", None)
        self._constants = {_FIELDS.get(name, name): self._checked(name, value) for name, value in constants.items()}
        if parts.get("writes") is not None and self._constants.get("effects") == "none":
            raise ToolDefinitionError(f'tool {tool!r}: it cannot have effects="none" and write files')
        self.declaration = Declaration(parts)
        self.fixed = None if self._functions or parts else Traits(**self._constants)

    @property
    def general(self) -> Traits:
        """The traits that are valid for any arguments. A trait declared by a function has its default, which is the
        strictest value."""
        return Traits(**self._constants, declared=Declared(kinds=self.declaration.kinds))

    def of(self, given: Given) -> Traits:
        """Return the traits of one call. If the function of a trait fails or returns an invalid value, the trait has
        its most careful value. If a field of the subject fails, the call requires the user."""
        found = dict(self._constants)
        failed: list[str] = []
        declared = UNDECLARED
        for name, function in self._functions.items():
            try:
                found[_FIELDS.get(name, name)] = self._checked(name, function(given))
            except Exception as error:
                failed.append(f"{name} failed ({in_words(error)})")
                if name in _MOST_CAREFUL:
                    found[_FIELDS.get(name, name)] = _MOST_CAREFUL[name]
                elif name == "timeout":
                    found["timeout"] = self._most
        try:
            declared = self.declaration.of(given)
        except Exception as error:
            failed.append(f"its declared subject failed ({in_words(error)})")
            found["requires_interaction"] = True
        note = f"tool {self._tool!r}: {', '.join(failed)}: the safest value is used" if failed else ""
        return Traits(**found, declared=declared, failed=note)

    def _checked(self, name: str, value: Any) -> Any:
        fits, wanted = _RULES[name]
        try:
            good = fits(value)
        except Exception:
            good = False
        if not good:
            raise ToolDefinitionError(f"tool {self._tool!r}: {name} must be {wanted}, not {value!r}")
        if name == "timeout" and self._most is not None:
            return self._most if value is None else min(value, self._most)
        return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


def _part(tool: str, kind: str, value: Any, arguments: Collection[str]) -> Part:
    if value is None:
        return None
    if callable(value):
        return _one_argument(cast("Callable[..., Any]", value), kind, tool)
    listed = cast("Sequence[Any]", value) if isinstance(value, Sequence) else ()
    names: tuple[Any, ...] = (value,) if isinstance(value, str) else tuple(listed)
    unknown = [name for name in names if name not in arguments]
    if not names or unknown or (len(names) > 1 and kind not in ("reads", "writes")):
        named = "arguments" if kind in ("reads", "writes") else "one argument"
        known = ", ".join(arguments) or "none"
        raise ToolDefinitionError(f"tool {tool!r}: {kind} must name {named} of the tool ({known}), not {value!r}")
    return names


def _one_argument(function: Callable[..., Any], name: str, tool: str) -> Callable[[Given], Any]:
    if iscoroutinefunction(function):
        raise ToolDefinitionError(f"tool {tool!r}: {name} is computed synchronously, so its function cannot be async")
    try:
        signature(function).bind(None)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(f"tool {tool!r}: the function for {name} must take one parameter: {error}") from error
    return function


_SAY: Mapping[str, tuple[tuple[str, ...], str]] = {
    "command": (
        ("command",),
        'write command="{0}", so that rules for commands apply, or command=None if it is not a command',
    ),
    "address": (
        ("address",),
        'write address="{0}", so that rules for hosts apply, or address=None if it is not an address',
    ),
    "reads": (
        ("reads", "writes", "command"),
        'write reads="{0}" or writes="{0}", so that rules for paths apply, or reads=None if it is not a path',
    ),
}


def undeclared(arguments: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a warning for each undeclared argument that looks like a command, an address or a path. Locks with paths,
    and locks computed from the arguments, are treated as declared paths."""
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
    """Yield the schema, its alternatives and the schemas of list items."""
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
