// Both ends of AG-UI against peers nobody in this project wrote: the official
// client drives the runtime, the element talks to a Pydantic AI server.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { HttpAgent } from '@ag-ui/client';

import { launch } from '../support/browser.mjs';
import { Host } from '../support/host.mjs';
import { pythonProgram, ROOT } from '../support/paths.mjs';
import { freePort } from '../support/ports.mjs';
import { Program } from '../support/process.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';
import { within } from '../support/wait.mjs';

let runtime;
let python;
let server;
let browser;
let pages;

before(async () => {
  runtime = await Runtime.start();
  const port = await freePort();
  server = `http://127.0.0.1:${port}`;
  python = new Program(pythonProgram('python'), [join(ROOT, 'tests/e2e/pydantic_server.py'), String(port)]);
  await python.answers(`${server}/health`);
  browser = await launch();
  const page = (more = '') => `<!doctype html><title>Foreign server</title><script src="${runtime.origin}/mindset-agent.js"></script>
      <mindset-agent id="agent"></mindset-agent>
      <script>mindset.init({ server: '${server}/agent/', protocol: 'ag-ui' });${more}</script>`;
  pages = await site({ '/': page(), '/from': page(leaving("location.assign('/to'); return new Promise(() => {});")), '/to': page(leaving("return 'here';")) });
});
after(async () => {
  await browser?.close();
  await pages?.stop();
  await runtime?.stop();
  await python?.stop();
});

/** The script of a page whose tool `go` counts its runs over all pages of the tab, and then does `handler`. */
const leaving = (handler) => `document.getElementById('agent').setPageTools([{ name: 'go', description: 'Goes there', handler: () => {
  sessionStorage.ran = Number(sessionStorage.ran ?? 0) + 1;
  ${handler}
} }]);`;

/** The official client with a token of a new anonymous user. */
async function client(token) {
  return new HttpAgent({
    url: `${runtime.origin}/v1/agents/demo/runs`,
    threadId: randomUUID(),
    headers: { Authorization: `Bearer ${token}` },
  });
}

/** One turn; gives its events and what came new. */
async function turn(agent, content) {
  const events = [];
  agent.addMessage({ id: randomUUID(), role: 'user', content });
  const result = await agent.runAgent({ runId: randomUUID() }, {
    onEvent: ({ event }) => { events.push(event.type); },
  });
  return { events, messages: result.newMessages };
}

