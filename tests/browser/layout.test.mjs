// What the panel costs to draw, how it fits where the page puts it, and what the page's
// own styles do to it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ELEMENT, html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();
const MESSAGES = 2_000;

/** Box of an element of the shadow root, in pixels. */
const box = (host, selector) => host.run((selector) => {
  const element = document.getElementById('agent');
  const { width, height } = (selector ? element.shadowRoot.querySelector(selector) : element).getBoundingClientRect();
  return { width: Math.round(width), height: Math.round(height) };
}, selector);

test('two thousand messages of one run are drawn with the frames, not one by one', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => {
    run.start();
    for (let i = 0; i < MESSAGES; i += 1) run.say(`Message ${i}.`).endMessage();
    run.finish();
  };
  const session = await host.profile.newCDPSession(host.page);
  await session.send('Performance.enable');
  const layouts = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'LayoutCount').value;
  };
  const before = await layouts();
  const begin = Date.now();
  const result = await host.send('all of them');
  const took = Date.now() - begin;
  const count = (await layouts()) - before;
  assert.equal(result.text, `Message ${MESSAGES - 1}.`);
  assert.ok(count < 200, `${count} layouts in ${took} ms`);
  assert.equal(await host.panel.messages.count(), MESSAGES + 1);
  const log = host.panel.log;
  await until(() => log.evaluate((e) => e.scrollHeight - e.clientHeight - e.scrollTop < 3), 'the view at the end');
  const last = await host.panel.messages.last().evaluate((row) => row.getBoundingClientRect().bottom);
  const end = await log.evaluate((e) => e.getBoundingClientRect().bottom);
  assert.ok(last <= end && last > end - 100, `the last message ends at ${last}, the transcript at ${end}`);
  assert.deepEqual(await host.errors(), []);
});

const bare = (elements) => html({ elements }).replace('mindset-agent { height: 480px }', '');

for (const [name, outer, inside] of [
  ['a block', 'width:320px;height:400px', 400],
  ['a flex row', 'width:320px;height:400px;display:flex', 400],
  ['a flex column beside a title', 'width:320px;height:400px;display:flex;flex-direction:column', 400],
  ['a grid', 'width:320px;height:400px;display:grid;grid-template-rows:minmax(0,1fr)', 400],
]) {
  test(`the panel stays inside ${name} of 320 by 400, and can be used there`, async () => {
    const title = name.includes('title') ? '<b style="flex:none;height:30px">Title</b>' : '';
    s.runtime.sources = { 'style-src': "'unsafe-inline'" };
    const host = await s.ready({ html: bare(`<div style="${outer}">${title}${ELEMENT}</div>`) });
    await host.panel.say('hello');
    await host.panel.reads('hello', 'You said: hello.');
    const { width, height } = await box(host);
    assert.equal(width, 320);
    assert.equal(height, title ? inside - 30 : inside);
    assert.deepEqual(await box(host, '.panel'), await box(host), 'the panel fills the element');
    assert.ok((await box(host, '.scroller')).height > 150);
  });
}

test('without a height around it the panel has its own, which a property changes', async () => {
  const host = await s.ready({ html: bare(`<div>${ELEMENT}</div>`) });
  assert.equal((await box(host)).height, 576);
  await host.run(() => document.getElementById('agent').style.setProperty('--mindset-height', '20rem'));
  assert.equal((await box(host)).height, 320);
});

test("what the page sets for all of its text does not reach into the panel", async () => {
  const look = () => {
    const root = document.getElementById('agent').shadowRoot;
    const names = ['textAlign', 'letterSpacing', 'textTransform', 'textIndent', 'wordSpacing', 'lineHeight', 'whiteSpace', 'textShadow', 'fontStyle', 'direction', 'color', 'fontFamily', 'fontSize'];
    return ['.heading', '.state', '[part~="message__body"]', '.disclosure'].map((part) => {
      const style = getComputedStyle(root.querySelector(part));
      return names.map((name) => `${part} ${name}: ${style[name]}`);
    }).flat();
  };
  const plain = await s.ready();
  await plain.send('hello');
  const expected = await plain.run(look);
  const host = await s.ready({
    head: `<style>body, main { text-align: center; letter-spacing: 4px; text-transform: uppercase; text-indent: 2em;
      word-spacing: 9px; line-height: 3; white-space: pre; text-shadow: 1px 1px red; font-style: italic; color: red }</style>`,
  });
  await host.send('hello');
  assert.deepEqual(await host.run(look), expected);
});

test('what hides or themes the element still does', async () => {
  const host = await s.ready({
    head: '<style>main { direction: rtl } mindset-agent { --mindset-font: "Courier New", monospace; --mindset-text: rgb(1, 2, 3) }</style>',
  });
  const read = () => host.run(() => {
    const { fontFamily, color, direction, visibility } = getComputedStyle(document.getElementById('agent').shadowRoot.querySelector('.panel'));
    return [fontFamily, color, direction, visibility];
  });
  // The direction is that of the panel's own words.
  assert.deepEqual(await read(), ['"Courier New", monospace', 'rgb(1, 2, 3)', 'ltr', 'visible']);
  await host.run(() => { document.querySelector('main').style.visibility = 'hidden'; });
  assert.equal((await read())[3], 'hidden');
});

test('the header says so when there is no connection', async () => {
  s.runtime.onSignIn = () => ({ refuse: [404, 'agent-not-found', 'There is no agent "support" in this app.'] });
  const host = await s.open(s.runtime.page('/', html()));
  await host.error();
  await host.panel.shows('There is no agent "support" in this app.');
  assert.equal(await host.panel.host.locator('[part~="state"]').innerText(), 'Not connected');
  s.runtime.onSignIn = () => ({ authToken: 'token-2', anonymousKey: 'key-2', expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
  await host.panel.host.getByRole('button', { name: 'Reconnect' }).click();
  await host.saw('agent-idle');
  assert.equal(await host.panel.host.locator('[part~="state"]').innerText(), 'Online');
});

test('a turn that failed leaves the header online', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.refuse(403, 'forbidden', 'This user may not talk to this agent.');
  await host.send('hello');
  await host.panel.shows('This user may not talk to this agent.');
  assert.equal(await host.panel.host.locator('[part~="state"]').innerText(), 'Online');
});

test('a turn that did not reach the server leaves the header without a connection until one does', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.cut();
  await host.send('hello');
  await host.panel.retryButton.waitFor();
  const state = () => host.panel.host.locator('[part~="state"]').innerText();
  assert.equal(await state(), 'Not connected');
  s.runtime.onRun = (run) => run.start().say('Here I am.').finish();
  await host.panel.retryButton.click();
  await host.panel.shows('Here I am.');
  await until(async () => (await state()) === 'Online', 'the header to say so');
});

test('in a panel of 160 pixels nothing of the header stands in the way of anything else', async () => {
  const host = await s.ready({ head: '<style>mindset-agent { width: 160px }</style>' });
  await host.send('hello');
  await host.panel.host.getByRole('button', { name: 'Save conversation' }).waitFor();
  const boxes = await host.run(() => {
    const { shadowRoot } = document.getElementById('agent');
    return ['.panel', '.titles', '[part~="header__button--conversations"]', '[part~="header__button--save"]'].map((part) => {
      const { left, right } = shadowRoot.querySelector(part).getBoundingClientRect();
      return { left, right };
    });
  });
  for (const [at, box] of boxes.entries()) {
    if (at) assert.ok(box.left >= (boxes[at - 1][at > 1 ? 'right' : 'left']) && box.right <= boxes[0].right, JSON.stringify(boxes));
  }
});
