// Services: MCP servers in processes that the runtime starts when a run needs them, over the SDK of
// the protocol and over fastmcp.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { pythonProgram, ROOT } from '../support/paths.mjs';
import { freePort } from '../support/ports.mjs';
import { Runtime } from '../support/runtime.mjs';
import { callingModel, turnOf } from '../support/turns.mjs';
import { until, within } from '../support/wait.mjs';

const SCRIPT = join(ROOT, 'tests/support/service.mjs');

let models;
let folder;
let runtime;

before(async () => {
  models = await callingModel();
});
afterEach(async () => {
  await runtime?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
  runtime = folder = undefined;
});
after(() => models?.stop());

/** A runtime with the service `app-service`, which does what `ways` say; `more` is of its table. */
async function start(ways = {}, { command, more = '', servers = {}, agents = ['mcp_servers = ["board"]'], startTimeout = '20s', ...options } = {}) {
  folder = await mkdtemp(join(tmpdir(), 'mindset-service-'));
  const declared = { type: 'streamable-http', url: 'http://127.0.0.1:9/mcp/board', ...servers };
  await mkdir(join(folder, 'app'));
  await writeFile(join(folder, 'app', 'servers.mcp.json'), JSON.stringify({ schemaVersion: 1, mcpServers: { board: declared } }));
  const argv = command ?? [process.execPath, SCRIPT, JSON.stringify({ file: join(folder, 'notes'), ...ways })];
  runtime = await Runtime.start({
    ...options,
    config: `
[server]
log = "debug"

[models.calling]
provider = "openai"
model = "test"
base_url = "${models.url}/v1"
api_key = "env:MODEL_KEY"

[[apps]]
uid = "firm"
api_keys = ["backend-key"]

[[apps.services]]
uid = "app-service"
command = ${JSON.stringify(argv)}
directory = "${join(folder, 'app')}"
mcp_endpoints = [{ server = "board", path = "/mcp/board" }]
start_timeout = "${startTimeout}"
backoff = "10ms"
backoff_max = "300ms"
${more}
${agents.map((line, i) => `
[[apps.agents]]
uid = "${i === 0 ? 'helper' : `helper-${i}`}"
model = "calling"
${line}
`).join('')}`,
    env: { MODEL_KEY: 'model-key-canary', ...options.env },
  });
}

/** What the service has noted, of one kind. */
async function notes(what) {
  const text = await readFile(join(folder, 'notes'), 'utf8').catch(() => '');
  const lines = text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  return lines.filter((line) => line.what === what);
}

async function token(externalId = 'ada') {
  const signed = await runtime.post('/api/v1/appuid/firm/sdkusers/auth', { externalId }, { 'x-api-key': 'backend-key' });
  return (await signed.json()).authToken;
}

const turn = async (calls, { user, agent = 'helper' } = {}) => turnOf(runtime, await token(user), agent, calls);
const add = (title) => ['board__add', { title }];

/** The error of a run that does not begin. */
async function refused(agent = 'helper') {
  const body = {
    threadId: crypto.randomUUID(), runId: crypto.randomUUID(), state: {}, tools: [], context: [], forwardedProps: {},
    messages: [{ id: crypto.randomUUID(), role: 'user', content: '[]' }],
  };
  const answer = await runtime.post(`/v1/agents/${agent}/runs`, body, { authorization: `Bearer ${await token()}` });
  const text = await answer.text();
  assert.ok(answer.status >= 400, text);
  const { error } = JSON.parse(text);
  assert.equal(error.code, 'agent-misconfigured');
  assert.match(error.message, /^The agent cannot answer without the tools of `board`: .*[^.]\. [A-Z].*\.$/);
  return error;
}

/** Whether a process is there and no zombie. */
async function alive(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat !== undefined && stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
}

