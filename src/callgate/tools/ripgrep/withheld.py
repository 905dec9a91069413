"""Files that a search leaves out: those that a rule keeps from being read, and those that hold keys or passwords.

The gate judges the folder that is searched, not every file in it. So the session gives its rules to the tools that
search, and a file that Read would not get is not in their results either.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from callgate.changes.diff import quoted
from callgate.core.ports import Run, Tool
from callgate.tools.wrappers import Named
from callgate.words.calls import Result

Withheld = Callable[[str], str | None]
"""The rule that speaks against reading a file, given by its absolute path; None if none does."""
_SECRET = "it holds keys or passwords"


class SearchTool(Named):
    """A tool that searches whole folders and leaves out what ``take_withheld`` gave it, and always what is in files
    with keys or passwords: ``leaves_out_secrets`` is read by the gate."""

    leaves_out_secrets = True

    def __init__(self, tool: Tool, rules: "SearchRules") -> None:
        super().__init__(tool, tool.spec.name, tool.aliases)
        self._rules = rules

    @property
    def leaves_out_withheld(self) -> bool:
        """True once it knows the rules: the gate need not ask about a folder because of them."""
        return self._rules.withheld is not None

    def take_withheld(self, withheld: Withheld) -> None:
        self._rules.withheld = withheld

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        return await self.inner.run(arguments, run)


class SearchRules:
    """The rules of one search tool; none before the session gives them."""

    def __init__(self) -> None:
        self.withheld: Withheld | None = None


class LeftOut:
    """The files that one search leaves out, and why. ``folder`` is where the paths start; ``skip`` characters of each
    are the place that was named, which the gate has judged."""

    def __init__(self, rules: SearchRules, folder: str, skip: int, *, secrets: bool) -> None:
        from callgate.policy.protected import is_secret  # loaded with the first search

        self._withheld = rules.withheld
        self._is_secret = is_secret if secrets else None
        self._folder = folder.rstrip("/")
        self._skip = skip
        self._found: dict[str, list[str]] = {}

    def takes(self, path: str) -> bool:
        """True if the file is left out."""
        why = self._why(path)
        if why is not None:
            self._found.setdefault(why, []).append(path)
        return why is not None

    def _why(self, path: str) -> str | None:
        if self._is_secret is not None and self._is_secret(path[self._skip :]):
            return _SECRET
        rule = None if self._withheld is None else self._withheld(f"{self._folder}/{path}")
        return rule and f"{rule} speaks against it"

    def notes(self, lead: str) -> Sequence[str]:
        """One line for each reason, for the end of a result. Names that a rule keeps from being read are not told."""
        return [f"\n[Left out, because {why}: {self._named(why, paths, lead)}.]" for why, paths in self._found.items()]

    @staticmethod
    def _named(why: str, paths: list[str], lead: str) -> str:
        if why != _SECRET:
            return f"{len(paths):,} file{'s' if len(paths) > 1 else ''}"
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        return f"{quoted(lead + min(paths))}{more}. Name it in path"
