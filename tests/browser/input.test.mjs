// The composer: keys, input methods, focus, scrolling.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

/** Dispatches synthetic events on the composer, as an input method causes them. */
function keys(host, sequence) {
  return host.panel.input.evaluate((input, sequence) => {
    for (const [type, init] of sequence) {
      const common = { bubbles: true, composed: true, cancelable: true };
      const Kind = type.startsWith('composition') ? CompositionEvent : KeyboardEvent;
      const event = new Kind(type, { ...common, ...init });
      if (init?.keyCode) Object.defineProperty(event, 'keyCode', { value: init.keyCode });
      input.dispatchEvent(event);
    }
  }, sequence);
}

const PLAIN_ENTER = ['keydown', { key: 'Enter', isComposing: false, keyCode: 13 }];

for (const [engine, sequence] of Object.entries({
  'Chrome and Firefox': [
    ['compositionstart'],
    ['keydown', { key: 'Enter', isComposing: true, keyCode: 229 }],
    ['compositionend'],
  ],
  Safari: [
    ['compositionstart'],
    ['compositionend'],
    ['keydown', { key: 'Enter', isComposing: false, keyCode: 229 }],
  ],
})) {
  test(`the Enter that picks a candidate does not send (${engine})`, async () => {
    const host = await s.ready();
    await host.panel.input.fill('日本語');
    await keys(host, sequence);
    assert.equal(s.runtime.runs.length, 0);
    assert.equal(await host.panel.input.inputValue(), '日本語');
    await keys(host, [PLAIN_ENTER]);
    await host.panel.reads('日本語', 'You said: 日本語.');
    assert.equal(s.runtime.runs.length, 1);
  });
}

test('Shift+Enter makes a line', async () => {
  const host = await s.ready();
  await host.panel.input.click();
  await host.page.keyboard.type('one');
  await host.page.keyboard.press('Shift+Enter');
  await host.page.keyboard.type('two');
  assert.equal(await host.panel.input.inputValue(), 'one\ntwo');
  await host.page.keyboard.press('Enter');
  await host.saw('complete');
  assert.equal(s.runtime.runs[0].text, 'one\ntwo');
});

test('Escape stops the turn', async () => {
  const host = await s.ready();
  s.runtime.hold();
  await host.panel.say('hello');
  (await s.runtime.nextRun()).start().say('Working on');
  await host.panel.reads('hello', 'Working on');
  await host.page.keyboard.press('Escape');
  await host.saw('agent-idle', 2);
  assert.equal(s.runtime.cancels.length, 1);
});

test("typing does not fire the page's shortcuts", async () => {
  const host = await s.ready({ foot: `<script>
    window.searches = 0;
    for (const type of ['keydown', 'keypress', 'keyup']) document.addEventListener(type, (event) => {
      if (!/INPUT|TEXTAREA/.test(event.target.tagName) && !event.ctrlKey && !event.metaKey && event.key !== 'Escape') window.searches += 1;
    });
  </script>` });
  await host.panel.say('s/?');
  await host.panel.reads('s/?', 'You said: s/?.');
  assert.equal(await host.run(() => window.searches), 0);
});

test('of an Escape that did something here the page does not see the end either', async () => {
  const host = await s.ready({ foot: `<script>
    window.heard = [];
    for (const type of ['keydown', 'keyup']) document.addEventListener(type, (event) => window.heard.push(type + ' ' + event.key));
  </script>` });
  await host.panel.host.getByRole('button', { name: 'Conversations' }).click();
  await host.panel.host.getByRole('dialog').waitFor();
  await host.page.keyboard.press('Escape');
  await until(async () => (await host.panel.host.getByRole('dialog').count()) === 0, 'the drawer to close');
  assert.deepEqual(await host.run(() => window.heard), []);
  await host.page.keyboard.press('Escape');
  assert.deepEqual(await host.run(() => window.heard), ['keydown Escape', 'keyup Escape']);
});

test('Escape while nothing runs and modifier combinations stay with the page', async () => {
  const host = await s.ready({ foot: `<script>
    window.heard = [];
    document.addEventListener('keydown', (event) => { if (!['Control'].includes(event.key)) window.heard.push(event.key); });
  </script>` });
  await host.panel.input.click();
  await host.page.keyboard.press('Escape');
  await host.page.keyboard.press('Control+b');
  assert.deepEqual(await host.run(() => window.heard), ['Escape', 'b']);
});

test('where nothing waits, Enter while the agent is busy sends nothing and keeps the draft', async () => {
  const host = await s.ready({ init: { appUid: undefined, protocol: 'ag-ui', server: `${s.runtime.origin}/ag-ui/agent` } });
  s.runtime.hold();
  await host.panel.say('first');
  const run = await s.runtime.nextRun();
  run.start().say('…');
  await host.panel.say('a second thought');
  assert.equal(await host.panel.input.inputValue(), 'a second thought');
  run.finish();
  await host.saw('agent-idle', 2);
  assert.equal(await host.panel.input.inputValue(), 'a second thought');
  assert.equal(s.runtime.runs.length, 1);
  s.runtime.onRun = (r) => r.start().say('Second.').finish();
  await host.panel.input.press('Enter');
  await host.panel.reads('first', '…', 'a second thought', 'Second.');
});

