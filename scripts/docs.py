"""Redraw the generated blocks of the docs; with --check, fail where one is stale.

A block stands between `<!-- generated:NAME -->` and `<!-- /generated -->`; the text around it is written by people.
"""

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def statuses() -> str:
    """The diagram of a call's statuses, drawn from the transition table."""
    # Not at the top: --help works on an incomplete tree.
    from callgate.words.calls import transitions_mermaid

    return f"```mermaid\n{transitions_mermaid().strip()}\n```"


def events() -> str:
    """Every event with its fields, its row of the table and what its docstring says, durable ones first."""
    from dataclasses import fields

    from callgate.words.event_table import EVENTS

    lines: list[str] = []
    for title, durable in (("On record", True), ("Passing, never stored", False)):
        lines += [f"### {title}", "", "| event | fields | belongs to | told | |", "|---|---|---|---|---|"]
        for event, row in EVENTS.items():
            if (row.on != "nothing") is not durable:
                continue
            names = ", ".join(f"`{field.name}`" for field in fields(event) if field.name != "at")
            written = event.__doc__ or ""
            said = "" if written.startswith(f"{event.__name__}(") else " ".join(written.split())
            lines.append(f"| `{event.__name__}` | {names} | {row.on} | {row.told} | {said} |")
        lines.append("")
    return "\n".join(lines).strip()


def endings() -> str:
    """Every cause that ends a run, with its exit code and its sentence."""
    from callgate.words.endings import ENDINGS

    lines = ["| reason | exit code | sentence | `Continue()` |", "|---|---|---|---|"]
    for reason, ending in ENDINGS.items():
        lines.append(
            f"| `{reason}` | {ending.exit_code} | {ending.sentence} | {'goes on' if ending.continues else 'refused'} |"
        )
    return "\n".join(lines)


BLOCKS: dict[str, tuple[Path, Callable[[], str]]] = {
    "statuses": (Path("docs/reference/statuses.md"), statuses),
    "endings": (Path("docs/reference/endings.md"), endings),
    "events": (Path("docs/reference/events.md"), events),
}


def redrawn(text: str, name: str, content: str) -> str:
    """The text with its block `name` holding `content`; LookupError if it has not exactly one such block."""
    block = re.compile(rf"(<!-- generated:{re.escape(name)} -->\n).*?(<!-- /generated -->)", re.DOTALL)
    found = len(block.findall(text))
    if found != 1:
        raise LookupError(f"wanted one block generated:{name}, found {found}")
    return block.sub(lambda match: f"{match[1]}\n{content}\n\n{match[2]}", text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Redraw the generated blocks of the docs.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a block is stale")
    check: bool = parser.parse_args().check
    faults = 0
    for name, (path, draw) in BLOCKS.items():
        try:
            old = (ROOT / path).read_text(encoding="utf-8")
            new = redrawn(old, name, draw())
        except (OSError, LookupError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            faults += 1
            continue
        if new == old:
            print(f"{path}: {name} is up to date")
        elif check:
            print(f"{path}: {name} is stale; run `make docs`", file=sys.stderr)
            faults += 1
        else:
            (ROOT / path).write_text(new, encoding="utf-8")
            print(f"{path}: {name} redrawn")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
