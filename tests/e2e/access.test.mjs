// Who may talk: a customer's own backend hands out tokens, tokens expire, keys are
// wrong, runs are asked for twice.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { after, afterEach, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { sentence } from '../support/expect.mjs';
import { Host, TIMING } from '../support/host.mjs';
import { Runtime } from '../support/runtime.mjs';
import { until } from '../support/wait.mjs';

const KEY = 'shop-api-key-0123456789';
const CONFIG = `
[server]
token_lifetime = "2s"

${['shop', 'other'].map((uid) => `
[[apps]]
uid = "${uid}"
api_keys = ["${uid === 'shop' ? KEY : 'other-api-key-0123456789'}"]
origins = ["loopback"]
allow_no_origin = true

[[apps.agents]]
uid = "staff"
name = "Staff only"
instructions = "Be brief."
model = "demo"
anonymous = false

[[apps.agents]]
uid = "open"
name = "Open"
instructions = "Be brief."
model = "demo"
anonymous = true
`).join('')}`;

let browser;
let runtime;
let backend;
let host;

before(async () => {
  runtime = await Runtime.start({ config: CONFIG });
  browser = await launch();
  backend = await shop();
});
afterEach(async () => {
  await host?.close();
  host = undefined;
});
after(async () => {
  await browser?.close();
  await backend?.stop();
  await runtime?.stop();
});

