"""Sets of tools and questions, and the figure by which a ranking is judged.

Samples of four public sets are in tests/data/toolsearch. ``CALLGATE_TOOLSEARCH`` names a folder of whole sets of the
same form: ``SET/tools.jsonl`` and ``SET/queries.jsonl``, of which the questions of the split ``dev`` count.
"""

import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callgate.search.tool_index import ToolText

SAMPLES = Path(__file__).parents[1] / "tests" / "data" / "toolsearch"


@dataclass(frozen=True, slots=True)
class ToolSet:
    """Tools, and questions with the tools that answer them: groups of alternatives."""

    name: str
    tools: Sequence[ToolText]
    questions: Sequence[tuple[str, Sequence[Sequence[str]]]]

    def ndcg(self, search: Callable[[str], Sequence[str]]) -> float:
        """nDCG@10 over the questions: each group counts once, where the first of it stands."""
        found = [_gain(search(text), groups) for text, groups in self.questions]
        return sum(found) / len(found)


def whole_sets() -> Path | None:
    folder = os.environ.get("CALLGATE_TOOLSEARCH")
    return Path(folder) if folder else None


def read_sets(folder: Path = SAMPLES) -> list[ToolSet]:
    return [_read_set(file.parent) for file in sorted(folder.glob("*/tools.jsonl"))]


def _read_set(folder: Path) -> ToolSet:
    tools = [
        ToolText(
            tool["name"],
            tool.get("description") or "",
            tool.get("input_schema") or {},
            tool.get("server") or "",
            tool.get("server_description") or "",
        )
        for tool in _lines(folder / "tools.jsonl")
    ]
    questions = [
        (line["text"], line.get("gold_groups") or [[each] if isinstance(each, str) else each for each in line["gold"]])
        for line in _lines(folder / "queries.jsonl")
        if line.get("split", "dev") == "dev"
    ]
    return ToolSet(folder.name, tools, questions)


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _gain(answer: Sequence[str], groups: Iterable[Sequence[str]]) -> float:
    left, gain = list(groups), 0.0
    best = sum(1 / math.log2(rank + 2) for rank in range(min(len(left), 10)))
    for rank, name in enumerate(answer[:10]):
        if group := next((group for group in left if name in group), None):
            left.remove(group)
            gain += 1 / math.log2(rank + 2)
    return gain / best
