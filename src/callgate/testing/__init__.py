"""Fakes and conformance checks for tests of Callgate and of code that uses it."""

from callgate.testing.checks.call_checks import check_gate, check_journal, check_tool, check_toolbox
from callgate.testing.checks.feature_checks import check_feature
from callgate.testing.checks.host_checks import check_clock, check_host
from callgate.testing.checks.stream_checks import check_events, check_model
from callgate.testing.clock import ManualClock, StuckError, VirtualLoop, run_virtual, settle
from callgate.testing.gated_model import GatedModel, GatedStream
from callgate.testing.memory_host import MemoryHost, MemoryProcess, MemoryProcesses, ScriptedCommand
from callgate.testing.plain import Barrier, Latch, Moment, PlainRun, PlainTool, PlainToolbox, Recorder
from callgate.testing.script import (
    Scene,
    ScriptedModel,
    ScriptedTurn,
    call,
    cut_off,
    fail,
    limit,
    open_call,
    pause,
    raw_call,
    say,
    send,
    stop,
    think,
    turn,
)

__all__ = [
    "Barrier",
    "GatedModel",
    "GatedStream",
    "Latch",
    "ManualClock",
    "MemoryHost",
    "MemoryProcess",
    "MemoryProcesses",
    "Moment",
    "PlainRun",
    "PlainTool",
    "PlainToolbox",
    "Recorder",
    "Scene",
    "ScriptedCommand",
    "ScriptedModel",
    "ScriptedTurn",
    "StuckError",
    "VirtualLoop",
    "call",
    "check_clock",
    "check_events",
    "check_feature",
    "check_gate",
    "check_host",
    "check_journal",
    "check_model",
    "check_tool",
    "check_toolbox",
    "cut_off",
    "fail",
    "limit",
    "open_call",
    "pause",
    "raw_call",
    "run_virtual",
    "say",
    "send",
    "settle",
    "stop",
    "think",
    "turn",
]
