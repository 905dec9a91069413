"""Typed final answers: makes the JSON Schema for the model, and converts the text of the model to a value."""

import json
import re
from collections.abc import Mapping
from inspect import isroutine
from typing import Any, Generic, TypeVar

from callgate.tools.arguments import read_json
from callgate.tools.jsonschema import Schema, SchemaError, TooMuchWork
from callgate.tools.parameters import faults_of, trimmed
from callgate.tools.signature import accepted
from callgate.tools.strict_json import JSONFault
from callgate.words.errors import UsageError
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

T = TypeVar("T")
_FENCED = late_pattern(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)


@noun
class Misfit:
    """The faults of an answer that does not match, one line each."""

    faults: tuple[str, ...]


class _Output:
    """The base class of output types, with the texts that describe the schema to the model."""

    _schema: Mapping[str, Any]

    @property
    def instruction(self) -> str:
        """The text that is added to a prompt for the model."""
        told = "When you are done, answer only with JSON, without other text. The JSON must match this JSON Schema: "
        return told + json.dumps(self._schema, ensure_ascii=False)

    def repair(self, misfit: Misfit) -> str:
        """Return the text that is sent to the model after an answer that does not match."""
        faults = "\n".join(misfit.faults)
        return f"Your answer does not match the JSON Schema:\n{faults}\nAnswer again, only with the complete JSON."

    def read(self, text: str) -> Any | Misfit:
        """Return the value of an answer, or a Misfit with its faults. A code fence around the JSON is removed."""
        fenced = _FENCED.findall(text)
        try:
            value, _repairs = read_json(fenced[0] if len(fenced) == 1 else text)
        except JSONFault as fault:
            return Misfit(fault.lines)
        return self._converted(value)

    def _converted(self, value: Any) -> Any | Misfit:
        raise NotImplementedError


class OutputSchema(_Output):
    """Parses answers as JSON that matches a JSON Schema. The constructor raises UsageError if the schema is invalid."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = self._schema = schema
        try:
            self._checked = Schema(schema, top=False)
        except SchemaError as error:
            raise UsageError(f"the JSON Schema is invalid: {error}") from error

    def _converted(self, value: Any) -> Any | Misfit:
        try:
            faults = self._checked.faults(value)
        except TooMuchWork as error:
            faults = [str(error)]
        return Misfit(tuple(faults)) if faults else value


class OutputType(_Output, Generic[T]):
    """Parses answers as values of a type: a pydantic model, a dataclass, a TypedDict, a basic type or a union."""

    def __init__(self, kind: type[T]) -> None:
        from pydantic import TypeAdapter

        self.name = getattr(kind, "__name__", None) or str(kind)
        try:
            self._adapter = TypeAdapter[T](accepted(kind))
            self._schema = trimmed(self._adapter.json_schema(mode="validation"))
        except Exception as error:
            raise UsageError(f"output={self.name} has no JSON Schema: {str(error).partition(chr(10))[0]}") from error
        if not self._schema or isroutine(kind):
            raise UsageError(f"output={self.name} is not a type for an answer: pass a type that describes the answer")

    def _converted(self, value: Any) -> T | Misfit:
        from pydantic import ValidationError

        try:
            return self._adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            return Misfit(faults_of(error))
        except Exception as error:  # a validator of the type may raise anything
            return Misfit((f"$: {type(error).__name__}: {error}",))
