"""Masks secrets before they are written: keys of known formats and the values of secret environment variables.

A secret is replaced by ``[masked:<kind>]``, after its known prefix if it has one. The kind of a variable's value is
the variable's name. Few lines contain a secret, so the speed depends on ``_suspects``.
"""

import os
import re
from base64 import b64encode
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from json import dumps
from operator import is_
from typing import Any, TypeVar, cast
from urllib.parse import quote, quote_plus, unquote, urlsplit

from callgate.conversation.ports import Drafted, Journal, Masking
from callgate.words.events import CallArrived, Durable
from callgate.words.late_pattern import late_pattern
from callgate.words.messages import CallPart, Message, Opaque, Thinking
from callgate.words.noun import noun

T = TypeVar("T")

MASK = late_pattern(r"(\[masked:\w{1,64}\])", re.ASCII)
SHORTEST = 8
"""The minimum length of a variable's value; shorter values would match unrelated words and numbers."""
DEEPEST = 100
_UNFINISHED = late_pattern(r"[!-~]*\Z")  # the characters of secrets


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

    def found(self, text: str) -> bool:
        return any(start in text for start in self.starts) and self.pattern.search(text) is not None

    def masked(self, text: str) -> str:
        if not any(start in text for start in self.starts):
            return text
        return self.pattern.sub(lambda match: f"{match[1]}[masked:{self.kind}]", text)


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
        ("uthorization",),
        rf"([Aa]uthorization{_QUOTES}[:=]{_QUOTES}(?i:bearer|basic|token|bot){_BLANKS}++)"
        r"(?=[\w.~+/=-][\w.~+/=-]{0,200}?[A-Z0-9])[\w.~+/=-]{8,}",
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
    SecretRule("password", ("://",), _URL_PASSWORD),
)


def _token(kind: str, start: str, body: str) -> SecretRule:
    written = re.escape(start)
    return SecretRule(kind, (start,), f"({written}){_at_a_beginning(written)}{body}")


RULES = (*_SPECIAL, *(_token(kind, start, body) for kind, starts, body in _TOKENS for start in starts.split()))
"""All rules in the order of their application. Private keys come first, because they may contain other matches."""


# ---- finding quickly ----------------------------------------------------------------------------------------------
# A pattern that starts with one literal character is searched faster than most words. So starts that end in _ or -
# are searched by that character; others first among the capitals and digits of the text, which are few.


def _behind(sign: str, also: str = "") -> re.Pattern[str]:
    starts = [start for _, words, _ in _TOKENS for start in words.split() if start.endswith(sign)]
    known = "|".join(f"(?<={re.escape(start)})" for start in starts)
    return re.compile(rf"{sign}(?=[\w-]{{16}})(?<=[A-Za-z0-9]{sign})(?:{known}{also})", re.ASCII)


_AFTER_UNDERSCORE = _behind("_", "|(?<=aws_)secret_access_key")
_AFTER_DASH = _behind("-")
_SMALL = bytes(sign for sign in range(256) if not (0x30 <= sign <= 0x39 or 0x41 <= sign <= 0x5A))
_STEP = 8
_GRAM = 4


