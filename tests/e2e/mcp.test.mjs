// The runtime as a client of MCP servers nobody in this project wrote, through whole turns.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { everything, headersServer, modern, reciting } from '../support/mcp.mjs';
import { Runtime } from '../support/runtime.mjs';
import { callingModel, turnOf } from '../support/turns.mjs';

const KEY = 'Bearer mcp-key-canary';

let models;
let reference;
let headers;
let newest;
let hostile;
let runtime;

before(async () => {
  const peers = [callingModel(), everything(), headersServer(), modern(), reciting()];
  [models, reference, headers, newest, hostile] = await Promise.all(peers);
  const server = (uid, url, title = uid) => `
[[apps.mcp_servers]]
uid = "${uid}"
title = "${title}"
url = "${url}"
authorization = "env:TEST_MCP_KEY"
allow_private = true
timeout = "20s"
`;
  runtime = await Runtime.start({
    config: `
[models.calling]
provider = "openai"
model = "test"
base_url = "${models.url}/v1"

[server]
log = "trace"

[[apps]]
uid = "firm"
api_keys = ["backend-key"]
origins = ["loopback"]
${server('everything', reference.url)}${server('notes', headers.url)}${server('newest', newest.url, 'Newest sums')}${server('hostile', hostile.url)}
[[apps.agents]]
uid = "helper"
model = "calling"
mcp_servers = ["everything", "notes", "newest"]

[[apps.agents]]
uid = "brave"
model = "calling"
mcp_servers = ["hostile"]
`,
    env: { TEST_MCP_KEY: KEY },
  });
});
after(async () => {
  await runtime?.stop();
  await Promise.all([models, reference, headers, newest, hostile].map((peer) => peer?.stop()));
});

/** A user with a session that has tags: the token and what agents are addressed by. */
async function user(externalId, tags, agentUid = 'helper') {
  const backend = { 'x-api-key': 'backend-key' };
  const signed = await runtime.post('/api/v1/appuid/firm/sdkusers/auth', { externalId }, backend);
  const { authToken } = await signed.json();
  if (!tags) return { token: authToken, agent: agentUid };
  const asked = { agentUid, externalUserId: externalId, tags };
  const made = await runtime.post('/api/v1/appuid/firm/agentsessions', asked, backend);
  assert.equal(made.status, 201, await made.clone().text());
  return { token: authToken, agent: (await made.json()).agentSessionUid };
}

const turn = ({ token, agent }, calls, more) => turnOf(runtime, token, encodeURIComponent(agent), calls, more);

