"""The formats of secrets: keys of known services, credentials in headers and addresses, and values that are assigned to
names of secrets."""

import re
from collections.abc import Iterator
from functools import cache

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern. Patterns are compiled at their first use, because compiling all of them would
    double the time of a start."""
    return re.compile(pattern, re.ASCII)


@noun
class SecretRule:
    """The format of one kind of secret. A text without any of the ``starts`` cannot match; group 1 of the pattern is
    not masked."""

    kind: str
    starts: tuple[str, ...]
    written: str

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.written)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each secret in the text."""
        if any(start in text for start in self.starts):
            for match in self.pattern.finditer(text):
                yield match.end(1), match.end()

    def found(self, text: str) -> bool:
        return any(True for _ in self.spans(text))


def _at_a_beginning(start: str, inside: str = "A-Za-z0-9") -> str:
    """Return a pattern which asserts that ``start`` is not inside a longer word. Letters and digits of an escape
    sequence before ``start``, such as ``%3D`` or the ``m`` of a colour code, are not part of a word."""
    before = (
        r"\\[abfnrtv]",
        r"\\u[0-9A-Fa-f]{4}",
        r"\\x[0-9A-Fa-f]{2}",
        r"%[0-9A-Fa-f]{2}",
        r"[\[;]\dm",
        r"[\[;]\d\dm",
    )
    escaped = "".join(f"|(?<={each}{start})" for each in before)
    return f"(?:(?<![{inside}]{start}){escaped})"


