// Sending: by hand and by call, what is shown, and the events a page hears.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

/** Events of one good turn with an answer in two pieces, in order. */
const TURN = [
  'agent-busy',
  'runtime-event:run_started',
  'runtime-event:text_delta', 'text-delta',
  'runtime-event:text_delta', 'text-delta',
  'runtime-event:complete', 'complete',
  'runtime-event:run_finished',
  'conversation', 'thread-changed',
  'agent-idle',
];

/** Events of a turn whose conversation is known already. */
const NEXT_TURN = TURN.filter((name) => !['conversation', 'thread-changed'].includes(name));

test('typing and Enter streams an answer', async () => {
  const host = await s.ready();
  s.runtime.hold();
  await host.panel.say('hello');
  const run = await s.runtime.nextRun();
  assert.equal(run.text, 'hello');
  assert.equal(await host.panel.input.inputValue(), '');
  run.start().say('Good ');
  await host.panel.reads('hello', 'Good');
  run.say('morning.');
  await host.panel.reads('hello', 'Good morning.');
  assert.equal(await host.busy(), true);
  run.finish();
  await host.saw('agent-idle', 2);
  assert.equal(await host.busy(), false);
  await host.panel.reads('hello', 'Good morning.');
});

test('the Send button sends too, and an empty composer sends nothing', async () => {
  const host = await s.ready();
  await host.panel.say('   ');
  await host.panel.input.fill('by button');
  await host.panel.sendButton.click();
  await host.panel.reads('by button', 'You said: by button.');
  assert.equal(s.runtime.runs.length, 1);
});

test('sendMessage streams an answer and resolves with the turn', async () => {
  const host = await s.ready();
  const result = await host.send('hello');
  assert.equal(result.status, 'finished');
  assert.equal(result.text, 'You said: hello.');
  const { input } = s.runtime.runs[0];
  assert.equal(result.conversationId, input.threadId);
  assert.equal(result.runId, input.runId);
  assert.equal(result.error, undefined);
  await host.panel.reads('hello', 'You said: hello.');
});

test('a run carries the new message only, under one thread and another run id each time', async () => {
  const host = await s.ready();
  await host.send('first');
  await host.send('second');
  const [one, two] = s.runtime.runs.map((run) => run.input);
  assert.equal(one.threadId, two.threadId);
  assert.notEqual(one.runId, two.runId);
  assert.deepEqual(two.messages.map((m) => [m.role, m.content]), [['user', 'second']]);
  assert.equal(two.protocolVersion, '1.0');
  assert.equal(two.forwardedProps.mindset.inputType, 'HUMAN');
  assert.equal(typeof two.forwardedProps.mindset.clientId, 'string');
  assert.match(s.runtime.runs[0].headers.accept, /text\/event-stream/);
  for (const list of ['tools', 'context']) assert.deepEqual(two[list], []);
});

test('silent shows the answer and not the message', async () => {
  const host = await s.ready();
  const result = await host.send('secret word', { silent: true });
  assert.equal(result.text, 'You said: secret word.');
  await host.panel.reads('You said: secret word.');
  assert.equal(s.runtime.runs[0].input.forwardedProps.mindset.inputType, 'PSEUDO_HUMAN');
  const { detail } = await host.saw('complete');
  assert.deepEqual(detail.messages.map((m) => m.role), ['assistant']);
});

test('the events of two turns, in the order of the contract', async () => {
  const host = await s.ready();
  await host.send('one');
  await host.send('two');
  assert.deepEqual(await host.names(), ['agent-registered', 'agent-initializing', 'agent-idle', ...TURN, ...NEXT_TURN]);
});

test('details are frozen plain JSON, events bubble and cross the shadow boundary', async () => {
  const host = await s.ready();
  await host.send('hello');
  for (const event of await host.events()) {
    assert.ok(event.frozen, `${event.name} is frozen`);
    assert.ok(event.plain, `${event.name} is plain JSON`);
    assert.deepEqual([event.bubbles, event.composed, event.cancelable, event.target], [true, true, false, 'agent'], event.name);
  }
});

