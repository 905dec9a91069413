"""The definition of a tool, made safe to show to a model and to the user.

All of it is untrusted text: its size is limited, invisible characters are removed, and the description names the
server. The user approves this text, not only the name of the tool (see ``approvals``).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from hashlib import sha256
from typing import Any, cast

from callgate.words.noun import noun

LONGEST = 64
"""The most characters of a tool's full name, which every provider accepts."""
_LONGEST_SERVER = 32
_GIVEN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SERVER = re.compile(r"[A-Za-z0-9_. -]{1,64}")
_ODD = re.compile(r"[^A-Za-z0-9-]+|_+")


def server_name(given: str) -> str:
    """Return the name of a server as used in tool names. Raise ValueError if no valid name can be made of it."""
    if _SERVER.fullmatch(given) is None:
        raise ValueError("its name must have 1 to 64 characters: A-Z a-z 0-9 _ . - and blanks")
    name = _ODD.sub("_", given).strip("_")
    if not name:
        raise ValueError("its name must contain a letter or a digit")
    return name if len(name) <= _LONGEST_SERVER else f"{name[: _LONGEST_SERVER - 9].rstrip('_')}-{_digest(given)}"


def is_valid(tool: str) -> bool:
    """Return True if a server may give a tool this name."""
    return _GIVEN.fullmatch(tool) is not None


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Return the full name of each tool by the name that the server uses; tools with invalid names are omitted. If a
    full name is too long or already used, it ends with a hash of the original name."""
    plain = {tool: f"mcp__{server}__{tool.replace('.', '_')}" for tool in dict.fromkeys(tools) if is_valid(tool)}
    found: dict[str, str] = {}
    for tool, name in sorted(plain.items(), key=lambda pair: "." in pair[0]):
        if len(name) > LONGEST or name in found.values():
            name = f"{name[: LONGEST - 9]}-{_digest(tool)}"
        found[tool] = name
    return found


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]


LONGEST_DESCRIPTION = 2_000
"""The most characters of a tool's description, and of each description inside its schema."""
LARGEST_SCHEMA = 64_000
"""The most characters of a schema as JSON; a tool with a larger schema is omitted."""
MOST_TOOLS = 512
"""The most tools of one server; further tools are omitted and logged."""
_DEEPEST = 32
_HIDDEN = re.compile(
    # Controls but tab and line feed; marks that turn the reading direction, join or hide; tags; selectors.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_TEXTS = ("description", "title", "$comment")
_INSTRUCTIONS = re.compile(
    r"<\s*(?:important|system|instructions?|secret)\b"
    r"|\b(?:you|the (?:assistant|model|agent|ai)) (?:must|should|have to)\b"
    r"|\bbefore (?:using|calling|any)\b.{0,40}\btool|\binstead of\b.{0,40}\btool|\buse this one instead\b"
    r"|\bdo not (?:tell|mention|inform|show)\b|\bignore (?:all|any|previous|the)\b"
    r"|\.ssh\b|id_rsa|\bapi[ _-]?keys?\b|\benv(?:ironment)? var|\.env\b",
    re.IGNORECASE,
)


@noun
class Definition:
    """A cleaned definition of a tool.

    given  the name that the server uses
    hints  the annotations; only ``readOnlyHint`` is used, and only if the server is trusted
    """

    given: str
    title: str
    description: str
    schema: Mapping[str, Any]
    output: Mapping[str, Any] | None
    hints: Mapping[str, bool]

    @property
    def text(self) -> str:
        """The text of the definition that the user approves, split into lines for a comparison."""
        whole = {
            "name": self.given,
            "title": self.title,
            "description": self.description.split("\n"),
            "inputSchema": self.schema,
            "outputSchema": self.output,
            "annotations": self.hints,
        }
        return json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False)

    @property
    def suspicion(self) -> str:
        """The part of the description that reads like an instruction to the model, or an empty string."""
        for text in (self.description, *_texts_in(self.schema)):
            found = _INSTRUCTIONS.search(text)
            if found is not None:
                return " ".join(text[max(0, found.start() - 30) : found.end() + 30].split())
        return ""


def read_definition(tool: Mapping[str, Any]) -> Definition:
    """Parse a tool of a ``tools/list`` response. Raise ValueError if the tool must be omitted."""
    name, schema, output = tool.get("name"), tool.get("inputSchema"), tool.get("outputSchema")
    if not isinstance(name, str) or not is_valid(name):
        raise ValueError("its name must have 1 to 64 characters: A-Z a-z 0-9 _ . -")
    if not isinstance(schema, dict):
        raise ValueError("it has no schema for its arguments")
    if len(json.dumps((schema, output))) > LARGEST_SCHEMA:
        raise ValueError(f"its schemas have more than {LARGEST_SCHEMA:,} characters")
    notes: Mapping[str, Any] = tool.get("annotations") or {}
    hints = {key: value for key, value in notes.items() if key.endswith("Hint") and type(value) is bool}
    return Definition(
        given=name,
        title=clean(str(tool.get("title") or notes.get("title") or ""), 80).replace("\n", " "),
        description=clean(str(tool.get("description") or ""), LONGEST_DESCRIPTION),
        schema=cast("dict[str, Any]", _cleaned(cast("object", schema), 0)),
        output=cast("dict[str, Any]", _cleaned(cast("object", output), 0)) if isinstance(output, dict) else None,
        hints=hints,
    )


def clean(text: str, most: int) -> str:
    """Return a text without invisible characters. A text longer than ``most`` characters is cut and ends with a
    note."""
    kept = _HIDDEN.sub("", _ESCAPES.sub("", text[: 4 * most])).strip()
    more = len(text) - most if len(kept) > most else 0
    return f"{kept[:most]} [{more:,} more characters]" if more else kept


def difference(before: str, after: str, most: int = 40) -> str:
    lines = [*unified_diff(before.split("\n"), after.split("\n"), "approved", "now", n=0, lineterm="")][2:]
    shown = [line for line in lines if not line.startswith("@@")]
    more = len(shown) - most
    return "\n".join((*shown[:most], *((f"… {more} more lines",) if more > 0 else ())))


def _cleaned(node: object, depth: int) -> object:
    """Return a schema with its texts cleaned. Names and values are not changed. Raise ValueError if a name or a
    value contains hidden characters."""
    if depth > _DEEPEST:
        raise ValueError("its schema is nested too deeply")
    if isinstance(node, dict):
        found: dict[str, object] = {}
        for key, value in cast("dict[str, object]", node).items():
            if _HIDDEN.search(key):
                raise ValueError("its schema has a name with hidden characters")
            is_text = key in _TEXTS and isinstance(value, str)
            found[key] = clean(cast(str, value), LONGEST_DESCRIPTION) if is_text else _cleaned(value, depth + 1)
        return found
    if isinstance(node, list):
        return [_cleaned(each, depth + 1) for each in cast("list[object]", node)]
    if isinstance(node, str) and _HIDDEN.search(node):
        raise ValueError("its schema has a value with hidden characters")
    return node


def _texts_in(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in cast("dict[str, object]", node).items():
            if key in _TEXTS and isinstance(value, str):
                yield value
            else:
                yield from _texts_in(value)
    elif isinstance(node, list):
        for each in cast("list[object]", node):
            yield from _texts_in(each)
