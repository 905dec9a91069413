"""The collaborators and settings of every turn of a session."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from random import random
from typing import Any

from callgate.conversation.allowance import Allowance, Price
from callgate.conversation.feature_set import FeatureSet
from callgate.conversation.ports import Meter, Model
from callgate.conversation.record import Record
from callgate.core.ports import Gate, Host, ToolSource
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Spent
from callgate.words.model import CacheHints, RequestLimits, RequestOptions
from callgate.words.noun import noun


@noun
class Equipment:
    """The collaborators of a turn. The session replaces them when a person chooses another model or effort."""

    model: Model
    toolbox: ToolSource
    gate: Gate
    host: Host
    record: Record
    features: FeatureSet = field(default_factory=FeatureSet)
    fallback: Model | None = None
    """Answers for the rest of a run in which the model was overloaded too often."""
    system: str = ""
    settings: ExecutorSettings = field(default_factory=ExecutorSettings)
    limits: RequestLimits = field(default_factory=RequestLimits)
    cache: CacheHints = field(default_factory=CacheHints)
    options: RequestOptions = field(default_factory=RequestOptions)
    output: Mapping[str, Any] | None = None
    """A JSON Schema for the text of every answer; a prompt may bring its own."""
    session: str = ""
    """The id of the session, the key of a provider's cache."""
    noted: set[str] = field(default_factory=set[str])
    """Notes of models that are on record: each is written once."""
    lineage: tuple[str, ...] = ()
    deps: Any = None
    """Given to tools as ``run.deps``."""
    path: tuple[str, ...] = ()
    """Names of the nested agents from the root to this session; questions carry it."""
    rerun_safe: bool = True
    """After a crash, run calls again that had started and are declared safe to repeat."""
    resumable: bool = False
    """The record outlives the program: what is not done when it ends can be left open there."""
    price: Price | None = None
    meter: Meter | None = None
    unsettled: Callable[[], Iterable[Spent]] = lambda: ()
    """Returns the costs of messages of this session and of those inside it whose turns have not ended."""
    outer: Callable[[], Allowance | None] = lambda: None
    """Returns the allowance of the session around this one."""
    chance: Callable[[], float] = random
    """Random numbers from 0 to 1, for the pauses before repetitions."""
