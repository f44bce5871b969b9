// Ten thousand messages: read up to the first one, and one more at their end.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { suite } from '../support/suite.mjs';
import { tasks } from '../support/tasks.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const COUNT = 10_000;
/** No task may take longer, in milliseconds of the processor. */
const LONG_TASK = 50;
/** An answer below all of them costs at most so many times what it costs in an empty conversation. */
const DEARER = 3;
/** Rounding of positions, in pixels. */
const SLACK = 2;

const ANSWERS = [
  (at) => `Answer ${at}. ${'A paragraph that wraps into a few lines. '.repeat(1 + (at % 7))}`,
  (at) => `Answer ${at} with **bold**, \`code\` and [a link](https://docs.example/${at}):\n\n- one\n- two\n  1. nested\n- three`,
  (at) => `Answer ${at} as a table:\n\n| Name | Days |\n|---|--:|\n| Ada | ${at % 30} |\n| Grace | 12 |\n\nAnd so on.`,
  (at) => `Answer ${at} in code:\n\n\`\`\`js\nexport const answer = (given) => given + ${at};\nconsole.log(answer(1));\n\`\`\``,
];

const history = (count) => Array.from({ length: count }, (_, at) => ({
  id: `m-${at}`,
  role: at % 2 ? 'assistant' : 'user',
  content: at % 2 ? ANSWERS[(at >> 1) % ANSWERS.length](at) : `Question ${at}: ${'how many days are left? '.repeat(1 + (at % 3))}`,
  createdAt: '2026-01-01T00:00:00.000Z',
}));

async function opened(count) {
  if (count) s.runtime.conversations.set('long', { messages: history(count) });
  const id = count ? 'conversation-id="long"' : '';
  const host = await s.ready({ elements: `<mindset-agent id="agent" agent-uid="support" ${id}></mindset-agent>` });
  if (count) await drawn(host, Math.min(count, 200));
  return host;
}

const drawn = (host, count) => until(() => host.run((count) => document.getElementById('agent').shadowRoot.querySelectorAll('[data-message-id]').length >= count, count), `${count} messages`, 60_000);

/**
 * In the page: scrolls to the first message that is there, waits until older ones stand above
 * it, and says how far it was moved in any picture meanwhile.
 */
function older() {
  const root = document.getElementById('agent').shadowRoot;
  const log = root.querySelector('[role=log]');
  const first = root.querySelector('[data-message-id]');
  const at = Number(first.dataset.messageId.slice(2));
  log.scrollTop = 0;
  return new Promise((done) => {
    let [place, moved, quiet] = [undefined, 0, 0];
    // After the picture, where all that follows a layout has been done.
    const seen = () => {
      const now = first.getBoundingClientRect().top - log.getBoundingClientRect().top;
      place ??= now;
      moved = Math.max(moved, Math.abs(now - place));
      const next = Number(root.querySelector('[data-message-id]').dataset.messageId.slice(2));
      quiet = next <= Math.max(0, at - 200) ? quiet + 1 : 0;
      if (quiet > 2) done({ moved, first: next });
      else requestAnimationFrame(() => setTimeout(seen));
    };
    requestAnimationFrame(() => setTimeout(seen));
  });
}

/** Messages whose inside is laid out. */
const laidOut = (host) => host.run(() => [...document.getElementById('agent').shadowRoot.querySelectorAll('[part~="message__body"]')]
  .filter((body) => body.checkVisibility({ contentVisibilityAuto: true })).length);

/** An answer of a thousand pieces at the end, the reader with it; what it costs the page. */
async function answer(host) {
  s.runtime.hold();
  await host.panel.say('one more');
  const run = await s.runtime.nextRun();
  run.start().say('It begins. ');
  await settled(host);
  const cost = await tasks(host.page, async () => {
    for (let piece = 0; piece < 1_000; piece += 1) {
      run.say(piece % 20 ? `word ${piece} ` : `\n\nPart ${piece}. `);
      if (piece % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    run.say('The end.').finish();
    await until(() => host.busy().then((busy) => !busy), 'the end of the answer');
  });
  // Not by a search through all that is there.
  const said = await host.run(() => [...document.getElementById('agent').shadowRoot.querySelectorAll('[part~="message__body"]')].pop().textContent);
  assert.match(said, /word 999 The end\.$/);
  return cost;
}

/** Two pictures later, where nothing comes any more. */
const settled = (host) => host.run(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 200)))));

test('ten thousand messages: read up to the first, and answered at their end', { timeout: 170_000 }, async () => {
  const empty = await answer(await opened(0));
  const host = await opened(COUNT);
  let [moved, first] = [0, COUNT];
  const reading = await tasks(host.page, async () => {
    while (first > 0) {
      const read = await host.run(older);
      assert.ok(read.first < first, `older messages came: the first is ${read.first}`);
      first = read.first;
      moved = Math.max(moved, read.moved);
    }
  });
  assert.ok(moved <= SLACK, `the reader's place moved by ${moved} pixels`);
  assert.ok(reading.longest < LONG_TASK, `reading them all: a task of ${reading.longest} ms`);
  assert.equal(await host.panel.messages.count(), COUNT);
  const inside = await laidOut(host);
  assert.ok(inside < 500, `${inside} messages are laid out`);

  await host.panel.log.evaluate((log) => { log.scrollTop = log.scrollHeight; });
  await settled(host);
  const full = await answer(host);
  assert.ok(full.longest < LONG_TASK, `a task of ${full.longest} ms`);
  assert.ok(full.sum < DEARER * empty.sum, `an answer costs ${full.sum} ms, in an empty conversation ${empty.sum} ms`);
});
