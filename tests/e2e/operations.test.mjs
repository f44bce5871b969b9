// What operators see: readiness, metrics, log lines and traces, and that none of them tells what
// people said.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { canary, found } from '../support/canary.mjs';
import { Collector } from '../support/collector.mjs';
import { ROOT, pythonProgram } from '../support/paths.mjs';
import { Program } from '../support/process.mjs';
import { Runtime } from '../support/runtime.mjs';
import { until } from '../support/wait.mjs';

const KEY = canary('apikey');
const SECRET = canary('secret') + canary('secret');
const COLLECTOR = canary('collector');

let collector;
let runtime;
let operations;

const config = () => `
[server]
token_secret = "${SECRET}"
operations = "127.0.0.1:0"
log = "trace"
log_format = "json"
trusted_proxies = ["loopback"]

[telemetry]
otlp_endpoint = "${collector.origin}"
authorization = "Bearer ${COLLECTOR}"

[models.quick]
provider = "demo"
delay = "0s"

[models.slow]
provider = "demo"
delay = "100ms"

[[apps]]
uid = "shop"
api_keys = ["${KEY}"]
allow_no_origin = true

[[apps.contexts]]
uid = "handbook"
files = ["${ROOT}/docs/*.md"]
${['quick', 'slow'].map((model) => `
[[apps.agents]]
uid = "${model}"
model = "${model}"
anonymous = true
contexts = ["handbook"]
`).join('')}`;

/** Where the process answers operators. */
async function listener(of) {
  const line = await until(() => /operations on (http:\/\/[\d.:]+)/.exec(of.output)?.[1], 'the second listener');
  return line;
}

before(async () => {
  collector = await Collector.start();
  runtime = await Runtime.start({ config: config() });
  operations = await listener(runtime);
});
after(async () => {
  await runtime?.stop();
  collector?.stop();
});

const run = (text, threadId = randomUUID()) => ({
  threadId, runId: randomUUID(), state: {}, tools: [], context: [], forwardedProps: {},
  messages: [{ id: randomUUID(), role: 'user', content: text }],
});

async function talk(agent, input, headers = {}) {
  const token = headers.authorization ? undefined : await runtime.token(agent, 'shop');
  return runtime.post(`/v1/agents/${agent}/runs`, input, { ...(token && { authorization: `Bearer ${token}` }), ...headers });
}

