"""Hooks inherit the environment, but not what looks like a secret in it."""

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from callgate.host.environment import find_program, scrubbed
from tests.rows import rows


@rows(
    "name",
    """
    ANTHROPIC_API_KEY OPENAI_API_KEY AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN GITHUB_TOKEN GH_PAT
    NPM_TOKEN DB_PASSWORD DB_PASSWD MYSQL_PWD PGPASSWORD SSH_PASSPHRASE GOOGLE_APPLICATION_CREDENTIALS MY_CRED
    MY_CREDS MY_CREDENTIAL SESSION_COOKIE COOKIES MY_JWT BEARER AUTH BASIC_AUTH SLACK_WEBHOOK_URL KEY api_key
    App.Secret SECRETS TOKENS PASSWORDS API_KEYS APIKEYS MYAPIKEY GITHUBTOKEN APPSECRET DB_PASS KEYS TWILIO-AUTH
    MYPASSWD MYPASSPHRASE AWSCREDENTIALS
    """.split(),  # noqa: SIM905
)
def test_a_variable_that_sounds_like_a_secret_is_left_out(name: str) -> None:
    assert scrubbed({name: "value", "PATH": "/bin"}) == {"PATH": "/bin"}


@rows(
    "name",
    """
    PATH HOME LANG LC_ALL TERM USER SHELL TMPDIR PWD OLDPWD SSH_AUTH_SOCK VIRTUAL_ENV NODE_ENV KEYBOARD MONKEY
    PASSENGERS AUTHOR TOKENIZER_PATH XDG_SESSION_ID DBUS_SESSION_BUS_ADDRESS COMPASS PATTERN CREDIT pwd
    """.split(),  # noqa: SIM905
)
def test_other_variables_stay(name: str) -> None:
    assert scrubbed({name: "value"}) == {name: "value"}


@rows(
    ("value", "stays"),
    [
        ("postgres://ann:hush@db/x", False),
        ("see redis://:hush@cache", False),
        ("https://ann@example.com/", True),
        ("https://example.com/a:b@c", True),
        ("https://example.com:8080/", True),
        ("ann:hush@db", True),
    ],
)
def test_an_address_with_a_password_is_left_out_whatever_it_is_called(value: str, stays: bool) -> None:
    assert bool(scrubbed({"DATABASE": value})) == stays


def test_a_program_that_runs_outside_the_sandbox_is_not_taken_from_the_workspace(tmp_path: Path) -> None:
    for folder in ("workspace/bin", "elsewhere"):
        program = tmp_path / folder / "callgate-test-program"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    (tmp_path / "link").symlink_to("workspace/bin")
    inside, outside = f"{tmp_path}/workspace/bin:{tmp_path}/link:bin", f"{tmp_path}/elsewhere"
    find = partial(find_program, "callgate-test-program", avoid=f"{tmp_path}/workspace")
    assert find(inside) is None
    assert find(f"{inside}:{outside}") == f"{outside}/callgate-test-program"
    assert find() is None
    assert find_program("sh") == shutil.which("sh", path="/usr/bin:/bin")


PRIVATE = """
import asyncio, ctypes, os, sys
from callgate.host.environment import OWN_ENVIRONMENT
from callgate.host.ports import Command
from callgate.host.processes import LocalProcesses

async def main():
    if sys.argv[1] == "private":
        OWN_ENVIRONMENT.keep_private()
    before = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
    said = []
    asked = "test -r /proc/self/environ && grep -c '' /proc/self/stat"
    process = await LocalProcesses().start(Command(("/bin/sh", "-c", asked), "/", dict(os.environ)), said.append)
    await process.gone()
    print(before, ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), process.returncode, b"".join(said).decode().strip())

asyncio.run(main())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a mark of Linux")
@pytest.mark.parametrize(("kind", "told"), [("private", "1 0 0 1"), ("part", "1 1 0 1")])
def test_with_its_first_command_the_program_hides_its_environment_and_the_command_has_its_own(
    kind: str, told: str
) -> None:
    """As another person than root, reading ``/proc/PID/environ`` of a process without the mark is refused."""
    ran = subprocess.run([sys.executable, "-c", PRIVATE, kind], capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.returncode) == (told, 0), ran.stderr
