"""An agent that fixes a failing test: python agent.py FOLDER. The model is scripted, everything else is real."""

import sys

from callgate import Session, builtin_tools, load_config
from callgate.testing import ScriptedModel, call, say, turn

TESTS = "python3 -B -m unittest test_prices"
FAULT, FIXED = "PRICES[name] for name in basket", "PRICES[name] * count for name, count in basket.items()"
model = ScriptedModel(
    turn(say("I run the tests."), call("Bash", command=TESTS)),
    turn(say("One fails."), call("Read", file_path="test_prices.py"), call("Read", file_path="prices.py")),
    turn(say("It forgets how many."), call("Edit", file_path="prices.py", old_string=FAULT, new_string=FIXED)),
    turn(say("And once more."), call("Bash", command=TESTS)),
    lambda request: turn(say("It is fixed." if "OK" in str(request.messages[-1]) else "It still fails.")),
)

config = load_config(sys.argv[1], mode="accept_edits", allow=[f"Bash({TESTS})"])
with Session(model, builtin_tools("Bash", "Edit", "Read"), config=config) as session:
    session.run_sync("A test fails. Find out why, and fix the code.")
    for message in session.messages:
        if message.text:
            print(message.text, *(session.controls.face(each.name, each.arguments).line for each in message.calls))
