"""A Run for tools that are tried without an executor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from callgate.core.ports import Host
from callgate.words.changes import ChangeSet
from callgate.words.decisions import FieldAnswer


@dataclass
class FakeRun:
    call_id: str = "call-1"
    idempotency_key: str = "key-1"
    attempt: int = 1
    host: Host = field(default_factory=lambda: cast(Host, None))
    context: Mapping[str, Any] = field(default_factory=dict[str, Any])
    deps: Any = None
    deadline: float | None = None
    cancelled: bool = False
    changes: ChangeSet | None = None
    answers: tuple[FieldAnswer, ...] = ()
    lineage: tuple[str, ...] = ("call-1",)
    said: list[Any] = field(default_factory=list[Any])
    on_progress: Callable[[], object] = lambda: None

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        self.said.append(text if current is None else (text, current, total))
        self.on_progress()
