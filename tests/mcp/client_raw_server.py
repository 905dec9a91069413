"""A server written with the standard library alone, so that it starts at once and can do what no honest one does.

``python client_raw_server.py BEHAVIOUR [VALUE]``; it speaks 2025-06-18 over standard input and output.
"""

import json
import os
import sys
import time
from typing import Any

BEHAVIOUR, VALUE = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
LISTINGS = [0]
CANCELLED: list[int] = []
FIRST_LIFE = BEHAVIOUR == "dies once" and not os.path.exists(VALUE)
ADD = {
    "name": "add",
    "description": "Add two numbers",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    "annotations": {"readOnlyHint": True},
}


def send(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(number: Any, result: Any) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": result})


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def listed(count: int) -> list[dict[str, Any]]:
    if BEHAVIOUR == "tools":
        return json.loads(VALUE)
    if BEHAVIOUR == "versions":  # another definition with each listing
        return json.loads(VALUE)[min(count, len(json.loads(VALUE)) - 1)]
    if BEHAVIOUR == "lists once" and count:
        return [ADD]
    if BEHAVIOUR == "many":
        return [{**ADD, "name": f"tool{index}"} for index in range(int(VALUE))]
    return [ADD, {"name": "env", "inputSchema": {"type": "object"}}]


def call(number: Any, params: dict[str, Any]) -> None:
    given = params.get("arguments") or {}
    if BEHAVIOUR == "dies":
        os._exit(3)
    elif FIRST_LIFE:  # what was read before changes before the second one
        open(VALUE, "x", encoding="utf-8").close()
        os._exit(3)
    elif BEHAVIOUR == "silent":
        if given.get("a") == 99:  # it tells which calls were cancelled
            answer(number, text(json.dumps(CANCELLED)))
            return
        token = params["_meta"]["progressToken"]
        about = {"progressToken": token, "progress": 1, "total": 2, "message": "thinking"}
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": about})
    elif BEHAVIOUR == "twice":
        answer(number, text("first"))
        answer(number, text("second"))
    elif BEHAVIOUR == "wrong ids":
        answer(999, text("for nobody"))
        answer({"no": "id"}, text("no id"))
        answer(number, text("right"))
    elif BEHAVIOUR == "text id":
        answer(str(number), text("by text"))
    elif BEHAVIOUR == "array":
        send([{"jsonrpc": "2.0", "id": number, "result": text("in an array")}])
    elif BEHAVIOUR == "huge":
        sys.stdout.write(f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","text":"')
        for _ in range(int(VALUE)):
            sys.stdout.write("x" * 1_000_000)
        sys.stdout.write('"}]}}\n')
        sys.stdout.flush()
    elif BEHAVIOUR == "endless":
        while True:
            sys.stdout.write("y" * 1_000_000)
    elif BEHAVIOUR == "junk":
        sys.stdout.write("this is no JSON\n\x00\xff{}[]\n" + "[" * 5000 + "\n")
        answer(number, text("after junk"))
    elif BEHAVIOUR == "storm":
        if given.get("a") == 99:  # it tells how often its list was looked at
            answer(number, text(str(LISTINGS[0])))
            return
        for _ in range(int(VALUE)):
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        answer(number, text("after the storm"))
    elif BEHAVIOUR == "changes":
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        answer(number, text("changed"))
    elif BEHAVIOUR == "result":
        answer(number, json.loads(VALUE))
    elif BEHAVIOUR == "result file":
        with open(VALUE, encoding="utf-8") as file:
            answer(number, json.load(file))
    elif BEHAVIOUR == "elicits":
        send({"jsonrpc": "2.0", "id": "e1", "method": "elicitation/create", "params": json.loads(VALUE)})
        answer(number, text(json.dumps(json.loads(sys.stdin.readline()).get("result"))))
    elif BEHAVIOUR == "asks and dies":
        send({"jsonrpc": "2.0", "id": "e1", "method": "elicitation/create", "params": json.loads(VALUE)})
        os._exit(3)
    elif BEHAVIOUR == "nags":
        answers: list[Any] = []
        for at in range(3):
            send({"jsonrpc": "2.0", "id": f"e{at}", "method": "elicitation/create", "params": json.loads(VALUE)})
            answers.append(json.loads(sys.stdin.readline())["result"]["action"])
        answer(number, text(json.dumps(answers)))
    elif BEHAVIOUR == "fails":
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32000, "message": VALUE}})
    elif BEHAVIOUR == "asks and does not read":
        while True:
            send({"jsonrpc": "2.0", "id": "p", "method": "ping"})
    elif BEHAVIOUR == "lists once" and given.get("a") == 99:  # it changes its list, and waits until it is asked for it
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        asked = json.loads(sys.stdin.readline())
        send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32000, "message": "not again"}})
        answer(number, text(asked["method"]))
    elif BEHAVIOUR == "samples":
        params = {"messages": [], "maxTokens": 1}
        send({"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage", "params": params})
        answer(number, text(json.dumps(json.loads(sys.stdin.readline()).get("error"))))
    elif params["name"] == "env":
        answer(number, text(json.dumps(dict(os.environ))))
    else:
        answer(number, text(str(given.get("a", 0) + given.get("b", 0))))


