"""The front door: a name that comes or goes here is a decision."""

import callgate

NAMES = [
    "Allow",
    "Answer",
    "Ask",
    "CallgateError",
    "Case",
    "ChangeSet",
    "Check",
    "Config",
    "Confirmation",
    "Continue",
    "DecisionGate",
    "Deny",
    "Event",
    "Executor",
    "FileChange",
    "Interrupt",
    "Model",
    "Prompt",
    "Question",
    "QuestionAsked",
    "Result",
    "Run",
    "RunResult",
    "Session",
    "Steer",
    "Store",
    "ToolCall",
    "ToolCallRunner",
    "ToolFailure",
    "Toolbox",
    "__version__",
    "exclusive",
    "from_langchain",
    "load_config",
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


def test_every_name_is_there_and_an_unknown_one_is_an_attribute_error() -> None:
    for name in callgate.__all__:
        assert getattr(callgate, name) is not None
    assert not hasattr(callgate, "Agent")
    assert set(dir(callgate)) == set(callgate.__all__)
