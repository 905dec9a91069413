"""The collaborators of a session, made by ``assembly``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from callgate.core.ports import Journal, Model
from callgate.core.turn import Equipment
from callgate.session.tree import TreeNode
from callgate.staging.room import Room
from callgate.words.limits import LoopLimits
from callgate.words.noun import noun

if TYPE_CHECKING:  # of a session with settings
    from callgate.session.hooks import SessionHooks
    from callgate.session.remembered import RememberedAnswers
    from callgate.transcript.compact import Summarize


@noun
class Parts:
    """``equipment`` is what each turn works with, ``models`` those that SetModel may choose by name; ``notes`` are told
    before the first turn. ``hooks`` and ``remembered`` are None in a session without settings."""

    equipment: Equipment
    journal: Journal
    staging: Room
    node: TreeNode
    models: Mapping[str, Model]
    limits: LoopLimits | None = None
    context: Mapping[str, Any] | None = None
    summarize: Summarize | None = None
    hooks: SessionHooks | None = None
    remembered: RememberedAnswers | None = None
    notes: tuple[str, ...] = ()
