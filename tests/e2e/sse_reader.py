"""Reads an event stream with httpx-sse and prints its events as JSON: [[id, data], ...].

Arguments: the method, the address, the body (or an empty text) and headers as `name: value`.
"""

import json
import sys

import httpx
from httpx_sse import connect_sse

method, url, body, *headers = sys.argv[1:]
fields = dict(header.split(": ", 1) for header in headers)
with httpx.Client(timeout=30, trust_env=False) as client:
    with connect_sse(client, method, url, content=body or None, headers=fields) as source:
        print(json.dumps([[event.id, event.data] for event in source.iter_sse()]))
