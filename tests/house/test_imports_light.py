"""`import callgate` costs little and brings nobody else's code."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# Modules that a fresh interpreter does not have yet, ours included.
BUDGET = 60

# The first turn of a session without settings, a journal or a command: modules beyond those of pydantic.
TURN_BUDGET = 144
TURN = Path(__file__).with_name("probe_first_turn.py")
LATER = ("shell.", "changes.", "host.applying", "policy.hooks", "config", "transcript.masking", "tools.structural")

PROBE = """
import sys
before = set(sys.modules)
import callgate
after = set(sys.modules)
import json
print(json.dumps(sorted(after - before)))
"""


def test_importing_the_package_loads_only_itself_and_few_standard_modules(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    # -I: no environment and no current folder; site-packages, and so an editable installation, remain.
    ran = subprocess.run([sys.executable, "-I", "-c", PROBE], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    loaded: list[str] = json.loads(ran.stdout)
    assert "callgate" in loaded
    ours = {"callgate"} | sys.stdlib_module_names
    foreign = [name for name in loaded if name.partition(".")[0] not in ours]
    assert not foreign, f"`import callgate` loads {', '.join(foreign)}"
    record_property("report", f"import callgate: {len(loaded)} modules of at most {BUDGET}")
    assert len(loaded) <= BUDGET, f"`import callgate` loads {len(loaded)} modules:\n" + "\n".join(loaded)


def test_the_first_turn_loads_few_modules_and_no_room_that_it_does_not_use(
    record_property: Callable[[str, object], None],
) -> None:
    ran = subprocess.run([sys.executable, str(TURN)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    loaded: list[str] = json.loads(ran.stdout)
    ours = [name.removeprefix("callgate.") for name in loaded if name.startswith("callgate.")]
    early = [name for name in ours if name.startswith(LATER)]
    assert not early, f"the first turn loads {', '.join(early)}"
    record_property("report", f"the first turn: {len(loaded)} modules beyond pydantic's, of at most {TURN_BUDGET}")
    assert len(loaded) <= TURN_BUDGET, "\n".join(loaded)


# What the terminal has loaded when its first prompt is on the screen: modules beyond those of prompt_toolkit.
PROMPT_BUDGET = 100
PROMPT = """
import sys
import prompt_toolkit.application, prompt_toolkit.key_binding.defaults
before = set(sys.modules)
from callgate.cli import main
from callgate.cli.start_options import read_interactive
from callgate.cli.terminal_opener import interactive
from callgate.tui.app import TerminalApp
import json
print(json.dumps(sorted(set(sys.modules) - before)))
"""
AFTER_PROMPT = ("pydantic", "tree_sitter", "h11", "pygments", "markdown_it")
OURS_AFTER_PROMPT = (
    *("assembly", "config", "providers.", "policy", "tools.", "session."),
    *("core.", "conversation.", "transcript."),
)


def test_the_first_prompt_waits_for_no_model_no_settings_and_no_markdown(
    record_property: Callable[[str, object], None],
) -> None:
    ran = subprocess.run([sys.executable, "-c", PROMPT], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    loaded: list[str] = json.loads(ran.stdout)
    early = [name for name in loaded if name.partition(".")[0] in AFTER_PROMPT]
    early += [name for name in loaded if name.removeprefix("callgate.").startswith(OURS_AFTER_PROMPT)]
    assert not early, f"the first prompt loads {', '.join(early)}"
    record_property(
        "report", f"the first prompt: {len(loaded)} modules beyond prompt_toolkit's, at most {PROMPT_BUDGET}"
    )
    assert len(loaded) <= PROMPT_BUDGET, "\n".join(loaded)
