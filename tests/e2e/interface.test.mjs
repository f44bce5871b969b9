// The HTTP interface as its document describes it: what one user has is not there for another,
// bad credentials open nothing, limits say when to come back, and random requests break nothing.
// The matrices are generated from /openapi.json: a route without a row fails, and a row without
// a route.

import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';

import { allowing, belongings, ids, picture, run } from '../support/belongings.mjs';
import { sentence } from '../support/expect.mjs';
import { asking } from '../support/mcp.mjs';
import { pythonProgram } from '../support/paths.mjs';
import { Program } from '../support/process.mjs';
import { Runtime } from '../support/runtime.mjs';
import { callingModel } from '../support/turns.mjs';
import { within } from '../support/wait.mjs';

const SECRET = '0123456789abcdef0123456789abcdef';
const KEYS = { shop: 'shop-api-key-0123456789', other: 'other-api-key-0123456789' };
const PAGE = 'https://shop.example';
const SOAK = Boolean(process.env.MINDSET_SOAK);

const config = (server) => `
[server]
token_secret = "${SECRET}"
operations = "off"
heartbeat = "500ms"
${server}

[models.quick]
provider = "demo"
delay = "0s"

[models.slow]
provider = "demo"
delay = "500s"

[models.calling]
provider = "openai"
model = "test"
base_url = "${models.url}/v1"

${Object.entries(KEYS).map(([uid, key]) => `
[[apps]]
uid = "${uid}"
api_keys = ["${key}"]
origins = ["https://${uid}.example"]
agent_access = ["session.run", "session.read"]
allow_no_origin = true
[[apps.mcp_servers]]
uid = "rooms"
url = "${rooms.url}"
allow_private = true
${Object.entries({ quick: 'quick', slow: 'slow', asking: 'calling' }).map(([agent, model]) => `
[[apps.agents]]
uid = "${agent}"
model = "${model}"
anonymous = true
uploads = true
${agent === 'asking' ? 'mcp_servers = ["rooms"]\napprovals = ["*"]' : ''}
`).join('')}`).join('')}`;

let models;
let rooms;
let runtime;
let document;

before(async () => {
  [models, rooms] = await Promise.all([callingModel(), asking()]);
  runtime = await Runtime.start({ config: config('requests_per_user = 1000000\nrequests_per_app = 1000000'), args: ['--dev'] });
  document = await (await fetch(`${runtime.origin}/openapi.json`)).json();
});
after(async () => {
  await runtime?.stop();
  await Promise.all([models?.stop(), rooms?.stop()]);
});

/** Every operation of the document: `[name, operation]`, the name being `METHOD path`. */
function operations() {
  return Object.entries(document.paths).flatMap(([path, item]) => Object.entries(item)
    .filter(([method]) => method !== 'parameters')
    .map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation]));
}

const security = (operation) => Object.keys((operation.security ?? document.security)[0] ?? {})[0] ?? 'none';

/** Sends what a row says; `headers` are the caller's credentials. */
async function send(row, headers, origin = runtime.origin) {
  const answer = await request(row, headers, origin);
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

/** The same, but of a stream that may go on for ever only what is there at once. */
async function glance(row, headers) {
  const answer = await request(row, headers, runtime.origin);
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }
  const reader = answer.body.getReader();
  const { value } = await within(reader.read(), `the beginning of ${row.path}`);
  await reader.cancel();
  return { status: answer.status, headers: answer.headers, text: Buffer.from(value ?? []).toString() };
}

function request(row, headers, origin) {
  const json = row.body !== undefined && !(row.body instanceof FormData);
  return fetch(origin + row.path, {
    method: row.method,
    headers: { ...(json && { 'content-type': 'application/json' }), ...headers },
    body: json ? JSON.stringify(row.body) : row.body,
  });
}

async function backend(app, path, body) {
  const answer = await runtime.post(`/api/v1/appuid/${app}/${path}`, body, { 'x-api-key': KEYS[app] });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer.json();
}

const bearer = (token) => ({ authorization: `Bearer ${token}` });

/** The addresses of runs: over, asking, running, waiting. */
const runs = (of) => [of.run, of.asked, of.live, of.queued].map((id) => `/v1/runs/${id}`);

/** Her conversations: one with an answer, one that goes on, one that asks. */
const talks = (of) => [of.conversation, of.talk, of.asking].map((id) => ({ path: `/v1/conversations/${id}` }));

