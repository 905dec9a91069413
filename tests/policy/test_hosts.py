"""Hosts: one normal form, patterns on whole labels, and nothing in doubt is ever covered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.policy.hosts import HostPattern, host_of, host_pattern, is_private, is_public_suffix, normal_host
from tests.rows import rows

LONG = ".".join(["a" * 63] * 3 + ["b" * 61])  # 253 characters
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?(\.[a-z]([a-z-]{0,5}[a-z])?){1,3}", fullmatch=True)


@rows(
    ("text", "normal"),
    [
        ("example.com", "example.com"),
        ("EXAMPLE.Com", "example.com"),
        ("example.com.", "example.com"),
        ("a-b.c_d.example", "a-b.c_d.example"),
        ("_dmarc.example.com", "_dmarc.example.com"),
        ("xn--a.example.com", "xn--a.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
        ("localhost", "localhost"),
        ("1.example", "1.example"),
        ("0x7f.example", "0x7f.example"),
        ("1.0x", None),
        ("a.b1", "a.b1"),
        ("example.com:80", "example.com"),
        ("example.com:443", "example.com"),
        ("example.com:1", "example.com:1"),
        ("example.com.:8443", "example.com:8443"),
        ("example.com:65535", "example.com:65535"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1:81", "127.0.0.1:81"),
        ("255.255.255.255", "255.255.255.255"),
        ("[::1]", "[::1]"),
        ("::1", "[::1]"),
        ("[0:0::0001]:443", "[::1]"),
        ("[2001:DB8::1]:8080", "[2001:db8::1]:8080"),
        ("64:ff9b::127.0.0.1", "[64:ff9b::7f00:1]"),
        (LONG, LONG),
        (f"{LONG}.", LONG),
    ],
    ids=ascii,
)
def test_a_host_has_one_normal_form(text: str, normal: str | None) -> None:
    assert normal_host(text) == normal


@rows(
    "text",
    [
        *("", ".", "..", "a..b", ".example.com"),
        *("example.com..", " example.com", "example.com ", "example.com\n", "a b.com"),
        *("exam\tple.com", "a.com\x00", "a.com\x00.example.com", "a%00.example.com"),
        *("a%2eexample.com", "*.example.com", "*"),
        *("-a.com", "a-.com", "a.-b", f"{'a' * 64}.com", f"a.{LONG}"),
        *("a" * 301, "a.com/", "a.com?b", "a.com#b", "a.com\\b"),
        *("u@a.com", "u:p@a.com", "a.com:", "a.com:0", "a.com:080"),
        *("a.com:65536", "a.com:99999", "a.com:100000", "a.com:x"),
        *("a.com:80:80", ":80", "a.com: 80", "a.com:+80", "a.com:٨٠"),
        *("http://a.com", "a.com,b.com", "(a.com)", "a!b.com"),
        *("2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1"),
        *("127.0.1", "127.0.0.01", "127.0.0.0x1", "1.2.3.4.5"),
        *("256.1.1.1", "127.0.0.1.", "1.2.3", "example.0x7f", "example.1"),
        *("0x", "a.0x", "１２７.0.0.1", "127。0。0。1"),
        *("[::1", "::1]", "[]", "[::1]x", "[::1]:", "[[::1]]"),
        *("[127.0.0.1]", "[a.com]", "[::1%eth0]", "fe80::1%1", "[::1%]"),
        *("::ffff:127.0.0.1", "[::ffff:8.8.8.8]", "1::2::3", "::1:80:", "12345::", "a:b:c", "[::1]:[::1]"),
        *("a\uff0eexample.com", "a\u3002example.com", "a\uff61b.com", "ｅxample.com"),
        *("faß.de", "βόλος.com", "Bücher.de"),
        *("a\u200db.com", "a\u200cb.com", "a\u200bb.com", "a\xadb.com"),
        *("\u212aelvin.com", "İ.com", "ﬁ.com", "a\u0301.com"),
        *("xn--ü.com", "\ud800.com", "\u0378.com", "☃" * 60 + ".com", "é" * 70 + ".com", "①.com", "a\u202eb.com"),
    ],
    ids=ascii,
)  # fmt: skip
def test_what_is_in_doubt_is_no_host(text: str) -> None:
    assert normal_host(text) is None
    assert is_private(text)
    for pattern in (HostPattern(""), HostPattern("example.com"), HostPattern("com", below=True)):
        assert not pattern.covers(text)
        assert pattern.may_match(text)


@rows(
    ("url", "host"),
    [
        ("http://example.com", "example.com"),
        ("https://example.com", "example.com"),
        ("HTTPS://Example.COM./a?b#c", "example.com"),
        ("https://example.com?x=@evil.test", "example.com"),
        ("https://example.com#@evil.test", "example.com"),
        ("https://example.com/@evil.test\\x", "example.com"),
        ("https://example.com/?u=http://evil.test/", "example.com"),
        ("https://example.com/grün", "example.com"),
        ("https://example.com:443/", "example.com"),
        ("http://example.com:80/", "example.com"),
        ("https://example.com:8443/", "example.com:8443"),
        ("http://[::1]:3000/", "[::1]:3000"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://example.com/" + "a" * 16_364, "example.com"),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_the_host_of_a_plain_address(url: str, host: str) -> None:
    assert host_of(url) == host


@rows(
    "url",
    [
        *("", "example.com", "//example.com", "https:example.com"),
        *("https:/example.com", "https:///example.com", "https://"),
        *("ftp://example.com", "file:///etc/passwd", "javascript:alert(1)"),
        *("xhttps://example.com", "https ://example.com"),
        *("https://u@example.com", "https://u:p@example.com", "https://example.com@evil.test", "https://@example.com"),
        *("https://example.com\\@evil.test", "https://example.com\\.evil.test"),
        *("https:\\\\example.com", "https:/\\example.com"),
        *("https://example.com:", "https://example.com:0", "https://example.com:99999", "https://example.com:80a"),
        *("https://exa\tmple.com", "https://example.com\n", "\nhttps://example.com"),
        *(" https://example.com", "https://a.com/\r\n"),
        *("https://example.com/a b", "https://a.com/\x00", "https://a.com/\x7f"),
        *("https://a.com/\x85", "https://a.com/\xa0"),
        *("https://a.com/\u2028", "https://a.com/\u2029", "https://a.com/\ud800"),
        *("https://%65xample.com", "https://example%2ecom"),
        *("https://evil.test%00.example.com", "https://evil.test%2f.example.com"),
        *("https://a\uff0eexample.com", "https://2130706433/", "https://0x7f.1/"),
        *("https://0177.0.0.1/", "https://127.1/"),
        *("https://[::1", "https://::1/", "https://1::80/"),
        *("https://[::1%25eth0]/", "https://[::ffff:127.0.0.1]/", "https://[v1.x]/"),
        *("https://example.com;evil.test", "https://example.com,evil.test"),
        *("https://(example.com)", "https://exa<mple.com"),
        "https://example.com/" + "a" * 16_365,
    ],
    ids=lambda value: ascii(value)[:60],
)  # fmt: skip
def test_an_address_in_doubt_has_no_host(url: str) -> None:
    assert host_of(url) is None


@rows(
    ("rule", "covered", "not_covered"),
    [
        (
            "example.com",
            ["example.com", "EXAMPLE.com.", "example.com:80", "example.com:443"],
            ["www.example.com", "evilexample.com", "example.com.evil.test", "example.com:8443", "com", "xample.com"],
        ),
        (
            "*.example.com",
            ["a.example.com", "a.b.example.com.", "xn--a.example.com", "A.EXAMPLE.COM"],
            ["example.com", "evilexample.com", "a.example.com.evil.test", "a.example.com:81", ".example.com"],
        ),
        ("Example.COM.", ["example.com"], ["www.example.com"]),
        ("example.com:8443", ["example.com:8443"], ["example.com", "example.com:443", "example.com:8444"]),
        ("example.com:443", ["example.com", "example.com:80"], ["example.com:8443"]),
        ("*.example.com:81", ["a.example.com:81"], ["a.example.com", "example.com:81"]),
        ("bücher.example", ["xn--bcher-kva.example", "bücher.example"], ["bucher.example"]),
        ("localhost", ["localhost", "LOCALHOST."], ["localhost.evil.test", "a.localhost", "127.0.0.1", "localhost:1"]),
        ("localhost:3000", ["localhost:3000"], ["localhost"]),
        ("127.0.0.1", ["127.0.0.1"], ["2130706433", "0x7f.1", "127.1", "localhost", "127.0.0.1.test", "::ffff:7f00:1"]),
        ("[::1]", ["[::1]", "::1", "[0:0:0:0:0:0:0:1]"], ["[::2]", "127.0.0.1", "localhost"]),
        ("8.8.8.8", ["8.8.8.8"], ["8.8.8.9", "a.8.8.8.8"]),
    ],
    ids=ascii,
)  # fmt: skip
def test_a_pattern_covers_its_hosts_and_no_others(rule: str, covered: list[str], not_covered: list[str]) -> None:
    pattern = host_pattern(rule)
    assert [host for host in covered if not pattern.covers(host)] == []
    assert [host for host in not_covered if pattern.covers(host)] == []


def test_every_host_is_for_own_settings_and_leaves_out_the_own_network() -> None:
    with pytest.raises(ValueError, match="only in your own settings"):
        host_pattern("*")
    every = host_pattern("*", star=True)
    assert every == HostPattern("")
    assert every.covers("evil.test")
    assert every.covers("8.8.8.8")
    assert not every.covers("evil.test:81")
    for private in (
        "localhost",
        "127.0.0.1",
        "[::1]",
        "169.254.169.254",
        "metadata.google.internal",
        "10.0.0.1",
        "box",
    ):
        assert not every.covers(private)
        assert every.may_match(private)


def test_a_deny_touches_every_port_and_only_the_hosts_it_names() -> None:
    pattern = host_pattern("example.com")
    assert pattern.may_match("example.com:8443")
    assert pattern.may_match("EXAMPLE.com.")
    assert not pattern.may_match("www.example.com")
    assert host_pattern("example.com:81").may_match("example.com:81")
    assert not host_pattern("example.com:81").may_match("example.com")
    below = HostPattern("com", below=True)
    assert below.may_match("evil.com:99")
    assert not below.may_match("com")
    assert not below.may_match("evil.org")


@rows(
    ("rule", "why"),
    [
        ("", "write a name"),
        ("https://example.com", "write only its host"),
        ("example.com/path", "a path"),
        ("user@example.com", "a user"),
        ("a\\b", "a path"),
        ("*example.com", "only at the beginning"),
        ("a.*.com", "only at the beginning"),
        ("**.com", "only at the beginning"),
        ("*.*.com", "only at the beginning"),
        ("example.*", "only at the beginning"),
        ("*.", "write a name"),
        ("ｅxample.com", "xn--"),
        ("127.1", "in its usual form"),
        ("0x7f000001", "in its usual form"),
        ("example.com:0", "write a name"),
        ("*.127.0.0.1", "an IP address has no subdomains"),
        ("*.[::1]", "an IP address has no subdomains"),
        ("*.com", "anyone can register a name below com"),
        ("*.co.uk", "below co.uk"),
        ("*.github.io", "below github.io"),
        ("*.localhost", "below localhost"),
    ],
    ids=ascii,
)
def test_a_pattern_that_is_wrong_says_why(rule: str, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace(".", r"\.")):
        host_pattern(rule)


@rows("name", ["com", "co.uk", "com.br", "or.jp", "gov.au", "s3.amazonaws.com", "pages.dev", "net.de"])
def test_a_suffix_for_everybody_is_known(name: str) -> None:
    assert is_public_suffix(name)


@rows("name", ["example.com", "a.co.uk", "uk.co", "example.uk", "a.github.io", "com.example", "co.info", "amazon.de"])
def test_a_name_of_somebody_is_no_suffix(name: str) -> None:
    assert not is_public_suffix(name)


# The tables once more: an entry that is lost is noticed.
GIVEN_AWAY = """
    github.io gitlab.io githubusercontent.com readthedocs.io bitbucket.io codeberg.page herokuapp.com vercel.app
    netlify.app pages.dev workers.dev r2.dev fly.dev deno.dev onrender.com railway.app render.com surge.sh glitch.me
    repl.co replit.app replit.dev web.app firebaseapp.com appspot.com run.app cloudfunctions.net
    googleusercontent.com amazonaws.com s3.amazonaws.com cloudfront.net elasticbeanstalk.com awsapprunner.com
    azurewebsites.net cloudapp.net azureedge.net blob.core.windows.net azurestaticapps.net ngrok.io ngrok.app
    ngrok-free.app ngrok.dev trycloudflare.com loca.lt serveo.net blogspot.com wordpress.com tumblr.com wixsite.com
    weebly.com myshopify.com duckdns.org dyndns.org no-ip.org hopto.org nip.io sslip.io xip.io localtest.me
