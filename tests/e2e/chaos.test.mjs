// Whole turns over bad lines. Short here; `cargo xtask soak` sets MINDSET_SOAK and runs
// the same for much longer. A failure names its seed; MINDSET_SEED repeats it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ElementChat, NodeChat } from '../chaos/chats.mjs';
import { Random, SEED } from '../chaos/random.mjs';
import { Stage } from '../chaos/stage.mjs';
import { Talk } from '../chaos/turns.mjs';
import { launch } from '../support/browser.mjs';

const LONG = process.env.MINDSET_SOAK !== undefined;

/** Of the exchanges on a bad line, how many break. */
const BAD = 0.4;

let browser;

before(async () => { browser = await launch(); });
after(() => browser?.close());

/** Runs `body` on a stage of its own; what fails says how to repeat it. */
async function on(t, name, lines, body) {
  const stage = await Stage.set(name, lines);
  try {
    await body(stage);
    t.diagnostic(`seed ${SEED}; exchanges: ${stage.weather()}`);
  } catch (error) {
    error.message += `\nseed: MINDSET_SEED=${SEED}\nlines: ${stage.weather()}\nruntime: ${stage.runtime.output.slice(-2_000)}`;
    throw error;
  } finally {
    await stage.stop();
  }
}

/** `chats` conversations at the same time, each of `turns` turns; `open` opens a chat. */
async function talk(stage, chats, turns, open) {
  const talks = await Promise.all(Array.from({ length: chats }, async (_, at) => {
    const name = `${stage.name}-${at}`;
    return new Talk(stage, await open(await stage.token(name)), name);
  }));
  try {
    await Promise.all(talks.map(async (told) => {
      for (let number = 1; number <= turns; number += 1) await told.turn(number);
      await told.check();
      await told.checkShown();
    }));
  } finally {
    await Promise.all(talks.map((told) => told.chat.close()));
  }
  return talks;
}

const node = (stage) => (token) => NodeChat.open(stage, token);

test('createChat: the line between page and runtime breaks, and every turn is answered', { timeout: 900_000 }, async (t) => {
  await on(t, 'page', { page: BAD }, async (stage) => {
    const talks = await talk(stage, 4, LONG ? 125 : 8, node(stage));
    assert.deepEqual(talks.map(({ errors }) => errors), talks.map(() => ({})), 'the line alone fails no turn');
    assert.equal(stage.signed, 4 * (LONG ? 13 : 1), 'what was allowed ran');
  });
});

test('createChat: all lines break; what fails says why and is answered when it is sent again', { timeout: 900_000 }, async (t) => {
  await on(t, 'all', { page: BAD, model: BAD / 4, tools: BAD / 4 }, async (stage) => {
    const talks = await talk(stage, 4, LONG ? 125 : 7, node(stage));
    t.diagnostic(`failed and sent again: ${JSON.stringify(talks.map(({ errors }) => errors))}; ran when allowed: ${stage.signed}`);
    if (LONG) assert.ok(stage.signed > 0, 'something that was allowed ran');
  });
});

test('the element: all lines break', { timeout: 300_000 }, async (t) => {
  await on(t, 'element', { page: BAD, model: BAD / 4, tools: BAD / 4 }, async (stage) => {
    await talk(stage, 1, LONG ? 50 : 5, (token) => ElementChat.open(stage, token, browser));
  });
});

test('createChat: the runtime is killed at random moments and started again', { timeout: 900_000 }, async (t) => {
  await on(t, 'killed', { pace: 30 }, async (stage) => {
    const random = new Random('killed', 'moments');
    const talks = await Promise.all(['a', 'b', 'c'].map(async (chat) => {
      const name = `killed-${chat}`;
      return new Talk(stage, await NodeChat.open(stage, await stage.token(name)), name);
    }));
    try {
      for (let kill = 1; kill <= (LONG ? 200 : 8); kill += 1) {
        const answered = Promise.all(talks.map((told) => told.turn(kill)));
        // A failure while the runtime is down is told when everything is up again.
        answered.catch(() => {});
        await new Promise((resolve) => { setTimeout(resolve, random.between(0, 400)); });
        await stage.runtime.process.stop('SIGKILL');
        await stage.runtime.again();
        await answered;
      }
      for (const told of talks) {
        await told.check();
        await told.checkShown();
        const others = Object.keys(told.errors).filter((reason) => reason !== 'interrupted');
        assert.deepEqual(others, [], 'a kill is an interruption and nothing else');
      }
      t.diagnostic(`interrupted and sent again: ${talks.reduce((sum, told) => sum + told.failed, 0)}`);
    } finally {
      talks.forEach((told) => told.chat.close());
    }
  });
});
