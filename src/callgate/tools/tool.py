"""Tools made from functions, and the base class of tools that are written as classes.

A tool has a spec (for the model), traits (for the gate and the scheduler) and a function that runs one call. The
annotations of the function define the arguments, so ``tool`` requires nothing that the function already states.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from inspect import getdoc, isroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack, cast, overload
from warnings import warn

from callgate.core.capabilities import ToolFacts
from callgate.core.ports import Run
from callgate.tools.arguments import Arguments
from callgate.tools.author_functions import Preview, caller, read_preview, single
from callgate.tools.declared_traits import DeclaredTraits, TraitOptions, undeclared
from callgate.tools.parameters import Parameters, WholeObject, read_parameters
from callgate.tools.signature import caller_scope, inside_partials, read_docstring, read_signature
from callgate.tools.tool_names import check_aliases, check_name
from callgate.tools.values import applied, to_result
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.declared import Given
from callgate.words.errors import ToolDefinitionError, ToolFailure, UndeclaredArgument
from callgate.words.model import ToolSpec
from callgate.words.traits import Traits

F = TypeVar("F", bound=Callable[..., Any])
F_co = TypeVar("F_co", covariant=True)


class CommonOptions(TraitOptions, total=False):
    """The options of ``tool`` and ``schema_tool`` other than traits.

    aliases        more names by which the tool can be called
    search_hint    more words for tool search
    always_loaded  True if the tool is never deferred by tool search
    stages         True if the tool may stage pending actions while it runs
    title          the displayed name, in a few words; by default made from the name
    preview        a function that makes the tool's ChangeSet; its parameters are any of the tool's parameters, and a
                   Run

    The ChangeSet of ``preview`` is displayed, and applied exactly, before the tool's function runs. The function
    receives it as ``run.changes`` and only makes the text of the result. If it returns None, the result names the
    applied change.
    """

    aliases: Sequence[str]
    search_hint: str
    always_loaded: bool
    preview: Callable[..., Any] | None
    stages: bool
    title: str


class ToolOptions(CommonOptions, total=False):
    name: str
    description: str


class FunctionTool(Generic[F_co]):
    """A Tool made from a function by ``tool`` or ``schema_tool``. Calling the object calls the plain function."""

    def __init__(
        self,
        fn: Callable[..., Any],
        spec: ToolSpec,
        shape: Parameters | WholeObject,
        options: CommonOptions,
        preview: Preview | None,
    ) -> None:
        update_wrapper(cast(Any, self), fn)
        self.spec = spec
        self.aliases: tuple[str, ...] = check_aliases(spec.name, options.get("aliases", ()))
        self._fn = fn
        self._call = caller(fn)
        self._run_parameter = shape.takes.run
        self._shape = shape
        self._refuses = shape.refuses
        self._preview = preview
        self.previews = preview is not None
        traits = {name: value for name, value in options.items() if name in TraitOptions.__optional_keys__}
        arguments = cast("Mapping[str, Any]", spec.parameters.get("properties", {}))
        self._traits = declared = DeclaredTraits(spec.name, cast(TraitOptions, cast(object, traits)), arguments)
        self.facts = ToolFacts(
            title=options.get("title", ""),
            search_hint=options.get("search_hint", ""),
            always_loaded=options.get("always_loaded", False),
            stages=options.get("stages", False),
            general_traits=lambda: declared.general,
            deps=shape.takes.deps,
        )
        self.undeclared: tuple[str, ...] = undeclared(arguments, options)
        """Advice for each argument that looks like a command, an address or a path and is not declared."""
        try:
            self._arguments = Arguments(shape.schema)
        except ToolDefinitionError as error:
            raise ToolDefinitionError(f"tool {spec.name!r}: {error}") from error

    if TYPE_CHECKING:
        # One covariant parameter: mypy infers a common type for [f, g], which it does not with a ParamSpec.
        __call__: F_co
    else:

        def __call__(self, *args, **kwargs):
            return self._fn(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        """Parse, repair and validate the arguments. The validators of the function's own types are applied too."""
        outcome = self._arguments.read(raw)
        if self._refuses and isinstance(outcome, Accepted):
            values = self._shape.convert(outcome.arguments)
            if isinstance(values, Rejected):
                return values
        return outcome

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        """Return the traits of a call. If no trait is a function, the same object is always returned. ``failed`` names
        functions that failed."""
        return self._traits.fixed or self._traits.of(Given(**self._shape.named(self._values(arguments))))

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        if self._preview is None:
            raise ToolFailure(f"{self.spec.name} has no preview")
        return await self._preview(self._shape.filled(self._values(arguments)), run)

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        values = self._values(arguments)
        if self._run_parameter is not None:
            values[self._run_parameter] = run
        value = await self._call(values, run)
        if value is None and self._preview is not None and run.changes is not None:
            value = applied(run.changes)
        return to_result(value, self.spec.name)

    def _values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        values = self._shape.convert(arguments)
        if isinstance(values, Rejected):
            # They were valid when read: a validator depends on state that has changed.
            raise ToolFailure("The arguments are no longer valid:\n" + "\n".join(values.errors))
        return values


