"""The exception hierarchy.

    CallgateError
    ├── UsageError          the caller passed something that cannot work
    │   └── ToolDefinitionError   a tool's signature, schema or traits do not make a tool
    ├── StateError          a bug in Callgate or in its caller: an illegal transition, or use after close
    ├── JournalError        the record cannot be written or read: disk, lock, permissions
    │   └── SessionLocked   another program has the session open
    ├── AnswerRefused       a question was answered already, or is not open (transcript/answer_files.py)
    ├── ToolFailure         a tool failed with a message for the model
    │   └── HalfApplied     a change of files was applied in part and could not be rolled back
    └── ModelError          the provider, the network or the stream failed

A call that is denied, times out, is interrupted or names an unknown tool ends with a Result, not with an exception.
"""


def in_words(error: BaseException) -> str:
    """Return the type and the message of an exception in one line. Never raises."""
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be displayed)"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


class CallgateError(Exception):
    """The base class of all exceptions that Callgate raises deliberately."""


class UsageError(CallgateError):
    """Raised if the caller passed an invalid value. The message says what to do instead."""


class ToolDefinitionError(UsageError):
    """Raised if a function cannot be offered as a tool. The message names the tool and the parameter."""


class UndeclaredArgument(UserWarning):
    """A warning that an undeclared argument of a tool looks like a command, an address or a path."""


class StateError(CallgateError):
    """Raised for an illegal transition or call order: a bug in Callgate or in the calling program."""


class JournalError(CallgateError):
    """Raised if the record of a session cannot be written or read. The message names the remedy.

    Acknowledged events are stored on disk.
    """


class SessionLocked(JournalError):
    """Raised if another program has the session open.

    pid    the process id of the program, or None
    since  the time when the program locked the session, in seconds since the epoch, or None
    """

    def __init__(self, message: str, *, pid: int | None = None, since: float | None = None) -> None:
        super().__init__(message)
        self.pid = pid
        self.since = since


class ToolFailure(CallgateError):
    """Raised by a tool to fail with a message for the model."""


class HalfApplied(ToolFailure):
    """Raised by a host if some files were changed and the changes could not be rolled back. Recovery restores the
    files later."""


class ModelError(CallgateError):
    """Raised if the model could not answer.

    retryable    the same request may succeed later
    retry_after  the delay in seconds that the provider asks for, or None
    kind         ``no_key``, ``wrong_key``, ``no_credit``, ``unknown_model``, ``bad_request``, ``too_long``, ``image``,
                 ``overloaded``, ``rate_limited``, ``server``, ``connection``, ``timeout``, ``refused``, ``repetition``,
                 ``oversized``, ``protocol`` or ``other``
    """

    def __init__(
        self, message: str, *, kind: str = "other", retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after
