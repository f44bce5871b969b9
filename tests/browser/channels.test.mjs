// Situational awareness and pass-through parameters: what a page may write, where it
// goes, and where it does not.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { sentence } from '../support/expect.mjs';
import { html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

/** Calls a method of the element; gives what it threw as plain data, or null. */
function call(host, method, source) {
  return host.run(([method, source]) => {
    try {
      // The argument is JavaScript: what matters here is no JSON.
      document.getElementById('agent')[method]((0, eval)(`(${source})`));
      return null;
    } catch (e) {
      const { name, code, message, retryable, context } = e;
      return { name, code, message, retryable, context, isError: e instanceof Error };
    }
  }, [method, source]);
}

/** What the last run said of the two channels. */
function posted() {
  const { context, forwardedProps } = s.runtime.runs.at(-1).input;
  return { awareness: context?.map((entry) => [entry.description, entry.value]) ?? [], passthrough: forwardedProps?.mindset?.passthroughParams };
}

function element(attributes) {
  return `<mindset-agent id="agent" agent-uid="support" ${attributes}></mindset-agent>`;
}

test('what a page sets goes out with the next message, and is replaced', async () => {
  const host = await s.ready();
  assert.equal(await call(host, 'setSituationalAwareness', "{ page: 'Orders', filter: { open: true } }"), null);
  assert.equal(await call(host, 'setPassthroughParams', "{ 'orders.token': 'a\"b', tenant: null, gone: undefined }"), null);
  await host.send('one');
  assert.deepEqual(posted(), {
    awareness: [['situational_awareness', '{"page":"Orders","filter":{"open":true}}']],
    passthrough: { 'orders.token': 'a"b', tenant: null },
  });
  await call(host, 'setSituationalAwareness', "{ page: 'Start' }");
  await call(host, 'setPassthroughParams', '{ other: 1 }');
  await host.send('two');
  assert.deepEqual(posted(), { awareness: [['situational_awareness', '{"page":"Start"}']], passthrough: { other: 1 } });
  await call(host, 'setSituationalAwareness', '{}');
  await call(host, 'setPassthroughParams', '{}');
  await host.send('three');
  assert.deepEqual(posted(), { awareness: [], passthrough: undefined });
});

test('strings arrive byte for byte, a megabyte too', async () => {
  const host = await s.ready();
  const source = String.raw`(() => ({
    quotes: '"\'\\', nul: 'a\u0000b', lines: '\u2028\u2029\r\n', emoji: '\u{1F9D1}\u200D\u{1F4BB}', marks: '\uFEFF\u202E<!--</script>',
    big: 'x\u{1F642}\u0000'.repeat(180_000), deep: [{ n: 1.5, none: null, list: [[], {}] }], yes: true,
  }))()`;
  assert.equal(await call(host, 'setPassthroughParams', source), null);
  await host.send('go');
  assert.deepEqual(posted().passthrough, (0, eval)(source));
  assert.ok(Buffer.byteLength(posted().passthrough.big) > 1_000_000);
});

test('neither is in an event, in the panel or on the element', async () => {
  const host = await s.ready();
  await call(host, 'setSituationalAwareness', "{ page: 'CANARY-1' }");
  await call(host, 'setPassthroughParams', "{ 'CANARY-2': 'CANARY-3' }");
  s.runtime.onRun = (run) => run.fail('no model');
  await host.send('go');
  await call(host, 'setPassthroughParams', "{ 'CANARY-2': 'CANARY-4', constructor: 'CANARY-5' }");
  const seen = JSON.stringify([await host.events(), host.console, await host.run(() => {
    const element = document.getElementById('agent');
    return element.outerHTML + element.shadowRoot.innerHTML + element.passthroughParams + JSON.stringify(sessionStorage);
  })]);
  assert.doesNotMatch(seen, /CANARY/);
});

test('awareness over the limit is refused with both numbers; the one before holds', async () => {
  const host = await s.ready();
  await call(host, 'setSituationalAwareness', "{ page: 'good' }");
  // {"t":"…"} around it: 8 characters. An emoji is one.
  assert.equal(await call(host, 'setSituationalAwareness', "{ t: '\u{1F642}'.repeat(9_992) }"), null);
  await call(host, 'setSituationalAwareness', "{ page: 'good' }");
  const refused = await call(host, 'setSituationalAwareness', "{ t: 'x'.repeat(9_993) }");
  assert.equal(refused.code, 'situational-awareness-too-large');
  assert.equal(refused.name, 'MindsetError');
  assert.deepEqual(refused.context, { characters: 10_001, limit: 10_000 });
  assert.match(refused.message, /10001.*10000/);
  sentence(refused.message);
  await host.send('go');
  assert.deepEqual(posted().awareness, [['situational_awareness', '{"page":"good"}']]);
});

test('a page may ask for twice as much', async () => {
  const host = await s.ready({ init: { extendedSituationalAwareness: true } });
  assert.equal(await call(host, 'setSituationalAwareness', "{ t: 'x'.repeat(19_992) }"), null);
  const refused = await call(host, 'setSituationalAwareness', "{ t: 'x'.repeat(19_993) }");
  assert.deepEqual(refused.context, { characters: 20_001, limit: 20_000 });
  const bad = await s.open(s.runtime.page('/bad', html({ init: { extendedSituationalAwareness: 'yes' } })));
  await bad.page.waitForFunction(() => window.initError);
  assert.match(await bad.run(() => window.initError.message), /extendedSituationalAwareness must be true or false/);
});

const REFUSED = [
  ['setSituationalAwareness', "'text'", /must be an object/],
  ['setSituationalAwareness', 'null', /must be an object/],
  ['setSituationalAwareness', '[1]', /must be an object/],
  ['setSituationalAwareness', 'new Map([[1, 2]])', /a value of type Map/],
  ['setSituationalAwareness', '(() => { const o = {}; o.self = o; return o; })()', /`self` contains itself/],
  ['setSituationalAwareness', '({ now: { at: 1n } })', /`now\.at` is a BigInt/],
  ['setSituationalAwareness', '({ el: document.body })', /`el` is a value of type HTMLBodyElement/],
  ['setSituationalAwareness', "({ get bad() { throw new Error('nope'); } })", /`bad` cannot be read: nope/],
  ['setPassthroughParams', '7', /must be an object/],
  ['setPassthroughParams', '({ f() {} })', /`f` is a function/],
  ['setPassthroughParams', "({ a: { b: [1, Symbol('x')] } })", /`a\.b\[1\]` is a symbol/],
  ['setPassthroughParams', '({ big: 10n })', /`big` is a BigInt/],
  ['setPassthroughParams', '({ n: NaN })', /`n` is NaN/],
  ['setPassthroughParams', '(() => { const a = []; a.push(a); return { a }; })()', /`a\[0\]` contains itself/],
  ['setPassthroughParams', "({ 'tool.half': '\\uD83D' })", /`tool\.half` has half of a surrogate pair/],
  ['setPassthroughParams', "({ ok: { '\\uDE00': 1 } })", /half of a surrogate pair/],
  ['setPassthroughParams', "({ m: new Map([['k', 1]]) })", /`m` is a value of type Map/],
  ['setPassthroughParams', "JSON.parse('{\"__proto__\": 1}')", /__proto__/],
  ['setPassthroughParams', '({ constructor: 1 })', /constructor/],
  ['setPassthroughParams', "({ 'tool.prototype': 1 })", /prototype/],
  ['setPassthroughParams', '({ uploaded_file_urls: [] })', /uploaded_file_urls/],
];

test('what cannot be sent unchanged is refused by name; the value before holds', async () => {
  const host = await s.ready();
  await call(host, 'setSituationalAwareness', '{ kept: 1 }');
  await call(host, 'setPassthroughParams', '{ kept: 2 }');
  for (const [method, source, expected] of REFUSED) {
    const refused = await call(host, method, source);
    assert.equal(refused?.code, 'invalid-config', `${source}: ${JSON.stringify(refused)}`);
    assert.equal(refused.isError, true);
    assert.match(refused.message, expected, source);
    sentence(refused.message);
  }
  await host.send('go');
  assert.deepEqual(posted(), { awareness: [['situational_awareness', '{"kept":1}']], passthrough: { kept: 2 } });
  assert.equal((await host.names()).includes('error'), false, 'what is thrown is no event too');
});

test('pass-through parameters over 4 MiB are refused with both numbers', async () => {
  const host = await s.ready();
  // Before the later part is there a refusal is told by an event.
  await host.send('hello');
  const refused = await call(host, 'setPassthroughParams', "{ big: 'x'.repeat(4 * 1024 * 1024) }");
  assert.equal(refused.code, 'passthrough-too-large');
  assert.deepEqual(refused.context, { bytes: 4 * 1024 * 1024 + 10, limit: 4 * 1024 * 1024 });
});

test('values set before anything is ready are kept, in order', async () => {
  const url = s.runtime.page('/', html({ init: null, foot: `<script>
    const agent = document.getElementById('agent');
    agent.setSituationalAwareness({ page: 'first' });
    agent.setSituationalAwareness({ page: 'good' });
    agent.setSituationalAwareness({ page: 'x'.repeat(30_000) });
    const values = { token: 'then' };
    agent.setPassthroughParams(values);
    values.token = 'changed later';
    agent.sendWhenIdle('hello');
    mindset.init({ appUid: 'acme' });
  </script>` }));
  const host = await s.open(url);
  await host.saw('complete');
  assert.deepEqual(posted(), { awareness: [['situational_awareness', '{"page":"good"}']], passthrough: { token: 'then' } });
  const detail = await host.error();
  assert.equal(detail.code, 'situational-awareness-too-large');
  assert.equal(detail.context.limit, 10_000, 'the limit of init, which was called by then');
  const errors = (await host.events()).filter((event) => event.name === 'error');
  assert.deepEqual(errors.map((event) => [event.frozen, event.plain]), [[true, true]]);
});

test('what was set before init is checked again when init says how much it may be', async () => {
  const url = s.runtime.page('/', html({ init: null, foot: `<script>
    document.getElementById('agent').setSituationalAwareness({ t: 'x'.repeat(15_000) });
    addEventListener('load', () => setTimeout(() => mindset.init({ appUid: 'acme' }), 300));
  </script>` }));
  const host = await s.open(url);
  await host.saw('agent-idle');
  assert.equal((await host.error()).context.limit, 10_000);
  await host.send('go');
  assert.deepEqual(posted().awareness, []);
});

// H-22, on our attributes: only the second and the last give a value.
const SEVEN = [
  ['[object Object]', null, /framework/],
  ['{&quot;greeting&quot;:&quot;it&#39;s on&quot;}', { greeting: "it's on" }],
  ['{&amp;quot;agent&amp;quot;:&amp;quot;x&amp;quot;}', null, /line 1 column 2/],
  ["{'agent':'x'}", null, /line 1 column 2/],
  ['', null],
  ['undefined', null, /line 1 column 1/],
  ['{&quot;agent&quot;:&quot;x&quot;,&quot;agent&quot;:&quot;y&quot;}', { agent: 'y' }],
];

for (const attribute of ['situational-awareness', 'passthrough-params']) {
  test(`seven spellings of ${attribute}: each element is alive, each mistake is told once`, async () => {
    for (const [written, value, reason] of SEVEN) {
      const host = await s.ready({ elements: element(`${attribute}="${written}"`) });
      await host.send('go');
      const { awareness, passthrough } = posted();
      const got = attribute === 'passthrough-params' ? passthrough ?? null : JSON.parse(awareness[0]?.[1] ?? 'null');
      assert.deepEqual(got, value, written);
      const errors = (await host.events()).filter((event) => event.name === 'error').map((event) => event.detail);
      assert.equal(errors.length, reason ? 1 : 0, `${written}: ${JSON.stringify(errors)}`);
      if (!reason) continue;
      assert.equal(errors[0].code, 'invalid-config');
      assert.match(errors[0].message, reason);
      assert.match(errors[0].message, new RegExp(`attribute \`${attribute}\``));
      assert.equal(errors[0].context.attribute, attribute);
      sentence(errors[0].message);
    }
  });
}

test("an attribute's text goes out as it stands; the last good one holds; removal is the default", async () => {
  const host = await s.ready({ elements: element(`situational-awareness='{ "page" : "A" }' passthrough-params='{"n":12345678901234567890}'`) });
  await host.send('one');
  assert.deepEqual(posted().awareness, [['situational_awareness', '{ "page" : "A" }']]);
  assert.match(s.runtime.runs.at(-1).body, /"n":12345678901234567890/);
  await host.run(() => document.getElementById('agent').setAttribute('situational-awareness', '{ broken'));
  await host.error();
  await host.send('two');
  assert.deepEqual(posted().awareness, [['situational_awareness', '{ "page" : "A" }']]);
  await host.run(() => document.getElementById('agent').removeAttribute('situational-awareness'));
  await host.send('three');
  assert.deepEqual(posted().awareness, []);
});

test('an attribute over the limit is told by an event, and the value before holds', async () => {
  const host = await s.ready({ elements: element(`situational-awareness='{"page":"A"}'`) });
  await host.run(() => document.getElementById('agent').setAttribute('situational-awareness', JSON.stringify({ t: 'x'.repeat(20_000) })));
  const { code, context, message } = await host.error();
  const where = { characters: 20_008, limit: 10_000, attribute: 'situational-awareness' };
  assert.deepEqual([code, context], ['situational-awareness-too-large', where]);
  assert.match(message, /^The attribute `situational-awareness` is refused\. /);
  await host.send('go');
  assert.deepEqual(posted().awareness, [['situational_awareness', '{"page":"A"}']]);
});

test('kebab-case wins over camelCase, the last writer over the other, an equal text does nothing', async () => {
  const host = await s.ready({ elements: element(`situationalAwareness='{"from":"camel"}'`) });
  const now = async () => {
    await host.send('?');
    return JSON.parse(posted().awareness[0]?.[1] ?? 'null')?.from;
  };
  const set = (name, value) => host.run(([name, value]) => document.getElementById('agent').setAttribute(name, value), [name, value]);
  assert.equal(await now(), 'camel');
  await set('situational-awareness', '{"from":"kebab"}');
  assert.equal(await now(), 'kebab');
  await set('situationalAwareness', '{"from":"camel again"}');
  assert.equal(await now(), 'kebab');
  await call(host, 'setSituationalAwareness', "{ from: 'method' }");
  assert.equal(await now(), 'method');
  await set('situational-awareness', '{"from":"kebab"}');
  assert.equal(await now(), 'method', 'an equal text does nothing');
  await set('situational-awareness', '{"from":"attribute"}');
  assert.equal(await now(), 'attribute');
  await host.run(() => document.getElementById('agent').removeAttribute('situational-awareness'));
  assert.equal(await now(), 'camel again');
  await host.run(() => document.getElementById('agent').removeAttribute('situationalAwareness'));
  assert.equal(await now(), undefined);
});

test('properties take objects and texts, also before the element is defined', async () => {
  const url = s.runtime.page('/', html({ script: '', init: null, foot: `<script>
    const agent = document.getElementById('agent');
    agent.situationalAwareness = { page: 'early' };
    agent.passthroughParams = '{"token":"text"}';
  </script><script src="/mindset-agent.js"></script><script>mindset.init({ appUid: 'acme' })</script>` }));
  const host = await s.open(url);
  await host.saw('agent-idle');
  await host.send('one');
  assert.deepEqual(posted(), { awareness: [['situational_awareness', '{"page":"early"}']], passthrough: { token: 'text' } });
  await host.run(() => {
    const agent = document.getElementById('agent');
    agent.passthroughParams = { f() {} };
    agent.situationalAwareness = null;
  });
  assert.match((await host.error()).message, /`f` is a function/);
  await host.send('two');
  assert.deepEqual(posted(), { awareness: [], passthrough: { token: 'text' } });
});

test('an object set before the element is defined wins over the attribute of its tag', async () => {
  const url = s.runtime.page('/', html({ script: '', init: null, elements: element(`situational-awareness='{"page":"tag"}'`), foot: `<script>
    document.getElementById('agent').situationalAwareness = { page: 'later' };
  </script><script src="/mindset-agent.js"></script><script>mindset.init({ appUid: 'acme' })</script>` }));
  const host = await s.open(url);
  await host.saw('agent-idle');
  await host.send('one');
  assert.deepEqual(posted().awareness, [['situational_awareness', '{"page":"later"}']]);
  await host.run(() => document.getElementById('agent').setAttribute('situational-awareness', '{"page":"attribute"}'));
  await host.send('two');
  assert.deepEqual(posted().awareness, [['situational_awareness', '{"page":"attribute"}']]);
});

test('boxed values and raw JSON go out as JSON.stringify writes them', async () => {
  const host = await s.ready();
  const values = '{ s: new String("x"), n: new Number(3), b: Object(false), list: [JSON.rawJSON("12345678901234567890")] }';
  assert.equal(await call(host, 'setSituationalAwareness', values), null);
  assert.equal(await call(host, 'setPassthroughParams', values), null);
  await host.send('go');
  assert.deepEqual(posted().awareness, [['situational_awareness', '{"s":"x","n":3,"b":false,"list":[12345678901234567890]}']]);
  assert.match(s.runtime.runs.at(-1).body, /"passthroughParams":\{"s":"x","n":3,"b":false,"list":\[12345678901234567890\]\}/);
});

test('half a surrogate pair in an attribute is refused, not mended', async () => {
  const host = await s.ready({ elements: element(String.raw`passthrough-params='{"a":{"b":"\ud83d"}}'`) });
  const { code, message } = await host.error();
  assert.equal(code, 'invalid-config');
  assert.match(message, /`a\.b` has half of a surrogate pair/);
});

test('values changed in a running turn go to the run at once, and never twice', async () => {
  const host = await s.ready();
  s.runtime.hold();
  await host.start('go');
  const run = await s.runtime.nextRun();
  run.start().say('work');
  await host.panel.shows('work');
  await call(host, 'setPassthroughParams', "{ token: 'new' }");
  await call(host, 'setPassthroughParams', "{ token: 'new' }");
  await until(() => s.runtime.updates.length, 'the update');
  run.finish();
  await host.late();
  assert.deepEqual(s.runtime.updates, [[run.input.runId, '{"passthroughParams":{"token":"new"}}']]);
});

test('values survive the removal of the element, and a second element has its own', async () => {
  const host = await s.ready({ elements: element('') + '<mindset-agent id="other" agent-uid="support"></mindset-agent>' });
  await call(host, 'setSituationalAwareness', "{ page: 'mine' }");
  await host.run(async () => {
    const agent = document.getElementById('agent');
    const parent = agent.parentNode;
    agent.remove();
    await new Promise((done) => setTimeout(done, 50));
    parent.append(agent);
  });
  await host.saw('agent-idle', 2, 'agent');
  await host.send('go');
  assert.deepEqual(posted().awareness, [['situational_awareness', '{"page":"mine"}']]);
  await host.saw('agent-idle', 1, 'other');
  await host.send('go', undefined, 'other');
  assert.deepEqual(posted().awareness, []);
});
