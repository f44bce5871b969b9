// The element in every order a page can meet it: before and after init, before and
// after its script, the script twice, several elements.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { html, TIMING } from '../support/host.mjs';
import { sentence } from '../support/expect.mjs';
import { ScriptedRuntime } from '../support/scripted-runtime.mjs';
import { suite } from '../support/suite.mjs';

const s = suite();
const INIT = JSON.stringify({ appUid: 'acme', timing: TIMING });

/** Opens a page of these pieces and waits until its element answers. */
async function answers(page, path = '/') {
  const host = await s.open(s.runtime.page(path, page));
  await host.saw('agent-idle');
  const result = await host.send('hello');
  assert.equal(result.status, 'finished');
  assert.equal(result.text, 'You said: hello.');
  assert.deepEqual(await host.errors(), []);
  assert.deepEqual(host.console, []);
  return host;
}

test('elements before init', () => answers(html()));

test('init before elements', () => answers(html({
  head: `<script src="/mindset-agent.js"></script><script>mindset.init(${INIT})</script>`,
  script: '',
  init: null,
})));

test('an element made later by script', async () => {
  const host = await s.open(s.runtime.page('/', html({ elements: '' })));
  await host.run(() => {
    const element = document.createElement('mindset-agent');
    element.id = 'agent';
    element.agentUid = 'support';
    document.body.append(element);
  });
  await host.saw('agent-idle');
  assert.equal((await host.send('hello')).text, 'You said: hello.');
});

test('an anonymous agent needs no script call', () => answers(html({
  elements: '<mindset-agent id="agent" app-uid="acme" agent-uid="support"></mindset-agent>',
  init: null,
})));

test('a camelCase attribute is accepted and loses against kebab case', async () => {
  await answers(html({ elements: '<mindset-agent id="agent" agentUid="other" agent-uid="support"></mindset-agent>' }));
  await answers(html({ elements: '<mindset-agent id="agent" agentUid="support"></mindset-agent>' }), '/camel');
  const agents = s.runtime.requests.filter((r) => r.endsWith('/runs') && r.startsWith('POST'));
  assert.deepEqual(agents, ['POST /v1/agents/support/runs', 'POST /v1/agents/support/runs']);
});

test('properties set before the definition are taken over', async () => {
  const host = await answers(html({
    script: '',
    elements: '<mindset-agent id="agent"></mindset-agent>',
    init: null,
    foot: `<script>
      const early = document.getElementById('agent');
      early.agentUid = 'support'; early.heading = 'Early bird'; early.placeholder = 'Ask away';
      early.addEventListener('mindset:agent-registered', (e) => { window.early = e.detail; });
    </script><script src="/mindset-agent.js"></script><script>mindset.init(${INIT})</script>`,
  }));
  const own = await host.run(() => Object.keys(document.getElementById('agent')));
  assert.deepEqual(own.filter((key) => ['agentUid', 'heading', 'placeholder'].includes(key)), [], 'nothing shadows the accessors');
  await host.panel.shows('Early bird');
  assert.equal(await host.panel.input.getAttribute('placeholder'), 'Ask away');
  assert.deepEqual(await host.run(() => window.early), { headless: false });
});

test('what frameworks set before the definition: booleans, texts, objects and handlers', async () => {
  const host = await answers(html({
    script: '',
    init: null,
    elements: '<mindset-agent id="agent" headless="false"></mindset-agent>',
    foot: `<script>
      const early = document.getElementById('agent');
      Object.assign(early, { agentUid: 'support', disabled: 'Not yet.', forgetDrafts: true, situationalAwareness: { page: 'early' }, passthroughParams: { a: 1 }, conversationId: null, other: 7 });
      early.onclick = () => { window.clicked = true; };
    </script><script src="/mindset-agent.js"></script><script>mindset.init(${INIT})</script>`,
  }));
  const read = await host.run(() => {
    const e = document.getElementById('agent');
    return [e.headless, e.disabled, e.getAttribute('disabled'), e.forgetDrafts, e.conversationId, e.other];
  });
  assert.deepEqual(read, [false, true, 'Not yet.', true, null, 7]);
  await host.panel.shows('Not yet.');
  assert.equal(s.runtime.runs[0].input.context[0].value, '{"page":"early"}');
  await host.run(() => {
    const e = document.getElementById('agent');
    e.disabled = 'false';
    e.forgetDrafts = 'false';
  });
  assert.deepEqual(await host.run(() => [document.getElementById('agent').disabled, document.getElementById('agent').forgetDrafts]), [false, false]);
});

