// Where the panel stands: the layouts `bubble` and `panel`, their launcher, small screens.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const PHONE = { viewport: { width: 390, height: 700 }, hasTouch: true, isMobile: true };
const element = (attributes) => `<mindset-agent id="agent" agent-uid="support" heading="Help" ${attributes}></mindset-agent>`;
const VIEWPORT = '<meta name="viewport" content="width=device-width">';

/** The usual page with a layout, and what is in it. */
async function ready(attributes, options = {}) {
  const host = await s.ready({ elements: element(attributes), ...options, head: VIEWPORT + (options.head ?? '') });
  return {
    host,
    launcher: host.panel.host.locator('[part~="launcher"]'),
    badge: host.panel.host.locator('[part~="badge"]'),
    close: host.panel.host.getByRole('button', { name: 'Close' }),
    input: host.panel.input,
    isOpen: () => host.run(() => document.getElementById('agent').open),
    events: async () => (await host.names()).filter((name) => name === 'open' || name === 'close'),
    focused: () => host.run(() => {
      const { activeElement } = document;
      return (activeElement?.shadowRoot?.activeElement ?? activeElement)?.getAttribute('part') ?? activeElement?.id ?? '';
    }),
    box: (selector) => host.run((selector) => {
      const { left, top, right, bottom } = document.getElementById('agent').shadowRoot.querySelector(selector).getBoundingClientRect();
      return { left: Math.round(left), top: Math.round(top), right: Math.round(right), bottom: Math.round(bottom) };
    }, selector),
  };
}

for (const layout of ['bubble', 'panel']) {
  test(`${layout}: the launcher opens it, what closes it gives the focus back, and the page hears of both`, async () => {
    const { host, launcher, close, input, isOpen, events, focused } = await ready(`layout="${layout}"`);
    assert.equal(await input.isVisible(), false);
    assert.equal(await launcher.getAttribute('aria-expanded'), 'false');
    await host.panel.host.getByRole('button', { name: 'Help' }).click();
    await input.waitFor();
    assert.equal(await focused(), 'composer__input');
    assert.equal(await isOpen(), true);
    await host.panel.say('hello');
    await host.panel.reads('hello', 'You said: hello.');
    await close.click();
    await until(async () => !(await input.isVisible()), 'the panel to close');
    assert.equal(await focused(), 'launcher');
    await host.page.keyboard.press('Enter');
    await input.waitFor();
    await host.panel.reads('hello', 'You said: hello.');
    await host.page.keyboard.press('Escape');
    await until(async () => !(await input.isVisible()), 'Escape to close it');
    assert.equal(await focused(), 'launcher');
    assert.deepEqual(await events(), ['open', 'close', 'open', 'close']);
    assert.deepEqual(await host.errors(), []);
  });

  test(`${layout}: the attribute opens and closes it and moves no focus`, async () => {
    const { host, input, events, focused } = await ready(`layout="${layout}"`, { foot: '<input id="own">' });
    await host.page.locator('#own').focus();
    for (const name of ['open', 'close']) {
      await host.run((isOpen) => { document.getElementById('agent').open = isOpen; }, name === 'open');
      await until(async () => (await input.isVisible()) === (name === 'open'), name);
      assert.equal(await focused(), 'own');
    }
    assert.deepEqual(await events(), ['open', 'close']);
    await host.run(() => document.getElementById('agent').setAttribute('open', 'false'));
    assert.equal(await input.isVisible(), false);
  });
}

