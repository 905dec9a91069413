"""Credentials in formats of configuration files are masked, and texts that only look like them are not."""

import json

import pytest

from callgate.transcript.masking import Masker
from tests.rows import rows

NOBODY = Masker({})
SECRET = [
    "- name: DB_PASSWORD\n  value: Zx81kq2mPw",
    'env:\n  - name: API_TOKEN\n    value: "a8f3k2m9x7q1w5e3"',
    '{"name": "DB_PASSWORD", "value": "hunter22x"}',
    '{"name":"DB_PASSWORD","value":"correcthorsebattery"}',
    "{name: DB_PASSWORD, value: hunter22x}",
    '{"value": "hunter22x", "name": "DB_PASSWORD"}',
    '{"Name":"SMTP_PASS","Value":"hunter22xyz"}',
    '{"ParameterKey": "DbPassword", "ParameterValue": "hunter22x"}',
    "<password>hunter22x</password>",
    "<DbPassword>hunter22x</DbPassword>",
    '<add key="DbPassword" value="hunter22x"/>',
    '<property name="password" value="hunter22x"/>',
    '<password encrypted="false">hunter22x</password>',
    "<apiKey>a8f3k2m9x7q1w5e3</apiKey>",
    "<ns:clientSecret>correcthorsebatterystaple</ns:clientSecret>",
    'connectionString="Server=db;Database=app;User Id=sa;Password=pw12;"',
    "Data Source=db;Initial Catalog=x;User ID=u;Pwd=abcdef",
    "Server=tcp:db.example.com,1433;Password=simple;Encrypt=true",
    "password=simple;server=db",
    "host=db user=u password=simplepw dbname=x",
    "machine api.example.com login u password simple",
    "machine api.example.com\n  login u\n  password simple",
    "default login u password simple",
    "machine h password simple login u",
    "db.example.com:5432:app:u:simple",
    "localhost:*:*:postgres:simple",
    "*:5432:*:app:simple",
    '{"auths": {"https://index.docker.io/v1/": {"auth": "dXNlcjpwYXNzd29yZA=="}}}',
    ".dockerconfigjson: eyJhdXRocyI6eyJhIjp7ImF1dGgiOiJkWE5sY2pwd1lYTnoifX19",
    "- name: password\n  value: hunter22x",
    'name = "DB_PASSWORD"\nvalue = "hunter22x"',
    "- name: POSTGRES_PASSWORD\n  value: 'hunter22x'\n- name: X",
    "FROM a\nENV DB_PASSWORD hunter22x",
    "setenv API_TOKEN a8f3k2m9x7q1w5e3",
    "set -gx API_TOKEN a8f3k2m9x7q1w5e3",
    "define('DB_PASSWORD', 'hunter22x');",
    'os.environ.setdefault("SECRET_KEY", "a8f3k2m9x7q1w5e3")',
    "os.environ['API_TOKEN'] = 'a8f3k2m9x7q1w5e3'",
    "app.secret_key = b'a8f3k2m9x7q1w5e3'",
    "secret_key_base: a8f3k2m9x7q1w5e3",
    "Ocp-Apim-Subscription-Key: a8f3k2m9x7q1w5e3",
    'psk="a8f3k2m9x7"',
    "CREATE USER ada IDENTIFIED BY 'a8f3k2m9x7'",
    "ALTER ROLE ada WITH PASSWORD 'a8f3k2m9x7'",
    '{\n  "name": "JWT_SECRET",\n  "value": "correcthorsebattery"\n}',
]
PLAIN = [
    "- name: LOG_LEVEL\n  value: debug123456",
    "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-secret-1\n      key: password1",
    "- name: DB_PASSWORD\n  value: ${DB_PASSWORD}",
    "- name: DB_PASSWORD\n  value: $(DB_PASSWORD_1)",
    '<input name="password" value="">',
    "<password>${env.DB_PASSWORD}</password>",
    "<password></password>",
    "<label>password</label>",
    "<key>CFBundleVersion12345</key>",
    "<string>a1b2c3d4e5f6a7b8c9</string>",
    "machine learning with a login form and password reset",
    "http://a:5432:b",
    "file.py:5432:def x:y",
    "db:5432:5432",
    '"auth": "required"',
    '"auth": "basic123"',
    '"auth":"none1234"',
    '{"name": "token_count", "value": "123456789"}',
    '{"name": "sort_key", "value": "a1b2c3d4e5f6a7b8"}',
    '{"key": "cache-key-1", "value": "a1b2c3d4e5f6a7b8"}',
    "PWD=/root/work12; HOST=abc",
    "server=a;port=2",
    "name: MAX_TOKENS\nvalue: 4096",
    "def f(name: str, password: str, value: int) -> None: ...",
    "for name, value in secrets.items(): print(name, value)",
    '<a href="/password-reset-2">Forgot password1?</a>',
    "<td>password</td><td>string1234</td>",
    '{"name": "password", "type": "string", "value": null}',
    "| name | password | value | x |",
    "host=localhost port=5432 dbname=test",
    "<secretName>my-secret-2</secretName>",
    "<passwordPolicy>min8chars</passwordPolicy>",
    "Password=;Server=db",
    "default password is shown on the label",
    "machine: x86_64-linux password manager",
    'key: "token", value: "the_value_of_it"',
    "image: nginx:1.25\nname: secret-reader\nvalue: x1234567",
    "- name: SECRET_NAME\n  value: my-secret-12",
    "- name: PASSWORD_FILE\n  value: /run/secrets/db_password1",
]


@pytest.mark.spec("TRS-13")
@rows("text", SECRET)
def test_a_credential_is_masked_in_a_text_and_found_in_a_line_of_a_log(text: str) -> None:
    masked = NOBODY.text(text)
    assert "[masked:" in masked
    assert NOBODY.text(masked) == masked
    assert NOBODY.finds(json.dumps({"text": text}))
    assert NOBODY.finds(json.dumps({"text": json.dumps({"inner": text})}))


@pytest.mark.spec("TRS-13")
@rows("text", PLAIN)
def test_a_text_without_a_credential_is_not_masked(text: str) -> None:
    assert NOBODY.text(text) == text
    assert not NOBODY.finds(json.dumps({"text": text}))


@pytest.mark.spec("TRS-13")
def test_only_the_value_is_masked() -> None:
    assert NOBODY.text("- name: DB_PASSWORD\n  value: Zx81kq2mPw # a note\n") == (
        "- name: DB_PASSWORD\n  value: [masked:secret] # a note\n"
    )
    assert NOBODY.text("Server=db;Password=simple;Encrypt=true") == "Server=db;Password=[masked:password];Encrypt=true"
    assert NOBODY.text("<a><password>hunter22x</password></a>") == "<a><password>[masked:secret]</password></a>"
