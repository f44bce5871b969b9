// The module that does not load, and the module that traps.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { html } from '../support/host.mjs';
import { built, wasmName } from '../support/paths.mjs';
import { ScriptedRuntime } from '../support/scripted-runtime.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

/** Opens a page whose module fails; gives the page and its one error. */
async function fails({ headers = { 'content-security-policy': null }, ...options } = {}) {
  // Inline, so that `init` is called before the failure is known.
  const page = html({ foot: '<script>window.reached = true</script>', ...options });
  const host = await s.open(s.runtime.page('/', page, headers));
  const error = await host.error();
  return { host, error };
}

/** The page is unharmed and was told once. */
async function unharmed(host) {
  assert.equal(await host.run(() => window.reached), true);
  assert.equal((await host.names()).filter((name) => name === 'error').length, 1, 'told once');
  const outcome = await host.run(async () => {
    const tell = (p) => p.then((r) => r.error?.code ?? r.status, (e) => e.code);
    const e = document.getElementById('agent');
    try {
      return await tell(e.sendWhenIdle('hello'));
    } catch (error) {
      return error.code;
    }
  });
  assert.equal(outcome, 'wasm-load');
  assert.equal(await host.busy(), false);
  assert.deepEqual(await host.errors(), []);
}

const CASES = {
  'a 404': { answer: { status: 404, type: 'text/plain', body: 'not here' }, says: /404/ },
  'HTML with 200': { answer: { type: 'text/html', body: '<!doctype html><title>App</title>' }, says: /text\/html/ },
  'HTML named wasm': { answer: { body: '<!doctype html><title>App</title>' }, says: /<!doctype|3c 21/ },
};

for (const [name, { answer, says }] of Object.entries(CASES)) {
  test(`${name} instead of the module: one clear error`, async () => {
    s.runtime.onWasm = () => answer;
    const { host, error } = await fails();
    assert.equal(error.code, 'wasm-load');
    assert.match(error.message, /\.wasm/, 'it names the address');
    assert.match(error.message, says);
    assert.equal(error.retryable, true);
    await unharmed(host);
    await host.panel.host.waitFor();
  });
}

test('a module cut short', async () => {
  s.runtime.onWasm = (bytes) => ({ body: bytes.subarray(0, 100) });
  const { host, error } = await fails();
  assert.equal(error.code, 'wasm-load');
  assert.match(error.message, /\.wasm/);
  await unharmed(host);
});

test('a broken connection', async () => {
  const page = html({ foot: '<script>window.reached = true</script>' });
  const host = await s.open(s.runtime.page('/', page), { before: (p) => p.route('**/*.wasm', (route) => route.abort()) });
  const error = await host.error();
  assert.equal(error.code, 'wasm-load');
  await unharmed(host);
});

test('a module that comes at the second try works with the configuration given before', async () => {
  s.runtime.onWasm = () => ({ status: 503, type: 'text/plain', body: 'not yet' });
  const { host } = await fails();
  s.runtime.onWasm = () => undefined;
  const result = await host.run(() => document.getElementById('agent').sendWhenIdle('hello'));
  assert.equal(result.text, 'You said: hello.');
  assert.deepEqual(await host.errors(), []);
});

test('the right bytes under the wrong type work, read once', async () => {
  s.runtime.onWasm = (bytes) => ({ type: 'application/octet-stream', body: bytes });
  const host = await s.ready();
  assert.equal((await host.send('hello')).text, 'You said: hello.');
  const asked = s.runtime.requests.filter((line) => line.endsWith('.wasm'));
  assert.deepEqual(asked, [`GET /${wasmName()}`, `GET /${wasmName('later')}`]);
  assert.deepEqual(await host.errors(), []);
});

test("a policy without 'wasm-unsafe-eval': the error names the remedy", async () => {
  const { host, error } = await fails({
    headers: { 'content-security-policy': "script-src 'self' 'unsafe-inline'" },
  });
  assert.equal(error.code, 'wasm-load');
  assert.match(error.message, /wasm-unsafe-eval/);
  host.mayViolate = true;
  await unharmed(host);
});

