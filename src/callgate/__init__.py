"""Callgate: the gate between a model and its tools.

This module has the names for building an agent. The types of the record are in ``callgate.words``, the fakes for
tests in ``callgate.testing``. Each module is imported on first use, so ``import callgate`` is fast.
"""

import sys

if sys.argv[:1] == ["-m"] and "callgate" in sys.orig_argv and sys.path and not sys.flags.safe_path:
    # `python -m` puts the current folder first: a file there must not stand in for a module of the standard library.
    del sys.path[0]

from importlib import import_module
from typing import TYPE_CHECKING, Any

from callgate._version import __version__

if TYPE_CHECKING:
    from callgate.assembly import DecisionGate, ModelSetup, Nesting, Session, SessionLimits, run_sync
    from callgate.assembly.models import open_model
    from callgate.assembly.runner import ToolCallRunner
    from callgate.config import load_config
    from callgate.conversation.ports import Model
    from callgate.core.ports import Case, Check, Run, Tool
    from callgate.session.run import RunResult
    from callgate.tools.builtin import builtin_tools
    from callgate.tools.foreign import from_langchain
    from callgate.tools.tool import schema_tool, tool
    from callgate.tools.toolbox import Toolbox
    from callgate.transcript.store import Store
    from callgate.words.calls import Result, ToolCall
    from callgate.words.changes import ChangeSet, FileChange
    from callgate.words.decisions import Allow, Ask, Deny, Question
    from callgate.words.errors import CallgateError, ModelError, ToolFailure, UsageError
    from callgate.words.events import Event, QuestionAsked
    from callgate.words.inputs import Answer, Continue, Interrupt, Prompt, Steer
    from callgate.words.limits import LoopLimits
    from callgate.words.messages import Message
    from callgate.words.model import RunOptions
    from callgate.words.traits import exclusive, reads, shared, writes

_HOMES = {
    "callgate.assembly": ("DecisionGate", "ModelSetup", "Nesting", "Session", "SessionLimits", "run_sync"),
    "callgate.assembly.models": ("open_model",),
    "callgate.assembly.runner": ("ToolCallRunner",),
    "callgate.config": ("load_config",),
    "callgate.conversation.ports": ("Model",),
    "callgate.core.ports": ("Case", "Check", "Run", "Tool"),
    "callgate.session.run": ("RunResult",),
    "callgate.tools.builtin": ("builtin_tools",),
    "callgate.tools.foreign": ("from_langchain",),
    "callgate.tools.tool": ("schema_tool", "tool"),
    "callgate.tools.toolbox": ("Toolbox",),
    "callgate.transcript.store": ("Store",),
    "callgate.words.calls": ("Result", "ToolCall"),
    "callgate.words.changes": ("ChangeSet", "FileChange"),
    "callgate.words.decisions": ("Allow", "Ask", "Deny", "Question"),
    "callgate.words.errors": ("CallgateError", "ModelError", "ToolFailure", "UsageError"),
    "callgate.words.events": ("Event", "QuestionAsked"),
    "callgate.words.inputs": ("Answer", "Continue", "Interrupt", "Prompt", "Steer"),
    "callgate.words.limits": ("LoopLimits",),
    "callgate.words.messages": ("Message",),
    "callgate.words.model": ("RunOptions",),
    "callgate.words.traits": ("exclusive", "reads", "shared", "writes"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
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


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'callgate' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return __all__
