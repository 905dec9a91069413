"""Finds secrets that are no keys of known formats: values that are assigned to names of secrets, and credentials in
formats of configuration files, such as Kubernetes, XML, connection strings, and the password files of curl, PostgreSQL
and Docker."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator

from callgate.words.late_pattern import late_pattern

SURE = (
    *("password", "passwd", "passphrase", "passcode", "secret", "credential", "credentials"),
    *("apikey", "accesskey", "secretkey", "privatekey", "encryptionkey", "signingkey", "masterkey", "authkey"),
    *("subscriptionkey", "presharedkey", "secretkeybase", "psk"),
    *("accesstoken", "authtoken", "refreshtoken", "apitoken", "bearertoken", "authpass", "apisecret"),
)
"""Endings of names that denote a secret, without separators and in lower case."""
_STEMS = (
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "credential",
    "token",
    "key",
    "key_base",
    "pass",
    "pwd",
    "psk",
)
_SPELLED = tuple(dict.fromkeys(form for stem in _STEMS for form in (stem, stem.title(), stem.upper())))
_NAME_BEFORE = late_pattern(
    r"(?:(?<=\\)(?:u[0-9a-f]{4}|[abfnrtv])|(?<=[\[;])\d{1,2}m)?(?P<name>[\w.-]{0,64})\Z", re.ASCII
)
_DOTTED = late_pattern(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+", re.ASCII)
_ASSIGNED = late_pattern(
    r"(?P<name>[sS]?(?:_\d+|\d+)?)(?P<sign>(?:\\*[\"']\]?)?[ \t]*(?:[:=]=?|=>)[ \t]*)"
    r"(?:[bru]{0,2}(?P<quote>\\*[\"'])(?P<quoted>[^\r\n\"'\\]{8,400}+)(?=\\*[\"'])"
    r"|(?P<bare>[^\s\"'`\\,;<>(){}\[\]|&]{8,400}+)(?![(\[{]))",
    re.ASCII,
)
_REFERENCE = late_pattern(r"[$%<*{]|\[masked:|(?i:your|change|xxx|replace|insert|todo)")
_WORDS = late_pattern(r"(?:[A-Za-z]{1,20}\d{0,4}|\d+)(?:[-_.:/@]+(?:[A-Za-z]{1,20}\d{0,4}|\d+))*", re.ASCII)
LETTER_AND_DIGIT = late_pattern(r"(?=.*[A-Za-z]).*\d", re.DOTALL)


class AssignedSecrets:
    """Finds values that files assign to names of secrets, as in ``.env``, INI, TOML, YAML and JSON files.

    Source code contains many such names, so the value is checked too: it must mix letters and digits. After
    ``NAME=``, the form of an environment variable, the check is weaker. Calls, references and placeholders are not
    secrets.
    """

    kind = "secret"
    starts = _SPELLED

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        for word in self.starts:
            at = text.find(word)
            while at >= 0:
                found = _ASSIGNED.match(text, at + len(word))
                if found is not None and self._is_secret(text, at, word, found):
                    yield found.span("bare" if found["quoted"] is None else "quoted")
                at = text.find(word, at + len(word))

    @staticmethod
    def _is_secret(text: str, at: int, word: str, found: re.Match[str]) -> bool:
        value: str = found["quoted"] or found["bare"]
        is_bare = found["quoted"] is None
        is_code = is_bare and (found["sign"] == ":" or text[found.end() :][:1] in (",", ")"))
        if is_code or is_reference(value) or is_harmless(value):
            return False
        before = _NAME_BEFORE.search(text[max(at - 64, 0) : at])
        lead, stem = "" if before is None else before["name"], word.lower()
        start = at - len(lead)
        outer = text[max(start - 1, 0) : start]
        sure = re.sub(r"[\d_.-]", "", f"{lead}{stem}").lower().endswith(SURE)
        mixed = LETTER_AND_DIGIT.match(value) is not None
        is_variable = f"{lead}{word}".isupper() and found["sign"] in ("=", ": ")
        if outer in ("?", "&") or (is_variable and outer != "("):
            if sure or (stem in ("pass", "pwd") and lead not in ("", "OLD")):
                return _DOTTED.fullmatch(value) is None
            mixed = mixed and " " not in value
            return mixed and (stem == "token" or (len(value) >= 12 and not {*":/"} & {*value}))
        if _WORDS.fullmatch(value) or not mixed or " " in value or text[max(start - 2, 0) : start] == "::":
            return False
        return sure or (stem in ("token", "pass", "pwd") and len(value) >= 16)


_WORD = r"(?:[a-z]{1,15}|[A-Z]{1,15}|[A-Z][a-z]{1,14})"
_HARMLESS = late_pattern(
    rf"{_WORD}(?:[ _.-]{_WORD})?"  # disabled, read-only
    r"|\d{1,11}|(?=\d*[.:])[\d.:]{1,21}"  # numbers, versions, addresses
    r"|(?:~|\.{1,2})[\\/].*|[A-Za-z]:[\\/].*|[\w.-]+\.(?:pem|key|json|ya?ml|toml|ini|conf|cfg|txt|env|crt|pub|p12|sock)"
    r"|(?:[a-z0-9-]+\.)+[a-z]{2,10}(?::\d+)?"  # hosts
    r"|\$\{?\w+\}?|<[^<>]*>|\*+",  # references and placeholders
    re.DOTALL | re.ASCII,
)
_RANDOM = late_pattern(r"(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*\d)[^/]{16,}")


def is_harmless(value: str) -> bool:
    """Return True for words, numbers, paths and hosts. If they were masked, other texts would become unreadable."""
    if _HARMLESS.fullmatch(value):
        return True
    return value.startswith("/") and not any(_RANDOM.fullmatch(part) for part in value.split("/"))


def is_reference(value: str) -> bool:
    """Return True for a reference to a variable, a placeholder, or a value that is already masked."""
    return _REFERENCE.match(value) is not None


# ---- formats of configuration files ---------------------------------------------------------------------------------


class SecretRule:
    """The format of one kind of secret. A text without any of the ``starts`` cannot match; group 1 of the pattern is
    not masked."""

    def __init__(self, kind: str, starts: tuple[str, ...], pattern: re.Pattern[str]) -> None:
        self.kind = kind
        self.starts = starts
        self.pattern = pattern

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each secret in the text."""
        if any(start in text for start in self.starts):
            for found in self.pattern.finditer(text):
                if (span := self.secret(found)) is not None:
                    yield span

    def secret(self, found: re.Match[str]) -> tuple[int, int] | None:
        """Return the span of the secret in a match; None if the match contains no secret."""
        return found.end(1), found.end()


