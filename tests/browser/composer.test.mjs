// What a person writes: drafts that are kept, a composer that is closed, texts that are too
// long, keys that stay, and input methods that are left alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();
const element = (attributes = '') => `<mindset-agent id="agent" agent-uid="support" ${attributes}></mindset-agent>`;
const value = (host, id = 'agent') => host.panel.of(id).input.inputValue();
const stored = (host) => host.run(() => Object.entries(sessionStorage).filter(([key]) => key.startsWith('mindset:draft:')));

/** The same page once more. */
async function reload(host) {
  await host.page.reload();
  await host.saw('agent-idle');
}

// ── drafts ────────────────────────────────────────────────────────────────────

test('a draft survives a reload, before the first message and after it, and is gone when it is sent', async () => {
  const host = await s.ready();
  await host.panel.input.fill('half a thou');
  await reload(host);
  assert.equal(await value(host), 'half a thou');
  s.runtime.onRun = (run) => {
    s.runtime.conversations.set(run.input.threadId, { messages: [] });
    run.start().say('Yes.').finish();
  };
  await host.panel.input.press('Enter');
  await host.panel.shows('Yes.');
  assert.deepEqual(await stored(host), []);
  await host.panel.input.fill('line one\nand \u{1F642}');
  await reload(host);
  assert.equal(await value(host), 'line one\nand \u{1F642}');
  await host.panel.input.fill('');
  assert.deepEqual(await stored(host), []);
  assert.equal(await host.run(() => localStorage.length), 0);
});

test('each conversation has its own draft; what is being written goes along into a new one', async () => {
  for (const id of ['one', 'two']) s.runtime.conversations.set(id, { messages: [{ id: `m-${id}`, role: 'user', content: `This is ${id}` }] });
  const host = await s.ready({ elements: element('conversation-id="one"') });
  const open = async (id) => {
    await host.run((id) => document.getElementById('agent').switchConversation(id), id);
    await host.panel.shows(`This is ${id}`);
  };
  await host.panel.input.fill('for one');
  await open('two');
  assert.equal(await value(host), '');
  await host.panel.input.fill('for two');
  await open('one');
  assert.equal(await value(host), 'for one');
  await host.panel.input.fill('for a new one');
  await host.run(() => document.getElementById('agent').newConversation());
  assert.equal(await value(host), 'for a new one');
  await open('two');
  assert.equal(await value(host), 'for a new one', 'nothing that is being written is lost');
});

test('two elements of one agent keep their drafts apart', async () => {
  const elements = ['a', 'b'].map((id) => `<mindset-agent id="${id}" agent-uid="support"></mindset-agent>`).join('');
  const host = await s.ready({ elements });
  for (const id of ['a', 'b']) {
    await host.saw('agent-idle', 1, id);
    await host.panel.of(id).input.fill(`draft of ${id}`);
  }
  await host.page.reload();
  for (const id of ['a', 'b']) {
    await host.saw('agent-idle', 1, id);
    assert.equal(await value(host, id), `draft of ${id}`);
  }
});

test('a draft survives a panel that goes and comes, and an instance that trapped', async () => {
  const host = await s.ready();
  await host.panel.input.fill('still here');
  await host.run(() => { document.getElementById('agent').headless = true; });
  await host.panel.input.waitFor({ state: 'detached' });
  await host.run(() => { document.getElementById('agent').headless = false; });
  await host.panel.input.waitFor();
  assert.equal(await value(host), 'still here');
});

test('what was typed before the start is kept', async () => {
  const host = await s.open(s.runtime.page('/', html({ init: null })));
  await host.panel.input.fill('early');
  await host.run(() => mindset.init({ appUid: 'acme' }));
  await host.saw('agent-idle');
  assert.equal(await value(host), 'early');
  await reload({ ...host, page: host.page, saw: async () => { await host.panel.input.waitFor(); await host.run(() => mindset.init({ appUid: 'acme' })); } });
  await until(async () => (await value(host)) === 'early', 'the draft');
});

test('with forget-drafts nothing is kept, and what was kept goes', async () => {
  const host = await s.ready();
  await host.panel.input.fill('secret');
  assert.equal((await stored(host)).length, 1);
  await host.run(() => { document.getElementById('agent').forgetDrafts = true; });
  await until(async () => (await stored(host)).length === 0, 'the storage to be empty');
  assert.equal(await value(host), 'secret', 'the box keeps it');
  await host.panel.input.fill('secret two');
  assert.deepEqual(await stored(host), []);
  await host.page.reload();
  await host.saw('agent-idle');
  assert.equal(await value(host), '');
});

test('whoever comes after a person who was signed out, or whose conversation is gone, reads no draft', async () => {
  const host = await s.ready();
  await host.send('hello');
  await host.panel.input.fill('my secret');
  s.runtime.tokens = ['none'];
  await host.send('refused');
  assert.deepEqual(await stored(host), []);
  s.runtime.tokens = null;
  await host.panel.input.fill('my second secret');
  await reload(host);
  assert.equal((await host.saw('conversation')).detail.replacedBecause, 'discarded', 'the server knows no such conversation');
  assert.equal(await value(host), '');
  assert.deepEqual(await stored(host), []);
});

