"""The first start without a key: the ways to go on, for every door from one place. Blocks for a moment."""

from callgate.assembly.models import model_source
from callgate.config import Config
from callgate.providers.ways_on import NO_MODEL, WayOn, ways_in_words

__all__ = ["NO_MODEL", "WayOn", "first_run_page", "missing_model", "ways_in_words"]


def missing_model(config: Config) -> tuple[WayOn, ...]:
    """The ways to get a model: a key, a local server, the demo. Empty if a model is set or a key is there, so that
    there is nothing to explain. Local servers are asked for what they have; nothing leaves this machine."""
    source = model_source(config)
    if config.models.default is not None or source.first_with_key() is not None:
        return ()
    return source.ways_on()


def first_run_page(config: Config) -> str:
    """The same as a few lines for people; empty if there is nothing to explain."""
    ways = missing_model(config)
    if not ways:
        return ""
    told = [f"{NO_MODEL.capitalize()}. Ways to go on:"]
    for way in ways:
        told += [f"- {way.what}:", f"    {way.command}"]
    return "\n".join((*told, "`callgate doctor` looks at everything else."))