test('details carry what the contract names', async () => {
  const host = await s.ready();
  const result = await host.send('hello');
  const detail = async (name) => (await host.saw(name)).detail;
  assert.deepEqual((await host.events())[1].detail, {});
  assert.deepEqual(await detail('agent-busy'), { runId: result.runId });
  assert.deepEqual(await detail('runtime-event:run_started'), {
    type: 'run_started', runId: result.runId, conversationId: result.conversationId,
  });
  const delta = await detail('text-delta');
  assert.equal(delta.type, 'text_delta');
  assert.equal(delta.content, 'You said: ');
  assert.equal(typeof delta.messageId, 'string');
  assert.deepEqual(await detail('runtime-event:run_finished'), { type: 'run_finished', runId: result.runId });
  const conversation = await detail('conversation');
  assert.equal(conversation.type, 'conversation_id');
  assert.equal(conversation.conversationId, result.conversationId);
  assert.deepEqual(await detail('thread-changed'), { threadUid: result.conversationId });
  assert.equal((await host.saw('agent-idle', 2)).detail.conversationId, result.conversationId);
});

test('complete on the DOM holds this turn only', async () => {
  const host = await s.ready();
  await host.send('first');
  await host.send('second');
  const complete = (await host.saw('complete', 2)).detail;
  assert.deepEqual(complete.messages.map((m) => [m.role, m.content]), [
    ['user', 'second'], ['assistant', 'You said: second.'],
  ]);
  for (const message of complete.messages) assert.equal(typeof message.id, 'string');
});

test('an answer in several messages: all are shown, text is the last', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.start().say('First.').endMessage().say('Second.').finish();
  const result = await host.send('hello');
  assert.equal(result.text, 'Second.');
  await host.panel.reads('hello', 'First.', 'Second.');
  const { detail } = await host.saw('complete');
  assert.deepEqual(detail.messages.map((m) => m.content), ['hello', 'First.', 'Second.']);
});

test('the promise settles after agent-idle, with the element idle', async () => {
  const host = await s.ready();
  const seen = await host.run(async () => {
    const element = document.getElementById('agent');
    const log = [];
    element.addEventListener('mindset:agent-idle', () => log.push(`idle ${element.isAgentBusy()}`));
    element.addEventListener('mindset:agent-busy', () => log.push(`busy ${element.isAgentBusy()}`));
    const promise = element.sendMessage('hello');
    log.push(`called ${element.isAgentBusy()}`);
    await promise;
    log.push(`settled ${element.isAgentBusy()}`);
    return log;
  });
  assert.deepEqual(seen, ['busy true', 'called true', 'idle false', 'settled false']);
});

test('every delta is painted before complete is heard', async () => {
  const host = await s.ready();
  await host.run(() => {
    const element = document.getElementById('agent');
    element.addEventListener('mindset:complete', () => {
      window.painted = [...element.shadowRoot.querySelectorAll('[part~="message__body"]')].map((n) => n.textContent);
    });
  });
  await host.send('hello');
  assert.deepEqual(await host.run(() => window.painted), ['hello', 'You said: hello.']);
});

test('a bound is in complete and in the result', async () => {
  const host = await s.ready();
  const bound = { reason: 'step_limit', limit: 25 };
  s.runtime.onRun = (run) => run.start().say('So far.').finish({ type: 'cancelled' }, { metadata: { mindset: { bound } } });
  const result = await host.send('hello');
  assert.equal(result.status, 'finished');
  assert.deepEqual(result.bound, bound);
  assert.deepEqual((await host.saw('complete')).detail.bound, bound);
  await host.saw('runtime-event:run_finished');
});

test('stop() ends the turn here and on the server', async () => {
  const host = await s.ready();
  s.runtime.hold();
  await host.start('hello');
  const run = await s.runtime.nextRun();
  run.start().say('Half an ans');
  await host.panel.reads('hello', 'Half an ans');
  await host.run(() => document.getElementById('agent').stop());
  assert.equal(await host.busy(), false);
  const result = await host.late();
  assert.equal(result.status, 'aborted');
  assert.deepEqual(s.runtime.cancels, [run.input.runId]);
  const { detail } = await host.saw('runtime-event:run_error');
  assert.equal(detail.reason, 'cancelled');
  assert.equal(detail.aborted, true);
  assert.equal((await host.events()).filter((e) => e.name === 'error').length, 0, 'a stop is no error');
  await host.panel.reads('hello', 'Half an ans');
  s.runtime.onRun = (r) => r.start().say('Next.').finish();
  assert.equal((await host.send('next')).text, 'Next.');
});

