// The runtime as a client of models nobody in this project wrote: aimock as an
// OpenAI-compatible and as an Anthropic server.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { LLMock } from '@copilotkit/aimock';

import { launch } from '../support/browser.mjs';
import { Host } from '../support/host.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';

const INSTRUCTIONS = 'You work in the shop of Acme. Answer in one sentence.';
const FIRST = 'Delivery is free above 40 €, and it takes two days.';
const SECOND = 'You asked about delivery before. 🙂';

let models;
let browser;
let runtime;
let page;

before(async () => {
  models = new LLMock({ port: 0, chunkSize: 7 });
  models.onMessage('Is delivery free?', { content: FIRST });
  models.onMessage('What did I ask?', { content: SECOND });
  await models.start();
  runtime = await Runtime.start({
    config: `
[models.open]
provider = "openai"
model = "gpt-4o-mini"
base_url = "${models.url}/v1"
api_key = "env:TEST_OPENAI_KEY"

[models.anthropic]
provider = "anthropic"
model = "test-model"
base_url = "${models.url}"
api_key = "env:TEST_ANTHROPIC_KEY"
max_tokens = 500

[[apps]]
uid = "shop"
origins = ["loopback"]
allow_no_origin = true
${['open', 'anthropic'].map((name) => `
[[apps.agents]]
uid = "${name}"
name = "Shop"
instructions = "${INSTRUCTIONS}"
model = "${name}"
anonymous = true
`).join('')}`,
    env: { TEST_OPENAI_KEY: 'sk-open-secret-1', TEST_ANTHROPIC_KEY: 'sk-ant-secret-2' },
  });
  browser = await launch();
  page = await site({
    '/open': html('open'),
    '/anthropic': html('anthropic'),
  });
});
after(async () => {
  await browser?.close();
  await page?.stop();
  await runtime?.stop();
  await models?.stop();
});

const html = (agent) => `<!doctype html><title>Shop</title><script src="${runtime.origin}/mindset-agent.js"></script>
  <mindset-agent id="agent" app-uid="shop" agent-uid="${agent}"></mindset-agent>`;

/** The text of a message, whether it is a string or a list of parts. */
const text = ({ content }) => (typeof content === 'string' ? content : content.map((part) => part.text).join(''));

/** Two turns with an agent; gives what the model was sent in each. */
async function twoTurns(agent) {
  models.clearRequests();
  const host = await Host.open(browser, `${page.origin}/${agent}`);
  try {
    await host.saw('agent-idle');
    assert.equal((await host.send('Is delivery free?')).text, FIRST);
    assert.equal((await host.send('What did I ask?')).text, SECOND);
    await host.panel.reads('Is delivery free?', FIRST, 'What did I ask?', SECOND);
    assert.ok((await host.names()).filter((name) => name === 'text-delta').length > 4, 'the answers were streamed');
    const ids = (await host.events()).flatMap((e) => [e.detail.runId, e.detail.conversationId]).filter(Boolean);
    return { requests: models.getRequests(), ids: [...new Set(ids)] };
  } finally {
    await host.close();
  }
}

/** Nothing of the session is in what the model was sent. */
function nothingOfTheSession({ requests, ids }) {
  const sent = JSON.stringify(requests.map((r) => r.body));
  for (const id of ids) assert.ok(!sent.includes(id), `the model was sent ${id}`);
  for (const word of ['clientId', 'threadId', 'forwardedProps', 'PSEUDO_HUMAN', 'secret', 'Bearer', runtime.origin]) {
    assert.ok(!sent.includes(word), `the model was sent "${word}"`);
  }
}

test('OpenAI-compatible: two turns, and what the model was sent', async () => {
  const seen = await twoTurns('open');
  assert.equal(seen.requests.length, 2);
  for (const { path, body } of seen.requests) {
    assert.equal(path, '/v1/chat/completions');
    assert.equal(body.model, 'gpt-4o-mini');
    assert.equal(body.stream, true);
  }
  const [first, second] = seen.requests.map(({ body }) => body.messages.map((m) => [m.role, text(m)]));
  assert.deepEqual(first, [['system', INSTRUCTIONS], ['user', 'Is delivery free?']]);
  assert.deepEqual(second, [
    ['system', INSTRUCTIONS],
    ['user', 'Is delivery free?'],
    ['assistant', FIRST],
    ['user', 'What did I ask?'],
  ]);
  nothingOfTheSession(seen);
});

test('Anthropic: two turns, and what the model was sent', async () => {
  const seen = await twoTurns('anthropic');
  assert.equal(seen.requests.length, 2);
  for (const { path, body } of seen.requests) {
    assert.equal(path, '/v1/messages');
    assert.equal(body.stream, true);
    assert.equal(body.max_tokens, 500);
    const system = body.system ?? body.messages.find((m) => m.role === 'system');
    assert.match(JSON.stringify(system), /You work in the shop of Acme/);
  }
  const turns = ({ body }) => body.messages.filter((m) => m.role !== 'system').map((m) => [m.role, text(m)]);
  assert.deepEqual(turns(seen.requests[0]), [['user', 'Is delivery free?']]);
  assert.deepEqual(turns(seen.requests[1]), [
    ['user', 'Is delivery free?'],
    ['assistant', FIRST],
    ['user', 'What did I ask?'],
  ]);
  nothingOfTheSession(seen);
});

test('two conversations do not see each other', async () => {
  const [one, two] = [await twoTurns('open'), await twoTurns('open')];
  assert.equal(two.requests[0].body.messages.length, one.requests[0].body.messages.length);
});

test('a model that answers 500, then works', async () => {
  const host = await Host.open(browser, `${page.origin}/open`);
  try {
    await host.saw('agent-idle');
    models.setChaos({ dropRate: 1 });
    const failed = await host.send('Is delivery free?');
    assert.equal(failed.status, 'error');
    assert.equal((await host.saw('runtime-event:run_error')).detail.reason, 'model_error');
    models.clearChaos();
    assert.equal((await host.send('Is delivery free?')).text, FIRST);
  } finally {
    models.clearChaos();
    await host.close();
  }
});

test('keys of models are in no output of the runtime', () => {
  assert.doesNotMatch(runtime.output, /secret-\d/);
});
