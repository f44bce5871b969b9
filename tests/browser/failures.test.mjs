// Everything a server can do wrong: each gives a code and a sentence, and the next
// message works.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { sentence, works } from '../support/expect.mjs';
import { TIMING } from '../support/host.mjs';
import { Run } from '../support/run.mjs';
import { suite } from '../support/suite.mjs';

const s = suite();

/** Sends, expects a failed turn with this reason, then that the next one works. */
async function failedTurn(host, { reason, code, retryable }) {
  const result = await host.send('hello');
  assert.equal(result.status, 'error');
  sentence(result.error.message);
  if (code) assert.equal(result.error.code, code);
  const { detail } = await host.saw('runtime-event:run_error');
  if (reason) assert.equal(detail.reason, reason);
  if (retryable !== undefined) assert.equal(detail.retryable, retryable);
  sentence(detail.message);
  assert.notEqual(detail.aborted, true);
  assert.equal((await host.names()).at(-1), 'agent-idle');
  await host.panel.shows(detail.message);
  await works(s.runtime, host);
  return { result, detail };
}

// ── answers to a run that are no stream ───────────────────────────────────────

const HTML_PAGE = '<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>';

const ANSWERS = {
  'HTML with 200': [(run) => run.reply(200, 'text/html', HTML_PAGE), { reason: 'internal', code: 'protocol' }],
  'HTML with 502': [(run) => run.reply(502, 'text/html', HTML_PAGE), { code: 'server-error', retryable: true }],
  'JSON with 200': [(run) => run.reply(200, 'application/json', '{"ok":true}'), { reason: 'internal', code: 'protocol' }],
  'an empty stream': [(run) => { run.head(); run.end(); }, {}],
  'an unknown agent': [(run) => run.refuse(404, 'agent-not-found', 'There is no agent "support" in this app: check agent-uid.'), { code: 'agent-not-found', retryable: false }],
  'too many requests': [(run) => run.refuse(429, 'rate-limited', 'Too many messages: wait a minute.', true), { reason: 'rate_limited', code: 'rate-limited', retryable: true }],
  'a server error': [(run) => run.refuse(500, 'server-error', 'The store is not reachable: try again later.', true), { code: 'server-error', retryable: true }],
  'forbidden': [(run) => run.refuse(403, 'forbidden', 'This user may not talk to this agent.'), { code: 'forbidden', retryable: false }],
  'a redirect to a login page': [(run) => { s.runtime.page('/login', HTML_PAGE); run.response.writeHead(302, { location: '/login' }).end(); }, { reason: 'internal', code: 'protocol' }],
  'the connection cut before any byte': [(run) => run.cut(), { code: 'network', retryable: true }],
};

for (const [name, [answer, expected]] of Object.entries(ANSWERS)) {
  test(`a run answered with ${name}`, async () => {
    const host = await s.ready();
    s.runtime.onRun = answer;
    const result = await host.send('hello');
    assert.equal(result.status, 'error', JSON.stringify(result));
    sentence(result.error.message);
    if (expected.code) assert.equal(result.error.code, expected.code);
    const { detail } = await host.saw('runtime-event:run_error');
    if (expected.reason) assert.equal(detail.reason, expected.reason);
    if (expected.retryable !== undefined) assert.equal(detail.retryable, expected.retryable);
    await host.panel.shows(detail.message);
    await works(s.runtime, host);
  });
}

// ── streams that break ────────────────────────────────────────────────────────