/** What a route is asked about things with these ids; `app` is the caller's. */
const ROWS = {
  'GET /healthz': () => ({ path: '/healthz' }),
  'GET /openapi.json': () => ({ path: '/openapi.json' }),
  'POST /api/v1/appuid/{appUid}/sdkusers/auth': (_, app) => ({
    path: `/api/v1/appuid/${app}/sdkusers/auth`, body: { externalId: 'bob' },
  }),
  'POST /api/v1/appuid/{appUid}/agentsessions': (_, app) => ({
    path: `/api/v1/appuid/${app}/agentsessions`, body: { agentUid: 'quick', externalUserId: 'bob' },
  }),
  'GET /api/v1/appuid/{appUid}/agentsessions': (of, app) => ({ path: `/api/v1/appuid/${app}/agentsessions?externalUserId=${of.user}` }),
  'GET /api/v1/appuid/{appUid}/agentsessions/{uid}': (of, app) => ({ path: `/api/v1/appuid/${app}/agentsessions/${of.session}` }),
  'DELETE /api/v1/appuid/{appUid}/agentsessions/{uid}': (of, app) => ({ path: `/api/v1/appuid/${app}/agentsessions/${of.session}` }),
  'POST /api/v1/appuid/{appUid}/threads': (of, app) => ({
    path: `/api/v1/appuid/${app}/threads`,
    body: { agentUid: `quick::${of.session}`, externalUserId: of.user, message: 'hello' },
  }),
  'POST /v1/anonymous': (of) => ({
    path: '/v1/anonymous', body: { appUid: 'shop', agentUid: 'quick', anonymousKey: of.conversation },
  }),
  'GET /v1/agents': () => ({ path: '/v1/agents' }),
  'GET /v1/models': () => ({ path: '/v1/models' }),
  'GET /v1/agents/{agentUid}': (of) => [{ path: `/v1/agents/quick::${of.session}` }, { path: '/v1/agents/quick' }],
  'POST /v1/agents/{agentUid}/runs': (of) => [
    { path: `/v1/agents/quick::${of.session}/runs`, body: run('t', 'r') },
    { path: '/v1/agents/quick/runs', body: run(of.conversation, of.run) },
    { path: '/v1/agents/quick/runs', body: run(of.conversation, of.live) },
    { path: '/v1/agents/quick/runs', body: run(of.talk, of.queued) },
    { path: '/v1/agents/quick/runs', body: run('t2', 'r2', 'look', { mindset: { uploads: [of.upload] } }) },
    { path: '/v1/agents/asking/runs', body: allowing(of.asking, 'r3', of.interrupt) },
  ],
  'POST /v1/runs/{runId}/cancel': (of) => runs(of).map((path) => ({ path: `${path}/cancel` })),
  'POST /v1/runs/{runId}/seen': (of) => runs(of).map((path) => ({ path: `${path}/seen` })),
  'PATCH /v1/runs/{runId}': (of) => runs(of).map((path) => ({ path, body: { text: 'mine now' } })),
  'DELETE /v1/runs/{runId}': (of) => runs(of).map((path) => ({ path })),
  'PUT /v1/runs/{runId}/passthrough-params': (of) => runs(of).slice(2).map((path) => ({
    path: `${path}/passthrough-params`, body: { passthroughParams: { 'a.b': 1 } },
  })),
  'GET /v1/runs/{runId}/events': (of) => runs(of).map((path) => ({ path: `${path}/events` })),
  'GET /v1/conversations': () => [{ path: '/v1/conversations' }, { path: '/v1/conversations?agentSession=true' }],
  'POST /v1/conversations': (of) => ({ path: '/v1/conversations', body: { agentUid: 'quick', id: of.conversation } }),
  'GET /v1/conversations/{id}': (of) => [
    ...talks(of), ...talks(of).map(({ path }) => ({ path: `${path}?agentSession=true` })),
  ],
  'PATCH /v1/conversations/{id}': (of) => ({ path: `/v1/conversations/${of.conversation}`, body: { title: 'mine now' } }),
  'DELETE /v1/conversations/{id}': (of) => ({ path: `/v1/conversations/${of.conversation}` }),
  'POST /v1/conversations/{id}/queue/resume': (of) => ({ path: `/v1/conversations/${of.talk}/queue/resume` }),
  'GET /v1/observe': (of) => ({ path: `/v1/observe?sessionId=${of.conversation}` }),
  'GET /v1/me/permissions': () => ({ path: '/v1/me/permissions' }),
  'PUT /v1/me/permissions': () => ({ path: '/v1/me/permissions', body: { run: false, read: false } }),
  'GET /v1/uploads': () => ({ path: '/v1/uploads?agentUid=quick' }),
  'POST /v1/uploads': () => ({ path: '/v1/uploads', body: picture() }),
  'GET /v1/uploads/{id}': (of) => ({ path: `/v1/uploads/${of.upload}` }),
  'DELETE /v1/uploads/{id}': (of) => ({ path: `/v1/uploads/${of.upload}` }),
  'GET /v1/dev/conversations/{id}': (of) => ({ path: `/v1/dev/conversations/${of.conversation}` }),
  'PUT /v1/messages/{id}/feedback': (of) => ({ path: `/v1/messages/${of.message}/feedback`, body: { rating: 'up' } }),
  'POST /v1/signout': () => ({ path: '/v1/signout' }),
};