test('the reference server: texts, structured content, pictures, progress, errors', async () => {
  const { results, events } = await turn(await user('ref-user'), [
    ['everything__echo', { message: 'hé 😀' }],
    ['everything__get-sum', { a: 2, b: 40 }],
    ['everything__get-structured-content', { location: 'New York' }],
    ['everything__get-tiny-image', {}],
    ['everything__get-resource-links', { count: 1 }],
    ['everything__trigger-long-running-operation', { duration: 1, steps: 2 }],
    ['everything__get-sum', { a: 'two', b: 1 }],
    ['newest__sum', { a: 2, b: 40 }],
  ]);
  assert.equal(events.at(-1).type, 'RUN_FINISHED');
  assert.equal(results[0], 'Echo: hé 😀');
  assert.match(results[1], /42/);
  assert.deepEqual(Object.keys(JSON.parse(results[2])).sort(), ['conditions', 'humidity', 'temperature']);
  assert.match(results[3], /\[image, image\/png, \d+ bytes/);
  assert.match(results[4], /\[link: .*demo:\/\/resource/);
  assert.match(results[5], /completed/);
  assert.match(results[6], /number/);
  assert.equal(results[7], '{"sum":42}');
});

test('two users at the same time: each call has its own user\'s headers, and no request another\'s', async () => {
  const people = [['ann', ['vip', 'é'], 'EMP-ann'], ['bob', [], 'EMP-bob']];
  await Promise.all(people.map(async ([name, tags, employee]) => {
    const who = await user(`${name}-4711`, tags);
    for (let round = 0; round < 3; round += 1) {
      const calls = [0, 1].map((n) => ['notes__note', { text: `${name} ${round} ${n}` }]);
      const { results } = await turn(who, calls, { passthroughParams: { 'note.employee': employee } });
      assert.deepEqual(results, calls.map(([, { text }]) => `kept ${text}`));
    }
  }));
  const seen = await headers.seen();
  const calls = seen.filter(({ kind }) => kind === 'call');
  assert.equal(calls.length, 12);
  for (const { text, employee, headers: sent } of calls) {
    const [name, tags, own] = people.find(([start]) => text.startsWith(start));
    assert.equal(sent['x-user-id'], `${name}-4711`);
    assert.equal(sent['x-app-uid'], 'firm');
    assert.deepEqual(JSON.parse(sent['x-session-tags']), tags);
    assert.match(sent['x-session-tags'], /^[\x20-\x7e]*$/);
    assert.equal(sent.authorization, KEY);
    assert.equal(employee, own);
  }
  const humans = new Map(calls.map(({ headers: sent }) => [sent['x-user-id'], sent['x-human-uid']]));
  assert.equal(new Set(humans.values()).size, 2);
  for (const { headers: sent } of seen.filter(({ kind }) => kind === 'request')) {
    assert.equal(sent.authorization, KEY);
    for (const name of ['x-user-id', 'x-human-uid', 'x-session-tags', 'x-app-uid']) assert.ok(name in sent, name);
  }
});

test('no request to the model holds a header or a value that was passed through', async () => {
  const sent = JSON.stringify(models.getRequests());
  assert.match(sent, /notes__note/);
  for (const secret of ['mcp-key-canary', 'EMP-ann', 'EMP-bob', '-4711', 'vip']) assert.ok(!sent.includes(secret), secret);
  for (const request of models.getRequests()) {
    for (const tool of request.body.tools ?? []) {
      if (tool.function.name !== 'notes__note' || !/(ann|bob) \d/.test(JSON.stringify(request.body.messages))) continue;
      assert.deepEqual(Object.keys(tool.function.parameters.properties), ['text']);
    }
  }
  assert.ok(!runtime.output.includes('canary') && !runtime.output.includes('EMP-'), runtime.output);
});

test('a server that recites its headers wherever it can tells neither model, page nor log', async () => {
  models.clearRequests();
  const calls = ['error', 'failure', 'success'].map((how) => ['hostile__recite', { how }]);
  const { events, results } = await turn(await user('hostile-user', ['recited-tag'], 'brave'), calls);
  for (const result of results) assert.match(result, /authorization=•••.*x-user-id=•••|x-user-id=•••.*authorization=•••/);
  const offered = models.getRequests()[0].body.tools.map((tool) => tool.function.name);
  assert.deepEqual(offered, ['hostile__recite']);
  for (const [where, text] of [['model', models.getRequests()], ['page', events], ['log', runtime.output]]) {
    for (const secret of ['mcp-key-canary', 'hostile-user', 'recited-tag']) {
      assert.ok(!JSON.stringify(text).includes(secret), `${secret} in the ${where}: ${JSON.stringify(text)}`);
    }
  }
});

test('a server that restarts is connected to anew, and the call that finds out is not lost', async () => {
  const who = await user('restart-user');
  assert.deepEqual((await turn(who, [['everything__echo', { message: 'before' }]])).results, ['Echo: before']);
  await reference.restart();
  const calls = ['one', 'two', 'three'].map((message) => ['everything__echo', { message }]);
  assert.deepEqual((await turn(who, calls)).results, ['Echo: one', 'Echo: two', 'Echo: three']);
});

test('a server that is gone is said to be and the turn goes on', async () => {
  const who = await user('late-user');
  await newest.stop();
  const { events, results } = await turn(who, [['everything__echo', { message: 'still here' }]]);
  assert.deepEqual(results, ['Echo: still here']);
  const warnings = events.filter((e) => e.type === 'CUSTOM' && e.name === 'mindset.warning');
  assert.match(warnings[0]?.value.message ?? '', /`Newest sums`/);
});
