// The four channels leak nothing: a run uses each with a word of its own, and every byte that
// went over a wire, into the database, the log or the page's events is searched for it. The
// table says where a word has to be; everywhere else it must not be.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';

import { LLMock } from '@copilotkit/aimock';
import { McpServer, createMcpHandler, fromJsonSchema } from '@modelcontextprotocol/server';

import { launch } from '../support/browser.mjs';
import { canary, found } from '../support/canary.mjs';
import { Collector } from '../support/collector.mjs';
import { Host } from '../support/host.mjs';
import { Runtime } from '../support/runtime.mjs';
import { site } from '../support/site.mjs';
import { Tap } from '../support/tap.mjs';

/** Text that JSON, URLs and line protocols like to break. */
const AWKWARD = '"\\ é🙂\u2028\u0000&%22';
const API_KEY = canary('apikey');
const PROVIDERS = { open: 'openai', claude: 'anthropic' };

/**
 * Where the word of each channel stands: `model` and `mcp` are requests to them, `up` the
 * page's requests, `down` what the page gets, `db` the database files, `page` the handler.
 */
const TABLE = {
  user: ['mcp', 'db'],
  tag: ['mcp', 'db'],
  // The token names the user by this id, and the token is the page's.
  human: ['mcp', 'db', 'up'],
  serverKey: ['mcp'],
  awareness: ['up', 'model'],
  targeted: ['up', 'mcp'],
  wildcard: ['up', 'mcp', 'page'],
  late: ['up', 'mcp'],
  kept: ['page'],
  result: ['up', 'model', 'db'],
  // What the model writes and tools answer, to prove that the search finds things.
  argument: ['model', 'mcp', 'page', 'db'],
  answer: ['model', 'down', 'db', 'events'],
};

/** The same where the server's tool needs an approval, and the page supplies other values meanwhile. */
const ASKING = {
  ...TABLE,
  // A call that waited gets the value of the moment it runs, and no other.
  targeted: ['up'],
  last: ['up', 'mcp'],
  // People see what will run.
  argument: [...TABLE.argument, 'down', 'events'],
};
const PLACES = ['model', 'mcp', 'up', 'down', 'db', 'log', 'events', 'page', 'dev', 'traces'];

let browser;
let models;
let mcp;
let collector;
let taps;
let runtime;
let words;
let called;

/** The agent of a provider whose tool of the server needs an approval. */
const asking = (uid) => `${uid}-asks`;

before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

/** A real MCP server whose tool answers with a word. */
async function hr() {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'hr', version: '1.0.0' });
    const text = { type: 'string' };
    const inputSchema = fromJsonSchema({
      type: 'object',
      properties: { summary: text, payload: text, region: text, uploaded_file_urls: text },
      required: ['summary', 'payload', 'region'],
    });
    server.registerTool('file.report', { description: 'Files a report.', inputSchema }, (args) => {
      called.push(args);
      return { content: [{ type: 'text', text: `filed ${words.answer}` }] };
    });
    return server;
  });
  const server = createServer(async (request, response) => {
    const body = request.method === 'POST' ? Readable.toWeb(request) : undefined;
    const asked = new Request(new URL(request.url, 'http://127.0.0.1'), {
      method: request.method, headers: request.headers, body, duplex: 'half',
    });
    const answer = await handler.fetch(asked);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, stop: () => server.close(() => {}).closeAllConnections() };
}

function config() {
  return `
[server]
log = "trace"

[telemetry]
otlp_endpoint = "${collector.origin}"

[models.open]
provider = "openai"
model = "gpt-4o-mini"
base_url = "${taps.model.origin}/v1"
api_key = "sk-test"

[models.claude]
provider = "anthropic"
model = "claude-test"
base_url = "${taps.model.origin}"
api_key = "sk-test"

[[apps]]
uid = "acme"
api_keys = ["${API_KEY}"]
origins = ["loopback"]

[[apps.mcp_servers]]
uid = "hr"
url = "${taps.mcp.origin}/mcp"
authorization = "Bearer ${words.serverKey}"
allow_private = true
${Object.keys(PROVIDERS).flatMap((model) => [[model, ''], [asking(model), 'approvals = ["file.report"]']]).map(([uid, more]) => `
[[apps.agents]]
uid = "${uid}"
name = "Agent"
instructions = "Be brief."
model = "${uid.split('-')[0]}"
mcp_servers = ["hr"]
${more}
`).join('')}`;
}

/** What the customer's backend does: a token and a session for one user. */
async function backend(agentUid) {
  const post = async (path, body) => {
    const answer = await runtime.post(`/api/v1/appuid/acme/${path}`, body, { 'x-api-key': API_KEY });
    assert.ok(answer.ok, `${path}: ${answer.status} ${answer.ok ? '' : await answer.text()}`);
    return answer.json();
  };
  const { authToken: token } = await post('sdkusers/auth', { externalId: words.user });
  const { agentSessionUid } = await post('agentsessions', {
    agentUid, externalUserId: words.user, tags: [words.tag, 'größe:1'], mcpserverUids: ['hr'],
  });
  // The token's own name for the user is what MCP servers get as x-human-uid.
  words.human = JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).sub;
  return { token, agentUid: agentSessionUid };
}

