// Readers of event streams that nobody in this project wrote read ours: text that is made
// to break them, comment lines in between, in crumbs, and from the middle.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { HttpAgent } from '@ag-ui/client';
import { EventSourceParserStream } from 'eventsource-parser/stream';

import { BadLine } from '../chaos/proxy.mjs';
import { Random } from '../chaos/random.mjs';
import { launch } from '../support/browser.mjs';
import { configOf } from '../support/config.mjs';
import { pythonProgram, ROOT } from '../support/paths.mjs';
import { Program } from '../support/process.mjs';
import { Runtime } from '../support/runtime.mjs';
import { sayingModel } from '../support/saying-model.mjs';

/** Pieces of an answer; a number is a pause in which comment lines come. */
const PIECES = [
  'plain ', '\r', '\n', '\r\n', '\n\n', '\r\r', 'data: fake\n\n', 'id: fake\n', ': comment\n', 'event: end\n\n',
  '\u2028\u2029\u0085\u000b\u000c', '\ufeff', ' \ufeffdata: x', 120, '👩‍👩‍👧‍👦', '𝕏'.repeat(3), 'é', 'e\u0301', '\u0000', '\u001f', '\u007f',
  '\ufffd\ufffe\uffff', '"\\"\\n', '<script>', '\t', ' ', 120, `${'🙂ä'.repeat(128 * 1024 / 6)}\r\n`, 'end',
];
const TEXT = PIECES.filter((piece) => typeof piece === 'string').join('');

let model;
let runtime;
let token;
let crumbs;

before(async () => {
  model = await sayingModel(PIECES);
  runtime = await Runtime.start({
    config: configOf({ model: model.url, app: { uid: 'demo' }, agents: [{ uid: 'demo', name: 'Demo' }], more: '[server]\nheartbeat = "30ms"' }),
  });
  token = await runtime.token();
  crumbs = await BadLine.to(runtime.port, new Random('parsers'), 1, ['split']);
});
after(async () => {
  await crumbs?.stop();
  await runtime?.stop();
  await model?.stop();
});

const PATH = '/v1/agents/demo/runs';

/** A run of its own: what is posted, and with which headers. */
function asked() {
  const [runId, threadId] = [randomUUID(), randomUUID()];
  const body = JSON.stringify({
    threadId, runId, state: {}, tools: [], context: [], forwardedProps: {},
    messages: [{ id: randomUUID(), role: 'user', content: 'Say it.' }],
  });
  return { runId, body, headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` } };
}

/** The text in the events of `[[id, data], …]`, whose ids have to be dense. */
function whole(events, runId) {
  assert.deepEqual(events.map(([id]) => id), events.map((_, at) => `${runId}:${at + 1}`));
  const parsed = events.map(([, data]) => JSON.parse(data));
  assert.equal(parsed.at(-1).type, 'RUN_FINISHED');
  return parsed.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta).join('');
}

/** Reads a response with eventsource-parser. */
async function parsed(response) {
  assert.equal(response.status, 200);
  const events = [];
  const comments = [];
  const stream = response.body.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onComment: (comment) => comments.push(comment), onError: (error) => { throw error; } }));
  for await (const event of stream) {
    assert.equal(event.event, undefined);
    events.push([event.id, event.data]);
  }
  return { events, comments };
}

async function python(method, url, body, headers) {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const program = new Program(pythonProgram('python'), [join(ROOT, 'tests/e2e/sse_reader.py'), method, url, body, ...fields]);
  assert.equal(await program.ended, 0, program.output);
  return JSON.parse(program.output);
}

for (const [how, origin] of [['as it comes', () => runtime.origin], ['in crumbs', () => crumbs.origin]]) {
  test(`eventsource-parser, ${how}`, async () => {
    const { runId, body, headers } = asked();
    const { events, comments } = await parsed(await fetch(origin() + PATH, { method: 'POST', body, headers }));
    assert.equal(whole(events, runId), TEXT);
    assert.ok(comments.length > 1, 'comment lines came in the pauses');
  });

  test(`httpx-sse, ${how}`, async () => {
    const { runId, body, headers } = asked();
    assert.equal(whole(await python('POST', origin() + PATH, body, headers), runId), TEXT);
  });

  test(`@ag-ui/client, ${how}`, async () => {
    const agent = new HttpAgent({ url: origin() + PATH, threadId: randomUUID(), headers: { Authorization: `Bearer ${token}` } });
    agent.addMessage({ id: randomUUID(), role: 'user', content: 'Say it.' });
    const { newMessages } = await agent.runAgent({ runId: randomUUID() });
    assert.deepEqual(newMessages.map(({ content }) => content), [TEXT]);
  });
}

test("the browser's own EventSource, fed with the same bytes, in crumbs", async () => {
  const { runId, body, headers } = asked();
  const bytes = Buffer.from(await (await fetch(runtime.origin + PATH, { method: 'POST', body, headers })).arrayBuffer());
  const server = createServer((request, response) => {
    if (request.url === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Reader</title>');
    // It would come again for ever.
    if (request.headers['last-event-id']) return response.writeHead(204).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response.end(bytes);
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const line = await BadLine.to(server.address().port, new Random('browser'), 1, ['split']);
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(`${line.origin}/`);
    const events = await page.evaluate(() => new Promise((resolve) => {
      const events = [];
      const source = new EventSource('/events');
      source.onmessage = ({ lastEventId, data }) => events.push([lastEventId, data]);
      source.onerror = () => source.readyState === EventSource.CLOSED && resolve(events);
    }));
    assert.equal(whole(events, runId), TEXT);
  } finally {
    await browser.close();
    await line.stop();
    server.closeAllConnections();
    server.close();
  }
});
