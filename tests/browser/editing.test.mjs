// A message that was sent comes back into the text box to be changed.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { barePanel } from '../support/bare-panel.mjs';
import { suite } from '../support/suite.mjs';

const s = suite();

/** A panel with two messages of the person's own. */
async function talk() {
  const host = await barePanel(s);
  await host.run(() => {
    panel.addMessage('m-1', 'user', 'First');
    panel.addMessage('m-2', 'assistant', 'Answer');
    panel.addMessage('m-3', 'user', 'Second\n\n  line');
    panel.addMessage('m-4', 'assistant', 'Another');
  });
  await host.panel.input.click();
  return host;
}

const told = (host) => host.run(() => window.told.splice(0));
const value = (host) => host.panel.input.inputValue();
const cancel = (host) => host.panel.host.getByRole('button', { name: 'Cancel' });

test('Up in an empty text box edits the last own message, and Enter sends it again', async () => {
  const host = await talk();
  await host.page.keyboard.press('ArrowUp');
  assert.equal(await value(host), 'Second\n\n  line', 'as it was written');
  await host.panel.host.getByRole('status').getByText('You are editing a message.').waitFor();
  await host.page.keyboard.type('!');
  await host.page.keyboard.press('Enter');
  assert.deepEqual(await told(host), [['edit', 'm-3'], ['resend', 'm-3\nSecond\n\n  line!']]);
  assert.equal(await value(host), '');
  assert.equal(await cancel(host).count(), 0);
});

test('Escape and Cancel leave the message as it was; Escape stops a turn only after that', async () => {
  const host = await talk();
  await host.page.keyboard.press('ArrowUp');
  await host.run(() => panel.setActivity('answering'));
  await host.page.keyboard.press('Escape');
  assert.equal(await value(host), '');
  await host.page.keyboard.press('Escape');
  assert.deepEqual(await told(host), [['edit', 'm-3'], ['stop']].map((words) => words));
  await host.run(() => panel.setActivity('idle'));
  await host.page.keyboard.press('ArrowUp');
  await cancel(host).click();
  assert.equal(await value(host), '');
  await host.page.keyboard.type('next');
  assert.equal(await value(host), 'next', 'the focus is in the text box');
});

test('a draft waits while a message is edited, and is not lost', async () => {
  const host = await talk();
  await host.run(() => panel.setDraft('mindset:draft:x|', true));
  await host.page.keyboard.type('my draft');
  await host.page.keyboard.press('ArrowUp');
  assert.deepEqual(await told(host), [], 'Up in a draft moves the caret');
  await host.run(() => panel.edit('m-1'));
  assert.equal(await value(host), 'First');
  assert.equal(await host.run(() => sessionStorage.getItem('mindset:draft:x|')), 'my draft', 'what is edited is no draft');
  await host.page.keyboard.press('Enter');
  assert.deepEqual(await told(host), [['edit', 'm-1'], ['resend', 'm-1\nFirst']]);
  assert.equal(await value(host), 'my draft');
  await host.run(() => panel.edit('m-1'));
  await host.run(() => panel.clear());
  assert.equal(await value(host), 'my draft', 'another conversation ends it');
});

test('an edit that is refused stays; one that may not begin does not', async () => {
  const host = await talk();
  await host.page.keyboard.press('ArrowUp');
  await host.run(() => { window.refuses = ['resend', 'edit']; });
  await host.page.keyboard.press('Enter');
  assert.equal(await value(host), 'Second\n\n  line');
  assert.equal(await cancel(host).count(), 1);
  await host.page.keyboard.press('Escape');
  await host.page.keyboard.press('ArrowUp');
  assert.equal(await value(host), '');
});

test('the Up of an input method, with a modifier or without an own message is none', async () => {
  const host = await talk();
  await host.page.keyboard.press('Shift+ArrowUp');
  await host.page.keyboard.press('Alt+ArrowUp');
  await host.panel.input.evaluate((input) => {
    const event = new KeyboardEvent('keydown', { key: 'ArrowUp', bubbles: true, composed: true });
    Object.defineProperty(event, 'keyCode', { value: 229 });
    input.dispatchEvent(event);
  });
  await host.run(() => panel.clear());
  await host.page.keyboard.press('ArrowUp');
  assert.deepEqual(await told(host), []);
});
