// The runtime as a process: killed in mid-run, started again, told to end, asked to
// check its configuration.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { sentence } from '../support/expect.mjs';
import { Host } from '../support/host.mjs';
import { runtimeBinary } from '../support/paths.mjs';
import { Program } from '../support/process.mjs';
import { DEMO_CONFIG, Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';
import { until } from '../support/wait.mjs';

const SLOW = `
[models.slow]
provider = "demo"
delay = "80ms"

[[apps]]
uid = "demo"
api_keys = ["key-of-the-app-123456"]
origins = ["loopback"]
allow_no_origin = true

[[apps.agents]]
uid = "demo"
name = "Demo"
instructions = "Be slow."
model = "slow"
anonymous = true
`;

let browser;
let runtime;
let pages;
let host;

before(async () => {
  browser = await launch();
});
afterEach(async () => {
  await host?.close();
  await pages?.stop();
  await runtime?.stop();
  host = pages = runtime = undefined;
});
after(() => browser?.close());

/** A page on another port, so that it outlives the runtime, in mid-answer. */
async function midRun() {
  runtime = await Runtime.start({ config: SLOW });
  pages = await site({
    '/': `<!doctype html><title>Page</title><script src="${runtime.origin}/mindset-agent.js"></script>
      <mindset-agent id="agent" app-uid="demo" agent-uid="demo"></mindset-agent>`,
  });
  host = await Host.open(browser, `${pages.origin}/`);
  await host.saw('agent-idle');
  await host.start('hello');
  await host.saw('text-delta', 2);
}

test('killed in mid-run: after the restart it is interrupted, and Retry works', async () => {
  await midRun();
  await runtime.process.stop('SIGKILL');
  await host.panel.shows(/Reconnecting/);
  await runtime.again();
  const result = await host.late();
  assert.equal(result.status, 'error');
  sentence(result.error.message);
  assert.equal((await host.saw('runtime-event:run_error')).detail.reason, 'interrupted');
  await host.panel.shows(/interrupted/i);
  await host.panel.retryButton.waitFor();
  await host.panel.retryButton.click();
  await host.saw('complete');
  await host.saw('agent-idle', 3);
  assert.equal(await host.panel.retryButton.count(), 0);
  assert.equal((await host.send('and another')).status, 'finished');
  assert.deepEqual(await host.errors(), []);
});

test('SIGINT ends the runtime in time, with the open stream ended properly', async () => {
  await midRun();
  const from = Date.now();
  const how = await runtime.process.stop('SIGINT', 8_000);
  assert.equal(how, 0, runtime.output);
  assert.ok(Date.now() - from < 8_000);
  const result = await host.late();
  assert.ok(['error', 'aborted', 'finished'].includes(result.status));
  const names = await host.names();
  assert.equal(names.at(-1), 'agent-idle');
  if (result.status === 'error') sentence(result.error.message);
});

test('SIGTERM ends an idle runtime', async () => {
  runtime = await Runtime.start({ config: SLOW });
  assert.equal(await runtime.process.stop('SIGTERM', 8_000), 0, runtime.output);
});

test('stop() reaches the model: the server stops answering', async () => {
  await midRun();
  await host.run(() => document.getElementById('agent').stop());
  const result = await host.late();
  assert.equal(result.status, 'aborted');
  const { detail } = await host.saw('runtime-event:run_error');
  assert.equal(detail.reason, 'cancelled');
  assert.equal((await host.send('next')).status, 'finished');
});

test('a conversation survives the restart of the runtime', async () => {
  await midRun();
  const first = await host.late();
  assert.equal(first.status, 'finished');
  await runtime.process.stop();
  await runtime.again();
  const second = await host.send('still there?');
  assert.equal(second.status, 'finished', JSON.stringify(second));
  assert.equal(second.conversationId, first.conversationId);
});

/** Runs the binary to its end. */
async function check(args, env) {
  const program = new Program(runtimeBinary(), args, { env });
  const code = await until(async () => (program.how === undefined ? false : { code: program.how }), 'the program to end');
  return { ...code, output: program.output };
}

test('--check-config prints the merged result and masks every secret', async () => {
  const { code, output } = await check(['--config', DEMO_CONFIG, '--check-config'], {
    MINDSET__SERVER__LISTEN: '127.0.0.1:4321',
    MINDSET__SERVER__TOKEN_SECRET: 'a-secret-of-more-than-thirty-two-characters',
    MINDSET__APPS__DEMO__API_KEYS: 'first-api-key-0000,second-api-key-1111',
    OPENAI_API_KEY: 'sk-of-a-person',
  });
  assert.equal(code, 0, output);
  assert.match(output, /127\.0\.0\.1:4321/);
  assert.match(output, /demo/);
  for (const secret of ['a-secret-of-more', 'first-api-key', 'second-api-key', 'sk-of-a-person', 'demo-api-key']) {
    assert.ok(!output.includes(secret), `${secret} is printed`);
  }
});

test('--check-config names every fault, its place and the remedy', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mindset-test-'));
  try {
    const file = join(folder, 'mindset.toml');
    await writeFile(file, '[server]\nlisten = "nowhere"\n\n[[apps]]\nuid = "shop"\n\n[[apps.agents]]\nuid = "a"\nmodel = "missing"\n');
    const { code, output } = await check(['--config', file, '--check-config']);
    assert.notEqual(code, 0);
    assert.match(output, /listen/);
    assert.match(output, /missing/);
    assert.doesNotMatch(output, /panicked/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a missing file and a busy port give one clear sentence each', async () => {
  const missing = await check(['--config', '/nowhere/mindset.toml']);
  assert.notEqual(missing.code, 0);
  assert.match(missing.output, /\/nowhere\/mindset\.toml/);
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = await mkdtemp(join(tmpdir(), 'mindset-test-'));
  try {
    const { port } = server.address();
    const busy = await check(['--config', DEMO_CONFIG], {
      MINDSET__SERVER__LISTEN: `127.0.0.1:${port}`,
      MINDSET__SERVER__DATABASE: join(folder, 'mindset.db'),
    });
    assert.notEqual(busy.code, 0);
    assert.match(busy.output, new RegExp(String(port)));
    for (const { output } of [missing, busy]) assert.doesNotMatch(output, /panicked|Os \{|stack backtrace/);
  } finally {
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  }
});