test('HttpAgent completes a run against the runtime, twice in one thread', async () => {
  const agent = await client(await runtime.token());
  for (const text of ['hello', 'hello again']) {
    const { events, messages } = await turn(agent, text);
    assert.equal(events[0], 'RUN_STARTED');
    assert.equal(events.at(-1), 'RUN_FINISHED');
    assert.ok(events.includes('TEXT_MESSAGE_CONTENT'));
    assert.equal(messages.length, 1);
    assert.equal(messages[0].role, 'assistant');
    assert.ok(messages[0].content.length > 0);
  }
  assert.deepEqual(agent.messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant']);
});

test('what HttpAgent wrote is in the store, once', async () => {
  const token = await runtime.token();
  const agent = await client(token);
  await turn(agent, 'hello');
  await turn(agent, 'hello again');
  const response = await fetch(`${runtime.origin}/v1/conversations/${agent.threadId}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(response.status, 200);
  const { messages } = await response.json();
  assert.deepEqual(messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant']);
  const other = await fetch(`${runtime.origin}/v1/conversations/${agent.threadId}`, {
    headers: { authorization: `Bearer ${await runtime.token()}` },
  });
  assert.equal(other.status, 404, "another user's conversation does not exist");
});

test('a validator of the protocol finds nothing in a run of the runtime', async () => {
  const program = new Program(pythonProgram('ag-ui-validate'), [
    '--no-color', '--timeout', '20', '--header', `Authorization: Bearer ${await runtime.token()}`,
    `${runtime.origin}/v1/agents/demo/runs`,
  ]);
  assert.equal(await within(program.ended, 'ag-ui-validate to end', 30_000), 0, program.output);
  assert.match(program.output, /no conformance violations/);
});

test('HttpAgent without a token is refused with a sentence', async () => {
  const agent = new HttpAgent({ url: `${runtime.origin}/v1/agents/demo/runs`, threadId: randomUUID() });
  await assert.rejects(turn(agent, 'hello'));
  const response = await runtime.post('/v1/agents/demo/runs', {});
  assert.equal(response.status, 401);
  const { error } = await response.json();
  assert.equal(error.code, 'invalid-auth');
  assert.ok(error.message.length > 20);
});

test('the element completes two turns against a Pydantic AI server', async () => {
  const host = await Host.open(browser, `${pages.origin}/`);
  try {
    await host.saw('agent-idle');
    assert.equal((await host.send('hello')).text, "You said 'hello', message 1.");
    assert.equal((await host.send('again')).text, "You said 'again', message 2.");
    await host.panel.reads('hello', "You said 'hello', message 1.", 'again', "You said 'again', message 2.");
    await host.panel.say('typed');
    await host.panel.shows("You said 'typed', message 3.");
    assert.deepEqual(await host.errors(), []);
    assert.equal(host.requests.filter((url) => url.includes('/v1/')).length, 0, 'only the run URL is used');
  } finally {
    await host.close();
  }
});

test('a foreign server that fails gives model_error, and the next message works', async () => {
  const host = await Host.open(browser, `${pages.origin}/`);
  try {
    await host.saw('agent-idle');
    const failed = await host.send('fail');
    assert.equal(failed.status, 'error');
    const { detail } = await host.saw('runtime-event:run_error');
    assert.equal(detail.reason, 'model_error');
    assert.match(failed.error.message, /the scripted model was told to fail/, "the server's own words");
    assert.match((await host.send('better')).text, /^You said 'better', message \d\.$/);
  } finally {
    await host.close();
  }
});

test('stop() against a foreign server ends the turn here', async () => {
  const host = await Host.open(browser, `${pages.origin}/`);
  try {
    await host.saw('agent-idle');
    const result = await host.run(() => {
      const element = document.getElementById('agent');
      element.addEventListener('mindset:text-delta', () => element.stop(), { once: true });
      return element.sendMessage('slowly');
    });
    assert.equal(result.status, 'aborted');
    assert.equal((await host.send('again')).status, 'finished');
  } finally {
    await host.close();
  }
});

/** A page with tools in front of the foreign server. `calls` are the model's, `[name, argument text]`. */
async function withTools(use) {
  const host = await Host.open(browser, `${pages.origin}/`);
  try {
    await host.saw('agent-idle');
    await host.run(() => {
      const tool = (name, handler, more) => ({ name, description: name, handler: (...all) => {
        (window.ran ??= []).push(name);
        return handler(...all);
      }, ...more });
      const object = (properties, required = []) => ({ type: 'object', properties, required });
      document.getElementById('agent').setPassthroughParams({ 'update.employee_id': 'EMP "4821" \u{1F642}\u2028' });
      document.getElementById('agent').setPageTools([
        tool('echo', (args) => { window.got = args; return args; }),
        tool('update', (args) => { window.got = args; return 'ok'; }, {
          parameters: object({ employee_id: { type: 'string' }, status: { type: 'string' } }, ['employee_id', 'status']),
        }),
        tool('nothing', () => {}),
        tool('throws', () => { throw 'no access'; }),
        tool('cyclic', () => { const o = {}; o.self = o; return o; }),
        tool('bigint', () => ({ n: 1n })),
        tool('node', () => document.body),
        tool('large', () => 'x'.repeat(10_000_000)),
        tool('slow', () => new Promise((done) => setTimeout(done, 300, 'slow'))),
        tool('never', () => new Promise(() => {}), { timeoutMs: 200 }),
        tool('ask', () => 'asked', { confirm: 'May I?' }),
        tool('pair', () => new Promise((done) => { (window.pair ??= []).push(done); if (window.pair.length === 2) window.pair.forEach((end, at) => end(at)); })),
      ]);
    });
    await use(host, async (...calls) => {
      const result = await host.send(`call ${JSON.stringify(calls)}`);
      assert.equal(result.status, 'finished', JSON.stringify(result));
      return JSON.parse(result.text);
    });
    assert.deepEqual(await host.errors(), []);
  } finally {
    await host.close();
  }
}

test("page tools run through Pydantic AI's own route: every kind of handler has a definite result", async () => {
  await withTools(async (host, call) => {
    for (const [name, expected] of [
      ['nothing', /^null$|^None$/], ['throws', /no access/], ['cyclic', /`result\.self` contains itself/], ['bigint', /`result\.n` is a BigInt/],
      ['node', /HTMLBodyElement/], ['large', /of 10000002 bytes are shown/], ['slow', /^"?slow"?$/], ['never', /did not answer within/],
    ]) {
      const results = await call([name, '{}']);
      assert.equal(results.length, 1, name);
      assert.match(results[0], expected, name);
    }
    assert.deepEqual(await call(['pair', '{}'], ['pair', '{}']), ['0', '1']);
    const ran = await host.run(() => window.ran);
    assert.deepEqual(ran, ['nothing', 'throws', 'cyclic', 'bigint', 'node', 'large', 'slow', 'never', 'pair', 'pair'], 'each call ran once');
  });
});

test('arguments reach the handler whole and plain, and pass-through values stay in the page', async () => {
  await withTools(async (host, call) => {
    const args = { filter: { tags: ['a', null], deep: [{}] }, none: null, text: 'é🙂', __proto__x: 1 };
    assert.deepEqual(JSON.parse((await call(['echo', JSON.stringify(args)]))[0]), args);
    assert.deepEqual(await host.run(() => window.got), args);
    const schemas = JSON.parse((await host.send('tools')).text);
    assert.deepEqual(Object.keys(schemas.update.properties), ['status']);
    assert.deepEqual(schemas.update.required, ['status']);
    await call(['update', '{"status":"on_leave","employee_id":"invented"}']);
    assert.deepEqual(await host.run(() => window.got), { status: 'on_leave', employee_id: 'EMP "4821" \u{1F642}\u2028' });
    assert.doesNotMatch(await host.page.content() + JSON.stringify(await host.events()) + python.output, /EMP "4821"/);
    assert.deepEqual((await host.names()).filter((name) => name === 'error'), []);
  });
});

test('a page tool that asks waits for the person, against a foreign server too', async () => {
  await withTools(async (host) => {
    await host.start('call [["ask","{}"]]');
    await host.panel.allowButton.click();
    assert.match((await host.late()).text, /asked/);
    await host.start('call [["ask","{}"]]');
    await host.panel.denyButton.click();
    assert.match((await host.late(1)).text, /did not allow/);
    assert.deepEqual(await host.run(() => window.ran), ['ask']);
    assert.equal((await host.send('hello')).status, 'finished');
  });
});

test('a handler that registers the tools anew goes on, and the server is told of the new ones at once', async () => {
  await withTools(async (host, call) => {
    await host.run(() => {
      const tool = (name, handler) => ({ name, description: name, handler });
      let release;
      const registered = new Promise((done) => { release = done; });
      document.getElementById('agent').setPageTools([
        tool('old', () => {
          window.ran = ['old'];
          document.getElementById('agent').setPageTools([
            tool('new', () => { window.ran.push('new'); return 'new'; }),
            tool('other', () => { window.ran.push('other'); return 'other'; }),
          ]);
          release();
          return 'old';
        }),
        tool('beside', () => registered.then(() => { window.ran.push('beside'); return 'beside'; })),
      ]);
    });
    assert.deepEqual(await call(['beside', '{}'], ['old', '{}']), ['"beside"', '"old"'], 'both go on, with their own results');
    assert.deepEqual(Object.keys(JSON.parse((await host.send('tools')).text)).sort(), ['new', 'other']);
    assert.deepEqual(await call(['new', '{}'], ['other', '{}']), ['"new"', '"other"']);
    assert.deepEqual(await host.run(() => window.ran), ['old', 'beside', 'new', 'other'], 'each once');
  });
});

test('a tool that navigates away: the new page begins anew, and the tool has run once', async () => {
  const host = await Host.open(browser, `${pages.origin}/from`);
  try {
    await host.saw('agent-idle');
    await host.start('call [["go","{}"]]').catch(() => {});
    await host.page.waitForURL('**/to');
    await host.saw('agent-idle');
    assert.equal(await host.run(() => sessionStorage.ran), '1');
    // No server keeps the conversation, so there is none: not half of one, and nothing that waits.
    assert.equal(await host.busy(), false);
    assert.deepEqual(await host.panel.texts(), []);
    const next = await host.send('hello');
    assert.equal(next.text, "You said 'hello', message 1.");
    assert.equal(await host.run(() => sessionStorage.ran), '1', 'nothing is called again');
    assert.deepEqual(JSON.parse((await host.send('call [["go","{}"]]')).text), ['"here"']);
    assert.equal(await host.run(() => sessionStorage.ran), '2');
    assert.deepEqual((await host.names()).filter((name) => name === 'error'), []);
    assert.deepEqual(await host.errors(), []);
  } finally {
    await host.close();
  }
});

test('a key that no page tool takes is told when the first message goes out', async () => {
  const host = await Host.open(browser, `${pages.origin}/`);
  try {
    await host.saw('agent-idle');
    await host.run(() => document.getElementById('agent').setPassthroughParams({ 'nobody.takes': 'CANARY' }));
    await host.send('hello');
    const detail = await host.error();
    assert.equal(detail.code, 'invalid-config');
    assert.match(detail.message, /nobody\.takes/);
    assert.doesNotMatch(JSON.stringify(detail), /CANARY/);
  } finally {
    await host.close();
  }
});
