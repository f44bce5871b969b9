// Signing in and starting up: tokens that expire, pages that cannot give one, servers
// that refuse or are not there.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { html, TIMING } from '../support/host.mjs';
import { freePort } from '../support/ports.mjs';
import { ScriptedRuntime } from '../support/scripted-runtime.mjs';
import { sentence, works } from '../support/expect.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

// ── credentials ───────────────────────────────────────────────────────────────

test('an expired token is renewed once and the message goes through', async () => {
  const host = await s.ready();
  s.runtime.tokens = ['token-2'];
  const result = await host.send('hello');
  assert.equal(result.text, 'You said: hello.');
  assert.equal(s.runtime.signIns.length, 2);
  assert.equal(s.runtime.signIns[1].anonymousKey, 'key-1', 'the same person');
  assert.equal(s.runtime.runs.length, 2);
  assert.equal(s.runtime.runs[0].input.runId, s.runtime.runs[1].input.runId, 'the same run');
  assert.equal((await host.names()).filter((n) => n === 'agent-busy').length, 1);
});

test('a token that stays refused ends the turn as unauthorized', async () => {
  const host = await s.ready();
  s.runtime.tokens = ['none'];
  const result = await host.send('hello');
  assert.equal(result.status, 'error');
  assert.ok(['auth-expired', 'invalid-auth'].includes(result.error.code), result.error.code);
  assert.equal((await host.saw('runtime-event:run_error')).detail.reason, 'unauthorized');
  assert.equal(s.runtime.runs.length, 2, 'one more try, no loop');
  s.runtime.tokens = null;
  await works(s.runtime, host);
});

/** A page with a `fetchAuthentication` of its own, as source text. */
function authPage(source) {
  const timing = JSON.stringify(TIMING);
  return s.runtime.page('/', `<!doctype html><html lang="en"><meta charset="utf-8"><title>Host</title>
    <script src="/mindset-agent.js"></script><mindset-agent id="agent" agent-uid="support"></mindset-agent>
    <script>window.asked = 0; mindset.init({ appUid: 'acme', timing: ${timing}, fetchAuthentication: async () => { asked += 1; ${source} } })</script>`);
}

for (const [shape, source] of Object.entries({
  'a string': 'return "page-1";',
  '{ token }': 'return { token: "page-1" };',
  '{ authToken }': 'return { authToken: "page-1" };',
})) {
  test(`fetchAuthentication gives ${shape}`, async () => {
    const host = await s.open(authPage(source));
    await host.saw('agent-idle');
    assert.equal((await host.send('hello')).status, 'finished');
    assert.equal(s.runtime.runs[0].headers.authorization, 'Bearer page-1');
  });
}

test('fetchAuthentication is asked again after a 401, once', async () => {
  s.runtime.tokens = ['page-2'];
  const host = await s.open(authPage('return "page-" + asked;'));
  await host.saw('agent-idle');
  assert.equal((await host.send('hello')).status, 'finished');
  assert.equal(await host.run(() => window.asked), 2);
});

test('fetchAuthentication is asked once for all elements that wait', async () => {
  const host = await s.open(s.runtime.page('/', html({
    elements: ['a', 'b', 'c'].map((id) => `<mindset-agent id="${id}" agent-uid="${id}"></mindset-agent>`).join(''),
    init: null,
    foot: `<script>window.asked = 0; mindset.init({ appUid: 'acme', fetchAuthentication: async () => { asked += 1; return 'page-' + asked; } })</script>`,
  })));
  for (const id of ['a', 'b', 'c']) {
    await host.saw('agent-idle', 1, id);
    assert.equal((await host.send('hello', undefined, id)).status, 'finished');
  }
  assert.equal(await host.run(() => window.asked), 1);
  assert.deepEqual([...new Set(s.runtime.runs.map((run) => run.headers.authorization))], ['Bearer page-1']);
});

test('getSession gives { token }', async () => {
  const host = await s.open(s.runtime.page('/', html({
    init: null,
    foot: "<script>mindset.init({ appUid: 'acme', getSession: async () => ({ token: 'session-1', expiresAt: Date.now() + 6e5 }) })</script>",
  })));
  await host.saw('agent-idle');
  await host.send('hello');
  assert.equal(s.runtime.runs[0].headers.authorization, 'Bearer session-1');
});

test("getSession's agentUid is the agent of elements that name none", async () => {
  const host = await s.open(s.runtime.page('/', html({
    elements: '<mindset-agent id="agent"></mindset-agent>',
    init: null,
    foot: "<script>mindset.init({ appUid: 'acme', getSession: async () => ({ token: 'session-1', agentUid: 'concierge' }) })</script>",
  })));
  await host.saw('agent-idle');
  assert.equal((await host.send('hello')).status, 'finished');
  assert.ok(s.runtime.requests.includes('POST /v1/agents/concierge/runs'), s.runtime.requests.join('\n'));
  assert.deepEqual((await host.names()).filter((name) => name === 'error'), []);
});