test('it is started when a run needs it, once for all, and nobody shares a session', async () => {
  await start({ chatty: 3000 }, {
    more: 'env = ["BOARD_COLOUR"]',
    servers: { headers: { 'x-board': 'env:BOARD_KEY', 'x-plain': 'plain' }, timeout: 30_000, description: 'Cards.' },
    agents: ['mcp_servers = ["board"]', ''],
    env: { BOARD_COLOUR: 'green', BOARD_KEY: 'board-key-canary', OTHER_VARIABLE: 'other-canary', MINDSET__SERVER__TOKEN_SECRET: 'token-canary'.repeat(4) },
  });
  await turn([], { agent: 'helper-1' });
  assert.deepEqual(await notes('started'), []);
  const [one, two] = await Promise.all([turn([add('a'), add('b')]), turn([add('c')], { user: 'bob' })]);
  const said = [...one.results, ...two.results].map((text) => JSON.parse(text));
  assert.equal(said.length, 3);
  const [start1, ...others] = await notes('started');
  assert.deepEqual(others, []);
  assert.deepEqual(new Set(said.map(({ pid }) => pid)), new Set([start1.pid]));
  assert.deepEqual(said.map(({ cards }) => cards).sort(), [1, 2, 3]);
  // A session of the protocol for each, with who they are.
  const sessions = await notes('session');
  assert.deepEqual(sessions.map(({ headers }) => headers['x-user-id']).sort(), ['ada', 'bob']);
  assert.equal(said[0].session, said[1].session);
  assert.notEqual(said[0].session, said[2].session);
  for (const { headers } of sessions) {
    assert.equal(headers['x-board'], 'board-key-canary');
    assert.equal(headers['x-plain'], 'plain');
    assert.equal(headers['x-app-uid'], 'firm');
    assert.equal(headers.host, `127.0.0.1:${start1.port}`);
  }
  // Its environment is what it needs and what was named.
  const { env } = start1;
  assert.equal(env.MINDSET_LISTEN, `127.0.0.1:${env.PORT}`);
  assert.equal(env.BOARD_COLOUR, 'green');
  assert.ok(env.MINDSET_TOKEN.length >= 32);
  assert.equal(start1.directory, join(folder, 'app'));
  assert.ok(!JSON.stringify(start1).includes('canary'), JSON.stringify(Object.keys(env)));
  const known = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'PORT', 'MINDSET_LISTEN', 'MINDSET_TOKEN', 'BOARD_COLOUR'];
  assert.deepEqual(Object.keys(env).filter((name) => !known.includes(name)), []);
  // What it writes is in the log, in bounds, without what it was told in confidence.
  await until(() => /lines are left out.*lines=\d+/.test(runtime.output), 'the log of the service');
  assert.match(runtime.output, /DEBUG line 0 �\[31m••• service="firm\.app-service"/);
  for (const secret of [env.MINDSET_TOKEN, 'board-key-canary', 'model-key-canary']) {
    assert.ok(!runtime.output.includes(secret), secret);
  }
});

test('a process that is killed is started again; what it was doing is not repeated', async () => {
  await start();
  const { results } = await turn([add('before')]);
  const before1 = JSON.parse(results[0]).pid;
  const dying = await turn([['board__die', {}]]);
  assert.match(dying.results[0], /not known whether the call was carried out/);
  assert.equal((await notes('die')).length, 1);
  // At once: the run waits for the next process.
  const after1 = JSON.parse((await turn([add('after')])).results[0]);
  assert.notEqual(after1.pid, before1);
  assert.equal(after1.cards, 1);
  // From outside, with a call under way.
  const resting = turn([['board__rest', {}]]);
  await until(async () => (await notes('rest')).length === 1, 'the call to be there');
  process.kill(after1.pid, 'SIGKILL');
  assert.match((await resting).results[0], /not known whether the call was carried out/);
  const last = JSON.parse((await turn([add('again')])).results[0]);
  assert.notEqual(last.pid, after1.pid);
  assert.deepEqual([(await notes('rest')).length, (await notes('die')).length], [1, 1]);
  assert.equal(await alive(after1.pid), false);
});

test('a slow start is waited for', async () => {
  await start({ slow: 1500 });
  const { results } = await turn([add('late')]);
  assert.equal(JSON.parse(results[0]).cards, 1);
  assert.equal((await notes('started')).length, 1);
});