/** The page: every channel is one call. */
function html(given) {
  return `<!doctype html><meta charset="utf-8"><title>Taint</title><script src="${taps.page.origin}/mindset-agent.js"></script>
<mindset-agent id="agent"></mindset-agent><script>
const words = ${JSON.stringify(words)}, awkward = ${JSON.stringify(AWKWARD).replaceAll('\u2028', '\\u2028')};
window.got = [];
mindset.init({ appUid: 'acme', server: '${taps.page.origin}', getSession: async () => (${JSON.stringify(given)}) });
agent.setSituationalAwareness({ page: words.awareness + awkward });
const supply = (payload) => agent.setPassthroughParams({
  'hr.file.report.payload': payload + awkward,
  region: words.wildcard + awkward,
  'note.secret': words.kept + awkward,
});
supply(words.targeted);
agent.setPageTools([{
  name: 'note',
  description: 'Takes a note in the page.',
  parameters: { type: 'object', properties: { text: { type: 'string' }, secret: { type: 'string' }, region: { type: 'string' } }, required: ['text', 'secret'] },
  handler: (args) => {
    window.got.push(args);
    if (!words.last) supply(words.late);
    return { noted: words.result + awkward };
  },
}]);
agent.addEventListener('mindset:runtime-event', ({ detail }) => {
  if (detail.type !== 'permission_requested') return;
  supply((window.asked = (window.asked ?? 0) + 1) === 1 ? words.late : words.last);
  agent.agent.reply({ requestId: detail.requestId, decision: 'allowOnce' });
});
</script>`;
}

/** Two turns that use everything in `table`; gives the bytes of every place. */
async function turn(agentUid, table = TABLE) {
  words = Object.fromEntries(Object.keys(table).filter((name) => name !== 'human').map((name) => [name, canary(name)]));
  called = [];
  models = new LLMock({ port: 0, chunkSize: 9 });
  const report = { name: 'hr__file_report', arguments: JSON.stringify({ summary: words.argument }) };
  // The server's tool has a dot in its name, so the model's name for it is made up.
  const name = (request) => request.tools?.map((tool) => tool.function?.name ?? tool.name).find((n) => n.startsWith('hr__')) ?? report.name;
  models.on({ userMessage: 'Do it', hasToolResult: false }, (request) => ({
    toolCalls: [
      { id: 'call_note', name: 'note', arguments: JSON.stringify({ text: words.argument }) },
      { id: 'call_report', ...report, name: name(request) },
    ],
  }));
  models.on({ userMessage: 'Again', toolCallId: 'call_again' }, { content: `Filed again, ${words.answer}.` });
  models.on({ userMessage: 'Again' }, (request) => ({ toolCalls: [{ id: 'call_again', ...report, name: name(request) }] }));
  models.on({ userMessage: 'Do it', hasToolResult: true }, { content: `Both are done, ${words.answer}.` });
  await models.start();
  mcp = await hr();
  collector = await Collector.start();
  taps = { model: await Tap.to(models.url), mcp: await Tap.to(mcp.origin) };
  runtime = await Runtime.start({ config: config(), args: ['--dev'] });
  taps.page = await Tap.to(runtime.origin);
  const given = await backend(agentUid);
  const pages = await site({ '/': html(given) });
  const host = await Host.open(browser, `${pages.origin}/`);
  try {
    await host.saw('agent-idle');
    const first = await host.send('Do it');
    assert.equal(first.status, 'finished', JSON.stringify(first));
    const second = await host.send('Again');
    assert.equal(second.status, 'finished', JSON.stringify(second));
    const got = await host.run(() => window.got);
    const heard = await host.events();
    const dev = await fetch(`${runtime.origin}/v1/dev/conversations/${first.conversationId}`, {
      headers: { authorization: `Bearer ${given.token}` },
    });
    assert.equal(dev.status, 200);
    const entries = await dev.text();
    const files = readdirSync(runtime.folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && /mindset\.db/.test(join(entry.path, entry.name)))
      .map((entry) => join(entry.path, entry.name));
    assert.ok(files.length > 0);
    // The write-ahead file holds what the main one has not yet.
    const db = Buffer.concat(files.map((file) => readFileSync(file)));
    // Each turn has a trace, and the server sends them as it ends at the latest.
    await runtime.process.stop();
    return {
      got,
      heard,
      spans: collector.spans,
      places: {
        model: taps.model.sent,
        journal: Buffer.from(JSON.stringify(models.getRequests())),
        mcp: taps.mcp.sent,
        up: taps.page.sent,
        down: taps.page.answered,
        db,
        log: Buffer.from(runtime.output),
        events: Buffer.from(JSON.stringify(heard)),
        page: Buffer.from(JSON.stringify(got)),
        dev: Buffer.from(entries),
        traces: Buffer.from(collector.bodies.join('\n')),
      },
    };
  } finally {
    await host.close();
    await pages.stop();
    await runtime.stop();
    for (const tap of Object.values(taps)) await tap.stop();
    mcp.stop();
    collector.stop();
    await models.stop();
  }
}

