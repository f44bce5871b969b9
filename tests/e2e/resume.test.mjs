// Runs that outlive connections and processes, with the real program: cut, killed and stopped
// at exact places, and read again from every position.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { afterEach, test } from 'node:test';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

import { runtimeBinary } from '../support/paths.mjs';
import { Program } from '../support/process.mjs';
import { Runtime } from '../support/runtime.mjs';
import { deferred, until, within } from '../support/wait.mjs';

const things = [];
afterEach(async () => {
  for (const thing of things.splice(0).reverse()) await thing.stop();
});

/** An HTTP server that ends with the test. */
async function serve(answer) {
  const server = createServer(answer);
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  things.push({
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => { server.close(resolve); });
    },
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** An MCP server with a tool that counts its calls and answers when `free` is settled. */
async function booking() {
  const tool = { calls: 0, free: deferred() };
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'rooms', version: '1.0.0' });
    server.registerTool('book', { description: 'Books a room.', inputSchema: z.object({ room: z.string() }) }, async ({ room }) => {
      tool.calls += 1;
      await tool.free.promise;
      return { content: [{ type: 'text', text: `booked ${room}` }] };
    });
    return server;
  });
  tool.url = await serve(toNodeHandler(handler));
  return tool;
}

/**
 * A model that says a few words and books a room, and after the result says more; it stops
 * for `free` where `holds` says: before the call (`words`), or before the second answer
 * (`result`).
 */
async function model(holds) {
  const state = { asked: [], held: deferred(), free: deferred() };
  const hold = async (place) => {
    if (holds !== place) return;
    state.held.resolve();
    await state.free.promise;
  };
  state.url = await serve(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { messages, tools = [] } = JSON.parse(Buffer.concat(chunks));
    state.asked.push(messages);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const piece = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    const end = (finish) => {
      piece({}, finish);
      response.end('data: [DONE]\n\n');
    };
    if (messages.at(-1).role === 'tool') {
      await hold('result');
      piece({ content: 'It is done.' });
      return end('stop');
    }
    for (const word of ['Let ', 'me ', 'book.']) piece({ content: word });
    await hold('words');
    const called = { name: tools.map((tool) => tool.function.name).find((name) => name.endsWith('book')), arguments: '{"room":"blue"}' };
    piece({ tool_calls: [{ index: 0, id: 'call-1', type: 'function', function: called }] });
    return end('tool_calls');
  });
  return state;
}

async function start(holds) {
  const [tool, mind] = await Promise.all([booking(), model(holds)]);
  const runtime = await Runtime.start({
    config: `
[models.scripted]
provider = "openai"
model = "test"
base_url = "${mind.url}/v1"

[[apps]]
uid = "demo"
origins = ["loopback"]
allow_no_origin = true

[[apps.mcp_servers]]
uid = "rooms"
url = "${tool.url}/mcp"
allow_private = true

[[apps.agents]]
uid = "demo"
model = "scripted"
anonymous = true
mcp_servers = ["rooms"]
`,
  });
  things.push(runtime);
  return { tool, mind, runtime, client: new Client(runtime, await runtime.token()) };
}

/** A reader of streams that can be cut. */
class Client {
  constructor(runtime, token) {
    this.runtime = runtime;
    this.headers = { authorization: `Bearer ${token}` };
  }

  post(runId, text = 'book the blue room', threadId = 't1') {
    const body = {
      threadId, runId, state: {}, tools: [], context: [], forwardedProps: {},
      messages: [{ id: `m-${runId}`, role: 'user', content: text }],
    };
    return this.runtime.post('/v1/agents/demo/runs', body, this.headers);
  }

  events(runId, lastId) {
    const headers = lastId ? { ...this.headers, 'last-event-id': lastId } : this.headers;
    return fetch(`${this.runtime.origin}/v1/runs/${runId}/events`, { headers });
  }

  async conversation(id = 't1') {
    return (await fetch(`${this.runtime.origin}/v1/conversations/${id}`, { headers: this.headers })).json();
  }
}

/** The frames of a text, comments and hints left out. */
function frames(text) {
  // Signs of life and the hint to come back are lines of their own before an event.
  const events = text.replace(/^(:.*|retry: \d+)\n/gm, '');
  return events.split('\n\n').slice(0, -1).filter((frame) => frame.includes('data: '));
}

