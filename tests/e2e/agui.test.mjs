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
  pages = await site({
    '/': `<!doctype html><title>Foreign server</title><script src="${runtime.origin}/mindset-agent.js"></script>
      <mindset-agent id="agent"></mindset-agent>
      <script>mindset.init({ server: '${server}/agent/', protocol: 'ag-ui' })</script>`,
  });
});
after(async () => {
  await browser?.close();
  await pages?.stop();
  await runtime?.stop();
  await python?.stop();
});

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
