// `createChat` without an element: in a page, in a worker of both kinds.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TIMING } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const options = () => ({ server: s.runtime.origin, appUid: 'acme', agentUid: 'support', timing: { ...TIMING, giveUp: 60_000 } });
const PAGE = '<!doctype html><title>Page</title><body><script src="/mindset-agent.js"></script>';

/** A page with the script, no element, and `window.chat` made with `more` options. */
async function page(more = '{}') {
  const host = await s.open(s.runtime.page('/', `${PAGE}<script>
    window.heard = [];
    window.chat = mindset.createChat({ ...${JSON.stringify(options())}, ...${more} });
    chat.on((event) => { if (event.type === 'text_delta') throw new Error('a listener of the page'); });
    window.off = chat.on((event) => heard.push(event));
  </script>`));
  return host;
}

const heard = (host) => host.run(() => window.heard);
const types = async (host) => (await heard(host)).map(({ type }) => type);

test('a whole conversation in a page: order, shapes, a listener that throws disturbs nobody', async () => {
  const host = await page();
  const result = await host.run(() => chat.send('hello'));
  assert.equal(result.text, 'You said: hello.');
  assert.deepEqual(await types(host), ['history_settled', 'run_started', 'text_delta', 'text_delta', 'complete', 'run_finished', 'conversation_id']);
  assert.deepEqual((await heard(host))[0].messages, []);
  assert.equal(await host.run(() => heard.every((event) => Object.isFrozen(event) && Object.getPrototypeOf(event) === Object.prototype)), true);
  const { id, count, busy } = await host.run(() => ({ id: chat.conversationId, count: chat.messages.length, busy: chat.isBusy }));
  assert.deepEqual([id, count, busy], [result.conversationId, 2, false]);
  await host.run(() => off());
  await host.run(() => chat.send('again'));
  assert.equal((await types(host)).length, 7, 'nothing after it was taken off');
  assert.equal(await host.run(() => Object.keys(sessionStorage).some((key) => key.includes('conversation'))), false);
  assert.deepEqual(await host.errors(), []);
});

test('a conversation to go on with: its id, then its messages, before anything else', async () => {
  s.runtime.conversations.set('c-one', { messages: [{ id: 'a', role: 'user', content: 'one?' }, { id: 'b', role: 'assistant', content: 'Chart of sales', widget: { kind: 'chart', doc: { bars: [1] }, summary: 'Chart of sales' } }] });
  const host = await page("{ conversationId: 'c-one' }");
  await until(async () => (await types(host)).includes('history_settled'), 'the history');
  const [first, second] = await heard(host);
  assert.deepEqual(first, { type: 'conversation_id', conversationId: 'c-one' });
  assert.deepEqual(second.messages.map(({ role, content }) => [role, content]), [['user', 'one?'], ['assistant', 'Chart of sales']]);
  assert.deepEqual(second.messages[1].widget, { kind: 'chart', doc: { bars: [1] }, summary: 'Chart of sales' });
  assert.equal(await host.run(() => Object.isFrozen(heard[1].messages[1].widget.doc.bars)), true);
  await host.run(() => chat.newConversation());
  assert.equal((await types(host)).filter((type) => type === 'history_settled').length, 2, 'once for each');
});

test('a new conversation begins with the question it was given, once, and one that is there does not', async () => {
  const host = await page("{ initialQuestion: 'What is new?' }");
  await until(async () => (await types(host)).includes('run_finished'), 'the answer');
  assert.deepEqual(s.runtime.runs.map((run) => run.text), ['What is new?']);
  assert.deepEqual(await host.run(() => chat.messages.map(({ role, content }) => [role, content])), [['user', 'What is new?'], ['assistant', 'You said: What is new?.']]);
  const all = await types(host);
  assert.ok(all.indexOf('history_settled') < all.indexOf('run_started'), all.join(' '));
  await host.run(() => chat.send('more'));
  await host.run(() => chat.newConversation());
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(s.runtime.runs.length, 2, 'not in the next conversation');
  s.runtime.conversations.set('c-one', { messages: [{ id: 'a', role: 'user', content: 'one?' }] });
  const known = await page("{ conversationId: 'c-one', initialQuestion: 'What is new?' }");
  await until(async () => (await types(known)).includes('history_settled'), 'the history');
  await known.run(() => chat.send('go on'));
  assert.deepEqual(s.runtime.runs.slice(2).map((run) => run.text), ['go on']);
});

test('the network goes and comes back: `connection` says so and the answer is whole', async () => {
  const host = await page();
  s.runtime.resumes = true;
  s.runtime.hold();
  await host.run(() => { window.answer = chat.send('hi'); });
  const run = await s.runtime.nextRun();
  run.start().say('Half, ');
  await until(async () => (await types(host)).includes('text_delta'), 'the first half');
  await host.profile.setOffline(true);
  await until(async () => (await types(host)).includes('connection'), 'a word about it');
  run.say('whole.').finish();
  await host.profile.setOffline(false);
  assert.equal((await host.run(() => window.answer)).text, 'Half, whole.');
  const states = (await heard(host)).filter(({ type }) => type === 'connection').map(({ state }) => state);
  assert.equal(states.at(-1), 'online');
  assert.match(states[0], /^(offline|reconnecting)$/);
});

