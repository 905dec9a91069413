"""The profile for macOS, as text; nothing here has been tried on a Mac."""

import pytest

from callgate.host.sandbox.profile import Profile
from callgate.host.sandbox.sandbox import missing
from callgate.host.sandbox.seatbelt import sandboxed_argv, text

PROFILE = Profile(
    root="/Users/u/app",
    writable=("/Users/u/more",),
    read_only=("/Users/u/app/.github/workflows",),
    reserved=("/Users/u/app/.git",),
    unreadable=("/Users/u/.ssh",),
    scratch="/private/tmp/s",
)


@pytest.mark.spec("BLT-2")
def test_later_rules_count_so_the_narrow_ones_come_last() -> None:
    lines = text(PROFILE).splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    wide = lines.index('(allow file-write* (subpath "/Users/u/app"))')
    assert wide < lines.index('(deny file-write* (subpath "/Users/u/app/.git"))')
    assert wide < lines.index('(deny file-write-unlink (literal "/Users/u/app/.github"))')
    assert lines[-1] == '(deny file-read* file-write* (subpath "/Users/u/.ssh"))'
    assert '(allow file-write* (subpath "/private/tmp/s"))' in lines


def test_the_network_is_closed_and_names_cannot_end_the_quotes() -> None:
    assert "(allow network* (local ip" in text(PROFILE)
    assert "network-outbound (remote ip" not in text(PROFILE)
    strange = text(Profile(root='/Users/u/a"b\\c'))
    assert '(subpath "/Users/u/a\\"b\\\\c")' in strange
    assert strange.count("(") == strange.count(")")


def test_the_command_follows_the_profile() -> None:
    words = sandboxed_argv(("make", "test"), PROFILE)
    assert words[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert words[3:] == ("make", "test")


def test_it_is_for_macos_alone() -> None:
    assert missing("seatbelt") in (None, "this is not macOS")
