"""The formats of secrets: keys of known services, credentials in headers and addresses, and values that are assigned to
names of secrets."""

import re
from base64 import b64encode

from callgate.transcript.credential_formats import FORMATS, AssignedSecrets, SecretRule
from callgate.words.late_pattern import late_pattern


def _rule(kind: str, starts: tuple[str, ...], pattern: str) -> SecretRule:
    return SecretRule(kind, starts, late_pattern(pattern, re.ASCII))


def _at_a_beginning(start: str, inside: str = "A-Za-z0-9") -> str:
    """Return a pattern which asserts that ``start`` is not inside a longer word.

    Letters and digits of an escape sequence before ``start``, such as ``%3D`` or the ``m`` of a colour code, do not
    belong to a word.
    """
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
    ("vault", "hvs. hvb. hvr.", r"(?=[\w-]{0,30}?\d)[\w-]{24,}"),
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
    ("airtable", "pat", rf"[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_END}"),
    ("alibaba", "LTAI", rf"[A-Za-z0-9]{{20}}{_END}"),
    ("brevo", "xkeysib- xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("buildkite", "bkua_", rf"[0-9a-f]{{40}}{_END}"),
    ("cerebras", "csk-", r"[a-z0-9]{40,}"),
    ("circleci", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    ("databricks", "dapi", rf"[0-9a-f]{{32}}{_END}"),
    ("doppler", "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.", r"(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    ("dynatrace", "dt0c01. dt0s01. dt0s16.", r"[A-Z2-7]{24}\.[A-Z2-7]{64}"),
    ("e2b", "e2b_", rf"[0-9a-f]{{40}}{_END}"),
    ("elevenlabs", "sk_", rf"[0-9a-f]{{48}}{_END}"),
    ("fly", "fo1_ fm1r_ fm1a_ fm2_", r"[\w+/=-]{40,}"),
    ("jfrog", "AKCp", r"[A-Za-z0-9]{69,}"),
    ("langsmith", "lsv2_pt_ lsv2_sk_", r"[0-9a-f]{32}_[0-9a-f]{10}"),
    ("netlify", "nfp_", r"[A-Za-z0-9]{36,}"),
    ("notion", "ntn_", r"[A-Za-z0-9]{40,}"),
    ("notion", "secret_", rf"[A-Za-z0-9]{{43}}{_END}"),
    ("nvidia", "nvapi-", r"[\w-]{60,}"),
    ("pinecone", "pcsk_", r"\w{40,}"),
    ("planetscale", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.-]{32,}"),
    ("postman", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    ("pulumi", "pul-", rf"[0-9a-f]{{40}}{_END}"),
    ("resend", "re_", rf"[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}{_END}"),
    ("rubygems", "rubygems_", rf"[0-9a-f]{{48}}{_END}"),
    ("sentry", "sntrys_ sntryu_", r"[\w+/=-]{40,}"),
    ("sonarqube", "sqp_ squ_ sqa_", rf"[0-9a-f]{{40}}{_END}"),
    ("tailscale", "tskey-", r"(?=[\w-]{0,40}?\d)[\w-]{20,}"),
    ("tavily", "tvly-", r"[A-Za-z0-9-]{32,}"),
)

# Characters between a name and its value; in JSON a line end is a backslash and a letter.
_BLANKS = r"(?:\\+[nrt]|[ \t\r\n])"
_QUOTES = rf"""(?:{_BLANKS}|["'\\])*+"""
_PRIVATE_KEY = (
    r"()-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:"
    r"(?=(?s:.){0,400}?[A-Za-z0-9+/]{24})[^-]*+(?:-(?!----)[^-]*+)*+-----END [A-Z0-9 ]{0,60}-----"
    rf"|{_BLANKS}*+[A-Za-z0-9+/=]{{32,}}+(?:{_BLANKS}++[A-Za-z0-9+/=]{{20,}}+)*)"  # the key is cut off
)
_PRIVATE_KEY_TYPES = ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ")
_CODED_KEYS = [b64encode(f"-----BEGIN {each}PRIVATE KEY".encode()).decode()[:28] for each in _PRIVATE_KEY_TYPES]
_URL_USER = r"""(?:\[masked:\w+\]|(?!\[masked:)[^\s/?#@:"'<>])*+"""
_URL_PASSWORD = (
    rf"(://{_URL_USER}:)(?!\[masked:|(?:\$\w+|\$?\{{+[^{{}}\s/@]*\}}+|%s|\*+)@)"
    r"""[^\s/?#"'<>,]+(?=@[^\s/?#@"'<>])"""
)
# The spellings of api-key and auth-token after the A, each searched literally.
_HEADER_WORDS = (
    *((one, two) for one in ("pi", "PI") for two in ("key", "Key", "KEY")),
    *((one, two) for one in ("uth", "UTH") for two in ("token", "Token", "TOKEN")),
)
_SIGN = r"[\w.~+/=!#%^*@:-]"
_COOKIES = r"[Cc]ookie: (?:[\w.-]{1,80}=[!#-&(-:<-\[\]-~]{0,400}; ){0,20}?"
_MIXED = rf"(?={_SIGN}{{0,100}}?\d)(?={_SIGN}{{0,100}}?[A-Za-z])"
_OPENING = r"\\*+[\"']?"
_SPECIAL = (
    _rule("private_key", ("PRIVATE KEY",), _PRIVATE_KEY),
    _rule("private_key", (_CODED_KEYS[0][:14],), rf"()(?:{'|'.join(_CODED_KEYS)})[A-Za-z0-9+/]{{40,}}={{0,2}}"),
    _rule("terraform", (".atlasv1.",), r"()[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    _rule("azure", ("Q~",), r"()[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~-])"),
    _rule("jwt", (".eyJ",), rf"(eyJ){_at_a_beginning('eyJ', 'A-Za-z0-9_-')}[\w-]{{8,}}+\.eyJ[\w-]{{13,}}+\.[\w-]*+"),
    _rule(
        "authorization",
        ("uthorization", "UTHORIZATION"),
        rf"([Aa](?:uthorization|UTHORIZATION){_QUOTES}[:=]{_QUOTES}(?i:bearer|basic|token|bot|apikey|api-key|ssws|geniekey|splunk){_BLANKS}++)"
        r"(?:(?=[\w.~+/=-][\w.~+/=-]{0,200}?[A-Z0-9])[\w.~+/=-]{8,}|[\w.~+/=-]{32,})",
    ),
    _rule(
        "authorization",
        ("uthorization: ", "UTHORIZATION: "),
        r"([Aa](?:uthorization|UTHORIZATION): )(?=(?:[A-Za-z.~+/=_-]{0,100}?\d){3})[\w.~+/=-]{20,}(?![\w(\[])",
    ),
    _rule("bearer", ("Bearer ",), r"(Bearer )(?=[\w.~+/=-]{0,100}?[0-9])[\w.~+/=-]{20,}"),
    _rule(
        "aws",
        ("aws_secret_access_key", "SECRET_ACCESS_KEY", "ecretAccessKey"),
        rf"((?:aws_secret_access_key|SECRET_ACCESS_KEY|ecretAccessKey){_QUOTES}[:=]{_QUOTES})"
        r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
    ),
    _rule("azure", ("AccountKey=", "AccessKey="), r"((?:AccountKey|AccessKey)=)[A-Za-z0-9+/]{40,}={0,2}"),
    _rule("telegram", (":AA",), r"()\d{8,10}:AA[\w-]{32,33}(?![\w-])"),
    _rule("slack", ("hooks.slack.com/services/",), r"(hooks\.slack\.com/services/)[\w/]{20,}"),
    _rule(
        "webhook",
        ("/api/webhooks/", "/webhookb2/", "hooks.zapier.com/hooks/catch/", "/incomingwebhook/"),
        r"(/api/webhooks/\d+/|/webhookb2/|hooks\.zapier\.com/hooks/catch/|/incomingwebhook/)[\w@./-]{16,}",
    ),
    _rule(
        "api_key",
        tuple(f"{one}-{two}" for one, two in _HEADER_WORDS),
        rf"((?:{'|'.join(f'[Aa]{one}-{two}' for one, two in _HEADER_WORDS)}){_QUOTES}[:=]{_QUOTES})"
        r"(?=[\w.~+/=-]{0,100}?\d)[\w.~+/=-]{16,}",
    ),
    _rule("cookie", ("ookie: ",), rf"({_COOKIES}[\w.-]{{1,80}}=)(?={_SIGN}{{0,100}}?\d){_SIGN}{{16,}}"),
    _rule("signature", ("sig=",), r"([?&]sig=)(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9+/=]){32,}"),
    _rule(
        "password",
        ("-password", "-passphrase", "-passwd", "-pass=", "-passin ", "-passout ", "-storepass ", "-keypass "),
        r"((?:--(?:[a-z]+-){0,4}pass(?:(?:word|phrase|wd)[= ]|=)|-pass(?:in|out) (?:pass:)?|-(?:store|key)pass ))"
        rf"(?!(?:file|env|fd):)(?={_SIGN}{{0,100}}?\d){_SIGN}{{8,}}",
    ),
    _rule(
        "password",
        ("curl ",),
        rf"(curl (?:[^\n|;]{{0,400}}? )?(?:-u|--(?:proxy-)?user)[= ]?{_OPENING}[\w.@%+-]{{1,64}}:)"
        rf"{_MIXED}{_SIGN}{{8,}}",
    ),
    _rule(
        "password",
        ("sshpass ", "docker login ", "redis-cli ", "mysql", "mariadb"),
        r"((?:(?:sshpass|docker login|redis-cli)(?: [^\n|;]{0,200}?)?? -[pa] ?"
        rf"|(?:mysql|mariadb)[a-z-]{{0,10}}(?: [^\n|;]{{0,200}}?)?? -p){_OPENING}){_MIXED}{_SIGN}{{8,}}",
    ),
    _rule(
        "password",
        ("dentified ", "DENTIFIED ", "assword '", "ASSWORD '"),
        rf"((?i:identified (?:with \w+ )?by|(?:with|encrypted) password) \\*'){_MIXED}{_SIGN}{{8,}}(?=\\*')",
    ),
    _rule(
        "token",
        ("-token ", "-token=", "-api-key ", "-api-key=", "-apikey ", "-apikey=", "-secret ", "-secret="),
        rf"(--(?:[a-z]+-)*(?:token|api-?key|secret)[= ])(?={_SIGN}{{0,100}}?\d){_SIGN}{{12,}}",
    ),
    _rule("password", ("://",), _URL_PASSWORD),
    _rule("token", ("://",), r"(://)(?=[\w-]{0,60}?\d)(?=[\w-]{0,60}?[A-Za-z])[\w-]{20,}(?=@[\w\[])"),
)


def _token(kind: str, start: str, body: str) -> SecretRule:
    written = re.escape(start)
    return _rule(kind, (start,), f"({written}){_at_a_beginning(written)}{body}")


RULES = (
    *_SPECIAL,
    *(_token(kind, start, body) for kind, starts, body in _TOKENS for start in starts.split()),
    *FORMATS,
    AssignedSecrets(),
)
"""All rules. Of overlapping matches the first rule names the kind."""


# ---- finding the rules for a text -----------------------------------------------------------------------------------
# Every line of a log is searched for about 250 starts. One search takes 0.5 µs per 1,000 characters, so most starts are
# searched only after a search that many starts share: for a word in small letters, for a start before a long word (one
# pattern), or for the start's capitals and digits in the text's capitals and digits.

_SHARED_WORDS = (
    *("pass", "secret", "credential", "token", "key", "pwd", "hook", "uthorization", "ookie", "sig=", "alue", "psk"),
    *("assword", "wd=", "auth", "env", "dp.", "hv"),
)
_SMALL = bytes(sign for sign in range(256) if not (0x30 <= sign <= 0x39 or 0x41 <= sign <= 0x5A))
_TOKEN_RANKS = range(len(_SPECIAL), len(RULES) - len(FORMATS) - 1)
Starts = list[tuple[str, int]]


def sieved(text: str) -> str:
    """Return the capitals and digits of a text."""
    return text.encode("utf-8", "surrogatepass").translate(None, _SMALL).decode("ascii")


def _shared_word(start: str) -> str | None:
    return next((word for word in _SHARED_WORDS if word in start.lower()), None)


def _before_long_words(sign: str, starts: Starts) -> re.Pattern[str]:
    known = "|".join(f"(?<={re.escape(start)})" for start, _ in starts)
    return re.compile(rf"{sign}(?=[\w+/=.-]{{16}})(?:{known})", re.ASCII)


_STARTS = [(start, rank) for rank, rule in enumerate(RULES) for start in rule.starts]
_by_sign = {sign: [each for each in _STARTS if each[1] in _TOKEN_RANKS and each[0][-1] == sign] for sign in "_-"}
_signs = {_before_long_words(sign, starts): starts for sign, starts in _by_sign.items()}
_others = [each for each in _STARTS if all(each not in starts for starts in _signs.values())]
_words = {word: [each for each in _others if _shared_word(each[0]) == word] for word in _SHARED_WORDS}
_rest = [each for each in _others if _shared_word(each[0]) is None]
_small_starts = [each for each in _rest if not sieved(each[0])]
_capitals = {sieved(start): [each for each in _rest if sieved(each[0]) == sieved(start)] for start, _ in _rest}
_capitals.pop("", None)


def rules_for(text: str) -> list[SecretRule | AssignedSecrets]:
    """Return the rules with a start in the text, in their order."""
    small, capitals = text.lower(), sieved(text)
    ranks = {rank for start, rank in _small_starts if start in text}
    for word, starts in _words.items():
        if word in small:
            ranks.update(rank for start, rank in starts if start in text)
    for part, starts in _capitals.items():
        if part in capitals:
            ranks.update(rank for start, rank in starts if start in text)
    for pattern, starts in _signs.items():
        if pattern.search(text):
            ranks.update(rank for start, rank in starts if start in text)
    return [RULES[rank] for rank in sorted(ranks)]