/** The value of one series. */
async function metric(series) {
  const text = await (await fetch(`${operations}/metrics`)).text();
  const line = text.split('\n').find((line) => line.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}

async function readiness(at = operations) {
  const answer = await fetch(`${at}/readyz`);
  return [answer.status, (await answer.json()).status];
}

test('ready, not ready while the database cannot be written, and ready again', async () => {
  assert.deepEqual(await readiness(), [200, 'ready']);
  const code = `
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute('BEGIN IMMEDIATE')
print('locked', flush=True)
time.sleep(60)
`;
  const other = new Program(pythonProgram('python3'), ['-c', code, join(runtime.folder, 'mindset.db')]);
  try {
    await until(() => other.output.includes('locked'), 'the lock');
    assert.deepEqual(await readiness(), [503, 'the database cannot be written']);
  } finally {
    await other.stop('SIGTERM');
  }
  await until(async () => (await readiness())[0] === 200, 'the database to be free', 15_000);
  const elsewhere = await fetch(`${runtime.origin}/metrics`);
  assert.equal(elsewhere.status, 404, 'the public listener knows nothing of it');
  await elsewhere.arrayBuffer();
});

test('not ready while the server shuts down', async () => {
  const own = await Runtime.start({ config: config() });
  const at = await listener(own);
  assert.deepEqual(await readiness(at), [200, 'ready']);
  // A reader that stays keeps the process for a moment.
  const token = await own.token('slow', 'shop');
  const stream = await own.post('/v1/agents/slow/runs', run('What can you do?'), { authorization: `Bearer ${token}` });
  const reader = stream.body.getReader();
  await reader.read();
  const stopped = own.stop();
  const seen = [];
  while (!seen.includes('stopping')) {
    try {
      seen.push((await readiness(at))[1]);
    } catch {
      break;
    }
  }
  await reader.cancel().catch(() => {});
  await stopped;
  assert.ok(seen.includes('stopping'), `it said ${seen}`);
});

test('metrics count what happened, by words of the configuration only', async () => {
  const words = { user: canary('user'), message: canary('message'), thread: canary('thread') };
  const signed = await runtime.post('/api/v1/appuid/shop/sdkusers/auth', { externalId: words.user }, { 'x-api-key': KEY });
  const { authToken } = await signed.json();
  const before = await metric('mindset_runs_total{state="finished"}');
  const answer = await talk('quick', run(words.message, words.thread), { authorization: `Bearer ${authToken}` });
  const events = (await answer.text()).match(/^data:/gm).length;
  assert.equal(await metric('mindset_runs_total{state="finished"}'), before + 1);
  assert.ok(await metric('mindset_events_total') >= events);
  assert.equal(await metric('mindset_runs_running'), 0);
  assert.ok(await metric('mindset_model_call_duration_seconds_count{model="demo",outcome="done"}') >= 1);
  const route = 'method="POST",route="/v1/agents/{agentUid}/runs",status="200"';
  assert.ok(await metric(`mindset_http_request_duration_seconds_count{${route}}`) >= 1);
  const refused = await runtime.post('/v1/agents/quick/runs', run('x'));
  assert.equal(refused.status, 401);
  await refused.arrayBuffer();
  assert.ok(await metric('mindset_rejected_requests_total{code="invalid-auth"}') >= 1);
  const slow = await talk('slow', run('What can you do?'));
  assert.equal(await metric('mindset_open_streams'), 1);
  await slow.text();
  await until(async () => await metric('mindset_open_streams') === 0, 'the stream to be closed');
  const random = await fetch(`${runtime.origin}/${words.thread}`, { method: 'REPORT' });
  await random.arrayBuffer();
  const text = await (await fetch(`${operations}/metrics`)).text();
  for (const [name, word] of Object.entries({ ...words, KEY, SECRET, COLLECTOR, authToken })) {
    assert.ok(!found(text, word), `${name} is in the metrics`);
  }
  for (const line of text.trim().split('\n')) {
    assert.match(line, /^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? [\d.e+-]+)$/);
  }
});

test('each line of the log is JSON, those of a request have its id, and none tells what was said', async () => {
  const words = { user: canary('user'), message: canary('message') };
  const id = `edge-${randomUUID()}`;
  const signed = await runtime.post('/api/v1/appuid/shop/sdkusers/auth', { externalId: words.user, name: words.user }, { 'x-api-key': KEY });
  assert.match(signed.headers.get('x-request-id'), /^[\w-]{12}$/);
  const { authToken } = await signed.json();
  const input = run(words.message);
  const answer = await talk('quick', input, { authorization: `Bearer ${authToken}`, 'x-request-id': id });
  assert.equal(answer.headers.get('x-request-id'), id, 'a trusted proxy names the request');
  await answer.text();
  const lines = await until(() => {
    const lines = runtime.output.trim().split('\n').map((line) => JSON.parse(line));
    return lines.some((line) => line.message === 'run ended' && line.run === input.runId) && lines;
  }, 'the end of the run in the log');
  const own = lines.filter((line) => line.span?.id === id);
  for (const message of ['run started', 'model called', 'run ended', 'answered']) {
    assert.ok(own.some((line) => line.message === message), `${message}: ${JSON.stringify(own)}`);
  }
  assert.ok(lines.every((line) => line.timestamp && line.level && line.message !== undefined));
  for (const [name, word] of Object.entries({ ...words, KEY, SECRET, COLLECTOR, authToken })) {
    assert.ok(!found(runtime.output, word), `${name} is in the log`);
  }
  const odd = await fetch(`${runtime.origin}/healthz`, { headers: { 'x-request-id': 'a "b" {c}' } });
  assert.match(odd.headers.get('x-request-id'), /^[\w-]{12}$/, 'what is no id is replaced');
  await odd.arrayBuffer();
});

const facts = (span) => Object.fromEntries(span.attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));

