"""A model that goes round in circles is stopped by a question."""

from callgate.core.ports import Case, Verdict
from callgate.words.decisions import Ask


def loop_guard(case: Case) -> Verdict:
    """The same call for the third time in a row, or a cycle of calls coming round for the third time. A tool that is
    meant to be called again and again says so."""
    recent = case.recent
    if not recent or case.traits.repeats or case.arguments_hash not in recent:
        return None
    trail = [*recent, case.arguments_hash]
    for period in range(1, len(trail) // 3 + 1):
        if trail[-period:] == trail[-2 * period : -period] == trail[-3 * period : -2 * period]:
            what = "the same call" if period == 1 else f"the same {period} calls"
            return Ask(
                "loop guard",
                f"{what} in a row for the third time, ending in {case.name}",
                unattended="deny",
                standing=True,
            )
    return None
