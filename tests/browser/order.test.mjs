// Who may speak when: busy, queues, calls before the element is ready, listeners
// that call back.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { deferred, until } from '../support/wait.mjs';

const s = suite();

/** In the page: what `fn` throws, as plain data. */
const THROWN = `window.thrown = (fn) => {
  try { fn(); return 'nothing'; } catch (e) {
    return { error: e instanceof Error, name: e.name, code: e.code, message: e.message, retryable: e.retryable };
  }
};`;

test('a second sendMessage while busy throws busy at once', async () => {
  const host = await s.ready({ foot: `<script>${THROWN}</script>` });
  s.runtime.hold();
  const thrown = await host.run(() => {
    const element = document.getElementById('agent');
    window.first = element.sendMessage('one');
    return window.thrown(() => element.sendMessage('two'));
  });
  assert.equal(thrown.error, true);
  assert.equal(thrown.name, 'MindsetError');
  assert.equal(thrown.code, 'busy');
  assert.equal(thrown.retryable, true);
  assert.ok(thrown.message.length > 20, thrown.message);
  (await s.runtime.nextRun()).start().say('done').finish();
  assert.equal((await host.run(() => window.first)).status, 'finished');
  assert.equal(s.runtime.runs.length, 1);
  await host.panel.reads('one', 'done');
});

test('what can be known at once is refused at once', async () => {
  const host = await s.ready({ foot: `<script>${THROWN}</script>` });
  const codes = await host.run(() => {
    const e = document.getElementById('agent');
    return [() => e.sendMessage(''), () => e.sendMessage('  \n'), () => e.sendMessage('x'.repeat(100_001)), () => e.sendMessage(), () => e.sendMessage({ text: 'x' })]
      .map((fn) => window.thrown(fn).code);
  });
  assert.deepEqual(codes, Array(5).fill('invalid-request'));
  assert.equal(s.runtime.runs.length, 0);
  assert.equal((await host.send('x'.repeat(100_000))).status, 'finished');
});

test('what can be known before the element is ready is refused at once too', async () => {
  const host = await s.open(s.runtime.page('/', html({
    init: null,
    foot: `<script>${THROWN}
      const e = document.getElementById('agent');
      window.codes = [() => e.sendMessage(''), () => e.sendWhenIdle('  '), () => e.sendMessage('x'.repeat(100001)), () => e.sendMessage({})]
        .map((fn) => window.thrown(fn).code);
      window.good = e.sendMessage('\u{1F642}'.repeat(100000));
      mindset.init({ appUid: 'acme' });</script>`,
  })));
  assert.deepEqual(await host.run(() => window.codes), Array(4).fill('invalid-request'));
  assert.equal((await host.run(() => window.good)).status, 'finished');
  assert.equal(s.runtime.runs.length, 1);
});

test('a listener that sends inside agent-idle works, and everyone hears the events in order', async () => {
  const host = await s.ready({ foot: `<script>
    window.heard = { element: [], document: [], late: [] };
    const note = (list) => (event) => list.push(event.type + ' ' + (event.detail.type ?? ''));
    const names = ['agent-idle', 'agent-busy', 'runtime-event', 'complete', 'text-delta', 'conversation', 'thread-changed'];
    for (const name of names) document.getElementById('agent').addEventListener('mindset:' + name, note(heard.element));
    let sent = 0;
    document.getElementById('agent').addEventListener('mindset:agent-idle', (event) => {
      sent += 1;
      if (sent <= 2) { window.last = event.target.sendMessage('turn ' + sent); }
    });
    for (const name of names) document.getElementById('agent').addEventListener('mindset:' + name, note(heard.late));
    for (const name of names) document.addEventListener('mindset:' + name, note(heard.document));
  </script>` });
  await host.saw('agent-idle', 3);
  const heard = await host.run(() => window.heard);
  assert.deepEqual(heard.element, heard.document);
  assert.deepEqual(heard.element, heard.late);
  assert.equal(heard.element[0], 'mindset:agent-idle ');
  assert.equal(heard.element[1], 'mindset:agent-busy ');
  const turns = heard.element.filter((line) => line.startsWith('mindset:agent-')).map((line) => line.trim());
  assert.deepEqual(turns, [
    'mindset:agent-idle', 'mindset:agent-busy', 'mindset:agent-idle', 'mindset:agent-busy', 'mindset:agent-idle',
  ]);
  assert.deepEqual(s.runtime.runs.map((run) => run.text), ['turn 1', 'turn 2']);
});

