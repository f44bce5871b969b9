// What is asked for twice is done once: the same run posted many times at the same moment,
// and two tabs that write into one conversation.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';

import { NodeChat } from '../chaos/chats.mjs';
import { frames } from '../chaos/frames.mjs';
import { Stage } from '../chaos/stage.mjs';
import { until } from '../support/wait.mjs';

let stage;

before(async () => {
  stage = await Stage.set('once', { pace: 20 });
});
after(() => stage?.stop());

const input = (content, { threadId = randomUUID(), runId = randomUUID(), clientId = randomUUID() } = {}) => ({
  threadId, runId, state: {}, tools: [], context: [],
  messages: [{ id: `m-${runId}`, role: 'user', content }],
  forwardedProps: { mindset: { inputType: 'HUMAN', clientId } },
});

const post = (token, body) => stage.runtime.post('/v1/agents/chaos/runs', body, { authorization: `Bearer ${token}` });

test('the same run posted fifty times at once is one run, and everyone reads all of it', async () => {
  const token = await stage.token('fifty');
  const body = input('fifty');
  const responses = await Promise.all(Array.from({ length: 50 }, () => post(token, body)));
  const texts = await Promise.all(responses.map((response) => response.text()));
  assert.deepEqual(new Set(responses.map((response) => response.status)), new Set([200]), texts[0]);
  // Comment lines come by time, to each reader at its own places.
  const streams = new Set(texts.map((text) => JSON.stringify(frames(text))));
  assert.equal(streams.size, 1, 'all read the same events');
  const events = frames(texts[0]);
  assert.deepEqual(events.map(({ id }) => id), events.map((_, at) => `${body.runId}:${at + 1}`));
  assert.equal(events.at(-1).event.type, 'RUN_FINISHED');
  assert.equal(stage.model.to('fifty').length, 2, 'the model was asked before and after the tool, once each');
  assert.deepEqual([...stage.tools.calls.values()], [1]);
  const { messages } = await stage.conversation(token, body.threadId);
  assert.equal(messages.filter(({ role }) => role === 'user').length, 1);
});

test('the same run with another message is a conflict, now and after its end', async () => {
  const token = await stage.token('other');
  const bodies = ['one', 'two'].map((content) => ({ ...input(content, { threadId: 'conflict', runId: 'conflict', clientId: 'tab' }) }));
  const responses = await Promise.all(bodies.map((body) => post(token, body)));
  await Promise.all(responses.map((response) => response.text()));
  const statuses = responses.map(({ status }) => status);
  assert.deepEqual([...statuses].sort(), [200, 409]);
  const refused = statuses.indexOf(409);
  assert.equal((await post(token, bodies[refused])).status, 409);
  assert.equal(stage.model.to(bodies[refused].messages[0].content).length, 0);
});

test('two tabs that write at the same moment: one is busy, and nothing is interleaved', async () => {
  const token = await stage.token('tabs');
  const threadId = randomUUID();
  await (await post(token, input('first', { threadId }))).text();
  for (let round = 0; round < 5; round += 1) {
    const said = ['left', 'right'].map((tab) => `${tab} ${round}`);
    const responses = await Promise.all(said.map((content) => post(token, input(content, { threadId }))));
    const bodies = await Promise.all(responses.map((response) => response.text()));
    const statuses = responses.map(({ status }) => status);
    assert.deepEqual([...statuses].sort(), [200, 409], bodies.join('\n'));
    const refused = JSON.parse(bodies[statuses.indexOf(409)]).error;
    assert.equal(refused.code, 'busy');
    assert.match(refused.message, /\S+ \S+ \S+.*\.$/);
    assert.equal(stage.model.to(said[statuses.indexOf(409)]).length, 0);
  }
  const { messages } = await stage.conversation(token, threadId);
  const turns = messages.filter(({ role }) => role !== 'tool').map(({ role }) => role).join(' ');
  assert.match(turns, /^(user( assistant)+ ?)+$/);
  assert.equal(messages.filter(({ role }) => role === 'user').length, 6);
});

test('two chats in one conversation: a message into the other one\'s turn is busy', async () => {
  const token = await stage.token('chats');
  const first = await NodeChat.open(stage, token);
  assert.equal((await first.send('chat 0')).result.status, 'finished');
  const second = await NodeChat.open(stage, token, first.conversationId);
  try {
    assert.equal((await second.send('chat 1')).result.status, 'finished');
    // It has followed the other one's turn.
    await until(() => !first.chat.isBusy, 'the first chat to be idle');
    const running = first.send('chat 2');
    await until(() => stage.model.to('chat 2').length === 1, 'the model to be asked');
    const { code, message } = await second.send('chat 3').then(({ result }) => result.error, (error) => error);
    assert.equal(code, 'busy');
    assert.match(message, /\S+ \S+ \S+.*\.$/);
    assert.equal((await running).result.status, 'finished');
    const { messages } = await stage.conversation(token, first.conversationId);
    assert.deepEqual(messages.filter(({ role }) => role === 'user').map(({ content }) => content), ['chat 0', 'chat 1', 'chat 2']);
    assert.equal(stage.model.to('chat 3').length, 0);
  } finally {
    first.close();
    second.close();
  }
});