def main() -> None:
    if BEHAVIOUR == "prints and exits":
        print("this is not for you")
        sys.exit(1)
    if BEHAVIOUR == "exits":
        print("cannot find my settings", file=sys.stderr)
        sys.exit(1)
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if BEHAVIOUR == "never connects" or number is None:
            if method == "notifications/cancelled":
                CANCELLED.append(message["params"]["requestId"])
            continue
        if BEHAVIOUR == "refuses":
            send({"jsonrpc": "2.0", "id": number, "error": {"code": -32000, "message": VALUE}})
        elif method == "initialize":
            if BEHAVIOUR == "slow start":
                time.sleep(float(VALUE))
            info = {"name": "raw", "version": "1"}
            capabilities = {"tools": {"listChanged": True}, "logging": {}, "resources": {"subscribe": True}}
            if BEHAVIOUR in ("refuses prompts", "prompts"):
                capabilities["prompts"] = {}
            answer(number, {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info})
        elif method == "tools/list":
            answer(number, {"tools": listed(LISTINGS[0])})
            LISTINGS[0] += 1
            if BEHAVIOUR == "falls silent":
                os.close(1)
        elif method == "prompts/list" and BEHAVIOUR == "prompts":
            answer(number, {"prompts": [{"name": "p"}]})
        elif method == "prompts/get" and BEHAVIOUR == "prompts" and VALUE:
            answer(number, {"messages": [{"role": "user", "content": {"type": "text", "text": VALUE}}]})
        elif method == "prompts/get" and BEHAVIOUR == "prompts":
            continue
        elif method == "resources/list" and BEHAVIOUR == "refuses reading":
            send({"jsonrpc": "2.0", "id": number, "error": {"code": -32000, "message": "no list"}})
        elif method == "resources/list":
            answer(number, {"resources": [{"uri": "note://a", "name": "a\x1b[31m note"}]})
        elif method == "resources/templates/list":
            answer(number, {"resourceTemplates": []})
        elif method == "resources/read" and BEHAVIOUR != "refuses reading":
            answer(number, {"contents": [{"uri": message["params"]["uri"], "text": "remember the milk"}]})
        elif method == "resources/subscribe" and BEHAVIOUR == "ignores subscriptions":
            continue
        elif method == "resources/subscribe" and BEHAVIOUR != "refuses subscriptions":
            answer(number, {})
            for _ in range(0 if FIRST_LIFE else 100):
                send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": message["params"]})
        elif method == "tools/call":
            call(number, message["params"])
        else:
            send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "Method not found"}})


main()
