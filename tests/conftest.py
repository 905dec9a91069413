"""Profiles of the property tests, the seeded sample of slow tests, and reports at the end of a run."""

import gc
import os
import random
import sys
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Without bytecode each worker rewrites the assertions of all test files anew, and each program that a test starts
# compiles Callgate anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# How long one test may take before it counts as hung; the default for `fast` is in pyproject.toml.
PATIENCE = {"thorough": 1800, "chaos": 3600}

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "fast")

# Every value is written out: on CI hypothesis starts from other defaults.
_common: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile("fast", max_examples=50, derandomize=True, database=None, **_common)
settings.register_profile("thorough", max_examples=2_000, derandomize=False, database=None, **_common)
settings.register_profile("chaos", max_examples=20_000, derandomize=False, database=None, **_common)
settings.load_profile(PROFILE)

_deadline = pytest.StashKey[float]()
_begun = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("callgate")
    group.addoption(
        "--sample-seconds",
        type=float,
        metavar="N",
        help="run only slow and property tests, in an order given by the seed, and skip the rest after N seconds",
    )
    group.addoption("--sample-seed", type=int, metavar="S", help="seed of the sample (default: random)")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    option = config.option
    # xdist hands the options to its workers, so what is drawn here is one value for the whole run.
    if PROFILE != "fast" and option.hypothesis_seed is None:
        option.hypothesis_seed = random.randrange(2**32)
    if option.sample_seconds is not None:
        if option.sample_seed is None:
            option.sample_seed = random.randrange(2**32)
        given = getattr(config, "workerinput", {}).get("sample_deadline")
        config.stash[_deadline] = given or time.time() + option.sample_seconds


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """One clock for all workers of xdist."""
    if _deadline in node.config.stash:
        node.workerinput["sample_deadline"] = node.config.stash[_deadline]


def pytest_report_header(config: pytest.Config) -> list[str]:
    option = config.option
    lines = [f"examples: profile {PROFILE}"]
    if option.hypothesis_seed is not None:
        lines.append(f"repeat the examples with: --hypothesis-seed={option.hypothesis_seed}")
    if option.sample_seconds is not None:
        lines.append(f"sample: --sample-seconds={option.sample_seconds:g} --sample-seed={option.sample_seed}")
    return lines


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if PROFILE in PATIENCE:
        for item in items:
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(PATIENCE[PROFILE]))
    if config.option.sample_seconds is None:
        return
    # The other tests are the same in every profile: `make test` has run them.
    pool = [item for item in items if _differs_when_thorough(item)]
    config.hook.pytest_deselected(items=[item for item in items if not _differs_when_thorough(item)])
    random.Random(config.option.sample_seed).shuffle(pool)
    items[:] = pool


def pytest_collection_finish() -> None:
    """What is collected stays to the end: without it a test that has garbage collected takes a tenth of the time."""
    gc.collect()
    gc.freeze()


def _differs_when_thorough(item: pytest.Item) -> bool:
    is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return is_property or item.get_closest_marker("slow") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    stash = item.config.stash
    if _deadline not in stash:
        return
    # Each worker runs at least one test, so that a sample is never empty.
    if stash.get(_begun, False) and time.time() > stash[_deadline]:
        option = item.config.option
        pytest.skip(f"not in the sample: its {option.sample_seconds:g} s are used (seed {option.sample_seed})")
    stash[_begun] = True


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    nothing_to_sample = session.config.option.sample_seconds is not None and (
        session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    )
    if nothing_to_sample:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows what tests said through `record_property("report", text)`; unlike prints, it crosses xdist."""
    reports = [
        str(text)
        for report in terminalreporter.getreports("passed")
        if report.when == "call"
        for name, text in report.user_properties
        if name == "report"
    ]
    if reports:
        terminalreporter.section("reports")
        terminalreporter.write_line("\n".join(reports))
