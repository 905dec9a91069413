"""Commands that show the session: /cost, /tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.tui.blocks import TableBlock
from callgate.tui.commands.parts import dollars, first_sentence, said, session_of

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


def cost(terminal: Terminal, _text: str) -> None:
    session = session_of(terminal)
    spent = list(session.costs)
    if session.open_spent is not None:
        at = next((at for at, each in enumerate(spent) if each.model == session.open_spent.model), None)
        if at is None:
            spent.append(session.open_spent)
        else:
            spent[at] += session.open_spent
    if not spent:
        said(terminal, "Nothing was asked of a model yet, so nothing was spent.")
        return
    rows = [
        (
            each.model,
            f"{each.usage.input:,}",
            f"{each.usage.cache_read:,}",
            f"{each.usage.cache_write:,}",
            f"{each.usage.output:,}",
            dollars(each.cost),
        )
        for each in spent
    ]
    known = [each.cost for each in spent if each.cost is not None]
    unknown = [each.model for each in spent if each.cost is None]
    note = f"In all {dollars(sum(known) if known else None)}"
    note += f", without {', '.join(unknown)}: its price is not known." if unknown and known else "."
    heads = ("model", "input", "cached", "to cache", "output", "cost")
    terminal.show(TableBlock(tuple(rows), "Tokens and cost of the session", heads, note))


def tools(terminal: Terminal, _text: str) -> None:
    rows = tuple((each.name, first_sentence(each.description)) for each in session_of(terminal).tool_specs)
    note = "Your own are Python files in .callgate/tools or in the tools folder of your settings."
    terminal.show(TableBlock(rows, f"{len(rows)} tools", note=note))