test('where storage is closed the composer works', async () => {
  const host = await s.ready({ head: `<script>
    Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('closed', 'SecurityError'); } });
  </script>` });
  await host.panel.say('hello');
  await host.panel.reads('hello', 'You said: hello.');
  assert.deepEqual(await host.errors(), []);
});

// ── closed ────────────────────────────────────────────────────────────────────

test('disabled closes the composer only, says why, and keeps the draft', async () => {
  const host = await s.ready();
  await host.panel.input.fill('a draft');
  await host.run(() => { document.getElementById('agent').disabled = 'Closed until Monday.'; });
  await host.panel.shows('Closed until Monday.');
  assert.equal(await host.run(() => document.getElementById('agent').disabled), true);
  await host.panel.input.focus();
  await host.page.keyboard.type('x');
  await host.page.keyboard.press('Enter');
  await host.panel.sendButton.click({ force: true });
  assert.equal(await value(host), 'a draft');
  assert.equal(s.runtime.runs.length, 0);
  assert.equal(await host.panel.sendButton.getAttribute('aria-disabled'), 'true');
  const described = await host.panel.input.evaluate((input) => input.getRootNode().getElementById(input.getAttribute('aria-describedby')).textContent);
  assert.equal(described, 'Closed until Monday.');
  s.runtime.hold();
  await host.start('from the page');
  await s.runtime.nextRun();
  await host.panel.stopButton.click();
  assert.equal((await host.late()).status, 'aborted');
  await host.run(() => { document.getElementById('agent').disabled = true; });
  await host.panel.shows('Messages cannot be written here now.');
  await host.run(() => { document.getElementById('agent').setAttribute('disabled', 'false'); });
  await until(async () => !(await host.panel.input.evaluate((input) => input.readOnly)), 'the composer to open');
  s.runtime.onRun = (run) => run.start().say('Open.').finish();
  await host.panel.input.press('Enter');
  await host.panel.shows('Open.');
});

for (const [attributes, reason] of [['disabled', 'Messages cannot be written here now.'], ['disabled="disabled"', 'Messages cannot be written here now.'],
  ['disabled="Sign in to write."', 'Sign in to write.'], ['disabled="false"', undefined]]) {
  test(`the tag with ${attributes}`, async () => {
    const host = await s.ready({ elements: element(attributes) });
    assert.equal(await host.panel.input.evaluate((input) => input.readOnly), Boolean(reason));
    if (reason) await host.panel.shows(reason);
  });
}

// ── length ────────────────────────────────────────────────────────────────────

test('near the limit a counter shows; over it nothing is sent, and it is said once', async () => {
  const host = await s.ready();
  const { input } = host.panel;
  const count = host.panel.host.locator('[part~="composer__count"]');
  const paste = (text) => input.evaluate((input, text) => {
    input.value = text;
    input.dispatchEvent(new InputEvent('input', { bubbles: true, composed: true }));
  }, text);
  await paste('x'.repeat(89_999));
  assert.equal(await count.isVisible(), false);
  await paste('x'.repeat(90_000));
  assert.equal(await count.innerText(), '90,000 / 100,000');
  // Counted in characters, as the server does.
  await paste('\u{1F642}'.repeat(100_000));
  assert.equal(await count.innerText(), '100,000 / 100,000');
  assert.equal(await host.panel.sendButton.getAttribute('aria-disabled'), 'false');
  await host.run(() => {
    window.alerts = 0;
    new MutationObserver(() => { window.alerts += 1; }).observe(document.getElementById('agent').shadowRoot.getElementById('note'), { childList: true, subtree: true, characterData: true });
  });
  for (const more of [1, 2, 3, 50]) await paste('y'.repeat(100_000 + more));
  await host.panel.host.getByRole('alert').getByText('This message is too long: shorten it to 100,000 characters.').waitFor();
  assert.equal(await host.run(() => window.alerts), 1);
  await input.press('Enter');
  await host.panel.sendButton.click({ force: true });
  assert.equal(s.runtime.runs.length, 0);
  assert.equal((await value(host)).length, 100_050, 'nothing was cut off');
  await paste('y'.repeat(100_000));
  await input.press('Enter');
  await host.saw('complete');
  assert.equal(s.runtime.runs[0].text.length, 100_000);
});

test('the box grows with the draft to its limit, and nothing else is laid out anew by script', async () => {
  const host = await s.ready();
  const height = () => host.panel.input.evaluate((input) => input.clientHeight);
  const one = await height();
  await host.panel.input.fill('a\nb\nc');
  const three = await height();
  assert.ok(three > one * 1.8, `${one} to ${three}`);
  await host.panel.input.fill('a\n'.repeat(60));
  assert.ok((await height()) < 200);
  await host.panel.input.fill('');
  assert.equal(await height(), one);
});