test('a clone, a template and HTML text make elements of their own', async () => {
  const host = await s.ready({ elements: '<template id="mold"><mindset-agent id="cast" agent-uid="support"></mindset-agent></template><mindset-agent id="agent" agent-uid="support"></mindset-agent>' });
  await host.send('original');
  await host.run(() => {
    const clone = document.getElementById('agent').cloneNode(true);
    clone.id = 'clone';
    document.body.append(clone, document.getElementById('mold').content.cloneNode(true));
  });
  for (const id of ['clone', 'cast']) {
    await host.saw('agent-idle', 1, id);
    assert.equal((await host.send(`I am ${id}`, undefined, id)).text, `You said: I am ${id}.`);
    await host.panel.of(id).reads(`I am ${id}`, `You said: I am ${id}.`);
  }
  await host.panel.reads('original', 'You said: original.');
});

test('the headless property set before the definition draws nothing', async () => {
  const host = await answers(html({
    script: '',
    init: null,
    foot: `<script>document.getElementById('agent').headless = true;</script>
      <script src="/mindset-agent.js"></script><script>mindset.init(${INIT})</script>`,
  }));
  assert.equal(await host.panel.input.count(), 0);
});

test('headless draws nothing, headless="false" draws, and it can be toggled', async () => {
  const host = await s.ready({
    elements: `<mindset-agent id="a" agent-uid="support" headless></mindset-agent>
      <mindset-agent id="agent" agent-uid="support" headless="false"></mindset-agent>`,
  });
  await host.saw('agent-idle', 1, 'a');
  await host.saw('agent-idle', 1, 'agent');
  assert.equal(await host.panel.of('a').input.count(), 0);
  assert.equal(await host.panel.input.count(), 1);
  assert.equal((await host.send('unseen', undefined, 'a')).text, 'You said: unseen.');
  await host.run(() => { document.getElementById('a').headless = false; });
  await host.panel.of('a').input.waitFor();
  await host.run(() => document.getElementById('agent').setAttribute('headless', ''));
  await host.panel.input.waitFor({ state: 'detached' });
});

test('a script below the tag hears agent-registered, exactly once and first', async () => {
  const host = await answers(html({
    foot: `<script>
      window.heard = [];
      for (const name of ['agent-registered', 'agent-initializing', 'agent-idle'])
        document.addEventListener('mindset:' + name, () => heard.push(name));
    </script>`,
  }));
  const heard = await host.run(() => window.heard);
  assert.deepEqual(heard.filter((n) => n === 'agent-registered'), ['agent-registered']);
  assert.deepEqual(heard.slice(0, 3), ['agent-registered', 'agent-initializing', 'agent-idle']);
  assert.deepEqual((await host.saw('agent-registered')).detail, { headless: false });
});

test('a script at the end of a page that arrives slowly hears agent-registered', async () => {
  const host = await s.open(s.runtime.page('/', html({
    foot: `<script src="/slow.js"></script><script>
      document.addEventListener('mindset:agent-registered', () => { window.heard = (window.heard ?? 0) + 1; });
    </script>`,
  })), { before: (page) => page.route('**/slow.js', async (route) => {
    await page.waitForResponse(/\.wasm$/).catch(() => {});
    await route.fulfill({ contentType: 'text/javascript', body: '' });
  }) });
  await host.saw('agent-idle');
  assert.equal(await host.run(() => window.heard), 1);
});

test('the script loaded twice, with another query string', async () => {
  const host = await answers(html({
    head: '<script src="/mindset-agent.js?v=1"></script><script src="/mindset-agent.js?v=2"></script><script>window.reached = true</script>',
    script: '',
  }));
  assert.equal(await host.run(() => window.reached), true);
  assert.equal(host.requests.filter((url) => /mindset-agent-\w+\.wasm$/.test(url)).length, 1, 'one instance');
  assert.equal((await host.names()).filter((n) => n === 'agent-registered').length, 1);
});

test('two bundles on one page, classic and module, and a module import by the page', async () => {
  const host = await answers(html({
    foot: `<script type="module" src="/mindset-agent.mjs?v=1"></script>
      <script type="module">window.kind = typeof (await import('/mindset-agent.mjs?v=3')).init;</script>`,
  }));
  await host.page.waitForFunction(() => window.kind);
  assert.equal(await host.run(() => window.kind), 'function');
  assert.equal((await host.send('again')).text, 'You said: again.');
  assert.deepEqual(await host.errors(), []);
});

