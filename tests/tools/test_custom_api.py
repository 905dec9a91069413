"""What a factory of custom tools is given: staging, and where it is."""

import asyncio
import functools
import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callgate.staging.resolve import produced
from callgate.staging.stack import called
from callgate.tools.custom import Api
from callgate.tools.staging import Callbacks, PendingAction, PendingStore, serving
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet, FileChange, Stored
from callgate.words.errors import ToolFailure, UsageError
from callgate.words.messages import Text
from tests.tools.custom_kit import Noting
from tests.tools.fake_run import FakeRun

CHANGE = FileChange("a.txt", None, b"new")


def done(reason: str, extra: Any) -> None: ...


async def done_later(reason: str, extra: Any) -> None: ...


@pytest.fixture
def store() -> Noting:
    return Noting()


@pytest.fixture
def api(tmp_path: Path, store: Noting) -> Iterator[Api]:
    kept: PendingStore = store
    with serving("Tidy", FakeRun(), kept):
        yield Api(tmp_path)


def test_an_action_reaches_the_store_with_all_that_was_said(api: Api, store: Noting) -> None:
    details = {"files": 3, "where": Path("src")}
    staged = api.push_pending_action(
        label="tidy up", apply=done, reject=done_later, details=details, source_tool_name="tidy"
    )
    assert staged == "pending-action:tidy:1"
    assert store.pushed == [
        PendingAction(
            label="tidy up",
            act=Callbacks(done, done_later),
            source_tool_name="tidy",
            details={"files": 3, "where": "src"},
            tool="Tidy",
            lineage=("call-1",),
        )
    ]
    assert store.pushed[0].call_id == "call-1"
    assert store.pushed[0].details is not details


def test_what_is_not_said_has_a_default(api: Api, store: Noting) -> None:
    api.push_pending_action(label="x", apply=done)
    assert store.pushed == [PendingAction("x", Callbacks(done), "custom_tool", tool="Tidy", lineage=("call-1",))]


def test_without_a_store_nothing_can_be_staged(tmp_path: Path) -> None:
    api = Api(tmp_path)
    told = r"^Pending action store unavailable for custom tools in this runtime."
    with pytest.raises(ToolFailure, match=told):
        api.push_pending_action(label="x", apply=done)
    with pytest.raises(ToolFailure, match=told):
        api.push_changes("x", [CHANGE])


def test_changes_are_staged_as_data(api: Api, store: Noting) -> None:
    staged = api.push_changes("make a", [CHANGE], count=2, details=[1], source_tool_name="maker")
    assert staged == "pending-action:maker:1"
    changes = ChangeSet("make a", (CHANGE,), "maker", count=2)
    assert store.pushed == [PendingAction("make a", changes, "maker", [1], tool="Tidy", lineage=("call-1",))]
    with pytest.raises(ToolFailure, match=r"^make a: the change is empty$"):
        api.push_changes("make a", [])


class Finishing:
    def __call__(self, reason: str, extra: Any) -> None: ...


@pytest.mark.parametrize(
    "callback",
    [
        pytest.param(done, id="plain"),
        pytest.param(done_later, id="async"),
        pytest.param(lambda *both: None, id="rest"),
        pytest.param(Finishing(), id="object"),
        pytest.param(functools.partial(lambda a, b, c: None, 1), id="partial"),
        pytest.param(lambda reason: None, id="reason"),
        pytest.param(max, id="without a signature"),
    ],
)
@pytest.mark.spec("RES-16")
def test_a_callback_may_be_anything_that_takes_reason_and_extra(api: Api, callback: Any) -> None:
    api.push_pending_action(label="x", apply=callback, reject=callback)


