// `createChat` in Node against the real runtime, and the example that shows it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { built, ROOT } from '../support/paths.mjs';
import { Runtime } from '../support/runtime.mjs';
import { until, within } from '../support/wait.mjs';

const SLOW = `
[models.slow]
provider = "demo"
delay = "60ms"

[[apps]]
uid = "demo"
allow_no_origin = true

[[apps.agents]]
uid = "demo"
name = "Demo"
model = "slow"
anonymous = true
`;

let runtime;
let createChat;
const running = [];

before(async () => {
  ({ createChat } = await import(pathToFileURL(built('mindset-agent-node.mjs'))));
  runtime = await Runtime.start({ config: SLOW });
});
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
});
after(() => runtime?.stop());

/** The example, with what it wrote. */
function terminal() {
  const child = spawn(process.execPath, [join(ROOT, 'examples/terminal-chat.mjs'), runtime.origin], { stdio: 'pipe' });
  running.push(child);
  const it = { child, output: '', ended: new Promise((resolve) => { child.on('exit', resolve); }) };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => { it.output += bytes; });
  it.shows = (wanted, count = 1) =>
    until(() => it.output.split(wanted).length > count, `${wanted}; there is: ${it.output}`);
  return it;
}

/** A client and what it heard. */
function talk(options = {}) {
  const events = [];
  const chat = createChat({ server: runtime.origin, appUid: 'demo', agentUid: 'demo', ...options });
  chat.on((event) => events.push(event));
  return { chat, events, types: () => events.map((event) => event.type) };
}

test('the example talks, shows a tool, stops at Ctrl-C and leaves at the next', async () => {
  const it = terminal();
  await it.shows('> ');
  it.child.stdin.write('the local time, please\n');
  await it.shows('[local_time …] [done]');
  await it.shows('> ', 2);
  it.child.stdin.write('what can you do\n');
  await it.shows('real server');
  it.child.kill('SIGINT');
  await it.shows('[stopped]');
  await it.shows('> ', 3);
  it.child.kill('SIGINT');
  assert.equal(await within(it.ended, 'the end'), 0, it.output);
});

test('what is piped in is answered to the end', async () => {
  const it = terminal();
  it.child.stdin.end('hello\nwhat can you do\n');
  assert.equal(await within(it.ended, 'the end', 20_000), 0, it.output);
  assert.match(it.output, /Nice to meet you[^]*not an AI/);
});

test('a conversation in Node: events, transcript, and the id to come back with', async () => {
  const { chat, events, types } = talk();
  const result = await chat.send('hello');
  assert.equal(result.status, 'finished');
  assert.equal(types().filter((type) => type === 'text_delta').length > 1, true);
  const order = ['run_started', 'complete', 'run_finished', 'conversation_id'].map((type) => types().indexOf(type));
  assert.deepEqual(order, [...order].sort((a, b) => a - b));
  assert.equal(chat.conversationId, result.conversationId);
  assert.deepEqual(chat.messages.map(({ role }) => role), ['user', 'assistant']);
  assert.equal(events.every(Object.isFrozen), true);
  assert.equal(Object.isFrozen(chat.messages[0]), true);
  chat.close();
  assert.equal(chat.messages.length, 2, 'what it knows can still be read');
});

test('handlers of page tools run in Node, and stop aborts them', async () => {
  const seen = [];
  const { chat } = talk({
    pageTools: [{ name: 'add_item', description: 'Adds an item', parameters: { type: 'object', properties: { item: { enum: ['apple', 'pear'] } }, required: ['item'] },
      handler: (args, context) => { seen.push(args, context.conversationId); return 'ok'; } }],
  });
  const result = await chat.send('add an apple');
  assert.equal(result.status, 'finished', JSON.stringify(result));
  assert.deepEqual(seen, [{ item: 'apple' }, result.conversationId]);
  let signal;
  chat.setPageTools([{ name: 'wait_here', description: 'Waits here', handler: (_, context) => { ({ signal } = context); return new Promise(() => {}); } }]);
  const waiting = chat.send('please wait here');
  await until(() => signal, 'the handler');
  assert.equal(chat.isBusy, true);
  await chat.stop();
  assert.equal((await waiting).status, 'aborted');
  assert.equal(signal.aborted, true);
  chat.close();
});

test('close settles what waits and the turn goes on at the server', async () => {
  const { chat } = talk();
  const answer = chat.send('what can you do');
  const queued = chat.sendWhenIdle('later');
  await until(() => chat.messages.length > 1, 'the first words');
  chat.close();
  assert.deepEqual([(await answer).status, (await queued).status], ['aborted', 'aborted']);
  assert.equal((await chat.send('too late')).status, 'aborted');
  await assert.rejects(chat.conversations(), { name: 'MindsetError', code: 'not-ready' });
});
