// What a piece of an answer costs: the same at its end as at its beginning, however long it is.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { suite } from '../support/suite.mjs';
import { tasks } from '../support/tasks.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

/** No task may take longer, in milliseconds of the processor. */
const LONG_TASK = 50;
const FENCE = 64 << 10;
const PIECE = 4;

const LINE = 'export const total = (items) => items.reduce((sum, { price }) => sum + price, 0); // all\n';
const CODE = LINE.repeat(Math.ceil(FENCE / LINE.length)).slice(0, FENCE);

/** Sends the code in pieces of four characters, `atOnce` of them, then a breath. */
async function stream(run, atOnce) {
  run.start().say('```js\n');
  for (let at = 0; at < CODE.length; at += PIECE) {
    run.say(CODE.slice(at, at + PIECE));
    if ((at / PIECE) % atOnce === atOnce - 1) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  run.say('\n```\n\nThe end.').finish();
}

const idle = (host) => until(() => host.busy().then((busy) => !busy), 'the end of the answer', 60_000);
const shown = (host) => host.run(() => document.getElementById('agent').shadowRoot.querySelector('pre code').textContent);

for (const [how, atOnce] of [['as it is written', 50], ['faster than it is drawn', 4_000]]) {
  test(`a block of code of 64 KB in 16,000 pieces, ${how}: no long task`, { timeout: 120_000 }, async () => {
    const host = await s.ready();
    await host.send('before');
    s.runtime.hold();
    await host.start('code');
    const run = await s.runtime.nextRun();
    const { longest } = await tasks(host.page, async () => {
      await stream(run, atOnce);
      await host.panel.shows('The end.');
      await idle(host);
    });
    assert.equal((await shown(host)).trim(), CODE.trim());
  assert.ok(longest < LONG_TASK, `a task of ${longest} ms`);
  });
}

test('the same in a tab that nobody looks at, and when they come back', { timeout: 120_000 }, async () => {
  const host = await s.ready({
    head: `<script>let isHidden = false;
      Object.defineProperty(document, 'hidden', { get: () => isHidden });
      const frames = window.requestAnimationFrame.bind(window);
      window.requestAnimationFrame = (call) => (isHidden ? 0 : frames(call));
      window.look = (away) => { isHidden = away; document.dispatchEvent(new Event('visibilitychange')); };</script>`,
  });
  await host.send('before');
  await host.run(() => look(true));
  s.runtime.hold();
  await host.start('code');
  const run = await s.runtime.nextRun();
  const { longest } = await tasks(host.page, async () => {
    await stream(run, 200);
    await idle(host);
    await host.run(() => look(false));
    await host.panel.shows('The end.');
  });
  assert.equal((await shown(host)).trim(), CODE.trim());
  assert.ok(longest < LONG_TASK, `a task of ${longest} ms`);
});
