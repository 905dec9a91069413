"""A repository whose settings have hooks, and short ways to look at it and to trust it."""

from hashlib import sha256
from pathlib import Path

from callgate.policy.fingerprint import fingerprint
from callgate.policy.trust import Trust, Trusted

HOOKS = """\
[[hooks.PostToolUse]]
command = "make lint"
matcher = "Edit"

[[hooks.PreToolUse]]
command = "bash -c './scripts/check.sh --config=conf/lint.ini'"
if = "Bash(git *)"

[[hooks.Stop]]
python = "own.hooks:stop"

[questions]
notify = "python -m tell.me $CALLGATE_PROJECT_DIR/tell.txt 'with blank.txt'"
"""


def put(root: Path, name: str, text: str = "", mode: int = 0o644) -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def trusted(store: Trust, root: Path) -> None:
    assert store.trust(root, fingerprint(root)) == Trusted(1_000.0)


def hashed(text: str) -> str:
    return sha256(text.encode()).hexdigest()
