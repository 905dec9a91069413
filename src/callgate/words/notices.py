"""Durable events about notices for the model, facts of features, and nested sessions."""

from collections.abc import Mapping
from typing import Any, Literal

from callgate.words.messages import Spent
from callgate.words.noun import noun

NoticeKind = Literal["task", "agent", "undo", "server", "feature"]


@noun
class NoticeAdded:
    """A text that the model gets once, as a reminder with its next request.

    id    the id of the subject, unique in the session: a second notice with it is not added
    wake  an idle session takes a turn for it
    """

    at: float
    id: str
    kind: NoticeKind
    text: str
    wake: bool = False


@noun
class NoticeDelivered:
    """The turn with the reminder ended, or the model learned the fact in another way. It is not sent again."""

    at: float
    id: str


@noun
class FeatureRecorded:
    """A fact of a feature, which folds it into its state. ``data`` is JSON data. A rewind does not remove it."""

    at: float
    feature: str
    kind: str
    data: Mapping[str, Any]


@noun
class AgentOpened:
    """A nested session was opened. ``name`` is the last element of its path, and is never used again in this session,
    also after a rewind or a restart. ``kind`` is its label."""

    at: float
    name: str
    kind: str


@noun
class AgentSpent:
    """A nested session, or one inside it, paid for a request. ``name`` is the direct child of this session, and
    ``number`` the number of the child's event with these costs."""

    at: float
    name: str
    number: int
    spent: Spent
