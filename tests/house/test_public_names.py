"""The front door: a name that comes or goes here is a decision."""

import callgate

NAMES = [
    "Allow",
    "Answer",
    "ApprovalPolicy",
    "Ask",
    "CallgateError",
    "Case",
    "ChangeSet",
    "Check",
    "Close",
    "Config",
    "Confirmation",
    "Continue",
    "DecisionGate",
    "Deny",
    "Event",
    "Executor",
    "ExecutorSettings",
    "FileChange",
    "Interrupt",
    "JournalError",
    "Model",
    "Prompt",
    "Question",
    "QuestionAsked",
    "Resolve",
    "Result",
    "Run",
    "RunOutcome",
    "RunResult",
    "Session",
    "SetMode",
    "Status",
    "Steer",
    "Store",
    "ToolCall",
    "ToolCallRunner",
    "ToolFailure",
    "Toolbox",
    "Undo",
    "__version__",
    "default_checks",
    "exclusive",
    "from_json",
    "from_langchain",
    "load_config",
    "reads",
    "run_sync",
    "schema_tool",
    "shared",
    "to_json",
    "tool",
    "writes",
]


def test_the_names_are_these_and_sorted() -> None:
    assert callgate.__all__ == sorted(callgate.__all__)
    assert sorted(callgate.__all__) == sorted(NAMES)


def test_every_name_is_there_and_an_unknown_one_is_an_attribute_error() -> None:
    for name in callgate.__all__:
        assert getattr(callgate, name) is not None
    assert not hasattr(callgate, "Agent")
    assert set(dir(callgate)) == set(callgate.__all__)
