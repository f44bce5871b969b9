// The HR dashboard of the demo, as a person uses it: the five integration points on one page,
// with the demo's own backend and MCP server.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { serve } from '../../demo/hr-server.mjs';
import { launch } from '../support/browser.mjs';
import { Host } from '../support/host.mjs';
import { SCREENSHOTS } from '../support/paths.mjs';
import { Panel } from '../support/panel.mjs';
import { Runtime } from '../support/runtime.mjs';
import { until } from '../support/wait.mjs';

let browser;
let runtime;
let hr;
let host;

before(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  runtime = await Runtime.start({
    args: ['--dev'],
    env: (port) => ({
      MINDSET__APPS__DEMO__MCP_SERVERS__HR__URL: `http://127.0.0.1:${port + 1}/mcp`,
      MINDSET__APPS__DEMO__CONTEXTS__HANDBOOK__BASE_URL: `http://127.0.0.1:${port + 1}/handbook/`,
    }),
  });
  hr = await serve({ port: runtime.port + 1, runtime: runtime.origin });
  browser = await launch();
  host = await Host.open(browser, dashboard());
  await host.saw('agent-idle');
});
after(async () => {
  await host?.close();
  await browser?.close();
  hr?.closeAllConnections();
  hr?.close();
  await runtime?.stop();
});

const dashboard = () => `http://127.0.0.1:${hr.address().port}/`;
const text = (selector) => host.page.locator(selector).innerText();
const panel = () => new Panel(host.page);

/** Waits until so many turns are over. */
async function turns(count) {
  await until(async () => (await host.names()).filter((name) => name === 'agent-idle').length > count, `turn ${count} to end`);
}

async function picture(name) {
  await host.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

test('a button lets the agent file a review: the server gets the profile, the model does not', async () => {
  await host.page.click('#review');
  await turns(1);
  await until(async () => /R-0001/.test(await text('#received')), 'the review to arrive');
  const received = await text('#received');
  assert.match(received, /"id":"EMP-4821","name":"Sarah Chen"/);
  assert.match(received, /x-user-id: robin-hr/);
  assert.match(received, /x-session-tags: \["hr","r\\u00e9gion:m\\u00fcnchen"\]/);
  const model = await text('#model');
  assert.match(model, /Sarah Chen/, 'situational awareness is in the prompt');
  assert.match(model, /hr__file_review\(summary\)/, 'the parameter is not in what the model is told');
  assert.match(model, /profile: \d+ bytes from the page, sha256/);
  assert.doesNotMatch(model, /EMP-4821/);
  await picture('people-review');
});

test('a page tool changes the profile', async () => {
  await panel().say('Set the location to Hamburg');
  await turns(2);
  assert.match(await text('#fields'), /Hamburg/);
});

test('a tool with `confirm` asks first', async () => {
  await panel().say('Set the rating to 5');
  const allow = host.page.locator('mindset-agent').getByRole('button', { name: 'Allow' });
  await allow.waitFor();
  assert.match(await text('#fields'), /Last rating\s*4/);
  await picture('people-question');
  // Whoever is on the screen by the time of the answer: the question was about Sarah Chen.
  await host.page.getByRole('button', { name: /Amadou Diallo/ }).click();
  await allow.click();
  await turns(3);
  assert.match(await text('#fields'), /Last rating\s*3/);
  await host.page.getByRole('button', { name: /Sarah Chen/ }).click();
  assert.match(await text('#fields'), /Last rating\s*5/);
});

test('the handbook is searched and cited', async () => {
  await panel().say('How many days of annual leave do we have?');
  await turns(4);
  await panel().shows(/30 days/);
  const source = host.page.locator('mindset-agent').getByRole('link', { name: /Annual leave/ }).first();
  const page = await fetch(await source.getAttribute('href'));
  assert.match(await page.text(), /30 days of annual leave/);
  await picture('people');
});

test('the page speaks silently', async () => {
  const before = (await panel().texts()).length;
  await host.page.click('#greet');
  await turns(5);
  const texts = await panel().texts();
  assert.ok(!texts.some((text) => text.startsWith('What can you do here')), 'the trigger is hidden');
  assert.ok(texts.length > before, 'the answer is not');
  assert.deepEqual(await host.errors(), []);
  assert.deepEqual(host.console, []);
});

test('another employee, in the dark and on a phone', async () => {
  for (const [name, context] of [
    ['people-dark', { colorScheme: 'dark' }],
    ['people-phone', { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
  ]) {
    const other = await Host.open(browser, dashboard(), { context });
    await other.saw('agent-idle');
    await other.page.getByRole('button', { name: /Ingrid Solberg/ }).click();
    assert.match(await other.page.locator('#fields').innerText(), /Oslo/);
    await other.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
    assert.equal(await other.run(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), true, name);
    await other.close();
  }
});
