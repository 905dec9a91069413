"""The declared subject of a call: the command, paths, address or agent that the arguments contain.

A tool declares once which argument contains which subject. Each call then has one ``Declared``, which the gate,
rules, labels and locks use instead of the name of the tool.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from os import PathLike, fspath
from types import SimpleNamespace
from typing import Any, Literal, cast, get_args

from callgate.words.noun import nothing, noun

Kind = Literal["command", "folder", "environment", "reads", "writes", "address", "agent", "label"]
KINDS: tuple[Kind, ...] = get_args(Kind)

USUAL_NAMES: Mapping[str, frozenset[str]] = {
    "command": frozenset(("command", "cmd", "commands", "shell_command", "command_line", "cmdline", "script", "bash"))
    | frozenset(("argv",)),
    "environment": frozenset(("environment", "env", "shell", "executable", "args", "argv")),
    "address": frozenset(("url", "uri")),
    "reads": frozenset(("path", "paths", "file", "files", "file_path", "filepath", "filename", "notebook_path"))
    | frozenset(("cwd", "dir", "directory", "folder", "workdir", "working_directory")),
}
"""Names of undeclared arguments that are treated as this kind of subject to deny or ask, never to allow."""

_MOST_SHOWN = 40


class Given(SimpleNamespace):
    """The converted arguments of a call, with defaults. An argument is read as ``a.path`` or ``a["path"]``."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"unknown argument {name!r}; the arguments are: {', '.join(vars(self)) or 'none'}")

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]

    def __contains__(self, name: object) -> bool:
        return name in vars(self)


Part = str | tuple[str, ...] | Callable[[Given], Any] | None
"""Names of arguments, or a function that returns the value; None declares that the tool has no such subject."""


@noun
class Declared:
    """The declared subject of one call.

    kinds        the kinds that the tool declares, also if this call has no value for a kind
    ruled_out    the kinds that the tool declares not to have
    names        the names of the arguments by kind
    command      a shell command
    folder       the working folder of the command
    environment  the environment variables that the command sets
    reads        paths that the call reads; ``writes`` has the paths that the call writes
    address      a URL or a host; empty if the call uses the network at an unknown address
    agent        the type of the agent that is started
    label        the name of the call for the user
    fault        the reason why an argument does not match its declaration
    """

    kinds: frozenset[str] = frozenset()
    ruled_out: frozenset[str] = frozenset()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=nothing)
    command: str | None = None
    folder: str | None = None
    environment: Mapping[str, str] = field(default_factory=nothing)
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    address: str | None = None
    agent: str | None = None
    label: str | None = None
    fault: str | None = None


UNDECLARED = Declared()


class Declaration:
    """The declarations of a tool, by kind of subject."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self._parts = dict(parts)
        self.kinds = frozenset(kind for kind, part in parts.items() if part is not None)
        self.ruled_out = frozenset(parts) - self.kinds
        self.names: dict[str, tuple[str, ...]] = {
            kind: (part,) if isinstance(part, str) else part
            for kind, part in parts.items()
            if isinstance(part, str | tuple)
        }

    def of(self, given: Given) -> Declared:
        """Return the subject of a call with these arguments. Exceptions of declared functions propagate."""
        values: dict[str, Any] = {}
        faults: list[str] = []
        for kind in self.kinds:
            part = self._parts[kind]
            found = part(given) if callable(part) else [vars(given).get(name) for name in self.names.get(kind, ())]
            try:
                values[kind] = _READ[kind](found)
            except (TypeError, ValueError) as error:
                faults.append(f"{kind} is {error}")
        fault = "; ".join(sorted(faults)) or None
        return Declared(kinds=self.kinds, ruled_out=self.ruled_out, names=self.names, fault=fault, **values)


def _texts(value: object) -> tuple[str, ...]:
    """Return a string, a path, or several of these as a tuple of strings."""
    if value is None:
        return ()
    if isinstance(value, str | PathLike):
        return (str(fspath(cast("str | PathLike[str]", value))),)
    if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{type(cast(object, value)).__name__} instead of text")
    return tuple(text for each in cast("Iterable[object]", value) for text in _texts(each))


def _text(value: object) -> str | None:
    found = _texts(value)
    if len(found) > 1:
        raise ValueError("more than one text")
    return found[0] if found else None


def _only(value: object) -> object:
    """Return the item of a list that has one item. Return any other value unchanged."""
    if not isinstance(value, list):
        return value
    found = cast("list[object]", value)
    return found[0] if len(found) == 1 else found


def _command(value: object) -> str | None:
    """Return a command as a string; the words of a list are quoted and joined."""
    inner = _only(value)
    if isinstance(inner, str):
        return inner
    words = _texts(inner)
    return shlex.join(words) if words else None


def _variables(value: object) -> dict[str, str]:
    inner = _only(value)
    if inner is None or inner == []:
        return {}
    if not isinstance(inner, Mapping):
        raise TypeError(f"{type(inner).__name__} instead of an object")
    return {str(name): str(each) for name, each in cast("Mapping[object, object]", inner).items()}


_READ: Mapping[str, Callable[[object], Any]] = {
    **dict.fromkeys(("folder", "address", "agent", "label"), _text),
    "command": _command,
    "environment": _variables,
    "reads": _texts,
    "writes": _texts,
}


def label_of(name: str, declared: Declared, arguments: Mapping[str, Any]) -> str:
    """Return a short form of a call for the user, such as ``Bash(mkdir build…)``.

    The text in parentheses is the declared label, otherwise the first declared value, otherwise the only string
    among the arguments.
    """
    value = declared.label or declared.command or next(iter((*declared.writes, *declared.reads)), None)
    value = value or declared.address or declared.agent
    if value is None:
        texts = [each for each in arguments.values() if isinstance(each, str)]
        value = texts[0] if len(texts) == 1 else None
    if not value:
        return name
    line = value.split("\n", 1)[0]
    cut = len(line) > _MOST_SHOWN or line != value
    return f"{name}({line[:_MOST_SHOWN]}{'…' if cut else ''})"