test('a page in a folder, with the script by a relative address', async () => {
  const host = await s.ready({ path: '/app/sub/page.html', script: '../../mindset-agent.js' });
  assert.equal((await host.send('hello')).text, 'You said: hello.');
});

test('a script from another origin takes the module and the runtime from there', async () => {
  const site = await ScriptedRuntime.start();
  site.sources = { 'script-src': s.runtime.origin, 'connect-src': s.runtime.origin };
  try {
    const host = await s.open(site.page('/', html({ script: `${s.runtime.origin}/mindset-agent.js` })));
    await host.saw('agent-idle');
    assert.equal((await host.send('hello')).text, 'You said: hello.');
    assert.deepEqual(site.requests.filter((line) => !/ \/(favicon\.ico|inline-.*)?$/.test(line)), []);
  } finally {
    await site.stop();
  }
});

for (const [name, { answer, says }] of Object.entries({ ...CASES, 'a module cut short': { cut: true, says: /damaged|incomplete/ } })) {
  test(`${name} instead of the later part: one clear error, and it is tried again`, async () => {
    let tries = 0;
    s.runtime.onLater = (bytes) => (++tries < 3 ? (answer ?? { body: bytes.subarray(0, 100) }) : undefined);
    const host = await s.ready();
    const error = await host.error();
    assert.equal(error.code, 'wasm-load');
    assert.match(error.message, /mindset-later-\w+\.wasm/, 'it names the address');
    assert.match(error.message, says);
    assert.equal(error.retryable, true);
    assert.equal((await host.send('hello')).text, 'You said: hello.');
    assert.equal(tries, 3);
    assert.equal((await host.names()).filter((name) => name === 'error').length, 1, 'told once');
    assert.deepEqual(await host.errors(), []);
  });
}

test('what comes before the later part waits for it, in order, and nothing is lost', async () => {
  let release;
  s.runtime.onLater = () => new Promise((resolve) => {
    release = resolve;
  });
  s.runtime.asksFor([['note', {}]]);
  const host = await s.ready();
  await until(() => release, 'the later part to be asked for');
  await host.run(() => {
    const agent = document.getElementById('agent');
    window.order = [];
    agent.setPageTools([{ name: 'note', description: 'Notes.', handler: () => window.order.push('note') }]);
    agent.setPassthroughParams({ seat: 7 });
    window.result = agent.sendMessage('hello');
    window.busy = agent.isAgentBusy();
    window.listed = agent.conversations();
  });
  assert.equal(await host.run(() => window.busy), true);
  assert.equal(s.runtime.runs.length, 0, 'the message does not overtake the tools');
  release();
  assert.equal((await host.run(() => window.result)).text, 'Done.');
  assert.deepEqual(await host.run(() => window.order), ['note']);
  assert.deepEqual(await host.run(() => window.listed), []);
  assert.equal(s.runtime.runs[0].input.tools[0].name, 'note');
  assert.deepEqual(s.runtime.runs[0].input.forwardedProps.mindset.passthroughParams, { seat: 7 });
  assert.deepEqual(await host.errors(), []);
});

test('a message is on its way before the later part is there', async () => {
  let release;
  s.runtime.onLater = () => new Promise((resolve) => {
    release = resolve;
  });
  const host = await s.ready();
  await host.panel.input.fill('hello');
  await host.panel.input.press('Enter');
  await s.runtime.nextRun();
  assert.ok(release, 'it was asked for');
  release();
  await host.panel.reads('hello', 'You said: hello.');
});

test('a typed message does not overtake what the page has set before the later part is there', async () => {
  let release;
  s.runtime.onLater = () => new Promise((resolve) => {
    release = resolve;
  });
  const host = await s.ready();
  await until(() => release, 'the later part to be asked for');
  await host.run(() => {
    const agent = document.getElementById('agent');
    agent.setPageTools([{ name: 'note', description: 'Notes.', handler() {} }]);
    agent.setSituationalAwareness({ page: 'cart' });
    window.result = agent.sendMessage('of the page');
  });
  await host.panel.input.fill('typed');
  await host.panel.input.press('Enter');
  assert.equal(await host.panel.input.inputValue(), '');
  assert.equal(s.runtime.runs.length, 0);
  release();
  await host.panel.reads('of the page', 'You said: of the page.', 'typed', 'You said: typed.');
  for (const { input } of s.runtime.runs) {
    assert.equal(input.tools[0].name, 'note');
    assert.equal(input.context[0].value, '{"page":"cart"}');
  }
});

