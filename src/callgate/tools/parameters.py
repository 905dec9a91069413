"""Converts a signature to JSON Schema 2020-12, and JSON arguments to Python values for the function.

Both conversions are done by pydantic with one TypedDict made from the parameters. Unlike a model, a TypedDict accepts
any parameter name and leaves a missing argument missing, so the function's own default applies. pydantic is imported
when the first tool is defined.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, cast, get_args, get_origin

from callgate.tools.schema_node import quote
from callgate.tools.signature import MISSING, Parameter, Signature
from callgate.tools.strict_json import join
from callgate.words.calls import Rejected
from callgate.words.errors import ToolDefinitionError

MAX_FAULTS = 20
_SCHEMAS = ("properties", "$defs", "patternProperties", "dependentSchemas")
_SUBSCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "prefixItems")
_CHOICES = ("anyOf", "oneOf", "allOf")
_DECIMAL = "^(?!^[-+.]*$)[+-]?0*"


class Parameters:
    """The parameters of a function tool. ``validator`` is the pydantic validator of all parameters."""

    def __init__(self, takes: Signature, schema: dict[str, Any], validator: Any) -> None:
        self.takes = takes
        self.schema = schema
        self._defaults = {
            each.name: each.default
            for each in takes.parameters
            if each.default is not MISSING and not _from_field(each.default)
        }
        # The schema has checked these types completely, and scalars need no copy.
        self._plain = all(each.hint in (str, int, bool) for each in takes.parameters)
        self.refuses = not self._plain
        self._validate = validator.validate_json

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any] | Rejected:
        """Return the keyword arguments for the function, or the faults that its types and validators report.

        The values are copies, so a tool may change them without changing the recorded ``arguments``.
        """
        if self._plain:
            return dict(arguments)
        from pydantic import ValidationError

        try:
            # From JSON, because strict types accept a date in JSON but not as a Python str.
            return self._validate(_written(arguments))
        except ValidationError as error:
            return Rejected(faults_of(error))
        except Exception as error:  # a validator may raise anything
            return Rejected((f"$: {type(error).__name__}: {error}",))

    def filled(self, values: dict[str, Any]) -> dict[str, Any]:
        return {**self._defaults, **values}

    named = filled


class WholeObject:
    """The parameters of a schema tool, with the same methods as ``Parameters``. One parameter of the function receives
    all arguments."""

    refuses = False

    def __init__(self, takes: Signature, schema: dict[str, Any], parameter: str) -> None:
        self.takes = takes
        self.schema = schema
        self.parameter = parameter
        properties = cast("dict[str, Any]", schema.get("properties", {}))
        self._unset = {
            name: cast("dict[str, Any]", each).get("default") if isinstance(each, dict) else None
            for name, each in properties.items()
        }

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any] | Rejected:
        return {self.parameter: json.loads(_written(arguments))}

    def filled(self, values: dict[str, Any]) -> dict[str, Any]:
        return values

    def named(self, values: dict[str, Any]) -> dict[str, Any]:
        return {**self._unset, **values[self.parameter]}


def read_parameters(takes: Signature, descriptions: Mapping[str, str], tool: str) -> Parameters:
    """Return the schema and validator of the parameters. Raise ToolDefinitionError if a parameter has no schema."""
    adapter = _adapter(takes.parameters, descriptions)
    if isinstance(adapter, Exception):
        raise _blamed(takes.parameters, tool, adapter) from adapter
    validator, schema = adapter
    schema = trimmed(schema)
    properties = schema.setdefault("properties", {})
    for parameter in takes.parameters:
        _add_default(properties.get(parameter.name), parameter)
    ordered = {key: schema[key] for key in ("type", "properties", "required", "$defs") if key in schema}
    return Parameters(takes, {**ordered, "additionalProperties": False}, validator)


def _written(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, default=dict)


def _from_field(default: Any) -> bool:
    from pydantic.fields import FieldInfo

    return isinstance(default, FieldInfo)


def _adapter(parameters: Sequence[Parameter], described: Mapping[str, str]) -> tuple[Any, dict[str, Any]] | Exception:
    from pydantic import ConfigDict, TypeAdapter
    from typing_extensions import TypedDict  # pydantic rejects that of typing before Python 3.12

    fields: dict[str, Any] = {}
    for each in parameters:
        hint = _described(each, described.get(each.name, ""))
        fields[each.name] = hint if each.default is MISSING or _from_field(each.default) else NotRequired[hint]
    make = cast(Any, TypedDict)
    try:
        kind = make("Arguments", fields)
        kind.__pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)
        adapter = TypeAdapter[Any](kind)
        return adapter.validator, adapter.json_schema(mode="validation")
    except Exception as error:
        return error


def _blamed(parameters: Sequence[Parameter], tool: str, error: Exception) -> ToolDefinitionError:
    for each in parameters:
        alone = _adapter((each,), {})
        if isinstance(alone, Exception):
            reason = str(alone).partition("\n")[0]
            if "arbitrary_types" in reason:  # pydantic's advice is for models
                reason = "use plain types, a dataclass, a TypedDict, an Enum or a pydantic model"
            return ToolDefinitionError(f"tool {tool!r}: parameter {each.name!r} has no schema: {reason}")
    return ToolDefinitionError(f"tool {tool!r}: no schema: {error}")


def _described(parameter: Parameter, from_docstring: str) -> Any:
    """Return the annotation with a description: from Field, from a string in Annotated, or from the docstring."""
    from pydantic import Field
    from pydantic.fields import FieldInfo

    hint = parameter.hint
    extra: tuple[Any, ...] = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    if isinstance(parameter.default, FieldInfo):
        hint = Annotated[hint, parameter.default]
        extra = (*extra, parameter.default)
    if any(isinstance(each, FieldInfo) and each.description for each in extra):
        return hint
    # `documentation`: typing_extensions.Doc
    said = [each if isinstance(each, str) else getattr(each, "documentation", "") for each in extra]
    text = next(filter(None, said), from_docstring)
    return Annotated[hint, Field(description=text)] if text else hint


def _add_default(schema: dict[str, Any] | None, parameter: Parameter) -> None:
    if schema is None or parameter.default is MISSING or _from_field(parameter.default):
        return
    from pydantic import TypeAdapter

    value = parameter.default
    if parameter.hint in (str, int, bool) and type(value) is parameter.hint:
        schema["default"] = value
        return
    try:
        adapter = TypeAdapter[Any](parameter.hint)
        value = json.loads(adapter.dump_json(value, warnings="error"))
        adapter.validate_json(json.dumps(value, allow_nan=False))
    except Exception:
        # `limit: int = None` and sentinels have no JSON form.
        return
    schema["default"] = value


def trimmed(schema: Any) -> Any:
    """Return a schema of pydantic without generated titles and without the pattern for decimals.

    The pattern backtracks, and the conversion checks decimals anyway. Properties with the name ``title`` are kept.
    """
    if isinstance(schema, list):
        return [trimmed(each) for each in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in cast(dict[str, Any], schema).items():
        if key in _SCHEMAS:
            out[key] = {name: trimmed(each) for name, each in value.items()}
        elif key in _SUBSCHEMAS or key in _CHOICES:
            out[key] = trimmed(value)
        elif key != "title" and not (key == "pattern" and value.startswith(_DECIMAL)):
            out[key] = value
    return out


def faults_of(error: Any) -> tuple[str, ...]:
    """Return one line per fault: the path, the received value and the expected value."""
    found = error.errors(include_url=False, include_context=False)
    lines = [f"{_path(each['loc'])}: got {quote(each['input'])}{_wanted(each['msg'])}" for each in found[:MAX_FAULTS]]
    more = len(found) - MAX_FAULTS
    return (*lines, f"… and {more} more") if more > 0 else tuple(lines)


def _path(places: Sequence[int | str]) -> str:
    path = "$"
    for place in places:
        path = f"{path}[{place}]" if isinstance(place, int) else join(path, place)
    return path


def _wanted(message: str) -> str:
    message = " ".join(message.split())
    for prefix, joint in (("Input should be ", ", expected "), ("Value error, ", ": "), ("Assertion failed, ", ": ")):
        if message.startswith(prefix):
            return joint + message.removeprefix(prefix)
    return ": " + message
