"""Servers in files and flags: what is read, what is left out and why, and where variables stand."""

import json
import os
from pathlib import Path

import pytest

from callgate.assembly.options import ServerFlags
from callgate.assembly.servers import server_configs
from callgate.config import Config, load_config
from callgate.mcp.server_config import as_entry, read_file, read_text
from callgate.mcp.tool_definitions import is_valid, server_name, tool_names
from callgate.policy.fingerprint import fingerprint
from callgate.policy.rules import server_of
from callgate.policy.trust import Trust
from callgate.words.errors import UsageError


def config_in(folder: Path) -> Config:
    root = folder / "work"
    root.mkdir(exist_ok=True)
    return load_config(root, environ={"HOME": str(folder)}, home=folder)


def written(file: Path, **servers: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return file


@pytest.mark.spec("MCP-1")
def test_variables_are_put_into_texts_and_unset_ones_stay() -> None:
    text = json.dumps(
        {
            "mcpServers": {
                "a": {"command": "${TOOL}", "args": ["$TOOL", "${NONE}", "${NONE:-x y}"], "env": {"K": "${KEY:-}"}},
                "b": {"type": "http", "url": "https://${HOST}/mcp", "headers": {"A": "Bearer ${KEY}"}},
            }
        }
    )
    first, second = read_text(text, "user").servers
    environ = {"TOOL": "uvx", "HOST": "h.example", "KEY": "k"}
    got = first.expanded(environ)
    assert (got.command, got.args, got.env) == ("uvx", ("$TOOL", "${NONE}", "x y"), {"K": "k"})
    assert first.expanded({}).env == {"K": ""}
    web = second.expanded(environ)
    assert (web.url, web.headers) == ("https://h.example/mcp", {"A": "Bearer k"})


@pytest.mark.spec("MCP-1")
@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("x", "an object is wanted"),
        ({}, "command is wanted"),
        ({"command": "a\0b"}, "command is wanted"),
        ({"command": "x", "args": "y"}, "args is a list of texts"),
        ({"command": "x", "env": {"A": 1}}, "is not a text of one line"),
        ({"type": "ws", "url": "x"}, "its type must be stdio, http or sse, not"),
        ({"type": "http", "url": "file:///etc"}, "its url must begin with https:// or http:// and a host;"),
        ({"type": "http", "url": "https://"}, "and a host"),
        (
            {"type": "http", "url": "https://h", "headers": {"a b": "c"}},
            ("contains characters that are invalid in a header"),
        ),
        (
            {"type": "http", "url": "https://h", "headers": {"a": "b\rc: d"}},
            ("contains characters that are invalid in a header"),
        ),
        (
            {"type": "http", "url": "https://h", "headers": {"a": "é"}},
            ("contains characters that are invalid in a header"),
        ),
        ({"command": "x", "env": {"A=B": "c"}}, "'A=B' is no name"),
        ({"command": "x", "env": {"": "c"}}, "'' is no name"),
        ({"command": "\ud800"}, "command is wanted"),
        ({"command": "x", "args": ["\ud800"]}, "args is a list of texts"),
        ({"command": "x", "env": {"A": "\ud800"}}, "is not a text of one line"),
        ({"type": "http", "url": "https://x", "headers": {"A": "b\nc"}}, "is not a text of one line"),
        (
            {"url": "https://x", "oauth": {"secret": "x"}},
            ("oauth must be an object with clientId, and optionally clientSecret and callbackPort"),
        ),
        ({"url": "https://x", "oauth": {"clientId": "x", "callbackPort": "y"}}, "callbackPort must be a port number"),
        ({"command": "x", "trusted": "yes"}, "trusted is true or false"),
    ],
)
def test_an_entry_with_a_fault_is_left_out_with_its_line_and_the_others_stay(entry: object, says: str) -> None:
    text = json.dumps({"mcpServers": {"good": {"command": "x"}, "wrong": entry}}, indent=1)
    found = read_text(text, "project", "/w/.mcp.json")
    assert [each.name for each in found.servers] == ["good"]
    assert len(found.faults) == 1
    assert says in str(found.faults[0])
    line = next(at for at, each in enumerate(text.split("\n"), 1) if '"wrong"' in each)
    assert str(found.faults[0]).startswith(f"/w/.mcp.json:{line}: ")


@pytest.mark.spec("MCP-1")
def test_a_file_that_is_no_json_is_one_fault_with_the_line() -> None:
    found = read_text('{\n "mcpServers": {\n  "a": nonsense\n}}', "user", "mcp.json")
    assert str(found.faults[0]).startswith("mcp.json:3: this is not JSON")
    assert "must be an object" in str(read_text("[]", "user", "mcp.json").faults[0])