@overload
def tool(fn: F, /, **options: Unpack[ToolOptions]) -> FunctionTool[F]: ...
@overload
def tool(fn: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[F], FunctionTool[F]]: ...
def tool(fn: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a tool from a function: ``@tool``, ``@tool(effects="none")`` or ``tool(fn, name="other")``.

    The name and the docstring of the function are the name and the description of the tool unless these are set by
    options. Parameters may have any type that pydantic has a JSON schema for; a parameter annotated ``Run`` receives
    the Run and is not in the schema. A plain function runs in a worker thread, an async function on the event loop. A
    generator of either kind reports progress (see ``author_functions``). ``options`` are ``name``, ``description``,
    ``aliases``, ``preview``, ``stages`` and the traits (``effects``, ``locks``, ``timeout`` …; the guide "Tools" has
    the table). A trait is a value or a function of the arguments: ``locks=lambda a: writes(a.path)``.
    """
    if fn is None:

        def decorate(fn: Callable[..., Any]) -> FunctionTool[Any]:
            return _noted(_define(fn, options, caller_scope(1)))

        return decorate
    return _noted(_define(fn, options, caller_scope(1)))


def schema_tool(
    name: str,
    description: str,
    parameters: Mapping[str, Any],
    fn: Callable[..., Any],
    **options: Unpack[CommonOptions],
) -> FunctionTool[Any]:
    """Make a tool from a JSON Schema.

    name, description  the name and the description for the model
    parameters         the JSON Schema of the arguments, an object
    fn                 the function; it receives all arguments as one dict, and a Run if it has a parameter with this
                       annotation
    options            the traits, as for ``tool``; if a trait is a function, a missing property has its ``default`` or
                       None
    """
    check_name(name)
    _refuse_unknown(name, options, CommonOptions.__optional_keys__)
    scope = caller_scope(1)
    takes = read_signature(fn, name, scope)
    shape = WholeObject(takes, _own_copy(name, parameters), single(takes, name))
    preview = read_preview(options.get("preview"), name, takes, scope, shape.parameter)
    return _noted(FunctionTool[Any](fn, ToolSpec(name, description, shape.schema), shape, options, preview))


def _noted(made: FunctionTool[Any]) -> FunctionTool[Any]:
    """Warn of each undeclared argument and of arguments without a type, at the line of code that makes the tool."""
    for text in made.undeclared:
        warn(f"tool {made.spec.name!r}: {text}", UndeclaredArgument, stacklevel=3)
    return made


def _define(fn: Callable[..., Any], options: ToolOptions, scope: Mapping[str, Any]) -> FunctionTool[Any]:
    if isinstance(fn, FunctionTool):
        raise ToolDefinitionError(f"{fn!r} is already a tool; wrap it in Named to give it another name")
    if not callable(fn):
        raise ToolDefinitionError(f"{fn!r} is not a function, so it cannot be a tool")
    name = check_name(options.get("name") or _name_of(fn))
    _refuse_unknown(name, options, ToolOptions.__optional_keys__)
    takes = read_signature(fn, name, scope)
    said = read_docstring(_docstring_of(fn))
    shape = read_parameters(takes, said.parameters, name)
    spec = ToolSpec(name, options.get("description", said.description), shape.schema)
    preview = read_preview(options.get("preview"), name, takes, scope)
    made = FunctionTool[Any](fn, spec, shape, options, preview)
    bare = [each.name for each in takes.parameters if not each.is_annotated]
    if bare and inside_partials(fn).__name__ != "<lambda>":
        names = ", ".join(map(repr, bare))
        made.undeclared += (f"no annotation for {names}, so the model may pass any JSON value: write {bare[0]}: str",)
    return made


def _own_copy(tool: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    try:
        schema = json.loads(json.dumps(dict(parameters), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolDefinitionError(f"tool {tool!r}: its parameters are not JSON: {error}") from error
    if schema.setdefault("type", "object") != "object":
        raise ToolDefinitionError(f"tool {tool!r}: its parameters must be a schema of type object")
    return schema


def _refuse_unknown(tool: str, options: Mapping[str, Any], known: frozenset[str]) -> None:
    unknown = sorted(options.keys() - known)
    if unknown:
        from difflib import get_close_matches  # only for an option that is not known

        close = get_close_matches(unknown[0], known, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; the options are {', '.join(sorted(known))}"
        raise ToolDefinitionError(f"tool {tool!r} has no option {', '.join(unknown)}{hint}")
    for name, kind in _KINDS_OF_OPTIONS.items():
        if name in options and not isinstance(options[name], kind):
            raise ToolDefinitionError(f"tool {tool!r}: {name} must be a {kind.__name__}, not {options[name]!r}")


_KINDS_OF_OPTIONS: Mapping[str, type] = {
    **dict.fromkeys(("description", "search_hint", "title"), str),
    **dict.fromkeys(("always_loaded", "stages"), bool),
}


def _name_of(fn: Callable[..., Any]) -> str:
    inner = inside_partials(fn)
    return getattr(inner, "__name__", None) or type(inner).__name__


def _docstring_of(fn: Callable[..., Any]) -> str | None:
    inner = inside_partials(fn)
    if isroutine(inner) or isinstance(inner, type):
        return getdoc(inner)
    return getdoc(inner.__call__) or getdoc(inner)


class SchemaTool:
    """A tool without aliases and without a preview. A subclass adds ``traits`` and ``run``.

    spec     the name, description and parameters for the model; the constructor raises SchemaError if they are invalid
    accepts  the schema that arguments must match, if it accepts more than the schema for the model
    """

    aliases: tuple[str, ...] = ()
    previews = False

    def __init__(self, spec: ToolSpec, facts: ToolFacts, accepts: Mapping[str, Any] | None = None) -> None:
        self.spec = spec
        self.facts = facts
        self._arguments = Arguments(spec.parameters if accepts is None else accepts)

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        return self._arguments.read(raw)

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        raise ToolFailure(f"{self.spec.name} has no preview")
