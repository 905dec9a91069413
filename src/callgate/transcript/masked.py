"""Masking at the boundary of a journal, so that every kind of journal is given events without secrets."""

from typing import Any, cast

from callgate.conversation.ports import Drafted, Journal, Masking
from callgate.transcript.masking import Masker
from callgate.words.events import Durable


class Masked:
    """Wraps a journal and masks what it is given; everything else goes to the journal itself."""

    def __init__(self, journal: Journal, masker: Masker) -> None:
        self._journal = journal
        self._masker = masker
        self.clean = masker.noun

    def append(self, event: Durable) -> None:
        self._journal.append(self._masker.noun(event))

    def draft(self, message_id: str, text: Drafted) -> None:
        self._journal.draft(message_id, self._masker.draft(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)


def masked(journal: Journal, masker: Masker | None = None) -> Masking:
    """The journal as one that stores no secrets."""
    return cast(Masking, Masked(journal, masker or Masker()))
