// Conversations of an element: listed, opened, renamed, deleted, begun anew, and their
// older messages, which are in no event.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { sentence } from '../support/expect.mjs';
import { html, TIMING } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const message = (id, role, content) => ({ id, role, content, createdAt: '2026-01-01T00:00:00.000Z' });
const exchange = (word) => [message(`${word}-q`, 'user', `${word}?`), message(`${word}-a`, 'assistant', `${word}!`)];
const element = (attributes) => `<mindset-agent id="agent" agent-uid="support" ${attributes}></mindset-agent>`;

function keep() {
  s.runtime.conversations.set('c-one', { title: 'One', messages: exchange('one') });
  s.runtime.conversations.set('c-two', { title: 'Two', messages: exchange('two') });
}

/** What a method of the element gives, or `{ refused }` with the code. */
function ask(host, method, ...args) {
  return host.run(([method, args]) => document.getElementById('agent')[method](...args).then(
    (value) => (value === undefined ? 'done' : { value }),
    (error) => ({ refused: error.code, name: error.name, message: error.message }),
  ), [method, args]);
}

/** Details of the events `mindset:conversation`. */
async function changes(host) {
  return (await host.events()).filter(({ name }) => name === 'conversation').map(({ detail: { type, ...rest } }) => rest);
}

test('the attribute names the conversation, another value switches, and no event holds what was said', async () => {
  keep();
  const host = await s.ready({ elements: element('conversation-id="c-one"') });
  await host.panel.reads('one?', 'one!');
  assert.deepEqual(await changes(host), [{ conversationId: 'c-one' }]);
  await host.run(() => document.getElementById('agent').setAttribute('conversation-id', 'c-two'));
  await host.panel.reads('two?', 'two!');
  assert.deepEqual((await changes(host))[1], { conversationId: 'c-two', replacedConversationId: 'c-one', replacedBecause: 'switched' });
  assert.equal(await host.run(() => document.getElementById('agent').conversationId), 'c-two');
  await host.run(() => { document.getElementById('agent').conversationId = 'c-one'; });
  await host.panel.reads('one?', 'one!');
  assert.doesNotMatch(JSON.stringify(await host.events()), /one[?!]|two[?!]/);
  await host.send('and now');
  assert.equal(s.runtime.runs.at(-1).input.threadId, 'c-one');
});

test('the methods list, open, rename, delete and begin anew', async () => {
  keep();
  const host = await s.ready();
  const titles = async () => (await ask(host, 'conversations')).value.map(({ id, title }) => [id, title]);
  assert.deepEqual(await titles(), [['c-one', 'One'], ['c-two', 'Two']]);
  assert.equal(await ask(host, 'switchConversation', 'c-two'), 'done');
  await host.panel.reads('two?', 'two!');
  await ask(host, 'renameConversation', 'c-one', 'First');
  assert.deepEqual(await titles(), [['c-one', 'First'], ['c-two', 'Two']]);
  await ask(host, 'deleteConversation', 'c-two');
  await host.panel.reads();
  assert.deepEqual(await titles(), [['c-one', 'First']]);
  await ask(host, 'switchConversation', 'c-one');
  await host.panel.reads('one?', 'one!');
  await ask(host, 'newConversation');
  await host.panel.reads();
  const { conversationId } = await host.send('fresh');
  assert.notEqual(conversationId, 'c-one');
  assert.deepEqual((await changes(host)).at(-1), { conversationId, replacedConversationId: 'c-one', replacedBecause: 'switched' });
});

test('what cannot be done rejects with a code and a sentence', async () => {
  keep();
  const host = await s.ready();
  for (const [method, ...args] of [['switchConversation', 'nobody'], ['switchConversation', 7], ['renameConversation', 'c-one', ''], ['renameConversation', 'c-one'], ['deleteConversation', '..']]) {
    const { refused, name, message } = await ask(host, method, ...args);
    assert.equal(name, 'MindsetError', method);
    assert.match(refused, /^(not-found|invalid-request)$/);
    if (refused === 'invalid-request') sentence(message);
  }
  s.runtime.hold();
  await host.start('busy now');
  await s.runtime.nextRun();
  assert.equal((await ask(host, 'newConversation')).refused, 'busy');
  assert.equal((await ask(host, 'switchConversation', 'c-one')).refused, 'busy');
  assert.equal((await ask(host, 'conversations')).value.length, 2, 'a list disturbs nobody');
});