test('Escape stops a turn before it closes anything, and an input method keeps its own', async () => {
  const { host, input, isOpen } = await ready('layout="bubble" open');
  s.runtime.hold();
  await host.panel.say('hello');
  await s.runtime.nextRun();
  await host.panel.stopButton.waitFor();
  await host.page.keyboard.press('Escape');
  await host.saw('agent-idle', 2);
  assert.equal(await isOpen(), true);
  await input.evaluate((node) => node.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', isComposing: true, bubbles: true, composed: true })));
  assert.equal(await isOpen(), true);
  await host.page.keyboard.press('Escape');
  await until(async () => !(await isOpen()), 'Escape to close it');
});

test('the launcher opens the panel before the module is there, and who writes writes on', async () => {
  let give;
  const held = new Promise((resolve) => { give = resolve; });
  s.runtime.onWasm = () => held;
  const host = await s.open(s.runtime.page('/', html({ elements: element('layout="bubble"') })));
  const launcher = host.panel.host.locator('[part~="launcher"]');
  await launcher.click();
  await host.panel.input.waitFor();
  await until(() => host.panel.input.evaluate((node) => node.getRootNode().activeElement === node), 'the focus in the text box');
  await host.page.keyboard.type('hello');
  await host.page.keyboard.press('Enter');
  await host.page.keyboard.type('and more');
  await host.panel.host.getByRole('button', { name: 'Close' }).click();
  await until(async () => !(await host.panel.input.isVisible()), 'it closed');
  give();
  await host.saw('agent-idle');
  await launcher.click();
  await host.panel.reads('hello', 'You said: hello.');
  assert.equal(await host.panel.input.inputValue(), 'and more');
  assert.equal(await host.panel.host.getByRole('button', { name: 'Close' }).count(), 1);
});

test('the launcher is of use before the words are there, and who waits writes on', async () => {
  let give;
  const held = new Promise((resolve) => { give = resolve; });
  const options = { before: (page) => page.route(/mindset-texts-de/, (route) => held.then(() => route.continue())) };
  const host = await s.open(s.runtime.page('/', html({ elements: element('layout="bubble" locale="de"') })), options);
  const launcher = host.panel.host.locator('[part~="launcher"]');
  await launcher.click();
  await host.panel.shows('Help');
  const wait = host.panel.host.locator('[aria-busy="true"]');
  await wait.waitFor();
  await host.panel.host.getByRole('button', { name: 'Close' }).click();
  await until(async () => !(await wait.isVisible()), 'it closed');
  await launcher.click();
  give();
  await host.panel.input.waitFor();
  await until(() => host.panel.input.evaluate((node) => node.getRootNode().activeElement === node), 'the focus in the text box');
  assert.equal(await wait.count(), 0);
  assert.equal(await host.panel.host.locator('[part~="launcher"]').count(), 1);
  await host.page.keyboard.type('hello');
  await host.page.keyboard.press('Enter');
  await host.panel.reads('hello', 'You said: hello.');
});

test('without the module the launcher opens the sentence that says so', async () => {
  s.runtime.onWasm = () => ({ status: 404, type: 'text/plain', body: 'no' });
  const host = await s.open(s.runtime.page('/', html({ elements: element('layout="bubble"') })));
  await host.error();
  await host.panel.host.locator('[part~="launcher"]').click();
  await host.panel.shows('The assistant could not be loaded. Please try again later.');
});

test('a layout that cannot be loaded leaves the chat where the element stands, and says so', async () => {
  const { host, input } = await ready('layout="bubble"', { before: (page) => page.route(/mindset-layout-/, (route) => route.abort()) });
  await input.waitFor();
  assert.match((await host.error()).message, /layout could not be loaded/);
  await host.panel.say('hello');
  await host.panel.reads('hello', 'You said: hello.');
});

test('what comes while it is closed is counted, read out, and forgotten when it is opened', async () => {
  const { host, launcher, badge } = await ready('layout="bubble"');
  const news = host.panel.host.locator('.dock [role="status"]');
  assert.equal(await badge.isVisible(), false);
  await host.send('one');
  await host.send('two');
  assert.equal(await badge.innerText(), '2');
  assert.equal(await news.textContent(), 'New messages: 2');
  assert.equal(await launcher.getAttribute('aria-label'), 'Help. New messages: 2');
  await launcher.click();
  await host.panel.input.waitFor();
  assert.equal(await badge.isVisible(), false);
  assert.equal(await news.textContent(), '');
  await host.send('three');
  await host.panel.host.getByRole('button', { name: 'Close' }).click();
  assert.equal(await badge.isVisible(), false, 'what was seen is not new');
  await host.run(() => document.getElementById('agent').setPageTools([{ name: 'act', description: 'Acts', confirm: true, handler: () => 'ok' }]));
  s.runtime.asksFor([['act']]);
  await host.start('four');
  await badge.waitFor();
  assert.equal(await badge.innerText(), '1', 'a question wants somebody');
});

test('it takes no click and no height away from the page', async () => {
  const { host, box } = await ready('layout="bubble"', { head: '<style>#own { position: fixed; right: 90px; bottom: 30px }</style>', foot: '<button id="own">Own</button><script>document.getElementById("own").onclick = () => { window.pressed = true; }</script>' });
  const { left } = await box('[part~="launcher"]');
  assert.ok(left > 900);
  await host.page.locator('#own').click();
  assert.equal(await host.run(() => window.pressed), true);
  assert.equal(await host.run(() => document.getElementById('agent').getBoundingClientRect().height), 0);
});

test('its corner, its size and its layer are properties; right-to-left pages have it on the other side', async () => {
  const { host, box } = await ready('layout="bubble" open', {
    head: '<style>html { direction: rtl } mindset-agent { --mindset-inset-inline: 30px auto; --mindset-inset-block-end: 40px; --mindset-width: 320px; --mindset-launcher-size: 64px; --mindset-z-index: 7 }</style>',
  });
  const launcher = await box('[part~="launcher"]');
  assert.deepEqual([launcher.right, launcher.bottom, launcher.right - launcher.left], [970, 680, 64]);
  const panel = await box('.panel');
  assert.deepEqual([panel.right, panel.right - panel.left], [970, 320]);
  assert.ok(panel.bottom < launcher.top && panel.top >= 0);
  assert.equal(await host.run(() => getComputedStyle(document.getElementById('agent').shadowRoot.querySelector('.panel')).zIndex), '7');
  await host.run(() => document.getElementById('agent').style.setProperty('--mindset-inset-inline', 'initial'));
  assert.equal((await box('[part~="launcher"]')).left, 20);
});

test('whatever its language, the panel stands on the side of its launcher', async () => {
  for (const [page, locale, direction, side] of [['ltr', 'ar', 'rtl', 'right'], ['rtl', 'en', 'ltr', 'left']]) {
    const { host, box } = await ready(`layout="bubble" open locale="${locale}"`, { head: `<style>html { direction: ${page} }</style>` });
    const inner = (part) => host.run((part) => getComputedStyle(document.getElementById('agent').shadowRoot.querySelector(part)).direction, part);
    await until(async () => (await inner('.header')) === direction, `${locale} from its side`);
    assert.equal(await inner('[part~="composer"]'), direction);
    assert.equal((await box('.panel'))[side], (await box('[part~="launcher"]'))[side], `${locale} on a page that is ${page}`);
  }
});

test('the docked panel is as high as the page', async () => {
  const { box } = await ready('layout="panel" open');
  await until(async () => (await box('.panel')).right === 1000, 'it slid in');
  const { top, bottom, left } = await box('.panel');
  assert.deepEqual([top, bottom], [0, 720]);
  assert.ok(left >= 1000 - 26 * 16 - 1);
});

test('the layout changes while the page runs, and nothing is lost', async () => {
  const { host, input, box } = await ready('');
  await host.panel.say('hello');
  await host.panel.reads('hello', 'You said: hello.');
  await input.fill('a draft');
  const lay = (layout) => host.run((layout) => document.getElementById('agent').setAttribute('layout', layout), layout);
  await lay('bubble');
  await until(async () => !(await input.isVisible()), 'the bubble');
  await host.panel.host.locator('[part~="launcher"]').click();
  await input.waitFor();
  assert.equal(await input.inputValue(), 'a draft');
  await lay('panel');
  await until(async () => (await box('.panel')).bottom === 720, 'the panel');
  await lay('inline');
  await until(async () => (await box('.panel')).left === 0, 'inline');
  assert.equal(await host.panel.host.locator('[part~="launcher"]').isVisible(), false);
  assert.equal(await host.panel.host.getByRole('button', { name: 'Close' }).isVisible(), false);
  await host.panel.reads('hello', 'You said: hello.');
  assert.equal(await host.run(() => document.documentElement.style.overflow), '');
});

test('the end of the transcript stays in view from a window to a phone and back', async () => {
  const { host } = await ready('layout="bubble" open');
  s.runtime.onRun = (run) => run.start().say(`${'Words that take more lines where there is less room. '.repeat(40)}\n\n${'line\n\n'.repeat(20)}`).finish();
  await host.send('hello');
  const { log } = host.panel;
  const away = () => log.evaluate((e) => e.scrollHeight - e.clientHeight - e.scrollTop);
  for (const [width, height] of [[1000, 720], [375, 667], [1000, 720]]) {
    await host.page.setViewportSize({ width, height });
    await until(async () => Math.abs(await away()) <= 2, `the end at ${width} x ${height}`);
  }
});

test('the button that closes stays where it is when there is something to save', async () => {
  const { host, close, box } = await ready('layout="bubble" open');
  await close.waitFor();
  const before = await box('.close');
  await host.send('hello');
  await host.panel.host.getByRole('button', { name: 'Save conversation' }).waitFor();
  assert.deepEqual(await box('.close'), before);
});

for (const layout of ['bubble', 'panel']) {
  test(`${layout} on a phone: the whole screen, nothing scrolls behind, the composer above the keyboard`, async () => {
    const { host, input, box, launcher, close } = await ready(`layout="${layout}"`, {
      context: PHONE,
      head: '<style>main { height: 3000px }</style>',
      before: (page) => page.addInitScript(() => {
        // A keyboard of 300 pixels, on demand.
        let covered = 0;
        const view = Object.assign(new EventTarget(), { width: 390, offsetTop: 0, offsetLeft: 0, scale: 1 });
        Object.defineProperty(view, 'height', { get: () => innerHeight - covered });
        Object.defineProperty(window, 'visualViewport', { value: view });
        window.keyboard = (height, offsetTop = 0) => {
          covered = height;
          view.offsetTop = offsetTop;
          view.dispatchEvent(new Event('resize'));
        };
      }),
    });
    await launcher.tap();
    await input.waitFor();
    await until(async () => (await box('.panel')).left === 0 && (await box('.panel')).top === 0, 'it stands');
    assert.deepEqual(await box('.panel'), { left: 0, top: 0, right: 390, bottom: 700 });
    assert.equal(await launcher.isVisible(), false);
    assert.equal(await host.run(() => document.getElementById('agent').shadowRoot.activeElement?.tagName), 'SECTION', 'no keyboard before it is asked for');
    assert.ok(parseFloat(await input.evaluate((node) => getComputedStyle(node).fontSize)) >= 16, 'no zoom on focus');
    assert.equal(await host.run(() => document.documentElement.style.overflow), 'hidden');
    await host.run(() => window.keyboard(300, 40));
    assert.deepEqual(await box('.panel'), { left: 0, top: 40, right: 390, bottom: 440 });
    assert.ok((await box('[part~="composer"]')).bottom <= 440);
    await host.run(() => window.keyboard(0));
    assert.equal((await box('.panel')).bottom, 700);
    await close.tap();
    await launcher.waitFor();
    assert.equal(await host.run(() => document.documentElement.style.overflow), '');
  });
}

test('nobody tabs behind the whole screen, and an element that goes lets the page scroll again', async () => {
  const { host, input, focused } = await ready('layout="bubble"', {
    context: { viewport: { width: 320, height: 600 } },
    elements: `<button>Before</button>${element('layout="bubble"')}`,
    foot: '<button id="own">Own</button>',
  });
  await host.panel.host.locator('[part~="launcher"]').click();
  await input.waitFor();
  await host.page.keyboard.press('Tab');
  await host.page.keyboard.press('Tab');
  assert.match(await focused(), /header__button/);
  await host.page.keyboard.press('Shift+Tab');
  assert.equal(await focused(), 'composer__button');
  await host.run(() => document.getElementById('own').focus());
  assert.equal(await focused(), 'own', 'the page may move it');
  await host.run(() => document.getElementById('agent').remove());
  await until(async () => (await host.run(() => document.documentElement.style.overflow)) === '', 'the page scrolls');
});

test('a headless element has no launcher', async () => {
  const { host } = await ready('layout="bubble" open headless');
  assert.equal(await host.panel.host.locator('[part~="launcher"]').isVisible().catch(() => false), false);
  const display = await host.run(() => getComputedStyle(document.getElementById('agent')).display);
  assert.equal(display, 'none');
});
