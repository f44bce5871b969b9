// How a conversation begins by itself: the page's question, the agent's icebreaker, starters.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const chips = (host) => host.panel.host.locator('[part~="suggestion"]');

test('starters stand in the empty chat; a click sends one, and a new conversation has them again', async () => {
  s.runtime.onAgent = () => ({ starters: ['Where is my order?', 'Return <b>something</b>'] });
  const host = await s.ready();
  await until(async () => (await chips(host).count()) === 2, 'the starters');
  assert.deepEqual(await chips(host).allTextContents(), ['Where is my order?', 'Return <b>something</b>']);
  assert.equal(await host.panel.host.locator('[part~="empty"]').isVisible(), true);
  await chips(host).first().click();
  await host.panel.reads('Where is my order?', 'You said: Where is my order?.');
  assert.equal(await chips(host).count(), 0);
  await host.page.evaluate(() => document.querySelector('#agent').newConversation());
  await until(async () => (await chips(host).count()) === 2, 'the starters again');
  await host.page.reload();
  await until(async () => (await chips(host).count()) === 2, 'the starters of an empty chat after a reload');
});

test('the agent begins with what nobody sees', async () => {
  s.runtime.onAgent = () => ({ icebreaker: 'Greet them.', starters: ['Hello'] });
  s.runtime.onRun = (run) => run.start().say('Welcome.').finish();
  const host = await s.ready();
  await host.panel.reads('Welcome.');
  assert.equal(await chips(host).count(), 1);
  assert.equal(s.runtime.runs.length, 1);
  assert.equal(s.runtime.runs[0].input.forwardedProps.mindset.inputType, 'PSEUDO_HUMAN');
});

test('the question of the page is sent behind the first idle and once, in place of the icebreaker', async () => {
  s.runtime.onAgent = () => ({ icebreaker: 'Greet them.', starters: [] });
  const host = await s.ready({
    init: { initialQuestion: 'Not this.' },
    elements: '<mindset-agent id="agent" agent-uid="support" initial-question="What is new?"></mindset-agent>',
  });
  await host.panel.reads('What is new?', 'You said: What is new?.');
  await host.saw('agent-idle', 2);
  assert.deepEqual(s.runtime.requests.filter((line) => line.startsWith('GET /v1/agents')), []);
  await host.send('more');
  assert.equal(await host.page.evaluate(() => document.querySelector('#agent').initialQuestion), 'What is new?');
  await host.page.evaluate(() => document.querySelector('#agent').newConversation());
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(s.runtime.runs.length, 2);
});

test('init names a question for headless elements too', async () => {
  const host = await s.ready({
    init: { initialQuestion: 'What is new?' },
    elements: '<mindset-agent id="agent" agent-uid="support" headless></mindset-agent>',
  });
  await host.saw('agent-idle', 2);
  assert.deepEqual(s.runtime.runs.map((run) => run.text), ['What is new?']);
  const names = await host.names('agent');
  assert.ok(names.indexOf('agent-idle') < names.indexOf('agent-busy'), names.join(' '));
});