"""
SECOND_LEVEL = """
    ac co com edu gen go gob gouv gov id ind info ltd me mil ne net nhs nom or org plc pref sch web
"""
OWN_NETWORK = """
    localhost localdomain local internal intranet private corp home lan home.arpa svc metadata.tencentyun.com
    metadata.packet.net
"""


def test_every_entry_of_the_tables_is_there_and_in_use() -> None:
    for suffix in GIVEN_AWAY.split():
        assert normal_host(suffix) == suffix
        with pytest.raises(ValueError, match="anyone"):
            host_pattern(f"*.{suffix}")
    for label in SECOND_LEVEL.split():
        assert is_public_suffix(f"{label}.zz")
        assert not is_public_suffix(f"{label}.zzz")
    for name in OWN_NETWORK.split():
        assert is_private(name)
        assert is_private(f"a.{name}")
        assert is_private(f"a.b.{name}")
        assert not is_private(f"a{name}.com")


@rows(
    "host",
    [
        *("localhost", "LOCALHOST.", "a.localhost", "localhost:3000"),
        *("box", "metadata", "instance-data", "printer.local"),
        *("metadata.google.internal", "host.docker.internal", "kubernetes.default.svc"),
        *("a.cluster.local", "router.lan"),
        *("metadata.tencentyun.com", "127.0.0.1", "127.255.255.255", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.16.0.1"),
        *("172.31.255.255", "192.168.0.1", "169.254.169.254", "169.254.0.1"),
        *("100.64.0.1", "100.100.100.200", "192.0.0.192"),
        *("168.63.129.16", "198.18.0.1", "198.19.255.255", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
        *("192.0.2.1", "198.51.100.1", "203.0.113.1"),
        *("[::]", "[::1]", "::1", "[fe80::1]", "[fc00::1]"),
        *("[fd00:ec2::254]", "[ff02::1]", "[ff0e::1]", "[2001:db8::1]"),
        *("[::ffff:8.8.8.8]", "[::8.8.8.8]", "[64:ff9b::8.8.8.8]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::1]"),
        *("[::ffff:0:127.0.0.1]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[2001:0:1::1]", "2130706433", ""),
        *("[fec0::1]", "[feff:ffff::1]", "fec0::1", "[fe80::1%eth0]", "[fec0::1]:8080", "[4000::1]", "[200::1]"),
        *("[5f00::1]", "[3fff::1]", "[3ffe::1]", "[2001:20::1]", "[2001:4:112::1]", "[100::1]", "[e000::1]"),
        *("[2002:a9fe:a9fe::]", "[2002:c0a8:1::1]", "[2002:6440:1::]", "[2606:4700::5efe:a00:1]"),
        *("[2606:4700::200:5efe:808:808]", "[64:ff9b::a00:1]", "192.88.99.1", "192.0.0.9", "254.1.1.1"),
    ],
)  # fmt: skip
def test_hosts_of_the_own_machine_network_and_cloud_are_private(host: str) -> None:
    assert is_private(host)


@rows(
    "host",
    [
        *("example.com", "evil.test", "local.example.com"),
        *("internal.example.com", "localhost.example.com", "notlocal.com"),
        *("8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "172.15.0.1", "172.32.0.1", "192.167.0.1", "169.253.0.1"),
        *("100.63.255.255", "100.128.0.0", "168.63.129.17", "198.17.255.255"),
        *("198.20.0.0", "223.255.255.255", "192.0.1.1"),
        *("[2606:4700::1111]", "[2002:808:808::]", "example.com:8443"),
        *("[2001:4860:4860::8888]", "[2a00:1450::5efe]", "[2001:200::1]", "192.88.98.1", "192.0.1.0", "223.1.1.1"),
    ],
)  # fmt: skip
def test_hosts_of_the_web_are_not_private(host: str) -> None:
    assert not is_private(host)


@given(
    NAMES, st.sampled_from(["http", "https", "HTTP"]), st.sampled_from(["", "/", "/a@b", "?c", "#d", ":80", ":443/"])
)
def test_the_host_of_an_address_is_the_name_in_it(name: str, scheme: str, rest: str) -> None:
    assert host_of(f"{scheme}://{name}{rest}") == normal_host(name) == name
    assert host_of(f"{scheme}://{name.upper()}.{rest}") == name


@given(st.text(st.sampled_from(".:[]@/\\%#?*-_0123456789abcdefxéａ．\x00 "), max_size=20))
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    normal = normal_host(text)
    if normal is not None:
        assert normal_host(normal) == normal
        assert normal.isascii()
        assert not set(normal) & set("@/\\%#?* \x00")
        assert host_of(f"http://{normal}/") == normal


@given(NAMES, NAMES)
def test_a_pattern_and_its_wildcard_never_cover_the_same_host(name: str, other: str) -> None:
    exact, below = HostPattern(name), HostPattern(name, below=True)
    for host in (name, other, f"{other}.{name}", f"a{name}", f"{name}.{other}"):
        assert not (exact.covers(host) and below.covers(host))
        assert exact.covers(host) == (host == name)
        assert below.covers(host) == host.endswith(f".{name}")
