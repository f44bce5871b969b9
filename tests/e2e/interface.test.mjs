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

import { sentence } from '../support/expect.mjs';
import { pythonProgram } from '../support/paths.mjs';
import { Program } from '../support/process.mjs';
import { Runtime } from '../support/runtime.mjs';
import { within } from '../support/wait.mjs';

const SECRET = '0123456789abcdef0123456789abcdef';
const KEYS = { shop: 'shop-api-key-0123456789', other: 'other-api-key-0123456789' };
const PAGE = 'https://shop.example';
const SOAK = Boolean(process.env.MINDSET_SOAK);

const config = (server) => `
[server]
token_secret = "${SECRET}"
operations = "off"
${server}

[models.quick]
provider = "demo"
delay = "0s"

[models.slow]
provider = "demo"
delay = "2s"

${Object.entries(KEYS).map(([uid, key]) => `
[[apps]]
uid = "${uid}"
api_keys = ["${key}"]
origins = ["https://${uid}.example"]
agent_access = ["session.run", "session.read"]
allow_no_origin = true
${['quick', 'slow'].map((model) => `
[[apps.agents]]
uid = "${model}"
model = "${model}"
anonymous = true
uploads = true
`).join('')}`).join('')}`;

let runtime;
let document;

before(async () => {
  runtime = await Runtime.start({ config: config('requests_per_user = 1000000\nrequests_per_app = 1000000') });
  document = await (await fetch(`${runtime.origin}/openapi.json`)).json();
});
after(() => runtime?.stop());

/** Every operation of the document: `[name, operation]`, the name being `METHOD path`. */
function operations() {
  return Object.entries(document.paths).flatMap(([path, item]) => Object.entries(item)
    .filter(([method]) => method !== 'parameters')
    .map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation]));
}

const security = (operation) => Object.keys((operation.security ?? document.security)[0] ?? {})[0] ?? 'none';

