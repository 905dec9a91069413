"""Logins by OAuth against an authorization server on the loopback: a question, a command, kept tokens."""

import asyncio
import json
import re
from base64 import urlsafe_b64decode as b64decode
from base64 import urlsafe_b64encode as b64encode
from collections.abc import Sequence
from pathlib import Path
from urllib.request import urlopen

import pytest

from callgate.admin.servers import add_server, log_in, log_out
from callgate.assembly.servers import KeptSecrets
from callgate.mcp.server_config import ServerConfig
from callgate.testing import PlainRun
from callgate.words.decisions import AskedField, FieldAnswer
from callgate.words.errors import CallgateError
from tests.mcp.client_kit import OWN, Answering, connected, place_in, use
from tests.mcp.client_login_server import LoginServer, running


def visit(text: str) -> None:
    """Opens the address in a text, as a browser does."""
    found = re.search(r"http://\S+", text)
    assert found is not None
    with urlopen(found[0]) as page:
        assert page.status == 200


class Visiting(Answering):
    """A Person who opens the address and lets the browser answer."""

    async def ask(
        self, fields: Sequence[AskedField], *, by: str, text: str, name: str
    ) -> tuple[FieldAnswer, ...] | None:
        self.asked.append((by.removeprefix("MCP server "), text, tuple(fields)))
        await asyncio.to_thread(visit, text)
        return await asyncio.get_running_loop().create_future()


def guarded(server: LoginServer) -> ServerConfig:
    return ServerConfig("guarded", "http", OWN, url=f"{server.base}/mcp")


@pytest.mark.spec("MCP-8")
def test_a_server_that_needs_a_login_offers_one_tool_which_asks_the_person(tmp_path: Path) -> None:
    async def main(server: LoginServer) -> None:
        person = Visiting()
        place = place_in(tmp_path, person=person, tokens=KeptSecrets(tmp_path / "kept"))
        async with connected(place, guarded(server)) as servers:
            found = servers.servers["guarded"]
            assert (found.state.status, found.state.reason) == (
                "needs login",
                "it requires a login: callgate mcp login guarded",
            )
            (login, *_) = servers.tools()
            assert login.spec.name == "mcp__guarded__log_in"
            assert login.traits({}).server == "guarded"
            result = await login.run({}, PlainRun())
            assert result.text == "The server guarded is connected; it has 1 tools."
            assert "requires a login. Open this address: http://127.0.0.1:" in person.asked[0][1]
            assert (await use(found, "whoami")).text == "you are known"
        async with connected(place, guarded(server)) as servers:  # the tokens are kept
            assert servers.servers["guarded"].state.status == "connected"
        assert (server.logins, server.registrations) == (1, 1)
        assert (tmp_path / "kept/mcp/callgate-keys.json").stat().st_mode & 0o777 == 0o600

    with running(LoginServer()) as server:
        asyncio.run(main(server))


@pytest.mark.spec("MCP-8")
def test_a_token_that_is_over_in_a_call_is_a_question_in_that_call_which_goes_on(tmp_path: Path) -> None:
    async def main(server: LoginServer) -> None:
        person = Visiting()
        place = place_in(tmp_path, person=person, tokens=KeptSecrets(tmp_path))
        async with connected(place, guarded(server)) as servers:
            found = servers.servers["guarded"]
            await found.log_in()
            server.tokens.clear()  # revoked
            assert (await use(found, "whoami")).text == "you are known"
        assert (server.logins, len(person.asked)) == (2, 2)

    with running(LoginServer()) as server:
        asyncio.run(main(server))


@pytest.mark.spec("MCP-1")
def test_a_token_that_has_expired_is_refreshed_after_a_restart_without_a_question(tmp_path: Path) -> None:
    async def main(server: LoginServer) -> None:
        secrets = KeptSecrets(tmp_path)
        place = place_in(tmp_path, person=Visiting(), tokens=secrets)
        async with connected(place, guarded(server)) as servers:
            await servers.servers["guarded"].log_in()
        kept = json.loads(b64decode(secrets.get("tokens:guarded") or ""))
        secrets.put("tokens:guarded", b64encode(json.dumps({**kept, "expires": 1.0}).encode()).decode())
        server.tokens.clear()
        async with connected(place, guarded(server)) as servers:
            assert servers.servers["guarded"].state.status == "connected"
        assert (server.logins, server.refreshes) == (1, 1)

    with running(LoginServer()) as server:
        asyncio.run(main(server))


