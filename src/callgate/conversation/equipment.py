"""The objects and settings that every turn of a session uses."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from random import random
from typing import Any

from callgate.conversation.allowance import Allowance, Price
from callgate.conversation.feature_set import FeatureSet
from callgate.conversation.meter import SessionMeter
from callgate.conversation.ports import Model
from callgate.conversation.record import Record
from callgate.core.ports import Gate, Host, ToolSource
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Spent
from callgate.words.model import CacheHints, RequestLimits, RequestOptions
from callgate.words.noun import noun


@noun
class Equipment:
    """The objects and settings that a turn uses. The session replaces them when the model or the effort changes."""

    model: Model
    toolbox: ToolSource
    gate: Gate
    host: Host
    record: Record
    features: FeatureSet = field(default_factory=FeatureSet)
    fallback: Model | None = None
    """The model for the rest of a run after too many overloads."""
    system: str = ""
    settings: ExecutorSettings = field(default_factory=ExecutorSettings)
    limits: RequestLimits = field(default_factory=RequestLimits)
    cache: CacheHints = field(default_factory=CacheHints)
    options: RequestOptions = field(default_factory=RequestOptions)
    output: Mapping[str, Any] | None = None
    """A JSON Schema for the text of every answer; options of a prompt override it."""
    session: str = ""
    """The id of the session, which is the cache key for the provider."""
    noted: set[str] = field(default_factory=set[str])
    """The recorded notes of models. Each note is only recorded once."""
    lineage: tuple[str, ...] = ()
    deps: Any = None
    """The object that tools get as ``run.deps``."""
    path: tuple[str, ...] = ()
    """Names of agents from the root to this session, for questions."""
    rerun_safe: bool = True
    """Repeat calls after a crash if they had started and are declared safe to repeat."""
    resumable: bool = False
    """True if the record is durable, so that unfinished calls can be left open in it when the program ends."""
    price: Price | None = None
    meter: SessionMeter | None = None
    unsettled: Callable[[], Iterable[Spent]] = lambda: ()
    """Returns the costs of messages in open turns, of this session and of nested sessions."""
    outer: Callable[[], Allowance | None] = lambda: None
    """Returns the allowance of the parent session, or None."""
    chance: Callable[[], float] = random
    """Returns random numbers from 0 to 1, for the delays of retries."""
