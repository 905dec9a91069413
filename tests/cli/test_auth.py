"""``callgate auth set``, ``list``, ``remove`` and ``test``."""

import json
import stat
from pathlib import Path

import pytest

from callgate.providers import keys
from tests.cli.policy_kit import Person
from tests.providers.servers import FakeServer, Reply
from tests.providers.servers.server import serving

KEY = "sk-test-0123456789abcdef"
VARIABLES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DEEPSEEK_API_KEY")


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    for name in (*VARIABLES, "OPENROUTER_API_KEY", "CALLGATE_MODEL", "CALLGATE_EFFORT", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    # The keyring of whoever runs the tests is left alone.
    monkeypatch.setattr(keys.KeyStore.__init__, "__defaults__", (lambda: None,))
    return Person(tmp_path, monkeypatch, capsys)


def chat(text: str = "", call: str = "") -> Reply:
    """An answer of a server that speaks Chat Completions."""
    delta: dict[str, object] = {"role": "assistant", "content": text}
    if call:
        function = {"name": call, "arguments": '{"word": "ready"}'}
        delta = {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}
    events: list[object] = [
        {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta}]},
        {"id": "x", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    return Reply([*(f"data: {json.dumps(event)}\n\n".encode() for event in events), b"data: [DONE]\n\n"])


@pytest.mark.spec("CLI-3")
def test_a_key_from_a_pipe_is_stored_for_its_owner_and_listed_by_its_end(person: Person) -> None:
    person.given(f"{KEY}\n")
    said = person.good("auth", "set", "anthropic").out
    file = person.data / keys.FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f"The key for anthropic is stored: {file}." in said
    assert KEY not in said
    listed = person.good("auth", "list").out
    assert listed == "anthropic  file  …cdef\n"
    (row,) = json.loads(person.good("auth", "list", "--json").out)
    assert row == {"provider": "anthropic", "origin": "file", "end": "…cdef", "fault": ""}


def test_a_key_on_a_terminal_is_asked_for_without_an_echo(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("callgate.cli.auth_commands.getpass", lambda prompt: asked.append(prompt) or KEY)
    person.given("", terminal=True)
    assert KEY not in person.good("auth", "set", "openai").out
    assert asked == ["Key for openai (it is not shown): "]


def test_a_key_is_never_taken_from_an_argument_nor_repeated(person: Person) -> None:
    ran = person.run("auth", "set", "anthropic", KEY)
    assert ran.code == 2
    assert "others can see a key in an argument: enter the key when asked, or use a pipe" in ran.err
    assert KEY not in ran.out + ran.err
    assert not (person.data / keys.FILE).exists()


def test_what_cannot_be_stored_is_told(person: Person) -> None:
    person.given("")
    assert "no key was entered; nothing was stored" in person.bad(1, "auth", "set", "anthropic")
    assert "there is no provider 'antropic': did you mean anthropic?" in person.bad(1, "auth", "set", "antropic")
    person.given("two words")
    assert "this is no valid key" in person.bad(1, "auth", "set", "anthropic")


def test_the_environment_is_listed_and_named_where_it_counts_first(person: Person) -> None:
    person.set("OPENAI_API_KEY", KEY)
    person.given("sk-another-key-0123456789")
    said = person.good("auth", "set", "openai").out
    assert "OPENAI_API_KEY is also set and has priority." in said
    assert person.good("auth", "list").out == "openai  OPENAI_API_KEY  …cdef\n"
    assert "OPENAI_API_KEY is still set and counts." in person.good("auth", "remove", "openai").out
    assert "no key is stored for openai" in person.bad(1, "auth", "remove", "openai")


def test_a_command_for_a_key_is_listed_and_not_run(person: Person) -> None:
    ran = person.work / "ran"
    person.user(f'[providers.work]\nbase_url = "http://localhost:1"\nkey_command = "touch {ran}"\n')
    assert person.good("auth", "list").out == "work  key_command  \n".replace("  \n", "\n")
    assert not ran.exists()


def test_no_keys_is_told_with_the_way_on(person: Person) -> None:
    assert "There are no keys. Store one with: callgate auth set anthropic" in person.good("auth", "list").out


def test_a_file_that_others_can_read_is_told(person: Person) -> None:
    person.given(KEY)
    person.good("auth", "set", "anthropic")
    (person.data / keys.FILE).chmod(0o644)
    assert "others can read" in person.bad(1, "auth", "list")


def on(person: Person, server: FakeServer, row: str = "") -> None:
    person.user(f'[providers.work]\nbase_url = "{server.url}/v1"\n')
    (person.config / "models.toml").write_text(
        f'[models."work/m"]\ncontext = 8000\noutput = 900\nforce = ["auto", "named"]\nstructured = true\n{row}', "utf-8"
    )


def test_a_model_is_tried_and_what_works_is_told(person: Person) -> None:
    with serving(chat("ready"), chat("", "note"), chat("no"), chat('{"word": "ready"}'), chat("Red")) as server:
        on(person, server)
        ran = person.run("auth", "test", "work/m", "--json")
        found = {row["ability"]: row for row in map(json.loads, ran.out.splitlines())}
        assert ran.code == 0
        assert {name: row["verdict"] for name, row in found.items()} == {
            "text": "works",
            "streaming": "works",
            "tools": "works",
            "forced tool": "fails",
            "JSON Schema": "works",
            "images": "works",
        }
        assert found["forced tool"]["detail"] == "the tool was not called"
        bodies = [request.json for request in server.requests]
        assert bodies[0]["max_tokens"] == 900
        assert bodies[2]["tool_choice"] == {"type": "function", "function": {"name": "note"}}
        assert "json_schema" in bodies[3]["response_format"]
        assert "data:image/png" in json.dumps(bodies[4])


def test_a_wrong_key_is_told_with_what_to_do_and_without_the_key(person: Person) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}})
    no = Reply([body.encode()], status=401, headers={"content-type": "application/json"})
    with serving(no) as server:
        on(person, server)
        person.given(KEY)
        person.good("auth", "set", "work")
        ran = person.run("auth", "test", "work/m")
        assert ran.code == 1
        assert "text: work does not accept the key" in ran.out
        assert "callgate auth set work" in ran.out
        assert KEY not in ran.out + ran.err
        assert len(server.requests) == 1, "nothing else is tried"


def test_a_server_is_tried_with_the_first_model_that_it_lists(person: Person) -> None:
    listed = Reply([b'{"data": [{"id": "m"}]}'], headers={"content-type": "application/json"})
    with serving(listed, chat("ready"), chat(), chat(), chat(), chat()) as server:
        on(person, server)
        ran = person.run("auth", "test", "work")
        assert "trying work/m" in ran.err
        assert ran.code == 0


def test_a_test_without_anything_to_test_says_the_ways_on(person: Person) -> None:
    nowhere = "".join(
        f'[providers.{name}]\nbase_url = "http://127.0.0.1:1/v1"\n'
        for name in ("ollama", "llamacpp", "lmstudio", "vllm")
    )
    person.user(nowhere)
    assert "callgate auth set anthropic" in person.bad(1, "auth", "test")
    assert "there is no key for openai" in person.run("auth", "test", "openai").err
    assert "ollama lists no models" in person.bad(1, "auth", "test", "ollama")
