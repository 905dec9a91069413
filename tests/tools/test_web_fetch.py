"""WebFetch against real servers on the loopback interface: which addresses are reached, and what comes of a page."""

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Session, ToolFailure, load_config
from callgate.host.page_fetch import FetchedPage
from callgate.testing import PlainRun, ScriptedModel, call, say, turn
from callgate.tools.builtin.web_fetch import page_result, web_fetch
from callgate.words.errors import UsageError
from callgate.words.traits import shared
from tests.tools.web_kit import HTML, Site, fetch, serving

pytestmark = pytest.mark.spec("FETCH-1")


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


def moved(to: str, status: int = 302) -> Any:
    return status, {"Location": to}, b""


def page(body: bytes, kind: str = "text/plain", **more: Any) -> FetchedPage:
    given = {"url": "https://e.test/", "status": 200, "reason": "OK", **more}
    return FetchedPage(content_type=kind, body=body, **given)


# ---- addresses ----------------------------------------------------------------------------------------------------


def test_a_page_is_fetched_by_the_checked_address_under_its_own_name(site: Site) -> None:
    site.pages["/a%20b?q=%C3%A9&r=1"] = 200, {"Content-Type": "text/plain"}, b"hello"
    found = fetch({"site.test": ["127.0.0.1"]}).run(site.url("/a b?q=é&r=1", "site.test").replace(" ", "%20"))
    assert (found.status, found.body, found.cut, found.moved_to) == (200, b"hello", False, None)
    ((_, headers),) = site.asked
    assert headers["host"] == f"site.test:{site.port}"
    assert headers["user-agent"] == "callgate/test"


def test_every_address_of_a_name_is_checked_before_one_is_reached(site: Site) -> None:
    names = {"one.test": ["10.0.0.1"], "mixed.test": ["127.0.0.1", "169.254.169.254"]}
    for name, address in (("one.test", "10.0.0.1"), ("mixed.test", "169.254.169.254")):
        with pytest.raises(ToolFailure, match=f"{name}.* is at {address}, an address of this machine"):
            fetch(names).run(site.url("/", name))
    assert site.asked == []


def test_a_name_that_leads_elsewhere_a_moment_later_is_resolved_once(site: Site) -> None:
    """DNS rebinding: the check and the connection use one and the same answer."""
    site.pages["/"] = 200, {"Content-Type": "text/plain"}, b"the checked one"
    asked: list[str] = []
    turning = fetch()
    turning._resolve = lambda name, port: asked.append(name) or (["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"])  # pyright: ignore
    assert turning.run(site.url("/", "turns.test")).body == b"the checked one"
    assert asked == ["turns.test"]


def test_a_redirection_is_resolved_and_checked_anew(site: Site) -> None:
    """The name pointed to the checked address first and to another one afterwards."""
    site.pages["/"] = moved("/next")
    asked: list[str] = []
    turning = fetch()
    turning._resolve = lambda name, port: asked.append(name) or (["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"])  # pyright: ignore
    with pytest.raises(ToolFailure, match=r"is at 10\.0\.0\.1"):
        turning.run(site.url("/", "turns.test"))
    assert [path for path, _ in site.asked] == ["/"]


def test_redirections_on_the_same_host_are_followed_and_others_are_shown(site: Site) -> None:
    site.pages |= {
        "/": moved("/two", 301),
        "/two": moved("three", 307),
        "/three": (200, {"Content-Type": "text/plain"}, b"there"),
        "/away": moved("http://other.test/x"),
        "/port": moved("http://site.test:1/x"),
        "/meta": moved("http://169.254.169.254/latest/meta-data/"),
        "/file": moved("file:///etc/passwd"),
        "/round": moved("/round"),
        "/nowhere": (302, {"Content-Type": "text/plain"}, b"no place"),
    }
    names = {"site.test": ["127.0.0.1"]}
    found = fetch(names).run(site.url("/", "site.test"))
    assert (found.url, found.body) == (site.url("/three", "site.test"), b"there")
    for path, target in (
        ("/away", "http://other.test/x"),
        ("/port", "http://site.test:1/x"),
        ("/meta", "http://169.254.169.254/latest/meta-data/"),
        ("/file", "file:///etc/passwd"),
    ):
        assert fetch(names).run(site.url(path, "site.test")).moved_to == target
    with pytest.raises(ToolFailure, match="redirects more than 5 times"):
        fetch(names).run(site.url("/round", "site.test"))
    assert fetch(names).run(site.url("/nowhere", "site.test")).body == b"no place"