_END = r"(?![A-Za-z0-9])"
# Kind, start, rest: at least 16 letters, digits, _ or - if the start ends in _ - or a dot. A pattern of open length
# matches as much as possible, so that there is no backtracking.
_TOKENS = (
    ("anthropic", "sk-ant-", r"[\w-]{16,}"),
    ("openai", "sk-proj- sk-svcacct- sk-admin-", r"[\w-]{20,}"),
    ("openrouter", "sk-or-v1-", r"[\w-]{20,}"),
    ("openai", "sk-", r"[A-Za-z0-9]{20,}"),
    ("google", "AIza", r"[\w-]{35}(?![\w-])"),
    ("google", "GOCSPX- ya29.a0", r"[\w-]{20,}"),
    ("aws", "AKIA ASIA", rf"[A-Z0-9]{{16}}{_END}"),
    ("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,}"),
    ("github", "github_pat_", r"\w{50,}"),
    ("gitlab", "glpat- gldt- glrt- glptt-", r"[\w-]{20,}"),
    ("slack", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[\w-]{20,}"),
    ("stripe", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", r"[A-Za-z0-9]{16,}"),
    ("npm", "npm_", r"[A-Za-z0-9]{36,}"),
    ("pypi", "pypi-", r"AgE[\w-]{50,}"),
    ("huggingface", "hf_", r"[A-Za-z0-9]{30,}"),
    ("sendgrid", "SG.", r"[\w-]{16,32}\.[\w-]{32,64}(?![\w-])"),
    ("twilio", "SK", rf"[0-9a-f]{{32}}{_END}"),
    ("digitalocean", "dop_v1_ doo_v1_ dor_v1_", rf"[0-9a-f]{{64}}{_END}"),
    ("vault", "hvs.CAES hvb.AAAA", r"[\w-]{20,}"),
    ("groq", "gsk_", r"[A-Za-z0-9]{40,}"),
    ("xai", "xai-", r"[A-Za-z0-9]{40,}"),
    ("perplexity", "pplx-", r"[A-Za-z0-9]{40,}"),
    ("replicate", "r8_", r"[A-Za-z0-9]{37,}"),
    ("shopify", "shpat_ shpss_ shpca_ shppa_", rf"[0-9A-Fa-f]{{32}}{_END}"),
    ("linear", "lin_api_", r"[A-Za-z0-9]{40,}"),
    ("docker", "dckr_pat_", r"[\w-]{27,}"),
    ("grafana", "glsa_ glc_", r"\w{32,}"),
    ("supabase", "sbp_", rf"[0-9a-f]{{40}}{_END}"),
    ("newrelic", "NRAK-", rf"[A-Z0-9]{{27}}{_END}"),
    ("atlassian", "ATATT3", r"[\w-]{50,}"),
    ("age", "AGE-SECRET-KEY-", r"[A-Z0-9]{50,}"),
    ("figma", "figd_", r"[\w-]{30,}"),
)

# Characters between a name and its value; in JSON a line end is a backslash and a letter.
_BLANKS = r"(?:\\+[nrt]|[ \t\r\n])"
_QUOTES = rf"""(?:{_BLANKS}|["'\\])*+"""
_PRIVATE_KEY = (
    r"()-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:"
    r"(?=(?s:.){0,400}?[A-Za-z0-9+/]{24})[^-]*+(?:-(?!----)[^-]*+)*+-----END [A-Z0-9 ]{0,60}-----"
    rf"|{_BLANKS}*+[A-Za-z0-9+/=]{{32,}}+(?:{_BLANKS}++[A-Za-z0-9+/=]{{20,}}+)*)"  # the key is cut off
)
_URL_PASSWORD = (
    r"""(://[^\s/?#@:"'<>]*:)(?!\[masked:|(?:\$\w+|\$?\{+[^{}\s/@]*\}+|%s|\*+)@)[^\s/?#"'<>,]+(?=@[^\s/?#@"'<>])"""
)
# The spellings of api-key and auth-token after the A, each searched literally.
_HEADER_WORDS = (
    *((one, two) for one in ("pi", "PI") for two in ("key", "Key", "KEY")),
    *((one, two) for one in ("uth", "UTH") for two in ("token", "Token", "TOKEN")),
)
_SIGN = r"[\w.~+/=!#%^*@:-]"
_SPECIAL = (
    SecretRule("private_key", ("PRIVATE KEY",), _PRIVATE_KEY),
    SecretRule(
        "jwt", (".eyJ",), rf"(eyJ){_at_a_beginning('eyJ', 'A-Za-z0-9_-')}[\w-]{{8,}}+\.eyJ[\w-]{{13,}}+\.[\w-]*+"
    ),
    SecretRule(
        "authorization",
        ("uthorization", "UTHORIZATION"),
        rf"([Aa](?:uthorization|UTHORIZATION){_QUOTES}[:=]{_QUOTES}(?i:bearer|basic|token|bot){_BLANKS}++)"
        r"(?:(?=[\w.~+/=-][\w.~+/=-]{0,200}?[A-Z0-9])[\w.~+/=-]{8,}|[\w.~+/=-]{32,})",
    ),
    SecretRule("bearer", ("Bearer ",), r"(Bearer )(?=[\w.~+/=-]{0,100}?[0-9])[\w.~+/=-]{20,}"),
    SecretRule(
        "aws",
        ("aws_secret_access_key", "SECRET_ACCESS_KEY", "ecretAccessKey"),
        rf"((?:aws_secret_access_key|SECRET_ACCESS_KEY|ecretAccessKey){_QUOTES}[:=]{_QUOTES})"
        r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
    ),
    SecretRule("azure", ("AccountKey=", "AccessKey="), r"((?:AccountKey|AccessKey)=)[A-Za-z0-9+/]{40,}={0,2}"),
    SecretRule("telegram", (":AA",), r"()\d{8,10}:AA[\w-]{32,33}(?![\w-])"),
    SecretRule("slack", ("hooks.slack.com/services/",), r"(hooks\.slack\.com/services/)[\w/]{20,}"),
    SecretRule(
        "webhook",
        ("/api/webhooks/", "/webhookb2/", "hooks.zapier.com/hooks/catch/", "/incomingwebhook/"),
        r"(/api/webhooks/\d+/|/webhookb2/|hooks\.zapier\.com/hooks/catch/|/incomingwebhook/)[\w@./-]{16,}",
    ),
    SecretRule(
        "api_key",
        tuple(f"{one}-{two}" for one, two in _HEADER_WORDS),
        rf"((?:{'|'.join(f'[Aa]{one}-{two}' for one, two in _HEADER_WORDS)}){_QUOTES}[:=]{_QUOTES})"
        r"(?=[\w.~+/=-]{0,100}?\d)[\w.~+/=-]{16,}",
    ),
    SecretRule("cookie", ("ookie: ",), rf"([Cc]ookie: [\w.-]{{1,80}}=)(?={_SIGN}{{0,100}}?\d){_SIGN}{{16,}}"),
    SecretRule("signature", ("sig=",), r"([?&]sig=)(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9+/=]){32,}"),
    SecretRule("password", ("--password=", "--password "), rf"(--password[= ])(?={_SIGN}{{0,100}}?\d){_SIGN}{{8,}}"),
    SecretRule(
        "token",
        ("-token ", "-token=", "--api-key", "-secret ", "-secret="),
        rf"(--(?:[a-z]+-)*(?:token|api-key|secret)[= ])(?={_SIGN}{{0,100}}?\d){_SIGN}{{12,}}",
    ),
    SecretRule("password", ("://",), _URL_PASSWORD),
    SecretRule("token", ("://",), r"(://)(?=[\w-]{0,60}?\d)(?=[\w-]{0,60}?[A-Za-z])[\w-]{20,}(?=@[\w\[])"),
)


def _token(kind: str, start: str, body: str) -> SecretRule:
    written = re.escape(start)
    return SecretRule(kind, (start,), f"({written}){_at_a_beginning(written)}{body}")


# ---- values that are assigned to names ---------------------------------------------------------------------------

_SURE = (
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

    Source code is full of such names, so the value decides too: its letters and digits must be mixed. After ``NAME=``,
    the form of an environment variable, less is required. Calls, references and placeholders are no secrets.
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
        if is_code or _REFERENCE.match(value) or is_harmless(value):
            return False
        before = _NAME_BEFORE.search(text[max(at - 64, 0) : at])
        lead, stem = "" if before is None else before["name"], word.lower()
        start = at - len(lead)
        outer = text[max(start - 1, 0) : start]
        sure = re.sub(r"[\d_.-]", "", f"{lead}{stem}").lower().endswith(_SURE)
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
    """Return True for words, numbers, paths and hosts: masking them would make other texts unreadable."""
    if _HARMLESS.fullmatch(value):
        return True
    return value.startswith("/") and not any(_RANDOM.fullmatch(part) for part in value.split("/"))


RULES = (
    *_SPECIAL,
    *(_token(kind, start, body) for kind, starts, body in _TOKENS for start in starts.split()),
    AssignedSecrets(),
)
"""All rules. Of overlapping matches the first rule names the kind."""


# ---- finding quickly ----------------------------------------------------------------------------------------------
# A pattern that starts with one literal character is searched faster than most words. So starts that end in _ or -
# are searched by that character; others first among the capitals and digits of the text, which are few.


def _behind(sign: str, also: str = "") -> re.Pattern[str]:
    starts = [start for _, words, _ in _TOKENS for start in words.split() if start.endswith(sign)]
    known = "|".join(f"(?<={re.escape(start)})" for start in starts)
    return re.compile(rf"{sign}(?=[\w-]{{16}})(?<=[A-Za-z0-9]{sign})(?:{known}{also})", re.ASCII)


AFTER_UNDERSCORE = _behind("_", "|(?<=aws_)secret_access_key")
AFTER_DASH = _behind("-")
_SMALL = bytes(sign for sign in range(256) if not (0x30 <= sign <= 0x39 or 0x41 <= sign <= 0x5A))


def sieved(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").translate(None, _SMALL).decode("ascii")


_SEARCHED_OTHERWISE = ("://", "aws_secret_access_key")
CAPITALS = tuple(
    (sieved(start), start, rule)
    for rule in RULES
    for start in rule.starts
    if start not in _SEARCHED_OTHERWISE and start[-1] not in "_-"
)
"""The starts that are not searched by ``_`` or ``-``: their capitals and digits, the start, its rule."""
