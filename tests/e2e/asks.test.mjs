// What people decide, with the real element, the real runtime, its store and a real MCP server.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { launch } from '../support/browser.mjs';
import { configOf } from '../support/config.mjs';
import { Host } from '../support/host.mjs';
import { everything } from '../support/mcp.mjs';
import { built } from '../support/paths.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';
import { callingModel } from '../support/turns.mjs';

let models;
let reference;
let runtime;
let browser;
let pages;
const hosts = [];

before(async () => {
  [models, reference, browser] = await Promise.all([callingModel(), everything(), launch()]);
  runtime = await Runtime.start({
    config: configOf({
      model: `${models.url}/v1`,
      servers: [{ uid: 'everything', title: 'Everything', url: reference.url }],
      agents: [{ approvals: ['everything.echo'], ask_user: true }],
    }),
  });
  pages = await site({ '/': `<!doctype html><meta charset="utf-8"><title>Firm</title>
    <script src="${runtime.origin}/mindset-agent.js"></script>
    <mindset-agent id="agent" app-uid="firm" agent-uid="helper"></mindset-agent>` });
});
afterEach(() => Promise.all(hosts.splice(0).map((host) => host.close())));
after(async () => {
  await browser?.close();
  await pages?.stop();
  await runtime?.stop();
  await Promise.all([reference?.stop(), models?.stop()]);
});

async function open() {
  const host = await Host.open(browser, `${pages.origin}/`);
  hosts.push(host);
  await host.saw('agent-idle');
  return host;
}

const ECHO = JSON.stringify([['everything__echo', { message: 'hello' }]]);
const QUESTIONS = { title: 'Plan', steps: [{ id: 'when', question: 'When?', options: [{ id: 'now', label: 'Now' }, { id: 'later', label: 'Later' }] }] };
const ASK = JSON.stringify([['ask_user', QUESTIONS]]);

/** The last result of a tool that the model got. */
const heard = () => models.getRequests().at(-1).body.messages.at(-1).content;

test('a tool runs after the person allowed it, also after a reload and a restart of the runtime', async () => {
  const host = await open();
  await host.start(ECHO);
  await host.panel.allowButton.waitFor();
  assert.match(await host.panel.question.innerText(), /Echo Tool[\s\S]*message\s+hello/);
  await host.page.reload();
  await host.panel.allowButton.waitFor();
  await runtime.process.stop();
  await runtime.again();
  await host.page.reload();
  await host.panel.allowButton.waitFor();
  assert.equal(await host.busy(), true);
  await host.panel.allowButton.click();
  await host.saw('tool-end');
  const { detail } = await host.saw('tool-end');
  assert.deepEqual([detail.toolName, detail.ok], ['echo', true]);
  await host.saw('complete');
  assert.equal(await host.panel.question.count(), 0);
});

test('a questionnaire: its answers reach the model, and stay in the transcript', async () => {
  const host = await open();
  const result = await host.send(ASK);
  assert.equal(result.pendingQuestion.request.title, 'Plan');
  const again = host.panel.question;
  await again.getByRole('radio', { name: 'Later' }).check();
  await again.getByRole('button', { name: 'Send', exact: true }).click();
  await host.panel.shows('Done.');
  await host.panel.shows('When? Later');
  assert.equal(await again.count(), 0);
});

test('a form of a server of 2025-11-25: the call waits, also over a reload, and its server gets the answers', async () => {
  const host = await open();
  await host.send(JSON.stringify([['everything__trigger-elicitation-request', {}]]));
  const card = host.panel.question;
  await card.getByRole('textbox', { name: 'String' }).waitFor();
  await host.page.reload();
  await card.getByRole('textbox', { name: 'String' }).fill('Ann');
  await card.getByRole('button', { name: 'Next', exact: true }).click();
  await card.getByRole('radio', { name: 'Yes' }).check();
  await card.getByRole('button', { name: 'Next', exact: true }).click();
  for (let step = 2; step < 13; step += 1) {
    await card.getByText(`${step + 1} of 13`).waitFor();
    await card.getByRole('button', { name: 'Skip', exact: true }).click();
  }
  const { detail } = await host.saw('tool-end');
  assert.equal(detail.ok, true);
  await host.panel.shows('Done.');
  assert.match(heard(), /Name: Ann[\s\S]*Agreed to terms: true/);
});

test('nobody can answer: the model is told at once', async () => {
  const { createChat } = await import(pathToFileURL(built('mindset-agent-node.mjs')));
  const chat = createChat({ server: runtime.origin, appUid: 'firm', agentUid: 'helper' });
  const types = [];
  chat.on(({ type }) => types.push(type));
  assert.equal((await chat.send(ECHO)).text, 'Done.');
  assert.ok(!types.includes('permission_requested') && !types.includes('tool_start'));
  assert.equal((await chat.send(JSON.stringify([['everything__trigger-elicitation-request', {}]]))).text, 'Done.');
  assert.match(heard(), /User cancelled/);
  chat.close();
});

test('in Node the agent API answers, with codes in upper case', async () => {
  const { createChat } = await import(pathToFileURL(built('mindset-agent-node.mjs')));
  const chat = createChat({ server: runtime.origin, appUid: 'firm', agentUid: 'helper', approvals: 'ask' });
  const ended = [];
  chat.on((event) => {
    if (event.type === 'permission_requested') void chat.agent.reply({ requestId: event.requestId, decision: 'deny' });
    if (event.type === 'tool_end') ended.push(event.ok);
  });
  assert.equal((await chat.send(ECHO)).text, 'Done.');
  assert.deepEqual(ended, [false]);
  const { pendingQuestion, conversationId } = await chat.send(ASK);
  await assert.rejects(chat.agent.answer({ questionId: 'other', answers: [] }), { name: 'AgentError', code: 'REQUEST_NOT_FOUND', disposition: 'reported' });
  const result = await chat.agent.answer({ sessionId: conversationId, requestId: pendingQuestion.requestId, answers: [{ stepId: 'when', selectedOptionIds: ['now'] }] });
  assert.deepEqual([result.status, result.text], ['finished', 'Done.']);
  chat.close();
});
