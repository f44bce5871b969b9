// The drawer of conversations: what a person does there, with a mouse and with keys alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const message = (id, role, content) => ({ id, role, content, createdAt: '2026-01-01T00:00:00.000Z' });
const element = (attributes = '') => `<mindset-agent id="agent" agent-uid="support" ${attributes}></mindset-agent>`;

function keep(count = 3) {
  for (let at = 1; at <= count; at += 1) {
    s.runtime.conversations.set(`c-${at}`, { title: `Talk ${at}`, updatedAt: '2026-01-0' + (at % 9 + 1) + 'T10:00:00Z', messages: [message(`m-${at}`, 'user', `question ${at}`)] });
  }
}

/** A page with a drawer, and what is in it. */
async function ready(options = {}) {
  const host = await s.ready({ elements: element('conversation-id="c-2"'), ...options });
  const drawer = host.panel.host.getByRole('dialog', { name: 'Conversations' });
  return {
    host,
    drawer,
    opener: host.panel.host.getByRole('button', { name: 'Conversations' }),
    button: (name) => drawer.getByRole('button', { name, exact: true }),
    titles: async () => (await drawer.locator('[part~="drawer__title"] > span:first-child').allInnerTexts()),
    focused: () => host.run(() => {
      const node = document.getElementById('agent').shadowRoot.activeElement;
      return node?.getAttribute('aria-label') ?? node?.innerText?.split('\n')[0] ?? node?.tagName ?? '';
    }),
  };
}

const open = async (page) => {
  await page.opener.click();
  await until(async () => (await page.titles()).length > 0, 'the list');
};

test('it lists, marks the open one, and opens another', async () => {
  keep();
  const page = await ready();
  await page.host.panel.reads('question 2');
  await open(page);
  assert.deepEqual(await page.titles(), ['Talk 1', 'Talk 2', 'Talk 3']);
  assert.equal(await page.drawer.locator('[aria-current="true"]').locator('[part~="drawer__title"] > span').first().innerText(), 'Talk 2');
  assert.match(await page.drawer.innerText(), /Jan \d, 2026/);
  assert.equal(await page.opener.evaluate((node) => node.closest('[inert]') !== null), true, 'what lies below is out of reach');
  await page.button(/Talk 3/).first().click();
  await page.host.panel.reads('question 3');
  assert.equal(await page.drawer.count(), 0);
  assert.equal(await page.focused(), 'Write a message');
  await open(page);
  const current = page.drawer.locator('[aria-current="true"]').locator('[part~="drawer__title"] > span').first();
  await until(async () => (await current.innerText()) === 'Talk 3', 'the open one to be marked');
});

test('a new one begins, and with nothing kept it says so', async () => {
  const page = await ready({ elements: element() });
  await page.opener.click();
  await page.drawer.getByText('No conversations yet.').waitFor();
  await page.button('Close').click();
  assert.equal(await page.focused(), 'Conversations');
  keep();
  await page.host.send('hello');
  await open(page);
  await page.button('New conversation').click();
  await page.host.panel.reads();
  assert.equal(await page.drawer.count(), 0);
});

test('renaming happens in place: Enter saves, Escape and an empty name do not', async () => {
  keep();
  const page = await ready();
  const input = page.drawer.getByRole('textbox', { name: 'Title' });
  await open(page);
  await page.drawer.getByRole('button', { name: 'Rename Talk 1' }).click();
  assert.equal(await input.inputValue(), 'Talk 1');
  await input.fill('Delivery to Norway');
  await page.host.page.keyboard.press('Enter');
  await until(() => s.runtime.conversations.get('c-1').title === 'Delivery to Norway', 'the server to know');
  assert.deepEqual(await page.titles(), ['Delivery to Norway', 'Talk 2', 'Talk 3']);
  await page.drawer.getByRole('button', { name: 'Rename Talk 3' }).click();
  await input.fill('Nothing');
  await page.host.page.keyboard.press('Escape');
  assert.equal(await page.drawer.count(), 1, 'Escape leaves the input first');
  await page.drawer.getByRole('button', { name: 'Rename Talk 3' }).click();
  await input.fill('   ');
  await page.host.page.keyboard.press('Enter');
  await until(async () => (await input.count()) === 0, 'the input to go');
  assert.deepEqual(await page.titles(), ['Delivery to Norway', 'Talk 2', 'Talk 3']);
  assert.equal(s.runtime.conversations.get('c-3').title, 'Talk 3');
});

