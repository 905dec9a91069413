"""Secrets are masked; everything else stays as it is."""

import json
from base64 import b64encode
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import pytest

from callgate.formats.jsonable import from_json, to_json
from callgate.transcript.masking import Masker
from callgate.transcript.secret_rules import RULES
from callgate.words.calls import Result, Status
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Question
from callgate.words.events import CallArrived, CallSettled, Durable, MessageAdded, QuestionAsked
from callgate.words.messages import CallPart, Image, Message, ResultPart, Text

MIXED = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ9rS1tU3vW5xY7z"
HEX = "0123456789abcdef" * 8
CAPITALS = "ABCDEFGHJKLMNPQR7STUVWXYZ23456ABCDEFGHJKLMNPQR7STUVWXYZ23456"
PEM_BODY = "\n".join([MIXED[:64]] * 6)

# Put together here, so that no scanner takes this file for a leak: what is kept, what is not, the kind.
TOKENS = {
    "anthropic": ("sk-ant-", "api03-" + MIXED, "anthropic"),
    "openai": ("sk-", MIXED[:48], "openai"),
    "openai-project": ("sk-proj-", MIXED + "_" + MIXED, "openai"),
    "openrouter": ("sk-or-v1-", HEX[:64], "openrouter"),
    "google": ("AIza", "Sy" + MIXED[:33], "google"),
    "google-oauth-client": ("GOCSPX-", MIXED[:28], "google"),
    "google-oauth-access": ("ya29.a0", MIXED, "google"),
    "aws": ("AKIA", CAPITALS[:16], "aws"),
    "aws-session": ("ASIA", CAPITALS[:16], "aws"),
    "github": ("ghp_", MIXED[:36], "github"),
    "github-oauth": ("gho_", MIXED[:36], "github"),
    "github-server": ("ghs_", MIXED[:36], "github"),
    "github-refresh": ("ghr_", MIXED[:36], "github"),
    "github-fine-grained": ("github_pat_", MIXED[:22] + "_" + MIXED[:59], "github"),
    "gitlab": ("glpat-", MIXED[:20], "gitlab"),
    "slack-bot": ("xoxb-", "123456789012-123456789012-" + MIXED[:24], "slack"),
    "slack-person": ("xoxp-", "123456789012-123456789012-" + MIXED[:24], "slack"),
    "slack-webhook": ("hooks.slack.com/services/", "T0123ABCD/B0123ABCD/" + MIXED[:24], "slack"),
    "discord-webhook": ("discord.com/api/webhooks/1122334455667788/", MIXED[:40], "webhook"),
    "stripe": ("sk_live_", MIXED[:24], "stripe"),
    "stripe-restricted": ("rk_live_", MIXED[:24], "stripe"),
    "npm": ("npm_", MIXED[:36], "npm"),
    "pypi": ("pypi-", "AgEIcHlwaS5vcmc" + MIXED, "pypi"),
    "huggingface": ("hf_", MIXED[:34], "huggingface"),
    "sendgrid": ("SG.", MIXED[:22] + "." + MIXED[:43], "sendgrid"),
    "twilio": ("SK", HEX[:32], "twilio"),
    "digitalocean": ("dop_v1_", HEX[:64], "digitalocean"),
    "vault": ("hvs.", "CAES" + MIXED, "vault"),
    "vault-of-letters": ("hvs.CAES", "sKYIeRNWMkfDjmqcqDoI", "vault"),
    "groq": ("gsk_", MIXED[:52], "groq"),
    "xai": ("xai-", MIXED, "xai"),
    "perplexity": ("pplx-", MIXED[:48], "perplexity"),
    "replicate": ("r8_", MIXED[:37], "replicate"),
    "shopify": ("shpat_", HEX[:32], "shopify"),
    "linear": ("lin_api_", MIXED[:40], "linear"),
    "docker": ("dckr_pat_", MIXED[:27], "docker"),
    "grafana": ("glsa_", MIXED[:32] + "_" + HEX[:8], "grafana"),
    "figma": ("figd_", MIXED[:40], "figma"),
    "airtable": ("pat", MIXED[:14] + "." + HEX[:64], "airtable"),
    "alibaba": ("LTAI", MIXED[:20], "alibaba"),
    "brevo": ("xkeysib-", HEX[:64] + "-" + MIXED[:16], "brevo"),
    "buildkite": ("bkua_", HEX[:40], "buildkite"),
    "cerebras": ("csk-", MIXED[:48].lower(), "cerebras"),
    "circleci": ("CCIPAT_", MIXED[:22] + "_" + HEX[:40], "circleci"),
    "databricks": ("dapi", HEX[:32], "databricks"),
    "doppler": ("dp.pt.", MIXED[:43], "doppler"),
    "doppler-service": ("dp.st.", "dev." + MIXED[:43], "doppler"),
    "dynatrace": ("dt0c01.", CAPITALS[:24] + "." + (CAPITALS + CAPITALS)[:64], "dynatrace"),
    "e2b": ("e2b_", HEX[:40], "e2b"),
    "elevenlabs": ("sk_", HEX[:48], "elevenlabs"),
    "fly": ("fo1_", MIXED[:43], "fly"),
    "jfrog": ("AKCp", MIXED + MIXED[:10], "jfrog"),
    "langsmith": ("lsv2_pt_", HEX[:32] + "_" + HEX[:10], "langsmith"),
    "netlify": ("nfp_", MIXED[:36], "netlify"),
    "notion": ("ntn_", MIXED[:46], "notion"),
    "notion-old": ("secret_", MIXED[:43], "notion"),
    "nvidia": ("nvapi-", MIXED[:64], "nvidia"),
    "pinecone": ("pcsk_", MIXED[:60], "pinecone"),
    "planetscale": ("pscale_tkn_", MIXED[:43], "planetscale"),
    "postman": ("PMAK-", HEX[:24] + "-" + HEX[:34], "postman"),
    "pulumi": ("pul-", HEX[:40], "pulumi"),
    "resend": ("re_", MIXED[:8] + "_" + MIXED[:24], "resend"),
    "rubygems": ("rubygems_", HEX[:48], "rubygems"),
    "sentry": ("sntrys_", MIXED[:60], "sentry"),
    "sonarqube": ("sqp_", HEX[:40], "sonarqube"),
    "tailscale": ("tskey-", "auth-" + MIXED[:30], "tailscale"),
    "tavily": ("tvly-", "dev-" + MIXED[:32], "tavily"),
    "terraform": ("", MIXED[:14] + ".atlasv1." + MIXED[:67], "terraform"),
    "azure-client-secret": ("", MIXED[:3] + "8Q~" + MIXED[:34], "azure"),
    "vault-without-namespace": ("hvs.", MIXED[:24], "vault"),
    "authorization-scheme": ("Authorization: SSWS ", MIXED[:42], "authorization"),
    "authorization-plain": ("Authorization: ", MIXED[:42], "authorization"),
    "cookie-second": ("Cookie: theme=dark; session=", MIXED[:32], "cookie"),
    "passphrase-option": ("--passphrase ", "hunter2-hunter3", "password"),
    "pass-argument": ("-passin pass:", "hunter2-hunter3", "password"),
    "curl-user": ("curl -sS -u ada:", "hunter2-hunter3", "password"),
    "sshpass": ("sshpass -p ", "hunter2-hunter3", "password"),
    "docker-login": ("docker login -u ada -p ", "hunter2-hunter3", "password"),
    "mysql": ("mysql -uroot -p", "hunter2-hunter3", "password"),
    "private-key-coded": (
        "",
        b64encode(f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}".encode()).decode(),
        "private_key",
    ),
    "api-key-header": ("X-Api-Key: ", MIXED[:32], "api_key"),
    "api-key-in-capitals": ("X-API-Key: ", MIXED[:32], "api_key"),
    "auth-token-in-capitals": ("X-AUTH-Token: ", MIXED[:32], "api_key"),
    "api-key-json": ('"x-api-key": "', HEX[:32], "api_key"),
    "cookie": ("Cookie: session=", MIXED[:32], "cookie"),
    "shared-access-signature": ("?sv=2022-11-02&sig=", MIXED[:40] + "%3D", "signature"),
    "password-option": ("--password=", "hunter2-hunter3", "password"),
    "supabase": ("sbp_", HEX[:40], "supabase"),
    "newrelic": ("NRAK-", CAPITALS[:27], "newrelic"),
    "atlassian": ("ATATT3", MIXED, "atlassian"),
    "age": ("AGE-SECRET-KEY-", CAPITALS[:58], "age"),
    "jwt": ("eyJ", "hbGciOiJIUzI1NiJ9.eyJ" + MIXED[:40] + "." + MIXED[:43], "jwt"),
    "telegram": ("", "123456789:AA" + MIXED[:33], "telegram"),
    "bearer": ("Bearer ", MIXED[:30], "bearer"),
    "authorization": ("Authorization: Bearer ", "opaque" + MIXED[:12], "authorization"),
    "authorization-basic": ("authorization: Basic ", "dXNlcjpwYXNzd29yZA==", "authorization"),
    "authorization-json": ('"Authorization": "token ', MIXED[:20], "authorization"),
    "aws-secret": ("aws_secret_access_key = ", MIXED[:38] + "/+", "aws"),
    "aws-secret-variable": ("SECRET_ACCESS_KEY=", MIXED[:40], "aws"),
    "aws-secret-json": ('ecretAccessKey": "', MIXED[:40], "aws"),
    "azure": ("AccountKey=", MIXED + MIXED[:16] + "==", "azure"),
    "azure-bus": ("AccessKey=", MIXED[:43] + "=", "azure"),
    "private-key": ("", f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----", "private_key"),
    "private-key-cut-off": ("", f"-----BEGIN PRIVATE KEY-----\n{PEM_BODY}", "private_key"),
    "private-key-encrypted": (
        "",
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n"
        f"{PEM_BODY}\n-----END EC PRIVATE KEY-----",
        "private_key",
    ),
}
NOBODY = Masker({})

each_token = pytest.mark.parametrize(("kept", "secret", "kind"), TOKENS.values(), ids=TOKENS)


def line(value: object, *, ascii_only: bool = False) -> str:
    return json.dumps(to_json(value), ensure_ascii=ascii_only, separators=(",", ":"))


@pytest.mark.spec("TRS-13")
@each_token
def test_a_key_of_a_known_kind_is_masked_behind_its_prefix(kept: str, secret: str, kind: str) -> None:
    text = f"before ({kept}{secret}) after"
    assert NOBODY.text(text) == f"before ({kept}[masked:{kind}]) after"


@pytest.mark.spec("TRS-13")
@each_token
@pytest.mark.parametrize("before", ["\n", "\t", "é", '"', "=", "\\n", "\\u00e9", "%3D", "\x1b[32m", "\x1b[1;31m"])
def test_it_is_found_behind_escapes_and_in_json_of_json(kept: str, secret: str, kind: str, before: str) -> None:
    text = f"x{before}{kept}{secret}\nnext"
    for _ in range(3):
        assert NOBODY.finds(line(Text(text)))
        assert NOBODY.finds(line(Text(text), ascii_only=True))
        assert f"[masked:{kind}]" in NOBODY.text(text)
        assert MIXED[:12] not in NOBODY.text(text)
        text = json.dumps(text)


@pytest.mark.spec("TRS-13")
@each_token
def test_it_is_found_in_bytes(kept: str, secret: str, kind: str) -> None:
    data = b"\x00" + f"key: {kept}{secret}\n".encode() + b"\xff\x00"
    change = ChangeSet("Edit", (FileChange(".env", None, data), FileChange("a", data, b"")))
    masked = NOBODY.noun(change)
    assert masked.files[0].after == masked.files[1].before
    assert masked.files[0].after == b"\x00" + f"key: {kept}[masked:{kind}]\n".encode() + b"\xff\x00"


def test_every_rule_has_an_example() -> None:
    shown = {kind for _, _, kind in TOKENS.values()} | {"password", "token", "secret"}
    assert {rule.kind for rule in RULES} == shown


HARMLESS = [
    "git 1aeafbe and 2d7ac05b9f1e4c6a8d0b3f5e7a9c1d3e5f7a9b1c",
    "2f1c0c1e-7d3e-4a94-9f51-3d4d4e2a9c11",
    f"sha256:{HEX[:64]}",
    "sha512-" + MIXED + "==",
    b64encode(bytes(range(256)) * 4).decode(),
    "data:image/png;base64," + b64encode(b"\x89PNG" * 40).decode(),
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + MIXED[:43] + " ada@example.com",
    f"-----BEGIN CERTIFICATE-----\n{PEM_BODY}\n-----END CERTIFICATE-----",
    f"-----BEGIN PUBLIC KEY-----\n{PEM_BODY}\n-----END PUBLIC KEY-----",
    'if text.startswith("-----BEGIN PRIVATE KEY-----") and text.endswith("-----END PRIVATE KEY-----"):',
    "the header -----BEGIN PRIVATE KEY----- is followed by the key itself",
    "task-0123456789abcdef0123456789abcdef",
    "disk-ant-0123456789abcdef0123456789",
    "risk-assessment-of-the-whole-project-2024",
    ".sk-loading-spinner { color: red }",
    "hf_model_for_sequence_classification_with_heads",
    "npm_config_registry npm_package_dependencies_left_pad",
    "the pypi-publish-action-of-the-python-packaging-authority-for-every-release-2024",
    "ghp_short gho_ ghs_123 github_pat_",
    "AKIA is how they start; ASIA is a continent; ASIAPACIFICREGIONSOUTHEAST",
    "MASKING_TASK_ASK SK SKIP SKELETON",
    "SG.append(value) and SG.x.y",
    "toolu_01A09q90qw90lq917835lq9Ab call_abcdefghijklmnopqrstuvwx chatcmpl-" + MIXED[:29],
    "eyJ is base64 for an open brace; config.eyJ.value",
    "Bearer tokens are described in RFC 6750; Basic authentication in RFC 7617",
    'headers = {"Authorization": f"Bearer {token}"}',
    "curl -H 'Authorization: Bearer $TOKEN' https://example.com",
    "Authorization: Basic authentication is required",
    "Authorization: Bearer undefined",
    "aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
    'resource "aws_cloudfront_distribution" "site"',
    "AccountKey=<your key>; AccountName=x",
    "https://example.com:8443/a@b and me@example.com",
    "http://localhost:3000,me@example.com",
    "ssh://git@github.com:22/owner/repo.git git@github.com:owner/repo.git",
    "https://user@example.com/ http://[::1]:8080/x@y",
    "postgres://user:${PASSWORD}@db postgres://user:{password}@db postgres://u:%s@db postgres://u:$PW@db redis://:***@h",
    "https://cdn.example.com/npm/@scope/package@1.2.3/dist/index.min.js",
    "12:34:56:AA:BB:CC 123456789:AB",
    "xoxo, with love; xox-",
    "def check_the_arguments_of_every_single_call_before_it_starts(self) -> None: ...",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "mysql -u root -p database_2024; docker run -u 1000:1000 -p 8080:8080 image-2:1.0.0; redis-cli -p 6379",
    "curl -X POST -u $USER:$PASSWORD https://example.com/v2/items1234",
    "authorization: AuthorizationServiceV2Settings, authorization: Optional[Dict2]",
    "openssl rsa -passin file:/run/secrets/key2.txt -passout env:KEY_2_PASSWORD",
    "Cookie: theme=dark; the format of cookies is described in RFC 6265",
    "pattern_2 patch-3 re_compile_all_24 secret_santa_2024 sk_learn_2024_model fly fo1_short dapibus",
    f"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg{MIXED}",
    "[masked:openai] sk-[masked:openai] https://u:[masked:password]@h",
    "",
]


@pytest.mark.spec("TRS-13")
@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
def test_what_only_looks_a_little_like_a_secret_stays(text: str) -> None:
    assert NOBODY.text(text) == text
    assert not NOBODY.finds(line(Text(text)))
    assert NOBODY.noun(text.encode()) == text.encode()


@pytest.mark.spec("TRS-13")
@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://ada:secret@db:5432/x", "postgres://ada:[masked:password]@db:5432/x"),
        ("http://u:pw@münchen.example/", "http://u:[masked:password]@münchen.example/"),
        ("redis://:p%40ss@cache", "redis://:[masked:password]@cache"),
        ("https://u:p@ss@word@host/x?y=1", "https://u:[masked:password]@host/x?y=1"),
        ("a http://u:päss@h, b", "a http://u:[masked:password]@h, b"),
        ('{"url":"mongodb+srv://u:pw@h/db"}', '{"url":"mongodb+srv://u:[masked:password]@h/db"}'),
    ],
)
def test_of_an_address_only_the_password_is_masked(text: str, masked: str) -> None:
    assert NOBODY.text(text) == masked
    assert NOBODY.finds(line(Text(text), ascii_only=True))


