"""Finds credentials in formats of configuration files: pairs of a name and a value (Kubernetes), elements of XML,
connection strings, and the password files of curl, PostgreSQL and Docker."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator

from callgate.transcript.assigned_secrets import SURE, AssignedSecrets, is_reference
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

# In a line of a log, a line end is a backslash and a letter, and quotes follow a backslash.
_BLANK = r"(?:\\+[nrt]|[ \t\r\n])"
_BETWEEN = rf"(?:{_BLANK}|[\"'\\,-]){{1,80}}+"
_QUOTES = rf"(?:{_BLANK}|[\"'\\]){{0,40}}+"
_NAMED = r"(?P<name>[\w.:-]{1,64})"
_VALUE = r"(?P<value>[^\s\"'\\<>,;(){}\[\]]{8,400}+)"
_TEXT = r"(?P<value>[^\s\"'\\<>]{8,400}+)"
_QUOTED = r"(?P<quote>\\*[\"'])(?P<quoted>[^\r\n\"'\\]{8,400}+)(?=\\*[\"'])"
_PLACE = (
    "server|data source|host|hostname|address|uid|user|user ?id|user ?name|database|initial catalog|dbname|endpoint"
)
_PART = r"[^;\"'<>\\\r\n]{0,200}"
_PASSWORD = r"(?<![A-Za-z])(?:password|passwd|pwd)[ \t]*=[ \t]*"


@noun
class CredentialFormat:
    """A format with secrets. The pattern has a group ``value`` or ``quoted``, and a group ``name`` if the name of the
    value decides whether it is a secret."""

    kind: str
    starts: tuple[str, ...]
    pattern: re.Pattern[str]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each secret in the text."""
        if any(start in text for start in self.starts):
            for found in self.pattern.finditer(text):
                groups = found.groupdict()
                group = "quoted" if groups.get("quoted") is not None else "value"
                if self._is_secret(groups.get("name"), found[group]):
                    yield found.span(group)

    def found(self, text: str) -> bool:
        return any(True for _ in self.spans(text))

    def _is_secret(self, name: str | None, value: str) -> bool:
        if is_reference(value):
            return False
        if self.kind == "docker":
            return _is_login(value)
        return name is None or _denotes(name, value)


def _denotes(name: str, value: str) -> bool:
    """Return True if a file that assigns this value to this name would contain a secret."""
    if re.sub(r"[\d_.:-]", "", name).lower().endswith(SURE):
        name = re.sub(r"\W", "_", name).upper()
    return AssignedSecrets().found(f'{name}="{value}"')


def _is_login(value: str) -> bool:
    """Return True for ``user:password`` in base64, and for the content of a Docker password file."""
    try:
        decoded = b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (Error, ValueError):
        return False
    return b":" in decoded and decoded.isascii()


def _pattern(*parts: str) -> re.Pattern[str]:
    return late_pattern("".join(parts), re.ASCII)


_NAME_KEY = r"(?<![A-Za-z])(?:[nN]ame|[kK]ey|NAME|KEY|(?:Parameter|Option|Output)(?:Key|Name))"
_VALUE_KEY = r"(?:[vV]alue|VALUE|(?:Parameter|Option|Output)Value)"
_SIGN = rf"{_QUOTES}[:=]{_QUOTES}"
_BARE = rf"(?:{_QUOTED}|{_VALUE})"

_VALUE_SIGNS = ('alue"', "alue:", "alue=", "alue'", "alue\\", "alue =", "VALUE")

FORMATS = (
    CredentialFormat(
        "secret",
        _VALUE_SIGNS,
        _pattern(_NAME_KEY, _SIGN, _NAMED, _BETWEEN, _VALUE_KEY, rf"(?:\\*[\"'])?{_BLANK}*+[:=]{_BLANK}*+", _BARE),
    ),
    CredentialFormat(
        "secret",
        _VALUE_SIGNS,
        _pattern(_VALUE_KEY, rf"(?:\\*[\"'])?{_BLANK}*+[:=]{_BLANK}*+", _BARE, _BETWEEN, _NAME_KEY, _SIGN, _NAMED),
    ),
    CredentialFormat("secret", ("</",), _pattern("<", _NAMED, r"(?: [^<>]{0,200})?>", _TEXT, r"</")),
    CredentialFormat(
        "password",
        ("assword=", "assword =", "ASSWORD=", "wd=", "WD="),
        _pattern(
            rf"(?i:(?<![A-Za-z])(?:{_PLACE})[ \t]*={_PART};(?:{_PART};){{0,12}}[ \t]*{_PASSWORD})",
            r"(?!/)(?P<value>[^\s;\"'<>\\]{4,400}+)",
        ),
    ),
    CredentialFormat(
        "password",
        ("assword=", "assword =", "ASSWORD=", "wd=", "WD="),
        _pattern(
            rf"(?i:{_PASSWORD})(?!/)(?P<value>[^\s;\"'<>\\]{{4,400}})(?=;(?:{_PART};){{0,12}}",
            rf"[ \t]*(?i:{_PLACE})[ \t]*=)",
        ),
    ),
    CredentialFormat(
        "password",
        ("password=",),
        _pattern(
            r"(?<![\w=])(?:host|hostaddr|dbname|user|port)=[^\s\"'\\]+ (?:[a-z_]+=[^\s\"'\\]* ){0,12}?password=",
            r"(?P<value>[^\s\"'\\]{4,400}+)",
        ),
    ),
    CredentialFormat(
        "password",
        ("password ", "password\\", "password\n", "password\t"),
        _pattern(
            rf"(?<!\w)(?:machine{_BLANK}++[^\s\\]+|default)(?:{_BLANK}++(?:login|account){_BLANK}++[^\s\\]+){{0,2}}",
            rf"{_BLANK}++password{_BLANK}++(?P<value>[^\s\\\"']{{4,400}}+)",
        ),
    ),
    CredentialFormat(
        "password",
        (":5432:", ":5433:", ":6432:", ":*:"),
        _pattern(
            r"(?:(?<![\w.*-])|(?<=\\n))[\w.*-]{1,100}+:(?:5432|5433|6432|\*):[\w.*-]{1,64}+:[\w.*@-]{1,64}+:",
            r"(?P<value>[^\s:\"'/\\]{4,400}+)(?![:/])",
        ),
    ),
    CredentialFormat(
        "docker",
        ('auth"', "auth\\"),
        _pattern(r"\"auth\\*\"\s*:\s*\\*\"(?P<value>[A-Za-z0-9+/]{8,4000}+={0,2})(?=\\*\")"),
    ),
    CredentialFormat(
        "docker",
        ("eyJhdXRocyI6", "ewoJImF1dGhzIj", "ewogICJhdXRocyI6", "ewogICAgImF1dGhzIj", "eyAiYXV0aHMiO"),
        _pattern(
            r"(?<![A-Za-z0-9+/])(?P<value>(?:eyJhdXRocyI6|ewoJImF1dGhzIj|ewogICJhdXRocyI6|ewogICAgImF1dGhzIj|eyAiYXV0aHMiO)",
            r"[A-Za-z0-9+/]{8,8000}+={0,2})",
        ),
    ),
)