test('the module alone defines the element', () => answers(html({
  script: '',
  init: null,
  foot: `<script type="module">
    import { init } from '/mindset-agent.mjs';
    await init({ ...${INIT}, server: location.origin });
  </script>`,
})));

test('init twice: the same resolves, another one rejects invalid-config', async () => {
  const host = await s.ready();
  const outcome = await host.run(async (timing) => {
    const tell = (p) => p.then(() => 'resolved', (e) => `${e.name} ${e.code} ${e instanceof Error}`);
    return [
      await tell(mindset.init({ appUid: 'acme', timing })),
      await tell(mindset.init({ appUid: 'other' })),
      await tell(mindset.init()),
    ];
  }, TIMING);
  assert.equal(outcome[0], 'resolved');
  assert.match(outcome[1], /invalid-config true$/);
  assert.match(outcome[2], /invalid-config true$/);
});

test('three elements on one page have a conversation each', async () => {
  const host = await s.ready({
    elements: ['one', 'two', 'three'].map((id) => `<mindset-agent id="${id}" agent-uid="${id}"></mindset-agent>`).join(''),
  });
  for (const id of ['one', 'two', 'three']) await host.saw('agent-idle', 1, id);
  const results = await Promise.all(['one', 'two', 'three'].map((id) => host.send(`I am ${id}`, undefined, id)));
  assert.deepEqual(results.map((r) => r.text), ['You said: I am one.', 'You said: I am two.', 'You said: I am three.']);
  assert.equal(new Set(results.map((r) => r.conversationId)).size, 3);
  for (const id of ['one', 'two', 'three']) {
    await host.panel.of(id).reads(`I am ${id}`, `You said: I am ${id}.`);
    const names = await host.names(id);
    assert.equal(names.filter((n) => n === 'agent-busy').length, 1);
  }
  assert.equal(host.requests.filter((url) => /mindset-agent-\w+\.wasm$/.test(url)).length, 1, 'one module for all');
});

test('another agent-uid starts another session', async () => {
  const host = await s.ready();
  await host.send('first');
  await host.run(() => document.getElementById('agent').setAttribute('agent-uid', 'sales'));
  await host.saw('agent-idle', 3);
  await host.panel.reads();
  const result = await host.send('second');
  assert.equal(result.status, 'finished');
  assert.equal(s.runtime.runs[1].input.messages.length, 1);
  assert.notEqual(s.runtime.runs[0].input.threadId, s.runtime.runs[1].input.threadId);
  assert.equal(s.runtime.requests.at(-1), 'POST /v1/agents/sales/runs');
});

test('an equal value of an attribute changes nothing', async () => {
  const host = await s.ready();
  await host.send('first');
  const before = (await host.names()).length;
  await host.run(() => {
    const element = document.getElementById('agent');
    element.setAttribute('agent-uid', 'support');
    element.agentUid = 'support';
  });
  await host.send('second');
  assert.equal(s.runtime.runs[0].input.threadId, s.runtime.runs[1].input.threadId);
  assert.equal((await host.names()).slice(before)[0], 'agent-busy');
});

test('attributes and properties mirror each other; removal gives the default', async () => {
  const host = await s.ready({
    elements: '<mindset-agent id="agent" agent-uid="support" heading="Help desk" placeholder="Your question"></mindset-agent>',
  });
  await host.panel.shows('Help desk');
  assert.equal(await host.panel.input.getAttribute('placeholder'), 'Your question');
  const read = await host.run(() => {
    const e = document.getElementById('agent');
    return [e.agentUid, e.heading, e.placeholder, e.headless];
  });
  assert.deepEqual(read, ['support', 'Help desk', 'Your question', false]);
  await host.run(() => {
    const e = document.getElementById('agent');
    e.heading = 'Now this';
    e.removeAttribute('placeholder');
  });
  await host.panel.shows('Now this');
  assert.notEqual(await host.panel.input.getAttribute('placeholder'), 'Your question');
});

test('an element without an agent or without init says what is missing', async () => {
  const host = await s.open(s.runtime.page('/', html({ elements: '<mindset-agent id="agent"></mindset-agent>' })));
  const error = await host.error();
  assert.equal(error.code, 'invalid-config');
  assert.match(error.message, /agent-uid/);
  await host.run(() => document.getElementById('agent').setAttribute('agent-uid', 'support'));
  await host.saw('agent-idle');
  assert.equal((await host.send('hello')).status, 'finished');
});