test('a run is a trace: the agent, its model calls and tools, below what the caller said', async () => {
  const words = { user: canary('user'), message: canary('message') };
  const signed = await runtime.post('/api/v1/appuid/shop/sdkusers/auth', { externalId: words.user }, { 'x-api-key': KEY });
  const { authToken } = await signed.json();
  const [trace, parent] = [randomUUID().replaceAll('-', ''), randomUUID().replaceAll('-', '').slice(0, 16)];
  const input = run(`${words.message} Search the handbook.`);
  await (await talk('quick', input, { authorization: `Bearer ${authToken}`, traceparent: `00-${trace}-${parent}-01` })).text();
  const spans = await until(() => {
    const own = collector.spans.filter((span) => span.traceId === trace);
    return own.some((span) => span.name.startsWith('invoke_agent')) && own;
  }, 'the trace', 10_000);
  const agent = spans.find((span) => span.name === 'invoke_agent quick');
  assert.deepEqual([agent.parentSpanId, agent.kind, agent.status], [parent, 1, undefined]);
  assert.equal(facts(agent)['gen_ai.operation.name'], 'invoke_agent');
  assert.equal(facts(agent)['gen_ai.agent.id'], 'quick');
  assert.equal(facts(agent)['gen_ai.conversation.id'], input.threadId);
  const chats = spans.filter((span) => span.name === 'chat demo');
  assert.ok(chats.length >= 1);
  for (const chat of chats) {
    assert.deepEqual([chat.parentSpanId, chat.kind, chat.status], [agent.spanId, 3, undefined]);
    assert.equal(facts(chat)['gen_ai.request.model'], 'demo');
    assert.equal(facts(chat)['gen_ai.provider.name'], 'mindset_demo');
    assert.ok(Number.isInteger(facts(chat)['gen_ai.usage.input_tokens']));
  }
  const tools = spans.filter((span) => span.name.startsWith('execute_tool '));
  for (const tool of tools) {
    assert.equal(tool.parentSpanId, agent.spanId);
    assert.equal(facts(tool)['gen_ai.tool.name'], tool.name.slice('execute_tool '.length));
  }
  assert.equal(chats.length, tools.length > 0 ? 2 : 1);
  for (const span of spans) {
    assert.match(span.spanId, /^[0-9a-f]{16}$/);
    assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
    assert.ok(BigInt(span.startTimeUnixNano) >= BigInt(agent.startTimeUnixNano));
  }
  assert.equal(collector.headers.at(-1).authorization, `Bearer ${COLLECTOR}`);
  const bodies = collector.bodies.join('\n');
  for (const [name, word] of Object.entries({ ...words, KEY, SECRET, COLLECTOR, authToken })) {
    assert.ok(!found(bodies, word), `${name} is in the traces`);
  }
});

test('a caller who does not sample gets no trace', async () => {
  const trace = randomUUID().replaceAll('-', '');
  await (await talk('quick', run('hello'), { traceparent: `00-${trace}-b7ad6b7169203331-00` })).text();
  const other = run('hello');
  await (await talk('quick', other)).text();
  await until(() => collector.spans.some((span) => facts(span)['gen_ai.conversation.id'] === other.threadId), 'the next trace', 10_000);
  assert.ok(!collector.spans.some((span) => span.traceId === trace));
});

test('a collector that is away disturbs nobody, and is said once', async () => {
  const dead = config().replace(collector.origin, 'http://127.0.0.1:1');
  const own = await Runtime.start({ config: dead });
  try {
    const at = await listener(own);
    for (const text of ['hello', 'hello again']) {
      const token = await own.token('quick', 'shop');
      const answer = await own.post('/v1/agents/quick/runs', run(text), { authorization: `Bearer ${token}` });
      assert.match(await answer.text(), /RUN_FINISHED/);
      await until(async () => {
        const numbers = await (await fetch(`${at}/metrics`)).text();
        return Number(/^mindset_lost_spans_total (\d+)$/m.exec(numbers)[1]) >= (text === 'hello' ? 2 : 4);
      }, 'the spans to be lost', 10_000);
    }
    assert.equal(own.output.match(/traces do not reach/g).length, 1);
  } finally {
    await own.stop();
  }
});
