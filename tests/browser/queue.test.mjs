// Messages to a busy agent wait over the text box: written, changed, taken away, sent now, paused
// and resumed, by keyboard and screen reader, over a reload and in two tabs.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TIMING, html } from '../support/host.mjs';
import { Panel } from '../support/panel.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const queue = (panel) => panel.host.locator('[part~="queue"]');
const items = (panel) => panel.host.locator('[part~="queue__item"]');
const button = (panel, name, at = 0) => items(panel).nth(at).getByRole('button', { name, exact: true });

/** Waits until exactly these texts wait, each with its state. */
async function waits(panel, ...expected) {
  let seen;
  await until(async () => {
    seen = await items(panel).evaluateAll((rows) => rows.map((row) => `${row.dataset.state} ${row.querySelector('[part~="queue__text"]')?.textContent}`));
    return JSON.stringify(seen) === JSON.stringify(expected);
  }, 'the queue').catch(() => assert.deepEqual(seen, expected));
}

/** A page whose agent is at work on `one`; gives it and the run. */
async function busy() {
  // A run that is silent for long is no broken one here.
  const host = await s.ready({ init: { timing: { ...TIMING, heartbeat: 60_000 } } });
  s.runtime.hold();
  await host.panel.say('one');
  const run = await s.runtime.nextRun();
  run.start().say('A first part');
  await host.panel.shows('A first part');
  return { host, panel: host.panel, run };
}

test('Enter queues while the agent answers, in order, and the stop button stays', async () => {
  const { panel, run } = await busy();
  await panel.say('two');
  await waits(panel, 'queued two');
  assert.equal(await panel.input.inputValue(), '');
  await panel.input.fill('three');
  await panel.host.getByRole('button', { name: 'Send when the assistant is done' }).click();
  await waits(panel, 'queued two', 'queued three');
  assert.equal(await panel.stopButton.isEnabled(), true);
  assert.equal(await panel.host.getByRole('button', { name: 'Send when the assistant is done' }).count(), 0);
  assert.equal(await panel.host.getByRole('status').filter({ hasText: 'Your message is sent when the assistant is done.' }).count(), 1);
  run.finish();
  const second = await s.runtime.nextRun();
  assert.equal(second.text, 'two');
  second.start().say('Second.').finish();
  (await s.runtime.nextRun()).start().say('Third.').finish();
  await panel.reads('one', 'A first part', 'two', 'Second.', 'three', 'Third.');
  assert.equal(await queue(panel).isVisible(), false);
});

test('what waits is changed and taken away; the focus is never lost', async () => {
  const { host, panel, run } = await busy();
  await panel.say('two');
  await panel.say('three');
  await waits(panel, 'queued two', 'queued three');
  await button(panel, 'Edit', 1).focus();
  await host.page.keyboard.press('Enter');
  await host.page.keyboard.type(', better');
  await host.page.keyboard.press('Enter');
  await waits(panel, 'queued two', 'queued three, better');
  await until(() => s.runtime.waiting.changes.length, 'the change');
  assert.deepEqual(s.runtime.waiting.changes[0][2], { text: 'three, better' });
  const focused = () => host.run(() => {
    const { activeElement } = document.getElementById('agent').shadowRoot;
    return activeElement?.getAttribute('aria-label');
  });
  assert.equal(await focused(), 'Edit');
  await button(panel, 'Edit').click();
  await host.page.keyboard.type('never');
  await host.page.keyboard.press('Escape');
  await waits(panel, 'queued two', 'queued three, better');
  assert.equal(await panel.stopButton.isVisible(), true, 'Escape leaves the change, and stops nothing');
  await button(panel, 'Remove').focus();
  await host.page.keyboard.press('Enter');
  await waits(panel, 'queued three, better');
  assert.equal(await focused(), 'Send now');
  await button(panel, 'Remove').focus();
  await host.page.keyboard.press('Enter');
  await until(async () => !(await queue(panel).isVisible()), 'an empty queue');
  assert.equal(await focused(), 'Write a message');
  run.finish();
  await panel.sendButton.waitFor();
});

test('sent now, the running turn reads it', async () => {
  const { panel, run } = await busy();
  await panel.say('two');
  await waits(panel, 'queued two');
  await button(panel, 'Send now').click();
  await waits(panel, 'steering two');
  const { runId, messageId, text } = s.runtime.waiting.items[0];
  s.runtime.waiting.remove(runId);
  run.event({ type: 'CUSTOM', name: 'mindset.steered', value: { runId, messageId, content: text, inputType: 'HUMAN' } });
  run.endMessage();
  run.messageId = 'other';
  run.say('With that.').finish();
  await panel.reads('one', 'A first part', 'two', 'With that.');
  assert.equal(await queue(panel).isVisible(), false);
});