class CredentialFormat(SecretRule):
    """A format whose pattern has a group ``value`` or ``quoted`` for the secret, and a group ``name`` if the name of
    the value decides whether it is a secret."""

    def secret(self, found: re.Match[str]) -> tuple[int, int] | None:
        groups = found.groupdict()
        group = "value" if groups.get("quoted") is None else "quoted"
        value, name = found[group], groups.get("name")
        is_secret = _is_login(value) if self.kind == "docker" else name is None or _denotes(name, value)
        return found.span(group) if is_secret and not is_reference(value) else None


def _denotes(name: str, value: str) -> bool:
    """Return True if a file that assigns this value to this name would contain a secret."""
    if re.sub(r"[\d_.:-]", "", name).lower().endswith(SURE):
        name = re.sub(r"\W", "_", name).upper()
    return any(AssignedSecrets().spans(f'{name}="{value}"'))


def _is_login(value: str) -> bool:
    """Return True for ``user:password`` in base64, and for the content of a Docker password file."""
    try:
        decoded = b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (Error, ValueError):
        return False
    return b":" in decoded and decoded.isascii()


def _pattern(*parts: str) -> re.Pattern[str]:
    return late_pattern("".join(parts), re.ASCII)


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
    CredentialFormat(
        "secret",
        ("ENV ", "ARG ", "setenv ", "set -"),
        _pattern(r"(?<![A-Z_])(?:ENV|ARG|setenv|set -[a-zA-Z]{1,3}) (?P<name>[A-Z][A-Z0-9_]{2,64}) +", _BARE),
    ),
    CredentialFormat(
        "secret",
        ("define(", "putenv(", "setenv(", "setdefault("),
        _pattern(r"(?:define|(?:put|set)env|setdefault)\(\\*[\"'](?P<name>\w{3,64})\\*[\"'], ?", _QUOTED),
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