test('an input that has gone answers no question asked after it, however late its timer is', async () => {
  keep();
  const page = await ready();
  const input = page.drawer.getByRole('textbox', { name: 'Title' });
  await open(page);
  await page.drawer.getByRole('button', { name: 'Rename Talk 1' }).click();
  await input.fill('Renamed');
  await page.host.run(() => {
    window.late = [];
    const { setTimeout } = window;
    window.setTimeout = (act, after, ...rest) => (after === undefined ? window.late.push(act) : setTimeout(act, after, ...rest));
  });
  await page.host.page.keyboard.press('Enter');
  await page.drawer.getByRole('button', { name: 'Delete Renamed' }).click();
  assert.equal(await page.focused(), 'Cancel');
  assert.ok(await page.host.run(() => window.late.map((act) => act()).length) > 0, 'the timer of the input');
  assert.equal(await page.focused(), 'Cancel', 'the question stands');
});

test('the Enter and the Escape of an input method neither save a title nor leave it', async () => {
  keep();
  const page = await ready();
  const input = page.drawer.getByRole('textbox', { name: 'Title' });
  await open(page);
  await page.drawer.getByRole('button', { name: 'Rename Talk 1' }).click();
  await input.fill('\u306b\u307b\u3093');
  for (const init of [{ isComposing: true, keyCode: 229 }, { isComposing: false, keyCode: 229 }]) {
    for (const key of ['Enter', 'Escape']) {
      const submits = await input.evaluate((node, [key, init]) => {
        const event = new KeyboardEvent('keydown', { key, bubbles: true, composed: true, cancelable: true, ...init });
        return node.dispatchEvent(event);
      }, [key, init]);
      if (key === 'Enter') assert.equal(submits, false, 'the form is not sent by it');
      assert.equal(await input.count(), 1, `${key} of an input method`);
    }
  }
  assert.equal(s.runtime.conversations.get('c-1').title, 'Talk 1');
  await page.host.page.keyboard.press('Enter');
  await until(() => s.runtime.conversations.get('c-1').title === '\u306b\u307b\u3093', 'the server to know');
});

test('deleting asks first, and the focus goes on to what follows', async () => {
  keep();
  const page = await ready();
  await open(page);
  await page.drawer.getByRole('button', { name: 'Delete Talk 1' }).click();
  await page.drawer.getByText('Delete “Talk 1” for good?').waitFor();
  assert.equal(await page.focused(), 'Cancel');
  await page.host.page.keyboard.press('Enter');
  assert.equal(s.runtime.conversations.size, 3);
  await page.drawer.getByRole('button', { name: 'Delete Talk 1' }).click();
  await page.button('Delete').click();
  await until(() => s.runtime.conversations.size === 2, 'the server to know');
  await until(async () => (await page.focused()) !== 'Delete', 'the page to know');
  assert.deepEqual(await page.titles(), ['Talk 2', 'Talk 3']);
  assert.equal(await page.focused(), 'Talk 2');
  await page.drawer.getByRole('button', { name: 'Delete Talk 2' }).click();
  await page.button('Delete').click();
  await page.host.panel.reads();
  assert.deepEqual(await page.titles(), ['Talk 3'], 'the open one is left for a new one');
});

test('with keys alone: arrows along the titles, Tab to what can be done, Escape back', async () => {
  keep();
  const page = await ready();
  const press = async (...keys) => { for (const key of keys) await page.host.page.keyboard.press(key); };
  await page.opener.focus();
  await press('Enter');
  await until(async () => (await page.titles()).length === 3, 'the list');
  assert.equal(await page.focused(), 'New conversation');
  await press('Tab');
  assert.equal(await page.focused(), 'Talk 2', 'the open one is the stop of the list');
  await press('ArrowDown');
  assert.equal(await page.focused(), 'Talk 3');
  await press('ArrowDown', 'Home');
  assert.equal(await page.focused(), 'Talk 1');
  await press('Tab');
  assert.equal(await page.focused(), 'Rename Talk 1');
  await press('Tab', 'Tab');
  assert.equal(await page.focused(), 'Close', 'round it goes');
  await press('Shift+Tab');
  assert.equal(await page.focused(), 'Delete Talk 1');
  await press('Escape');
  assert.equal(await page.drawer.count(), 0);
  assert.equal(await page.focused(), 'Conversations');
});

