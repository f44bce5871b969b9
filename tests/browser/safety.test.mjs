// What a strict page demands, and what must never reach the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TIMING } from '../support/host.mjs';
import { ScriptedRuntime } from '../support/scripted-runtime.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

/** A page with this element and these options of init, which are source text. */
function pageWith(element, init) {
  return s.runtime.page('/', `<!doctype html><html lang="en"><meta charset="utf-8"><title>Host</title>
    <script src="/mindset-agent.js"></script>${element}<script>mindset.init({ appUid: 'acme', ${init} })</script>`);
}

const STRICT = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "connect-src 'self'",
    "style-src 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
};

/** A page without inline script and style, under the strictest useful policy. */
async function strict() {
  s.runtime.page('/host.css', 'mindset-agent { height: 480px }');
  s.runtime.page('/host.js', `mindset.init(${JSON.stringify({ appUid: 'acme', timing: TIMING })});`);
  const url = s.runtime.page('/', `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Strict</title>
    <link rel="stylesheet" href="/host.css"><script src="/mindset-agent.js"></script></head>
    <body><mindset-agent id="agent" agent-uid="support" heading="Strict"></mindset-agent>
    <script src="/host.js"></script></body></html>`, STRICT);
  const host = await s.open(url);
  await host.saw('agent-idle');
  return host;
}

/** Violations that are not the browser's own request for an icon. */
async function violations(host) {
  return (await host.violations()).filter((line) => !line.includes('favicon'));
}

test('the whole chat works under a strict policy with Trusted Types, with no violation', async () => {
  const host = await strict();
  await host.panel.say('hello');
  await host.panel.reads('hello', 'You said: hello.');
  s.runtime.hold();
  await host.panel.say('and stop');
  (await s.runtime.nextRun()).start().say('Half');
  await host.panel.stopButton.click();
  await host.saw('agent-idle', 3);
  s.runtime.onRun = (run) => run.cut();
  await host.panel.say('fail');
  await host.saw('agent-idle', 4);
  s.runtime.onRun = (run) => run.start().say('Fine now.').finish();
  await host.panel.retryButton.click();
  await host.panel.shows('Fine now.');
  await host.run(() => {
    const agent = document.getElementById('agent');
    agent.setSituationalAwareness({ page: 'strict' });
    agent.setPassthroughParams({ 'ask.token': 'x' });
    agent.setPageTools([{ name: 'ask', description: 'd', confirm: true, handler: () => '<b>', parameters: { type: 'object', properties: { token: {}, code: { pattern: '^[a-z]+$' } } } }]);
  });
  s.runtime.onRun = (run) => {
    if (!run.results.length) return run.start().calls(['ask', { code: 'abc' }]);
    run.start().say('Asked [1].').event({ type: 'CUSTOM', name: 'mindset.citations', value: { messageId: run.messageId, items: [{ marker: '[1]', title: 'T', url: 'https://x.example/' }] } });
    run.finish();
  };
  await host.start('ask me');
  await host.panel.allowButton.click();
  await host.panel.host.getByRole('link').waitFor();
  assert.deepEqual(await violations(host), []);
  assert.deepEqual(await host.errors(), []);
  const styled = await host.panel.input.evaluate((e) => getComputedStyle(e.getRootNode().host).display);
  assert.equal(styled, 'block', "the element's own style applies");
});

const HOSTILE = [
  '<img src=x onerror="window.owned=1">',
  '<script>window.owned=1</script>',
  '<svg onload="window.owned=1"><a href="javascript:window.owned=1">x</a></svg>',
  '[x](javascript:window.owned=1) ![p](http://127.0.0.1:9/leak?q=1)',
  '<iframe srcdoc="<script>parent.owned=1</script>"></iframe>',
  '</textarea></div><style>*{display:none}</style>',
  '{{constructor.constructor("window.owned=1")()}} ${window.owned=1}',
  'a\u0000b \u202Etxt.exe \uFEFF<b>bold</b>',
];

