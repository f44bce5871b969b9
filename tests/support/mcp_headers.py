"""An MCP server (fastmcp) that writes what it was sent into a file, one JSON object a line.

Of every request the method and the headers; of every call of the tool `note` also its
arguments. Arguments: the port and the file.
"""

import json
import sys
import threading

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.dependencies import get_http_headers

port, path = int(sys.argv[1]), sys.argv[2]
lock = threading.Lock()
server = FastMCP("Headers")


def record(**entry):
    with lock, open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


@server.tool
async def note(text: str, employee: str = "") -> str:
    """Keeps a note."""
    record(kind="call", text=text, employee=employee, headers=get_http_headers(include_all=True))
    return f"kept {text}"


class Recorder:
    """ASGI: writes down each request and passes it on."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
            record(kind="request", method=scope["method"], headers=headers)
        await self.app(scope, receive, send)


uvicorn.run(Recorder(server.http_app(path="/mcp")), host="127.0.0.1", port=port, log_level="warning")
