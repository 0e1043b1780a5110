"""An MCP server over stdio that misbehaves on demand, written by hand so that it starts at once.

`python mcp_bad.py <log>`: each start appends its process id to the file `<log>`. With a further
argument `silent` it never answers, with `ignores-end` it stays when its input ends; `hard` and
`wide` list tools that are much work, and those of `FLOODS` say without end what nobody asked for.
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
    {"name": "required", "inputSchema": {"type": "object", "required": [{}]}},
    {"name": "listed", "inputSchema": {"type": "object", "properties": {"a": [1, 2]}}},
    {"name": "without schema"},
    {"name": {"a": 7}, "inputSchema": NOTHING},
    "no tool",
]

HARD = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}] * 700}}}
WIDE = {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 9_000}}}

FLOODS = {
    "notices": {"method": "notifications/message", "params": {"level": "info", "data": "x"}},
    "asks": {"method": "sampling/createMessage", "id": "s", "params": {"messages": ["x" * 9_000]}},
    "answers": {"id": 987654, "result": {}},
    "changes": {"method": "notifications/tools/list_changed"},
}


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


def listed(how: list[str]) -> list[object]:
    for name, schema in (("hard", HARD), ("wide", WIDE)):
        if name in how:
            return [{"name": f"{name}{n}", "inputSchema": schema} for n in range(64)]
    return list(TOOLS)


def flood(how: list[str]) -> None:
    for name in FLOODS:
        while name in how:
            say(FLOODS[name])
    if "garbage" in how:
        while True:
            sys.stdout.write("no JSON\n" * 100)
    if "dense" in how:
        sys.stdout.write("[" + "[]," * 1_300_000 + "[]]\n")
        sys.stdout.flush()
    while "errors" in how:
        sys.stderr.write("x" * 65_536)


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
                say({"id": number, "result": {"tools": listed(how)}})
                flood(how)
            case "tools/call":
                call(number, params["name"], params.get("arguments") or {})
            case _:
                say({"id": number, "error": {"code": -32601, "message": "Method not found"}})
    while "ignores-end" in how:
        time.sleep(1)


main()
