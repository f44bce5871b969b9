// The element and the real runtime when the network, the page or the runtime goes away in
// mid-answer: the answer completes, once, and the tabs agree.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { configOf } from '../support/config.mjs';
import { Host } from '../support/host.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';
import { until } from '../support/wait.mjs';
import { Wire } from '../support/wire.mjs';

const SLOW = configOf({ model: { provider: 'demo', delay: '60ms' }, app: { uid: 'demo' }, agents: [{ uid: 'demo', name: 'Demo' }] });

let browser;
let runtime;
let pages;
let wire;
const hosts = [];

before(async () => {
  browser = await launch();
  runtime = await Runtime.start({ config: SLOW });
  wire = await Wire.to(runtime.port);
  pages = await site({
    '/': `<!doctype html><title>Page</title><script src="${wire.origin}/mindset-agent.js"></script>
      <mindset-agent id="agent" app-uid="demo" agent-uid="demo"></mindset-agent>
      <script>mindset.init({ appUid: 'demo', timing: { heartbeat: 1500, request: 6000, backoff: 50, backoffMax: 500 } })</script>`,
  });
});
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
});
after(async () => {
  await browser?.close();
  await pages?.stop();
  await wire?.stop();
  await runtime?.stop();
});

/** A page in mid-answer. */
async function midAnswer() {
  const host = await Host.open(browser, `${pages.origin}/`);
  hosts.push(host);
  await host.saw('agent-idle');
  await host.start('what can you do');
  await host.saw('text-delta', 3);
  return host;
}

/** What the panel shows of the answer, in one line. */
async function answer(host) {
  return ((await host.panel.texts())[1] ?? '').replace(/\s+/g, ' ').trim();
}

const ENDS = /^I show how an agent lives in a page\..* I am a demo model with fixed rules, not an AI\.$/;

/** The text of the deltas is the text of the panel and of the answer: nothing is lost or doubled. */
async function isWhole(host) {
  await until(async () => ENDS.test(await answer(host)), 'the whole answer');
  const events = await host.events();
  const said = events.filter(({ name }) => name === 'text-delta').map(({ detail }) => detail.content).join('');
  const { detail } = await host.saw('complete');
  assert.equal(said, detail.messages.at(-1).content);
  assert.equal(said.replace(/\s+/g, ' ').trim(), await answer(host));
  assert.deepEqual(events.filter(({ name }) => name === 'error'), []);
  await until(async () => !(await host.busy()), 'the element to be idle');
}

test('network off and on in mid-answer', async () => {
  const host = await midAnswer();
  await host.profile.setOffline(true);
  // The emulation leaves open connections alone; a network that goes takes them along.
  wire.cut();
  await host.panel.shows(/no network/i);
  const before = await answer(host);
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.equal(await answer(host), before, 'nothing comes without a network');
  wire.mend();
  await host.profile.setOffline(false);
  await isWhole(host);
  assert.equal((await host.late()).status, 'finished');
});

test('a connection that stands and carries nothing any more', async () => {
  const host = await midAnswer();
  wire.kill();
  await host.panel.shows(/Reconnecting/);
  wire.mend();
  await isWhole(host);
  assert.equal((await host.late()).status, 'finished');
});

test('the page is loaded anew in mid-answer', async () => {
  const host = await midAnswer();
  await host.page.reload();
  await isWhole(host);
  assert.equal((await host.panel.texts()).length, 2);
  await host.page.reload();
  await until(async () => ENDS.test(await answer(host)), 'the answer from the store');
  assert.equal((await host.names()).includes('agent-busy'), false);
});

test('a second tab sees the answer arrive, and the next turn begin', async () => {
  const host = await midAnswer();
  const [opened] = await Promise.all([host.profile.waitForEvent('page'), host.run(() => void window.open('/'))]);
  const twin = new Host(host.profile, opened);
  await isWhole(twin);
  await isWhole(host);
  await host.start('hello');
  await until(async () => (await twin.panel.texts()).length === 4, 'the next turn');
  for (const each of [host, twin]) {
    await until(async () => !(await each.busy()), 'both to be idle');
    await until(async () => /in an? .*line one word|just write something/.test((await each.panel.texts()).at(-1)), 'the answer');
  }
});
