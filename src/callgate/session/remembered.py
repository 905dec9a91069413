"""Answers that are remembered beyond a session: read before each prompt, written when a person gives one."""

from collections.abc import Callable
from functools import partial

from callgate.conversation.ledger import Ledger
from callgate.host.threads import in_thread
from callgate.policy.memory import Memory
from callgate.session.tasks import TaskSet
from callgate.words.decisions import ApprovalPolicy
from callgate.words.errors import in_words


class RememberedAnswers:
    """Keeps a copy of the answers in ``memory`` (None: there is no place for any), so that deciding reads no file.
    ``warn`` tells a person that an answer could not be written."""

    def __init__(self, memory: Memory | None, warn: Callable[[str], object]) -> None:
        self._memory = memory
        self._warn = warn
        self._writing = TaskSet()
        self._unwritten: tuple[ApprovalPolicy, ...] = ()
        self._known: tuple[ApprovalPolicy, ...] = () if memory is None else memory.in_force()

    def apply_to(self, ledger: Ledger) -> None:
        """Replaces the ledger's answers of wider scope by the remembered ones: others may have been revoked."""
        own = [policy for policy in ledger.policies if policy.scope == "session"]
        ledger.policies = [*own, *self._known]

    async def read_again(self) -> None:
        """Waits for the answers being written, then reads the files again."""
        if self._memory is not None:
            await self.written()
            self._known = (*await in_thread(self._memory.in_force), *self._unwritten)

    def keep(self, policy: ApprovalPolicy) -> None:
        """Writes an answer to its file, in a thread."""
        self._known = (*self._known, policy)
        if self._memory is not None:
            self._writing.start(self._write(self._memory, policy))

    async def written(self) -> None:
        """Waits until every answer is in its file, or could not be written."""
        await self._writing.finished()

    async def _write(self, memory: Memory, policy: ApprovalPolicy) -> None:
        try:
            await in_thread(partial(memory.add, policy))
        except Exception as error:
            self._unwritten = (*self._unwritten, policy)
            self._warn(f"this answer is remembered for this session only: {in_words(error)}")