test('a listener that throws disturbs nobody', async () => {
  const host = await s.ready({ foot: `<script>
    for (const name of ['agent-idle', 'agent-busy', 'runtime-event', 'complete'])
      document.addEventListener('mindset:' + name, () => { throw new Error('a bug of the page'); });
  </script>` });
  assert.equal((await host.send('hello')).text, 'You said: hello.');
  assert.equal((await host.send('again')).text, 'You said: again.');
  assert.ok((await host.errors()).every((line) => line.includes('a bug of the page')));
});

test('a listener that removes the element in mid-turn, before the text is painted', async () => {
  const host = await s.ready({ elements: '<div id="place"></div>', foot: `<script>
    const add = () => {
      const element = document.createElement('mindset-agent');
      element.id = 'agent';
      element.agentUid = 'support';
      document.getElementById('place').append(element);
    };
    let rounds = 0;
    window.results = [];
    document.addEventListener('mindset:agent-idle', (event) => { window.results.push(event.target.sendWhenIdle('hello')); });
    document.addEventListener('mindset:text-delta', (event) => {
      event.target.remove();
      if ((rounds += 1) < 12) setTimeout(add);
      else setTimeout(() => requestAnimationFrame(() => { window.over = true; }), 50);
    });
    add();
  </script>` });
  await until(() => host.run(() => window.over), 'twelve rounds');
  const statuses = await host.run(async () => (await Promise.all(window.results)).map((r) => r.status));
  assert.equal(statuses.length, 12);
  assert.deepEqual(statuses.filter((status) => !['aborted', 'finished'].includes(status)), []);
  assert.deepEqual(await host.errors(), []);
});

