"""Recovery from failed requests: decides if and when a request is sent again, and to which model."""

from collections.abc import Callable
from random import random
from typing import Literal

from callgate.conversation.ports import Model
from callgate.words.errors import ModelError
from callgate.words.limits import Retries
from callgate.words.messages import Message, Spent
from callgate.words.noun import noun

Remedy = Literal["again", "shorten", "show"]
"""The step after a failure: send the request again, shorten the history first, or show the error."""


@noun
class Repetition:
    """The next attempt to send a request.

    attempt  the number of consecutive failures before it
    delay    the delay in seconds
    error    the last failure
    instead  the fallback model, if it is used for this and later attempts
    """

    attempt: int
    delay: float
    error: ModelError
    instead: Model | None = None


class Recovery:
    """Counts consecutive failures in one run and decides about the next attempt.

    fallback  the model for the rest of the run after ``Retries.overloads`` consecutive overloads
    shortens  True if the history can be shortened; a request that was too long is then sent again once
    affords   callback that returns True if the limits of the run allow another attempt, given the costs of the failed
              attempt
    """

    def __init__(
        self,
        retries: Retries,
        *,
        fallback: Model | None = None,
        shortens: bool = False,
        chance: Callable[[], float] = random,
        affords: Callable[[Spent | None], bool] = lambda spent: True,
    ) -> None:
        self._retries = retries
        self._fallback = fallback
        self._shortens = shortens
        self._chance = chance
        self._affords = affords
        self._failures = self._overloads = 0
        self._instead: Model | None = None
        self._own: Model | None = None
        self._shortened = False
        self._due: Repetition | None = None

    def model(self, own: Model) -> Model:
        """Return the model for the next request: ``own`` or the fallback. A new ``own`` model replaces the fallback."""
        if own is not self._own:
            self._own, self._instead = own, None
        return self._instead or own

    def take(self) -> Repetition | None:
        due, self._due = self._due, None
        return due

    def worked(self) -> None:
        """Reset the counts after a complete message."""
        self._failures = self._overloads = 0
        self._shortened = False

    def shorten(self) -> bool:
        """Return True if the history should be shortened after a request that was too long."""
        tried, self._shortened = self._shortened, True
        return self._shortens and not tried

    def failed(self, error: ModelError, spent: Spent | None) -> tuple[Remedy, ModelError]:
        """Count a failure, and return the next step and the error to show. If the provider asks for a delay over the
        maximum, the error names the delay.

        spent  the costs of the failed attempt
        """
        if error.kind == "too_long":
            return ("shorten" if self.shorten() else "show"), error
        retries = self._retries
        self._failures += 1
        self._overloads = self._overloads + 1 if error.kind == "overloaded" else 0
        if (not error.retryable and self._instead is None) or not self._affords(spent):
            return "show", error
        if not error.retryable:
            self._fallback = self._instead = None  # the fallback cannot answer: use the model itself
            self._failures = retries.overloads
        if self._fallback is not None and self._instead is None and self._overloads >= retries.overloads:
            self._due = Repetition(self._failures, 0.0, error, self._fallback)
            self._instead, self._failures = self._fallback, 0
            return "again", error
        if self._failures > retries.most:
            return "show", error
        if error.retry_after is not None and error.retry_after > retries.longest_asked:
            words = f"{error} (the provider asks to wait {error.retry_after:,.0f} s: send Continue after that)"
            return "show", ModelError(words, kind=error.kind, retryable=True, retry_after=error.retry_after)
        self._due = Repetition(self._failures, retries.delay(self._failures, error, self._chance()), error)
        return "again", error


def answered_by(message: Message, own: Model, fallback: Model | None) -> Model:
    """Return the model that wrote a message, found by its name; ``own`` if the name is unknown."""
    said = (message.model or "").rpartition("/")[2]
    names = {model.name.rpartition("/")[2]: model for model in (fallback, own) if model is not None}
    fitting = [name for name in names if said.startswith(name)]  # a provider may append a date
    return names[max(fitting, key=len)] if fitting else own
