// Widgets all the way: an MCP server yields them, the runtime checks them, the element draws
// them, and what a person does reaches the model and is there after a reload.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { configOf } from '../support/config.mjs';
import { Host } from '../support/host.mjs';
import { showing } from '../support/mcp.mjs';
import { ROOT } from '../support/paths.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';
import { callingModel } from '../support/turns.mjs';

let models;
let tools;
let runtime;
let browser;
let pages;
let host;
let schema;

/** What the model was told last in each request. */
const heard = [];

before(async () => {
  schema = await readFile(join(ROOT, 'schema/widgets.json'), 'utf8');
  const plan = ({ messages }) => {
    const { content } = messages.at(-1);
    const text = typeof content === 'string' ? content : content.map((part) => part.text).join('');
    heard.push(text);
    return text.startsWith('[widget action] ') ? [] : JSON.parse(text);
  };
  [models, tools, browser] = await Promise.all([callingModel(plan), showing(), launch()]);
  runtime = await Runtime.start({
    config: configOf({ model: `${models.url}/v1`, servers: [{ uid: 'ui', url: tools.url }] }),
  });
  pages = await site({
    '/': `<!doctype html><meta charset="utf-8"><title>Page</title><script src="${runtime.origin}/mindset-agent.js"></script>
      <mindset-agent id="agent" app-uid="firm" agent-uid="helper"></mindset-agent>`,
  });
});
afterEach(() => host?.close());
after(async () => {
  await browser?.close();
  await runtime?.stop();
  await Promise.all([pages, models, tools].map((peer) => peer?.stop()));
});

const example = (kind) => JSON.parse(schema).examples.find((widget) => widget.kind === kind);

async function shown(...widgets) {
  host = await Host.open(browser, `${pages.origin}/`);
  await host.saw('agent-idle');
  const result = await host.send(JSON.stringify([['ui__show', { widgets }]]));
  assert.equal(result.status, 'finished', JSON.stringify(result));
}

test('the vocabulary is served where pages and tools can read it', async () => {
  const response = await fetch(`${runtime.origin}/schema/widgets.json`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.equal(response.headers.get('access-control-allow-origin'), '*');
  assert.equal(await response.text(), schema);
});

test('a form of an MCP server is filled in, and stays filled in', async () => {
  await shown(example('form'));
  const panel = host.panel.log;
  await panel.getByLabel('First day *', { exact: true }).fill('2026-12-07');
  await panel.getByLabel('Last day *', { exact: true }).fill('2026-12-11');
  await panel.getByLabel('Note').fill('Skiing & <b>resting</b>');
  await panel.getByRole('button', { name: 'Ask for leave' }).click();
  await panel.getByText('Nothing to do.').waitFor();
  const payload = { from: '2026-12-07', to: '2026-12-11', kind: 'paid', half: false, note: 'Skiing & <b>resting</b>' };
  const told = JSON.parse(heard.at(-1).slice('[widget action] '.length));
  assert.deepEqual([told.kind, told.action, told.payload], ['form', 'request_leave', payload]);
  await host.page.reload();
  await host.saw('agent-idle');
  await panel.getByText('Sent', { exact: true }).waitFor();
  const note = panel.getByLabel('Note');
  assert.deepEqual([await note.inputValue(), await note.isDisabled()], [payload.note, true]);
  assert.equal(await panel.getByText('[widget action]').count(), 0);
  assert.deepEqual(await host.errors(), []);
});

test('a document that does not fit is its summary, and the log says why without what it says', async () => {
  const bad = { kind: 'table', summary: 'Two secret rows.', doc: { columns: [{ key: 'a', label: 'A' }], rows: [{ a: ['canary-in-a-cell'] }] } };
  const own = { kind: 'seating_plan', summary: 'A seating plan.', doc: { seats: [1, 2] } };
  await shown(bad, own, example('progress'));
  const panel = host.panel.log;
  await panel.getByText('Two secret rows.', { exact: true }).waitFor();
  await panel.getByText('A seating plan.', { exact: true }).waitFor();
  await panel.getByRole('progressbar', { name: 'Your new laptop' }).waitFor();
  assert.equal(await panel.getByRole('table').count(), 0);
  const payloads = (await host.events()).filter((event) => event.type === 'widget-payload').map(({ detail }) => detail.doc);
  assert.deepEqual(payloads, [null, own.doc, example('progress').doc]);
  assert.match(runtime.output, /a widget is not drawn.*table.*\/doc\/rows\/0\/a/);
  assert.doesNotMatch(runtime.output, /canary-in-a-cell|secret rows/);
});
