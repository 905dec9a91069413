"""Rules about reading, as a function on paths: for tools that search whole folders, and for the sandbox."""

from collections.abc import Callable, Sequence

from callgate.policy.contents import PathContent
from callgate.policy.rules import Rule, Rulebook
from callgate.words.places import Place


def path_rules(rules: Sequence[Rule]) -> list[tuple[Rule, PathContent]]:
    """Those that are about paths, whatever the argument that holds one."""
    return [(rule, rule.content) for rule in rules if isinstance(rule.content, PathContent) and not rule.content.field]


def withheld_by(book: Rulebook) -> Callable[[str], str | None]:
    """The text of the rule that denies or asks about reading a file; None if no rule speaks of it. The path is
    absolute and leads over no link."""
    found = [(rule, content) for rule, content in path_rules((*book.denies, *book.asks)) if "read" in content.ways]

    def withheld(path: str) -> str | None:
        if not found:
            return None
        place = Place(path, (path,), path, inside=True)
        return next((rule.text for rule, content in found if content.pattern.touches(place)), None)

    return withheld