const STREAMS = {
  'invalid JSON': [(run) => run.start().say('Some').raw(`id: ${run.input.runId}:9\ndata: {"type":"TEXT_MESS\n\n`), { reason: 'internal', code: 'protocol' }],
  'a known field of the wrong type': [(run) => run.start().event({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 7 }), { reason: 'internal', code: 'protocol' }],
  'an event out of order': [(run) => run.start().event({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'never-started', delta: 'x' }), { reason: 'internal', code: 'protocol' }],
  'no RUN_STARTED': [(run) => run.head().event({ type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' }), { reason: 'internal', code: 'protocol' }],
  'bytes that are no UTF-8': [(run) => run.start().raw(`id: ${run.input.runId}:9\n`).raw(Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0x20, 0xff, 0xfe, 0x0a, 0x0a])), { reason: 'internal', code: 'protocol' }],
  'a plain RUN_ERROR': [(run) => run.start().say('So').fail('The model is overloaded.'), { reason: 'model_error' }],
  'a RUN_ERROR that says why': [(run) => run.start().fail('The model took too long.', { reason: 'timeout', retryable: true, effects: [] }), { reason: 'timeout', retryable: true }],
  'a RUN_ERROR as the first event': [(run) => { run.head(); run.fail('No model is configured.', { reason: 'internal', retryable: false }); }, { reason: 'internal', retryable: false }],
  'an end without the final event': [(run) => { run.start().say('Transferring $50,0'); run.end(); }, { reason: 'interrupted', retryable: true }],
  'a cut in mid-answer': [(run) => { run.start().say('Transferring $50,0'); setTimeout(() => run.cut(), 50); }, { reason: 'interrupted', retryable: true }],
};

for (const [name, [answer, expected]] of Object.entries(STREAMS)) {
  test(`a stream with ${name}`, async () => {
    const host = await s.ready();
    s.runtime.onRun = answer;
    await failedTurn(host, expected);
  });
}

test('half an answer stays and is marked as interrupted', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => { run.start().say('Transferring $50,0'); run.end(); };
  const result = await host.send('pay');
  assert.equal(result.status, 'error');
  assert.deepEqual((await host.panel.texts()).map((t) => t.trim()), ['pay', 'Transferring $50,0']);
  await host.panel.shows(/interrupted/i);
  assert.equal((await host.names()).includes('complete'), false);
});

test('a stream cut at any of these bytes', async () => {
  const host = await s.ready();
  const ids = { threadId: 't', runId: 'r' };
  const length = Run.transcript(ids, ['One ', 'two 🙂']).length;
  const places = Array.from({ length: 12 }, (_, i) => Math.floor((i * length) / 12));
  for (const place of places) {
    s.runtime.onRun = (run) => {
      const bytes = Buffer.from(Run.transcript(run.ids, ['One ', 'two 🙂']));
      run.head().raw(bytes.subarray(0, Math.floor((place / length) * bytes.length)));
      setImmediate(() => run.end());
    };
    const result = await host.send(`cut at ${place}`);
    assert.equal(result.status, 'error', `cut at ${place} of ${length}`);
    sentence(result.error.message);
  }
  await works(s.runtime, host);
});

test('a stream that falls silent', async () => {
  const host = await s.ready({ init: { timing: { ...TIMING, heartbeat: 300 } } });
  s.runtime.onRun = (run) => run.start().say('Hm');
  const { detail } = await failedTurn(host, { retryable: true });
  assert.ok(['interrupted', 'timeout'].includes(detail.reason), detail.reason);
});

test('a comment now and then keeps a slow stream alive', async () => {
  const host = await s.ready({ init: { timing: { ...TIMING, heartbeat: 4_000 } } });
  s.runtime.onRun = async (run) => {
    run.start();
    for (let i = 0; i < 10; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      run.raw(':\n\n');
    }
    run.say('Slow but sure.').finish();
  };
  assert.equal((await host.send('hello')).text, 'Slow but sure.');
});

test('a request that is never answered', async () => {
  const host = await s.ready({ init: { timing: { ...TIMING, request: 300 } } });
  s.runtime.onRun = () => {};
  await failedTurn(host, { reason: 'timeout', retryable: true });
});

test('an event over 10 MiB', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.start().event({ type: 'RAW', event: 'x'.repeat(10 * 1024 * 1024 + 1) });
  await failedTurn(host, { reason: 'internal', code: 'protocol' });
});

// ── Retry ─────────────────────────────────────────────────────────────────────

test('the Retry button sends the same message again', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => { run.start().say('Half'); run.end(); };
  await host.panel.say('hello');
  await host.panel.retryButton.waitFor();
  s.runtime.onRun = (run) => run.start().say('Whole.').finish();
  await host.panel.retryButton.click();
  await host.panel.shows('Whole.');
  await host.saw('agent-idle', 3);
  assert.deepEqual(s.runtime.runs.map((run) => run.text), ['hello', 'hello']);
  const shown = (await host.panel.texts()).map((t) => t.trim());
  assert.equal(shown.filter((text) => text === 'hello').length, 1, 'the question is shown once');
  assert.equal(shown.at(-1), 'Whole.');
  assert.equal(await host.panel.retryButton.count(), 0);
});

test('a failure that cannot be helped by trying again offers no Retry', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.refuse(403, 'forbidden', 'This user may not talk to this agent.');
  await host.panel.say('hello');
  await host.panel.shows('This user may not talk to this agent.');
  assert.equal(await host.panel.retryButton.count(), 0);
});
