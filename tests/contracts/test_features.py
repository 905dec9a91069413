"""Every built-in feature keeps the contract of Feature; a feature in one file does what a built-in package does."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from callgate.compaction.titles import titles_feature
from callgate.config import load_config
from callgate.conversation.feature import Feature, FeaturePart, OpenSession
from callgate.features import (
    Reminder,
    compaction_feature,
    context_feature,
    hooks_feature,
    search_feature,
    servers_feature,
    staging_feature,
)
from callgate.mcp.server_list import ServerList
from callgate.notices.notices_feature import notices_feature
from callgate.session.nesting import nesting_feature
from callgate.session.remembered import remembered_feature
from callgate.session.user_questions import questions_feature
from callgate.staging.workspace import workspace_feature
from callgate.testing import PlainTool, PlainToolbox, ScriptedModel, check_feature, run_virtual
from callgate.words.events import CallProgressed, TurnEnded
from callgate.words.turns import FeatureRecorded

DEFERRED = PlainToolbox(PlainTool("Extra"))
FEATURES = (
    notices_feature(),
    questions_feature(),
    nesting_feature(None),
    staging_feature(),
    staging_feature(resolved="whenever"),
    workspace_feature(),
    compaction_feature(),
    context_feature({"colour": "green"}),
    search_feature(DEFERRED),
    titles_feature(ScriptedModel()),
)


def needed_by(feature: Feature) -> list[Feature]:
    """Return all other features that it needs, directly or not."""
    by_name = {each.name: each for each in (*FEATURES, hooks_feature())}
    found: dict[str, Feature] = {}
    left = [*feature.needs]
    while left:
        each = by_name[left.pop()]
        found[each.name] = each
        left += each.needs
    return [*found.values()]


@pytest.mark.parametrize("feature", FEATURES, ids=lambda each: each.name)
def test_a_built_in_feature(feature: Feature) -> None:
    run_virtual(check_feature(feature, needs=needed_by(feature)))


def test_the_features_of_a_config(tmp_path: Path) -> None:
    config = load_config(tmp_path, environ={"HOME": str(tmp_path.parent)}, managed=tmp_path / "none")
    config = replace(config, data=tmp_path.parent / "data")
    for feature in (hooks_feature(), remembered_feature(config.memory())):
        asyncio.run(check_feature(feature, needs=needed_by(feature), config=config))


def test_the_feature_of_mcp_servers() -> None:
    feature = servers_feature(ServerList(()))
    run_virtual(check_feature(feature, needs=needed_by(feature)))


# ---- what the check finds ----------------------------------------------------------------------------------------


class Counter(FeaturePart):
    """Counts turns, and does not expect that a compaction removes them."""

    kind: type = TurnEnded

    def __init__(self, opened: OpenSession) -> None:
        self.opened = opened
        self.folds = {self.kind: self._count}
        self.count = 0

    def _count(self, event: object) -> None:
        self.count += 1

    @property
    def wakes(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.count)))


class Doubling(Counter):
    """Counts facts of its own, and does not clear the number."""

    kind = FeatureRecorded

    async def after_turn(self, ended: TurnEnded) -> None:
        self.opened.store("a", "turn", {})


class Transient(FeaturePart):
    folds = MappingProxyType({CallProgressed: print})


class Silent(FeaturePart):
    def before_request(self, abilities: Any) -> list[Reminder]:
        return [Reminder("", "nothing")]


SHARED = FeaturePart()


@pytest.mark.parametrize(
    ("feature", "promise"),
    [
        (Feature("", lambda _: FeaturePart()), "has a name"),
        (Feature("a", lambda _: FeaturePart(), owns=frozenset({"system"})), "may own tool_choice"),
        (Feature("a", lambda _: SHARED), "a part of its own"),
        (Feature("a", lambda _: Transient()), "only durable events are folded"),
        (Feature("a", lambda _: Silent()), "a reminder has a text"),
        (Feature("a", Counter), "a fold of the record"),
        (Feature("a", Doubling), r"reset\(\) clears the state"),
    ],
)
def test_a_feature_that_breaks_the_contract(feature: Feature, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        run_virtual(check_feature(feature))