test('HTML in an answer is text and asks for nothing', async () => {
  const host = await s.ready();
  const before = host.requests.length;
  for (const answer of HOSTILE) {
    s.runtime.onRun = (run) => {
      run.start();
      for (const character of answer) run.say(character);
      run.finish();
    };
    const result = await host.send('go', { silent: true });
    assert.equal(result.text, answer);
  }
  const shown = await host.run(() => [...document.getElementById('agent').shadowRoot.querySelectorAll('[part~="message__body"]')].map((n) => n.textContent));
  // Markdown: a link that is none is its label, a picture waits to be wanted, NUL is a sign of its own.
  const reads = (text) => (text.startsWith('[x]') ? 'x pImage from 127.0.0.1:9Load image' : text.replace('\u0000', '\uFFFD'));
  assert.deepEqual(shown, HOSTILE.map(reads));
  const elements = await host.run(() => [...document.getElementById('agent').shadowRoot.querySelectorAll('img, script, iframe, svg svg, style, a[href^="javascript"], [onerror], [onload]')].map((n) => n.outerHTML));
  assert.deepEqual(elements.filter((html) => !html.startsWith('<style') || html.includes('display:none}')), []);
  assert.equal(await host.run(() => window.owned), undefined);
  const asked = host.requests.slice(before).filter((url) => !url.includes('/v1/agents/'));
  assert.deepEqual(asked, []);
});

const LINKS = `[a](java&#9;script:alert(1))  [b](JaVaScRiPt:alert(1))  [c](javascript&colon;alert(1))  [d](<java
script:alert(1)>)  [e](data:text/html,<script>alert(1)</script>)  [f](&#1;javascript:alert(1))  [g](//evil.example/x)  [h][r]  <javascript:alert(1)>

[r]: vbscript:x "t&quot; onmouseover=alert(1) x=&quot;"

<a href="java\tscript:alert(1)">i</a> <svg><a xlink:href="javascript:alert(1)">j</a></svg> <iframe srcdoc="<script>alert(1)</script>"></iframe> <form action="javascript:alert(1)"><button>k</button></form>

[ok](https://ok.example/)`;

for (const [how, pieces] of [['whole', [LINKS]], ['character by character', [...LINKS]]]) {
  test(`links are judged as the browser judges them, in an answer that comes ${how}`, async () => {
    const host = await s.ready();
    const before = host.requests.length;
    await host.run(() => {
      window.bad = [];
      window.alert = () => window.bad.push('alert');
      const root = document.getElementById('agent').shadowRoot;
      const look = () => {
        for (const a of root.querySelectorAll('a')) {
          if (!['http:', 'https:', 'mailto:'].includes(a.protocol)) window.bad.push(`protocol ${a.protocol} of ${a.outerHTML}`);
          if (!/noopener/.test(a.rel)) window.bad.push(`rel of ${a.outerHTML}`);
        }
        for (const node of root.querySelectorAll('iframe, form, script, svg:not(.icon), svg a')) window.bad.push(node.outerHTML);
        for (const node of root.querySelectorAll('*')) for (const { name } of node.attributes) if (/^on|^style$|^srcdoc$/.test(name)) window.bad.push(`${name} of ${node.localName}`);
      };
      new MutationObserver(look).observe(root, { subtree: true, childList: true, attributes: true });
    });
    s.runtime.onRun = (run) => {
      run.start();
      for (const piece of pieces) run.say(piece);
      run.finish();
    };
    await host.send('go');
    await host.run(() => {
      const root = document.getElementById('agent').shadowRoot;
      root.addEventListener('click', (event) => /^https?:/.test(event.target.closest('a')?.href) && event.preventDefault());
      for (const node of root.querySelectorAll('[part~="message"] *')) node.click?.();
    });
    assert.deepEqual([...new Set(await host.run(() => window.bad))], []);
    assert.deepEqual(host.requests.slice(before).filter((url) => !url.startsWith(s.runtime.origin)), []);
  });
}

