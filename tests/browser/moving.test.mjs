// The element in a page that moves, removes and puts it back.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ELEMENT, html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();
const PLACES = { elements: `<div id="a">${ELEMENT}</div><div id="b"></div>` };

/** A page whose element has begun to answer, with a draft in its composer. */
async function midStream() {
  const host = await s.ready(PLACES);
  s.runtime.hold();
  await host.start('hello');
  const run = await s.runtime.nextRun();
  run.start().say('Hel');
  await host.panel.reads('hello', 'Hel');
  await host.panel.input.fill('a draft');
  await host.panel.input.focus();
  return { host, run };
}

/** The stream goes on and everything of the panel is as before. */
async function goesOn({ host, run }) {
  run.say('lo again.').finish();
  const result = await host.late();
  assert.equal(result.status, 'finished');
  assert.equal(result.text, 'Hello again.');
  await host.panel.reads('hello', 'Hello again.');
  assert.equal(await host.panel.input.inputValue(), 'a draft');
  assert.equal(s.runtime.runs.length, 1, 'one stream');
  const names = await host.names();
  assert.equal(names.filter((n) => n === 'agent-registered').length, 1);
  assert.equal(names.filter((n) => n === 'agent-initializing').length, 1);
  assert.deepEqual(await host.errors(), []);
}

test('append elsewhere in mid-stream: stream, transcript, draft and focus survive', async () => {
  const { host, run } = await midStream();
  await host.run(() => document.getElementById('b').append(document.getElementById('agent')));
  await goesOn({ host, run });
  const focused = await host.run(() => document.activeElement?.id);
  assert.equal(focused, 'agent', 'the composer has the focus again');
});

test('moveBefore in mid-stream', async () => {
  const { host, run } = await midStream();
  const moved = await host.run(() => {
    const b = document.getElementById('b');
    if (!b.moveBefore) return false;
    b.moveBefore(document.getElementById('agent'), null);
    return true;
  });
  assert.equal(moved, true, 'this browser has moveBefore');
  await goesOn({ host, run });
  assert.equal(await host.run(() => document.activeElement?.id), 'agent');
  await host.page.keyboard.type('!');
  assert.equal(await host.panel.input.inputValue(), 'a draft!');
});

test('removed and put back in the same task', async () => {
  const { host, run } = await midStream();
  await host.run(() => {
    const element = document.getElementById('agent');
    const [a, b] = ['a', 'b'].map((id) => document.getElementById(id));
    b.append(element);
    a.append(element);
    element.remove();
    b.append(element);
  });
  await goesOn({ host, run });
});

test('moved into another document it keeps its looks and goes on', async () => {
  const host = await s.ready();
  await host.send('hello');
  const looks = await host.run(async () => {
    const frame = document.createElement('iframe');
    document.body.append(frame);
    const element = document.getElementById('agent');
    frame.contentDocument.body.append(element);
    const panel = element.shadowRoot.querySelector('[part~="panel"]');
    const result = await element.sendMessage('and again');
    return [frame.contentWindow.getComputedStyle(panel).display, result.text];
  });
  assert.deepEqual(looks, ['flex', 'You said: and again.']);
});

for (const [name, source] of [['a blank', 'about:blank'], ['a loaded', '/frame']]) {
  test(`moved into the document of ${name} frame and back, each time styled`, async () => {
    s.runtime.sources = { 'frame-src': "'self'" };
    s.runtime.page('/frame', '<!doctype html><title>Frame</title><p>In the frame</p>');
    const host = await s.ready();
    const looks = await host.run(async (source) => {
      const frame = document.createElement('iframe');
      const loaded = new Promise((done) => frame.addEventListener('load', done, { once: true }));
      frame.src = source;
      document.body.append(frame);
      await loaded;
      const element = document.getElementById('agent');
      const look = async () => {
        await new Promise((done) => setTimeout(done, 50));
        const panel = element.shadowRoot.querySelector('[part~="panel"]');
        const { display, borderTopWidth } = element.ownerDocument.defaultView.getComputedStyle(panel);
        // Chunks bring sheets of their own, whenever they arrive: no document's stay, none comes twice.
        const sheets = element.shadowRoot.adoptedStyleSheets;
        return `${display} ${borderTopWidth} ${sheets.length === new Set(sheets.map((sheet) => sheet.cssRules[0].cssText)).size}`;
      };
      const seen = [];
      frame.contentDocument.body.append(element);
      seen.push(await look());
      document.body.append(element);
      seen.push(await look());
      frame.contentDocument.body.append(element);
      seen.push(await look());
      seen.push((await element.sendMessage('from here')).text);
      return seen;
    }, source);
    assert.deepEqual(looks, ['flex 1px true', 'flex 1px true', 'flex 1px true', 'You said: from here.']);
  });
}

test('the scroll position survives a move', async () => {
  const host = await s.ready(PLACES);
  s.runtime.onRun = (run) => run.start().say('line\n'.repeat(200)).finish();
  await host.send('long');
  // A scroll is told with the next frame; what was never told cannot be given back.
  await host.panel.log.evaluate((log) => new Promise((told) => {
    log.addEventListener('scroll', () => requestAnimationFrame(told), { once: true });
    log.scrollTop = 100;
  }));
  await host.run(() => document.getElementById('b').append(document.getElementById('agent')));
  await until(() => host.panel.log.evaluate((log) => log.scrollTop === 100), 'the old scroll position');
});