# ---- values of variables


SECRET = 'q"7\\r/Ä+e z%Kp\n9=x'


@pytest.mark.spec("TRS-13")
@pytest.mark.parametrize(
    "spell",
    [
        str,
        json.dumps,
        lambda value: json.dumps(value, ensure_ascii=False),
        lambda value: json.dumps({"deep": json.dumps({"deeper": value})}),
        lambda value: quote(value, safe=""),
        lambda value: quote(value),
        lambda value: b64encode(value.encode()).decode(),
        lambda value: b64encode(b"user:" + value.encode() + b"\n").decode(),
        lambda value: b64encode(b"me:" + value.encode()).decode(),
    ],
    ids=["plain", "json", "json-unicode", "json-in-json", "url", "url-path", "base64", "base64-inside", "base64-end"],
)
def test_the_value_of_a_secret_variable_is_found_however_it_is_spelled(spell: Any) -> None:
    masker = Masker({"MY_SERVICE_TOKEN": SECRET})
    text = f"the value {spell(SECRET)} stands here"
    assert "[masked:MY_SERVICE_TOKEN]" in masker.text(text)
    assert masker.finds(line(Text(text)))
    assert masker.finds(line(Text(text), ascii_only=True))
    assert b"[masked:MY_SERVICE_TOKEN]" in masker.noun(text.encode())