@pytest.mark.spec("MCP-1")
def test_a_token_is_not_sent_to_another_address_under_the_same_name(tmp_path: Path) -> None:
    async def main(server: LoginServer, other: LoginServer) -> None:
        place = place_in(tmp_path, person=Visiting(), tokens=KeptSecrets(tmp_path))
        async with connected(place, guarded(server)) as servers:
            await servers.servers["guarded"].log_in()
        other.tokens = set(server.tokens)  # it would take the token
        async with connected(place, guarded(other)) as servers:
            assert servers.servers["guarded"].state.status == "needs login"

    with running(LoginServer()) as server, running(LoginServer()) as other:
        asyncio.run(main(server, other))


@pytest.mark.spec("MCP-8")
def test_a_login_that_the_person_refuses_fails_in_words(tmp_path: Path) -> None:
    async def main(server: LoginServer) -> None:
        place = place_in(tmp_path, person=Answering(None), tokens=KeptSecrets(tmp_path))
        async with connected(place, guarded(server)) as servers:
            with pytest.raises(CallgateError, match="the person did not log in"):
                await servers.servers["guarded"].log_in()

    with running(LoginServer()) as server:
        asyncio.run(main(server))


@pytest.mark.spec("MCP-1")
def test_an_authorization_server_with_another_issuer_is_refused(tmp_path: Path) -> None:
    async def main(server: LoginServer) -> None:
        person = Visiting()
        place = place_in(tmp_path, person=person, tokens=KeptSecrets(tmp_path))
        async with connected(place, guarded(server)) as servers:
            found = servers.servers["guarded"]
            assert found.state.status != "connected"
            assert "issuer" in found.state.reason
        assert (person.asked, server.logins) == ([], 0)

    with running(LoginServer(issuer="https://evil.example")) as server:
        asyncio.run(main(server))


@pytest.mark.spec("MCP-8")
def test_the_command_shows_the_address_and_waits_for_the_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CALLGATE_DATA_DIR", "CALLGATE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    shown: list[str] = []

    def show(text: str) -> None:
        shown.append(text)
        asyncio.get_running_loop().run_in_executor(None, visit, text)

    with running(LoginServer()) as server:
        add_server("guarded", {"type": "http", "url": f"{server.base}/mcp"}, "user")
        assert log_in("guarded", show).state.status == "connected"
        assert log_out("guarded")
        assert not log_out("guarded")
    assert len(shown) == 1


class _Addresses(dict[str, str]):
    def __missing__(self, name: str) -> str:
        raise OSError(f"no address for {name}")


ADDRESSES = _Addresses(
    {
        "h.example": "93.184.215.14",
        "login.example": "93.184.215.15",
        "inward.example": "127.0.0.1",
        "both.example": "93.184.215.14 10.0.0.7",
        "six.example": "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
        "six-inward.example": "fe80::1%eth0",
    }
)


@pytest.mark.spec("MCP-1")
@pytest.mark.parametrize(
    ("server", "asked", "is_asked"),
    [
        ("https://h.example/mcp", "https://h.example/other", True),
        ("https://h.example/mcp", "https://login.example/token", True),
        ("https://h.example/mcp", "http://login.example/token", False),
        ("https://h.example/mcp", "https://169.254.169.254/latest", False),
        ("https://h.example/mcp", "https://[::1]:8000/", False),
        ("https://h.example/mcp", "https://10.0.0.1/", False),
        ("https://h.example/mcp", "https://localhost/", False),
        ("https://h.example/mcp", "https://router.local/", False),
        ("https://h.example/mcp", "https://intranet/", False),
        ("http://127.0.0.1:8000/mcp", "http://127.0.0.1:9000/token", True),
        ("http://nas.local/mcp", "http://login.local/token", True),
        ("https://h.example/mcp", "https://localhost./", False),
        ("https://h.example/mcp", "https://inward.example/token", False),
        ("https://h.example/mcp", "https://both.example/token", False),
        ("https://h.example/mcp", "https://six.example/token", True),
        ("https://h.example/mcp", "https://six-inward.example/token", False),
        ("https://both.example/mcp", "https://inward.example/token", False),
        ("https://inward.example/mcp", "https://inward.example:8443/token", True),
        ("https://h.example/mcp", "https://unknown.example/token", True),
    ],
)
def test_a_server_on_the_net_cannot_name_a_host_near_this_machine(server: str, asked: str, is_asked: bool) -> None:
    httpx2 = pytest.importorskip("httpx2")
    from callgate.mcp.http_transport import outward_only

    check = outward_only(server, lambda name, port: ADDRESSES[name].split())(httpx2.Request("GET", asked))
    if is_asked:
        asyncio.run(check)
    else:
        with pytest.raises(ValueError, match="names http"):
            asyncio.run(check)
