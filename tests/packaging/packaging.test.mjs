// The npm package as a stranger installs it: packed, unpacked, imported in plain
// Node, required, type-checked, bundled.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { consumer as makeProject } from '../support/consumer.mjs';
import { npmProgram, ROOT } from '../support/paths.mjs';
import { ScriptedRuntime } from '../support/scripted-runtime.mjs';

const run = promisify(execFile);
let project;
let consumer;

before(async () => {
  project = await makeProject();
  consumer = project.folder;
});
after(() => project?.stop());

/** Runs a program text in the consumer's folder; gives what it printed. */
async function node(source, type = 'module') {
  const { stdout, stderr } = await run(process.execPath, [`--input-type=${type}`, '-e', source], { cwd: consumer, timeout: 20_000 });
  assert.equal(stderr, '');
  return stdout.trim();
}

test('import in plain Node has no effect and does not throw', async () => {
  assert.equal(await node("const m = await import('mindset-agent'); console.log(typeof m.init, 'window' in globalThis)"), 'function false');
});

test('require in plain Node', async () => {
  assert.equal(await node("const m = require('mindset-agent'); console.log(typeof m.init)", 'commonjs'), 'function');
});

test('import and require with a half-faked window', async () => {
  const fake = 'globalThis.window = {}; globalThis.document = {};';
  assert.equal(await node(`${fake} const m = await import('mindset-agent'); console.log(typeof m.init)`), 'function');
  assert.equal(await node(`${fake} console.log(typeof require('mindset-agent').init)`, 'commonjs'), 'function');
  assert.equal(await node(`globalThis.customElements = { get() {}, define() {} }; globalThis.HTMLElement = class {};
    const m = await import('mindset-agent'); console.log(typeof m.init)`), 'function');
});

test('the vocabulary of widgets comes along', async () => {
  const kinds = await node(`import schema from 'mindset-agent/schema/widgets.json' with { type: 'json' };
    console.log(schema.examples.map(({ kind }) => kind).join(' '));`);
  assert.equal(kinds, 'card list table form choices chart progress');
});

test('a process that imported the package ends by itself', async () => {
  assert.equal(await node("import 'mindset-agent'; process.on('exit', () => console.log('ended'))"), 'ended');
});

test('init on a server rejects with a code and a sentence', async () => {
  const told = await node(`import { init, MindsetError } from 'mindset-agent';
    const p = init({ appUid: 'acme' });
    console.log(JSON.stringify(await p.then(() => 'resolved', (e) => [e instanceof MindsetError, e.code, e.message])));`);
  const [kind, code, message] = JSON.parse(told);
  assert.equal(kind, true);
  assert.equal(code, 'unsupported-browser');
  assert.ok(message.length > 20, message);
});

/** A program that makes a chat with the scripted runtime `url`, as the text of its `body`. */
const chatting = (url, body) => `const chat = createChat({ server: ${JSON.stringify(url)}, appUid: 'acme', agentUid: 'support' });
  const types = []; chat.on((event) => types.push(event.type)); process.on('exit', () => console.log('left'));
  ${body}`;

for (const [kind, head, type, wrap] of [
  ['import', "import { createChat } from 'mindset-agent';", 'module', (body) => body],
  ['require', "const { createChat } = require('mindset-agent');", 'commonjs', (body) => `(async () => { ${body} })();`],
]) {
  test(`createChat in Node by ${kind}: it talks, and the process ends by itself`, async () => {
    const runtime = await ScriptedRuntime.start();
    try {
      // Not closed: an idle chat keeps nobody.
      const told = await node(`${head} ${wrap(chatting(runtime.origin, "console.log(JSON.stringify([await chat.send('hello'), chat.messages.length])); console.log(types.join(' '));"))}`, type);
      const [line, types, left] = told.split('\n');
      const [result, count] = JSON.parse(line);
      assert.equal(result.text, 'You said: hello.');
      assert.equal(count, 2);
      assert.match(types, /^history_settled run_started text_delta text_delta complete run_finished conversation_id$/);
      assert.equal(left, 'left');
    } finally {
      await runtime.stop();
    }
  });
}