@pytest.mark.spec("TRS-13")
@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "client_secret",
        "DB_PASSWORD",
        "DB_PASSWD",
        "CREDENTIALS",
        "NPM_AUTH",
        "MY_PAT",
    ],
)
def test_a_name_tells_that_a_value_is_secret(name: str) -> None:
    masker = Masker({name: "correct horse 9"})
    assert masker.text("it is correct horse 9.") == f"it is [masked:{name}]."


@pytest.mark.spec("TRS-13")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOME_DIRECTORY", "something-or-other-1"),
        ("GIT_AUTHOR_NAME", "Ada Lovelace 1815"),
        ("TOKENIZERS_PARALLELISM", "something-1"),
        ("API_KEY", "short-7"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-abc/agent.1234"),
        ("SSH_KEY", "~/.ssh/id_ed25519"),
        ("KEY_FILE", "service-account.json"),
        ("AUTH", "disabled"),
        ("AUTH_MODE", "read-only"),
        ("MAX_TOKENS", "100000000"),
        ("AUTH_SERVER", "192.168.100.100:8443"),
        ("AUTH_HOST", "login.example.com:8443"),
        ("TOKEN_URL", "https://login.example.com/oauth/token"),
        ("API_KEY", "${OTHER_API_KEY}"),
        ("API_TOKEN", "<your token here>"),
    ],
)
def test_what_is_plainly_no_secret_is_not_masked(name: str, value: str) -> None:
    text = f"here is {value} in a text"
    assert Masker({name: value}).text(text) == text
    assert not Masker({name: value}).finds(line(Text(text)))