/** Sends what a row says; `headers` are the caller's credentials. */
async function send(row, headers, origin = runtime.origin) {
  const json = row.body !== undefined && !(row.body instanceof FormData);
  const answer = await fetch(origin + row.path, {
    method: row.method,
    headers: { ...(json && { 'content-type': 'application/json' }), ...headers },
    body: json ? JSON.stringify(row.body) : row.body,
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

async function backend(app, path, body) {
  const answer = await runtime.post(`/api/v1/appuid/${app}/${path}`, body, { 'x-api-key': KEYS[app] });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer.json();
}

const bearer = (token) => ({ authorization: `Bearer ${token}` });

/** Ids of things: those that a user has, or some that nobody has. */
const ids = (session, upload) => ({
  upload: upload ?? randomUUID(),
  conversation: `c-${randomUUID()}`, run: `r-${randomUUID()}`, live: `r-${randomUUID()}`, session: session ?? randomUUID(),
});

const run = (threadId, runId, text = 'hello', uploads = undefined) => ({
  threadId, runId, state: {}, tools: [], context: [], forwardedProps: uploads ? { mindset: { uploads } } : {},
  messages: [{ id: `m-${runId}`, role: 'user', content: text }],
});

/** A form with a small picture. */
function picture() {
  const form = new FormData();
  const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  form.append('file', new Blob([bytes], { type: 'image/png' }), 'a.png');
  return form;
}

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
  'GET /api/v1/appuid/{appUid}/agentsessions': (_, app) => ({ path: `/api/v1/appuid/${app}/agentsessions?externalUserId=ada` }),
  'GET /api/v1/appuid/{appUid}/agentsessions/{uid}': (of, app) => ({ path: `/api/v1/appuid/${app}/agentsessions/${of.session}` }),
  'DELETE /api/v1/appuid/{appUid}/agentsessions/{uid}': (of, app) => ({ path: `/api/v1/appuid/${app}/agentsessions/${of.session}` }),
  'POST /api/v1/appuid/{appUid}/threads': (of, app) => ({
    path: `/api/v1/appuid/${app}/threads`,
    body: { agentUid: `quick::${of.session}`, externalUserId: 'bob', message: 'hello' },
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
    { path: '/v1/agents/quick/runs', body: run('t2', 'r2', 'look', [of.upload]) },
  ],
  'POST /v1/runs/{runId}/cancel': (of) => [{ path: `/v1/runs/${of.run}/cancel` }, { path: `/v1/runs/${of.live}/cancel` }],
  'PATCH /v1/runs/{runId}': (of) => [{ path: `/v1/runs/${of.run}`, body: { text: 'mine now' } }, { path: `/v1/runs/${of.live}`, body: { text: 'mine now' } }],
  'DELETE /v1/runs/{runId}': (of) => [{ path: `/v1/runs/${of.run}` }, { path: `/v1/runs/${of.live}` }],
  'PUT /v1/runs/{runId}/passthrough-params': (of) => ({
    path: `/v1/runs/${of.live}/passthrough-params`, body: { passthroughParams: { 'a.b': 1 } },
  }),
  'GET /v1/runs/{runId}/events': (of) => [{ path: `/v1/runs/${of.run}/events` }, { path: `/v1/runs/${of.live}/events` }],
  'GET /v1/conversations': () => [{ path: '/v1/conversations' }, { path: '/v1/conversations?agentSession=true' }],
  'POST /v1/conversations': (of) => ({ path: '/v1/conversations', body: { agentUid: 'quick', id: of.conversation } }),
  'GET /v1/conversations/{id}': (of) => [
    { path: `/v1/conversations/${of.conversation}` }, { path: `/v1/conversations/${of.conversation}?agentSession=true` },
  ],
  'PATCH /v1/conversations/{id}': (of) => ({ path: `/v1/conversations/${of.conversation}`, body: { title: 'mine now' } }),
  'DELETE /v1/conversations/{id}': (of) => ({ path: `/v1/conversations/${of.conversation}` }),
  'POST /v1/conversations/{id}/queue/resume': (of) => ({ path: `/v1/conversations/${of.conversation}/queue/resume` }),
  'GET /v1/observe': (of) => ({ path: `/v1/observe?sessionId=${of.conversation}` }),
  'GET /v1/me/permissions': () => ({ path: '/v1/me/permissions' }),
  'PUT /v1/me/permissions': () => ({ path: '/v1/me/permissions', body: { run: false, read: false } }),
  'GET /v1/uploads': () => ({ path: '/v1/uploads?agentUid=quick' }),
  'POST /v1/uploads': () => ({ path: '/v1/uploads', body: picture() }),
  'GET /v1/uploads/{id}': (of) => ({ path: `/v1/uploads/${of.upload}` }),
  'DELETE /v1/uploads/{id}': (of) => ({ path: `/v1/uploads/${of.upload}` }),
  'GET /v1/dev/conversations/{id}': (of) => ({ path: `/v1/dev/conversations/${of.conversation}` }),
  'PUT /v1/messages/{id}/feedback': (of) => ({ path: `/v1/messages/m-${of.run}/feedback`, body: { rating: 'up' } }),
  'POST /v1/signout': () => ({ path: '/v1/signout' }),
};

const rows = (name, of, app = 'shop') => [ROWS[name](of, app)].flat().map((row) => ({ ...row, method: name.split(' ')[0] }));

/** An answer without what differs anyway: the ids asked for, fresh ids, tokens, times. */
function plain({ status, headers, text }, of) {
  const type = headers.get('content-type');
  let body = text;
  for (const [name, id] of Object.entries(of)) body = body.replaceAll(id, `(${name})`);
  body = body
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '(time)')
    .replace(/"timestamp":\d+/g, '"timestamp":0')
    .replace(/"(authToken|anonymousKey)":"[^"]*"/g, '"$1":""')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '(uuid)');
  return { status, type, body };
}

test('the document has a row for every route, and every row a route', () => {
  assert.deepEqual(operations().map(([name]) => name).sort(), Object.keys(ROWS).sort());
});

test("what is another user's answers exactly like what is not there", async () => {
  const { authToken: ada } = await backend('shop', 'sdkusers/auth', { externalId: 'ada' });
  const { uid } = await backend('shop', 'agentsessions', { agentUid: 'quick', externalUserId: 'ada', tags: ['hers'] });
  const { text: uploaded } = await send({ method: 'POST', path: '/v1/uploads', body: picture() }, bearer(ada));
  const hers = ids(uid, JSON.parse(uploaded).uploadId);
  await send({ method: 'POST', path: '/v1/agents/quick/runs', body: run(hers.conversation, hers.run, 'My secret is 4711.') }, bearer(ada));
  const live = new AbortController();
  const [slow] = [`c-${randomUUID()}`];
  const stream = await fetch(`${runtime.origin}/v1/agents/slow/runs`, {
    method: 'POST', headers: { 'content-type': 'application/json', ...bearer(ada) }, body: JSON.stringify(run(slow, hers.live)), signal: live.signal,
  });
  assert.equal(stream.status, 200);
  const look = async () => {
    const answer = await send({ method: 'GET', path: `/v1/conversations/${hers.conversation}` }, bearer(ada));
    return [answer.status, answer.text];
  };
  const earlier = await look();
  assert.match(earlier[1], /4711/);
  try {
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
    assert.deepEqual(await look(), earlier, 'nothing of hers has changed');
    const session = await fetch(`${runtime.origin}/api/v1/appuid/shop/agentsessions/${uid}`, { headers: { 'x-api-key': KEYS.shop } });
    assert.equal(session.status, 200, 'her session is there');
    const file = await send({ method: 'DELETE', path: `/v1/uploads/${hers.upload}` }, bearer(ada));
    assert.equal(file.status, 204, 'her file is there');
    const cancelled = await send({ method: 'POST', path: `/v1/runs/${hers.live}/cancel` }, bearer(ada));
    assert.deepEqual([cancelled.status, cancelled.text], [200, '{"state":"cancelled"}'], 'her run ran all the time');
  } finally {
    live.abort();
  }
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
        // Without --dev its address is not there, whoever asks.
        if (name.includes('/v1/dev/')) {
          assert.equal(got.status, 404);
          continue;
        }
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
