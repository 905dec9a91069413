"""The front door: a name that comes or goes here is a decision."""

import inspect
import re

import callgate
from callgate.testing import ScriptedModel

NAMES = [
    "Allow",
    "Answer",
    "Ask",
    "CallgateError",
    "Case",
    "ChangeSet",
    "Check",
    "Continue",
    "DecisionGate",
    "Deny",
    "Event",
    "FileChange",
    "Interrupt",
    "LoopLimits",
    "Message",
    "Model",
    "ModelError",
    "ModelSetup",
    "Nesting",
    "Prompt",
    "Question",
    "QuestionAsked",
    "Result",
    "Run",
    "RunOptions",
    "RunResult",
    "Session",
    "SessionLimits",
    "Steer",
    "Store",
    "Tool",
    "ToolCall",
    "ToolCallRunner",
    "ToolFailure",
    "Toolbox",
    "UsageError",
    "__version__",
    "builtin_tools",
    "exclusive",
    "from_langchain",
    "load_config",
    "open_model",
    "reads",
    "run_sync",
    "schema_tool",
    "shared",
    "tool",
    "writes",
]


def test_the_names_are_these_and_sorted() -> None:
    assert callgate.__all__ == sorted(callgate.__all__)
    assert sorted(callgate.__all__) == sorted(NAMES)


SESSION = [
    *(
        "aclose",
        "answer",
        "ask",
        "call",
        "call_sync",
        "calls",
        "context",
        "controls",
        "cost",
        "costs",
        "deps",
        "derive",
    ),
    *(
        "effort",
        "events",
        "events_after",
        "id",
        "import_history",
        "listen",
        "messages",
        "mode",
        "model",
        "part",
        "path",
    ),
    *("pending", "position", "post", "questions", "run", "run_sync", "send", "status", "title", "tool_names", "usage"),
    "waiting",
]


def test_a_session_shows_embedding_programs_only_names_that_they_need() -> None:
    """State for interfaces belongs to ``controls``."""
    with callgate.Session(ScriptedModel()) as session:
        assert [name for name in dir(session) if not name.startswith("_")] == SESSION
        assert {"face", "hints", "todos", "background"} <= {*dir(session.controls)}


def test_every_name_is_there_and_an_unknown_one_is_an_attribute_error() -> None:
    for name in callgate.__all__:
        assert getattr(callgate, name) is not None
    assert not hasattr(callgate, "Agent")
    assert set(dir(callgate)) == set(callgate.__all__)


def test_every_name_has_a_docstring_that_speaks_of_every_parameter() -> None:
    """The fields of nouns have their types in the reference; a port has no constructor."""
    found: list[str] = []
    for name in callgate.__all__:
        value = getattr(callgate, name)
        if not callable(value):
            continue
        written = value.__doc__ or ""
        if not written:
            found.append(f"{name} has no docstring")
        if isinstance(value, type) and (hasattr(value, "_noun_values") or getattr(value, "_is_protocol", False)):
            continue
        if isinstance(value, type) and issubclass(value, Exception):
            continue
        parameters = inspect.signature(value).parameters
        found += [f"{name}: {each}" for each in parameters if not re.search(rf"\b{each}\b", written)]
    assert not found, "not documented:\n" + "\n".join(found)
