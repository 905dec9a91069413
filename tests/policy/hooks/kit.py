"""What the tests of hooks share: hooks in a folder of their own, a case to judge, and what was reported."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from callgate.core.ports import Case, Clock
from callgate.policy.entries import HookLine, Layer
from callgate.policy.hooks.hooks import Hooks
from callgate.testing import ManualClock, PlainTool
from callgate.words.decisions import Origin, arguments_hash
from callgate.words.events import Noted
from callgate.words.traits import Traits


def case_of(name: str = "Bash", /, mode: Any = "default", **arguments: Any) -> Case:
    arguments = arguments or {"command": "git push"}
    return Case(
        call_id="call_1",
        tool=PlainTool(name),
        name=name,
        arguments=arguments,
        arguments_hash=arguments_hash(name, arguments),
        traits=Traits(),
        mode=mode,
    )


def origin(layer: Layer = "user", line: int = 1) -> Origin:
    return Origin(layer, "settings.toml", line)


def hook(target: str, event: str = "PreToolUse", /, layer: Layer = "user", line: int = 1, **more: Any) -> HookLine:
    kind = more.pop("kind", "python")
    return HookLine(event, kind, target, origin(layer, line), **more)


def command(target: str, event: str = "PreToolUse", /, **more: Any) -> HookLine:
    return hook(target, event, kind="command", **more)


class Bench:
    """Hooks, and all they reported. Functions are given by keyword and are the targets of Python hooks."""

    def __init__(
        self,
        *lines: HookLine,
        root: Path | str = "/",
        clock: Clock | None = None,
        covers: Callable[[str, Case], bool] = lambda rule, case: True,
        environ: Mapping[str, str] | None = None,
        **functions: Callable[[dict[str, Any]], object],
    ) -> None:
        self.clock = ManualClock() if clock is None else clock
        self.noted: list[Noted] = []
        self.hooks = Hooks(
            lines,
            root=root,
            session="s1",
            transcript="/t/s1.jsonl",
            covers=covers,
            clock=self.clock,
            report=self.noted.append,
            environ=environ,
            functions=functions,
        )

    async def before(self, case: Case | None = None) -> Any:
        pending: Any = self.hooks.before.judge(case or case_of())
        return None if pending is None else await pending

    @property
    def said(self) -> list[str]:
        return [noted.text for noted in self.noted]

    @property
    def warnings(self) -> list[str]:
        return [noted.text for noted in self.noted if noted.level == "warning"]


def saying(**answer: Any) -> Callable[[dict[str, Any]], object]:
    """A Python hook that always gives this answer."""
    return lambda told: answer


def permission(decision: str, reason: str = "", **more: Any) -> dict[str, Any]:
    own = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason, **more}
    return {"hookSpecificOutput": own}


def as_json(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer)