test('what was written can be undone, also after a send that was refused', async () => {
  const host = await s.ready({ init: { appUid: undefined, protocol: 'ag-ui', server: `${s.runtime.origin}/ag-ui/agent` } });
  s.runtime.hold();
  await host.panel.say('first');
  await s.runtime.nextRun();
  await host.page.keyboard.type('one');
  await host.page.keyboard.press('Enter');
  await host.page.keyboard.type(' two');
  await host.page.keyboard.press('Control+z');
  assert.notEqual(await value(host), 'one two');
  await host.page.keyboard.press('Control+y');
  assert.equal(await value(host), 'one two');
});

// ── keys ──────────────────────────────────────────────────────────────────────

test('editing keys, pasting and copying stay; Tab, Escape and function keys reach the page', async () => {
  const host = await s.ready({ foot: `<script>
    window.heard = [];
    for (const type of ['keydown', 'paste', 'copy', 'cut']) document.addEventListener(type, (event) => window.heard.push(event.key ?? type));
  </script>` });
  const { keyboard } = host.page;
  await host.panel.input.click();
  await keyboard.type('s/?');
  for (const keys of ['Control+a', 'Control+c', 'Control+x', 'Control+v', 'Control+z', 'Home', 'Delete', 'Control+Backspace', 'ArrowUp', 'Shift+Enter', 'PageDown']) await keyboard.press(keys);
  const heard = () => host.run(() => window.heard.splice(0).filter((key) => !['Control', 'Shift'].includes(key)));
  assert.deepEqual(await heard(), []);
  for (const keys of ['Control+k', 'F2', 'Escape', 'Shift+Tab']) await keyboard.press(keys);
  assert.deepEqual(await heard(), ['k', 'F2', 'Escape', 'Tab']);
  // On some keyboards characters are written with AltGr, which browsers tell as Ctrl and Alt.
  await host.panel.input.evaluate((input) => input.dispatchEvent(new KeyboardEvent('keydown', {
    key: '@', ctrlKey: true, altKey: true, modifierAltGraph: true, bubbles: true, composed: true })));
  assert.deepEqual(await heard(), []);
});

test('a press of Send keeps the focus in the text box; a click beside it goes there', async () => {
  const host = await s.ready();
  await host.panel.input.click();
  await host.page.keyboard.type('hello');
  await host.run(() => {
    window.blurs = 0;
    document.getElementById('agent').shadowRoot.querySelector('textarea').addEventListener('blur', () => { window.blurs += 1; });
  });
  await host.panel.sendButton.click();
  await host.saw('complete');
  assert.equal(await host.run(() => window.blurs), 0, 'a screen keyboard stays');
  await host.run(() => document.getElementById('agent').shadowRoot.activeElement.blur());
  const box = await host.panel.host.locator('[part~="composer"]').boundingBox();
  await host.page.mouse.click(box.x + 5, box.y + box.height / 2);
  await host.page.keyboard.type('next');
  assert.equal(await value(host), 'next');
});

test('Send in mid-composition sends all of it, once, and the box stays empty', async () => {
  const host = await s.ready();
  await host.panel.input.click();
  const session = await host.profile.newCDPSession(host.page);
  await session.send('Input.imeSetComposition', { text: '안녕', selectionStart: 2, selectionEnd: 2 });
  assert.equal(await value(host), '안녕');
  await host.panel.sendButton.click();
  await host.saw('complete');
  assert.deepEqual(s.runtime.runs.map((run) => run.text), ['안녕']);
  assert.equal(await value(host), '');
});

test('nothing rewrites the text box while an input method composes', async () => {
  for (const id of ['one', 'two']) s.runtime.conversations.set(id, { messages: [{ id: `m-${id}`, role: 'user', content: `This is ${id}` }] });
  const host = await s.ready({ elements: element('conversation-id="one"') });
  await host.panel.input.click();
  await host.run(() => {
    const input = document.getElementById('agent').shadowRoot.querySelector('textarea');
    const { set, get } = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value');
    window.writes = 0;
    Object.defineProperty(input, 'value', { get: () => get.call(input), set(text) { window.writes += 1; set.call(input, text); } });
  });
  const session = await host.profile.newCDPSession(host.page);
  await session.send('Input.imeSetComposition', { text: 'にほ', selectionStart: 2, selectionEnd: 2 });
  await host.send('from the page');
  await host.run(() => document.getElementById('agent').setAttribute('placeholder', 'Other'));
  await host.run(() => document.getElementById('agent').switchConversation('two'));
  await host.panel.shows('This is two');
  assert.equal(await host.run(() => window.writes), 0);
  await session.send('Input.insertText', { text: '日本' });
  assert.equal(await value(host), '日本');
});