@pytest.mark.spec("TRS-13")
def test_of_a_variable_with_an_address_the_password_is_the_secret() -> None:
    masker = Masker({"DATABASE_URL": "postgres://ada:s3cret%21pass@db.example.com/x"})
    assert masker.text("psql with s3cret!pass or s3cret%21pass at db.example.com") == (
        "psql with [masked:DATABASE_URL] or [masked:DATABASE_URL] at db.example.com"
    )
    assert Masker({"DATABASE_URL": "postgres://ada:postgres@db/x"}).text("postgres is fine") == "postgres is fine"


def test_the_longest_value_goes_first() -> None:
    masker = Masker({"A_KEY": "abcd1234", "B_KEY": "xx-abcd1234-yy", "C_KEY": "1234-yy-and-more"})
    assert masker.text("xx-abcd1234-yy abcd1234") == "[masked:B_KEY] [masked:A_KEY]"
    assert masker.text("abcd1234-yy-and-more") == "[masked:C_KEY]"


def test_a_secret_that_begins_like_a_path_is_still_one() -> None:
    value = "/" + MIXED[:39]
    assert Masker({"AWS_SECRET": value}).text(f"x {value} y") == "x [masked:AWS_SECRET] y"


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLGATE_TEST_TOKEN", "value-of-the-test-42")
    assert Masker().text("a value-of-the-test-42") == "a [masked:CALLGATE_TEST_TOKEN]"


