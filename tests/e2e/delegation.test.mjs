// Work that an agent hands to another one, as applications, pages and foreign clients see it: with the real
// runtime, its store and a real MCP server.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';

import { HttpAgent } from '@ag-ui/client';

import { createAgentClient } from '../../dist/mindset-agent-node.mjs';
import { launch } from '../support/browser.mjs';
import { configOf } from '../support/config.mjs';
import { Host } from '../support/host.mjs';
import { everything } from '../support/mcp.mjs';
import { PromptedModel } from '../support/prompted-model.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';
import { until } from '../support/wait.mjs';

const KEY = 'backend-key';
let model;
let tools;
let runtime;
let browser;
let pages;
let people = 0;
const hosts = [];

before(async () => {
  [model, tools, browser] = await Promise.all([PromptedModel.start(), everything(), launch()]);
  const servers = [{ uid: 'everything', title: 'Everything', url: tools.url, read_only: ['get-*'] }];
  const firm = { api_keys: [KEY], agent_access: ['session.run', 'session.read'], default_agent: 'helper' };
  const agents = [{ delegates: ['clerk'], mcp_servers: [] }, { uid: 'clerk', name: 'The clerk', approve_writes: true }];
  runtime = await Runtime.start({ config: configOf({ model: model.url, app: firm, servers, agents }) });
  pages = await site({ '/': `<!doctype html><meta charset="utf-8"><title>Firm</title>
    <script src="${runtime.origin}/mindset-agent.js"></script>
    <mindset-agent id="agent" app-uid="firm" agent-uid="helper" locale="de"></mindset-agent>` });
});
afterEach(() => Promise.all(hosts.splice(0).map((host) => host.close())));
after(async () => {
  await browser?.close();
  await pages?.stop();
  await runtime?.stop();
  await Promise.all([model?.stop(), tools?.stop()]);
});

/** A service that works for a new user, or for this one. */
function service(externalUserId = `person-${(people += 1)}`) {
  return createAgentClient({ server: runtime.origin, appUid: 'firm', apiKey: KEY, externalUserId });
}

const SUM = [['everything__get-sum', { a: 1, b: 2 }]];
const ECHO = [['everything__echo', { message: 'hello' }]];
const hand = (task, more = {}) => JSON.stringify([['delegate', { agent: 'clerk', task: typeof task === 'string' ? task : JSON.stringify(task), ...more }]]);

test('what a child does carries its own session, and so does its approval, which is answered by it', async () => {
  const agent = service();
  const events = [];
  const result = await agent.run({ text: hand([...SUM, ...ECHO]) }, {
    onEvent(event) {
      events.push(event);
      if (event.type !== 'permission.requested') return;
      agent.reply({ sessionId: event.sessionId, requestId: event.requestId, decision: 'allowOnce' });
    },
  });
  assert.deepEqual([result.status, result.text], ['finished', 'Done.']);
  const [{ sessionId: child }] = events.filter(({ type }) => type === 'permission.requested');
  assert.notEqual(child, result.sessionId);
  const told = (session) => events.filter(({ sessionId }) => sessionId === session)
    .map(({ type, toolName, ok, decision, text }) => [type, toolName ?? decision ?? text, ok].filter((part) => part !== undefined));
  assert.deepEqual(told(result.sessionId), [
    ['turn.started'],
    ['tool.started', 'delegate'],
    ['tool.finished', 'delegate', true],
    ['text.delta', 'Done.'],
    ['message.committed', 'Done.'],
    ['turn.finished', 'Done.'],
  ]);
  assert.deepEqual(told(child), [
    ['tool.started', 'get-sum'],
    ['tool.finished', 'get-sum', true],
    ['permission.requested', 'echo'],
    ['permission.resolved', 'allowOnce'],
    ['tool.started', 'echo'],
    ['tool.finished', 'echo', true],
    ['text.delta', 'Done.'],
    ['message.committed', 'Done.'],
  ]);
  const [{ requestId }] = events.filter(({ type }) => type === 'permission.requested');
  await assert.rejects(agent.reply({ sessionId: child, requestId, decision: 'deny' }), ({ code }) => ['REQUEST_NOT_FOUND', 'SESSION_NOT_FOUND'].includes(code));
});

test('another client answers by the id of the child, also after a restart', async () => {
  const user = `person-${(people += 1)}`;
  const agent = service(user);
  let asked;
  const running = agent.run({ text: hand(ECHO) }, { onEvent: (event) => { if (event.type === 'permission.requested') asked = event; } });
  const { sessionId, requestId } = await until(() => asked, 'the child to ask');
  const other = service(user);
  await other.reply({ sessionId, requestId, decision: 'deny' });
  assert.equal((await running).status, 'finished');
  assert.match(JSON.stringify(model.requests.at(-2)), /declined/, 'the model of the child hears it');
  asked = undefined;
  const again = agent.run({ text: hand(ECHO) }, { onEvent: (event) => { if (event.type === 'permission.requested') asked = event; } }).catch(() => {});
  const open = await until(() => asked, 'the child to ask again');
  await runtime.process.stop();
  await runtime.again();
  await service(user).reply({ sessionId: open.sessionId, requestId: open.requestId, decision: 'allowOnce' });
  await again;
  assert.match(JSON.stringify(model.requests.at(-2)), /Echo: hello/);
});