@pytest.mark.spec("MCP-1")
def test_the_file_of_a_project_is_told_to_be_wrong_before_it_is_trusted(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    (config.root / ".mcp.json").write_text("{\n,")
    (fault,) = server_configs(config, ServerFlags()).faults
    assert str(fault).startswith(f"{config.root / '.mcp.json'}:2: this is not JSON")
    written(config.root / ".mcp.json", good={"command": "x"}, odd={"type": "pigeon"})
    note, fault = server_configs(config, ServerFlags()).faults
    assert "its servers (good) are not started until you trust this folder" in note.text
    assert "the server 'odd' is ignored: its type must be stdio, http or sse" in fault.text


@pytest.mark.spec("MCP-1")
@pytest.mark.parametrize("text", [f'{{"mcpServers": {{}}, "n": {"1" * 5_000}}}', "[" * 100_000])
def test_numbers_and_nesting_that_cannot_be_read_are_a_fault_of_the_file(text: str) -> None:
    assert str(read_text(text, "project", ".mcp.json").faults[0]).startswith(".mcp.json:1: this is not JSON")


@pytest.mark.spec("MCP-1")
def test_a_repository_cannot_stop_a_start_with_something_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "folder", "device", "loop"):
        (fault,) = read_file(tmp_path / name, "project").faults
        assert "this cannot be read" in fault.text, name


@pytest.mark.spec("MCP-1")
def test_servers_of_a_project_count_after_trust_and_never_in_place_of_own_ones(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    written(config.root / ".mcp.json", mine={"command": "theirs"}, other={"command": "y", "trusted": True})
    assert config.folder is not None
    written(config.folder / "mcp.json", mine={"command": "ours", "trusted": True})
    before = server_configs(config_in(tmp_path), ServerFlags())
    assert [(each.name, each.command) for each in before.servers] == [("mine", "ours")]
    assert "callgate trust add" in str(before.faults[0])
    Trust(config.data).trust(config.root, fingerprint(config.root))
    after = server_configs(config_in(tmp_path), ServerFlags())
    assert [(each.name, each.command, each.trusted) for each in after.servers] == [
        ("mine", "ours", True),
        ("other", "y", False),
    ]
    assert any("has priority over this one" in each.text for each in after.faults)
    assert any("trusted is ignored in a project's file: set it in your own" in each.text for each in after.faults)


@pytest.mark.spec("MCP-1")
def test_flags_count_before_files_and_strictly_alone(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    assert config.folder is not None
    written(config.folder / "mcp.json", a={"command": "file"}, b={"command": "file"})
    flag = json.dumps({"mcpServers": {"a": {"command": "flag"}}})
    both = server_configs(config, ServerFlags((flag,)))
    assert [(each.name, each.command) for each in both.servers] == [("a", "flag"), ("b", "file")]
    alone = server_configs(config, ServerFlags((flag,), strict=True))
    assert [each.name for each in alone.servers] == ["a"]
    with pytest.raises(UsageError, match="file not found"):
        server_configs(config, ServerFlags(("none.json",)))
    with pytest.raises(UsageError, match="file not found"):
        server_configs(config, ServerFlags(("n" * 5_000,)))
    with pytest.raises(UsageError, match="--mcp-config"):
        server_configs(config, ServerFlags(("{",)))


@pytest.mark.spec("MCP-1")
def test_an_entry_is_written_as_it_was_read() -> None:
    entries = {
        "a": {"type": "stdio", "command": "x", "args": ["y"], "env": {"A": "b"}},
        "b": {"type": "sse", "url": "https://x", "headers": {"A": "b"}, "headersHelper": "./h", "trusted": True},
        "c": {
            "type": "http",
            "url": "https://x",
            "oauth": {"clientId": "i", "clientSecret": "${S}", "callbackPort": 4000},
        },
    }
    found = read_text(json.dumps({"mcpServers": entries}), "user")
    assert {each.name: as_entry(each) for each in found.servers} == entries


@pytest.mark.spec("MCP-2")
@pytest.mark.parametrize(
    ("given", "name"), [("time", "time"), ("My Server", "My_Server"), ("a__b", "a_b"), ("_x.y_", "x_y")]
)
def test_a_server_gets_a_name_that_rules_can_say(given: str, name: str) -> None:
    assert server_name(given) == name
    assert server_of(f"mcp__{name}") == name


@pytest.mark.spec("MCP-2")
def test_names_of_tools_are_valid_and_unique() -> None:
    given = ["a.b", "a_b", "x" * 64, "x" * 63 + "y", "ok", "bad name", "*", "", "dе", "n\nBash"]
    names = tool_names("srv", given)
    assert names["a_b"] == "mcp__srv__a_b"
    assert names["a.b"].startswith("mcp__srv__a_b-")
    assert len(set(names.values())) == len(names) == 5
    assert all(is_valid(name) and len(name) <= 64 for name in names.values())
    with pytest.raises(ValueError, match="must contain a letter"):
        server_name("__")
    with pytest.raises(ValueError, match="1 to 64"):
        server_name("a/b")