for (const [source, received] of Object.entries({
  '"secret-1"': 'a text',
  '({ token: 5 })': 'an object whose token is a number, boolean or symbol',
  '({ token: Promise.resolve("secret-1") })': 'an object whose token is a value of type Promise',
  '({ get token() { throw new Error("secret-1"); } })': 'an object with token',
  '({ token: "secret-1", expiresAt: new Date() })': 'an object whose expiresAt is neither ISO 8601 nor milliseconds',
  '({ token: "secret-1", expiresAt: "soon" })': 'an object whose expiresAt is neither ISO 8601 nor milliseconds',
  '({ token: "secret-1", agentUid: 4 })': 'an object whose agentUid is a number, boolean or symbol',
  '({ token: "secret-1", conversationId: {} })': 'an object whose conversationId is an object without members',
})) {
  test(`getSession that gives ${source} is told what it gave`, async () => {
    const foot = `<script>mindset.init({ appUid: 'acme', getSession: async () => ${source} })</script>`;
    const host = await s.open(s.runtime.page('/', html({ init: null, foot })));
    const error = await host.error();
    assert.equal(error.code, 'invalid-auth');
    assert.equal(error.message, `getSession must give { token }; it gave ${received}. Correct it in the page.`);
    assert.deepEqual(error.context, { received });
    assert.deepEqual(await host.errors(), []);
  });
}

test('getSession that fails at first is asked again, also where it is to name the agent', async () => {
  const host = await s.open(s.runtime.page('/', html({
    elements: '<mindset-agent id="agent"></mindset-agent>',
    init: null,
    foot: `<script>window.asked = 0; mindset.init({ appUid: 'acme', timing: { backoffMax: 100 }, getSession: async () => {
      if ((asked += 1) < 2) throw new Error('not yet');
      return { token: 'session-1', agentUid: 'concierge' };
    } })</script>`,
  })));
  const error = await host.error();
  assert.equal(error.code, 'invalid-auth');
  await host.saw('agent-idle');
  assert.equal((await host.send('hello')).status, 'finished');
});

test('fetchAuthentication that throws is asked again with a pause', async () => {
  const host = await s.open(authPage('if (asked < 3) throw new Error("no session yet"); return "page-3";'));
  await host.saw('agent-idle');
  assert.equal((await host.send('hello')).status, 'finished');
  assert.equal(await host.run(() => window.asked), 3);
});

test('fetchAuthentication that gives nothing useful is named, not shown', async () => {
  const host = await s.open(authPage('return { jwt: "very-secret" };'));
  const error = await host.error();
  assert.equal(error.code, 'invalid-auth');
  sentence(error.message);
  assert.doesNotMatch(JSON.stringify(error), /very-secret/);
});

for (const [name, token] of [['a line break', 'to\\nken'], ['an emoji', 'token \u{1F642}']]) {
  test(`a token with ${name} is refused for what it is`, async () => {
    const host = await s.open(authPage(`return "${token}";`));
    const error = await host.error();
    assert.equal(error.code, 'invalid-auth');
    assert.match(error.message, /it gave a text with characters that no header carries\./);
    assert.doesNotMatch(error.message, /to.?ken"/, 'the token is not shown');
  });
}

// ── start-up ──────────────────────────────────────────────────────────────────

for (const [name, refuse, code] of [
  ['an unknown agent', [404, 'agent-not-found', 'There is no agent "support" in this app.'], 'agent-not-found'],
  ['an agent that is not open to anonymous users', [403, 'anonymous-denied', 'This agent wants a signed-in user.'], 'anonymous-denied'],
  ['an origin that is not on the list', [403, 'origin-not-allowed', 'This page may not use the agent.'], 'origin-not-allowed'],
]) {
  test(`start-up is refused: ${name}`, async () => {
    s.runtime.onSignIn = () => ({ refuse });
    const host = await s.open(s.runtime.page('/', html()));
    const error = await host.error();
    assert.equal(error.code, code);
    assert.equal(error.message, refuse[2]);
    await host.panel.shows(refuse[2]);
    const result = await host.run(() => document.getElementById('agent').sendWhenIdle('hello').then((r) => r, (e) => ({ status: 'threw', error: { code: e.code } })));
    assert.equal(result.status, 'error');
    sentence(result.error.message);
    assert.deepEqual(await host.errors(), []);
  });
}

test('a server that answers the sign-in with HTML', async () => {
  s.runtime.onSignIn = () => ({ html: '<!doctype html><h1>502 Bad Gateway</h1>' });
  const host = await s.open(s.runtime.page('/', html()));
  const error = await host.error();
  assert.equal(error.code, 'protocol');
  sentence(error.message);
  assert.deepEqual(await host.errors(), []);
});

test('a server that is down at the start and comes up later', async () => {
  const port = await freePort();
  s.runtime.sources = { 'connect-src': `http://127.0.0.1:${port}` };
  const host = await s.open(s.runtime.page('/', html({ init: { server: `http://127.0.0.1:${port}` } })));
  const error = await host.error();
  assert.equal(error.code, 'network');
  assert.equal(error.retryable, true);
  sentence(error.message);
  const late = await ScriptedRuntime.start(port);
  try {
    await host.saw('agent-idle');
    assert.equal((await host.send('hello')).text, 'You said: hello.');
    assert.equal((await host.names()).filter((n) => n === 'error').length, 1, 'told once');
  } finally {
    await late.stop();
  }
});

test('a server that goes down between two messages', async () => {
  const runtime = await ScriptedRuntime.start();
  s.runtime.sources = { 'connect-src': runtime.origin };
  let again;
  try {
    const host = await s.open(s.runtime.page('/', html({ init: { server: runtime.origin } })));
    await host.saw('agent-idle');
    await runtime.stop();
    const result = await host.send('hello');
    assert.equal(result.status, 'error');
    assert.equal(result.error.code, 'network');
    sentence(result.error.message);
    again = await ScriptedRuntime.start(runtime.port);
    await host.panel.retryButton.click();
    await host.panel.shows('You said: hello.');
    await until(() => host.busy().then((busy) => !busy), 'the element to be idle');
  } finally {
    await again?.stop();
  }
});
