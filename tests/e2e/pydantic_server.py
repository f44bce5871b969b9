"""An AG-UI server that shares no code with this project: Pydantic AI with a
scripted model. Run as `python pydantic_server.py PORT`; no key, no network."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import uvicorn
from fastapi import FastAPI, Request
from fastapi.middleware.cors import CORSMiddleware
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter


def prompts(messages: list[ModelMessage]) -> list[str]:
    """Everything the user said, oldest first."""
    parts = (part for m in messages if isinstance(m, ModelRequest) for part in m.parts)
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)]


def returns(messages: list[ModelMessage]) -> list[str]:
    """What came back from the tools of the last step."""
    last = messages[-1]
    parts = last.parts if isinstance(last, ModelRequest) else []
    return [part.model_response_str() for part in parts if isinstance(part, ToolReturnPart)]


async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    """Repeats what was said, word by word; "slowly" leaves time to stop it. "call [[name, args], ...]"
    calls tools of the page, all at once, and then repeats their results; "tools" names them."""
    said = prompts(messages)
    if results := returns(messages):
        yield json.dumps(results)
        return
    if said[-1] == "tools":
        yield json.dumps({tool.name: tool.parameters_json_schema for tool in info.function_tools})
        return
    if said[-1].startswith("call "):
        for index, (name, args) in enumerate(json.loads(said[-1][5:])):
            call_id = f"call-{len(messages)}-{index}"
            yield {index: DeltaToolCall(name=name, json_args="", tool_call_id=call_id)}
            for start in range(0, len(args), 7):
                yield {index: DeltaToolCall(json_args=args[start : start + 7])}
        return
    if said[-1] == "fail":
        raise RuntimeError("the scripted model was told to fail")
    for word in ["You ", "said ", f"{said[-1]!r}, ", f"message {len(said)}."]:
        yield word
        await asyncio.sleep(1 if said[-1] == "slowly" else 0.01)


# No redirects: the element must use the address exactly as it was given.
app = FastAPI(redirect_slashes=False)
app.add_middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"])
agent = Agent(FunctionModel(stream_function=answer))


@app.get("/health")
def health() -> dict[str, bool]:
    """Says that the server listens."""
    return {"ok": True}


@app.post("/agent/")
async def run(request: Request):
    """The AG-UI endpoint."""
    return await AGUIAdapter.dispatch_request(request, agent=agent)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