def test_a_value_that_is_spelled_like_a_mask_does_no_harm() -> None:
    masker = Masker({"A_KEY": "[masked:", "B_KEY": "masked:A", "C_KEY": "]-abc-12", "D_KEY": "x1-y2-z3[mas"})
    text = "[masked:A_KEY] [masked: masked:A ]-abc-12 x1-y2-z3[masked:openai]-abc-12"
    once = masker.text(text)
    assert masker.text(once) == once


# ---- nouns

KEY = "sk-ant-" + MIXED
MESSAGE = Message(
    "m1",
    "assistant",
    (
        Text(f"use {KEY}"),
        CallPart("c1", "Bash", {"command": f"export K={KEY}", "env": [{"K": KEY, KEY: 1}], "n": 1}, f'{{"a": "{KEY}"'),
        ResultPart("c1", "Bash", (Text(KEY), Image("image/png", KEY.encode()))),
    ),
)


@pytest.mark.spec("TRS-13")
@pytest.mark.parametrize(
    "event",
    [
        MessageAdded(1.0, MESSAGE, "tool_calls"),
        CallArrived(
            at=1.0,
            call_id="c1",
            name="Bash",
            arguments={"command": KEY, "deep": {"x": [KEY]}},
            index=0,
            message_id="m1",
            raw_arguments=KEY,
        ),
        CallSettled(1.0, "c1", Result((Text(KEY),), details={"why": KEY, "repr": "x"})),
        QuestionAsked(
            1.0,
            Question(
                *("c1", "Edit", {"text": KEY}, "hash", "rule", f"because {KEY}", 1.0),
                preview=ChangeSet("Edit", (FileChange(".env", None, KEY.encode()),), "Edit"),
            ),
        ),
    ],
    ids=lambda event: type(event).__name__,
)
def test_no_secret_of_an_event_is_left_and_it_still_reads_back(event: Durable) -> None:
    assert NOBODY.finds(line(event))
    masked = NOBODY.noun(event)
    written = line(masked)
    assert MIXED[:20] not in written
    assert b64encode(KEY.encode())[4:20].decode() not in written
    assert from_json(type(event), json.loads(written)) == masked
    assert not NOBODY.finds(written)
    assert NOBODY.noun(masked) is masked


