"""Every row of the corpus of hosts that try to pass for others."""

import json
from pathlib import Path
from typing import Any

from callgate.policy.hosts import host_pattern, is_private
from tests.rows import rows

CORPUS = Path(__file__).parents[1] / "data" / "security" / "net_hosts.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]

ELSEWHERE = {
    "net041": "a redirection: whoever fetches asks about the new host again; the text as a host is refused here too",
    "net042": "what a client says inside TLS: the proxy must compare it with the host it was asked for",
    "net044": "a socket of the file system: the sandbox hides it",
    "net045": "another family of sockets: the sandbox refuses it",
}


def _allowed(rule: str, host: str) -> bool:
    """As a rule of a project: one that is refused allows nothing."""
    try:
        return host_pattern(rule).covers(host)
    except ValueError:
        return False


@rows("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_row_is_allowed_or_not_as_it_says(row: dict[str, Any]) -> None:
    assert _allowed(row["rule"], row["host"]) == (row["expect"] == "allow")


def test_the_rows_of_other_layers_are_here() -> None:
    assert ELSEWHERE.keys() <= {row["id"] for row in ROWS}


@rows("row", [row for row in ROWS if row["expect"] == "deny"], ids=lambda row: row["id"])
def test_no_user_who_allows_every_host_allows_what_is_in_doubt(row: dict[str, Any]) -> None:
    every = host_pattern("*", star=True)
    assert every.covers(row["host"]) is not is_private(row["host"]) or row["host"].endswith(":8443")
