"""A server that wants a login, with its authorization server, on the loopback: both in threads of the test."""

import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit


class LoginServer:
    """``issuer`` is what the authorization server says it is."""

    def __init__(self, *, issuer: str = "") -> None:
        self.base = ""
        self.issuer = issuer
        self.tokens: set[str] = set()
        self.codes: dict[str, str] = {}
        self.logins = self.refreshes = self.registrations = 0

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        method, number = message.get("method"), message.get("id")
        if number is None:
            return None
        if method == "initialize":
            info = {"name": "guarded", "version": "1"}
            result: Any = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": "you are known"}]}
        else:
            return {"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "Method not found"}}
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def token(self) -> dict[str, Any]:
        made = f"token{len(self.tokens) + self.refreshes + self.logins}"
        self.tokens = {made}  # an earlier one is good no more
        return {"access_token": made, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "again"}


ServerT = TypeVar("ServerT", bound=LoginServer)


@contextmanager
def running(server: ServerT) -> Iterator[ServerT]:
    class Desk(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None: ...

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path.startswith("/.well-known/oauth-protected-resource"):
                self._send(200, {"resource": f"{server.base}/mcp", "authorization_servers": [server.base]})
            elif parts.path.startswith("/.well-known/oauth-authorization-server"):
                found = {f"{name}_endpoint": f"{server.base}/{path}" for name, path in _ENDPOINTS.items()}
                more = {"response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}
                self._send(200, {"issuer": server.issuer or server.base, **found, **more})
            elif parts.path == "/authorize":
                asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
                code = f"code{len(server.codes)}"
                server.codes[code] = asked["code_challenge"]
                back = urlencode({"code": code, "state": asked["state"], "iss": server.issuer or server.base})
                self.send_response(302)
                self.send_header("Location", f"{asked['redirect_uri']}?{back}")
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                self._send(405, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == "/register":
                server.registrations += 1
                self._send(201, {**json.loads(body), "client_id": "callgate-1"})
            elif self.path == "/token":
                self._token({name: values[0] for name, values in parse_qs(body.decode()).items()})
            elif (self.headers.get("Authorization") or "").removeprefix("Bearer ") not in server.tokens:
                where = f'Bearer resource_metadata="{server.base}/.well-known/oauth-protected-resource/mcp"'
                self._send(401, {}, {"WWW-Authenticate": where})
            else:
                answered = server.answer(json.loads(body))
                self._send(202 if answered is None else 200, answered)

        def _token(self, asked: dict[str, str]) -> None:
            if asked["grant_type"] == "refresh_token":
                server.refreshes += 1
                self._send(200, server.token())
                return
            proof = urlsafe_b64encode(sha256(asked["code_verifier"].encode()).digest()).decode().rstrip("=")
            if server.codes.pop(asked["code"], "") != proof:
                self._send(400, {"error": "invalid_grant"})
                return
            server.logins += 1
            self._send(200, server.token())

        def _send(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
            data = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            for name, text in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Desk)
    server.base = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


_ENDPOINTS = {"authorization": "authorize", "token": "token", "registration": "register"}
