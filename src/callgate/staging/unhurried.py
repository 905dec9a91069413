"""Staging for a caller that resolves its actions whenever it wants, and not before its next change."""

from collections.abc import Sequence

from callgate.conversation.ports import Reminder, Staging
from callgate.words.calls import Result
from callgate.words.events import TurnEnded
from callgate.words.model import Abilities, ToolChoice
from callgate.words.traits import Traits


class Unhurried:
    """The staging of a session without its pressure: other calls run while actions are pending, nothing is reminded
    of, and a run may end before they are resolved."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging

    @property
    def unresolved(self) -> bool:
        return False

    def before_request(self, abilities: Abilities) -> tuple[Sequence[Reminder], ToolChoice]:
        return (), ToolChoice()

    def admits(self, name: str, traits: Traits) -> Result | None:
        return None

    def message_over(self, message_id: str, *, whole: bool) -> None:
        self._staging.message_over(message_id, whole=whole)

    async def after_turn(self, ended: TurnEnded) -> None:
        await self._staging.after_turn(ended)
