"""The guide on permissions says what rules are not, and the reference has every command."""

from callgate.cli.command_rows import all_commands
from tests.docs.kit import ROOT

GUIDE = (ROOT / "docs/guides/permissions.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")


def test_the_reference_has_every_command_about_policy_and_trust() -> None:
    missing = [name for name in all_commands() if f"`callgate {name}" not in REFERENCE]
    assert missing == []


def test_the_guide_says_what_deny_rules_are_not() -> None:
    assert "**Deny rules are not a security boundary.**" in GUIDE
    assert "The security boundary is the [sandbox](sandbox.md)." in " ".join(GUIDE.split())
