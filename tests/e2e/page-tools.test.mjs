// Page tools through the real element and the real runtime: the README as a newcomer
// follows it, and a page that goes away while its tool runs.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { Host } from '../support/host.mjs';
import { ROOT } from '../support/paths.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';

let browser;
let runtime;
let pages;
let host;

before(async () => {
  runtime = await Runtime.start();
  browser = await launch();
});
afterEach(async () => {
  await host?.close();
  await pages?.stop();
});
after(async () => {
  await browser?.close();
  await runtime?.stop();
});

/** The code blocks of the README that are HTML, for the runtime of this test. */
async function readme() {
  const text = await readFile(join(ROOT, 'README.md'), 'utf8');
  return [...text.matchAll(/```html\n([\s\S]*?)```/g)].map(([, html]) => html.replaceAll('http://127.0.0.1:8787', runtime.origin));
}

test('the page tool of the README works as it stands there', async () => {
  const [page, tool] = await readme();
  const [whole] = page.match(/<script>[\s\S]*?<\/script>/);
  pages = await site({ '/': page.replace(whole, () => tool) });
  host = await Host.open(browser, `${pages.origin}/`);
  await host.saw('tool-end');
  assert.equal(await host.run(() => document.body.style.background), 'gold');
  await host.saw('complete');
  const { detail } = await host.saw('tool-end');
  assert.deepEqual([detail.toolName, detail.ok, detail.description], ['set_background', true, 'Background changed']);
  await host.page.locator('mindset-agent').getByText('Background changed').waitFor();
  assert.deepEqual(await host.errors(), []);
});

/** A page with a tool that the demo model takes for "open the orders". */
const ORDERS = (handler) => `<!doctype html><meta charset="utf-8"><title>Shop</title>
  <script src="${runtime.origin}/mindset-agent.js"></script>
  <mindset-agent id="agent" app-uid="demo" agent-uid="demo"></mindset-agent>
  <script>document.getElementById('agent').setPageTools([{ name: 'open_orders', description: 'Opens the orders', handler: () => {
    sessionStorage.ran = Number(sessionStorage.ran ?? 0) + 1;
    ${handler}
  } }]);</script>`;

test('a tool that navigates away: the turn goes on in the new page, and nothing runs twice', async () => {
  pages = await site({
    '/': ORDERS("location.assign('/orders'); return new Promise(() => {});"),
    '/orders': ORDERS("return 'here';"),
  });
  host = await Host.open(browser, `${pages.origin}/`);
  await host.saw('agent-idle');
  await host.start('open the orders').catch(() => {});
  await host.page.waitForURL('**/orders');
  await host.saw('complete');
  assert.equal(await host.run(() => sessionStorage.ran), '1');
  const texts = await host.panel.texts();
  assert.equal(texts[0].trim(), 'open the orders');
  assert.ok(texts.at(-1).trim().length > 0);
  assert.equal(await host.busy(), false);
  // The conversation is whole: the next turn works and runs the tool of this page.
  const next = await host.send('open the orders');
  assert.equal(next.status, 'finished', JSON.stringify(next));
  assert.equal(await host.run(() => sessionStorage.ran), '2');
  assert.deepEqual(await host.errors(), []);
});