def test_an_address_that_is_not_plain_is_refused_without_a_connection() -> None:
    rows = (
        "ftp://e.test/",
        "http://user:word@e.test/",
        "http://0x7f.1/",
        "http://e.test\\@x/",
        "e.test",
        "http://",
        "http://[::1%25x]/",
    )
    for url in rows:
        with pytest.raises(ToolFailure, match="is not a valid http or https URL"):
            fetch().run(url)


PRIVATE = (
    *("127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
    *("168.63.129.16", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254"),
    *("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1", "fe80::1%eth0"),
)


def test_the_tool_refuses_addresses_of_the_machine_its_network_and_its_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr("callgate.host.page_fetch.PageFetch", lambda rules, agent, most: made.append(rules) or Stub())
    assert run_tool("https://e.test/", web_fetch()) == "fetched"
    (rules,) = made
    assert [address for address in PRIVATE if not rules.refuses(address, "e.test")] == []
    assert [address for address in ("93.184.215.14", "2606:4700::1111") if rules.refuses(address, "e.test")] == []
    run_tool("https://e.test/", web_fetch(private=["localhost:8000"]))
    assert [made[1].refuses("127.0.0.1", host) for host in ("localhost:8000", "localhost", "e.test")] == [
        False,
        True,
        True,
    ]
    with pytest.raises(UsageError, match="private= must contain hosts"):
        web_fetch(private=["http://localhost"])


class Stub:
    def run(self, url: str) -> FetchedPage:
        return page(b"fetched")

    def stop(self) -> None: ...


def run_tool(url: str, made: Any) -> str:
    return asyncio.run(made.run({"url": url}, PlainRun())).text.splitlines()[-1]


def test_its_traits_say_that_it_reads_the_network() -> None:
    traits = web_fetch().traits({"url": "https://e.test/x"})
    assert (traits.effects, traits.locks, traits.declared.address, traits.interrupt) == (
        "none",
        shared,
        "https://e.test/x",
        "cancel",
    )


# ---- limits -------------------------------------------------------------------------------------------------------


def test_no_more_than_the_limit_is_read_packed_or_not(site: Site) -> None:
    big = b"x" * 3_000_000
    site.pages["/plain"] = 200, {"Content-Type": "text/plain"}, big
    site.pages["/packed"] = 200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, gzip.compress(big)
    site.pages["/small"] = 200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, gzip.compress(b"small")
    for path in ("/plain", "/packed"):
        found = fetch(most=1_000).run(site.url(path))
        assert (len(found.body), found.cut) == (1_000, True)
    assert fetch().run(site.url("/small")).body == b"small"
    exact = fetch(most=5).run(site.url("/small"))
    assert (exact.body, exact.cut) == (b"small", False)


def test_nothing_is_read_behind_the_end_of_a_packed_answer(site: Site) -> None:
    hung_up = threading.Event()

    def endless(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n")
        request.wfile.write(gzip.compress(b"small"))
        try:
            for _ in range(500):
                request.wfile.write(b"\0" * 65_536)
        except OSError:
            hung_up.set()

    site.pages["/"] = endless
    assert fetch().run(site.url()).body == b"small"
    assert hung_up.wait(10)


def test_a_small_packed_answer_does_not_fill_the_memory(site: Site) -> None:
    site.pages["/"] = (
        200,
        {"Content-Type": "text/plain", "Content-Encoding": "gzip"},
        gzip.compress(bytes(50_000_000), 1),
    )
    tracemalloc.start()
    try:
        found = fetch(most=1_000).run(site.url())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(found.body), found.cut) == (1_000, True)
    assert peak < 5_000_000


def test_answers_that_are_none_fail_in_words(site: Site) -> None:
    def garbage(handler: Any) -> None:
        handler.wfile.write(b"\x00\x01 not http\r\n\r\n")

    def endless(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n")

    site.pages["/garbage"], site.pages["/endless"] = garbage, endless
    site.pages["/short"] = 200, {"Content-Type": "text/plain", "Content-Length": "10"}, b"abc"
    site.pages["/brotli"] = 200, {"Content-Encoding": "br"}, b"abc"
    site.pages["/torn"] = 200, {"Content-Encoding": "gzip"}, b"not packed"
    for path in ("/garbage", "/endless", "/torn"):
        with pytest.raises(ToolFailure, match="could not be fetched: "):
            fetch().run(site.url(path))
    with pytest.raises(ToolFailure, match="compressed as 'br'"):
        fetch().run(site.url("/brotli"))
    with pytest.raises(ToolFailure, match=r"could not be fetched: .*refused"):
        fetch().run("http://127.0.0.1:1/")


def test_a_silent_server_is_left_when_the_fetch_is_stopped(site: Site) -> None:
    arrived, leave = threading.Event(), threading.Event()

    def silent(handler: Any) -> None:
        arrived.set()
        leave.wait(10)

    site.pages["/"] = silent
    fetching = fetch()
    said: list[str] = []

    def run() -> None:
        try:
            fetching.run(site.url())
        except ToolFailure as failure:
            said.append(str(failure))

    thread = threading.Thread(target=run)
    thread.start()
    assert arrived.wait(10)
    fetching.stop()
    thread.join(10)
    leave.set()
    assert said == [f"{site.url()} could not be fetched: the request was cancelled"]
    with pytest.raises(ToolFailure, match="the request was cancelled"):
        fetching.run(site.url())


def test_a_call_asks_by_host_and_its_time_is_limited(site: Site, tmp_path: Path) -> None:
    leave = threading.Event()

    def silent(handler: Any) -> None:
        leave.wait(10)

    site.pages["/"] = silent
    made = web_fetch(private=[f"127.0.0.1:{site.port}"], seconds=0.1)
    calls = [call("WebFetch", url="https://example.com/x"), call("WebFetch", url=site.url())]

    async def main() -> tuple[Any, Any]:
        config = load_config(tmp_path, allow=[f"WebFetch(domain:127.0.0.1:{site.port})"], home=tmp_path)
        async with Session(ScriptedModel(turn(*calls), turn(say("Done."))), [made], config=config) as session:
            await session.send("go")
            (question,) = session.questions
            await session.send(Answer(question.no()), until="idle")
            return question, session.messages[2].parts[1]

    question, result = asyncio.run(main())
    leave.set()
    assert question.arguments == {"url": "https://example.com/x"}
    assert "WebFetch(domain:example.com)" in [choice.rule for choice in question.choices]
    assert (result.is_error, "0.1 s" in result.content[0].text) == (True, True), result


# ---- encrypted ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_an_encrypted_page_needs_a_certificate_for_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    named = ["-subj", "/CN=safe.test", "-addext", "subjectAltName=DNS:safe.test"]
    subprocess.run([*made, *named, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    names = {name: ["127.0.0.1"] for name in ("safe.test", "other.test")}
    with serving() as site:
        site._server.socket = context.wrap_socket(site._server.socket, server_side=True)  # pyright: ignore
        site.pages["/"] = 200, {"Content-Type": "text/plain"}, b"sealed"
        site.pages["/down"] = moved(f"http://safe.test:{site.port}/")
        url = f"https://safe.test:{site.port}/"
        with pytest.raises(ToolFailure, match="CERTIFICATE_VERIFY_FAILED"):
            fetch(names).run(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        assert fetch(names).run(url).body == b"sealed"
        with pytest.raises(ToolFailure, match="Hostname mismatch"):
            fetch(names).run(url.replace("safe", "other"))
        assert fetch(names).run(f"{url}down").moved_to == f"http://safe.test:{site.port}/"  # not followed in the clear


def test_a_socket_is_closed_when_nothing_speaks_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            with server.accept()[0] as peer:
                peer.recv(10)
                peer.sendall(b"HTTP/1.1 400 No\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ToolFailure, match="could not be fetched"):
            fetch().run(f"https://127.0.0.1:{port}/")
        thread.join(10)


# ---- text ---------------------------------------------------------------------------------------------------------


def test_html_becomes_markdown_with_whole_links_and_without_scripts_and_hidden_text() -> None:
    body = (
        b"<!doctype html><html><head><title>T</title><script>no1()</script><style>no2</style></head><body><h1>Head</h1>"
        b"<p style='display:none'>no3</p><p>See <a href='../b'>b</a> &amp; <code>c</code></p><ul><li>one</li></ul>"
    )
    text = page_result(page(body, "text/html", url="https://e.test/x/y")).text
    assert text.startswith("https://e.test/x/y (200, text/html)\n\n")
    for wanted in ("# Head", "[b](https://e.test/b) & `c`", "- one"):
        assert wanted in text
    assert "no1" not in text
    assert "no2" not in text
    assert "no3" not in text


def test_without_the_extra_an_html_page_names_it_and_text_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "html_to_markdown", None)
    with pytest.raises(ToolFailure, match=r"pip install 'callgate\[web\]'"):
        page_result(page(b"<p>x</p>", "text/html"))
    assert page_result(page(b'{"a": 1}', "application/json")).text.endswith('\n\n{"a": 1}')


CHARSETS: list[tuple[bytes, str, str]] = [
    ("é".encode("latin-1"), "text/plain; charset=iso-8859-1", "é"),
    ("é".encode("utf-16"), "text/plain", "é"),
    ("\ufeffé".encode(), "text/plain; charset=latin-1", "é"),
    ("é".encode(), "text/plain; charset=nonsense", "é"),
    (b"x", "text/plain; charset=zip", "x"),
    (b"x", 'text/plain; charset="', "x"),
    (b"-" + b"a" * 2_000_000, "text/plain; charset=punycode", "-" + "a" * 2_000_000),
    (rb"\x41", "text/plain; charset=unicode_escape", r"\x41"),
    (b"\xff", "text/plain", "\ufffd"),
    ("<meta charset=latin-1>é".encode("latin-1"), "text/html", "é"),
    ("<p>é".encode("cp1252"), "text/html; charset=windows-1252", "é"),
    (b"", "text/plain", "(no text)"),
    (b"  <HTML><p>seen", "", "seen"),
    (b"plain", "", "plain"),
    (b"{}", "application/vnd.api+json", "{}"),
]


def test_the_charset_comes_from_a_mark_the_server_or_the_page_and_is_never_a_surprise() -> None:
    wrong = [
        (kind, text)
        for body, kind, wanted in CHARSETS
        if (text := page_result(page(body, kind)).text.split("\n\n", 1)[1]) != wanted
    ]
    assert wrong == []


def test_what_is_not_text_is_named_in_words() -> None:
    for body, kind, said in (
        (b"\x89PNG", "image/png", "is image/png, 4 bytes: only text"),
        (b"%PDF", "application/pdf", "is application/pdf, 4 bytes"),
        (b"a\0b", "", "is not text, 3 bytes"),
    ):
        with pytest.raises(ToolFailure, match=said):
            page_result(page(body, kind))
    with pytest.raises(ToolFailure, match="more than 4 bytes"):
        page_result(page(b"%PDF", "application/pdf", cut=True))


def test_an_error_of_the_server_is_a_failure_with_the_beginning_of_its_page() -> None:
    with pytest.raises(ToolFailure) as caught:
        page_result(page(b"gone " * 1_000, status=404, reason="Not Found"))
    assert str(caught.value).startswith("https://e.test/ returned 404 Not Found.\ngone gone")
    assert len(str(caught.value)) < 2_100


def test_a_redirection_to_another_host_is_shown_with_its_target() -> None:
    found = page_result(page(b"", url="https://a.test/", status=302, moved_to="https://b.test/"))
    assert "redirects to another host (302): https://b.test/" in found.text
    assert found.details["moved_to"] == "https://b.test/"


def test_a_cut_page_says_so() -> None:
    assert "cut after 3 bytes" in page_result(page(b"abc", cut=True)).text


@pytest.mark.parametrize("html", ["<div>" * 50_000, "<ul><li>" * 5_000, "<" * 100_000, "<table><tr><td>" * 2_000])
def test_hostile_html_neither_hangs_nor_crashes(html: str) -> None:
    assert page_result(page(html.encode() + b"x", HTML["Content-Type"])).text.startswith("https://e.test/ (200")
