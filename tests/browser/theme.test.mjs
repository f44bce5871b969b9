// What a page may change of the looks: themes, custom properties, slots.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ELEMENT, html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const WHITE = 'rgb(255, 255, 255)';
const NIGHT = 'rgb(21, 22, 29)';

/** A property of a node of the shadow root as it is drawn. */
const look = (host, selector, property = 'backgroundColor', id = 'agent') => host.run(([selector, property, id]) => (
  getComputedStyle(document.getElementById(id).shadowRoot.querySelector(selector))[property]
), [selector, property, id]);

const set = (host, name, value) => host.run(([name, value]) => {
  const agent = document.getElementById('agent');
  if (value === null) agent.removeAttribute(name);
  else agent.setAttribute(name, value);
}, [name, value]);

/** Relative luminance of what a colour is on the screen. */
const luminance = (host, selector, property) => host.run(([selector, property]) => {
  const colour = getComputedStyle(document.getElementById('agent').shadowRoot.querySelector(selector))[property];
  const pen = new OffscreenCanvas(1, 1).getContext('2d');
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}, [selector, property]);

const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

for (const system of ['light', 'dark']) {
  test(`the theme is the attribute's, else the page's, else the system's: ${system}`, async () => {
    const context = { colorScheme: system };
    const usual = system === 'dark' ? NIGHT : WHITE;
    const host = await s.ready({ context });
    assert.equal(await look(host, '.panel'), usual);
    for (const [theme, wanted] of [['dark', NIGHT], ['light', WHITE], ['DARK', NIGHT], ['auto', usual], ['odd', usual], ['light', WHITE], [null, usual]]) {
      await set(host, 'theme', theme);
      assert.equal(await look(host, '.panel'), wanted, theme);
      assert.equal(await look(host, 'textarea', 'colorScheme'), wanted === NIGHT ? 'dark' : 'light');
    }
    await host.run(() => { document.getElementById('agent').theme = 'dark'; });
    assert.equal(await look(host, '.panel'), NIGHT);

    const other = system === 'dark' ? 'light' : 'dark';
    const page = await s.ready({ context, path: '/init', init: { theme: other }, elements: `${ELEMENT}<mindset-agent id="own" agent-uid="support" theme="${system}"></mindset-agent>` });
    assert.notEqual(await look(page, '.panel'), usual);
    assert.equal(await look(page, '.panel', 'backgroundColor', 'own'), usual, 'the attribute wins');
    await set(page, 'theme', 'auto');
    assert.equal(await look(page, '.panel'), usual);
  });
}

test('the theme of init is there before the module is', async () => {
  let give;
  const held = new Promise((resolve) => { give = resolve; });
  s.runtime.onWasm = () => held;
  const host = await s.open(s.runtime.page('/', html({ init: { theme: 'dark' }, elements: '<mindset-agent id="agent" agent-uid="support" layout="bubble" open></mindset-agent>' })));
  await host.panel.host.locator('[part~="launcher"]').waitFor();
  assert.equal(await look(host, '.panel'), NIGHT);
  give();
  await host.saw('agent-idle');
  assert.equal(await look(host, '.panel'), NIGHT);
});

test('a theme that is none is refused by init and names the choices', async () => {
  const host = await s.open(s.runtime.page('/', html({ init: { theme: 'blue' } })));
  const error = await until(() => host.run(() => window.initError && { code: window.initError.code, message: window.initError.message }), 'the refusal');
  assert.equal(error.code, 'invalid-config');
  assert.match(error.message, /theme.*'light', 'dark' or 'auto'/);
});

test('whatever the accent, what stands on it and beside it can be read', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const host = await s.ready({ context: { colorScheme }, path: `/${colorScheme}` });
    await host.send('hello');
    for (const accent of ['#ffe600', '#0a7d5a', '#ff6a00', '#777', '#000', '#fff', '#c2185b', '#7fffd4', 'rgb(118 118 118)']) {
      await host.run((accent) => document.getElementById('agent').style.setProperty('--mindset-accent', accent), accent);
      const panel = await luminance(host, '.panel', 'backgroundColor');
      const pairs = {
        mark: [await luminance(host, '.header .spark', 'color'), await luminance(host, '.header .spark', 'backgroundColor')],
        bubble: [await luminance(host, '.row[data-role=user] .body', 'color'), await luminance(host, '.row[data-role=user] .body', 'backgroundColor')],
      };
      for (const [name, [front, back]] of Object.entries(pairs)) {
        assert.ok(contrast(front, back) >= 4.5, `${name} on ${accent}, ${colorScheme}: ${contrast(front, back).toFixed(2)}`);
      }
      await host.panel.input.focus();
      const ring = await luminance(host, '.composer', 'borderTopColor');
      assert.ok(contrast(ring, panel) >= 3, `the focus beside ${accent}, ${colorScheme}: ${contrast(ring, panel).toFixed(2)}`);
    }
  }
});