test('the button can be pressed exactly while there is a draft, and one ring shows the focus', async () => {
  const host = await s.ready();
  const off = () => host.panel.sendButton.getAttribute('aria-disabled');
  assert.equal(await off(), 'true');
  await host.panel.input.fill('half a thou');
  assert.equal(await off(), 'false');
  await host.send('from the page');
  assert.equal(await off(), 'false');
  const outline = await host.panel.input.evaluate((input) => getComputedStyle(input).outlineStyle);
  assert.equal(outline, 'none', 'the ring is around the composer, not the text box in it');
  await host.panel.input.fill('');
  assert.equal(await off(), 'true');
});

test('a draft is kept while the page sends', async () => {
  const host = await s.ready();
  await host.panel.input.fill('half a thou');
  await host.send('from the page');
  assert.equal(await host.panel.input.inputValue(), 'half a thou');
});

test('the focus is not taken at the start, by the page sending, or by an answer', async () => {
  const host = await s.open(s.runtime.page('/', html({ head: '<meta name="x">', elements: `
    <label>Elsewhere <input id="elsewhere" autofocus></label><mindset-agent id="agent" agent-uid="support"></mindset-agent>` })));
  await host.page.locator('#elsewhere').focus();
  await host.saw('agent-idle');
  const focused = () => host.run(() => document.activeElement.id);
  assert.equal(await focused(), 'elsewhere');
  await host.send('hello');
  assert.equal(await focused(), 'elsewhere');
  await host.page.keyboard.type('x');
  assert.equal(await host.page.locator('#elsewhere').inputValue(), 'x');
});

test('the composer keeps the focus after sending by hand', async () => {
  const host = await s.ready();
  await host.panel.say('hello');
  await host.saw('complete');
  await host.page.keyboard.type('next');
  assert.equal(await host.panel.input.inputValue(), 'next');
});

test('everything is reached by keyboard', async () => {
  const host = await s.ready();
  s.runtime.hold();
  await host.page.keyboard.press('Tab');
  await until(async () => {
    const inside = await host.run(() => document.activeElement?.shadowRoot?.activeElement?.tagName);
    if (inside === 'TEXTAREA' || inside === 'INPUT') return true;
    await host.page.keyboard.press('Tab');
    return false;
  }, 'Tab to reach the composer');
  await host.page.keyboard.type('by key');
  await host.page.keyboard.press('Enter');
  const run = await s.runtime.nextRun();
  run.start().say('…');
  await host.panel.stopButton.waitFor();
  await host.panel.stopButton.focus();
  await host.page.keyboard.press('Enter');
  await host.saw('agent-idle', 2);
});

/** A page whose transcript is longer than its panel, and an answer has begun. */
async function long() {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.start().say('filler\n'.repeat(120)).finish();
  await host.send('fill');
  s.runtime.hold();
  await host.start('go on');
  const run = await s.runtime.nextRun();
  run.start().say('And so it begins.\n');
  await host.panel.shows('And so it begins.');
  return { host, run, log: host.panel.log };
}

const distance = (log) => log.evaluate((e) => Math.round(e.scrollHeight - e.clientHeight - e.scrollTop));
const lines = (host) => host.panel.texts().then((texts) => texts.at(-1).split('\n').length);

/** Streams `count` more lines and waits until they are on screen. */
async function more(host, run, count) {
  const before = await lines(host);
  for (let i = 0; i < count; i += 1) run.say(`line ${i}\n`);
  await until(async () => (await lines(host)) >= before + count - 1, 'the new lines on screen');
}

test('the view follows the answer at the bottom', async () => {
  const { host, run, log } = await long();
  await more(host, run, 60);
  await until(async () => (await distance(log)) <= 2, 'the view at the bottom');
});

test('a small scroll up detaches at once; new text and the end do not move the view', async () => {
  const { host, run, log } = await long();
  await more(host, run, 40);
  await until(async () => (await distance(log)) <= 2, 'the view at the bottom');
  await log.hover();
  await host.page.mouse.wheel(0, -30);
  await until(async () => (await distance(log)) >= 20, 'the wheel to move the view');
  const top = () => log.evaluate((e) => Math.round(e.scrollTop));
  const held = await until(async () => {
    const [a, b] = [await top(), await top()];
    return a === b && a;
  }, 'the wheel to come to rest');
  await more(host, run, 40);
  assert.equal(await top(), held);
  run.finish();
  await host.saw('agent-idle', 3);
  await host.run(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.equal(await top(), held);
});

test('scrolling back to the real bottom attaches again', async () => {
  const { host, run, log } = await long();
  await more(host, run, 40);
  await log.evaluate((e) => { e.scrollTop -= 60; });
  await more(host, run, 10);
  assert.ok((await distance(log)) > 30);
  await log.evaluate((e) => { e.scrollTop = e.scrollHeight; });
  await host.run(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await more(host, run, 40);
  await until(async () => (await distance(log)) <= 2, 'the view at the bottom again');
});

test('the page itself is never scrolled', async () => {
  const host = await s.ready({ head: '<style>main { padding-top: 1500px } body { height: 4000px }</style>' });
  await host.send('hello');
  assert.equal(await host.run(() => window.scrollY), 0);
});