test('what fails is said where it was asked for', async () => {
  keep();
  const page = await ready();
  s.runtime.onList = () => [503, 'server-error', 'The store rests. Try again in a minute.', true];
  await page.opener.click();
  await page.drawer.getByRole('alert').getByText('The store rests.').waitFor();
  s.runtime.onList = () => undefined;
  await page.button('Retry').click();
  await until(async () => (await page.titles()).length === 3, 'the list');
  assert.equal(await page.drawer.getByRole('alert').count(), 0);
  s.runtime.conversations.delete('c-1');
  await page.drawer.getByRole('button', { name: 'Delete Talk 1' }).click();
  await page.button('Delete').click();
  await page.drawer.getByRole('alert').waitFor();
  s.runtime.hold();
  await page.host.start('a long job');
  await s.runtime.nextRun();
  await page.button(/Talk 3/).first().click();
  await until(async () => /turn|busy|run/i.test(await page.drawer.locator('[part~="drawer__state"]').innerText()), 'why not now');
  assert.equal(await page.drawer.count(), 1);
});

test('what other tabs do arrives, and disturbs nobody who writes', async () => {
  keep();
  const page = await ready();
  await open(page);
  await page.drawer.getByRole('button', { name: 'Rename Talk 2' }).click();
  const input = page.drawer.getByRole('textbox', { name: 'Title' });
  await input.fill('Half a na');
  s.runtime.conversations.get('c-1').title = 'From elsewhere';
  s.runtime.conversations.delete('c-3');
  await page.host.run(() => new BroadcastChannel('mindset-agent:conversations').postMessage(0));
  await until(async () => (await page.titles()).join() === 'From elsewhere', 'the other rows');
  assert.equal(await input.inputValue(), 'Half a na');
  assert.equal(await page.focused(), 'Title');
  await page.host.page.keyboard.type('me');
  await page.host.page.keyboard.press('Enter');
  await until(() => s.runtime.conversations.get('c-2').title === 'Half a name', 'the server to know');
});

test('every page of the list is there, and a narrow panel is covered by it', async () => {
  keep(230);
  s.runtime.listed = 100;
  const page = await ready({ elements: element(), context: { viewport: { width: 320, height: 600 } } });
  await open(page);
  await until(async () => (await page.titles()).length === 230, 'all of them');
  const wide = await page.drawer.evaluate((node) => node.scrollWidth - node.clientWidth);
  assert.ok(wide <= 0, `${wide} px too wide`);
  const { width } = await page.drawer.boundingBox();
  assert.ok(width >= 316, `${width}`);
});

test('in a bubble Escape closes the drawer first', async () => {
  keep();
  const page = await ready({ elements: element('layout="bubble" open') });
  await open(page);
  await page.host.page.keyboard.press('Escape');
  assert.equal(await page.drawer.count(), 0);
  assert.equal(await page.host.run(() => document.getElementById('agent').open), true);
});

test('a drawer that cannot be loaded is a notice, and is tried again', async () => {
  keep();
  let may = false;
  const page = await ready({ before: (p) => p.route(/mindset-drawer-/, (route) => (may ? route.continue() : route.abort())) });
  await page.opener.click();
  await page.host.panel.shows('This could not be loaded. Check the connection and try again.');
  may = true;
  assert.ok(await page.opener.isVisible());
});

test('a server that keeps no conversations of ours has no button for them', async () => {
  const host = await s.ready({ elements: '<mindset-agent id="agent"></mindset-agent>', init: { protocol: 'ag-ui', server: `${s.runtime.origin}/ag-ui/run` } });
  assert.equal(await host.panel.host.locator('[part~="header__button--conversations"]').isVisible(), false);
});