test('a chat that nobody uses keeps no process alive, also while its token is renewed in time', async () => {
  const runtime = await ScriptedRuntime.start();
  try {
    const began = Date.now();
    const body = "await new Promise((done) => chat.on(({ type }) => type === 'history_settled' && done())); console.log('settled');";
    assert.equal(await node(`import { createChat } from 'mindset-agent'; ${chatting(runtime.origin, body)}`), 'settled\nleft');
    assert.ok(Date.now() - began < 15_000);
  } finally {
    await runtime.stop();
  }
});

test('close in mid-answer lets the process end', async () => {
  const runtime = await ScriptedRuntime.start();
  try {
    runtime.onRun = (run) => run.start().say('Half');
    const body = "const answer = chat.send('hello'); chat.on(({ type }) => type === 'text_delta' && chat.close()); console.log((await answer).status);";
    assert.equal(await node(`import { createChat } from 'mindset-agent'; ${chatting(runtime.origin, body)}`), 'aborted\nleft');
  } finally {
    await runtime.stop();
  }
});

test('options that are wrong throw in Node as in a page', async () => {
  const told = await node(`import { createChat, MindsetError } from 'mindset-agent';
    try { createChat({ appUid: 'acme' }); } catch (e) { console.log(e instanceof MindsetError, e.code, e.message); }`);
  assert.match(told, /^true invalid-config createChat needs server/);
});

test('the package holds what it needs and nothing private', async () => {
  const folder = join(consumer, 'node_modules', 'mindset-agent');
  const names = await readdir(join(folder, 'dist'));
  for (const name of ['mindset-agent.js', 'mindset-agent.mjs', 'mindset-agent.cjs', 'mindset-agent-node.mjs', 'mindset-agent-node.cjs', 'mindset-agent.d.ts']) {
    assert.ok(names.includes(name), `${name} is in the package`);
  }
  const modules = names.filter((name) => name.endsWith('.wasm'));
  assert.deepEqual(modules.map((name) => name.replace(/-\w{16}/, '')), ['mindset-agent.wasm', 'mindset-later.wasm']);
  const files = await readdir(folder, { recursive: true });
  assert.deepEqual(files.filter((name) => /\.(rs|db|toml|pem|env)$/.test(name)), []);
  for (const name of names.filter((n) => /js$/.test(n))) {
    const text = await readFile(join(folder, 'dist', name), 'utf8');
    assert.ok(!text.includes(ROOT), `${name} names a folder of the machine it was built on`);
    assert.doesNotMatch(text, /\beval\(|new Function\(|document\.write|createElement\(["']script/, name);
  }
  for (const name of modules) {
    const text = await readFile(join(folder, 'dist', name), 'latin1');
    assert.ok(!text.includes(ROOT), `${name} names a folder of the machine it was built on`);
  }
});

for (const [kind, file, options] of [
  ['a bundler', 'consumer.ts', ['--module', 'esnext', '--moduleResolution', 'bundler']],
  ['Node, ESM', 'consumer.mts', ['--module', 'nodenext']],
  ['Node, CommonJS', 'consumer.cts', ['--module', 'nodenext']],
]) {
  test(`types of a small consumer hold under tsc --strict (${kind})`, async () => {
    const path = join(consumer, file);
    await copyFile(join(ROOT, 'tests', 'packaging', 'consumer.ts'), path);
    await run(npmProgram('tsc'), ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom', ...options, file], { cwd: consumer })
      .catch((error) => assert.fail(`${error.stdout}${error.stderr}`));
  });
}

test('a bundler takes the module without settings', async () => {
  await writeFile(join(consumer, 'app.js'), "import { init } from 'mindset-agent'; init({ appUid: 'acme', server: 'https://agents.example' });");
  await run(npmProgram('esbuild'), ['app.js', '--bundle', '--format=esm', '--outfile=out.js', '--log-level=error'], { cwd: consumer });
  assert.match(await readFile(join(consumer, 'out.js'), 'utf8'), /mindset-agent/);
});
