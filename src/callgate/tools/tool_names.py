"""The names of tools: checks names, suggests similar names for an unknown name, and makes the display of calls."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from heapq import nlargest
from typing import Any, cast

from callgate.core.capabilities import facts_of
from callgate.core.ports import Tool
from callgate.words.errors import ToolDefinitionError
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun
from callgate.words.traits import Icon, Traits

# What every provider accepts; a longer or dotted name would make one of them refuse the whole request.
_NAME = late_pattern(r"[A-Za-z0-9_-]{1,64}")
# The model wrote it, so it may be of any length; comparing is quadratic.
_LONGEST = 100
# Names that are compared letter by letter; of more, those that share the most pieces of three letters.
_COMPARED = 100
# The limit on comparisons of pieces with names, which block the loop; and the fewest useful pieces.
_LOOKS, _FEWEST_PIECES = 100_000, 8
_SIGNS = late_pattern(r"[\W_]+")
_WORDS = late_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")


def check_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        hint = " (give it one with name=)" if name.startswith("<") else ""
        raise ToolDefinitionError(f"{name!r} is not a valid tool name: use 1 to 64 of A-Z a-z 0-9 _ -{hint}")
    return name


def check_aliases(tool: str, aliases: Sequence[str]) -> tuple[str, ...]:
    """Return the checked aliases. Raise ToolDefinitionError if they are invalid. They may contain any text, because
    aliases are never sent to a provider."""
    if isinstance(aliases, str):
        raise ToolDefinitionError(f"tool {tool!r}: aliases must be a list of names, not the string {aliases!r}")
    for alias in aliases:
        if not isinstance(alias, str) or not alias.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ToolDefinitionError(f"tool {tool!r}: {alias!r} cannot be an alias")
    if len({tool, *aliases}) <= len(aliases):
        raise ToolDefinitionError(f"tool {tool!r}: its aliases contain a duplicate or its name")
    return tuple(aliases)


def close_names(name: str, known: Iterable[tuple[str, Iterable[str]]], most: int = 3) -> tuple[str, ...]:
    """Return the tool names most similar to an unknown name. Aliases are compared too. Never raises."""
    wanted = _squashed(name[:_LONGEST])
    owners: dict[str, str] = {}
    for tool, aliases in known:
        for each in (tool, *aliases):
            owners.setdefault(_squashed(each), tool)
    if not wanted:
        return ()
    same = [wanted] if wanted in owners else []
    # Short names are contained in most others.
    inside = [each for each in owners if min(len(each), len(wanted)) >= 3 and (each in wanted or wanted in each)]
    inside.sort(key=lambda each: abs(len(each) - len(wanted)))
    from difflib import get_close_matches  # only for a name that is not known

    near = owners
    if len(owners) > _COMPARED:
        pieces = pieces_of(wanted, len(owners))
        near = nlargest(_COMPARED, owners, key=lambda each: sum(map(each.__contains__, pieces)))
    alike = get_close_matches(wanted, near, n=most, cutoff=0.6)
    return tuple(dict.fromkeys(owners[each] for each in (*same, *inside, *alike)))[:most]


def pieces_of(wanted: str, names: int) -> set[str]:
    """Return pieces of three letters of a name, which the caller searches in ``names`` other names. If ``names`` is
    large, fewer pieces are returned, to limit the work."""
    most = max(_FEWEST_PIECES, _LOOKS // names)
    return {wanted[at : at + 3] for at in range(0, len(wanted), -(-len(wanted) // most))}


class CloseNames(Sequence[str]):
    """A sequence of similar names that is computed at the first access. Nested toolboxes each make a sequence, and only
    the outermost is accessed."""

    def __init__(self, name: str, known: Iterable[tuple[str, Iterable[str]]]) -> None:
        self._name = name
        self._known = known

    @cached_property
    def _found(self) -> tuple[str, ...]:
        return close_names(self._name, self._known)

    def __getitem__(self, at: Any) -> Any:
        return cast("Any", self._found[at])

    def __len__(self) -> int:
        return len(self._found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._found == tuple(cast("Sequence[object]", other))

    def __hash__(self) -> int:
        return hash(self._found)


def _squashed(name: str) -> str:
    letters = name.casefold().replace("_", "")
    return letters if letters.isalnum() else _SIGNS.sub("", letters)


# ---- for people ----------------------------------------------------------------------------------------------------


@noun
class CallFace:
    """The display of a call. All texts may come from tools and models; an interface must make them safe to show, see
    ``formats.display``.

    title  the displayed name of the tool
    line   the call: ``Read(src/app.py)``
    path   the path in the line, which may be shortened; empty if the line has no path
    note   the purpose of a command, the folder of a search, or the title set by the tool's author; an interface shows
           the note beside the line
    """

    title: str
    icon: Icon
    line: str
    path: str = ""
    note: str = ""


@noun
class ToolHints:
    """The description of a tool for other programs: its title, and the effects that any call may have. If
    ``open_world``, the tool uses more than local files: commands, the network or agents."""

    title: str
    read_only: bool
    idempotent: bool
    open_world: bool


def hints_of(tool: Tool) -> ToolHints:
    """Return the hints of a tool, which are valid for any arguments."""
    facts = facts_of(tool)
    try:
        traits = facts.general_traits() if facts.general_traits is not None else tool.traits({})
    except Exception:
        traits = Traits()
    return ToolHints(
        title=facts.title or title_from(tool.spec.name),
        read_only=traits.effects == "none",
        idempotent=traits.effects != "mutating",
        open_world=bool(traits.declared.kinds & {"command", "address", "agent"}),
    )


def title_from(name: str) -> str:
    """Return a name as words: ``Web fetch`` for ``WebFetch`` and ``web_fetch``. The title of a server's tool begins
    with the name of the server."""
    server, _, rest = name.removeprefix("mcp__").partition("__") if name.startswith("mcp__") else ("", "", name)
    words = _WORDS.findall(rest or name)
    plain = " ".join(each if each.isupper() and len(each) > 1 else each.lower() for each in words) or name
    title = plain[:1].upper() + plain[1:]
    return f"{server}: {title}" if server and rest else title


def face_of(tool: Tool, arguments: Mapping[str, Any], root: str = "", *, shows_title: bool = False) -> CallFace:
    """Return the display of a call. If the arguments do not match the parameters of the tool, only the tool is
    described.

    root         the workspace; paths in the workspace are relative to it
    shows_title  True if a title that was set by the author of the tool is shown beside the call
    """
    try:
        traits = tool.traits(arguments)
    except Exception:
        traits = Traits()
    name, title = tool.spec.name, facts_of(tool).title
    face = _face(title, name, traits, arguments, root)
    is_other = not traits.server and title_from(title) != title_from(name)
    return replace(face, note=title.partition("\n")[0]) if shows_title and is_other and not face.note else face


def unknown_face(name: str, arguments: Mapping[str, Any], root: str = "") -> CallFace:
    return _face("", name, Traits(), arguments, root)


def _face(title: str, name: str, traits: Traits, arguments: Mapping[str, Any], root: str) -> CallFace:
    from callgate.formats.shown_paths import shown_path  # only interfaces show calls

    declared = traits.declared
    paths = [shown_path(each, root) for each in dict.fromkeys((*declared.writes, *declared.reads))]
    subject, path = declared.label or declared.command or "", ""
    note = arguments.get("description") if declared.command else None
    if declared.label and paths and paths != ["."]:
        note = f"in {', '.join(paths)}"
    elif not subject and paths:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        path, subject = paths[0], paths[0] + more
    subject = subject or declared.address or declared.agent or ""
    if not subject:
        subject = _written({name: shown_path(v, root) if isinstance(v, str) else v for name, v in arguments.items()})
        path = subject if len(arguments) == 1 and "/" in subject and " " not in subject else ""
    line, *more_lines = subject.strip("\n").split("\n", 1)
    shown = line[:_LONGEST_LINE] + ("…" if more_lines or len(line) > _LONGEST_LINE else "")
    return CallFace(
        title=title or title_from(name),
        icon=traits.icon,
        line=f"{name}({shown})" if shown else name,
        path=path,
        note=note.partition("\n")[0][:_LONGEST_LINE] if isinstance(note, str) else "",
    )


_LONGEST_LINE, _LONGEST_VALUE = 1_000, 60


def _written(arguments: Mapping[str, Any]) -> str:
    """Return the arguments of a call without a declared subject as text: ``net=100, rate=0.19``. If the only
    argument is a string, return this string."""
    values = [*arguments.values()]
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return ", ".join(f"{name}={_value(value)}" for name, value in arguments.items())


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, list | dict) and len(text) > _LONGEST_VALUE // 2:
        return f"{len(cast('list[Any] | dict[str, Any]', value)):,} items"
    line, *more = text.strip("\n").split("\n", 1)
    return line[:_LONGEST_VALUE] + ("…" if more or len(line) > _LONGEST_VALUE else "")