test('a service that does not come up fails the run, with the place and the remedy', async () => {
  for (const [ways, options, problem, remedy] of [
    [{ exits: 3 }, { servers: { description: 'Cards.' } }, /the service `app-service` has ended \(exit status: 3\)/, /in the log.*\[\[apps\.services\]\] `app-service`/],
    [{}, { command: ['no-such-program', 'x'] }, /there is no program `no-such-program`/, /Correct its `command` in/],
    [{ silent: true }, { startTimeout: '500ms' }, /takes no connections on the port/, /PORT.*start_timeout/],
    [{ broken: 'unmounted' }, {}, /does not serve MCP at \/mcp\/board \(.*404\)/, /Mend what it serves there, or correct `mcp_endpoints`/],
    [{ broken: 'status' }, {}, /does not serve MCP at \/mcp\/board \(.*HTTP 500\)/, /Mend what it serves/],
    [{ broken: 'garbage' }, {}, /does not serve MCP at \/mcp\/board \(/, /Mend what it serves/],
    [{ broken: 'hangs' }, { servers: { timeout: 300 } }, /does not serve MCP at \/mcp\/board \(the server does not answer\)/, /Mend what it serves/],
  ]) {
    await start(ways, { ...options, agents: ['mcp_servers = ["board"]', ''] });
    const error = await refused();
    assert.match(error.message, problem);
    assert.match(error.message, remedy);
    assert.deepEqual(error.context, { server: 'board', service: 'app-service', ...options.servers?.description && { description: 'Cards.' } });
    // Everybody else goes on, and so does what else a broken one serves.
    const { events } = await turn([], { agent: 'helper-1' });
    assert.equal(events.at(-1).type, 'RUN_FINISHED');
    if (ways.broken) {
      const [{ port }] = await notes('started');
      assert.equal(await (await fetch(`http://127.0.0.1:${port}/page`)).text(), 'the page');
      assert.equal((await notes('started')).length, 1);
    }
    if (ways.exits) assert.match(runtime.output, /the reason stands here/);
    await runtime.stop();
    await rm(folder, { recursive: true });
    runtime = folder = undefined;
  }
});

test('one that is not required is done without, and people hear of it', async () => {
  await start({ exits: 1 }, { more: 'required = false' });
  const { events } = await turn([]);
  assert.equal(events.at(-1).type, 'RUN_FINISHED');
  const warning = events.find((event) => event.type === 'CUSTOM' && event.name === 'mindset.warning');
  assert.match(JSON.stringify(warning.value), /The tools of `board` are not available now/);
});

test('a port of its own, taken and free again, and running from the beginning', async () => {
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  await new Promise((resolve) => { other.on('listening', resolve); });
  await start({}, { more: `port = ${port}\nautostart = true` });
  const { message } = await refused();
  assert.match(message, new RegExp(`finds its port ${port} taken by another program. End that one, or change \`port\` in`));
  assert.deepEqual(await notes('started'), []);
  await new Promise((resolve) => { other.close(resolve); });
  // Nobody asks: it is there by itself.
  await until(async () => (await fetch(`http://127.0.0.1:${port}/page`).catch(() => undefined))?.ok, 'the service');
  assert.equal(JSON.parse((await turn([add('x')])).results[0]).cards, 1);
});

test('a port that is lost before the service has it is replaced', async () => {
  await start({ squat: true });
  assert.equal(JSON.parse((await turn([add('x')])).results[0]).cards, 1);
  const starts = await notes('started');
  assert.equal(starts.length, 2);
  assert.notEqual(starts[0].port, starts[1].port);
  process.kill((await notes('squatter'))[0].squatter, 'SIGKILL');
});

test('the runtime ends what it has started, and all that this has started', async () => {
  await start({ stubborn: true, child: true }, { more: 'stop_timeout = "3s"' });
  await turn([add('x')]);
  const [{ pid }] = await notes('started');
  const [{ child }] = await notes('child');
  assert.deepEqual([await alive(pid), await alive(child)], [true, true]);
  await runtime.process.stop('SIGTERM');
  assert.equal((await notes('asked to end')).length, 1);
  await until(async () => !(await alive(pid)) && !(await alive(child)), 'both to be gone');
  // Started again on another port, with nothing left of before.
  await runtime.again();
  assert.equal(JSON.parse((await turn([add('x')])).results[0]).cards, 1);
});

test('a service that watches its input ends with a runtime that was killed', async () => {
  await start({ watches: true });
  await turn([add('x')]);
  const [{ pid }] = await notes('started');
  await runtime.process.stop('SIGKILL');
  await until(async () => !(await alive(pid)), 'the service to be gone');
  await runtime.again();
  assert.equal(JSON.parse((await turn([add('x')])).results[0]).cards, 1);
});

test('a service in Python, over fastmcp', async () => {
  await start({}, { command: [pythonProgram('python'), join(ROOT, 'tests/support/service.py')] });
  const { results } = await within(turn([add('x')]), 'the turn', 40_000);
  assert.match(results[0], /added x for ada/);
});
