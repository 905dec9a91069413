"""Questions that clients of the modern era were sent, until they come back with an answer."""

from secrets import token_urlsafe

MOST_ASKED = 1_000


class AskedQuestions:
    """Each state that is given out stands for one question and is taken once: an answer is not good for two calls."""

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}

    def add(self, mark: str) -> str:
        """The state that the client has to bring back, for the question with this mark."""
        state = token_urlsafe(24)
        self._asked[state] = mark
        while len(self._asked) > MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        return state

    def take(self, state: str) -> str | None:
        """The mark of its question; None if the state was not given out, or came back before."""
        return self._asked.pop(state, None)