/** A customer's site: a page, and a backend that knows the app's key. */
async function shop() {
  const site = { key: KEY, asked: 0 };
  const server = createServer(async (request, response) => {
    if (request.url !== '/token') {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      return response.end(page(new URL(request.url, 'http://site').searchParams.get('agent')));
    }
    site.asked += 1;
    const answer = await signIn(site.key, { externalId: 'customer-7', name: 'Kim' });
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    return response.end(await answer.text());
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  site.origin = `http://127.0.0.1:${server.address().port}`;
  site.stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return site;
}

const page = (agent) => `<!doctype html><title>Shop</title><link rel="icon" href="data:,">
  <script src="${runtime.origin}/mindset-agent.js"></script><mindset-agent id="agent" agent-uid="${agent}"></mindset-agent>
  <script>mindset.init({ appUid: 'shop', timing: ${JSON.stringify(TIMING)}, fetchAuthentication: async () => {
    const answer = await fetch('/token');
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error.message);
    return body;
  } })</script>`;

/** The call of a customer's backend. */
function signIn(key, body, app = 'shop') {
  return runtime.post(`/api/v1/appuid/${app}/sdkusers/auth`, body, key ? { 'x-api-key': key } : {});
}

/** Posts a run with a token. */
function run(token, { agent = 'open', threadId = randomUUID(), runId = randomUUID(), text = 'hello' } = {}) {
  return runtime.post(`/v1/agents/${agent}/runs`, {
    threadId, runId, state: {}, tools: [], context: [], forwardedProps: {},
    messages: [{ id: `m-${runId}`, role: 'user', content: text }],
  }, { authorization: `Bearer ${token}`, accept: 'text/event-stream' });
}

/** Waits until the runtime calls the token expired. */
function expired(token) {
  return until(async () => {
    const answer = await fetch(`${runtime.origin}/v1/conversations`, { headers: { authorization: `Bearer ${token}` } });
    await answer.arrayBuffer();
    return answer.status === 401;
  }, 'the token to expire');
}

test("a page with a backend of its own talks to an agent that is closed to strangers", async () => {
  host = await Host.open(browser, `${backend.origin}/?agent=staff`);
  await host.saw('agent-idle');
  const result = await host.send('hello');
  assert.equal(result.status, 'finished', JSON.stringify(result));
  const { authToken } = await (await signIn(KEY, { externalId: 'customer-7' })).json();
  const answer = await fetch(`${runtime.origin}/v1/conversations/${result.conversationId}`, {
    headers: { authorization: `Bearer ${authToken}` },
  });
  assert.equal(answer.status, 200, 'the conversation belongs to the person the backend named');
});

test('an expired token is replaced, and the conversation goes on', async () => {
  host = await Host.open(browser, `${backend.origin}/?agent=staff`);
  await host.saw('agent-idle');
  const first = await host.send('hello');
  assert.equal(first.status, 'finished');
  const asked = backend.asked;
  await expired((await (await signIn(KEY, { externalId: 'customer-8' })).json()).authToken);
  const second = await host.send('and again');
  assert.equal(second.status, 'finished', JSON.stringify(second));
  assert.equal(second.conversationId, first.conversationId);
  assert.ok(backend.asked > asked, 'the page was asked for another token');
  assert.equal((await host.events()).filter((e) => e.name === 'error').length, 0);
});

test('a wrong key in the backend: the element says so and recovers when it is corrected', async () => {
  backend.key = 'wrong-key';
  try {
    host = await Host.open(browser, `${backend.origin}/?agent=staff`);
    const error = await host.error();
    assert.ok(['invalid-auth', 'not-ready', 'network'].includes(error.code), error.code);
    sentence(error.message);
    assert.doesNotMatch(JSON.stringify(error), /wrong-key|shop-api-key/);
  } finally {
    backend.key = KEY;
  }
  await host.saw('agent-idle');
  assert.equal((await host.send('hello')).status, 'finished');
});

test('keys: wrong, missing, of another app, and a user id that cannot be', async () => {
  for (const [key, body, status, code] of [
    ['wrong-key', { externalId: 'a' }, 401, 'invalid-auth'],
    [undefined, { externalId: 'a' }, 401, 'invalid-auth'],
    ['other-api-key-0123456789', { externalId: 'a' }, 401, 'invalid-auth'],
    [KEY, { externalId: 'not a/valid id' }, 422, 'invalid-request'],
    [KEY, {}, 422, 'invalid-request'],
  ]) {
    const answer = await signIn(key, body);
    const { error } = await answer.json();
    assert.deepEqual([answer.status, error.code], [status, code], error.message);
    sentence(error.message);
    assert.ok(!error.message.includes(KEY));
  }
});

test('a token is good for one app only, and a changed one for none', async () => {
  const { authToken } = await (await signIn('other-api-key-0123456789', { externalId: 'a' }, 'other')).json();
  const [head, claims, signature] = authToken.split('.');
  const payload = JSON.parse(Buffer.from(claims, 'base64url'));
  const forged = [head, Buffer.from(JSON.stringify({ ...payload, aud: 'shop' })).toString('base64url'), signature].join('.');
  const none = [Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url'), claims, ''].join('.');
  for (const token of [forged, none, `${authToken}x`, 'nonsense', '']) {
    const answer = await run(token);
    assert.equal(answer.status, 401);
    sentence((await answer.json()).error.message);
  }
});

test('an agent that is closed to strangers refuses them', async () => {
  const answer = await runtime.post('/v1/anonymous', { appUid: 'shop', agentUid: 'staff' });
  assert.equal(answer.status, 403);
  const { error } = await answer.json();
  assert.equal(error.code, 'anonymous-denied');
  sentence(error.message);
  const stranger = await run(await runtime.token('open', 'shop'), { agent: 'staff' });
  assert.equal(stranger.status, 403, 'a token got for the open agent does not open the other');
  await stranger.arrayBuffer();
});

test('a run asked for twice runs once; the same id with another text is a conflict', async () => {
  const token = await runtime.token('open', 'shop');
  const ids = { threadId: randomUUID(), runId: randomUUID() };
  const [one, two] = await Promise.all((await Promise.all([run(token, ids), run(token, ids)])).map((r) => r.text()));
  const events = (stream) => stream.split('\n').filter((line) => line.startsWith('data:'));
  assert.deepEqual(events(two), events(one));
  assert.match(events(one).at(-1), /RUN_FINISHED/);
  const other = await run(token, { ...ids, text: 'something else' });
  assert.equal(other.status, 409);
  assert.equal((await other.json()).error.code, 'conflict');
  const { messages } = await (await fetch(`${runtime.origin}/v1/conversations/${ids.threadId}`, {
    headers: { authorization: `Bearer ${token}` },
  })).json();
  assert.deepEqual(messages.map((m) => m.role), ['user', 'assistant']);
});

test('bodies that are no run are refused with a place', async () => {
  const token = await runtime.token('open', 'shop');
  for (const body of ['', '{', '[]', '{"threadId":7}', JSON.stringify({ threadId: 't', runId: 'r', messages: 'x' })]) {
    const answer = await fetch(`${runtime.origin}/v1/agents/open/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body,
    });
    assert.ok([400, 422].includes(answer.status), `${answer.status} for ${body}`);
    const { error } = await answer.json();
    assert.equal(error.code, 'invalid-request');
    sentence(error.message);
  }
});