def test_a_noun_without_secrets_is_the_same_object() -> None:
    event = MessageAdded(1.0, Message("m1", "user", (Text("hello"), Image("image/png", b"\x89PNG"))))
    proxied: Mapping[str, Any] = MappingProxyType({"a": [1, None, True, 2.5, "x", {"y": ()}], "s": Status.ERROR})
    for value in (event, proxied, "text", b"bytes", (), [1], Status.SUCCESS, None, {"set": {1, 2}}):
        assert NOBODY.noun(value) is value


def test_keys_of_mappings_are_masked_and_stay_apart() -> None:
    other = "sk-ant-" + MIXED[::-1]
    masked = NOBODY.noun({KEY: 1, other: 2, "sk-ant-[masked:anthropic] (2)": 3})
    assert masked == {
        "sk-ant-[masked:anthropic]": 1,
        "sk-ant-[masked:anthropic] (3)": 2,
        "sk-ant-[masked:anthropic] (2)": 3,
    }


def test_files_in_utf_16_are_searched_too() -> None:
    for coding in ("utf-16-le", "utf-16-be"):
        masked = NOBODY.noun(f"\ufeffkey={KEY}\r\n".encode(coding))
        assert masked.decode(coding) == "\ufeffkey=sk-ant-[masked:anthropic]\r\n"
    assert NOBODY.noun(b"\xff\xfe." + KEY.encode()).endswith(b"sk-ant-[masked:anthropic]")


def test_what_a_record_can_only_show_as_its_repr_is_searched_as_that() -> None:
    class Client:
        def __repr__(self) -> str:
            return f"Client({KEY!r})"

    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    masked = NOBODY.noun({"client": Client(), "broken": Broken(), "set": {KEY}})
    assert masked == {
        "client": "Client('sk-ant-[masked:anthropic]')",
        "broken": "[masked:unreadable]",
        "set": "{'sk-ant-[masked:anthropic]'}",
    }


def test_circles_and_great_depths_end() -> None:
    circle: dict[str, Any] = {"key": KEY}
    circle["again"] = [circle, circle]
    deep: Any = KEY
    for _ in range(500):
        deep = [deep]
    for value in (circle, deep):
        assert MIXED[:20] not in repr(NOBODY.noun(value))


BY_NAME = {
    "PIN_SECRET": "8401927365",
    "ENCRYPTION_SALT": "b7Qm2xPz91Lk",
    "PASSWORD_PEPPER": "zU8-kk2.Qw90",
    "SENTRY_DSN": "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "ALERT_WEBHOOK_URL": "https://hooks.example.com/services/T0AbC12dE/9xYzW8v7U6",
    "WALLET_MNEMONIC": "legal winner thank year wave sausage worth useful legal winner",
    "LOGIN_OTP_SEED": "JBSWY3DPEHPK3PXP",
    "DB_PASSCODE": "99887766554433",
    "SSHPASS": "hunter2-hunter3",
    "ADMIN_PW": "c0rrect-h0rse",
    "ACCESS_CODE": "Zx81-q7Yb-92",
    "RECOVERY_CODES": "a1b2-c3d4,e5f6-g7h8",
    "ENC_IV": "8f14e45fceea167a",
    "X_API": "k3y-9f8e7d6c5b4a",
}
ORDINARY = {
    "MAX_TOKENS": "100000000",
    "LICENSE_FILE": "/usr/share/licenses/callgate.txt",
    "WEBHOOK_PORT": "8080",
    "KEYBOARD": "de-latin1-nodeadkeys",
    "PINNED_VERSION": "2024.10.1",
    "API_URL": "https://api.example.com/v1",
    "COMPASS": "north-by-n0rthwest",
    "CODE_STYLE": "black-24.1-strict",
}


