"""Access to optional attributes of tools, toolboxes, hosts, journals and models that are not part of their Protocols.

Only this module looks up these attributes by name. It returns a default for an object without the attribute.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from callgate.core.ports import Tool, ToolSource
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun
from callgate.words.traits import Traits


@noun
class ToolFacts:
    """Facts that a tool declares in its attribute ``facts``. A property ``facts`` may return other facts after
    ``bind``.

    title                the name of the tool for the user; made from its name by default
    search_hint          additional words by which tool search finds the tool
    always_loaded        tool search never defers the tool
    stages               a call of the tool may stage actions
    expects              prefixes of the names of tools that may become available later
    leaves_out_secrets   a search leaves out files with keys or passwords
    leaves_out_withheld  a search leaves out files that a rule forbids to read
    takes_sandbox        the tool runs commands in ``SessionFacts.sandbox``
    sandbox              the sandbox in which the tool runs commands
    quiets_git           the tool runs commands that only read with settings that switch off programs of git
    concern              returns the reason to ask the user about a call regardless of rules, or ""
    refused              returns the result for a previewed change that could not be applied
    general_traits       returns the traits that are valid for any arguments
    for_plan_mode        returns the tool for a session with this plan mode (``Planning``)
    deps                 the class of the object that the tool takes from ``run.deps``
    """

    title: str = ""
    search_hint: str = ""
    always_loaded: bool = False
    stages: bool = False
    expects: tuple[str, ...] = ()
    leaves_out_secrets: bool = False
    leaves_out_withheld: bool = False
    takes_sandbox: bool = False
    sandbox: Any = None
    quiets_git: bool = False
    concern: Callable[[], str] | None = None
    refused: Callable[[Mapping[str, Any], ToolFailure], Result] | None = None
    general_traits: Callable[[], Traits] | None = None
    for_plan_mode: Callable[[Any], Tool] | None = None
    deps: type | None = None


@noun
class SessionFacts:
    """Facts about a session, which are passed to its tools by ``bind(facts)`` before the first call.

    context   returns the current context of the session
    sandbox   the sandbox of the session, or None
    withheld  returns the rule that forbids reading the file of an absolute path, or None; without rules, the field is
              None
    """

    context: Callable[[], Mapping[str, Any]]
    sandbox: Any = None
    withheld: Callable[[str], str | None] | None = None


_NO_FACTS = ToolFacts()


def facts_of(tool: object) -> ToolFacts:
    """Return the facts of a tool, or the defaults if the tool declares no facts."""
    return getattr(tool, "facts", _NO_FACTS)


def bind(tool: object, facts: SessionFacts) -> None:
    """Pass the facts of a session to a tool, if the tool has a method ``bind``."""
    receive: Callable[[SessionFacts], None] | None = getattr(tool, "bind", None)
    if receive is not None:
        receive(facts)


def all_tools(box: ToolSource) -> Sequence[Tool]:
    """Return all tools of a toolbox that can be called, including tools that requests to the model do not contain."""
    return getattr(box, "all_tools", box.tools)()


HostPart = Literal[
    "files", "processes", "threads", "tasks", "begun_tasks", "task_listeners", "kept_changes", "new_output", "changed"
]


def host_part(host: object, name: HostPart) -> Any:
    """Return an optional attribute of a host, or None if the host does not have it. ``host.ports`` has typed functions
    for some of these attributes.

    files, processes  read files and start programs
    threads           run blocking functions (``host.threads.Threads``)
    new_output        a function that creates an output file with the given name
    tasks             the background tasks (``host.tasks.BackgroundTasks``)
    begun_tasks       the same as ``tasks``, but None until the first background task has started
    task_listeners    a list of functions; each is called with a background task that ended
    kept_changes      the history of changes (``changes.history_host.HistoryHost``)
    changed           the paths of the changed files
    """
    return getattr(host, name, None)


def journal_notes(journal: object) -> tuple[str, ...]:
    """Return the notes of a journal for the user, for example about lines that could not be read."""
    return getattr(journal, "notes", ())


def model_effort(model: object) -> Callable[[Any, Any], Any] | None:
    """Return the method ``effort_in_force`` of a model, or None if the model has no such method."""
    return getattr(model, "effort_in_force", None)


async def close_stream(stream: object) -> None:
    """Close the stream of a model: an asynchronous generator, or a coroutine that a faulty model returned."""
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
        return
    close = getattr(stream, "close", None)
    if close is not None:
        close()
