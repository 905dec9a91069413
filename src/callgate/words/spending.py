"""The costs of requests in recorded events."""

from collections.abc import Iterable

from callgate.words.events import AgentSpent, AnswerUnused, Event, MetadataSet, RequestRetried, TurnEnded
from callgate.words.messages import Spent
from callgate.words.turns import Compacted

SPENDING = (AgentSpent, AnswerUnused, Compacted, MetadataSet, RequestRetried, TurnEnded)
"""The events with the costs of a request."""


def spent_in(event: Event) -> Spent | None:
    """Return the costs of a request that the event records, or None."""
    if isinstance(event, Compacted):
        return None if event.usage is None else Spent(event.model, event.usage, event.cost)
    return event.spent if isinstance(event, SPENDING) else None


def by_model(spent: Iterable[Spent]) -> tuple[Spent, ...]:
    """Return the total costs of each model."""
    sums: dict[str, Spent] = {}
    for each in spent:
        before = sums.get(each.model)
        sums[each.model] = each if before is None else before + each
    return tuple(sums.values())
