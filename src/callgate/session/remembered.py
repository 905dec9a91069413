"""The feature ``remembered``: answers that are remembered beyond the session. The answers are read before each
prompt. A new answer is written at once."""

from collections.abc import Iterable, Sequence
from functools import partial

from callgate.conversation.feature import Feature, FeaturePart, OpenSession
from callgate.conversation.ledger import Ledger
from callgate.host.threads import in_thread
from callgate.policy.memory import Memory
from callgate.tools.staging import TaskSet
from callgate.words.decisions import ApprovalPolicy
from callgate.words.errors import in_words
from callgate.words.events import Event, Noted, PolicyAdded


class RememberedAnswers(FeaturePart):
    """The remembered answers with a wider scope than the session. Decisions use a copy in memory, so that they read no
    file.

    memory  the files with the answers; None if answers are not stored
    """

    def __init__(self, opened: OpenSession, memory: Memory | None) -> None:
        self._opened = opened
        self._memory = memory
        self._writing = TaskSet()
        self._unwritten: tuple[ApprovalPolicy, ...] = ()
        self._known: tuple[ApprovalPolicy, ...] = () if memory is None else memory.in_force()
        self._refused: Sequence[ApprovalPolicy] = ()

    def folded(self, ledger: Ledger) -> None:
        """Replace the answers of wider scope in the ledger by the stored answers, because the user may have revoked
        an answer."""
        own = [each for each in ledger.policies if each.scope == "session" and each not in self._refused]
        ledger.policies = [*own, *self._known]

    def refuse(self, policies: Iterable[ApprovalPolicy]) -> None:
        """Ignore these answers of a log that others may have written. The user has to give the answers again."""
        self._refused = tuple(policies)

    def begin(self) -> None:
        self._opened.record.on_event(self._on_event)

    async def recover(self) -> None:
        """Wait until all answers are written, then read the files again."""
        if self._memory is not None:
            await self._writing.finished()
            self._known = (*await in_thread(self._memory.in_force), *self._unwritten)
        self.folded(self._opened.record.ledger)

    async def close(self, *, discard: bool) -> None:
        self._opened.record.deliver()
        await self._writing.finished()

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, PolicyAdded):
            return
        self._refused = [policy for policy in self._refused if policy != event.policy]
        if event.policy.scope != "session":
            self._known = (*self._known, event.policy)
            if self._memory is not None:
                self._writing.start(self._write(self._memory, event.policy))

    async def _write(self, memory: Memory, policy: ApprovalPolicy) -> None:
        try:
            await in_thread(partial(memory.add, policy))
        except Exception as error:
            self._unwritten = (*self._unwritten, policy)
            text = f"this answer could not be stored and applies only to this session: {in_words(error)}"
            self._opened.record.write(Noted(self._opened.now(), text, "warning"))


def remembered_feature(memory: Memory | None) -> Feature:
    """Return the feature that remembers answers beyond the session, in files."""
    return Feature("remembered", lambda opened: RememberedAnswers(opened, memory))
