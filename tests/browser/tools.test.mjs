// Page tools: what a page may register, and a definite result for whatever its
// handlers do.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { sentence } from '../support/expect.mjs';
import { html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { longest } from '../support/tasks.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

/** Registers tools; `source` is JavaScript of a list. Gives what was thrown, or null. */
function setTools(host, source, id = 'agent') {
  return host.run(([source, id]) => {
    try {
      document.getElementById(id).setPageTools((0, eval)(`(${source})`));
      return null;
    } catch (e) {
      return { name: e.name, code: e.code, message: e.message, isTypeError: e instanceof TypeError };
    }
  }, [source, id]);
}

/** One turn in which the model calls these tools; gives the results the model got, in order. */
async function turn(host, calls, id = 'agent') {
  const before = s.runtime.runs.length;
  s.runtime.asksFor(calls);
  const result = await host.send('go', undefined, id);
  assert.equal(result.status, 'finished', JSON.stringify(result));
  return s.runtime.runs.slice(before).flatMap((run) => run.results);
}

/** One tool with this handler, called once; gives the one result. */
async function outcome(host, handler, args = {}) {
  assert.equal(await setTools(host, `[{ name: 'it', description: 'd', handler: ${handler} }]`), null);
  const results = await turn(host, [['it', args]]);
  assert.equal(results.length, 1);
  return results[0];
}

test('the model gets what the handler gives, and the page sees the tool run', async () => {
  const host = await s.ready();
  await setTools(host, `[{
    name: 'add_to_cart', description: 'Adds to the cart', runningDescription: 'Adding…', completedDescription: 'Added',
    parameters: { type: 'object', properties: { quantity: { type: 'number' } }, required: ['quantity'] },
    async handler(args, context) {
      window.got = { args, keys: Object.keys(context), self: this.name, aborted: context.signal.aborted };
      window.ids = [context.toolCallId, context.conversationId];
      await new Promise((done) => setTimeout(done, 100));
      return { success: true, total: args.quantity * 2 };
    },
  }]`);
  s.runtime.asksFor([['add_to_cart', { quantity: 3 }, 'call-1']]);
  const result = await host.send('buy');
  assert.equal(result.text, 'Done.');
  const [first, second] = s.runtime.runs.map((run) => run.input);
  assert.deepEqual(first.tools, [{
    name: 'add_to_cart', description: 'Adds to the cart',
    parameters: { type: 'object', properties: { quantity: { type: 'number' } }, required: ['quantity'] },
  }]);
  assert.deepEqual(second.messages.map(({ role, toolCallId, content, error }) => [role, toolCallId, content, error]), [
    ['tool', 'call-1', '{"success":true,"total":6}', undefined],
  ]);
  assert.deepEqual(second.tools, first.tools);
  assert.deepEqual(await host.run(() => window.got), {
    args: { quantity: 3 }, keys: ['signal', 'toolCallId', 'conversationId'], self: 'add_to_cart', aborted: false,
  });
  assert.deepEqual(await host.run(() => window.ids), ['call-1', first.threadId]);
  const events = (await host.events()).filter((event) => /^tool-/.test(event.name)).map((event) => event.detail);
  const { durationMs, ...end } = events[1];
  assert.ok(durationMs >= 90, `${durationMs}`);
  assert.deepEqual([events[0], end], [
    { type: 'tool_start', toolCallId: 'call-1', toolName: 'add_to_cart', source: 'page', description: 'Adding…' },
    { type: 'tool_end', toolCallId: 'call-1', toolName: 'add_to_cart', ok: true, description: 'Added' },
  ]);
  assert.deepEqual(await host.panel.calls(), ['Done: Added']);
});

test('the agent is busy, and shows the tool, until its result is on its way (B11)', async () => {
  const host = await s.ready();
  await setTools(host, `[{ name: 'slow', description: 'd', runningDescription: 'Looking…', handler: () => new Promise((done) => { window.finish = done; }) }]`);
  s.runtime.asksFor([['slow']]);
  await host.start('go');
  await host.page.waitForFunction(() => window.finish);
  assert.deepEqual(await host.panel.calls(), ['Running: Looking…']);
  assert.equal(await host.busy(), true);
  assert.equal(await host.panel.stopButton.isVisible(), true);
  assert.equal((await host.names()).filter((name) => name === 'agent-idle').length, 1);
  await host.run(() => window.finish('ok'));
  assert.equal((await host.late()).status, 'finished');
  assert.equal((await host.names()).filter((name) => name === 'agent-idle').length, 2);
  assert.deepEqual(await host.panel.calls(), ['Done: Looking…']);
});

// H-27 and its whole kind: handler, result of the model or what its error says.
const OUTCOMES = [
  ['() => {}', 'null'],
  ['() => null', 'null'],
  ['() => false', 'false'],
  ['() => "text"', '"text"'],
  ['() => NaN', 'null'],
  ['(args) => args', '{"a":1}'],
  ['() => ({ then(done) { done("a thenable"); } })', '"a thenable"'],
  ['() => ({ get then() { throw new Error("then") } })', /then/],
  ["() => { throw 'no access'; }", /^no access$/],
  ['() => { throw new Error("message\\nsecond line"); }', /^message\nsecond line$/],
  ['() => { throw new Error(); }', /without saying why/],
  ['() => { throw ""; }', /without saying why/],
  ['() => { throw undefined; }', /without saying why/],
  ['() => { throw { code: 7 }; }', /without saying why/],
  ['() => { throw { get message() { throw 1; } }; }', /without saying why/],
  ['() => Promise.reject(null)', /without saying why/],
  ['() => { const o = {}; o.self = o; return o; }', /`result\.self` contains itself/],
  ['() => { const a = [[]]; a[0].push({ up: a }); return a; }', /`result\[0\]\[0\]\.up` contains itself/],
  ['() => { const o = {}; return [o, o]; }', '[{},{}]'],
  ['() => window', /`result` is a value of type Window/],
  ['() => ({ here: { el: document.createElement("p") } })', /`result\.here\.el` is a value of type HTMLParagraphElement/],
  ['() => document.querySelectorAll("p")', /`result` is a value of type NodeList/],
  ['() => 10n', /`result` is a BigInt/],
  ['() => ({ f() {}, n: 1n, d: new Date(0), e: new Error("x"), m: new Map([["k", 1]]) })', /`result\.n` is a BigInt/],
  ['() => ({ f() {}, d: new Date(0), u: undefined, list: [undefined, () => {}] })', '{"d":"1970-01-01T00:00:00.000Z","list":[null,null]}'],
  ['() => ({ m: new Map([["k", 1]]) })', /`result\.m` is a value of type Map.*plain object/],
  ['() => new Set([1])', /`result` is a value of type Set/],
  ['() => ({ e: new Error("x") })', /`result\.e` is a value of type Error/],
  ['() => new Uint8Array(3)', /`result` is a value of type Uint8Array/],
  ['() => new (class Order { id = 1; })()', '{"id":1}'],
  ['() => Object.create(null)', '{}'],
  ['() => () => {}', /`result` is a function/],
  ['() => ({ toJSON() { throw new Error("boom"); } })', /`result` cannot be read: boom/],
  ['() => ({ a: { toJSON() { return { b: 1 }; } } })', '{"a":{"b":1}}'],
  ['() => ({ get a() { throw new Error("boom"); } })', /`result\.a` cannot be read: boom/],
  ['() => new Proxy({}, { ownKeys() { throw new Error("boom"); } })', /`result` cannot be read: boom/],
  ['() => { let o = {}; for (let i = 0; i < 10_000; i += 1) o = { o }; return o; }', /nested more than 128 deep/],
  ['() => JSON.parse(\'{"__proto__":{"a":1}}\')', '{"__proto__":{"a":1}}'],
  ['() => "\\u0000\\u2028\\ud83d"', '"\\u0000\u2028\\ud83d"'],
  ['() => document.createElement("iframe")', /HTMLIFrameElement/],
];

test('every result is definite, and no stack leaves the page', async () => {
  const host = await s.ready();
  for (const [handler, expected] of OUTCOMES) {
    const { content, error } = await outcome(host, handler, { a: 1 });
    if (typeof expected === 'string') {
      assert.deepEqual([content, error], [expected, undefined], handler);
    } else {
      assert.match(content, expected, handler);
      assert.equal(error, content, handler);
      assert.doesNotMatch(content, /\bat .*:\d+:\d+/, handler);
    }
  }
  assert.deepEqual(await host.errors(), []);
});

test('a window of another origin and an object of another frame', async () => {
  const other = s.runtime.page('/frame', '<!doctype html><title>Frame</title>').replace('127.0.0.1', 'localhost');
  s.runtime.sources = { 'frame-src': new URL(other).origin };
  const host = await s.ready();
  const { content } = await outcome(host, `async () => {
    const frame = document.createElement('iframe');
    frame.src = ${JSON.stringify(other)};
    document.body.append(frame);
    await new Promise((done) => frame.addEventListener('load', done));
    return { frame: frame.contentWindow };
  }`);
  assert.match(content, /`result\.frame` cannot be read/);
  const plain = await outcome(host, `() => {
    const frame = document.createElement('iframe');
    document.body.append(frame);
    return frame.contentWindow.JSON.parse('{"list":[{}],"none":{}}');
  }`);
  assert.equal(plain.content, '{"list":[{}],"none":{}}');
});

test('ten megabytes are cut for the model at a character, with both sizes, and nothing freezes', async () => {
  const host = await s.ready();
  let content;
  const long = await longest(host.page, async () => {
    ({ content } = await outcome(host, `() => '\u{1F642}'.repeat(2_500_000)`));
  });
  assert.ok(Buffer.byteLength(content) <= 256 * 1024);
  assert.match(content, /the first \d+ of 10000002 bytes are shown/);
  assert.doesNotMatch(content, /\uFFFD/);
  assert.ok(long < 1_500, `a task of ${long} ms`);
  const many = await outcome(host, `() => Array.from({ length: 400_000 }, (_, id) => ({ id, name: 'n' }))`);
  assert.match(many.content, /bytes are shown/);
});

test('a handler that never returns ends at its time-out, with its signal', async () => {
  const host = await s.ready();
  await setTools(host, `[{ name: 'it', description: 'd', timeoutMs: 200, handler: (_, { signal }) => new Promise((done) => {
    signal.addEventListener('abort', () => { window.reason = [signal.reason.name, signal.reason.message]; setTimeout(done, 50, 'late'); });
  }) }]`);
  const [{ content, error }] = await turn(host, [['it']]);
  assert.match(content, /did not answer within 0\.2(00)? s/);
  assert.equal(error, content);
  const [name, message] = await host.run(() => window.reason);
  assert.equal(name, 'AbortError');
  sentence(message);
  assert.deepEqual(await host.panel.calls(), ['Failed: it']);
  await new Promise((done) => setTimeout(done, 100));
  assert.equal(await host.busy(), false);
  const { detail } = await host.saw('tool-end');
  assert.equal(detail.ok, false);
  assert.match(detail.error, /did not answer/);
});

test('stop() aborts the handler, and its late result is nobody’s', async () => {
  const host = await s.ready();
  await setTools(host, `[{ name: 'it', description: 'd', handler: (_, { signal }) => new Promise((done) => {
    window.begun = true;
    signal.addEventListener('abort', () => { window.reason = signal.reason.name; done('late'); });
  }) }]`);
  s.runtime.asksFor([['it']]);
  await host.start('go');
  await host.page.waitForFunction(() => window.begun);
  await host.run(() => document.getElementById('agent').stop());
  assert.equal((await host.late()).status, 'aborted');
  assert.equal(await host.run(() => window.reason), 'AbortError');
  assert.deepEqual(await host.panel.calls(), ['Stopped: it']);
  const { detail } = await host.saw('runtime-event:run_error');
  assert.deepEqual(detail.effects?.map((effect) => [effect.toolName, effect.outcome]), [['it', 'unknown']]);
  s.runtime.onRun = (run) => run.start().say('Fine.').finish();
  assert.equal((await host.send('next')).text, 'Fine.');
});

test('a reference to another document is asked for nowhere', async () => {
  const host = await s.ready();
  const elsewhere = `${s.runtime.origin}/schema.json`;
  await setTools(host, `[{ name: 'it', description: 'd', handler: (args) => args, parameters: { properties: { a: { $ref: ${JSON.stringify(elsewhere)} } } } }]`);
  const [{ content }] = await turn(host, [['it', { a: 1 }]]);
  assert.equal(content, '{"a":1}', 'it accepts any value');
  assert.equal(s.runtime.requests.includes('GET /schema.json'), false);
});

test('several calls of one step run at once and may end in the same tick', async () => {
  const host = await s.ready();
  await setTools(host, `['a', 'b', 'c'].map((name) => ({ name, description: name, handler: () => new Promise((done, fail) => {
    (window.ends ??= []).push(() => (name === 'b' ? fail('b failed') : done(name)));
    if (window.ends.length === 3) window.ends.forEach((end) => end());
  }) }))`);
  const results = await turn(host, [['a', {}, '1'], ['b', {}, '2'], ['c', {}, '3']]);
  assert.deepEqual(results.map((result) => [result.toolCallId, result.content]), [['1', '"a"'], ['2', 'b failed'], ['3', '"c"']]);
  assert.deepEqual(await host.panel.calls(), ['Done: a', 'Failed: b', 'Done: c']);
  assert.equal(s.runtime.runs.length, 2, 'one run brings them all');
});

test('arguments are plain JSON objects (H-29)', async () => {
  const host = await s.ready();
  const seen = { filter: { status: 'open', tags: ['a', null] }, none: null, n: 0, s: '', b: false, deep: { a: { b: { c: [{}] } } }, __proto__x: 1, constructor: 'c' };
  await setTools(host, "[{ name: 'echo', description: 'd', handler: (args) => { window.got = args; return args; } }]");
  const text = JSON.stringify(seen).replace('}', '},"__proto__":{"polluted":true}');
  const [{ content }] = await turn(host, [['echo', text]]);
  const facts = await host.run(() => ({
    isMap: window.got instanceof Map,
    prototypes: [window.got, window.got.filter].map((value) => Object.getPrototypeOf(value) === Object.prototype),
    own: Object.hasOwn(window.got, '__proto__'), polluted: window.got.polluted ?? {}.polluted ?? null, none: 'none' in window.got,
  }));
  assert.deepEqual(facts, { isMap: false, prototypes: [true, true], own: true, polluted: null, none: true });
  assert.deepEqual(JSON.parse(content), JSON.parse(text));
});

test('the whole nested list arrives, however the stream is cut', async () => {
  const host = await s.ready();
  const args = { addresses: [{ street: 'é', no: 1 }, { street: '🙂', no: 2 }, { street: 'c', no: 3 }] };
  await setTools(host, "[{ name: 'it', description: 'd', handler: (args) => args }]");
  s.runtime.onRun = (run) => {
    if (run.results.length) return run.start().say('Done.').finish();
    run.start().event({ type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'it' });
    for (const delta of JSON.stringify(args)) run.event({ type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta });
    run.event({ type: 'TOOL_CALL_END', toolCallId: 'c' }).finish({ type: 'success', pendingToolCallIds: ['c'] });
  };
  await host.send('go');
  assert.deepEqual(JSON.parse(s.runtime.results[0].content), args);
});

test('arguments that do not fit reach no handler, and the model is told where', async () => {
  const host = await s.ready();
  await setTools(host, `[{ name: 'it', description: 'd', parameters: { type: 'object', properties: { n: { type: 'integer' } } },
    handler: (args) => { (window.ran ??= []).push(args); return 'ok'; } }]`);
  for (const [args, expected] of [
    ['', '"ok"'], ['null', '"ok"'], ['[]', '"ok"'], ['  ', '"ok"'], ['{}', '"ok"'],
    ['"foo"', /must be one JSON object/], ['3', /must be one JSON object/], ['[1]', /must be one JSON object/],
    ['{"a":', /not valid JSON/], ['{"n":"x"}', /\/n/], ['{"n":12345678901234567890}', /too large/],
  ]) {
    const [{ content }] = await turn(host, [['it', args]]);
    if (typeof expected === 'string') assert.equal(content, expected, args);
    else assert.match(content, expected, args);
  }
  assert.deepEqual(await host.run(() => window.ran), [{}, {}, {}, {}, {}]);
});

test('pass-through fills page tools in the page: stripped, injected, and sent nowhere', async () => {
  const host = await s.ready();
  await setTools(host, `[{ name: 'crm.update', description: 'd', handler() {} }]`.replace('crm.update', 'update'));
  await setTools(host, `[{ name: 'update', description: 'd',
    parameters: { type: 'object', properties: { id: { type: 'string' }, note: { type: 'string' }, tenant: { type: 'string' } }, required: ['id', 'note'] },
    handler: (args) => { window.got = args; return 'ok'; } }]`);
  await host.run(() => document.getElementById('agent').setPassthroughParams({ 'update.id': 'SECRET-1 \u{1F642}\u2028', tenant: 'SECRET-2', other: 'x' }));
  s.runtime.asksFor([['update', { note: 'n', id: 'invented' }]]);
  await host.send('go');
  assert.deepEqual(await host.run(() => window.got), { note: 'n', id: 'SECRET-1 \u{1F642}\u2028', tenant: 'SECRET-2' });
  const [first] = s.runtime.runs.map((run) => run.input);
  assert.deepEqual(first.tools[0].parameters, { type: 'object', properties: { note: { type: 'string' } }, required: ['note'] });
  assert.deepEqual(first.forwardedProps.mindset.passthroughParams, { tenant: 'SECRET-2', other: 'x' });
  assert.doesNotMatch(s.runtime.runs.map((run) => run.body).join(), /SECRET-1/);
  assert.doesNotMatch(JSON.stringify(await host.events()), /SECRET/);
});

test('tools registered anew while one runs: the old handler ends, the next call takes the new one', async () => {
  const host = await s.ready();
  await setTools(host, "[{ name: 'it', description: 'd', handler: () => new Promise((done) => { window.finish = done; }) }]");
  s.runtime.onRun = (run) => (run.results.length < 1 ? run.start().calls(['it', {}, `call-${s.runtime.runs.length}`])
    : s.runtime.runs.length < 3 ? run.start().calls(['it', {}, 'call-2']) : run.start().say('Done.').finish());
  await host.start('go');
  await host.page.waitForFunction(() => window.finish);
  await setTools(host, "[{ name: 'it', description: 'd', handler: () => 'new' }]");
  await host.run(() => window.finish('old'));
  await host.late();
  assert.deepEqual(s.runtime.results.map((result) => result.content), ['"old"', '"new"']);
});

test('a tool that was taken back meanwhile is not run, and the model is told', async () => {
  const host = await s.ready();
  await setTools(host, "[{ name: 'it', description: 'd', handler: () => { window.ran = true; } }]");
  s.runtime.onRun = async (run) => {
    if (run.results.length) return run.start().say('Done.').finish();
    await setTools(host, '[]');
    run.start().calls(['it']);
  };
  await host.send('go');
  assert.match(s.runtime.results[0].content, /offers no tool|taken the tool back/);
  assert.equal(await host.run(() => window.ran ?? false), false);
});

const BAD = [
  ['null', /wants a list/], ['{}', /wants a list/], ["'x'", /wants a list/], ['[7]', /Page tool 1 must be an object/],
  ['[{}]', /Page tool 1: name must be a text; it is undefined/],
  ["[{ name: 'ok', description: 'd', handler() {} }, { name: 'bad' }]", /Page tool 2 \(`bad`\): description must be a text/],
  ["[{ name: 'bad', description: 'd' }]", /Page tool 1 \(`bad`\): handler must be a function/],
  ["[{ name: 'bad', description: 'd', handler: 'x' }]", /handler must be a function/],
  ["[{ name: 'bad', description: 'd', handler() {}, parameters: [] }]", /parameters must be a JSON Schema object/],
  ["[{ name: 'bad', description: 'd', handler() {}, parameters: { properties: { a: { default: 1n } } } }]", /`parameters\.properties\.a\.default` is a BigInt/],
  ["[{ name: 'bad', description: 'd', handler() {}, parameters: { type: 'array' } }]", /bad.*"object"/],
  ["[{ name: 'bad', description: 'd', handler() {}, parameters: { properties: { a: { pattern: '(' } } } }]", /bad.*regular expression/],
  ["[{ name: 'bad', description: 'd', handler() {}, timeoutMs: 0 }]", /timeoutMs must be/],
  ["[{ name: 'bad', description: 'd', handler() {}, confirm: 7 }]", /confirm must be/],
  ["[{ name: 'bad', description: 'd', handler() {}, readOnly: 'yes' }]", /readOnly must be true or false/],
  ["[{ name: 'bad name', description: 'd', handler() {} }]", /bad name.*letters/],
  ["[{ name: '', description: 'd', handler() {} }]", /letters/],
  ["[{ name: 'a'.repeat(65), description: 'd', handler() {} }]", /letters/],
  ["['x', 'x'].map((name) => ({ name, description: 'd', handler() {} }))", /unique/],
  ["Array.from({ length: 129 }, (_, i) => ({ name: 't' + i, description: 'd', handler() {} }))", /129.*128/],
  ["[{ name: 'big', description: 'd'.repeat(300_000), handler() {} }]", /256 KiB/],
  ["[{ name: 'bad', get description() { throw new Error('boom'); }, handler() {} }]", /description cannot be read: boom/],
];

test('one bad tool refuses the list with a TypeError that names it; the list before stays', async () => {
  const host = await s.ready();
  await setTools(host, "[{ name: 'good', description: 'd', handler: () => 'still here' }]");
  for (const [source, expected] of BAD) {
    const refused = await setTools(host, source);
    assert.deepEqual([refused?.isTypeError, refused?.code], [true, 'invalid-config'], `${source}: ${JSON.stringify(refused)}`);
    assert.match(refused.message, expected);
    sentence(refused.message);
  }
  assert.equal((await turn(host, [['good']]))[0].content, '"still here"');
  assert.equal((await host.names()).includes('error'), false);
});

test('tools set before anything is ready go out with the first message', async () => {
  s.runtime.asksFor([['it']]);
  const host = await s.open(s.runtime.page('/', html({ init: null, foot: `<script>
    const agent = document.getElementById('agent');
    agent.setPageTools([{ name: 'it', description: 'd', handler: () => 'early' }]);
    agent.setPageTools([{ name: 'it', description: 'd', handler: () => 'early' }, { name: 'not ok', description: 'd', handler() {} }]);
    try { agent.setPageTools('x'); } catch (e) { window.thrown = e.code; }
    agent.sendWhenIdle('hello');
    mindset.init({ appUid: 'acme' });
  </script>` })));
  await host.saw('complete');
  assert.equal(s.runtime.results[0].content, '"early"');
  assert.equal(await host.run(() => window.thrown), 'invalid-config');
  assert.match((await host.error()).message, /not ok/);
});

test('one call id runs once, however often the stream says it (B13)', async () => {
  const host = await s.ready({ elements: '<mindset-agent id="agent" agent-uid="support"></mindset-agent><mindset-agent id="other" agent-uid="support"></mindset-agent>' });
  await host.saw('agent-idle', 1, 'other');
  for (const id of ['agent', 'other']) {
    await setTools(host, `[{ name: 'it', description: 'd', handler: () => { (window.ran ??= []).push('${id}'); return '${id}'; } }]`, id);
  }
  s.runtime.onRun = (run) => {
    if (run.results.length && s.runtime.runs.length > 3) return run.start().say('Done.').finish();
    run.start();
    // The same call in two runs of the turn, and twice in a snapshot.
    const call = { id: 'once', type: 'function', function: { name: 'it', arguments: '{}' } };
    run.event({ type: 'MESSAGES_SNAPSHOT', messages: [
      { id: 'u', role: 'user', content: 'go' }, { id: 'a', role: 'assistant', toolCalls: [call] },
    ] });
    run.finish({ type: 'success', pendingToolCallIds: ['once', 'once'] });
  };
  assert.equal((await host.send('go')).status, 'finished');
  assert.deepEqual(await host.run(() => window.ran), ['agent']);
  assert.deepEqual([...new Set(s.runtime.results.map((result) => result.content))], ['"agent"']);
});

test('a handler may use the element while it runs', async () => {
  const host = await s.ready();
  await setTools(host, `[{ name: 'it', description: 'd', handler: async () => {
    const agent = document.getElementById('agent');
    agent.setSituationalAwareness({ seen: true });
    agent.setPageTools([{ name: 'next', description: 'd', handler() {} }]);
    window.later = agent.sendWhenIdle('after');
    let code;
    try { await agent.sendMessage('now'); } catch (e) { code = e.code; }
    return { code, busy: agent.isAgentBusy() };
  } }]`);
  const [{ content }] = await turn(host, [['it']]);
  assert.equal(content, '{"code":"busy","busy":true}');
  assert.equal(await host.run(() => window.later.then((result) => result.status)), 'finished');
  assert.deepEqual(s.runtime.runs.at(-1).input.tools.map((tool) => tool.name), ['next']);
});

test('removing the element aborts its handlers; nothing comes of what they give', async () => {
  const host = await s.ready();
  await setTools(host, `[{ name: 'it', description: 'd', handler: (_, { signal }) => new Promise((done) => {
    window.begun = true;
    signal.addEventListener('abort', () => { window.aborted = true; done('late'); });
  }) }]`);
  s.runtime.asksFor([['it']]);
  await host.start('go');
  await host.page.waitForFunction(() => window.begun);
  await host.run(() => document.getElementById('agent').remove());
  await host.page.waitForFunction(() => window.aborted);
  assert.equal((await host.late()).status, 'aborted');
  await until(() => s.runtime.live === 0, 'no stream to be open');
  assert.equal(s.runtime.results.length, 0);
  assert.deepEqual(await host.errors(), []);
});
