"""The guide on permissions knows every setting and every command there is."""

import re

from callgate.cli.command_rows import all_commands
from callgate.policy.keys import SETTINGS
from tests.docs.kit import ROOT

GUIDE = (ROOT / "docs/guides/permissions.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")


def test_the_table_of_settings_is_the_one_they_are_read_by() -> None:
    rows = re.findall(r"^\| `([\w.*]+)` \| (.+) \| (.+) \|$", GUIDE.split("## All settings")[1], re.MULTILINE)
    assert rows == [(key.name, key.type, key.meaning) for key in SETTINGS]


def test_the_reference_has_every_command_about_policy_and_trust() -> None:
    missing = [name for name in all_commands() if f"`callgate {name}" not in REFERENCE]
    assert missing == []


def test_the_guide_says_what_deny_rules_are_not() -> None:
    assert "Deny rules are a convenience and not a wall." in GUIDE
    assert "The wall is the [sandbox](sandbox.md)." in GUIDE
