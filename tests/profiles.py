"""How many examples a property test takes."""

from hypothesis import settings


def fewer(number: int) -> settings:
    """So many in the fast profile, for a property whose examples are costly; the other profiles keep their number."""
    now = settings()
    return settings(now, max_examples=number) if settings.get_current_profile_name() == "fast" else now
