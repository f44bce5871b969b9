// A reader that takes nothing for too long is cut off, and comes back: nothing of a large answer
// is lost, doubled or held up for others.

import assert from 'node:assert/strict';
import { get } from 'node:http';
import { after, before, test } from 'node:test';

import { run } from '../support/belongings.mjs';
import { configOf } from '../support/config.mjs';
import { Runtime } from '../support/runtime.mjs';
import { sayingModel } from '../support/saying-model.mjs';
import { until, within } from '../support/wait.mjs';

/** More than the buffers of two sockets hold. Each piece says which one it is. */
const PIECES = Array.from({ length: 192 }, (_, n) => `${n}:é🙂\n`.padEnd(65_000, String(n % 10)));
const WHOLE = PIECES.join('');
const PATIENCE = 60_000;

let models;
let runtime;
let operations;

before(async () => {
  models = await sayingModel(PIECES);
  runtime = await Runtime.start({
    config: configOf({
      model: models.url, app: { uid: 'demo' }, agents: [{ uid: 'demo' }],
      more: '[server]\nreader_timeout = "2s"\noperations = "127.0.0.1:0"',
    }),
  });
  operations = await until(() => /operations on (http:\/\/[\d.:]+)/.exec(runtime.output)?.[1], 'the second listener');
});
after(async () => {
  await runtime?.stop();
  await models?.stop();
});

/** The whole frames of a stream. */
function frames(text) {
  const events = text.replace(/^(:.*|retry: \d+)\n/gm, '').split('\n\n').slice(0, -1);
  return events.filter((frame) => frame.includes('data: '));
}

const idOf = (frame) => frame.split('\n')[0].replace('id: ', '');
const read = (frame) => JSON.parse(frame.split('data: ')[1]);

/** A reader that takes nothing until `rest` is called; then all that has arrived before its connection was cut. */
async function sluggish(url, headers) {
  const answer = await new Promise((resolve, reject) => {
    get(url, { headers, agent: false }, resolve).on('error', reject);
  });
  assert.equal(answer.statusCode, 200);
  answer.pause();
  return {
    async rest() {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece) => { text += piece; });
      const ended = new Promise((resolve) => { answer.on('end', () => resolve('whole')).on('error', () => resolve('cut')); });
      answer.resume();
      return { how: await within(ended, 'the connection to end', PATIENCE), text };
    },
  };
}

/** Reads to the end of the run what comes after `seen`, and gives all. A slow machine may cut this one too. */
async function readOn(url, headers, seen = []) {
  const all = [...seen];
  while (all.length === 0 || read(all.at(-1)).type !== 'RUN_FINISHED') {
    const last = all.length > 0 && { 'last-event-id': idOf(all.at(-1)) };
    const answer = await fetch(url, { headers: { ...headers, ...last } });
    assert.equal(answer.status, 200);
    let text = '';
    try {
      for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) text += piece;
    } catch {
      // Cut; what has come counts.
    }
    all.push(...frames(text));
  }
  return all;
}

async function openStreams() {
  const text = await (await fetch(`${operations}/metrics`)).text();
  return Number(/^mindset_open_streams (\d+)$/m.exec(text)?.[1] ?? 0);
}

test('a reader that is cut off reads on where it was: dense, whole, and the store has the exact text', async () => {
  const headers = { authorization: `Bearer ${await runtime.token()}` };
  const begun = await runtime.post('/v1/agents/demo/runs', run('c1', 'r1'), { ...headers, accept: 'application/json' });
  assert.equal(begun.status, 202);
  const events = `${runtime.origin}/v1/runs/r1/events`;
  const slow = await sluggish(events, headers);
  // One that reads is not held up by it.
  const all = await within(readOn(events, headers), 'the whole stream', PATIENCE);
  all.forEach((frame, at) => assert.equal(idOf(frame), `r1:${at + 1}`));
  const text = (some) => some.map(read).filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta).join('');
  assert.ok(text(all) === WHOLE, 'what the quick reader read');

  await until(async () => await openStreams() === 0, 'the slow reader to be cut off', PATIENCE);
  const { how, text: part } = await slow.rest();
  assert.equal(how, 'cut');
  const seen = frames(part);
  assert.ok(seen.length > 0 && seen.length < all.length, `${seen.length} of ${all.length} frames`);
  const came = await within(readOn(events, headers, seen), 'the rest', PATIENCE);
  assert.deepEqual(came.map(idOf), all.map(idOf));
  assert.ok(came.every((frame, at) => frame === all[at]), 'each event as the other reader has it');

  const stored = await (await fetch(`${runtime.origin}/v1/conversations/c1`, { headers })).json();
  assert.equal(stored.state, 'idle');
  assert.ok(stored.messages.at(-1).content === WHOLE, 'what is stored');
});
