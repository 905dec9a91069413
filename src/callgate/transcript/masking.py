"""Masks secrets before they are written: keys of known formats and the values of secret environment variables.

A secret is replaced by ``[masked:<kind>]``. If the secret has a known prefix, the prefix is kept. For the value of a
variable, the kind is the name of the variable.
"""

import os
import re
from base64 import b64encode
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from json import dumps
from operator import is_
from typing import Any, TypeVar, cast
from urllib.parse import quote, quote_plus, unquote, urlsplit

from callgate.conversation.ports import Drafted, Journal, Masking
from callgate.transcript.credential_formats import LETTER_AND_DIGIT, is_harmless
from callgate.transcript.secret_rules import RULES, rules_for, sieved
from callgate.words.events import CallArrived, Durable
from callgate.words.late_pattern import late_pattern
from callgate.words.messages import CallPart, Message, Opaque, Thinking

T = TypeVar("T")

MASK = late_pattern(r"(\[masked:\w{1,64}\])", re.ASCII)
SHORTEST = 8
"""The minimum length of a variable's value; shorter values would match unrelated words and numbers."""
DEEPEST = 100
_STEP, _GRAM = 8, 4
_UNFINISHED = late_pattern(r"[!-~]*\Z")  # the characters of secrets


_GIVEN_BACK: Mapping[type, str] = {CallArrived: "kept", CallPart: "kept", Thinking: "signature"}
"""Fields that the provider verifies; it would reject the next request if they were masked."""


_LEARNT: dict[str, str] = {}
"""Secrets from ``learn_secret`` with the names for their masks. Global, like the environment of the process."""


def learn_secret(name: str, value: str) -> None:
    """Mask this value in every Masker of the process. Used for secrets in no environment variable, such as a key
    from a keyring."""
    if len(value) >= SHORTEST and (not is_harmless(value) or LETTER_AND_DIGIT.match(value)):
        _LEARNT.setdefault(value, name)


def learn_variables(given: Mapping[str, str]) -> None:
    """Mask the secrets in these environment variables or HTTP headers in every Masker of the process."""
    for name, value in given.items():
        for secret in _secrets_of(name, value):
            _LEARNT.setdefault(secret, name)
            for word in secret.split():
                learn_secret(name, word)


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

    def _update(self) -> None:
        if self._learnt != len(_LEARNT):
            self._learn()

    def _learn(self) -> None:
        """Add the secrets that ``learn_secret`` received after the last call of this method. Idempotent, so several
        threads may run it at the same time."""
        count, values = len(_LEARNT), dict[str, str]()
        for name, secret in (*self._own, *((name, value) for value, name in list(_LEARNT.items())[:count])):
            mask = _mask_of(name)
            for spelling in _spellings(secret):
                values.setdefault(spelling, mask)
        self._values = {each: values[each] for each in sorted(values, key=len, reverse=True)}
        # Every occurrence of such a sieve contains a complete gram that starts at a multiple of the step.
        sieves = {each: sieved(each) for each in self._values}
        least = _STEP + _GRAM - 1
        self._grams = frozenset(s[i : i + _GRAM] for s in sieves.values() if len(s) >= least for i in range(_STEP))
        self._few = {each: mask for each, mask in self._values.items() if len(sieves[each]) < least}
        self._learnt = count

    def _values_for(self, text: str) -> Mapping[str, str]:
        """Return the values that may be in the text, with their masks. The costs hardly depend on the number of
        values, because only the capitals and digits of the text are compared with most of them."""
        sieve = sieved(text)
        grams = (sieve[i : i + _GRAM] for i in range(0, len(sieve), _STEP))
        return self._few if self._grams.isdisjoint(grams) else self._values

    def finds(self, text: str) -> bool:
        """Return True if the JSON of a log line contains a secret, in any JSON escaping.

        Bytes are base64 in a log line and are not checked: use ``noun`` for events with bytes.
        """
        self._update()
        if any(any(rule.spans(text)) for rule in rules_for(text)):
            return True
        values = self._values_for(text)
        return any(value in part for part in MASK.split(text)[::2] for value in values)

    def text(self, text: str) -> str:
        """Return the text with secrets masked. Masking is idempotent.

        All secrets are searched in the original text. Overlapping secrets get one mask. Its kind is the kind of the
        first matching rule or, if no rule matches, of the longest value.
        """
        before = ""
        while before != text:  # a mask may put the beginning of another secret at a word start
            before, text = text, self._once(text)
        return text

    def _once(self, text: str) -> str:
        self._update()
        kinds = [(start, end, f"[masked:{rule.kind}]") for rule in rules_for(text) for start, end in rule.spans(text)]
        masks = [found.span() for found in MASK.finditer(text)]
        values = (
            (at, at + len(value), mask)
            for value, mask in self._values_for(text).items()
            for at in _places(value, text)
            if not any(at < end and start < at + len(value) for start, end in masks)
        )
        out, done = list[str](), 0
        for start, end, mask in _merged([*kinds, *values]):
            out += (text[done:start], mask)
            done = end
        return "".join((*out, text[done:]))

    def draft(self, text: Drafted) -> Drafted:
        """Return the draft with secrets masked and without its last word, which may be the start of a secret."""
        if not text:
            return text
        *pieces, (calls, last) = text
        pieces.append((calls, self.finished(_UNFINISHED.sub("", last))))
        return tuple((calls, self.text(piece)) for calls, piece in pieces if piece)

    def finished(self, text: str) -> str:
        """Return the text without a last part that may be the start of a variable's value."""
        self._update()
        longest = 0
        for value in self._values:
            for length in range(min(len(value) - 1, len(text)), longest, -1):
                if text.endswith(value[:length]):
                    longest = length
                    break
        return text[: len(text) - longest]

    def noun(self, value: T) -> T:
        """Return a noun, mapping, sequence, text or bytes with secrets masked. Without secrets, return the same
        object. Other objects are checked by their ``repr``."""
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