/** Each word stands in the places that `table` allows, and nowhere else. */
function stands(places, table) {
  const wrong = [];
  for (const [channel, expected] of Object.entries(table)) {
    const word = words[channel];
    const allowed = new Set(expected);
    // --dev shows what the model saw.
    if (allowed.has('model')) allowed.add('dev');
    // Its pieces go to the page, and a piece may be the whole.
    if (channel === 'argument') allowed.add('down').add('dev');
    for (const place of PLACES) {
      const there = found(places[place], word);
      if (expected.includes(place) && !there) wrong.push(`${channel} is missing in ${place}`);
      if (!allowed.has(place) && there) wrong.push(`${channel} leaked into ${place}`);
    }
    assert.equal(found(places.journal, word), found(places.model, word), `${channel}: the model server's own journal agrees`);
  }
  assert.deepEqual(wrong, []);
  // What was searched is a log of everything.
  for (const level of ['TRACE', 'DEBUG', 'INFO']) assert.match(places.log.toString(), new RegExp(`\\b${level}\\b`));
}

const named = (spans, name) => spans.filter((span) => span.name.startsWith(`${name} `));

for (const [agentUid, provider] of Object.entries(PROVIDERS)) {
  test(`each channel arrives where it should and nowhere else, ${provider}`, async () => {
    const { places, got, spans } = await turn(agentUid);
    // The turn has two runs because of the page's tool; the other turn has one.
    assert.deepEqual(['invoke_agent', 'chat', 'execute_tool'].map((name) => named(spans, name).length), [3, 4, 2]);
    for (const span of [...named(spans, 'chat'), ...named(spans, 'execute_tool')]) {
      const parent = named(spans, 'invoke_agent').find(({ spanId }) => spanId === span.parentSpanId);
      assert.equal(parent?.traceId, span.traceId, span.name);
    }
    assert.deepEqual(named(spans, 'execute_tool').map((span) => span.name), ['execute_tool file.report', 'execute_tool file.report']);
    for (const chat of named(spans, 'chat')) {
      const facts = Object.fromEntries(chat.attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
      assert.equal(facts['gen_ai.provider.name'], provider);
      assert.ok(Number.isInteger(facts['gen_ai.usage.output_tokens']), JSON.stringify(facts));
    }
    stands(places, TABLE);

    // Byte for byte.
    assert.deepEqual(got, [{ text: words.argument, secret: words.kept + AWKWARD, region: words.wildcard + AWKWARD }]);
    const filed = { summary: words.argument, region: words.wildcard + AWKWARD };
    assert.deepEqual(called, [
      { ...filed, payload: words.targeted + AWKWARD },
      { ...filed, payload: words.late + AWKWARD },
    ]);
  });

  test(`a call that a person allows is told no more and tells no more, ${provider}`, async () => {
    const { places, got, heard, spans } = await turn(asking(agentUid), ASKING);
    stands(places, ASKING);
    // Each turn ends once to ask, and goes on in another run.
    assert.deepEqual(['invoke_agent', 'chat', 'execute_tool'].map((name) => named(spans, name).length), [4, 4, 2]);
    const asked = heard.filter(({ type }) => type === 'permission_requested').map(({ detail }) => detail.toolInput);
    const shown = { summary: words.argument, payload: '•••', region: '•••' };
    assert.deepEqual(asked, [shown, shown], 'what the page supplies is masked');
    const decided = heard.filter(({ type }) => type === 'permission_resolved').map(({ detail }) => detail.decision);
    assert.deepEqual(decided, ['allowOnce', 'allowOnce']);
    assert.equal(got.length, 1);
    const filed = { summary: words.argument, region: words.wildcard + AWKWARD };
    assert.deepEqual(called, [
      { ...filed, payload: words.late + AWKWARD },
      { ...filed, payload: words.last + AWKWARD },
    ]);
  });

  test(`the model is not told of what the page supplies, ${provider}`, async () => {
    const { places } = await turn(agentUid);
    const sent = places.model.toString();
    for (const name of ['payload', 'region', 'secret', 'uploaded_file_urls']) {
      assert.ok(!sent.includes(`"${name}"`), `the model was told of ${name}`);
    }
    assert.ok(sent.includes('"summary"') && sent.includes('"text"'));
    for (const header of ['x-user-id', 'x-app-uid', 'x-session-tags', 'x-human-uid']) {
      assert.ok(places.mcp.toString().toLowerCase().includes(header), header);
      assert.ok(!sent.toLowerCase().includes(header), header);
    }
  });
}