def _sieved(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").translate(None, _SMALL).decode("ascii")


_SEARCHED_OTHERWISE = ("://", "aws_secret_access_key")
_CAPITALS = tuple(
    (_sieved(start), start, rule)
    for rule in RULES
    for start in rule.starts
    if start not in _SEARCHED_OTHERWISE and start[-1] not in "_-"
)
"""The starts that are not searched by ``_`` or ``-``: their capitals and digits, the start, its rule."""


_GIVEN_BACK: Mapping[type, str] = {CallArrived: "kept", CallPart: "kept", Thinking: "signature"}
"""Fields that the provider verifies; it would reject the next request if they were masked."""


_LEARNT: dict[str, str] = {}
"""Secrets from ``learn_secret`` with the names for their masks. Global, like the environment of the process."""


def learn_secret(name: str, value: str) -> None:
    """Mask this value in every Masker of the process. For secrets that are in no environment variable, such as a key
    from a keyring."""
    if len(value) >= SHORTEST and not _is_harmless(value):
        _LEARNT.setdefault(value, name)


class Masker:
    """Masks secrets in texts and nouns. Thread-safe."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """Create a masker for the values of secret variables in ``environment``, by default the environment of the
        process."""
        given = dict(os.environ if environment is None else environment)
        self._own = [(name, secret) for name in sorted(given) for secret in _secrets_of(name, given[name])]
        self._learnt = -1
        self._values: dict[str, str] = {}
        self._learn()

    def _learn(self) -> None:
        """Add the secrets that ``learn_secret`` received after the last call. Idempotent, so threads may run it at
        the same time."""
        count, values = len(_LEARNT), dict[str, str]()
        for name, secret in (*self._own, *((name, value) for value, name in list(_LEARNT.items())[:count])):
            mask = _mask_of(name)
            for spelling in _spellings(secret):
                values.setdefault(spelling, mask)
        self._values = {each: values[each] for each in sorted(values, key=len, reverse=True)}
        sieves = {each: _sieved(each) for each in self._values}
        # Every occurrence of such a sieve contains a complete gram that starts at a multiple of the step.
        least = _STEP + _GRAM - 1
        long = [sieve for sieve in sieves.values() if len(sieve) >= least]
        self._grams = frozenset(sieve[i : i + _GRAM] for sieve in long for i in range(_STEP))
        self._others = tuple(each for each, sieve in sieves.items() if len(sieve) < least)
        self._learnt = count

    def finds(self, text: str) -> bool:
        """Return True if the JSON of a log line contains a secret, in any JSON escaping.

        Bytes are base64 in a log line and are not checked: use ``noun`` for events with bytes.
        """
        if not self._suspects(text):
            return False
        unmasked = MASK.split(text)[::2]
        return any(value in part for value in self._values for part in unmasked) or any(
            rule.found(text) for rule in RULES
        )

    def text(self, text: str) -> str:
        """Return the text with secrets masked. Masking is idempotent."""
        if not self._suspects(text):
            return text
        before = ""
        while before != text:  # terminates: each round leaves fewer characters outside of masks
            before = text
            text = RULES[0].masked(text)
            for value in [each for each in self._values if each in text]:
                text = self._without(value, text)
            for rule in RULES[1:]:
                text = rule.masked(text)
        return text

    def draft(self, text: Drafted) -> Drafted:
        """Return the draft with secrets masked and without its last word, which may be the start of a secret."""
        if not text:
            return text
        *pieces, (calls, last) = text
        pieces.append((calls, self.finished(_UNFINISHED.sub("", last))))
        return tuple((calls, self.text(piece)) for calls, piece in pieces if piece)

    def finished(self, text: str) -> str:
        """Return the text without an end that may be the start of a variable's value."""
        if self._learnt != len(_LEARNT):
            self._learn()
        longest = 0
        for value in self._values:
            for length in range(min(len(value) - 1, len(text)), longest, -1):
                if text.endswith(value[:length]):
                    longest = length
                    break
        return text[: len(text) - longest]

    def noun(self, value: T) -> T:
        """Return a noun, mapping, sequence, text or bytes with secrets masked, or the same object if there are none.
        Other objects are checked by their ``repr``."""
        return cast(T, self._masked(value, ()))

    def _masked(self, value: Any, above: tuple[int, ...]) -> Any:
        if value is None or isinstance(value, bool | int | float | Enum):
            return value
        if isinstance(value, str | bytes):
            masked = self.text(value) if isinstance(value, str) else self._masked_bytes(value)
            return value if masked == value else masked
        if len(above) == DEEPEST or id(value) in above:
            return self._masked_repr(value)
        above = (*above, id(value))
        if isinstance(value, Message):
            return self._masked_message(value, above)
        if isinstance(value, Mapping):
            return self._masked_mapping(cast(Mapping[Any, Any], value), above)
        if isinstance(value, tuple | list):
            items = cast(Sequence[Any], value)
            parts = [self._masked(item, above) for item in items]
            if all(map(is_, parts, items)):
                return items
            return tuple(parts) if isinstance(value, tuple) else parts
        if is_dataclass(value) and not isinstance(value, type):
            olds = {field.name: getattr(value, field.name) for field in fields(value)}
            back = _GIVEN_BACK.get(type(value))
            news = {name: old if name == back else self._masked(old, above) for name, old in olds.items()}
            changed = {name: new for name, new in news.items() if new is not olds[name]}
            return replace(value, **changed) if changed else value
        return self._masked_repr(value)

    def _masked_message(self, message: Message, above: tuple[int, ...]) -> Message:
        """Return the message with secrets masked. Opaque parts of the provider's own message are unchanged, because
        the provider checks them."""
        own = message.role == "assistant"
        parts = tuple(part if own and isinstance(part, Opaque) else self._masked(part, above) for part in message.parts)
        return message if all(map(is_, parts, message.parts)) else replace(message, parts=parts)

    def _masked_mapping(self, mapping: Mapping[Any, Any], above: tuple[int, ...]) -> Mapping[Any, Any]:
        out: dict[Any, Any] = {}
        for key, item in mapping.items():
            shown = new = self._masked(key, above)
            count = 1
            while new is not key and (new in out or new in mapping):
                count += 1
                new = f"{shown} ({count})"
            out[new] = self._masked(item, above)
        same = all(map(is_, out, mapping)) and all(map(is_, out.values(), mapping.values()))
        return mapping if same else out

    def _masked_repr(self, value: Any) -> Any:
        try:
            shown = repr(value)
        except Exception:  # a value that cannot be checked is removed
            return "[masked:unreadable]"
        masked = self.text(shown)
        return value if masked == shown else masked

    def _masked_bytes(self, data: bytes) -> bytes:
        for mark, coding in ((BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be")):
            if data.startswith(mark) and len(data) % 2 == 0:
                data = self.text(data.decode(coding, "surrogatepass")).encode(coding, "surrogatepass")
        return self.text(data.decode("latin-1")).encode("latin-1")

    def _suspects(self, text: str) -> bool:
        """Return True if the text may contain a secret. It runs for every line; the order of the checks was chosen
        by measurement."""
        if self._learnt != len(_LEARNT):
            self._learn()
        if _AFTER_UNDERSCORE.search(text) or _AFTER_DASH.search(text):
            return True
        sieved = _sieved(text)
        if not self._grams.isdisjoint([sieved[i : i + _GRAM] for i in range(0, len(sieved), _STEP)]):
            return True
        for sieve, start, rule in _CAPITALS:
            if sieve in sieved and start in text and rule.pattern.search(text):
                return True
        return any(map(text.__contains__, self._others)) or ("@" in text and "://" in text)

    def _without(self, value: str, text: str) -> str:
        pieces = MASK.split(text)
        pieces[::2] = [piece.replace(value, self._values[value]) for piece in pieces[::2]]
        return "".join(pieces)


# ---- values of variables ------------------------------------------------------------------------------------------

_SECRET_NAME = late_pattern(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|CRED|COOKIE|JWT|PWD|AUTH|SALT|PEPPER|NONCE_SEED|PASSCODE"
    r"|SIGNATURE|MNEMONIC|LICENSE|LICENCE|WEBHOOK|DSN|SSHPASS|(?:ACCESS|BACKUP|RECOVERY)_CODE)S?(?:[_.-]|\d|$)"
    r"|AUTHORIZATION|ENCRYPTION|WEBHOOK|(?:^|_)(?:PASS|PAT|BEARER|PIN|OTP|HMAC|SEED|SID|PW|IV)(?:_|$)|_API$",
    re.IGNORECASE,
)
_SURELY_SECRET = late_pattern(r"(?:SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSCODE)S?(?:[_.-]|\d|$)|(?:^|_)PIN(?:_|$)", re.I)
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


def _secrets_of(name: str, value: str) -> list[str]:
    """Return the secrets in an environment variable: the password of a URL, the user name of a DSN, the URL of a
    webhook, or the whole value if the variable has the name of a secret."""
    value = value.strip()
    if "://" in value[:40]:
        password = _password_of(value, user="DSN" in name.upper())
        found = [password, unquote(password)] if password is not None else []
        if "WEBHOOK" in name.upper():  # the URL itself is the secret
            found.append(value)
    else:
        found = [value] if _SECRET_NAME.search(name) else []
    numbers = _SURELY_SECRET.search(name) is not None  # numbers in such variables are secret too
    return [
        each
        for each in dict.fromkeys(found)
        if len(each) >= SHORTEST and (not _is_harmless(each) or (numbers and each.isdecimal()))
    ]


def _password_of(url: str, *, user: bool) -> str | None:
    try:
        parts = urlsplit(url)
        return parts.password or (parts.username if user else None)
    except ValueError:
        return None


def _is_harmless(value: str) -> bool:
    """Return True for words, numbers, paths and hosts: masking them would make other texts unreadable."""
    if _HARMLESS.fullmatch(value):
        return True
    return value.startswith("/") and not any(_RANDOM.fullmatch(part) for part in value.split("/"))


def _mask_of(name: str) -> str:
    mask = f"[masked:{re.sub(r'[^A-Za-z0-9_]', '_', name)[:64]}]"
    return "[masked:variable]" if any(rule.found(mask) for rule in RULES) else mask


def _spellings(value: str) -> set[str]:
    """Return the value as it appears in text, URLs, JSON, nested JSON, and base64 at any offset."""
    data = value.encode("utf-8", "surrogatepass")
    plain = {value, quote(data, safe=""), quote(data), quote_plus(data), data.decode("latin-1")}
    plain |= {value.replace("/", "\\/"), re.sub("%..", lambda match: match[0].lower(), quote(data, safe=""))}
    for _ in range(3):
        plain |= {dumps(each, ensure_ascii=flag)[1:-1] for each in plain for flag in (True, False)}
    for shift in range(3):
        coded = b64encode(b"\0" * shift + data).decode("ascii").rstrip("=")
        whole = (shift + len(data)) * 8 // 6  # characters that do not depend on the following bytes
        inner = coded[-(-shift * 8 // 6) : whole]
        plain |= {inner, inner.replace("+", "-").replace("/", "_")}
    return plain


class Masked:
    """A journal that masks secrets and passes everything on to another journal."""

    def __init__(self, journal: Journal, masker: Masker) -> None:
        self._journal = journal
        self._masker = masker
        self.clean = masker.noun

    def append(self, event: Durable) -> None:
        self._journal.append(self._masker.noun(event))

    def draft(self, message_id: str, text: Drafted) -> None:
        self._journal.draft(message_id, self._masker.draft(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)


def masked(journal: Journal, masker: Masker | None = None) -> Masking:
    """Return a journal that masks secrets before it writes to this journal."""
    return cast(Masking, Masked(journal, masker or Masker()))