@pytest.mark.spec("TRS-13")
def test_values_of_variables_with_secret_names_are_masked_and_ordinary_ones_are_not() -> None:
    masker = Masker({**BY_NAME, **ORDINARY})
    leaked = [name for name, value in BY_NAME.items() if value in masker.text(f"it is {value} here")]
    lost = [name for name, value in ORDINARY.items() if value not in masker.text(f"it is {value} here")]
    assert (leaked, lost) == ([], [])


@pytest.mark.spec("TRS-13")
def test_addresses_that_let_anybody_post_are_masked() -> None:
    masker = Masker({})
    addresses = (
        "https://discord.com/api/webhooks/1122334455667788/aB3dE6gH9_kLmN0pQ-rStUvWxYz",
        "https://acme.webhook.office.com/webhookb2/0a1b2c3d-4e5f@6a7b8c9d/IncomingWebhook/9f8e7d6c5b4a",
        "https://hooks.zapier.com/hooks/catch/1234567/b1c2d3e4f5a6b7/",
    )
    leaked = [each for each in addresses if masker.text(f"curl {each} -d x") == f"curl {each} -d x"]
    assert not leaked


@pytest.mark.spec("TRS-13")
def test_the_key_in_the_place_of_a_user_of_a_dsn_is_masked() -> None:
    masker = Masker({"SENTRY_DSN": "https://9f8e7d6c5b4a3928@o1.ingest.example.com/42"})
    assert "9f8e7d6c5b4a3928" not in masker.text("key 9f8e7d6c5b4a3928")


@pytest.mark.spec("TRS-13")
def test_placeholders_behind_names_of_secrets_stay_readable() -> None:
    masker = Masker({})
    texts = (
        *("curl -H 'X-Api-Key: $API_KEY'", "x-api-key: your-key-goes-here", "Cookie: theme=dark", "Set-Cookie: a=b"),
        *("--password=$PW", "--password PASSWORD", "--password='…'", "https://x.example/?sig=abc"),
    )
    assert [text for text in texts if masker.text(text) != text] == []


# ---- values that files assign to names

RANDOM = "q7Zx2Kp9Lm4Tn8Wb"
ASSIGNED = [
    *(
        "AWS_SECRET_ACCESS_KEY=",
        "export AWS_SECRET_ACCESS_KEY=",
        "  12\tDEPLOY_TOKEN=",
        "STRIPE_KEY='",
        'DB_PASSWORD="',
    ),
    *("aws_secret_access_key = ", "password = ", "client_secret=", "refresh_token: ", "api_key: ", "api-key = '"),
    *('"api_key": "', '"clientSecret": "', '"accessToken":"', "'password': '", '"db": {"password": "', '"APIKEY": "'),
    *("secret = '", "SECRET_KEY = '", "  password: '", "- POSTGRES_PASSWORD=", "POSTGRES_PASSWORD: ", "password: "),
    *("https://example.com/hook?token=", "https://example.com/?a=1&access_token=", "/?secret=", "x&api_key="),
    *(r"\"api_key\": \"", r"{\n\"password\": \"", "MYSQL_PWD=", "REDIS_PASS=", "//npm.example.com/:_authToken="),
    *("Authorization: Basic ", "AUTHORIZATION: basic ", "http.extraheader=AUTHORIZATION: bearer ", "https://x:"),
    *("DJANGO_SECRET_KEY=", "JWT_SECRET=", "session.secret=", "spring.datasource.password=", "SMTP_PASSWORD_2="),
]


@pytest.mark.spec("TRS-13")
@pytest.mark.parametrize("after", ["", "\n", " # comment", "\\nNEXT=1", "\r\n"])
def test_values_that_are_assigned_to_names_of_secrets_are_masked(after: str) -> None:
    left: list[str] = []
    for before in ASSIGNED:
        mark = before[-1] if before[-1] in "'\"" else ""
        end = ("\\" if before.endswith('\\"') else "") + mark + ("@h" if before == "https://x:" else "")
        text = f"first line\n{before}{RANDOM}{end}{after}"
        masked = NOBODY.text(text)
        is_masked = masked.startswith(f"first line\n{before}[masked:") and RANDOM not in masked
        if not is_masked or not NOBODY.finds(line(Text(text))):
            left.append(masked)
    assert not left


