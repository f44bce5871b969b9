// The element as a client of any AG-UI server: `protocol: 'ag-ui'`.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { html, TIMING } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';

const s = suite();

/** A page that talks to `path` of the scripted server. */
async function foreign(path = '/ag-ui/agent/') {
  const host = await s.open(s.runtime.page('/', html({
    elements: '<mindset-agent id="agent"></mindset-agent>',
    init: { appUid: undefined, protocol: 'ag-ui', server: s.runtime.origin + path, timing: TIMING },
  })));
  await host.saw('agent-idle');
  return host;
}

test('server is the exact run URL, and nothing else is asked', async () => {
  for (const path of ['/ag-ui/agent/', '/ag-ui/agent', '/ag-ui/agent?tenant=7']) {
    s.runtime.requests.length = 0;
    const host = await foreign(path);
    assert.equal((await host.send('hello')).text, 'You said: hello.');
    const posts = s.runtime.runs.map((run) => run.url);
    assert.equal(posts.at(-1), path);
    assert.deepEqual(s.runtime.requests.filter((line) => line.includes('/v1/')), []);
  }
});

test('no credentials, the whole conversation every time', async () => {
  const host = await foreign();
  await host.send('one');
  await host.send('two');
  const [first, second] = s.runtime.runs;
  assert.equal(first.headers.authorization, undefined);
  assert.equal(first.input.threadId, second.input.threadId);
  assert.deepEqual(second.input.messages.map((m) => [m.role, m.content]), [
    ['user', 'one'], ['assistant', 'You said: one.'], ['user', 'two'],
  ]);
  assert.equal(new Set(second.input.messages.map((m) => m.id)).size, 3);
  for (const key of ['threadId', 'runId', 'state', 'messages', 'tools', 'context', 'forwardedProps']) {
    assert.ok(key in second.input, `${key} is in the input, as older servers demand`);
  }
});

test('fetchAuthentication gives the token for a foreign server too', async () => {
  const page = s.runtime.page('/', html({
    elements: '<mindset-agent id="agent"></mindset-agent>',
    init: null,
    foot: "<script>mindset.init({ protocol: 'ag-ui', server: '/ag-ui/agent', fetchAuthentication: async () => 'page-1' })</script>",
  }));
  const host = await s.open(page);
  await host.saw('agent-idle');
  await host.send('hello');
  assert.equal(s.runtime.runs[0].headers.authorization, 'Bearer page-1');
  assert.equal(s.runtime.signIns.length, 0);
});

test('a peer older than 1.0: no version, no outcome', async () => {
  const host = await foreign();
  s.runtime.onRun = (run) => {
    run.head();
    run.event({ type: 'RUN_STARTED', ...run.ids });
    run.event({ type: 'TEXT_MESSAGE_CHUNK', messageId: 'm1', role: 'assistant', delta: 'Old ' });
    run.event({ type: 'TEXT_MESSAGE_CHUNK', messageId: 'm1', delta: 'but fine.' });
    run.event({ type: 'RUN_FINISHED', ...run.ids });
    run.end();
  };
  assert.equal((await host.send('hello')).text, 'Old but fine.');
});

test('stop() cuts the stream and asks for no cancel', async () => {
  const host = await foreign();
  s.runtime.hold();
  await host.start('hello');
  const run = await s.runtime.nextRun();
  run.start().say('On and ');
  await host.panel.reads('hello', 'On and');
  await host.run(() => document.getElementById('agent').stop());
  assert.equal((await host.late()).status, 'aborted');
  await run.gone;
  assert.deepEqual(s.runtime.cancels, []);
});

test('a run that calls a tool nobody offered does not hang', async () => {
  const host = await foreign();
  let round = 0;
  s.runtime.onRun = (run) => {
    round += 1;
    if (round > 1) return run.start().say('Without it, then.').finish();
    run.start();
    run.event({ type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'open_panel' });
    run.event({ type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{}' });
    run.event({ type: 'TOOL_CALL_END', toolCallId: 'c1' });
    return run.finish({ type: 'success', pendingToolCallIds: ['c1'] });
  };
  const result = await host.send('hello');
  assert.ok(['finished', 'error'].includes(result.status));
  assert.ok(round <= 3, `${round} runs`);
  s.runtime.onRun = (run) => run.start().say('All good.').finish();
  assert.equal((await host.send('and now?')).text, 'All good.');
});
