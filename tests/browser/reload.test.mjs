// A page that goes away while its tool runs, and the page that comes after it: the
// conversation is shown again, the call ends once, and no handler runs a second time.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Host, html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

/** A page whose tool `go` counts how often it ran and does as `handler` says. */
function page(path, handler) {
  return s.runtime.page(path, html({ foot: `<script>
    document.getElementById('agent').setPageTools([{ name: 'go', description: 'd', runningDescription: 'Going…', handler: (args) => {
      localStorage.ran = Number(localStorage.ran ?? 0) + 1;
      return (${handler})(args);
    } }]);
  </script>` }));
}

/** The conversation of the last run as the server keeps it, with its calls open. */
function keep(calls) {
  const { threadId, forwardedProps, messages } = s.runtime.runs.at(-1).input;
  const { clientId } = forwardedProps.mindset;
  s.runtime.conversations.set(threadId, {
    messages: messages.map(({ id, role, content }) => ({ id, role, content, createdAt: '2026-01-01T00:00:00.000Z' })),
    openCalls: calls.map((toolCallId) => ({ toolCallId, toolName: 'go', arguments: '{}', runId: 'r', clientId })),
  });
  return threadId;
}

/** The model calls `go` in every new turn. */
function goes() {
  s.runtime.onRun = (run) => {
    if (run.results.length) return run.start().say('We are there.').finish();
    run.start().calls(['go', {}, 'call-1']);
    keep(['call-1']);
  };
}

test('a tool that navigates away ends as outcome unknown in the new page, and the turn goes on (H-27)', async () => {
  page('/orders', '() => "again"');
  const host = await s.open(page('/', "() => { location.assign('/orders'); return new Promise(() => {}); }"));
  await host.saw('agent-idle');
  goes();
  await host.start('take me to my orders').catch(() => {});
  await host.page.waitForURL('**/orders');
  await host.panel.reads('take me to my orders', 'We are there.');
  await host.saw('agent-idle');
  assert.equal(await host.run(() => localStorage.ran), '1');
  assert.equal(s.runtime.results.length, 1);
  const [{ toolCallId, content, error }] = s.runtime.results;
  assert.equal(toolCallId, 'call-1');
  assert.match(content, /not known|unknown/i);
  assert.equal(error, content);
  const [first, second] = s.runtime.runs.map((run) => run.input);
  assert.equal(second.threadId, first.threadId);
  assert.notEqual(second.forwardedProps.mindset.clientId, first.forwardedProps.mindset.clientId);
  assert.deepEqual(await host.errors(), []);
});

test('a reload in mid-call is the same, and a second reload asks for nothing', async () => {
  const host = await s.open(page('/', '() => new Promise(() => {})'));
  await host.saw('agent-idle');
  goes();
  await host.start('go');
  await host.page.waitForFunction(() => localStorage.ran === '1');
  await host.page.reload();
  await host.panel.reads('go', 'We are there.');
  await host.saw('agent-idle');
  const threadId = keep([]);
  s.runtime.conversations.get(threadId).messages = [
    { id: 'u', role: 'user', content: 'go' }, { id: 'a', role: 'assistant', content: 'We are there.', citations: [{ marker: '[1]', title: 'Map', url: 'https://map.example/' }] },
  ];
  const runs = s.runtime.runs.length;
  await host.page.reload();
  await host.panel.reads('go', 'We are there.');
  await host.saw('agent-idle');
  await host.panel.host.getByRole('link', { name: /Map/ }).waitFor();
  assert.equal(s.runtime.runs.length, runs);
  assert.equal(await host.run(() => localStorage.ran), '1');
  assert.deepEqual((await host.names()).slice(0, 5), ['agent-registered', 'agent-initializing', 'conversation', 'thread-changed', 'agent-idle']);
  const all = JSON.stringify(await host.events());
  assert.doesNotMatch(all, /We are there/, 'history from before is in no event');
});

test('a duplicated tab leaves the call to the tab that runs it', async () => {
  const host = await s.open(page('/', '() => new Promise((done) => { window.finish = done; })'));
  await host.saw('agent-idle');
  goes();
  await host.start('go');
  await host.page.waitForFunction(() => window.finish);
  const [opened] = await Promise.all([host.profile.waitForEvent('page'), host.run(() => void window.open('/'))]);
  const twin = new Host(host.profile, opened);
  await twin.panel.shows(/still runs in another tab/);
  assert.equal(s.runtime.runs.length, 1, 'the twin answers nothing');
  assert.equal(await twin.run(() => localStorage.ran), '1');
  await host.run(() => window.finish('done'));
  assert.equal((await host.late()).text, 'We are there.');
  assert.deepEqual(s.runtime.results.map((result) => result.content), ['"done"']);
});

test('an element that is taken out and put back answers for the one before it', async () => {
  const host = await s.open(page('/', '() => new Promise(() => {})'));
  await host.saw('agent-idle');
  goes();
  await host.start('go');
  await host.page.waitForFunction(() => localStorage.ran === '1');
  await host.run(async () => {
    const agent = document.getElementById('agent');
    agent.remove();
    await new Promise((done) => setTimeout(done, 50));
    document.body.append(agent);
  });
  await host.panel.reads('go', 'We are there.');
  assert.equal(await host.run(() => localStorage.ran), '1');
});

test('two elements of one agent keep two conversations apart, over a reload too', async () => {
  const elements = '<mindset-agent id="agent" agent-uid="support"></mindset-agent><mindset-agent id="other" agent-uid="support"></mindset-agent>';
  const host = await s.ready({ elements });
  await host.saw('agent-idle', 1, 'other');
  await host.send('first', undefined, 'agent');
  keep([]);
  await host.send('second', undefined, 'other');
  keep([]);
  await host.page.reload();
  await host.panel.reads('first');
  await host.panel.of('other').reads('second');
});

test('a conversation that is no more is replaced, and says so', async () => {
  const host = await s.ready();
  await host.send('hello');
  const { threadId } = s.runtime.runs[0].input;
  await host.page.reload();
  await host.saw('agent-idle');
  const { detail } = await host.saw('conversation');
  assert.equal(detail.replacedConversationId, threadId);
  assert.equal(detail.replacedBecause, 'discarded');
  assert.notEqual(detail.conversationId, threadId);
  await host.send('hello again');
  assert.equal(s.runtime.runs[1].input.threadId, detail.conversationId);
});

test('sessionStorage holds the anonymous key and the conversation, nothing else', async () => {
  const host = await s.ready();
  await host.send('hello');
  const stored = await host.run(() => Object.entries(sessionStorage));
  assert.deepEqual(stored.map(([key]) => key.split(':')[1]).sort(), ['anonymous', 'conversation']);
  assert.equal(await host.run(() => localStorage.length), 0);
  assert.ok(stored.some(([, value]) => value === s.runtime.runs[0].input.threadId));
});

test('a page with tools holds its lock for its whole life', async () => {
  const host = await s.ready();
  const held = () => host.run(async () => (await navigator.locks.query()).held.map((lock) => lock.name));
  assert.deepEqual(await held(), []);
  await host.run(() => document.getElementById('agent').setPageTools([{ name: 'a', description: 'd', handler() {} }]));
  await until(async () => (await held()).length === 1, 'the lock');
  await host.send('hello');
  const [name] = await held();
  assert.equal(name, `mindset:${s.runtime.runs[0].input.forwardedProps.mindset.clientId}`);
  await host.run(() => document.getElementById('agent').setPageTools([]));
  await host.run(() => document.getElementById('agent').remove());
  assert.deepEqual(await held(), [name]);
});