test('work in the background is heard by its own id after the turn is over, and asks and is answered by it', async () => {
  const agent = service();
  const events = [];
  const result = await agent.run({ text: hand([...SUM, ...ECHO], { background: true }) }, { onEvent: (event) => { events.push(event); } });
  assert.deepEqual([result.status, result.text], ['finished', 'Done.']);
  const asked = await until(() => events.find(({ type }) => type === 'permission.requested'), 'the work to ask');
  const { sessionId: child, requestId } = asked;
  assert.notEqual(child, result.sessionId);
  assert.deepEqual(asked.toolInput, { message: 'hello' });
  assert.equal(events.filter(({ type, sessionId }) => type === 'turn.finished' && sessionId === result.sessionId).length, 1);
  await agent.reply({ sessionId: child, requestId, decision: 'allowOnce' });
  await until(() => events.find(({ type, sessionId }) => type === 'turn.finished' && sessionId === child), 'the work to be over');
  const own = events.filter(({ sessionId }) => sessionId === child);
  assert.deepEqual(own.map(({ type, toolName, ok, decision, text }) => [type, toolName ?? decision ?? text, ok].filter((part) => part !== undefined)), [
    ['turn.started'],
    ['tool.started', 'get-sum'],
    ['tool.finished', 'get-sum', true],
    ['permission.requested', 'echo'],
    ['permission.resolved', 'allowOnce'],
    ['tool.started', 'echo'],
    ['tool.finished', 'echo', true],
    ['text.delta', 'Done.'],
    ['message.committed', 'Done.'],
    ['turn.finished', 'Done.'],
  ]);
  assert.equal(new Set(own.map(({ turnId }) => turnId)).size, 1);
  assert.notEqual(own[0].turnId, result.turnId);
  assert.equal(own.at(-1).status, 'finished');
  await assert.rejects(agent.reply({ sessionId: child, requestId, decision: 'deny' }), { code: 'REQUEST_NOT_FOUND' });
});

test('work in the background that a person denies, and another client that answers', async () => {
  const user = `person-${(people += 1)}`;
  const events = [];
  await service(user).run({ text: hand(ECHO, { background: true }) }, { onEvent: (event) => { events.push(event); } });
  const { sessionId, requestId } = await until(() => events.find(({ type }) => type === 'permission.requested'), 'the work to ask');
  await service(user).reply({ sessionId, requestId, decision: 'deny' });
  const end = await until(() => events.find((event) => event.type === 'turn.finished' && event.sessionId === sessionId), 'the work to be over');
  assert.deepEqual([end.status, end.text], ['finished', 'Done.']);
  assert.equal(events.find(({ type }) => type === 'permission.resolved').decision, 'deny');
});

test('a page: the line in its language, the card of the child, and its answer', async () => {
  const host = await Host.open(browser, `${pages.origin}/`);
  hosts.push(host);
  await host.saw('agent-idle');
  await host.start(hand(ECHO));
  await host.page.getByRole('button', { name: 'Erlauben' }).waitFor();
  assert.match(await host.panel.question.innerText(), /Echo Tool[\s\S]*message\s+hello/);
  const { detail } = await host.saw('runtime-event:permission_requested');
  assert.ok(detail.sessionId);
  await host.page.getByRole('button', { name: 'Erlauben' }).click();
  await host.saw('complete');
  await host.panel.shows('Done.');
  const line = host.page.locator('mindset-agent').locator('[part="tool__text"]');
  assert.deepEqual(await line.allInnerTexts(), ['Übergeben an The clerk']);
  assert.deepEqual(await host.panel.texts(), [hand(ECHO), 'Done.'], 'what the child said is in its own conversation');
  assert.deepEqual(await host.errors(), []);
});

test('a foreign client sees a subagent, and answers its approval as an interrupt of the run', async () => {
  const token = await runtime.token('helper', 'firm');
  const client = new HttpAgent({ url: `${runtime.origin}/v1/agents/helper/runs`, threadId: randomUUID(), headers: { Authorization: `Bearer ${token}` } });
  client.addMessage({ id: randomUUID(), role: 'user', content: hand([...SUM, ...ECHO]) });
  const events = [];
  const subscriber = { onEvent: ({ event }) => { events.push(event); } };
  await client.runAgent({ runId: randomUUID() }, subscriber);
  const started = events.find(({ type }) => type === 'SUBAGENT_STARTED');
  assert.equal(started.name, 'The clerk');
  const { interrupts } = events.at(-1).outcome;
  assert.deepEqual(interrupts.map(({ reason, metadata }) => [reason, metadata.mindset.sessionId]), [['tool_call', started.subagentRunId]]);
  const own = (kind) => events.filter(({ type, subagentRunId }) => type === kind && subagentRunId === started.subagentRunId);
  assert.equal(own('TOOL_CALL_START').length, 2);
  assert.equal(own('TOOL_CALL_RESULT').length, 1);
  const ids = events.filter(({ type }) => type === 'TOOL_CALL_START').map(({ toolCallId }) => toolCallId);
  assert.equal(new Set(ids).size, 3, 'no call has the id of another');
  events.length = 0;
  await client.runAgent({ runId: randomUUID(), resume: [{ interruptId: interrupts[0].id, status: 'resolved', payload: { approved: true } }] }, subscriber);
  assert.equal(events.at(-1).type, 'RUN_FINISHED');
  assert.equal(own('TOOL_CALL_RESULT').length, 1);
  const text = own('TEXT_MESSAGE_CONTENT').map(({ delta }) => delta).join('');
  assert.equal(text, 'Done.');
  assert.equal(events.filter(({ type, subagentRunId }) => type === 'TEXT_MESSAGE_CONTENT' && !subagentRunId).map(({ delta }) => delta).join(''), 'Done.');
});
