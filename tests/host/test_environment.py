"""Hooks inherit the environment, but not what looks like a secret in it."""

from callgate.host.environment import scrubbed
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
