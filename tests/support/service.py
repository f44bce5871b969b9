"""A service in Python: fastmcp at /mcp/board, on the port that the runtime says. Ends with its input."""

import os
import sys
import threading

from fastmcp import FastMCP
from fastmcp.server.dependencies import get_http_headers

server = FastMCP("Board")


@server.tool
async def add(title: str) -> str:
    """Adds a card."""
    return f"added {title} for {get_http_headers()['x-user-id']}"


def end_with_the_runtime():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_the_runtime, daemon=True).start()
server.run("http", host="127.0.0.1", port=int(os.environ["PORT"]), path="/mcp/board", show_banner=False)