test('the Stop button and a server that does not hear the cancel', async () => {
  const host = await s.ready();
  s.runtime.hold();
  s.runtime.onCancel = () => {};
  await host.panel.say('hello');
  const run = await s.runtime.nextRun();
  run.start().say('On and on');
  await host.panel.reads('hello', 'On and on');
  await host.panel.stopButton.click();
  await host.saw('agent-idle', 2);
  await run.gone;
  assert.equal(s.runtime.cancels.length, 1);
  assert.equal((await host.saw('runtime-event:run_error')).detail.aborted, true);
});

test('nothing arrives after a stop', async () => {
  const host = await s.ready();
  s.runtime.hold();
  s.runtime.onCancel = () => {};
  await host.start('hello');
  const run = await s.runtime.nextRun();
  run.start().say('one');
  await host.panel.reads('hello', 'one');
  await host.run(() => { document.getElementById('agent').stop(); });
  for (let i = 0; i < 20 && run.open; i += 1) run.say(' more');
  await host.late();
  const names = await host.names();
  const end = names.lastIndexOf('runtime-event:run_error');
  assert.deepEqual(names.slice(end), ['runtime-event:run_error', 'agent-idle']);
});

test('stop() before the server said anything', async () => {
  const host = await s.ready();
  s.runtime.hold();
  await host.start('hello');
  const run = await s.runtime.nextRun();
  await host.run(() => document.getElementById('agent').stop());
  assert.equal((await host.late()).status, 'aborted');
  await run.gone;
  assert.deepEqual(s.runtime.cancels, [run.input.runId]);
  assert.equal(await host.busy(), false);
  s.runtime.onRun = (r) => r.start().say('Next.').finish();
  assert.equal((await host.send('next')).text, 'Next.');
});

test('stop() while nothing runs does nothing', async () => {
  const host = await s.ready();
  const before = await host.names();
  await host.run(() => document.getElementById('agent').stop());
  assert.deepEqual(await host.names(), before);
  assert.deepEqual(s.runtime.cancels, []);
});

test('text beyond ASCII and a character cut between chunks', async () => {
  const host = await s.ready();
  s.runtime.hold();
  await host.start('naïve 你好 🙂');
  const run = await s.runtime.nextRun();
  assert.equal(run.text, 'naïve 你好 🙂');
  run.start();
  // No id: it would not be of the last event's.
  const bytes = Buffer.from(`id:\ndata: ${JSON.stringify({ type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', role: 'assistant', delta: 'Grüße 🙂 你' })}\r\n\r\n`);
  for (const byte of bytes) {
    run.raw(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  run.finish();
  assert.equal((await host.late()).text, 'Grüße 🙂 你');
  await host.panel.reads('naïve 你好 🙂', 'Grüße 🙂 你');
});

test('keep-alive comments, unknown events and unknown fields are ignored', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.start({ later: 1 })
    .raw(': still here\n\n: and here\r\n\r\n')
    .event({ type: 'SOMETHING_NEW', payload: {} })
    .raw('event: ping\ndata: {"type":"CUSTOM","name":"x.y","value":null}\n\n')
    .say('ok').finish();
  assert.equal((await host.send('hello')).text, 'ok');
  assert.deepEqual(await host.errors(), []);
});

test('two thousand deltas arrive in order', async () => {
  const host = await s.ready();
  const words = Array.from({ length: 2000 }, (_, i) => `${i} `);
  s.runtime.onRun = (run) => {
    run.start();
    for (const word of words) run.say(word);
    run.finish();
  };
  const result = await host.send('count');
  assert.equal(result.text, words.join(''));
  await until(async () => (await host.panel.texts())[1]?.trim() === words.join('').trim(), 'the whole answer on screen');
});

test('a disclosure of the agent is shown', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.start({ metadata: { mindset: { disclosure: 'This is a demonstration and not an AI.' } } }).say('Hi.').finish();
  await host.send('hello');
  await host.panel.shows('This is a demonstration and not an AI.');
  assert.equal((await host.saw('runtime-event:run_started')).detail.disclosure, 'This is a demonstration and not an AI.');
});
