"""The error tree.

    CallgateError
    ├── UsageError          you broke it: the embedding program passed something that cannot work
    │   └── ToolDefinitionError   a tool's signature, schema or traits do not make a tool
    ├── StateError          we broke it: an illegal move, or a door used after it closed
    ├── JournalError        the record cannot be written or read: disk, lock, permissions
    │   └── SessionLocked   another program has the session open
    ├── AnswerRefused       a question has its answer already, or is not open (transcript/answer_files.py)
    ├── ToolFailure         a tool's own "no": its message goes to the model unchanged
    │   └── HalfApplied     a change was applied in part, and the disk kept it from being put back
    └── ModelError          they broke it: the provider, the network, the stream

What happens *to a call* (denied, timed out, interrupted, unknown tool …) is never an exception: it is a Result.
"""


def in_words(error: BaseException) -> str:
    """Type and message on one line, whatever the exception does when it is asked for its message."""
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be shown)"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


class CallgateError(Exception):
    """Anything Callgate raises on purpose."""


class UsageError(CallgateError):
    """The caller passed something that cannot work; the message says what to do instead."""


class ToolDefinitionError(UsageError):
    """A function cannot be offered as a tool; the message names the tool and the parameter."""


class UndeclaredArgument(UserWarning):
    """A tool was made with an argument that looks like a command, an address or a path and is not declared."""


class StateError(CallgateError):
    """A move that the rules of the house do not allow: a bug in Callgate or in how its engine is driven."""


class JournalError(CallgateError):
    """The record of a session cannot be written or read. What was acknowledged is on disk; the message says what to
    do."""


class SessionLocked(JournalError):
    """Another program writes this session. ``pid`` and ``since`` say which, as far as it told."""

    def __init__(self, message: str, *, pid: int | None = None, since: float | None = None) -> None:
        super().__init__(message)
        self.pid = pid
        self.since = since


class ToolFailure(CallgateError):
    """Raised by a tool to fail with a message for the model."""


class HalfApplied(ToolFailure):
    """Raised by a host: some files of a change are new and could not be put back. Recovery does that later."""


class ModelError(CallgateError):
    """The model could not answer.

    ``retryable`` says whether the same request may succeed later, ``retry_after`` in how many seconds, if that is
    known; ``kind`` is a short stable word: ``no_key``, ``wrong_key``, ``no_credit``, ``unknown_model``,
    ``bad_request``, ``too_long``, ``image``, ``overloaded``, ``rate_limited``, ``server``, ``connection``,
    ``timeout``, ``refused``, ``protocol``, ``other``.
    """

    def __init__(
        self, message: str, *, kind: str = "other", retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after