def _places(value: str, text: str) -> Iterator[int]:
    at = text.find(value)
    while at >= 0:
        yield at
        at = text.find(value, at + 1)


def _merged(found: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return the spans in order. Overlapping spans are joined; a joined span gets the mask of the span that comes
    first in ``found``."""
    joined: list[tuple[int, int, int]] = []
    for start, end, rank in sorted((start, end, rank) for rank, (start, end, _) in enumerate(found)):
        if joined and start < joined[-1][1]:
            first, last, best = joined[-1]
            joined[-1] = (first, max(last, end), min(best, rank))
        elif end > start:
            joined.append((start, end, rank))
    return [(start, end, found[rank][2]) for start, end, rank in joined]


# ---- values of variables ------------------------------------------------------------------------------------------

_SECRET_NAME = late_pattern(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|CRED|COOKIE|JWT|PWD|AUTH|SALT|PEPPER|NONCE_SEED|PASSCODE"
    r"|SIGNATURE|MNEMONIC|LICENSE|LICENCE|WEBHOOK|DSN|SSHPASS|(?:ACCESS|BACKUP|RECOVERY)_CODE)S?(?:[_.-]|\d|$)"
    r"|AUTHORIZATION|ENCRYPTION|WEBHOOK|(?:^|_)(?:PASS|PAT|BEARER|PIN|OTP|HMAC|SEED|SID|PW|IV)(?:_|$)|_API$",
    re.IGNORECASE,
)
_SURELY_SECRET = late_pattern(r"(?:SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSCODE)S?(?:[_.-]|\d|$)|(?:^|_)PIN(?:_|$)", re.I)


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
        if len(each) >= SHORTEST and (not is_harmless(each) or (numbers and each.isdecimal()))
    ]


def _password_of(url: str, *, user: bool) -> str | None:
    try:
        parts = urlsplit(url)
        return parts.password or (parts.username if user else None)
    except ValueError:
        return None


def _mask_of(name: str) -> str:
    mask = f"[masked:{re.sub(r'[^A-Za-z0-9_]', '_', name)[:64]}]"
    return "[masked:variable]" if any(any(rule.spans(mask)) for rule in RULES) else mask


def _spellings(value: str) -> set[str]:
    """Return the forms of the value in text, URLs, JSON, nested JSON, and base64 at any offset."""
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
    """A journal that masks secrets and passes the masked values to another journal."""

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
    """Return a journal that masks secrets before it writes to the given journal."""
    return cast(Masking, Masked(journal, masker or Masker()))