const rows = (name, of, app = 'shop') => [ROWS[name](of, app)].flat().map((row) => ({ ...row, method: name.split(' ')[0] }));

const EVERYBODYS = 'it tells everybody the same';
const NEW = 'it makes something new, or changes what is the own of whoever asks';

/** Rows that answer everybody the same, by their number at the route, and why. */
const NOBODYS = {
  'GET /healthz 0': EVERYBODYS,
  'GET /openapi.json 0': EVERYBODYS,
  'POST /api/v1/appuid/{appUid}/sdkusers/auth 0': NEW,
  'POST /api/v1/appuid/{appUid}/agentsessions 0': NEW,
  'POST /v1/anonymous 0': NEW,
  'POST /v1/signout 0': NEW,
  'GET /v1/agents 0': EVERYBODYS,
  'GET /v1/models 0': EVERYBODYS,
  'GET /v1/agents/{agentUid} 1': EVERYBODYS,
  'GET /v1/uploads 0': EVERYBODYS,
  'POST /v1/uploads 0': NEW,
  'GET /v1/uploads/{id} 0': 'a signature in the address opens a file, and no token does: runtime/tests/uploads.rs',
  'PUT /v1/me/permissions 0': NEW,
};

/** An answer without what differs anyway: the ids asked for, fresh ids, tokens, times, signs of life. */
function plain({ status, headers, text }, of) {
  const type = headers.get('content-type');
  let body = text;
  for (const [name, id] of Object.entries(of)) body = body.replaceAll(id, `(${name})`);
  body = body
    .replace(/^:\n/gm, '')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '(time)')
    .replace(/"timestamp":\d+/g, '"timestamp":0')
    .replace(/"(authToken|anonymousKey)":"[^"]*"/g, '"$1":""')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '(uuid)');
  return { status, type, body };
}

test('the document has a row for every route, and every row a route', () => {
  assert.deepEqual(operations().map(([name]) => name).sort(), Object.keys(ROWS).sort());
});

/** One of everything for a new user of the shop. */
const one = () => belongings({
  said: 'My secret is 4711.',
  calls: [['rooms__reserve', { room: 'Bay' }]],
  backend: (path, body) => backend('shop', path, body),
  call: (method, path, body, token) => send({ method, path, body }, { ...bearer(token), accept: 'application/json' }),
});

/** All that its owner sees of it. */
async function look(of) {
  const paths = [...talks(of).map(({ path }) => path), '/v1/conversations', '/v1/me/permissions'];
  const seen = await Promise.all(paths.map((path) => send({ method: 'GET', path }, bearer(of.token))));
  const session = await send({ method: 'GET', path: `/api/v1/appuid/shop/agentsessions/${of.session}` }, { 'x-api-key': KEYS.shop });
  return [...seen, session].map(({ status, text }) => `${status} ${text}`);
}

/** What a stranger got for each row, by the row's number at its route. */
const strangers = new Map();