/** An answer in one piece of the network, with its end or without. */
const atOnce = (run, pieces, isWhole) => {
  const events = [
    { type: 'RUN_STARTED', protocolVersion: '1.0', ...run.ids },
    { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
    ...pieces.map((delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta })),
    isWhole && { type: 'TEXT_MESSAGE_END', messageId: 'm' },
    isWhole && { type: 'RUN_FINISHED', ...run.ids, outcome: { type: 'success' } },
  ].filter(Boolean);
  run.head().raw(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  if (isWhole) run.end();
};

test('pieces that come at once are an event each, whatever stands in them', async () => {
  const host = await s.ready();
  const pieces = ['a', '\n', 'b\u0000c', '\u0000', '"', '\u2028', 'd\ud83d\ude42'];
  s.runtime.onRun = (run) => atOnce(run, pieces, true);
  assert.equal((await host.send('go')).text, pieces.join(''));
  const events = await host.events('agent');
  const of = (name) => events.filter((event) => event.name === name && event.detail.type === 'text_delta').map(({ detail }) => detail);
  const wanted = pieces.map((content) => ({ type: 'text_delta', messageId: 'm', content }));
  assert.deepEqual([of('text-delta'), of('runtime-event')], [wanted, wanted]);
});

for (const [what, isWhole] of [['removes', true], ['changes', true], ['stops', false]]) {
  test(`a listener that ${what} the element in the middle of pieces that came at once hears the others`, async () => {
    const host = await s.ready();
    s.runtime.onRun = (run) => atOnce(run, ['1', '2', '3', '4'], isWhole);
    const heard = await host.run(async (what) => {
      const [heard, agent] = [[], document.getElementById('agent')];
      agent.addEventListener('mindset:text-delta', ({ detail }) => {
        if (heard.push(detail.content) !== 2) return;
        if (what === 'removes') agent.remove();
        else if (what === 'changes') agent.agentUid = 'other';
        else agent.stop();
      });
      await agent.sendMessage('go');
      return heard;
    }, what);
    assert.deepEqual(heard, ['1', '2', '3', '4']);
    assert.deepEqual(await host.errors(), []);
  });
}

test('sendWhenIdle waits its turn, in order', async () => {
  const host = await s.ready();
  const texts = await host.run(async () => {
    const e = document.getElementById('agent');
    const results = [e.sendMessage('one'), e.sendWhenIdle('two'), e.sendWhenIdle('three', { silent: true }), e.sendWhenIdle('four')];
    return (await Promise.all(results)).map((r) => r.text);
  });
  assert.deepEqual(texts, ['You said: one.', 'You said: two.', 'You said: three.', 'You said: four.']);
  assert.deepEqual(s.runtime.runs.map((run) => run.text), ['one', 'two', 'three', 'four']);
  assert.equal((await host.panel.texts()).includes('three'), false);
});

/** A page whose wasm waits until `release` is called. */
async function delayed(options) {
  const gate = deferred();
  s.runtime.onWasm = () => gate.promise.then(() => undefined);
  const host = await s.open(s.runtime.page('/', html({ foot: `<script>${THROWN}</script>`, ...options })));
  return { host, release: () => gate.resolve() };
}

test('calls made before wasm is ready are kept, in order', async () => {
  const { host, release } = await delayed();
  const refused = await host.run(() => {
    const e = document.getElementById('agent');
    window.results = [e.sendMessage('one'), e.sendWhenIdle('two'), e.sendWhenIdle('three')];
    return window.thrown(() => e.sendMessage('four'));
  });
  assert.equal(refused.code, 'busy', 'one sendMessage is kept, a second one is refused like later');
  assert.equal(await host.busy(), true);
  release();
  const texts = await host.run(async () => (await Promise.all(window.results)).map((r) => r.text));
  assert.deepEqual(texts, ['You said: one.', 'You said: two.', 'You said: three.']);
  assert.deepEqual(s.runtime.runs.map((run) => run.text), ['one', 'two', 'three']);
  const names = await host.names();
  assert.deepEqual(names.slice(0, 3), ['agent-registered', 'agent-initializing', 'agent-busy'], 'not idle while something waits');
  assert.equal(names.at(-1), 'agent-idle');
});

test('a message sent before the agent is registered', async () => {
  const { host, release } = await delayed({
    foot: "<script>window.early = document.getElementById('agent').sendMessage('early');</script>",
  });
  release();
  assert.equal((await host.run(() => window.early)).text, 'You said: early.');
});

test('stop() before wasm is ready takes the kept message back', async () => {
  const { host, release } = await delayed();
  await host.run(() => {
    const e = document.getElementById('agent');
    window.kept = e.sendMessage('one');
    window.stopped = e.stop();
  });
  release();
  assert.equal((await host.run(() => window.kept)).status, 'aborted');
  await host.run(() => window.stopped);
  await host.saw('agent-idle');
  assert.equal((await host.send('two')).status, 'finished');
  assert.deepEqual(s.runtime.runs.map((run) => run.text), ['two']);
});

test('typing works before the element is ready', async () => {
  let refuse = true;
  s.runtime.onSignIn = (_body, count) => refuse
    ? { refuse: [503, 'server-error', 'Not yet: try again.', true] }
    : { authToken: `token-${count}`, expiresAt: new Date(Date.now() + 3.6e6).toISOString(), anonymousKey: 'k' };
  const host = await s.open(s.runtime.page('/', html()));
  await host.panel.input.fill('typed early');
  refuse = false;
  await host.saw('agent-idle');
  assert.equal(await host.panel.input.inputValue(), 'typed early');
  await host.panel.input.press('Enter');
  await host.panel.reads('typed early', 'You said: typed early.');
});
