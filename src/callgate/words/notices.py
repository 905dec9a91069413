"""Durable events about notices for the model, about features and about nested sessions."""

from collections.abc import Mapping
from typing import Any, Literal

from callgate.words.messages import Spent
from callgate.words.noun import noun

NoticeKind = Literal["task", "agent", "undo", "server", "feature"]


@noun
class NoticeAdded:
    """A notice was added: a text that the model receives once, as a reminder in its next request.

    id    the id of the subject, unique in the session; a second notice with the same id is not added
    wake  True if the notice starts a turn in an idle session
    """

    at: float
    id: str
    kind: NoticeKind
    text: str
    wake: bool = False


@noun
class NoticeDelivered:
    """A notice was delivered: the turn with the reminder ended, or the model was informed in another way.

    The notice is not sent again.
    """

    at: float
    id: str


@noun
class FeatureRecorded:
    """An event of a feature, from which the feature computes its state. A rewind does not remove the event.

    data  JSON data
    """

    at: float
    feature: str
    kind: str
    data: Mapping[str, Any]


@noun
class AgentOpened:
    """A nested session was opened.

    name  the last element of the path of the nested session; never used again in this session, also after a rewind or a
          restart
    kind  the label of the nested session
    """

    at: float
    name: str
    kind: str


@noun
class AgentSpent:
    """A nested session paid for a request. The nested session may be at any depth.

    name    the direct child of this session
    number  the number of the child's event with these costs
    """

    at: float
    name: str
    number: int
    spent: Spent
