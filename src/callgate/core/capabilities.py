"""Optional attributes of tools, toolboxes, hosts, journals and models, beyond their Protocols.

Only this module looks for these attributes by name. It returns a default for an object that does not have them.
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
    """The declaration of a tool, its attribute ``facts``. A property may return other facts after ``bind``.

    title                names the tool for people; by default made of its name
    search_hint          further words by which tool search finds the tool
    always_loaded        tool search never defers the tool
    stages               a call may push pending actions
    expects              prefixes of the names of tools that may still become available
    leaves_out_secrets   a search leaves out files with keys or passwords
    leaves_out_withheld  a search leaves out files that a rule keeps from being read
    takes_sandbox        the tool runs commands in ``SessionFacts.sandbox``
    sandbox              the sandbox in which the tool runs commands
    concern              returns the reason to ask a person about a call whatever rules say, or ""
    refused              makes the result of a previewed change that could not be applied
    general_traits       returns the traits that hold for any arguments
    for_plan_mode        returns the tool for a session with this plan mode (``Planning``)
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
    concern: Callable[[], str] | None = None
    refused: Callable[[Mapping[str, Any], ToolFailure], Result] | None = None
    general_traits: Callable[[], Traits] | None = None
    for_plan_mode: Callable[[Any], Tool] | None = None


@noun
class SessionFacts:
    """The parts of a session that its tools receive by their method ``bind(facts)``, before the first call.

    context   returns the context of the session, also after a resume or a rewind
    sandbox   the sandbox in force, or None
    withheld  returns the rule that keeps the file of an absolute path from being read, or None; None without rules
    """

    context: Callable[[], Mapping[str, Any]]
    sandbox: Any = None
    withheld: Callable[[str], str | None] | None = None


_NO_FACTS = ToolFacts()


def facts_of(tool: object) -> ToolFacts:
    """Return the facts of a tool; the defaults for a tool that declares none."""
    return getattr(tool, "facts", _NO_FACTS)


def bind(tool: object, facts: SessionFacts) -> None:
    """Give the facts of a session to a tool that receives them."""
    receive: Callable[[SessionFacts], None] | None = getattr(tool, "bind", None)
    if receive is not None:
        receive(facts)


def all_tools(box: ToolSource) -> Sequence[Tool]:
    """Return the tools that can be called, also the ones that the model does not see (``all_tools()`` of a toolbox)."""
    return getattr(box, "all_tools", box.tools)()


HostPart = Literal[
    "files", "processes", "threads", "tasks", "begun_tasks", "task_listeners", "kept_changes", "new_output", "changed"
]


def host_part(host: object, name: HostPart) -> Any:
    """Return an optional part of a host, or None. Functions of ``host.ports`` return the first ones with their types.

    files, processes  read files and start programs
    threads           run blocking functions (``host.threads.Threads``)
    new_output        a function that makes an output file of a name
    tasks             the background tasks (``host.tasks.BackgroundTasks``); ``begun_tasks``: None before the first one
    task_listeners    a list of functions; each is called with a background task that ended
    kept_changes      the history of changes (``changes.history_host.HistoryHost``)
    changed           the paths of the files that were changed
    """
    return getattr(host, name, None)


def journal_notes(journal: object) -> tuple[str, ...]:
    """Return the notes of a journal (``notes``) for people, for example about lines that it did not read."""
    return getattr(journal, "notes", ())


def model_effort(model: object) -> Callable[[Any, Any], Any] | None:
    """Return the function of a model (``effort_in_force``) that says how it applies a wanted effort."""
    return getattr(model, "effort_in_force", None)


async def close_stream(stream: object) -> None:
    """Close the stream of a model: an asynchronous generator, or a coroutine that should have been one."""
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
        return
    close = getattr(stream, "close", None)
    if close is not None:
        close()