@pytest.mark.parametrize(
    "callback",
    [
        pytest.param(lambda: None, id="nothing"),
        pytest.param(lambda *, reason: None, id="reason by name"),
        pytest.param(lambda a, b, c: None, id="three"),
        pytest.param("apply", id="text"),
    ],
)
def test_a_callback_that_cannot_be_called_is_refused_when_it_is_staged(api: Api, store: Noting, callback: Any) -> None:
    with pytest.raises(UsageError, match=r"^apply must be a function of \(reason, extra\)"):
        api.push_pending_action(label="x", apply=callback)
    with pytest.raises(UsageError, match=r"^reject must be a function of \(reason, extra\)"):
        api.push_pending_action(label="x", apply=done, reject=callback)
    assert store.pushed == []


def test_a_blank_label_and_details_that_are_no_json_are_refused(api: Api, store: Noting) -> None:
    with pytest.raises(UsageError, match="may be blank"):
        api.push_pending_action(label=" ", apply=done)
    with pytest.raises(UsageError, match="may be blank"):
        api.push_pending_action(label="x", apply=done, source_tool_name="")
    with pytest.raises(ToolFailure, match="cannot be converted to JSON"):
        api.push_pending_action(label="x", apply=done, details={"a": object()})
    assert store.pushed == []


def test_labels_may_be_in_any_language(api: Api, store: Noting) -> None:
    api.push_pending_action(label="переименовать 文件 🎈", apply=done, details={"ключ": "значение"})
    assert (store.pushed[0].label, store.pushed[0].details) == ("переименовать 文件 🎈", {"ключ": "значение"})


# ---- calling back -------------------------------------------------------------------------------------------------


def call(callback: Any, extra: Any = None) -> Result | None:
    return produced(asyncio.run(called(callback, "because", extra)), "tidy")


def test_a_plain_callback_runs_in_a_thread_and_an_async_one_on_the_loop() -> None:
    seen: list[int] = []

    def plain(reason: str, extra: Any) -> str:
        seen.append(threading.get_ident())
        return f"{reason} {extra}"

    async def later(reason: str, extra: Any) -> str:
        seen.append(threading.get_ident())
        return f"{reason} {extra}"

    for callback in (plain, later, lambda reason, extra: later(reason, extra)):
        assert call(callback, {"a": 1}) == Result((Text("because {'a': 1}"),))
    here = threading.get_ident()
    assert [ident == here for ident in seen] == [False, True, True]


def test_what_a_callback_returns_becomes_a_result_unless_it_is_nothing() -> None:
    assert call(lambda reason, extra: None) is None
    assert call(lambda reason, extra: {"n": 1}) == Result((Text('{"n":1}'),))
    told = Result((Text("x"),), details={"n": 1})
    assert call(lambda reason, extra: told) == told


def test_what_a_callback_raises_passes() -> None:
    def refuse(reason: str, extra: Any) -> None:
        raise ToolFailure("not like this")

    with pytest.raises(ToolFailure, match=r"^not like this$"):
        call(refuse)


# ---- contents -----------------------------------------------------------------------------------------------------


def test_a_small_file_is_carried_along_and_a_large_one_named(api: Api, tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x" * 1_000_000)
    assert api.content("small") == b"x" * 1_000_000
    large = b"y" * 1_000_001
    (tmp_path / "large").write_bytes(large)
    assert api.content("large") == Stored(hashlib.sha256(large).hexdigest(), 1_000_001, str(tmp_path / "large"))


@pytest.mark.parametrize(
    ("path", "told"),
    [
        pytest.param("none", "none: the file does not exist", id="missing"),
        pytest.param("folder", "folder: is not a file", id="folder"),
        pytest.param("../secret", "lies outside the workspace", id="above"),
        pytest.param("link", "lies outside the workspace", id="link"),
    ],
)
def test_what_is_no_file_of_the_workspace_has_no_content(tmp_path: Path, path: str, told: str) -> None:
    root = tmp_path / "work"
    (root / "folder").mkdir(parents=True)
    (tmp_path / "secret").write_text("s")
    os.symlink(tmp_path / "secret", root / "link")
    with pytest.raises(ToolFailure, match=told):
        Api(root).content(path)
