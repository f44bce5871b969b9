// A model server whose trade is to fail: PyPI llmock cuts, drops, garbles and
// refuses; the turn must end with the right reason and the next one work.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { Host } from '../support/host.mjs';
import { pythonProgram } from '../support/paths.mjs';
import { freePort } from '../support/ports.mjs';
import { Program } from '../support/process.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';
import { sentence } from '../support/expect.mjs';

let server;
let control;
let browser;
let runtime;
let pages;

before(async () => {
  const port = await freePort();
  control = `http://127.0.0.1:${port}`;
  server = new Program(pythonProgram('llmock'), ['serve', '--host', '127.0.0.1', '--port', String(port)]);
  await server.answers(`${control}/health`);
  runtime = await Runtime.start({
    config: `
[models.openai]
provider = "openai"
model = "gpt-4o"
base_url = "${control}/v1"
api_key = "any"

[models.anthropic]
provider = "anthropic"
model = "test-model"
base_url = "${control}/anthropic"
api_key = "any"

[models.hasty]
provider = "openai"
model = "gpt-4o"
base_url = "${control}/v1"
api_key = "any"
idle_timeout = "500ms"

[[apps]]
uid = "shop"
origins = ["loopback"]
${['openai', 'anthropic', 'hasty'].map((name) => `
[[apps.agents]]
uid = "${name}"
name = "Shop"
instructions = "Be brief."
model = "${name}"
anonymous = true
`).join('')}`,
  });
  browser = await launch();
  pages = await site(Object.fromEntries(['openai', 'anthropic', 'hasty'].map((agent) => [`/${agent}`, `<!doctype html><title>Shop</title>
    <script src="${runtime.origin}/mindset-agent.js"></script><mindset-agent id="agent" app-uid="shop" agent-uid="${agent}"></mindset-agent>`])));
});
after(async () => {
  await browser?.close();
  await pages?.stop();
  await runtime?.stop();
  await server?.stop();
});

/** Lines up what the next requests of the model meet. */
async function scenario(...behaviors) {
  await fetch(`${control}/_llmock/reset`, { method: 'POST' });
  const response = await fetch(`${control}/_llmock/scenario`, { method: 'POST', body: JSON.stringify({ behaviors }) });
  assert.equal(response.status, 201, await response.text());
}

const fault = (kind, after_chunks = 2) => ({ type: 'stream_fault', kind, after_chunks, times: 1 });

/** What the model does, and the reasons that fit. */
const CASES = {
  'ends early without its end': [fault('truncate'), ['model_error', 'interrupted']],
  'drops the connection': [fault('disconnect'), ['model_error', 'interrupted']],
  'sends a chunk that is no JSON': [fault('malformed'), ['model_error', 'internal']],
  'ends before the first word': [fault('truncate', 0), ['model_error', 'interrupted']],
  'refuses with 429': [{ type: 'fail', status: 429, times: 20 }, ['rate_limited']],
  'refuses with 401': [{ type: 'fail', status: 401, times: 20 }, ['model_error']],
  'refuses with 500': [{ type: 'fail', status: 500, times: 20 }, ['model_error']],
};

for (const agent of ['openai', 'anthropic']) {
  for (const [name, [behavior, reasons]] of Object.entries(CASES)) {
    test(`${agent}: the model ${name}`, async () => {
      const host = await Host.open(browser, `${pages.origin}/${agent}`);
      try {
        await host.saw('agent-idle');
        await scenario(behavior);
        const failed = await host.send('Tell me about the weather in the mountains, please.');
        assert.equal(failed.status, 'error', JSON.stringify(failed));
        const { detail } = await host.saw('runtime-event:run_error');
        assert.ok(reasons.includes(detail.reason), `${detail.reason}: ${detail.message}`);
        sentence(detail.message);
        assert.equal((await host.names()).includes('complete'), false, 'nothing is passed off as whole');
        await scenario({ type: 'reply', text: 'Sunny on Sunday.', times: 1 });
        const next = await host.send('And now?');
        assert.equal(next.text, 'Sunny on Sunday.', JSON.stringify(next));
      } finally {
        await host.close();
      }
    });
  }
}

test('a model that stalls ends as a time-out', async () => {
  const host = await Host.open(browser, `${pages.origin}/hasty`);
  try {
    await host.saw('agent-idle');
    await scenario({ type: 'stream_fault', kind: 'stall', after_chunks: 2, stall_seconds: 8, times: 1 });
    const failed = await host.send('Tell me about the weather in the mountains, please.');
    assert.equal(failed.status, 'error');
    assert.equal((await host.saw('runtime-event:run_error')).detail.reason, 'timeout');
  } finally {
    await host.close();
  }
});

test('the server finds no fault with its client', async () => {
  await scenario({ type: 'fail', status: 429, retry_after: 1, times: 1 });
  const host = await Host.open(browser, `${pages.origin}/openai`);
  try {
    await host.saw('agent-idle');
    await host.send('Hello.');
    await host.send('Hello again.');
    const verdict = await (await fetch(`${control}/_llmock/verdict`)).json();
    assert.deepEqual((verdict.findings ?? []).filter((f) => f.severity === 'error'), []);
  } finally {
    await host.close();
  }
});
