"""Excludes files from searches: files that a rule forbids to read, and files with keys or passwords.

The gate checks only the searched folder, not every file in it. So the session passes its rules to the search tools, and
a file that must not be read with Read is not in their results either.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from callgate.changes.diff import quoted
from callgate.core.capabilities import SessionFacts, ToolFacts
from callgate.core.ports import Tool
from callgate.tools.toolbox import Named

Withheld = Callable[[str], str | None]
"""Returns the rule that forbids reading the file of an absolute path, or None."""
_SECRET = "they contain keys or passwords"


class SearchTool(Named):
    """A tool that searches whole folders. It omits files with keys or passwords, and files that a rule of the session
    forbids to read."""

    def __init__(self, tool: Tool, rules: "SearchRules") -> None:
        super().__init__(tool, tool.spec.name, tool.aliases)
        self._rules = rules

    @property
    def facts(self) -> ToolFacts:
        has_rules = self._rules.withheld is not None
        return replace(super().facts, leaves_out_secrets=True, leaves_out_withheld=has_rules)

    def bind(self, facts: SessionFacts) -> None:
        if facts.withheld is not None:
            self._rules.withheld = facts.withheld


class SearchRules:
    """The rules of one search tool. ``withheld`` is None until the session sets it."""

    def __init__(self) -> None:
        self.withheld: Withheld | None = None


class ExcludedFiles:
    """The files that one search omits, with the reasons.

    folder  the searched folder, to which paths are relative
    """

    def __init__(self, rules: SearchRules, folder: str, *, secrets: bool) -> None:
        from callgate.policy.protected import is_secret  # loaded with the first search

        self._withheld = rules.withheld
        self._is_secret = is_secret if secrets else None
        self._folder = folder.rstrip("/")
        self._found: dict[str, list[str]] = {}

    def takes(self, path: str) -> bool:
        """Return True if the file must be omitted. The reason is stored for ``notes``."""
        why = self._why(path)
        if why is not None:
            self._found.setdefault(why, []).append(path)
        return why is not None

    def _why(self, path: str) -> str | None:
        if self._is_secret is not None and self._is_secret(path):
            return _SECRET
        rule = None if self._withheld is None else self._withheld(f"{self._folder}/{path}")
        return rule and f"the rule {rule} forbids it"

    def notes(self, lead: str) -> Sequence[str]:
        """Return one line for each reason why files are omitted, to append to a result. The names of files that a
        rule protects are not shown."""
        return [f"\n[Left out, because {why}: {self._named(why, paths, lead)}.]" for why, paths in self._found.items()]

    @staticmethod
    def _named(why: str, paths: list[str], lead: str) -> str:
        if why != _SECRET:
            return f"{len(paths):,} file{'s' if len(paths) > 1 else ''}"
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        return f"{quoted(lead + min(paths))}{more}. To search a file, name it in path"
