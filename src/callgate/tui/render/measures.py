"""Formats durations and progress bars."""

from callgate.tui.theme import Theme


def seconds_text(seconds: float) -> str:
    """Return a duration as text: ``2.1 s``, ``34 s``, ``3 min 4 s``, ``2 h 5 min``, ``3 days``."""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} days"


def gauge(theme: Theme, current: float, total: float, width: int) -> str:
    """Return a progress bar and the percentage, or an empty string if the total is unknown."""
    if not total > 0 or current != current or total == float("inf"):
        return ""
    share = min(max(current / total, 0.0), 1.0)
    size = max(min(width - 6, 20), 1)
    full = int(share * size)
    bar = theme.sign("█", "#") * full + theme.sign("░", ".") * (size - full)
    return f"{bar} {share:.0%}"
