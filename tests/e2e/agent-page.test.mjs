// The agent API of a page whose session names the agent, against the real runtime: what the page asked
// for goes on after a reload, and is shown in the element.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { configOf } from '../support/config.mjs';
import { Host } from '../support/host.mjs';
import { everything } from '../support/mcp.mjs';
import { PromptedModel } from '../support/prompted-model.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';

let model;
let tools;
let runtime;
let browser;
let pages;
let host;

before(async () => {
  [model, tools, browser] = await Promise.all([PromptedModel.start(), everything(), launch()]);
  runtime = await Runtime.start({
    config: configOf({
      model: model.url,
      app: { api_keys: ['backend-key'], agent_access: ['session.run'] },
      servers: [{ uid: 'everything', url: tools.url }],
      agents: [{ approvals: ['everything.echo'], ask_user: true }, { uid: 'other' }],
    }),
  });
  const signed = await runtime.post('/api/v1/appuid/firm/sdkusers/auth', { externalId: 'ada' }, { 'x-api-key': 'backend-key' });
  const { authToken } = await signed.json();
  pages = await site({
    '/token': authToken,
    '/': `<!doctype html><meta charset="utf-8"><title>Firm</title>
      <script src="${runtime.origin}/mindset-agent.js"></script>
      <mindset-agent id="agent"></mindset-agent>
      <script>
        const getSession = async () => ({ token: await (await fetch('/token')).text(), agentUid: 'helper' });
        mindset.init({ appUid: 'firm', getSession });
        window.client = mindset.createAgentClient({ server: '${runtime.origin}', appUid: 'firm', getSession });
        window.own = document.getElementById('agent').agent;
        window.code = (promise) => promise.then(() => 'done', ({ code }) => code);
        window.ask = (agent, text) => new Promise((resolve) => {
          window.running = agent.run({ text }, { onEvent: (event) => event.type === 'permission.requested' && resolve(event) });
        });
      </script>`,
  });
});
afterEach(() => host?.close());
after(async () => {
  await browser?.close();
  await pages?.stop();
  await runtime?.stop();
  await Promise.all([tools?.stop(), model?.stop()]);
});

async function open() {
  host = await Host.open(browser, `${pages.origin}/`);
  await host.saw('agent-idle');
}

async function reload() {
  await host.page.reload();
  await host.saw('agent-idle');
}

const ECHO = JSON.stringify([['everything__echo', { message: 'hello' }]]);
const ASK = JSON.stringify([['ask_user', { title: 'Plan', steps: [{ id: 'when', question: 'When?', options: [{ id: 'now', label: 'Now' }] }] }]]);

for (const who of ['client', 'own']) {
  test(`after a reload ${who} answers and decides what it had asked`, async () => {
    await open();
    const { sessionId, pendingQuestion } = await host.run(([who, text]) => window[who].run({ text }, { onEvent() {} }), [who, ASK]);
    const asked = await host.run(([who, text]) => window.ask(window[who], text), [who, ECHO]);
    await reload();
    const answers = [{ stepId: 'when', selectedOptionIds: ['now'] }];
    const result = await host.run(([who, given]) => window[who].answer(given), [who, { sessionId, questionId: pendingQuestion.questionId, answers }]);
    assert.deepEqual([result.sessionId, result.status, result.text], [sessionId, 'finished', 'Done.']);
    const given = { sessionId: asked.sessionId, requestId: asked.requestId, decision: 'allowOnce' };
    assert.equal(await host.run(([who, given]) => window.code(window[who].reply(given)), [who, given]), 'done');
    assert.equal(await host.run(([who, given]) => window.code(window[who].reply(given)), [who, given]), 'request_not_found');
  });
}

test('a word names the session that asks', async () => {
  await open();
  const { sessionId, requestId } = await host.run((text) => window.ask(window.client, text), ECHO);
  const reply = (given) => host.run((given) => window.code(window.client.reply(given)), { requestId, decision: 'allowOnce', ...given });
  assert.equal(await reply({ sessionId: 'other' }), 'request_not_found');
  assert.equal(await reply({ sessionId }), 'done');
  assert.equal((await host.run(() => window.running)).text, 'Done.');
});

test('the element shows a session of its agent, and people decide there', async () => {
  await open();
  const { sessionId } = await host.run(() => window.client.create());
  assert.equal(await host.run((id) => window.code(window.client.open(id)), sessionId), 'done');
  // Nobody listens but those who look at the element.
  await host.run(([sessionId, text]) => { window.running = window.client.run({ sessionId, text }); }, [sessionId, ECHO]);
  await host.panel.allowButton.click();
  assert.equal((await host.run(() => window.running)).text, 'Done.');
  assert.equal(model.requests.at(-1).at(-1).content, 'Echo: hello');
  const others = await host.run(() => window.client.create({ agent: 'other' }));
  assert.equal(await host.run((id) => window.code(window.client.open(id)), others.sessionId), 'conflict');
});
