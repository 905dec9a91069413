"""The scenarios of the official conformance suite against our serving code, in both eras of the protocol."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mcp.conformance import HANDSHAKE, MODERN, faults, suite

ROOT = Path(__file__).parents[2]

OFFERS_NO = "the server offers tools, and neither resources nor prompts, completion, log messages nor sampling"
OTHER_FORM = "the scenario wants a form of its own wording; every form of ours is a question of the gate"
ONE_QUESTION = "a call asks one question at a time, and asks clients for nothing but answers to it"
OWN_TOOL = "the scenario calls diagnostic tools that ask for sampling or log, which no tool of ours does"
DENIED = "a client that shows no forms gets a denial that explains, not an error of the protocol: MCP-5"
EXTENSION = "an extension that the server does not offer"
NO_HEADERS = "no tool takes parameters in headers"

HANDSHAKE_FAILS = {
    **dict.fromkeys(("logging-set-level", "completion-complete"), OFFERS_NO),
    **dict.fromkeys(("tools-call-with-logging", "tools-call-sampling"), OFFERS_NO),
    **dict.fromkeys(("resources-list", "resources-read-text", "resources-read-binary"), OFFERS_NO),
    **dict.fromkeys(("resources-templates-read", "resources-subscribe", "resources-unsubscribe"), OFFERS_NO),
    **dict.fromkeys(("prompts-list", "prompts-get-simple", "prompts-get-with-args"), OFFERS_NO),
    **dict.fromkeys(("prompts-get-embedded-resource", "prompts-get-with-image"), OFFERS_NO),
    **dict.fromkeys(("elicitation-sep1034-defaults", "elicitation-sep1330-enums"), OTHER_FORM),
}
"""Scenarios that fail, and why that is right."""
MODERN_FAILS = {
    **dict.fromkeys(("completion-complete", "resources-list", "resources-read-text"), OFFERS_NO),
    **dict.fromkeys(("resources-read-binary", "resources-templates-read", "prompts-list"), OFFERS_NO),
    **dict.fromkeys(("prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource"), OFFERS_NO),
    **dict.fromkeys(("prompts-get-with-image", "caching", "input-required-result-non-tool-request"), OFFERS_NO),
    "server-stateless": OWN_TOOL,
    "input-required-result-basic-sampling": ONE_QUESTION,
    "input-required-result-basic-list-roots": ONE_QUESTION,
    "input-required-result-multiple-input-requests": ONE_QUESTION,
    "input-required-result-multi-round": ONE_QUESTION,
    "input-required-result-capability-check": DENIED,
    "http-custom-header-server-validation": NO_HEADERS,
    **dict.fromkeys(("tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields"), EXTENSION),
    **dict.fromkeys(("tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers"), EXTENSION),
    **dict.fromkeys(("tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition"), EXTENSION),
}


@contextmanager
def served(folder: Path) -> Generator[str]:
    """The conformance server on a port of its own; it ends with its standard input."""
    work = folder / "work"
    work.mkdir()
    environment = {"CALLGATE_DATA_DIR": str(folder / "data"), "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.mcp_server.conformance_server"],
        cwd=work,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp"
        finally:
            server.stdin.close()


@pytest.mark.slow
@pytest.mark.spec("MCP-6")
@pytest.mark.parametrize(
    ("version", "words", "explained"),
    [
        (HANDSHAKE, ("--suite", "all"), HANDSHAKE_FAILS),
        (MODERN, ("--requirements", "2026-07-28"), MODERN_FAILS),
    ],
    ids=["handshake", "modern"],
)
def test_every_scenario_passes_but_those_about_what_the_server_does_not_offer(
    version: str, words: tuple[str, ...], explained: dict[str, str], tmp_path: Path
) -> None:
    tested = suite(version)
    with served(tmp_path) as url:
        results = tested.run("server", "--url", url, *words, into=tmp_path / "results")
    failed = {name: found for name, checks in results.items() if (found := faults(checks))}
    assert set(failed) == set(explained), json.dumps(
        {name: failed.get(name, "passes now") for name in set(failed) ^ set(explained)}, indent=1
    )
    assert len(results) - len(failed) >= 15