test('a stop pauses what waits, and resume lets it go on', async () => {
  const { panel, run } = await busy();
  await panel.say('two');
  await waits(panel, 'queued two');
  s.runtime.conversations.set(run.input.threadId, { messages: [{ id: 'm', role: 'user', content: 'one' }] });
  s.runtime.waiting.pause();
  await panel.stopButton.click();
  await waits(panel, 'paused two');
  await panel.shows('Waiting messages are paused.');
  await panel.host.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await panel.host.getByRole('button', { name: 'Resume' }).click();
  const next = await s.runtime.nextRun();
  assert.equal(next.text, 'two');
  next.start().say('Second.').finish();
  await panel.shows('Second.');
  assert.equal(await queue(panel).isVisible(), false);
});

test('it is there after a reload, and two tabs agree', async () => {
  const { host, panel, run } = await busy();
  await panel.say('two');
  await waits(panel, 'queued two');
  run.finish();
  (await s.runtime.nextRun()).start().say('Second.').finish();
  await panel.shows('Second.');
  const { threadId } = run.input;
  s.runtime.conversations.set(threadId, { messages: [{ id: 'm', role: 'user', content: 'one' }] });
  for (const text of ['three', 'four']) s.runtime.waiting.items.push({ threadId, runId: `r-${text}`, messageId: `m-${text}`, text, inputType: 'HUMAN', state: 'paused' });
  await host.page.reload();
  await waits(panel, 'paused three', 'paused four');
  const path = '/second.html';
  const url = s.runtime.page(path, html({ elements: `<mindset-agent id="agent" agent-uid="support" conversation-id="${threadId}"></mindset-agent>` }));
  const second = await host.profile.newPage();
  await second.goto(url);
  const other = new Panel(second);
  await waits(other, 'paused three', 'paused four');
  await button(other, 'Remove').click();
  await waits(panel, 'paused four');
});

test('what the server refuses comes back into the text box', async () => {
  const { panel, run } = await busy();
  s.runtime.waiting.take = () => { throw new Error('unused'); };
  const { json } = s.runtime;
  s.runtime.json = (response) => json.call(s.runtime, response, 429, { error: { code: 'rate-limited', message: 'Too many messages wait.', retryable: true } });
  s.runtime.waiting.take = () => ({});
  await panel.say('two');
  await panel.shows('Too many messages wait.');
  assert.equal(await panel.input.inputValue(), 'two');
  delete s.runtime.json;
  run.finish();
});

test('what an application may do is switched in the drawer, at once', async () => {
  s.runtime.permissions.declared = { run: true, read: true };
  const host = await s.ready();
  const { panel } = host;
  await panel.host.getByRole('button', { name: 'Conversations' }).click();
  const settings = panel.host.getByRole('button', { name: 'Settings' });
  await settings.focus();
  await host.page.keyboard.press('Enter');
  const run = panel.host.getByRole('switch', { name: 'This application may give the assistant work' });
  assert.equal(await run.isChecked(), true);
  await run.focus();
  await host.page.keyboard.press('Space');
  await until(() => s.runtime.permissions.run === false, 'the switch');
  assert.equal(s.runtime.permissions.read, true);
  s.runtime.onPermit = () => [503, 'server-error', 'Not now.', true];
  const read = panel.host.getByRole('switch', { name: 'This application may read your conversations' });
  await read.click();
  await panel.host.getByRole('alert').filter({ hasText: 'This could not be changed.' }).waitFor();
  assert.equal(await read.isChecked(), true);
  assert.equal(await run.isChecked(), false);
});

test('a switch keeps its shape under a finger', async () => {
  s.runtime.permissions.declared = { run: true, read: true };
  const context = { hasTouch: true, isMobile: true, viewport: { width: 360, height: 640 } };
  const { panel } = await s.ready({ context, head: '<meta name="viewport" content="width=device-width">' });
  await panel.host.getByRole('button', { name: 'Conversations' }).click();
  await panel.host.getByRole('button', { name: 'Settings' }).click();
  const shape = await panel.host.getByRole('switch').first().evaluate((input) => [input.offsetWidth, input.offsetHeight]);
  assert.deepEqual(shape, [40, 24]);
});

test('an application that declares nothing has no settings', async () => {
  const host = await s.ready();
  await host.panel.host.getByRole('button', { name: 'Conversations' }).click();
  await until(() => s.runtime.requests.includes('GET /v1/me/permissions'), 'the question');
  await host.panel.shows('No conversations yet.');
  assert.equal(await host.panel.host.getByRole('button', { name: 'Settings' }).count(), 0);
});
