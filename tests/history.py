"""The legal order of the messages of a request."""

from collections.abc import Sequence

from callgate.words.messages import Message, ResultPart


def faults(messages: Sequence[Message]) -> list[str]:
    """Return descriptions of violations of the legal order; an empty list if the messages can be sent.

    The first message is from a user. A message with calls is followed by one message with exactly one result for each
    call, in the order of the calls; other messages have no results. Call ids are unique, and no message is empty.
    """
    found: list[str] = []
    ids: set[str] = set()
    wanted: list[str] = []
    if messages and messages[0].role != "user":
        found.append(f"{messages[0].id}: the first message is not a user's")
    for message in messages:
        if not message.parts:
            found.append(f"{message.id}: has no parts")
        results = [part.call_id for part in message.parts if isinstance(part, ResultPart)]
        if message.role == "tool" and len(results) != len(message.parts):
            found.append(f"{message.id}: has more than results")
        if results != wanted or (message.role == "tool") != bool(wanted):
            found.append(f"{message.id}: has the results of {results} where those of {wanted} belong")
        wanted = [call.id for call in message.calls]
        if wanted and message.role != "assistant":
            found.append(f"{message.id}: has calls that no assistant made")
        for call_id in wanted:
            if call_id in ids:
                found.append(f"{message.id}: the call id {call_id} is used again")
            ids.add(call_id)
    if wanted:
        found.append(f"{messages[-1].id}: the results of {wanted} are missing")
    return found
