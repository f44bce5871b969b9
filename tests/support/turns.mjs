// Turns whose tool calls the test decides: a model server that calls what the user's
// message lists, and the official AG-UI client on the other side.

import { randomUUID } from 'node:crypto';

import { HttpAgent } from '@ag-ui/client';
import { LLMock } from '@copilotkit/aimock';

/** The calls that a message lists as JSON. */
function listed({ messages }) {
  const { content } = messages.at(-1);
  return JSON.parse(typeof content === 'string' ? content : content.map((part) => part.text).join(''));
}

/** A model that makes the calls of `plan`, all in one step, and then ends. */
export async function callingModel(plan = listed) {
  const models = new LLMock({ port: 0 });
  models.on({ predicate: () => true }, (request) => {
    if (request.messages.at(-1).role !== 'user') return { content: 'Done.' };
    const toolCalls = plan(request).map(([name, args]) => ({ name, arguments: JSON.stringify(args) }));
    return toolCalls.length > 0 ? { toolCalls } : { content: 'Nothing to do.' };
  });
  await models.start();
  return models;
}

/**
 * One turn of the agent that calls `[[name, arguments], …]`; gives the results in the order
 * of the calls, and all events.
 */
export async function turnOf(runtime, token, agent, calls, { passthroughParams, uploads } = {}) {
  const client = new HttpAgent({
    url: `${runtime.origin}/v1/agents/${agent}/runs`,
    threadId: randomUUID(),
    headers: { Authorization: `Bearer ${token}` },
  });
  client.addMessage({ id: randomUUID(), role: 'user', content: JSON.stringify(calls) });
  const events = [];
  const forwardedProps = (passthroughParams || uploads) && { mindset: { passthroughParams, uploads } };
  await client.runAgent({ runId: randomUUID(), forwardedProps }, { onEvent: ({ event }) => { events.push(event); } });
  const results = new Map(events.filter((e) => e.type === 'TOOL_CALL_RESULT').map((e) => [e.toolCallId, e]));
  const started = events.filter((e) => e.type === 'TOOL_CALL_START');
  return { events, conversation: client.threadId, results: started.map((call) => results.get(call.toolCallId)?.content) };
}