@pytest.mark.spec("TRS-13")
@pytest.mark.parametrize(
    "text",
    [
        f"https://{MIXED[:40]}@github.com/owner/repo.git",
        f"remote.origin.url=https://{HEX[:40]}@git.example.com/a.git",
        "DB_PASSWORD=correcthorsebatterystaple",
        "DB_PASSWORD=hunter22",
        "LICENSE_KEY=ABCD-1234-EFGH-5678",
        "GITHUB_TOKEN=abcdef123456",
        '"password": "Tr0ub4dor&3(x)"',
        'DB_PASSWORD="my pass phrase 123"',
        "tool --token abcd1234efgh5678",
        "tool --api-key=abcd1234efgh5678 --verbose",
        "tool --server-api-key=abcd1234efgh5678",
        "tool --client-secret abcd1234efgh5678",
    ],
)
def test_other_spellings_of_assigned_secrets_are_masked(text: str) -> None:
    assert "[masked:" in NOBODY.text(text)
    assert NOBODY.finds(line(Text(text)))


@pytest.mark.spec("TRS-13")
def test_a_mask_in_an_address_is_not_read_as_a_name_and_a_password() -> None:
    masker = Masker({"A_SECRET": "sk-sk-sk"})
    assert masker.text("://sk-sk-sk-@x") == "://[masked:A_SECRET]-@x"
    assert masker.text("https://sk-sk-sk:hunter22@x") == "https://[masked:A_SECRET]:[masked:password]@x"


CODE = [
    "token = parse()",
    "token = parse_token2(text)",
    "password = getpass.getpass('Password: ')",
    "secret = secrets.token_hex(16)",
    "SECRET_KEY = os.environ['SECRET_KEY']",
    "API_KEY=settings.api_key",
    "f(API_KEY=settings.API_KEY2, timeout=3)",
    "run(TOKEN=token123abc456def)",
    "api_key: str | None = None",
    "private_key: PKCS7PrivateKeyTypes, password: bytes",
    'key="value1234" other_key="value-1234"',
    "for key, value in pairs.items(): keys[key] = value",
    'cache_key = f"user:{user_id}:v2"',
    "PRIMARY_KEY=user_id FOREIGN_KEY=account_id SORT_KEY=created_at",
    "CACHE_KEY=user:1234:profile_v2",
    "MAX_TOKENS=4096 max_tokens: 128000 tokens=12345678901",
    '"password": "must not be empty", "token": "is missing"',
    "password: ${{ secrets.DB_PASSWORD }}",
    "DB_PASSWORD=${DB_PASSWORD:-postgres}",
    "DB_PASSWORD=$(cat /run/secrets/db)",
    "API_KEY=<your-api-key-1234>",
    "API_KEY=your-api-key-here-1234",
    "API_KEY=changeme1234",
    "password=var.db_password_v2",
    "password = random_password.db.result",
    'type="password" name="password1" autocomplete="current-password"',
    "assert token == expected_token1",
    'tokenizer = "cl100k_base" keyboard="qwertz123456"',
    "secretName: my-secret-2 secretKeyRef: {name: db-1}",
    "KEY_FILE=/etc/ssl/private/server.key",
    "SSH_KEY=~/.ssh/id_ed25519",
    "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyDatabase-a1b2c3",
    '"AWS::SecretsManager::Secret": "c85175a4ebcce361"',
    "password: test1234, secret: test-secret-1",
    "PWD=/root/work123456 OLDPWD=/root/other123456",
    '"sort_key": "a1b2c3d4e5f6a7b8c9d0"',
    "SECRET=[masked:secret] password: [masked:secret]",
    'password = "Enter the password for user 1234" token: "the token of run 12345678"',
    "tool --token TOKEN --api-key $API_KEY --secret your-secret --max-token 4096",
    'help="--token TOKEN  the token, such as the one of page 12"',
]


@pytest.mark.spec("TRS-13")
def test_ordinary_code_with_names_of_secrets_stays() -> None:
    assert [(text, NOBODY.text(text)) for text in CODE if NOBODY.text(text) != text] == []


@pytest.mark.spec("TRS-13")
def test_a_value_inside_a_key_does_not_break_the_pattern() -> None:
    key = "xoxb-" + "123456789012-123456789012-" + MIXED[:24]
    for variables in (
        {"PIN_SECRET": "12345678"},
        {"PIN_SECRET": "12345678", "A_SECRET": MIXED[2:14]},
        {"A_SECRET": "xoxb-1234567"},
        {"A_SECRET": key[10:] + " and more"},
        {"A_SECRET": "before " + key[:9]},
    ):
        masked = Masker(variables).text(f"before {key} and more")
        assert not any(part in masked for part in (key[5:12], key[20:28], MIXED[:8], MIXED[16:24])), masked
