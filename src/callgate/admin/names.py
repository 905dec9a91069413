"""Names for the completion of shells, which may ask for them at their start: little is loaded here."""

from callgate.policy.keys import SETTINGS
from callgate.providers.catalogue import Catalogue


def provider_names() -> tuple[str, ...]:
    """The vendors that Callgate knows; those of a person's own settings are not among them."""
    return tuple(Catalogue().vendors)


def setting_names() -> tuple[str, ...]:
    """The keys that have a value of their own."""
    return tuple(key.name for key in SETTINGS if "*" not in key.name)