test('two colours are enough for a whole scheme', async () => {
  const host = await s.ready({ head: '<style>mindset-agent { --mindset-background: #062b2b; --mindset-text: #e8fff8 }</style>' });
  for (const [selector, property] of [['.state', 'color'], ['.hint', 'color'], ['textarea', 'color']]) {
    const ratio = contrast(await luminance(host, selector, property), await luminance(host, '.panel', 'backgroundColor'));
    assert.ok(ratio >= 4.5, `${selector}: ${ratio}`);
  }
});

test('slots take the place of the header and of the empty state, and add to the composer', async () => {
  const host = await s.ready({
    elements: `<mindset-agent id="agent" agent-uid="support">
      <b slot="header" id="brand">Acme Help</b>
      <p slot="empty" id="hello">Ask about your order. <button id="example" data-do="send">An example</button></p>
      <button slot="composer-actions" id="attach">Attach</button>
    </mindset-agent>`,
  });
  const shown = (id) => host.page.locator(`#${id}`).isVisible();
  assert.deepEqual([await shown('brand'), await shown('hello'), await shown('attach')], [true, true, true]);
  assert.equal(await host.panel.host.locator('[part~="heading"]').isVisible(), false);
  assert.equal(await host.panel.host.locator('[part~="empty__title"]').isVisible(), false);
  const within = await host.run(() => {
    const box = (node) => node.getBoundingClientRect();
    const root = document.getElementById('agent').shadowRoot;
    const inside = (inner, outer) => inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
    return inside(box(document.getElementById('attach')), box(root.querySelector('[part~="composer"]'))) && inside(box(document.getElementById('brand')), box(root.querySelector('[part~="header"]')));
  });
  assert.ok(within, 'they lie where they belong');
  await host.panel.input.fill('a draft');
  await host.page.locator('#example').click();
  assert.equal(s.runtime.runs.length, 0, 'what the page puts there presses no buttons of ours');
  await host.panel.say('hello');
  await host.panel.reads('a drafthello', 'You said: a drafthello.');
  assert.equal(await shown('hello'), false);
});

test('the page has buttons of its own under every answer, which tell the message and not what it says', async () => {
  const host = await s.ready({ elements: '<mindset-agent id="agent" agent-uid="support"><button slot="message-actions" name="note" title="Keeps it">Keep</button></mindset-agent>' });
  const keep = host.panel.host.locator('[part~="message__action--note"]');
  await host.send('one');
  await host.send('two');
  await until(async () => (await keep.count()) === 2, 'one under each answer');
  await keep.nth(1).click();
  const { detail, frozen } = await host.saw('message-action');
  const ids = await host.panel.messages.evaluateAll((rows) => rows.map((row) => row.dataset.messageId));
  assert.deepEqual([detail, frozen], [{ name: 'note', messageId: ids[3] }, true]);
  assert.equal(await host.page.locator('#agent > button').isVisible(), false, 'the pattern itself is not drawn');
});

test('every part has its name', async () => {
  const host = await s.ready();
  await host.send('hello');
  const parts = await host.run(() => [...document.getElementById('agent').shadowRoot.querySelectorAll('[part]')].flatMap((node) => [...node.part]));
  for (const part of ['panel', 'header', 'mark', 'heading', 'state', 'header__button', 'header__button--conversations', 'transcript', 'empty', 'empty__title', 'message', 'message--user', 'message__body', 'composer', 'composer__input', 'composer__button', 'jump', 'disclosure']) {
    assert.ok(parts.includes(part), part);
  }
});

test('on paper stands what was said, and nothing to press', async () => {
  const host = await s.ready();
  for (const text of ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']) await host.send(text);
  await host.page.emulateMedia({ media: 'print' });
  assert.equal(await look(host, '.composer', 'display'), 'none');
  const cut = await host.run(() => {
    const agent = document.getElementById('agent');
    return agent.shadowRoot.querySelector('.rows').getBoundingClientRect().height - agent.getBoundingClientRect().height;
  });
  assert.ok(cut <= 0, `${cut} px are cut off`);
});
