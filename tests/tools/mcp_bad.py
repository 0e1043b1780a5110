"""An MCP server over stdio that misbehaves on demand, written by hand so that it starts at once.

`python mcp_bad.py <log>`: each start appends its process id to the file `<log>`. With a further
argument `silent` it never answers, with `ignores-end` it stays when its input ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING = {"type": "object", "properties": {}}
DEEP: dict[str, object] = {"type": "object"}
for _ in range(40):
    DEEP = {"type": "object", "properties": {"x": DEEP}}

TOOLS = [
    {"name": "echo", "description": "Says it\u0007 again.", "inputSchema": TEXT},
    {"name": "Echo", "description": "The same name in other letters.", "inputSchema": TEXT},
    {"name": "die", "inputSchema": NOTHING},
    {"name": "hang", "inputSchema": NOTHING},
    {"name": "huge", "inputSchema": NOTHING},
    {"name": "endless", "inputSchema": NOTHING},
    {"name": "garbage", "inputSchema": NOTHING},
    {"name": "picture", "inputSchema": NOTHING},
    {"name": "refuse", "inputSchema": NOTHING},
    {"name": "nonsense", "inputSchema": NOTHING},
    {"name": "environment", "inputSchema": NOTHING},
    {"name": "x" * 100, "inputSchema": NOTHING},
    {"name": "deep", "inputSchema": DEEP},
    {"name": "large", "inputSchema": {"type": "object", "description": "x" * 20_000}},
    {
        "name": "elsewhere",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"$ref": "http://127.0.0.1:1/schema"}},
        },
    },
    {"name": "odd names", "inputSchema": {"type": "object", "properties": {"a b": {}}}},
    {"name": "malformed", "inputSchema": {"type": "object", "properties": {"a": {"type": 7}}}},
]


def say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def words(text: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}]}


def call(number: object, name: str, arguments: dict[str, str]) -> None:
    if name == "die":
        os._exit(3)
    elif name == "hang":
        time.sleep(600)
    elif name == "huge":
        say({"id": number, "result": words("tea " * 500_000)})
    elif name == "endless":
        while True:
            sys.stdout.write("x" * 65536)
    elif name == "garbage":
        sys.stdout.write('not json\n{"jsonrpc": "2.0", "id": \n[[[[\n\n')
        say({"id": 987654, "result": {}})
        say({"id": number, "result": words("after garbage")})
    elif name == "picture":
        say(
            {
                "id": number,
                "result": {
                    "content": [
                        {"type": "image", "data": "QUJD" * 100, "mimeType": "image/png"},
                        {"type": "resource_link", "name": "notes", "uri": "file:///etc/notes"},
                        {
                            "type": "resource",
                            "resource": {"uri": "file:///x", "text": "planted text"},
                        },
                        {"type": "text", "text": "a picture\u001b"},
                    ]
                },
            }
        )
    elif name == "refuse":
        say({"id": number, "error": {"code": -32602, "message": "no\nsuch\u0007 thing"}})
    elif name == "nonsense":
        say({"id": number, "result": {"content": "no list"}})
    elif name == "environment":
        say({"id": number, "result": words(" ".join(sorted(os.environ)))})
    else:
        say({"id": number, "result": words(f"{name}: {arguments['text']}")})


def main() -> None:
    with open(sys.argv[1], "a") as log:
        log.write(f"{os.getpid()}\n")
    how = sys.argv[2:]
    if "ignores-end" in how:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while line := sys.stdin.readline():
        message = json.loads(line)
        number, params = message.get("id"), message.get("params") or {}
        if "silent" in how or number is None:
            continue
        match message["method"]:
            case "initialize":
                say(
                    {
                        "id": number,
                        "result": {
                            "protocolVersion": params["protocolVersion"],
                            "capabilities": {"tools": {}},
                            "serverInfo": {"name": "bad", "version": "1"},
                        },
                    }
                )
            case "tools/list":
                say({"id": number, "result": {"tools": TOOLS}})
            case "tools/call":
                call(number, params["name"], params.get("arguments") or {})
            case _:
                say({"id": number, "error": {"code": -32601, "message": "Method not found"}})
    while "ignores-end" in how:
        time.sleep(1)


main()
