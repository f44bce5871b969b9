// Whoever reads older messages keeps their place, whatever happens around them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { barePanel } from '../support/bare-panel.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const away = (log) => log.evaluate((e) => Math.round(e.scrollHeight - e.clientHeight - e.scrollTop));
/** What fades in stands where it belongs. */
const settled = (host) => host.run(() => Promise.all(document.getElementById('agent').shadowRoot.getAnimations()
  .filter((animation) => Number.isFinite(animation.effect.getComputedTiming().endTime))
  .map((animation) => animation.finished.catch(() => {}))));
const frames = (host) => host.run(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** The first message in view and where it stands. */
const inView = (host, id) => host.run((id) => {
  const root = document.getElementById('agent').shadowRoot;
  const edge = root.querySelector('[role=log]').getBoundingClientRect().top;
  const rows = [...root.querySelectorAll('[data-message-id]')];
  const row = id ? rows.find((row) => row.dataset.messageId === id) : rows.find((row) => row.getBoundingClientRect().bottom > edge);
  return [row.dataset.messageId, Math.round(row.getBoundingClientRect().top - edge)];
}, id);

/** A conversation of many short messages, with its reader somewhere in the middle. */
async function reading(options = {}) {
  const messages = Array.from({ length: 120 }, (_, at) => (
    { id: `m-${at}`, role: at % 2 ? 'assistant' : 'user', content: `Message ${at}. ${'Words that wrap. '.repeat(8)}` }));
  s.runtime.conversations.set('long', { messages });
  const host = await s.ready({ ...options, elements: '<mindset-agent id="agent" agent-uid="support" conversation-id="long"></mindset-agent>' });
  await host.panel.shows(/Message 119\./);
  const { log } = host.panel;
  await until(async () => (await away(log)) <= 2, 'the view at the end');
  await settled(host);
  await log.evaluate((e) => { e.scrollTop = Math.round(e.scrollHeight / 2); });
  await frames(host);
  return { host, log };
}

const DISTURBANCES = {
  'a narrower panel': (host) => host.run(() => { document.getElementById('agent').style.width = '420px'; }),
  'a wider text': (host) => host.run(() => document.getElementById('agent').style.setProperty('--mindset-font-size', '20px')),
  'a lower panel, as of a keyboard that opens': (host) => host.run(() => { document.getElementById('agent').style.height = '260px'; }),
  'a picture that comes late': (host) => host.run(() => {
    const first = document.getElementById('agent').shadowRoot.querySelector('[data-message-id]');
    first.append(Object.assign(document.createElement('div'), { style: 'height: 300px' }));
  }),
  'a message above that goes': (host) => host.run(() => document.getElementById('agent').shadowRoot.querySelector('[data-message-id]').remove()),
  'a panel that is hidden and shown': async (host) => {
    await host.run(() => { document.getElementById('agent').hidden = true; });
    await frames(host);
    await host.run(() => { document.getElementById('agent').hidden = false; });
  },
  'a move in the document': (host) => host.run(() => document.body.append(document.getElementById('agent'))),
  'new messages': async (host) => { await host.send('something new'); },
};

for (const anchoring of [true, false]) {
  for (const [name, disturb] of Object.entries(DISTURBANCES)) {
    test(`${name} keeps the place${anchoring ? '' : ', also where the browser does not help'}`, async () => {
      const { host } = await reading();
      if (!anchoring) {
        await host.run(() => { document.getElementById('agent').shadowRoot.querySelector('[role=log]').style.overflowAnchor = 'none'; });
      }
      const [id, before] = await inView(host);
      await disturb(host);
      await frames(host);
      await settled(host);
      const [, after] = await inView(host, id);
      assert.ok(Math.abs(after - before) <= 2, `moved by ${after - before} pixels`);
    });
  }
}

test('a conversation that is drawn anew keeps the place of its reader, another one begins at its end', async () => {
  const host = await barePanel(s);
  await host.run(() => {
    window.draw = (name) => {
      panel.clear();
      for (let at = 0; at < 60; at += 1) panel.addMessage(`${name}-${at}`, at % 2 ? 'assistant' : 'user', `Message ${at} of ${name}`);
    };
    draw('one');
  });
  await frames(host);
  const { log } = host.panel;
  await settled(host);
  await log.evaluate((e) => { e.scrollTop = 700; });
  await frames(host);
  const [id, before] = await inView(host);
  await host.run(() => draw('one'));
  await frames(host);
  await settled(host);
  assert.deepEqual(await inView(host, id), [id, before]);
  await host.run(() => panel.draw('one-59', 'And more.', true));
  await frames(host);
  assert.deepEqual(await inView(host, id), [id, before], 'still without following');
  await host.run(() => draw('two'));
  await frames(host);
  assert.ok((await away(log)) <= 2);
});
