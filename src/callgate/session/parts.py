"""The collaborators of a session, made by ``assembly``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from callgate.conversation.ports import Journal, Model
from callgate.conversation.turn import Equipment
from callgate.staging.session_staging import SessionStaging
from callgate.words.limits import LoopLimits
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.search.toolbox import SearchToolbox
    from callgate.session.hooks import SessionHooks
    from callgate.session.questions import QuestionRouter
    from callgate.session.remembered import RememberedAnswers
    from callgate.transcript.compact import Summarize


@noun
class SessionParts:
    """``equipment`` is what each turn works with, ``models`` those that SetModel may choose by name, and
    ``open_model`` opens further ones; ``notes`` are told
    before the first turn. ``parent`` is the router of the session around this one. ``hooks`` and ``remembered`` are
    None in a session without settings. ``cheap`` is a cheaper model, for summaries; ``titled_by`` the one that writes a
    title, if any. ``compacts``: the history is compacted by itself before it is too long. ``search`` has the deferred
    tools, if there may be any."""

    equipment: Equipment
    journal: Journal
    staging: SessionStaging
    models: dict[str, Model]
    parent: QuestionRouter | None = None
    limits: LoopLimits | None = None
    context: Mapping[str, Any] | None = None
    summarize: Summarize | None = None
    hooks: SessionHooks | None = None
    remembered: RememberedAnswers | None = None
    notes: tuple[str, ...] = ()
    cheap: Model | None = None
    titled_by: Model | None = None
    compacts: bool = True
    open_model: Callable[[str], Model] | None = None
    search: SearchToolbox | None = None
