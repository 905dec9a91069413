"""A nested session cannot leave the restrictions around it by features, answers, prices, folders or settings."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, ModelSetup, Nesting, Session, SessionLimits
from callgate.config import Config
from callgate.conversation.record import MemoryJournal
from callgate.host.local import LocalHost
from callgate.policy.entries import RuleLine
from callgate.session.conversation import nesting_of
from callgate.session.nesting import nesting_feature
from callgate.session.user_questions import questions_feature
from callgate.testing import PlainTool, ScriptedModel, call, say, stop, turn
from callgate.tools.builtin import builtin_tools
from callgate.words.calls import Result
from callgate.words.decisions import ApprovalPolicy, Confirmation, Origin, Question
from callgate.words.errors import StateError, UsageError
from callgate.words.events import PolicyAdded
from callgate.words.limits import LoopLimits
from callgate.words.messages import Usage
from callgate.words.traits import Traits
from tests.core.kit import virtual_host
from tests.flows.test_sandboxed_commands import Shell, prove

pytestmark = pytest.mark.spec("AGT-7")


class Orders:
    """A tool that changes something; ``done`` lists its calls."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.tool = PlainTool("order", self._order, traits=Traits("mutating"))

    async def _order(self, arguments: Any, run: Any) -> str:
        self.done.append(arguments["what"])
        return "ordered"


async def called(root: Session, session: Session, name: str, **arguments: Any) -> tuple[Result, Question | None]:
    """Call a tool in the nested session and answer a question with no. Return the result and the question."""
    return await answered(root, session, lambda question: question.no("no"), name, **arguments)


async def answered(
    root: Session, session: Session, answer: Callable[[Question], Confirmation], name: str, **arguments: Any
) -> tuple[Result, Question | None]:
    """Call a tool in the nested session and answer a question at the root. Return the result and the question."""
    task = asyncio.ensure_future(session.call(name, arguments, by="test"))
    question: Question | None = None
    while not task.done():
        await asyncio.wait([task], timeout=0.01)
        if root.questions and question is None:
            question = root.questions[0]
            root.post(Answer(answer(question)))
    return await task, question


@pytest.mark.parametrize("feature", [nesting_feature(None), questions_feature()], ids=lambda each: each.name)
async def test_the_features_that_connect_sessions_cannot_be_replaced(feature: Any) -> None:
    async with Session(ScriptedModel(), host=virtual_host()) as root:
        with pytest.raises(UsageError, match="cannot be replaced"):
            root.derive(features=[feature])


@pytest.mark.parametrize("levels", [1, 2])
async def test_an_answer_in_a_log_from_elsewhere_does_not_count_in_the_sessions_around(levels: int) -> None:
    orders, journal = Orders(), MemoryJournal([PolicyAdded(1.0, ApprovalPolicy("allow", "order"))])
    async with Session(ScriptedModel(), [orders.tool], host=virtual_host()) as root:
        nested = Session(ScriptedModel(), [orders.tool], nesting=Nesting(root), journal=journal)
        inner = nested if levels == 1 else nested.derive()
        _, question = await called(root, inner, "order", what="tea")
        assert question is not None
        assert orders.done == []
        assert not nesting_of(root).policies
        await inner.aclose()
        await nested.aclose()


async def test_an_answer_given_in_a_nested_session_counts_in_the_whole_tree() -> None:
    orders = Orders()
    async with Session(ScriptedModel(), [orders.tool], host=virtual_host()) as root:
        nested = root.derive()
        inner = nested.derive()
        assert (await answered(root, inner, lambda each: each.always(), "order", what="tea"))[1] is not None
        for session in (inner, nested, root):
            assert (await called(root, session, "order", what="tea"))[1] is None
        assert orders.done == ["tea"] * 4
        await inner.aclose()
        await nested.aclose()


async def test_an_unknown_price_in_a_nested_session_is_the_price_of_the_session_around() -> None:
    noop = PlainTool("noop", lambda arguments, run: "done", traits=Traits("none"))
    turns = [turn(call("noop", n=n), stop("tool_calls", Usage(output=100))) for n in range(8)]
    setup = ModelSetup(ScriptedModel(), price=lambda name, usage: usage.output / 1_000)
    limits = SessionLimits(LoopLimits(max_cost=0.25))
    async with Session(setup, [noop], host=virtual_host(), limits=limits) as root:
        model = ModelSetup(ScriptedModel(*turns, otherwise=turn(say("Done."))), price=lambda name, usage: None)
        async with root.derive(model=model, limits=SessionLimits()) as nested:
            result = await nested.run("go")
        assert result.reason == "budget"
        assert root.cost == nested.cost == pytest.approx(0.1)  # what is left pays too few tokens for a request


# ---- folders and sandboxes ---------------------------------------------------------------------------------------


class WrappedHost:
    """A host that is not a LocalHost and does the same."""

    def __init__(self, host: LocalHost) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    base = Path(os.path.realpath(tmp_path))
    for name in ("work/sub", "home", "other"):
        (base / name).mkdir(parents=True)
    for name in ("work/sub/hidden.txt", "other/notes.txt"):
        (base / name).write_text("TOP SECRET\n")
    return Config(base / "work", base / "home", base / "data")