test('HTML in what the person types, in the heading and in an error is text too', async () => {
  const [image] = HOSTILE;
  const host = await s.ready({ elements: `<mindset-agent id="agent" agent-uid="support" heading="&lt;img src=x onerror=owned=1&gt;" placeholder="&lt;b&gt;"></mindset-agent>` });
  s.runtime.onRun = (run) => run.start().fail(image);
  await host.panel.say(image);
  await host.saw('runtime-event:run_error');
  await host.panel.shows(image);
  assert.equal(await host.run(() => document.getElementById('agent').shadowRoot.querySelectorAll('img, b').length), 0);
  assert.equal(await host.run(() => window.owned), undefined);
});

/** Everything of the page a script could read, as one text. */
function readable(host) {
  return host.run(() => JSON.stringify([
    window.recorded.events,
    document.documentElement.outerHTML,
    document.getElementById('agent').shadowRoot?.innerHTML ?? '',
    Object.entries({ ...document.getElementById('agent') }).map(String),
    { ...localStorage },
    { ...sessionStorage },
    document.cookie,
    location.href,
    performance.getEntriesByType('resource').map((entry) => entry.name),
  ]));
}

test('tokens are in no event, attribute or storage', async () => {
  const host = await s.ready();
  await host.send('hello');
  s.runtime.tokens = ['token-2'];
  await host.send('again');
  s.runtime.tokens = ['none'];
  await host.send('refused');
  assert.ok(s.runtime.signIns.length >= 2);
  const text = await readable(host);
  assert.doesNotMatch(text, /token-\d/);
  const stored = await host.run(() => ({ ...sessionStorage }));
  assert.ok(Object.values(stored).some((value) => value.includes('key-')), 'the anonymous key is kept for this tab');
  assert.equal(await host.run(() => localStorage.length), 0);
  assert.deepEqual(host.console.filter((line) => /token-\d/.test(line)), []);
});

const OWN = '<mindset-agent id="agent" agent-uid="support"></mindset-agent>';

test("the page's own token goes only into the header of requests to its server", async () => {
  s.runtime.page('/token', 'page-token-77');
  const host = await s.open(pageWith(OWN, "fetchAuthentication: async () => ({ token: await (await fetch('/token')).text() })"));
  await host.saw('agent-idle');
  await host.send('hello');
  assert.equal(s.runtime.runs[0].headers.authorization, 'Bearer page-token-77');
  assert.equal(s.runtime.signIns.length, 0);
  assert.ok(!s.runtime.runs[0].body.includes('page-token-77'));
  assert.doesNotMatch(await readable(host), /page-token-77/);
});

for (const [name, trust, header] of [
  ['an element that names another server is anonymous there', () => '', 'Bearer token-1'],
  ['a trusted server gets the credentials of init', (origin) => `trustedServers: ['${origin}'],`, 'Bearer page-token-77'],
]) {
  test(name, async () => {
    const other = await ScriptedRuntime.start();
    s.runtime.sources = { 'connect-src': other.origin };
    try {
      const element = `<mindset-agent id="agent" agent-uid="support" server="${other.origin}"></mindset-agent>`;
      const host = await s.open(pageWith(element, `${trust(other.origin)} fetchAuthentication: async () => 'page-token-77'`));
      await host.saw('agent-idle');
      await host.send('hello');
      assert.equal(other.runs[0].headers.authorization, header);
      assert.equal(s.runtime.runs.length, 0);
    } finally {
      await other.stop();
    }
  });
}

test('requests carry no cookies', async () => {
  const host = await s.ready();
  await host.run(() => { document.cookie = 'session=secret'; });
  await host.send('hello');
  assert.equal(s.runtime.runs[0].headers.cookie, undefined);
});

test('the styles of the page do not reach the panel and the panel does not reach the page', async () => {
  const host = await s.ready({ head: '<style>button, textarea { display: none !important } * { font-size: 3px !important }</style>' });
  await host.panel.say('hello');
  await host.panel.reads('hello', 'You said: hello.');
  const heading = await host.run(() => getComputedStyle(document.querySelector('h1')).fontSize);
  assert.equal(heading, '3px');
  await until(() => host.panel.input.isVisible(), 'the composer to be visible');
});
