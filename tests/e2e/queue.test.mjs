// Messages to a busy agent and the real runtime: three wait, one is changed, one taken away, the
// runtime starts anew, and what is paused goes on when the person says so.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { configOf } from '../support/config.mjs';
import { Host } from '../support/host.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';
import { until } from '../support/wait.mjs';

let browser;
let model;
let runtime;
let pages;
/** Answers that wait for a word of the test; `undefined`: every one comes at once. */
let held = [];

/** A model that repeats what it was asked. */
async function repeating() {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const said = JSON.parse(body).messages.findLast(({ role }) => role === 'user').content;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const say = (delta, end = null) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: end }] })}\n\n`);
    say({ content: `You said ${typeof said === 'string' ? said : said.map(({ text }) => text).join('')}.` });
    const end = () => {
      say({}, 'stop');
      response.end('data: [DONE]\n\n');
    };
    if (held) held.push(end);
    else end();
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return server;
}

before(async () => {
  [browser, model] = await Promise.all([launch(), repeating()]);
  runtime = await Runtime.start({
    config: configOf({ model: `http://127.0.0.1:${model.address().port}/v1`, app: { uid: 'demo' }, agents: [{ uid: 'demo' }] }),
  });
  pages = await site({
    '/': `<!doctype html><title>Page</title><script src="${runtime.origin}/mindset-agent.js"></script>
      <mindset-agent id="agent" app-uid="demo" agent-uid="demo"></mindset-agent>
      <script>mindset.init({ appUid: 'demo', server: '${runtime.origin}' })</script>`,
    '/empty': '<!doctype html><title>Away</title>',
  });
});
after(async () => {
  await browser?.close();
  await pages?.stop();
  await runtime?.stop();
  model?.closeAllConnections();
  model?.close();
});

test('what waits is changed, outlives a restart, and goes on', async () => {
  const host = await Host.open(browser, `${pages.origin}/`);
  const { page, panel } = host;
  const items = panel.host.locator('[part~="queue__item"]');
  const waits = (...expected) => until(async () => {
    const seen = await items.evaluateAll((rows) => rows.map((row) => `${row.dataset.state} ${row.querySelector('[part~="queue__text"]')?.textContent}`));
    return JSON.stringify(seen) === JSON.stringify(expected);
  }, `the queue to be ${expected.join(', ')}`);
  await host.saw('agent-idle');
  await panel.say('one');
  await panel.shows('You said one.');
  for (const text of ['two', 'three', 'four']) await panel.say(text);
  await waits('queued two', 'queued three', 'queued four');
  await items.nth(1).getByRole('button', { name: 'Edit' }).click();
  await page.keyboard.type(' and a half');
  await page.keyboard.press('Enter');
  await items.nth(2).getByRole('button', { name: 'Remove' }).click();
  await waits('queued two', 'queued three and a half');
  await page.goto(`${pages.origin}/empty`);
  await runtime.process.stop();
  held = undefined;
  await runtime.again();
  await page.goto(`${pages.origin}/`);
  await waits('paused two', 'paused three and a half');
  await panel.shows('Waiting messages are paused.');
  await panel.host.getByRole('button', { name: 'Resume' }).click();
  await panel.shows('You said two.');
  await panel.shows('You said three and a half.');
  await until(async () => (await items.count()) === 0, 'an empty queue');
  const texts = (await panel.texts()).map((text) => text.trim());
  assert.deepEqual(texts.slice(-4), ['two', 'You said two.', 'three and a half', 'You said three and a half.']);
  assert.equal(texts.filter((text) => text.includes('four')).length, 0);
  await host.close();
});
