"""The input and output types of the checks."""

from collections.abc import Mapping
from typing import Literal

from callgate.config import Config
from callgate.words.noun import noun

DiagnosisStatus = Literal["ok", "warning", "fault", "skipped"]


@noun
class Diagnosis:
    """One finding of a check.

    name     the name of the check
    status   ``warning``: Callgate works, with less; ``fault``: something that was asked for does not work
    saw      what was found
    problem  what is wrong with it
    repair   commands that repair it
    """

    name: str
    status: DiagnosisStatus
    saw: str
    problem: str = ""
    repair: tuple[str, ...] = ()


@noun
class Patient:
    """The input of all checks.

    config   the settings; None if they cannot be loaded
    problem  the reason why the settings cannot be loaded
    online   True if checks may send requests to models and connect MCP servers
    """

    config: Config | None
    problem: str
    environ: Mapping[str, str]
    online: bool = False

    @property
    def settings(self) -> Config:
        """The settings. Raise NoSettings if they cannot be loaded."""
        if self.config is None:
            raise NoSettings
        return self.config


class NoSettings(Exception):
    """Raised by a check that needs settings; ``run_checks`` reports it as skipped."""


def fine(saw: str) -> Diagnosis:
    return Diagnosis("", "ok", saw)


def warning(saw: str, problem: str, *repair: str) -> Diagnosis:
    return Diagnosis("", "warning", saw, problem, repair)


def fault(saw: str, problem: str, *repair: str) -> Diagnosis:
    return Diagnosis("", "fault", saw, problem, repair)


def skipped(why: str) -> Diagnosis:
    return Diagnosis("", "skipped", why)