def ruled(config: Config, *rules: tuple[Any, str]) -> Config:
    return replace(config, rules=tuple(RuleLine(effect, text, Origin("user")) for effect, text in rules))


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_a_search_in_a_subfolder_leaves_out_what_a_rule_of_the_root_hides(config: Config, effect: str) -> None:
    rules = ruled(config, (effect, "Read(sub/hidden.txt)"))

    async def main() -> Result:
        async with (
            Session(ScriptedModel(), builtin_tools(), config=rules) as root,
            root.derive(host=config.root / "sub") as nested,
        ):
            return (await called(root, nested, "Grep", pattern="TOP", output_mode="content"))[0]

    result = asyncio.run(main())  # a real search, so not in virtual time
    assert "SECRET" not in result.text
    assert "Read(sub/hidden.txt)" in result.text


CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Read", {"file_path": "notes.txt"}),
    ("Write", {"file_path": "new.txt", "content": "x"}),
    ("Grep", {"pattern": "TOP"}),
    ("Glob", {"pattern": "*"}),
    ("Bash", {"command": "cat notes.txt"}),
    ("Bash", {"command": "ls"}),
    ("Bash", {"command": "git status"}),
)


@pytest.mark.parametrize("has_config", [True, False])
async def test_calls_in_a_folder_outside_the_workspace_of_the_root_ask(config: Config, has_config: bool) -> None:
    rules = ruled(config, ("allow", "Bash(git status)"))
    given: dict[str, Any] = {"config": rules} if has_config else {"host": config.root}
    async with Session(ScriptedModel(), builtin_tools(), mode="accept_edits", **given) as root:
        async with root.derive(host=config.root.parent / "other") as nested:
            for name, arguments in CALLS:
                _, question = await called(root, nested, name, **arguments)
                assert question is not None, (name, arguments)
        assert not (config.root.parent / "other" / "new.txt").exists()


async def test_calls_in_a_subfolder_of_the_workspace_need_no_more_questions(config: Config) -> None:
    rules = ruled(config, ("allow", "Bash(make)"))
    async with Session(ScriptedModel(), builtin_tools(), mode="accept_edits", config=rules) as root:
        async with root.derive(host=config.root / "sub") as nested:
            for name, arguments in (
                ("Read", {"file_path": "hidden.txt"}),
                ("Write", {"file_path": "new.txt", "content": "x"}),
                ("Grep", {"pattern": "TOP"}),
                ("Bash", {"command": "make"}),
            ):
                _, question = await called(root, nested, name, **arguments)
                assert question is None, (name, question)
        assert (config.root / "sub" / "new.txt").read_text() == "x"


async def test_an_answer_in_another_folder_does_not_count_in_the_folder_of_the_root(config: Config) -> None:
    async with (
        Session(ScriptedModel(), builtin_tools(), config=config) as root,
        root.derive(host=config.root / "sub") as nested,
    ):
        new = {"file_path": "new.txt", "content": "x"}
        _, question = await answered(root, nested, lambda each: each.always(), "Write", **new)
        assert question is not None
        assert not nesting_of(root).policies
        assert (await called(root, root, "Write", **new))[1] is not None
    assert not (config.root / "new.txt").exists()


@pytest.mark.spec("GATE-13")
@pytest.mark.parametrize("attack", ["unproven data", "data in the workspace", "wrapped host", "nothing"])
async def test_the_sandbox_of_the_root_is_used_whatever_a_nested_session_is_given(config: Config, attack: str) -> None:
    prove(config)
    loose = ruled(config, ("allow", "Bash"))
    options: dict[str, dict[str, Any]] = {
        "unproven data": {"config": replace(loose, data=config.root.parent / "data2")},
        "data in the workspace": {"config": replace(loose, own_data=False)},
        "wrapped host": {"host": WrappedHost(LocalHost(config.root))},
        "nothing": {},
    }
    shell = Shell()
    async with (
        Session(ScriptedModel(), [Shell()], config=loose) as root,
        root.derive(tools=[shell], **options[attack]) as nested,
    ):
        await called(root, nested, "Bash", command="npm test")
    assert shell.ran == [("npm test", True)]


@pytest.mark.spec("GATE-13")
async def test_settings_of_a_nested_session_can_only_make_fewer_folders_writable(config: Config) -> None:
    prove(config)
    (config.root / ".env").write_text("KEY=1")
    (config.root / ".git").mkdir()
    base, git = config.root.parent, config.root / ".git"
    cases = (
        (base / "other", config.root),
        (base, config.root),
        (git, config.root),
        (config.root / "sub", config.root / "sub"),
    )
    async with Session(ScriptedModel(), [Shell()], config=config) as root:
        for folder, writable in cases:
            shell, own = Shell(), replace(ruled(config, ("allow", "Read(.env)"), ("allow", "Bash")), root=folder)
            async with root.derive(tools=[shell], config=own):
                assert shell.sandbox is not None
                profile = shell.sandbox._profile()  # pyright: ignore[reportPrivateUsage]
                assert profile.tops == (str(writable),), folder
                assert str(config.root / ".env") in profile.unreadable, folder


async def test_a_nested_session_spends_nothing_after_a_session_around_it_is_closed() -> None:
    turns = [turn(call("noop", n=n), stop("tool_calls", Usage(output=100))) for n in range(8)]
    noop = PlainTool("noop", lambda arguments, run: "done", traits=Traits("none"))
    setup = ModelSetup(ScriptedModel(), price=lambda name, usage: usage.output / 1_000)
    async with Session(setup, [noop], host=virtual_host()) as root:
        nested = root.derive()
        inner = nested.derive(model=ScriptedModel(*turns, otherwise=turn(say("Done."))))
        await nested.aclose()
        with pytest.raises(StateError):
            await inner.run("go")
        assert not inner.cost
        await inner.aclose()