test('a session of another shape is told at once, by its shape; one that throws is asked again', async () => {
  const host = await page("{ getSession: async () => new Response('secret') }");
  await until(async () => (await heard(host)).length, 'the error');
  const [event] = await heard(host);
  assert.equal(event.type, 'session_error');
  assert.equal(event.code, 'invalid-auth');
  assert.deepEqual(event.context, { received: 'Response' });
  assert.match(event.message, /getSession must give \{ token \}/);
  assert.doesNotMatch(JSON.stringify(await heard(host)), /secret/);

  const other = await page("{ getSession: async () => { window.asked = (window.asked ?? 0) + 1; if (window.asked < 3) throw new Error('not yet'); return { token: 'tok' }; } }");
  const result = await other.run(() => chat.send('hello'));
  assert.equal(result.status, 'finished');
  assert.equal(await other.run(() => window.asked), 3);
  assert.equal((await types(other)).includes('session_error'), false);
});

test('options that are wrong throw at once and say what to write', async () => {
  const host = await page();
  for (const [given, wanted] of [
    ['undefined', /createChat takes an object/],
    ["{ appUid: 'a' }", /needs agentUid/],
    ["{ agentUid: 'a' }", /needs appUid/],
    ["{ appUid: 'a', agentUid: 'b', server: 'ftp://x' }", /no http or https/],
    ["{ appUid: 'a', agentUid: 'b', getSession() {}, fetchAuthentication() {} }", /keep one/],
    ["{ appUid: 'a', agentUid: 'b', conversationId: 7 }", /conversationId must be a text/],
    ["{ appUid: 'a', agentUid: 'b', pageTools: [{}] }", /Page tool 1/],
    ["{ appUid: 'a', agentUid: 'b', passthroughParams: { f() {} } }", /`f` is a function/],
  ]) {
    const error = await host.run((source) => {
      try {
        mindset.createChat(eval(`(${source})`));
        return null;
      } catch ({ code, message }) {
        return { code, message };
      }
    }, given);
    assert.equal(error?.code, 'invalid-config', given);
    assert.match(error.message, wanted);
  }
});

test('close ends streams and settles promises; the chat says nothing more', async () => {
  const host = await page();
  s.runtime.hold();
  await host.run(() => { window.answer = chat.send('hi'); });
  const run = await s.runtime.nextRun();
  run.start().say('Half');
  await until(async () => (await types(host)).includes('text_delta'), 'the first half');
  await host.run(() => chat.close());
  await run.gone;
  assert.equal((await host.run(() => window.answer)).status, 'aborted');
  assert.equal((await host.run(() => chat.send('more'))).status, 'aborted');
  assert.equal((await types(host)).at(-1), 'text_delta');
});

for (const [kind, type, load] of [
  ['classic', 'classic', "importScripts('/mindset-agent.js'); const { createChat } = mindset;"],
  ['module', 'module', "import { createChat } from '/mindset-agent.mjs';"],
]) {
  test(`a chat in a ${kind} worker, with a tool of its own`, async () => {
    s.runtime.page('/worker.js', `${load}
      const chat = createChat({ ...${JSON.stringify(options())}, pageTools: [{ name: 'add', description: 'Adds', handler: ({ a, b }) => a + b }] });
      chat.on((event) => postMessage(event.type));
      chat.send('hi').then((result) => postMessage(result));`);
    // The page's own call with an address is what Trusted Types are against.
    s.runtime.sources = { 'require-trusted-types-for': null };
    const host = await s.open(s.runtime.page('/', '<!doctype html><title>Page</title>'));
    s.runtime.asksFor([['add', { a: 2, b: 3 }]], 'Five.');
    const told = await host.run((type) => new Promise((resolve, reject) => {
      const told = [];
      const worker = new Worker('/worker.js', { type });
      worker.onerror = (event) => reject(new Error(event.message));
      worker.onmessage = ({ data }) => {
        told.push(data);
        if (data.status) resolve(told);
      };
    }), type);
    assert.equal(told.at(-1).text, 'Five.');
    assert.deepEqual(s.runtime.results.map(({ content }) => content), ['5']);
    assert.deepEqual(told.filter((each) => /^(tool|run|complete)/.test(each)), ['run_started', 'tool_announce', 'tool_start', 'tool_end', 'complete', 'run_finished']);
  });
}

test('approvals and questionnaires are answered by the client that promises it', async () => {
  const approval = { id: 'a1', reason: 'tool_call', toolCallId: 'c1', metadata: { mindset: { toolName: 'pay', reason: 'It pays.' } } };
  const questionnaire = { id: 'q1', steps: [{ id: 's', question: 'Why?' }] };
  const question = { id: 'q1', reason: 'input_required', metadata: { mindset: { questionnaire } } };
  s.runtime.onRun = (run) => {
    if (run.input.resume?.[0].interruptId === 'q1') return run.start().say('Done.').finish();
    return run.start().finish({ type: 'interrupt', interrupts: [run.input.resume ? question : approval] });
  };
  const host = await page("{ approvals: 'ask' }");
  await host.run(() => chat.on((event) => {
    if (event.type === 'permission_requested') chat.agent.reply({ requestId: event.requestId, decision: 'allowOnce' });
  }));
  const { pendingQuestion } = await host.run(() => chat.send('go'));
  assert.deepEqual(pendingQuestion, { questionId: 'q1', requestId: 'q1', request: questionnaire });
  assert.equal(s.runtime.runs[0].input.forwardedProps.mindset.answers, true);
  const result = await host.run(() => chat.agent.answer({ requestId: 'q1', answers: [{ stepId: 's', otherText: 'So.' }] }));
  assert.equal(result.text, 'Done.');
  assert.equal(await host.run(() => chat.appendMessage('text')), false);
  assert.equal((await heard(host)).findLast(({ type }) => type === 'error').code, 'not-ready');
});
