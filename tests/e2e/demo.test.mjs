// The demo as a newcomer meets it: the page, the buttons, three lines of HTML on
// another site.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { Host } from '../support/host.mjs';
import { SCREENSHOTS } from '../support/paths.mjs';
import { Panel } from '../support/panel.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';
import { until } from '../support/wait.mjs';

let browser;
let runtime;
let host;

before(async () => {
  runtime = await Runtime.start();
  browser = await launch();
  mkdirSync(SCREENSHOTS, { recursive: true });
});
afterEach(async () => {
  await host?.close();
  host = undefined;
});
after(async () => {
  await browser?.close();
  await runtime?.stop();
});

/** The first element of a page, whatever its id. */
function panelOf(page) {
  const panel = new Panel(page);
  panel.host = page.locator('mindset-agent').first();
  return panel;
}

/** A picture of the whole page, for people. */
async function picture({ page }, name) {
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

/** Waits for a whole answer after `turns` turns and gives the texts. */
async function answered(page, turns) {
  await until(() => page.evaluate((n) => window.recorded.events.filter((e) => e.name === 'complete').length >= n, turns), 'an answer');
  return panelOf(page).texts();
}

test('hello on the demo page is answered, and the page says it is no AI', async () => {
  host = await Host.open(browser, `${runtime.origin}/`);
  await host.saw('agent-idle');
  await panelOf(host.page).say('hello');
  const texts = await answered(host.page, 1);
  assert.equal(texts[0].trim(), 'hello');
  assert.ok(texts[1].trim().length > 10, texts[1]);
  await panelOf(host.page).shows(/demo/i);
  const started = await host.saw('runtime-event:run_started');
  assert.match(started.detail.disclosure, /not (an |a )?.*AI|no AI/i);
  await picture(host, 'demo');
  assert.deepEqual(await host.errors(), []);
  assert.deepEqual(host.console, []);
});

test('the demo page in the dark and on a phone', async () => {
  for (const [name, context] of [
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
  ]) {
    host = await Host.open(browser, `${runtime.origin}/`, { context });
    await host.saw('agent-idle');
    await panelOf(host.page).say('hello');
    await answered(host.page, 1);
    await picture(host, `demo-${name}`);
    assert.equal(await host.run(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), true, name);
    await host.close();
  }
  host = undefined;
});

test('the buttons of the demo page: send, send silently, clear, copy', async () => {
  host = await Host.open(browser, `${runtime.origin}/`, { context: { permissions: ['clipboard-read', 'clipboard-write'] } });
  const button = (name) => host.page.getByRole('button', { name, exact: true });
  await host.saw('agent-idle');
  await button(/^Send .hello/).click();
  await host.saw('agent-idle', 2);
  assert.equal((await panelOf(host.page).texts()).length, 2);
  await button(/silently/).click();
  await host.saw('agent-idle', 3);
  assert.equal((await panelOf(host.page).texts()).length, 3, 'the answer and not the message');
  assert.ok(await host.page.locator('#log li').count() > 5);
  await button('Clear').click();
  assert.equal(await host.page.locator('#log li').count(), 0);
  await button('Copy').click();
  const copied = await until(() => host.run(() => navigator.clipboard.readText()), 'the lines in the clipboard');
  assert.match(copied, /<mindset-agent/);
  assert.deepEqual(await host.errors(), []);
});

test('the lines the demo page shows work as they stand on another site', async () => {
  host = await Host.open(browser, `${runtime.origin}/`);
  const lines = await host.page.locator('#embed').textContent();
  await host.close();
  const other = await site({ '/': lines });
  try {
    host = await Host.open(browser, `${other.origin}/`);
    await host.saw('agent-idle');
    await panelOf(host.page).say('hello');
    assert.equal((await answered(host.page, 1)).length, 2);
    assert.deepEqual(await host.errors(), []);
  } finally {
    await other.stop();
  }
});

test('three lines of HTML on another site', async () => {
  const other = await site({
    '/': `<script src="${runtime.origin}/mindset-agent.js"></script>
<mindset-agent agent-uid="demo"></mindset-agent>
<script>mindset.init({ appUid: 'demo' })</script>`,
  });
  try {
    host = await Host.open(browser, `${other.origin}/`);
    await host.saw('agent-idle');
    await panelOf(host.page).say('hello');
    assert.equal((await answered(host.page, 1)).length, 2);
    await panelOf(host.page).say('and once more');
    assert.equal((await answered(host.page, 2)).length, 4);
    assert.deepEqual(await host.errors(), []);
  } finally {
    await other.stop();
  }
});

test('a page that says it all in attributes', async () => {
  const other = await site({
    '/': `<script src="${runtime.origin}/mindset-agent.js"></script><mindset-agent id="agent" app-uid="demo" agent-uid="demo"></mindset-agent>`,
  });
  try {
    host = await Host.open(browser, `${other.origin}/`);
    await host.saw('agent-idle');
    assert.equal((await host.send('hello')).status, 'finished');
  } finally {
    await other.stop();
  }
});

test('a reload keeps working and stays the same person', async () => {
  host = await Host.open(browser, `${runtime.origin}/`);
  const keys = [];
  for (let round = 0; round < 3; round += 1) {
    await host.saw('agent-idle');
    await panelOf(host.page).say('hello');
    await answered(host.page, 1);
    keys.push(await host.run(() => JSON.stringify({ ...sessionStorage })));
    await host.page.reload();
  }
  assert.ok(keys[0].length > 10, 'something is kept for this tab');
  assert.equal(keys[1], keys[2]);
  assert.deepEqual(await host.errors(), []);
});

test('an unknown agent, an unknown app and a page without an origin', async () => {
  const other = await site({
    '/agent': `<script src="${runtime.origin}/mindset-agent.js"></script><mindset-agent id="agent" app-uid="demo" agent-uid="nobody"></mindset-agent>`,
    '/app': `<script src="${runtime.origin}/mindset-agent.js"></script><mindset-agent id="agent" app-uid="nothing" agent-uid="demo"></mindset-agent>`,
    '/null': `<iframe sandbox="allow-scripts" srcdoc='<script src="${runtime.origin}/mindset-agent.js"></script><mindset-agent id="agent" app-uid="demo" agent-uid="demo"></mindset-agent><script>addEventListener("mindset:error", (e) => parent.postMessage(e.detail, "*"))</script>'></iframe>
      <script>addEventListener('message', (e) => { window.told = e.data; })</script>`,
  });
  try {
    host = await Host.open(browser, `${other.origin}/agent`);
    const unknown = await host.error();
    assert.equal(unknown.code, 'agent-not-found');
    assert.match(unknown.message, /agent-uid/);
    await host.close();
    host = await Host.open(browser, `${other.origin}/app`);
    assert.ok(['not-found', 'agent-not-found', 'invalid-config'].includes((await host.error()).code));
    await host.close();
    host = await Host.open(browser, `${other.origin}/null`);
    const told = await until(() => host.run(() => window.told), 'the error of the sandboxed page');
    assert.equal(told.code, 'origin-not-allowed');
    assert.match(told.message, /http/i, 'it says to serve the page over HTTP');
  } finally {
    await other.stop();
  }
});
