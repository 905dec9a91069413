"""The store of trusted folders for the commands."""

from callgate.config import AnyPath, load_config
from callgate.policy.trust import Trust
from callgate.words.errors import UsageError


def trust_store(root: AnyPath | None = None) -> Trust:
    """UsageError where the data folder is in the workspace, which would then speak for itself."""
    config = load_config(root)
    if not config.own_data:
        raise UsageError(f"{config.data} lies in the workspace, so trust does not count: choose another data folder")
    return Trust(config.data)
