"""A program that answers questions and holds sessions open, a command a line: see ``asking.Program``."""

import os
import sys
from collections.abc import Callable
from json import dumps, loads
from pathlib import Path
from signal import SIGKILL
from time import time
from typing import Any

from callgate.transcript.answer_files import AnswerRefused
from callgate.transcript.lock import open_log, take_lock
from callgate.transcript.masking import Masker
from callgate.transcript.question_answers import answer_question
from callgate.words.decisions import Confirmation


def answer(log: str, call_id: str, hashed: str, by: str, note: str | None = None) -> dict[str, Any]:
    confirmation = Confirmation(call_id, "yes", hashed, by, note=note)
    try:
        return {"how": answer_question(Path(log), Masker({}), confirmation).how}
    except AnswerRefused as refused:
        return {"how": "refused", "why": str(refused), "first": None if refused.first is None else refused.first.by}


def die_at(name: str) -> None:
    """Kill this process when the system is asked for that: once the answer has its name, or before it is removed."""
    real: Callable[..., Any] = getattr(os, name)

    def deadly(*args: Any, **kwargs: Any) -> Any:
        if name == "rename":
            real(*args, **kwargs)
        os.kill(os.getpid(), SIGKILL)

    setattr(os, name, deadly)


def main() -> None:
    held: list[int] = []
    for line in sys.stdin:
        told = loads(line)
        match told.pop("do"):
            case "hold":
                held.append(open_log(Path(told["log"]), os.O_RDWR))
                take_lock(held[-1], Path(told["log"]), time())
                said: dict[str, Any] = {"holds": True}
            case "die at":
                die_at(told["what"])
                said = {"ready": True}
            case _:
                said = answer(**told)
        print(dumps(said), flush=True)


if __name__ == "__main__":
    main()