test('what is asked before anything is ready waits in order; an element that is removed answers', async () => {
  keep();
  const url = s.runtime.page('/', html({ init: null, foot: `<script>
    const agent = document.getElementById('agent');
    window.asked = [agent.switchConversation('c-two'), agent.conversations(), agent.renameConversation('c-two', 'Later')];
    window.busy = agent.isAgentBusy();
    mindset.init(${JSON.stringify({ appUid: 'acme', timing: TIMING })});
  </script>` }));
  const host = await s.open(url);
  await host.panel.reads('two?', 'two!');
  const [, list] = await host.run(() => Promise.all(window.asked));
  assert.equal(list.length, 2);
  assert.equal(s.runtime.conversations.get('c-two').title, 'Later');
  assert.equal(await host.run(() => window.busy), false);
  const code = await host.run(async () => {
    const agent = document.getElementById('agent');
    const asked = agent.conversations().catch((error) => error.code);
    agent.remove();
    return asked;
  });
  assert.equal(code, 'not-ready');
});

test('a conversation that is no more is replaced and says so', async () => {
  const host = await s.ready({ elements: element('conversation-id="gone"') });
  const [{ conversationId, ...rest }] = await changes(host);
  assert.notEqual(conversationId, 'gone');
  assert.deepEqual(rest, { replacedConversationId: 'gone', replacedBecause: 'discarded' });
});

for (const [attributes, wanted] of [['', 'two'], ['conversation-id="c-one"', 'one']]) {
  test(`the session names agent and conversation${attributes && ', and the attribute goes before'}`, async () => {
    keep();
    const url = s.runtime.page('/', html({ init: null, elements: `<mindset-agent id="agent" ${attributes}></mindset-agent>`, foot: `<script>
      mindset.init({ appUid: 'acme', timing: ${JSON.stringify(TIMING)}, getSession: async () => ({ token: 'tok', agentUid: 'support', conversationId: 'c-two', expiresAt: Date.now() + 3600000 }) });
    </script>` }));
    const host = await s.open(url);
    await host.panel.reads(`${wanted}?`, `${wanted}!`);
    await host.send('hi');
    assert.equal(s.runtime.runs.at(-1).input.threadId, `c-${wanted}`);
    assert.equal(s.runtime.runs.at(-1).headers.authorization, 'Bearer tok');
  });
}

test('older messages come at the top and what is read stays where it is', async () => {
  const messages = Array.from({ length: 450 }, (_, at) => message(`m-${at}`, at % 2 ? 'assistant' : 'user', `Message ${at}`));
  s.runtime.conversations.set('long', { messages });
  const host = await s.ready({ elements: element('conversation-id="long"') });
  // Of what is not in view the browser knows the content, not how it is laid out.
  const shown = () => host.panel.host.locator('[part~="message__body"]').allTextContents();
  await until(async () => (await shown()).length === 200, 'the newest');
  const placeOf = () => host.run(() => {
    const root = document.getElementById('agent').shadowRoot;
    return Math.round(root.querySelector('[data-message-id="m-250"]').getBoundingClientRect().top);
  });
  const log = host.panel.log;
  // While pages turn, a position that no hand has set is taken for the browser's own.
  await host.run(() => new Promise((done) => setTimeout(done, 300)));
  await log.evaluate((node) => { node.scrollTop = 60; });
  const before = await placeOf();
  assert.deepEqual(await ask(host, 'loadEarlier'), { value: true });
  await until(async () => (await shown())[0] === 'Message 50', 'the older ones');
  const moved = (await placeOf()) - before;
  assert.ok(Math.abs(moved) <= 1, `the reader is moved by ${moved} pixels`);
  assert.equal(await host.panel.host.locator('[part~="jump"]').isVisible(), false, 'older messages are no new ones');
  // Whoever scrolls to the top gets the rest without asking.
  await log.evaluate((node) => { node.scrollTop = 0; });
  await until(async () => (await shown()).length === 450, 'the oldest');
  assert.equal((await shown())[0], 'Message 0');
  assert.deepEqual(await ask(host, 'loadEarlier'), { value: false });
  assert.doesNotMatch(JSON.stringify(await host.events()), /Message \d/);
});
