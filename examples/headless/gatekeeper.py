"""Runs the agent by lines of JSON and answers its questions by a rule of one's own: only changes to docs/ are allowed.

python gatekeeper.py "Mend the typos in docs/"
"""

import json
import subprocess
import sys
from typing import Any

COMMAND = [sys.executable, "-m", "callgate", "-p", "--input-format", "stream-json", "--output-format", "stream-json"]


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Yes to a change whose files all lie in docs/, no to everything else."""
    preview = question["preview"]
    files = [] if preview is None else [change["path"] for change in preview["files"]]
    good = bool(files) and all(path.startswith("docs/") for path in files)
    about = {name: question[name] for name in ("call_id", "arguments_hash", "path")}
    note = None if good else "Only files in docs/ may be changed."
    return {"type": "Answer", "confirmation": {**about, "outcome": "yes" if good else "no", "note": note}}


def main(prompt: str) -> int:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None

        def send(line: dict[str, Any]) -> None:
            print(json.dumps(line), file=agent.stdin, flush=True)

        send({"type": "Prompt", "content": prompt})
        for event in map(json.loads, agent.stdout):
            if event["type"] == "QuestionAsked":
                reply = answer(event["question"])
                print(f"{event['question']['tool']}: {reply['confirmation']['outcome']}")
                send(reply)
            elif event["type"] == "RunEnded":
                agent.stdin.close()
            elif event["type"] == "result":
                print(event["text"])
    return agent.returncode


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
