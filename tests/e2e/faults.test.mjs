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

const AGENTS = ['openai', 'anthropic', 'hasty', 'hasty-anthropic'];

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
idle_timeout = "5s"

[models.hasty-anthropic]
provider = "anthropic"
model = "test-model"
base_url = "${control}/anthropic"
api_key = "any"
idle_timeout = "5s"

[[apps]]
uid = "shop"
origins = ["loopback"]
${AGENTS.map((name) => `
[[apps.agents]]
uid = "${name}"
name = "Shop"
instructions = "Be brief."
model = "${name}"
anonymous = true
`).join('')}`,
  });
  browser = await launch();
  pages = await site(Object.fromEntries(AGENTS.map((agent) => [`/${agent}`, `<!doctype html><title>Shop</title>
    <script src="${runtime.origin}/mindset-agent.js"></script><mindset-agent id="agent" app-uid="shop" agent-uid="${agent}"></mindset-agent>`])));
});
after(async () => {
  await browser?.close();
  await pages?.stop();
  await runtime?.stop();
  await server?.stop();
});

/** Forgets what was, and lines up what the next requests of the model meet. */
async function scenario(...behaviors) {
  await fetch(`${control}/_llmock/reset`, { method: 'POST' });
  await queue(...behaviors);
}

async function queue(...behaviors) {
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
    await scenario({ type: 'stream_fault', kind: 'stall', after_chunks: 2, stall_seconds: 12, times: 1 });
    const failed = await host.send('Tell me about the weather in the mountains, please.');
    assert.equal(failed.status, 'error');
    assert.equal((await host.saw('runtime-event:run_error')).detail.reason, 'timeout');
  } finally {
    await host.close();
  }
});

/** Faults that a person meets, and the pause that the server asks for before the next try. */
const JUDGED = [
  [fault('truncate')], [fault('truncate', 0)], [fault('disconnect')], [fault('disconnect', 0)], [fault('malformed')],
  [{ type: 'stream_fault', kind: 'stall', after_chunks: 2, stall_seconds: 12, times: 1 }],
  [{ type: 'fail', status: 429, retry_after: 1, times: 1 }, 1_100],
  [{ type: 'fail', status: 500, times: 1 }],
  [{ type: 'fail', status: 503, retry_after: 1, times: 1 }, 1_100],
];

for (const agent of ['hasty', 'hasty-anthropic']) {
  test(`${agent}: the server's own verdict is a pass: what broke is never taken for an answer, and Retry asks again`, async () => {
    await fetch(`${control}/_llmock/reset`, { method: 'POST' });
    const host = await Host.open(browser, `${pages.origin}/${agent}`);
    try {
      await host.saw('agent-idle');
      for (const [at, [behavior, pause = 0]] of JUDGED.entries()) {
        await queue(behavior);
        const failed = await host.send(`Tell me about mountain number ${at}, please.`);
        assert.equal(failed.status, 'error', `${JSON.stringify(behavior)}: ${JSON.stringify(failed)}`);
        await queue({ type: 'reply', text: `Mountain ${at} is high.`, times: 1 });
        await new Promise((resolve) => { setTimeout(resolve, pause); });
        await host.panel.retryButton.click();
        await host.saw('complete', at + 1);
        await host.panel.shows(`Mountain ${at} is high.`);
      }
      const report = new Program(pythonProgram('llmock'), ['report', '--url', control]);
      assert.equal(await report.ended, 0, report.output);
      const verdict = await (await fetch(`${control}/_llmock/verdict`)).json();
      assert.deepEqual([verdict.passed, verdict.faults_injected], [true, JUDGED.length], report.output);
      assert.equal(verdict.attempts, 2 * JUDGED.length, 'each call once more, and no other');
    } finally {
      await host.close();
    }
  });
}