test("what is another user's answers exactly like what is not there", async () => {
  const hers = await one();
  const earlier = await look(hers);
  assert.match(earlier[0], /4711/);
  assert.match(earlier[1], /"queue":\[\{/);
  assert.match(earlier[2], /"openInterrupts":\[\{/);
  for (const [n, [name, operation]] of operations().entries()) {
    const unknown = ids();
    // A new one each time: what he did at another route is his own.
    const { authToken: bob } = await backend('shop', 'sdkusers/auth', { externalId: `bob-${n}` });
    const key = security(operation) === 'apiKey';
    // A user's things: another user of the app. A backend's: the backend of another app.
    const credentials = key ? { 'x-api-key': KEYS.other } : bearer(bob);
    const [theirs, none] = [rows(name, hers, 'other'), rows(name, unknown, 'other')];
    for (const [i, row] of theirs.entries()) {
      const got = await send(row, credentials);
      strangers.set(`${name} ${i}`, plain(got, hers));
      // After a sign-out the next answer is about that.
      if (name.includes('signout')) {
        assert.equal(got.status, 204);
        continue;
      }
      const expected = await send(none[i], credentials);
      assert.deepEqual(plain(got, hers), plain(expected, unknown), `${name}, ${row.path}`);
      assert.doesNotMatch(got.text, /4711|hers/, name);
    }
    if (!key) continue;
    // With the wrong key the app itself answers like one that is not there.
    for (const row of rows(name, hers, 'shop')) {
      const got = await send(row, credentials);
      const expected = await send({ ...row, path: row.path.replace('/shop/', '/none/') }, credentials);
      assert.deepEqual(plain(got, hers), plain(expected, hers), name);
      assert.equal(got.status, 401, name);
    }
  }
  assert.deepEqual(await look(hers), earlier, 'nothing of hers has changed');
  const file = await send({ method: 'DELETE', path: `/v1/uploads/${hers.upload}` }, bearer(hers.token));
  assert.equal(file.status, 204, 'her file is there');
  const cancelled = await send({ method: 'POST', path: `/v1/runs/${hers.live}/cancel` }, bearer(hers.token));
  assert.deepEqual([cancelled.status, cancelled.text], [200, '{"state":"cancelled"}'], 'her run ran all the time');
});

test('to whom it belongs, each of these requests gets another answer than a stranger', async () => {
  const same = [];
  for (const [name, operation] of operations()) {
    const hers = await one();
    const credentials = security(operation) === 'apiKey' ? { 'x-api-key': KEYS.shop } : bearer(hers.token);
    for (const [i, row] of rows(name, hers, 'shop').entries()) {
      const got = plain(await glance(row, credentials), hers);
      const stranger = strangers.get(`${name} ${i}`);
      if (isDeepStrictEqual(got, stranger)) same.push(`${name} ${i}`);
    }
  }
  assert.deepEqual(same.sort(), Object.keys(NOBODYS).sort());
});

test('an approval is answered by the user who was asked, and in its conversation only', async () => {
  const [hers, his] = [await one(), await one()];
  const yes = (threadId, interrupt, token) => send({
    method: 'POST', path: '/v1/agents/asking/runs', body: allowing(threadId, `r-${randomUUID()}`, interrupt),
  }, bearer(token));
  const unknown = randomUUID();
  const [foreign, none] = [await yes(his.asking, hers.interrupt, his.token), await yes(his.asking, unknown, his.token)];
  assert.equal(foreign.status, 422);
  assert.equal(foreign.text.replace(hers.interrupt, ''), none.text.replace(unknown, ''));
  for (const of of [hers, his]) {
    const { text } = await send({ method: 'GET', path: `/v1/conversations/${of.asking}` }, bearer(of.token));
    assert.deepEqual(JSON.parse(text).openInterrupts.map(({ id }) => id), [of.interrupt], 'it is still asked');
  }
  const allowed = await yes(his.asking, his.interrupt, his.token);
  // The tool has begun: it asks on its own.
  assert.match(allowed.text, /Who reserves Bay\?/);
});

/** A token, signed by whoever knows `secret`. */
function sign(claims, { header = { alg: 'HS256', typ: 'JWT' }, secret = SECRET, hash = 'sha256' } = {}) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part(header)}.${part(claims)}`;
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`;
}

test('bad credentials open no route', async () => {
  const { authToken } = await backend('shop', 'sdkusers/auth', { externalId: 'kim' });
  const [head, payload, signature] = authToken.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url'));
  const now = Math.floor(Date.now() / 1000);
  const { authToken: left } = await backend('shop', 'sdkusers/auth', { externalId: 'left' });
  const signedOut = await send({ method: 'POST', path: '/v1/signout' }, bearer(left));
  assert.equal(signedOut.status, 204);
  const forged = Buffer.from(JSON.stringify({ ...claims, aud: 'other' })).toString('base64url');
  const tokens = {
    expired: ['auth-expired', bearer(sign({ ...claims, iat: now - 100, ms: (now - 100) * 1000, exp: now - 1 }))],
    'of another app, forged': ['invalid-auth', bearer(`${head}.${forged}.${signature}`)],
    'of another secret': ['invalid-auth', bearer(sign(claims, { secret: 'another secret of thirty-two bytes' }))],
    'HS512': ['invalid-auth', bearer(sign(claims, { header: { alg: 'HS512', typ: 'JWT' }, hash: 'sha512' }))],
    'HS256 with another header': ['invalid-auth', bearer(sign(claims, { header: { typ: 'JWT', alg: 'HS256' } }))],
    'RS256 signed with the secret': ['invalid-auth', bearer(sign(claims, { header: { alg: 'RS256', typ: 'JWT' } }))],
    none: ['invalid-auth', bearer(`${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${payload}.`)],
    'without a signature': ['invalid-auth', bearer(`${head}.${payload}.`)],
    'after a sign-out': ['invalid-auth', bearer(left)],
    'without a user': ['invalid-auth', bearer(sign({ ...claims, sub: '' }))],
    'without an end': ['invalid-auth', bearer(sign({ ...claims, exp: undefined }))],
    malformed: ['invalid-auth', bearer('a.b.c')],
    empty: ['invalid-auth', bearer('')],
    'very long': ['invalid-auth', bearer('x'.repeat(9000))],
    missing: ['invalid-auth', {}],
    'of another scheme': ['invalid-auth', { authorization: `Basic ${authToken}` }],
  };
  const control = await send({ method: 'GET', path: '/v1/conversations' }, bearer(sign(claims)));
  assert.equal(control.status, 200, 'the test signs as the runtime does');
  const keys = {
    missing: {}, empty: { 'x-api-key': '' }, wrong: { 'x-api-key': 'wrong' }, 'of another app': { 'x-api-key': KEYS.other },
    'a token': bearer(authToken),
  };
  for (const [name, operation] of operations()) {
    const kind = security(operation);
    const cases = kind === 'bearer' ? tokens
      : Object.fromEntries(Object.entries(kind === 'apiKey' ? keys : {}).map(([what, headers]) => [what, ['invalid-auth', headers]]));
    for (const [what, [code, headers]] of Object.entries(cases)) {
      for (const row of rows(name, ids())) {
        const got = await send(row, headers);
        const { error } = JSON.parse(got.text);
        assert.deepEqual([got.status, error.code], [401, code], `${name}: token ${what}`);
        sentence(error.message);
      }
    }
  }
});

test('a token of another app is good for that app only', async () => {
  const { authToken: shop } = await backend('shop', 'sdkusers/auth', { externalId: 'ada' });
  const { authToken: other } = await backend('other', 'sdkusers/auth', { externalId: 'ada' });
  const id = randomUUID();
  await send({ method: 'POST', path: '/v1/conversations', body: { agentUid: 'quick', id } }, bearer(shop));
  const found = await send({ method: 'GET', path: `/v1/conversations/${id}` }, bearer(other));
  assert.equal(found.status, 404);
  const page = await send({ method: 'GET', path: '/v1/conversations' }, { ...bearer(other), origin: PAGE });
  assert.equal(page.status, 403, "and for that app's pages");
});

test('pages can read every answer, errors and streams too', async () => {
  const { authToken } = await backend('shop', 'sdkusers/auth', { externalId: 'cors' });
  for (const [name, operation] of operations().filter(([name]) => name.includes(' /v1/') && !name.includes('signout'))) {
    for (const row of rows(name, ids())) {
      const good = await send(row, { ...bearer(authToken), origin: PAGE });
      assert.equal(good.headers.get('access-control-allow-origin'), PAGE, `${name}: ${good.status}`);
      assert.match(good.headers.get('access-control-expose-headers'), /x-request-id/);
      assert.match(good.headers.get('vary') ?? '', /origin/i, name);
      if (security(operation) !== 'bearer') continue;
      const unauthorised = await send(row, { origin: PAGE });
      assert.equal(unauthorised.headers.get('access-control-allow-origin'), PAGE, name);
      const foreign = await send(row, { ...bearer(authToken), origin: 'https://evil.example' });
      assert.deepEqual([foreign.status, foreign.headers.get('access-control-allow-origin')], [403, null], name);
    }
  }
});

test('limits per user and per app: 429 with the time to wait, readable for pages', async () => {
  const limited = await Runtime.start({ config: config('requests_per_user = 5\nrequests_per_app = 12') });
  try {
    const sign = async (app, externalId) => {
      const answer = await limited.post(`/api/v1/appuid/${app}/sdkusers/auth`, { externalId }, { 'x-api-key': KEYS[app] });
      return answer;
    };
    const [ada, bob] = [(await (await sign('shop', 'ada')).json()).authToken, (await (await sign('shop', 'bob')).json()).authToken];
    const ask = (token) => send({ method: 'GET', path: '/v1/conversations' }, { ...bearer(token), origin: PAGE }, limited.origin);
    for (let n = 0; n < 5; n += 1) assert.equal((await ask(ada)).status, 200);
    const refused = await ask(ada);
    assert.equal(refused.status, 429);
    assert.equal(JSON.parse(refused.text).error.code, 'rate-limited');
    sentence(JSON.parse(refused.text).error.message);
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal(refused.headers.get('access-control-allow-origin'), PAGE);
    // Two sign-ins and five requests are seven of the app's twelve.
    for (let n = 0; n < 5; n += 1) assert.equal((await ask(bob)).status, 200, 'another user is not concerned');
    const app = await sign('shop', 'carl');
    assert.equal(app.status, 429);
    assert.match((await app.json()).error.message, /^The app/);
    assert.equal((await sign('other', 'ada')).status, 200, 'nor is another app');
  } finally {
    await limited.stop();
  }
});

test('heads that are too large are refused, and the server goes on', async () => {
  const { port } = new URL(runtime.origin);
  for (const head of [
    `GET /healthz HTTP/1.1\r\nhost: x\r\n${Array.from({ length: 200 }, (_, i) => `x-${i}: 1\r\n`).join('')}\r\n`,
    `GET /healthz HTTP/1.1\r\nhost: x\r\nx-large: ${'x'.repeat(1_000_000)}\r\n\r\n`,
    `GET /${'x'.repeat(70_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
  ]) {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (bytes) => { answer += bytes; });
    socket.on('error', () => {});
    socket.write(head);
    await within(new Promise((resolve) => { socket.on('close', resolve); }), 'the connection to be closed', 10_000);
    assert.match(answer, /^HTTP\/1\.1 (414|431) |^$/);
  }
  assert.equal((await fetch(`${runtime.origin}/healthz`)).status, 200);
});

test('random requests after the document find no failure of the server', { timeout: SOAK ? 1_200_000 : 170_000 }, async () => {
  const { authToken } = await backend('shop', 'sdkusers/auth', { externalId: 'random' });
  const seed = process.env.MINDSET_SEED ?? String(Date.now() % 1_000_000);
  const file = join(runtime.folder, 'schemathesis.toml');
  // Half of the ids exist, so that the requests get to what lies behind.
  await send({ method: 'POST', path: '/v1/agents/quick/runs', body: run('c1', 'r1') }, bearer(authToken));
  writeFileSync(file, `
[parameters]
"path.appUid" = "shop"
"path.agentUid" = "quick"
"path.id" = "c1"
"path.runId" = "r1"
`);
  const schemathesis = (before, phases) => new Program(pythonProgram('schemathesis'), [
    ...before, 'run', `${runtime.origin}/openapi.json`,
    // Its own test: here it would end the token of all that follows.
    '--exclude-path', '/v1/signout',
    '-H', `Authorization: Bearer ${authToken}`, '-H', `x-api-key: ${KEYS.shop}`,
    '--checks', 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance',
    '--phases', phases, '--max-examples', SOAK ? '200' : '5', '--seed', seed, '--generation-database', 'none', '--no-color',
    '--request-timeout', '20',
  ], { cwd: runtime.folder });
  // With ids that exist, and with whatever comes.
  for (const [before, phases] of [[['--config-file', file], 'coverage,fuzzing,stateful'], [[], 'fuzzing']]) {
    const program = schemathesis(before, phases);
    assert.equal(await program.ended, 0, `seed ${seed}: ${program.output.slice(-6000)}`);
  }
});