test('a page that has tools from the start begins when all is there', async () => {
  const foot = `<script>document.getElementById('agent').setPageTools([{ name: 'note', description: 'Notes.', handler() {} }])</script>`;
  const host = await s.ready({ foot });
  await host.panel.input.fill('hello');
  await host.panel.input.press('Enter');
  const run = await s.runtime.nextRun();
  assert.equal(run.input.tools[0].name, 'note');
});

/** A page whose later part is kept away while it is fetched, and that leaves a turn for another agent: too early. */
async function early() {
  const before = (page) => page.addInitScript(() => {
    const { fetch } = window;
    window.fetch = (url, ...rest) => (/mindset-later/.test(url) && !window.free ? Promise.reject(new TypeError('kept away')) : fetch(url, ...rest));
  });
  const host = await s.ready({ before });
  host.mayBeEarly = true;
  assert.match((await host.error()).message, /mindset-later-\w+\.wasm could not be fetched/);
  s.runtime.hold();
  await host.panel.input.fill('first');
  await host.panel.input.press('Enter');
  await s.runtime.nextRun();
  await host.run(() => {
    const agent = document.getElementById('agent');
    agent.agentUid = 'other';
    window.outcome = agent.sendWhenIdle('hello');
    window.free = true;
  });
  return host;
}

test('a call that comes too early has the later part loaded, and is right', async () => {
  const host = await early();
  const run = await s.runtime.nextRun();
  assert.match(run.url, /\/other\/runs$/);
  run.start().say('Here.').finish();
  assert.equal((await host.run(() => window.outcome)).text, 'Here.');
  assert.equal((await host.early()).length, 1);
  assert.deepEqual(await host.errors(), []);
});

test('a call that comes too early for a part that is not there: the error says so, and the next call begins anew', async () => {
  s.runtime.onLater = () => ({ status: 404, type: 'text/plain', body: 'not here' });
  const host = await early();
  const outcome = await host.run(() => window.outcome);
  assert.equal(outcome.error.code, 'wasm-load');
  assert.match(outcome.error.message, /mindset-later-\w+\.wasm answered 404/);
  assert.match((await host.error(2)).message, /answered 404/);
  s.runtime.onLater = () => undefined;
  s.runtime.onRun = (run) => run.start().say('Here.').finish();
  assert.equal((await host.run(() => document.getElementById('agent').sendWhenIdle('again'))).text, 'Here.');
  await host.panel.reads('again', 'Here.');
  assert.deepEqual(await host.errors(), []);
});

test('a module on another origin that does not allow this one: the error names the header', async () => {
  const site = await ScriptedRuntime.start();
  s.runtime.page(`/${wasmName()}`, readFileSync(built(wasmName())), { 'content-type': 'application/wasm' });
  try {
    const host = await s.open(site.page('/', html({ script: `${s.runtime.origin}/mindset-agent.js`, foot: '<script>window.reached = true</script>' }), { 'content-security-policy': null }));
    const error = await host.error();
    assert.equal(error.code, 'wasm-load');
    assert.match(error.message, /\.wasm could not be fetched .* Access-Control-Allow-Origin/);
    await unharmed(host);
  } finally {
    await site.stop();
  }
});

/**
 * Makes the module's next call trap: it asks the page for the time in every call,
 * and a RuntimeError out of there leaves the module the way a trap does.
 */
function trap(host) {
  return host.run(setTrap);
}

function setTrap() {
  const { now } = Date;
  Date.now = () => {
    if (!/wasm/.test(new Error().stack)) return now();
    Date.now = now;
    throw new WebAssembly.RuntimeError('unreachable');
  };
}