test('a real removal closes the stream; put back later it starts and works', async () => {
  const { host, run } = await midStream();
  await host.run(() => { window.kept = document.getElementById('agent'); window.kept.remove(); });
  await run.gone;
  const result = await host.late();
  assert.equal(result.status, 'aborted');
  await host.run(() => document.getElementById('a').append(window.kept));
  await host.saw('agent-idle', 2);
  s.runtime.onRun = (r) => r.start().say('Back.').finish();
  assert.equal((await host.send('still there?')).text, 'Back.');
  const roots = await host.run(() => document.getElementById('agent').shadowRoot.childElementCount > 0);
  assert.equal(roots, true);
  assert.equal((await host.names()).filter((n) => n === 'agent-registered').length, 1);
  assert.deepEqual(await host.errors(), []);
});

test('connect and disconnect in any rhythm: one shadow root, one stream', async () => {
  const host = await s.open(s.runtime.page('/', html({
    script: '',
    init: null,
    elements: '<div id="a"></div><div id="b"></div>',
  })));
  await host.run(async () => {
    const [a, b] = ['a', 'b'].map((id) => document.getElementById(id));
    const element = document.createElement('mindset-agent');
    element.id = 'agent';
    element.agentUid = 'support';
    a.append(element);
    const { init } = await import('/mindset-agent.mjs');
    init({ appUid: 'acme', server: location.origin });
    b.append(element); a.append(element); element.remove(); b.append(element);
    await new Promise((resolve) => setTimeout(resolve, 0));
    window.root = element.shadowRoot;
    element.remove();
    await 0;
    a.append(element);
  });
  await host.saw('agent-idle');
  s.runtime.hold();
  await host.start('hello');
  const run = await s.runtime.nextRun();
  run.start().say('One.');
  await host.panel.reads('hello', 'One.');
  assert.equal(s.runtime.live, 1);
  run.finish();
  assert.equal((await host.late()).text, 'One.');
  assert.equal(await host.run(() => document.getElementById('agent').shadowRoot === window.root), true);
  assert.equal(await host.run(() => document.getElementById('agent').agentUid), 'support');
  assert.equal(await host.panel.input.count(), 1, 'one panel');
  assert.deepEqual(await host.errors(), []);
});

test('an element that is never connected starts nothing', async () => {
  const host = await s.open(s.runtime.page('/', html({ elements: '' })));
  await host.run(() => { window.loose = document.createElement('mindset-agent'); window.loose.agentUid = 'support'; });
  await host.run(() => mindset.init({ appUid: 'acme' }).catch(() => {}));
  assert.deepEqual(await host.names(), []);
  assert.equal(s.runtime.signIns.length, 0);
});

test('mounting, streaming and removing 200 times leaves nothing behind', async () => {
  const host = await s.ready();
  s.runtime.hold();
  const session = await host.profile.newCDPSession(host.page);
  await session.send('Performance.enable');
  const cycle = async (times) => {
    for (let i = 0; i < times; i += 1) {
      await host.run(() => {
        const element = document.createElement('mindset-agent');
        element.id = 'passing';
        element.agentUid = 'support';
        document.body.append(element);
        element.sendWhenIdle('hello');
      });
      const run = await s.runtime.nextRun();
      run.start().say('partial');
      await host.panel.of('passing').reads('hello', 'partial');
      await host.run(() => document.getElementById('passing').remove());
      await run.gone;
    }
    await host.run(() => { window.recorded.events.length = 0; });
    await session.send('HeapProfiler.collectGarbage');
    await session.send('HeapProfiler.collectGarbage');
    const { metrics } = await session.send('Performance.getMetrics');
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  };
  const before = await cycle(5);
  const after = await cycle(200);
  const grown = (name) => after[name] - before[name];
  assert.ok(grown('JSEventListeners') <= 5, `listeners grew by ${grown('JSEventListeners')}`);
  assert.ok(grown('Nodes') <= 100, `nodes grew by ${grown('Nodes')}`);
  assert.ok(grown('JSHeapUsedSize') < 2 * 1024 * 1024, `heap grew by ${grown('JSHeapUsedSize')} bytes`);
  assert.equal(s.runtime.live, 0);
});

test('a fetch of the page that hears of no abort keeps no removed element', async () => {
  const host = await s.ready({ head: `<script>
    const whole = window.fetch;
    window.fetch = async (url, options) => {
      if (!String(url).endsWith('/runs')) return whole(url, options);
      const { threadId, runId } = JSON.parse(options.body);
      const events = [
        { type: 'RUN_STARTED', threadId, runId },
        { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
        { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'partial' },
      ];
      const bytes = new TextEncoder().encode(events.map((event) => 'data: ' + JSON.stringify(event) + '\\n\\n').join(''));
      const body = new ReadableStream({ start: (controller) => controller.enqueue(bytes) });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    };
  </script>` });
  for (let i = 0; i < 5; i += 1) {
    await host.run(() => {
      const element = document.createElement('mindset-agent');
      element.id = 'passing';
      element.agentUid = 'support';
      document.body.append(element);
      element.sendWhenIdle('hello');
      (window.passed ??= []).push(new WeakRef(element));
    });
    await host.panel.of('passing').reads('hello', 'partial');
    await host.run(() => document.getElementById('passing').remove());
  }
  const session = await host.profile.newCDPSession(host.page);
  const left = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return host.run(() => window.passed.filter((element) => element.deref()).length);
  };
  // The browser itself holds on to the last one for a while.
  await until(async () => (await left()) <= 1, 'removed elements to be forgotten');
});
