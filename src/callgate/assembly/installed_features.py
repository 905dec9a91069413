"""Features of installed packages: entry points of the group ``callgate.features``.

An entry point names a Feature, or a function without parameters that returns a Feature. The conditions are the same
as for packages of tools: a package in an untrusted workspace is not used.
"""

from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint

from callgate.config import Config
from callgate.conversation.feature import Feature
from callgate.host.threads import in_thread
from callgate.policy.trust import Trusted
from callgate.tools.custom.tool_files import Problem
from callgate.tools.custom.tool_loader import PATIENCE, Installed, entry_points_of, in_time, label_of
from callgate.words.errors import in_words
from callgate.words.noun import noun

GROUP = "callgate.features"
_OF_ALL_SESSIONS = ("compaction", "hooks", "nesting", "notices", "questions", "remembered", "staging", "workspace")
BUILTIN_FEATURES = frozenset((*_OF_ALL_SESSIONS, "context", "mcp", "search", "titles"))
"""Names that are refused for installed features, because sessions need the built-in features of these names."""


@noun
class InstalledFeature:
    """A feature of an installed package, and the file of its entry point."""

    feature: Feature
    origin: str


@noun
class LoadedFeatures:
    """The features of installed packages, and the problems with unusable entry points."""

    features: tuple[InstalledFeature, ...] = ()
    problems: tuple[Problem, ...] = ()


async def installed_features(config: Config) -> LoadedFeatures:
    """Import the features of all installed packages, each with a time limit. Return the features and the problems."""
    installed = Installed(config.root, trusted=isinstance(config.trust, Trusted))
    points, problems = await in_thread(partial(entry_points_of, installed, GROUP))
    found: dict[str, InstalledFeature] = {}
    for point in points:
        job: Callable[[], Feature | str] = partial(_load, point)
        feature = await in_time(job, PATIENCE)
        if feature is None:
            feature = f"loading did not finish within {PATIENCE:g} seconds"
        elif isinstance(feature, Feature) and feature.name in (*BUILTIN_FEATURES, *found):
            feature = f"a feature {feature.name!r} already exists"
        if isinstance(feature, str):
            problems.append(Problem(label_of(point), None, f"the feature is ignored: {feature}", "installed"))
        else:
            found[feature.name] = InstalledFeature(feature, label_of(point))
    return LoadedFeatures(tuple(found.values()), tuple(problems))


def _load(point: EntryPoint) -> Feature | str:
    """Import one feature and return it, or the reason for a failure. Never raises."""
    try:
        value = point.load()
        made = value if isinstance(value, Feature) or not callable(value) else value()
    except BaseException as error:
        return in_words(error)
    return made if isinstance(made, Feature) else f"the entry point returns {type(made).__name__} instead of a Feature"
