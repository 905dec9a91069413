"""Finds values that are assigned to names of secrets."""

import re
from collections.abc import Iterator

from callgate.words.late_pattern import late_pattern

SURE = (
    *("password", "passwd", "passphrase", "passcode", "secret", "credential", "credentials"),
    *("apikey", "accesskey", "secretkey", "privatekey", "encryptionkey", "signingkey", "masterkey", "authkey"),
    *("accesstoken", "authtoken", "refreshtoken", "apitoken", "bearertoken", "authpass", "apisecret"),
)
"""Endings of names that denote a secret, without separators and in lower case."""
_STEMS = ("password", "passwd", "passphrase", "passcode", "secret", "credential", "token", "key", "pass", "pwd")
_SPELLED = tuple(dict.fromkeys(form for stem in _STEMS for form in (stem, stem.title(), stem.upper())))
_NAME_BEFORE = late_pattern(
    r"(?:(?<=\\)(?:u[0-9a-f]{4}|[abfnrtv])|(?<=[\[;])\d{1,2}m)?(?P<name>[\w.-]{0,64})\Z", re.ASCII
)
_DOTTED = late_pattern(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+", re.ASCII)
_ASSIGNED = late_pattern(
    r"(?P<name>[sS]?(?:_\d+|\d+)?)(?P<sign>(?:\\*[\"'])?[ \t]*(?:[:=]=?|=>)[ \t]*)"
    r"(?:(?P<quote>\\*[\"'])(?P<quoted>[^\r\n\"'\\]{8,400}+)(?=\\*[\"'])"
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

    def found(self, text: str) -> bool:
        return any(True for _ in self.spans(text))

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