test('an address that is none: one error that names the attribute, and the default holds', async () => {
  const host = await s.open(s.runtime.page('/', html({
    elements: '<mindset-agent id="agent" agent-uid="support" server="javascript:alert(1)"></mindset-agent>',
  })));
  const error = await host.error();
  assert.equal(error.code, 'invalid-config');
  assert.match(error.message, /`server` is no http or https URL.*Until then http/);
  sentence(error.message);
  await host.saw('agent-idle');
  assert.equal((await host.send('hello')).status, 'finished');
  await host.run(() => document.getElementById('agent').removeAttribute('server'));
  await host.run(() => new Promise((done) => setTimeout(done)));
  assert.equal(await host.busy(), false);
  const names = await host.names();
  assert.equal(names.filter((name) => name === 'error').length, 1);
  assert.equal(names.filter((name) => name === 'agent-initializing').length, 1, 'the same session');
});

test('an address that is spoiled later: the last good one holds', async () => {
  const other = await ScriptedRuntime.start();
  s.runtime.sources = { 'connect-src': other.origin };
  try {
    const host = await s.open(s.runtime.page('/', html({
      elements: `<mindset-agent id="agent" agent-uid="support" server="${other.origin}"></mindset-agent>`,
    })));
    await host.saw('agent-idle');
    await host.run(() => document.getElementById('agent').setAttribute('server', 'ftp://files.example'));
    assert.equal((await host.error()).code, 'invalid-config');
    assert.equal((await host.send('hello')).status, 'finished');
    assert.equal(other.runs.length, 1);
    assert.equal(s.runtime.runs.length, 0);
  } finally {
    await other.stop();
  }
});

test('an address that is none and no default: the panel says so and nothing waits for ever', async () => {
  const host = await s.open(s.runtime.page('/', html({
    script: '',
    init: null,
    elements: '<mindset-agent id="agent" agent-uid="support" app-uid="acme" server="javascript:alert(1)"></mindset-agent>',
    foot: `<script type="module">import '/mindset-agent.mjs';
      window.late = document.getElementById('agent').sendWhenIdle('hello');</script>`,
  })));
  const error = await host.error();
  assert.equal(error.code, 'invalid-config');
  assert.match(error.message, /server/);
  await host.panel.shows(error.message);
  assert.equal((await host.run(() => window.late)).status, 'error');
  assert.equal(await host.busy(), false);
});

test('an element that waits for init says so after a while, and is no error', async () => {
  const warnings = [];
  const host = await s.open(s.runtime.page('/', html({ init: null })), {
    before: (page) => page.on('console', (message) => message.type() === 'warning' && warnings.push(message.text())),
  });
  const words = 'Waiting for mindset.init({ appUid }) or the attribute app-uid.';
  await host.panel.shows(words);
  assert.deepEqual(warnings, [`mindset-agent: ${words}`]);
  assert.equal((await host.names()).includes('error'), false);
  await host.run(() => mindset.init({ appUid: 'acme' }));
  await host.saw('agent-idle');
  await host.panel.shows('Online');
});

test('init that cannot be used rejects with the name of the option; a good one then works', async () => {
  const host = await s.open(s.runtime.page('/', html({ init: null })));
  const told = await host.run(async (timing) => {
    const tell = (p) => p.then(() => 'resolved', (e) => [e.code, e.message]);
    const bad = [
      await tell(mindset.init({ appUid: 7 })),
      await tell(mindset.init({ appUid: 'acme', server: 'mailto:x' })),
      await tell(mindset.init({ appUid: 'acme', protocol: 'telepathy' })),
      await tell(mindset.init({ appUid: 'acme', fetchAuthentication: 'token' })),
      await tell(mindset.init({ appUid: 'acme', fetchAuthentication() {}, getSession() {} })),
    ];
    return [...bad, await tell(mindset.init({ appUid: 'acme', timing, later: true }))];
  }, TIMING);
  const options = [/appUid/, /server/, /protocol/, /fetchAuthentication/, /getSession/];
  for (const [i, option] of options.entries()) {
    assert.equal(told[i][0], 'invalid-config');
    assert.match(told[i][1], option);
  }
  assert.equal(told.at(-1), 'resolved');
  await host.saw('agent-idle');
});
