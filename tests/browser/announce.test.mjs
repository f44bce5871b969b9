// What people who do not see the panel are told, and when.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { STATES } from '../support/states.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

test('who spoke is said, not only painted', async () => {
  const host = await s.ready();
  await host.send('hello');
  const said = await host.panel.messages.evaluateAll((rows) => rows.map((row) => `${row.getAttribute('aria-label') ?? ''} ${row.textContent}`));
  assert.match(said[0], /you/i);
  assert.match(said[1], /agent|assistant|support/i);
});

/** Counts what changes in live regions from now on. */
function watchLiveRegions(host) {
  return host.run(() => {
    window.live = [];
    const root = document.getElementById('agent').shadowRoot;
    new MutationObserver((records) => {
      for (const { target } of records) {
        const region = (target.nodeType === Node.TEXT_NODE ? target.parentElement : target)?.closest('[aria-live], [role=status], [role=alert], [role=log]');
        if (region && region.ariaLive !== 'off') window.live.push(region.textContent);
      }
    }).observe(root, { subtree: true, childList: true, characterData: true });
  });
}

test('an answer of a hundred deltas is announced once, when it is whole', async () => {
  const host = await s.ready();
  await host.send('before');
  s.runtime.hold();
  await watchLiveRegions(host);
  const said = () => host.run(() => window.live);
  await host.start('hello');
  const run = await s.runtime.nextRun();
  assert.equal(await host.panel.log.getAttribute('aria-live'), 'off', 'the log does not announce every piece');
  run.start();
  for (let at = 0; at < 100; at += 1) run.say(at % 10 ? `word ${at} ` : `\n\nPart ${at}. `);
  await host.panel.shows(/word 99/);
  assert.deepEqual(await said(), []);
  run.say('The end.').finish();
  await host.late();
  const all = await said();
  assert.equal(all.length, 1);
  assert.match(all[0], /^Part 0\. word 1 .* word 9 Part 10\. .* word 99 The end\.$/);
});

test('what is announced is good to hear: no code, no addresses, and not for ever', async () => {
  const host = await s.ready();
  const announcer = host.panel.host.locator('[role="status"][aria-live="polite"]').first();
  let before = '';
  /** What is announced next: it may come after the turn is over. */
  const next = async () => {
    await until(async () => ![before, ''].includes(await announcer.textContent()), 'an announcement');
    before = await announcer.textContent();
    return before;
  };
  const says = async (answer) => {
    s.runtime.onRun = (run) => run.start().say(answer).finish();
    await host.send('go');
    return next();
  };
  assert.equal(await says('See https://www.example.com/a/b?c=d#e, then\n\n  ask.'), 'See www.example.com then ask.');
  const long = await says('This is a sentence of some words. '.repeat(200));
  assert.ok(long.length < 1_400, `${long.length} characters`);
  assert.match(long, /some words\. \u2026 The answer goes on in the conversation\.$/);
  s.runtime.onRun = (run) => run.start().say('First.').endMessage().say('Second.').finish();
  await host.send('in two');
  assert.equal(await next(), 'First. Second.');
});

test('what was said before the page was loaded is not announced', async () => {
  s.runtime.conversations.set('old', { messages: [{ id: 'm-1', role: 'user', content: 'Q' }, { id: 'm-2', role: 'assistant', content: 'Old answer' }] });
  const host = await s.ready({ elements: '<mindset-agent id="agent" agent-uid="support" conversation-id="old"></mindset-agent>' });
  await host.panel.shows('Old answer');
  assert.equal(await host.panel.host.locator('[role="status"][aria-live="polite"]').first().textContent(), '');
});

test('a failure is announced at once, as an alert', async () => {
  const host = await s.ready();
  await watchLiveRegions(host);
  await STATES.error.reach(host, s.runtime);
  const alerts = await host.panel.host.getByRole('alert').allTextContents();
  assert.equal(alerts.length, 1);
  assert.ok((await host.run(() => window.live)).includes(alerts[0]));
});
