"""Tool search: how good the order is, and what it costs among ten thousand tools."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, cycle, islice
from statistics import median

from benchmarks.measure import Size
from benchmarks.report import Row
from benchmarks.retrieval import SAMPLES, read_sets, whole_sets
from callgate.search.tool_index import ToolIndex, ToolText
from callgate.search.vectors import ToolVectors, tool_vectors

TOOLS = 10_000
MORE = 100


def rows(size: Size) -> list[Row]:
    many = TOOLS if size.calls >= 1_000 else TOOLS // 50
    texts = list(islice(_tools(), many + MORE))
    index = ToolIndex()
    built = _cpu(lambda: [index.put(text) for text in texts[:many]])
    added = [_cpu(lambda text=text: index.put(text)) for text in texts[many:]]
    times = _query_times(index)
    return [
        Row("search_build", f"an index of {many:,} tools", "s", built, limit=3.0),
        Row("search_add", "one tool more, the slowest of a hundred", "ms", max(added) * 1e3, limit=5.0),
        Row("search_half", "half of the queries", "ms", median(times) * 1e3, limit=2.0),
        Row("search_most", "95 % of the queries", "ms", _most(times) * 1e3, limit=10.0),
    ]


def retrieval_rows(size: Size) -> list[Row]:
    """One less nDCG@10, the mean over the sets: what is missing to a perfect order."""
    note = "" if whole_sets() else "samples alone: CALLGATE_TOOLSEARCH names no folder of whole sets"
    made = [
        Row("retrieval_words", "missing to a perfect order, by words alone", "", _loss(None), limit=0.26, note=note)
    ]
    if tool_vectors():
        work = "missing to a perfect order, with vectors"
        made.append(Row("retrieval_vectors", work, "", _loss(tool_vectors), limit=0.24, note=note))
    return made


def _loss(vectors: Callable[[], ToolVectors | None] | None) -> float:
    found: list[float] = []
    for tool_set in read_sets(whole_sets() or SAMPLES):
        index = ToolIndex(vectors() if vectors else None)
        for text in tool_set.tools:
            index.put(text)
        found.append(tool_set.ndcg(lambda query, index=index: [hit.name for hit in index.search(query)]))
    return 1 - sum(found) / len(found)


def _tools() -> Iterator[ToolText]:
    """The tools of the samples, again and again under other names."""
    known = [text for tool_set in read_sets() for text in tool_set.tools]
    for number, text in zip(count(), cycle(known), strict=False):
        yield replace(text, name=f"{text.name}_{number}")


def _query_times(index: ToolIndex) -> list[float]:
    """The CPU time of each query of the samples, sorted. Each is asked once before, which fills the caches of stems."""
    queries = [text for tool_set in read_sets() for text, _ in tool_set.questions]
    for query in queries:
        index.search(query)
    return sorted(_cpu(lambda query=query: index.search(query)) for query in queries)


def _most(times: list[float]) -> float:
    return times[len(times) * 95 // 100]


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time_ns()
    work()
    return (time.process_time_ns() - before) / 1e9
