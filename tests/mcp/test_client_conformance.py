"""The scenarios of the official conformance suite against our client, in both eras of the protocol."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.mcp.conformance import HANDSHAKE, MODERN, faults, suite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
COMMAND = f"{sys.executable} -W ignore -m tests.mcp.client_conformance"

MACHINES = "a login without a person (client credentials, tokens of an employer or a platform) is not offered"
PROOFS = "DPoP is an extension that the SDK does not offer"
ISSUER = "the release for older versions wants metadata of another issuer to be accepted, which is an attack: mcp045"

HANDSHAKE_FAILS = {
    **dict.fromkeys(("auth/client-credentials-basic", "auth/client-credentials-jwt"), MACHINES),
    "auth/cross-app-access-complete-flow": MACHINES,
    "auth/2025-03-26-oauth-metadata-backcompat": ISSUER,
}
"""Scenarios that fail, and why that is right or what is missing."""
MODERN_FAILS = {
    **dict.fromkeys(("auth/client-credentials-basic", "auth/client-credentials-jwt"), MACHINES),
    **dict.fromkeys(("auth/enterprise-managed-authorization", "auth/wif-jwt-bearer"), MACHINES),
    **dict.fromkeys(("auth/dpop", "auth/dpop-nonce"), PROOFS),
}


@pytest.mark.spec("MCP-6")
@pytest.mark.parametrize(("version", "fail"), [(HANDSHAKE, HANDSHAKE_FAILS), (MODERN, MODERN_FAILS)])
def test_every_scenario_passes_or_its_failure_is_explained(version: str, fail: dict[str, str], tmp_path: Path) -> None:
    found = suite(version)

    def faults_of(name: str) -> dict[str, str]:
        ran = found.run("client", "--command", COMMAND, "--scenario", name, into=tmp_path / name.replace("/", "-"))
        return {key: why for checks in ran.values() for key, why in faults(checks).items()}

    names = sorted(found.scenarios("client"))
    with ThreadPoolExecutor(4) as at_once:  # each scenario is two programs that mostly start
        failed = {name: bad for name, bad in zip(names, at_once.map(faults_of, names), strict=True) if bad}
    assert {*failed} == {*fail}, failed
