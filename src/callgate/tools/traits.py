"""The traits an author declares: each a value, or a function of the arguments."""

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction, signature
from math import isfinite
from types import SimpleNamespace
from typing import Any, TypedDict, cast

from callgate.words.decisions import Choice
from callgate.words.errors import ToolDefinitionError
from callgate.words.traits import Effects, Locks, OnSteer, Traits


class Given(SimpleNamespace):
    """The arguments of a call, converted, defaults filled in: ``a.path``, or ``a["path"]`` for any name."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no argument {name!r}; there is {', '.join(vars(self)) or 'none'}")

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]

    def __contains__(self, name: object) -> bool:
        return name in vars(self)


class TraitOptions(TypedDict, total=False):
    """What ``tool`` and ``schema_tool`` accept about how a call behaves. A function gets one ``Given``.

    ``timeout`` is clamped to ``max_timeout``, which alone is the timeout too. Without ``locks`` a tool with
    ``effects="none"`` reads the whole workspace and any other runs alone.
    """

    effects: Effects | Callable[[Any], Effects]
    locks: Locks | Callable[[Any], Locks | None] | None
    timeout: float | Callable[[Any], float | None] | None
    max_timeout: float | None
    interrupt: OnSteer | Callable[[Any], OnSteer]
    cascade: bool | Callable[[Any], bool]
    max_result_chars: int | Callable[[Any], int | None] | None
    requires_interaction: bool | Callable[[Any], bool]
    own_state: bool | Callable[[Any], bool]
    choices_for_always: Sequence[Choice] | Callable[[Any], Sequence[Choice]]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0 and isfinite(value)


def _is_choices(value: Any) -> bool:
    is_list = isinstance(value, list | tuple)
    return is_list and all(isinstance(each, Choice) for each in cast(Sequence[object], value))


_TIMEOUT = "a positive number of seconds or None"
# Option → (field of Traits, what it may be, in words).
_RULES: Mapping[str, tuple[str, Callable[[Any], bool], str]] = {
    "effects": ("effects", lambda it: it in ("none", "idempotent", "mutating"), "none, idempotent or mutating"),
    "locks": ("declared_locks", lambda it: it is None or isinstance(it, Locks), "made by reads() and the like"),
    "timeout": ("timeout", lambda it: it is None or _is_number(it), _TIMEOUT),
    "interrupt": ("interrupt", lambda it: it in ("block", "cancel"), "block or cancel"),
    "cascade": ("cascade", lambda it: isinstance(it, bool), "true or false"),
    "max_result_chars": ("max_result_chars", lambda it: it is None or (type(it) is int and it > 0), "a positive int"),
    "requires_interaction": ("requires_interaction", lambda it: isinstance(it, bool), "true or false"),
    "own_state": ("own_state", lambda it: isinstance(it, bool), "true or false"),
    "choices_for_always": ("choices_for_always", _is_choices, "a list of Choice"),
}


class DeclaredTraits:
    """Checked when defined; ``fixed`` is the one Traits of a tool whose traits do not depend on the arguments."""

    def __init__(self, tool: str, options: TraitOptions) -> None:
        self._tool = tool
        self._most = options.get("max_timeout")
        if self._most is not None and not _is_number(self._most):
            raise ToolDefinitionError(f"tool {tool!r}: max_timeout must be {_TIMEOUT}, not {self._most!r}")
        self._functions: dict[str, Callable[[Given], Any]] = {}
        constants: dict[str, Any] = {}
        for name, value in options.items():
            if name == "max_timeout":
                continue
            if callable(value):
                self._functions[name] = _one_argument(cast("Callable[..., Any]", value), name, tool)
            else:
                constants[name] = value
        if self._most is not None and "timeout" not in self._functions:
            constants.setdefault("timeout", None)
        self._constants = {_RULES[name][0]: self._checked(name, value) for name, value in constants.items()}
        self.fixed = None if self._functions else Traits(**self._constants)

    def of(self, given: Given) -> Traits:
        """The traits of one call. ToolDefinitionError names a function that failed or gave what no trait can be."""
        found = dict(self._constants)
        for name, function in self._functions.items():
            try:
                value = function(given)
            except Exception as error:
                raise ToolDefinitionError(f"tool {self._tool!r}: {name} failed: {error!r}") from error
            found[_RULES[name][0]] = self._checked(name, value)
        return Traits(**found)

    def _checked(self, name: str, value: Any) -> Any:
        _field, fits, wanted = _RULES[name]
        try:
            good = fits(value)
        except Exception:
            good = False
        if not good:
            raise ToolDefinitionError(f"tool {self._tool!r}: {name} must be {wanted}, not {value!r}")
        if name == "timeout" and self._most is not None:
            return self._most if value is None else min(value, self._most)
        return tuple(value) if name == "choices_for_always" else value


def _one_argument(function: Callable[..., Any], name: str, tool: str) -> Callable[[Given], Any]:
    if iscoroutinefunction(function):
        raise ToolDefinitionError(f"tool {tool!r}: {name} must answer at once, so its function cannot be async")
    try:
        signature(function).bind(None)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(f"tool {tool!r}: the function for {name} must take one parameter: {error}") from error
    return function