/** The frames of a response up to the one that `wanted` stands in; then the connection is cut. */
async function upTo(response, wanted) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!frames(text).some((frame) => frame.includes(wanted))) {
    const { value, done } = await within(reader.read(), `${wanted} in the stream`);
    assert.ok(!done, `no ${wanted} in ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return frames(text);
}

const read = (frame) => JSON.parse(frame.split('data: ')[1]);
const kinds = (all) => all.map((frame) => read(frame).type);

/** Ids without gaps, and what was seen before stands at the beginning. */
function whole(all, seen, runId) {
  all.forEach((frame, at) => assert.equal(frame.split('\n')[0], `id: ${runId}:${at + 1}`));
  assert.deepEqual(all.slice(0, seen.length), seen);
  assert.deepEqual(kinds(all).filter((kind) => /^RUN_(FINISHED|ERROR)$/.test(kind)).length, 1);
}

/** The calls of the conversation all have their results, in what the next turn tells the model. */
function sendable(messages) {
  const called = messages.flatMap((message) => message.tool_calls ?? []).map((call) => call.id);
  const answered = messages.filter((message) => message.role === 'tool').map((message) => message.tool_call_id);
  assert.deepEqual(answered, called);
}

test('cut at every event, and read on from there', async () => {
  const { tool, client } = await start();
  tool.free.resolve();
  const all = frames(await (await client.post('r1')).text());
  assert.equal(read(all.at(-1)).type, 'RUN_FINISHED');
  for (let at = 1; at < all.length; at += 1) {
    const runId = `cut-${at}`;
    const seen = await upTo(await client.post(runId, 'book the blue room', runId), `id: ${runId}:${at}\n`);
    const last = seen.at(-1).split('\n')[0].slice('id: '.length);
    const answer = await client.events(runId, last);
    const rest = answer.status === 204 ? [] : frames(await answer.text());
    const both = [...seen, ...rest];
    whole(both, seen, runId);
    assert.equal(both.length, all.length);
    assert.deepEqual(kinds(both), kinds(all));
  }
  assert.equal(tool.calls, all.length);
});

test('killed in a text: it stays as it was seen, and is called interrupted', async () => {
  const { tool, mind, runtime, client } = await start('words');
  const seen = await upTo(await client.post('r1'), 'book.');
  await runtime.process.stop('SIGKILL');
  await runtime.again();
  const all = frames(await (await client.events('r1')).text());
  whole(all, seen, 'r1');
  const end = read(all.at(-1));
  assert.deepEqual([end.type, end.metadata.mindset.reason, end.metadata.mindset.retryable], ['RUN_ERROR', 'interrupted', true]);
  assert.equal((await client.events('r1', `r1:${all.length}`)).status, 204);
  const { messages, activeRun, lastRun } = await client.conversation();
  assert.deepEqual(messages.map(({ role, content, status }) => [role, content, status]), [
    ['user', 'book the blue room', undefined],
    ['assistant', 'Let me book.', 'interrupted'],
  ]);
  assert.deepEqual([activeRun, lastRun.state, lastRun.end], [undefined, 'error', end]);
  mind.free.resolve();
  tool.free.resolve();
  assert.match(await (await client.post('r2', 'again')).text(), /RUN_FINISHED/);
  assert.equal(tool.calls, 1);
  // A run that ended is not run again, whoever asks.
  assert.deepEqual(frames(await (await client.post('r1')).text()), all);
  assert.equal(tool.calls, 1);
});

test('killed in a tool: its outcome is unknown, it is named, and not called again', async () => {
  const { tool, mind, runtime, client } = await start();
  const seen = await upTo(await client.post('r1'), 'mindset.tool_start');
  await until(() => tool.calls === 1, 'the call');
  await runtime.process.stop('SIGKILL');
  await runtime.again();
  const all = frames(await (await client.events('r1', seen.at(-1).split('\n')[0].slice(4))).text());
  whole([...seen, ...all], seen, 'r1');
  const { mindset } = read(all.at(-1)).metadata;
  assert.equal(mindset.reason, 'interrupted');
  assert.deepEqual(mindset.effects.map(({ toolName }) => toolName), ['book']);
  tool.free.resolve();
  assert.match(await (await client.post('r2', 'what about it?')).text(), /RUN_FINISHED|RUN_ERROR/);
  sendable(mind.asked.at(1));
  const result = mind.asked.at(1).find((message) => message.role === 'tool');
  assert.match(result.content, /unknown|not known/i);
});

test('killed between a tool and the next answer: the result stays, the tool is not called again', async () => {
  const { tool, mind, runtime, client } = await start('result');
  tool.free.resolve();
  const reading = client.post('r1').then((response) => upTo(response, 'TOOL_CALL_RESULT'));
  const seen = await reading;
  await within(mind.held.promise, 'the second question to the model');
  await runtime.process.stop('SIGKILL');
  await runtime.again();
  const all = frames(await (await client.events('r1')).text());
  whole(all, seen, 'r1');
  assert.deepEqual(read(all.at(-1)).metadata.mindset.effects.map(({ toolName }) => toolName), ['book']);
  assert.equal(tool.calls, 1);
  mind.free.resolve();
  await (await client.post('r2', 'and now?')).text();
  const told = mind.asked.at(2);
  sendable(told);
  assert.match(told.find((message) => message.role === 'tool').content, /booked blue/);
});

test('stopped in a tool: a hint to come back, the end, and the same after the restart', async () => {
  const { tool, runtime, client } = await start();
  const response = await client.post('r1');
  await until(() => tool.calls === 1, 'the call');
  const text = response.text();
  assert.equal(await runtime.process.stop('SIGTERM', 8_000), 0, runtime.output);
  const told = await text;
  assert.ok(told.indexOf('retry: 1000\n') > 0 && told.indexOf('retry: 1000\n') < told.indexOf('RUN_ERROR'), told);
  const seen = frames(told);
  assert.equal(read(seen.at(-1)).metadata.mindset.reason, 'interrupted');
  await runtime.again();
  assert.deepEqual(frames(await (await client.events('r1')).text()), seen);
  assert.equal((await client.conversation()).lastRun.state, 'error');
  assert.equal(tool.calls, 1);
});

test('a second process leaves the runs of the first alone', async () => {
  const { tool, runtime, client } = await start();
  const response = await client.post('r1');
  await until(() => tool.calls === 1, 'the call');
  const env = { ...runtime.env, MINDSET__SERVER__LISTEN: '127.0.0.1:0' };
  const second = new Program(runtimeBinary(), ['--config', runtime.file], { env });
  assert.equal(await within(second.ended, 'the second process to end'), 1);
  assert.match(second.output, /in use by another mindset-runtime/);
  tool.free.resolve();
  assert.match(await response.text(), /RUN_FINISHED/);
});