test('a trap settles what waits, and a fresh instance goes on', async () => {
  const host = await s.ready({
    elements: '<mindset-agent id="agent" agent-uid="support"></mindset-agent><mindset-agent id="other" agent-uid="support"></mindset-agent>',
  });
  await host.saw('agent-idle', 1, 'other');
  await host.panel.input.fill('a draft');
  await trap(host);
  const outcome = await host.run(async () => {
    const e = document.getElementById('agent');
    try {
      return (await e.sendMessage('boom')).status;
    } catch (error) {
      return `threw ${error.code}`;
    }
  });
  assert.ok(['error', 'threw internal'].includes(outcome), outcome);
  const error = await host.error();
  assert.equal(error.code, 'internal');
  assert.equal((await host.run(() => document.getElementById('agent').sendWhenIdle('hello'))).text, 'You said: hello.');
  assert.equal((await host.run(() => document.getElementById('other').sendWhenIdle('hello'))).text, 'You said: hello.');
  assert.equal(await host.panel.input.inputValue(), 'a draft');
});

test('a fresh instance knows what the page has set, and calls left open are answered as unknown', async () => {
  const host = await s.ready();
  await host.run(() => {
    const agent = document.getElementById('agent');
    agent.setSituationalAwareness({ page: 'kept' });
    agent.setPageTools([{ name: 'it', description: 'd', handler: (_, { signal }) => new Promise((done) => {
      window.ran = (window.ran ?? 0) + 1;
      signal.addEventListener('abort', () => { window.aborted = true; done(); });
    }) }]);
  });
  s.runtime.onRun = (run) => {
    if (run.results.length) return run.start().say('Back again.').finish();
    run.start().calls(['it', {}, 'call-1']);
    const { threadId, messages, forwardedProps } = run.input;
    s.runtime.conversations.set(threadId, {
      messages: messages.map(({ id, role, content }) => ({ id, role, content })),
      openCalls: [{ toolCallId: 'call-1', toolName: 'it', arguments: '{}', runId: run.input.runId, clientId: forwardedProps.mindset.clientId }],
    });
  };
  await host.start('go');
  await host.page.waitForFunction(() => window.ran);
  await trap(host);
  await host.run(() => document.getElementById('agent').setPassthroughParams({ token: 'set while it fell' }));
  assert.equal((await host.late()).status, 'error');
  await host.panel.reads('go', 'Back again.');
  assert.deepEqual(await host.run(() => [window.ran, window.aborted]), [1, true]);
  const [first, second] = s.runtime.runs.map((run) => run.input.forwardedProps.mindset.clientId);
  assert.equal(first, second, 'it is the same page');
  s.runtime.onRun = (run) => run.start().say('Yes.').finish();
  await host.run(() => document.getElementById('agent').sendWhenIdle('hello'));
  const { input } = s.runtime.runs.at(-1);
  assert.equal(input.tools.length, 1);
  assert.equal(input.context[0].value, '{"page":"kept"}');
  assert.deepEqual(input.forwardedProps.mindset.passthroughParams, { token: 'set while it fell' });
});

test('a second trap is the end, and every call says so', async () => {
  const host = await s.ready();
  // Set and sprung in one task: whatever the page does by itself in between would spring it.
  const outcome = (set) => host.run(async (set) => {
    const e = document.getElementById('agent');
    if (set) window.setTrap();
    try {
      return await e.sendMessage('boom').then((r) => r.error?.code ?? r.status);
    } catch (error) {
      return error.code;
    }
  }, set);
  await host.run(`window.setTrap = ${setTrap}`);
  assert.equal(await outcome(true), 'internal');
  await host.saw('agent-idle', 2);
  assert.equal(await outcome(true), 'internal');
  assert.equal(await outcome(), 'internal', 'no third instance');
  const error = await host.error(2);
  assert.equal(error.code, 'internal');
  assert.equal(error.retryable, false);
  assert.match(error.message, /reload/i);
  assert.equal(await host.busy(), false);
});
