// Where the transcript stands: nobody is moved against their will.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();
const TALL = '<style>html { direction: rtl } .above { height: 900px } .below { height: 2000px }</style>';

/** A page whose transcript is longer than its panel, and an answer has begun. */
async function long(options) {
  const host = await s.ready(options);
  s.runtime.onRun = (run) => run.start().say('filler\n\n'.repeat(80)).finish();
  await host.send('fill');
  s.runtime.hold();
  await host.start('go on');
  const run = await s.runtime.nextRun();
  run.start().say('And so it begins.\n\n');
  await host.panel.shows('And so it begins.');
  const { log } = host.panel;
  await until(async () => (await away(log)) <= 2, 'the view at the end');
  return { host, run, log };
}

const top = (log) => log.evaluate((e) => e.scrollTop);
const away = (log) => log.evaluate((e) => Math.round(e.scrollHeight - e.clientHeight - e.scrollTop));
const frames = (host) => host.run(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

let said = 0;
/** Streams a few lines and waits until they are drawn. */
async function more(host, run, count = 8) {
  said += 1;
  for (let i = 0; i < count; i += 1) run.say(`line ${said}.${i}\n\n`);
  const last = `line ${said}.${count - 1}`;
  await until(() => host.run((last) => document.getElementById('agent').shadowRoot.textContent.includes(last), last), last);
  await frames(host);
}

/** Where the view rests, once it does. */
async function rests(host, log) {
  await frames(host);
  return until(async () => {
    const before = await top(log);
    await frames(host);
    return before === (await top(log)) && { at: before };
  }, 'the view to rest').then(({ at }) => at);
}

/** The answer goes on, ends, and gets its notice: the view stays. */
async function staysAt(host, run, log, place) {
  await more(host, run);
  assert.equal(await top(log), place, 'while the answer goes on');
  run.end();
  await host.panel.retryButton.waitFor({ state: 'attached' });
  await frames(host);
  assert.equal(await top(log), place, 'after its end');
}

const UPWARDS = {
  'one notch of the wheel': async (host) => {
    await host.panel.log.hover();
    await host.page.mouse.wheel(0, -3);
  },
  'a page upwards by key': async (host) => {
    await host.panel.log.focus();
    await host.page.keyboard.press('PageUp');
  },
  'an arrow key': async (host) => {
    await host.panel.log.focus();
    await host.page.keyboard.press('ArrowUp');
  },
  'one pixel by the scroll bar': (host) => host.panel.log.evaluate((log) => { log.scrollTop -= 1; }),
  'the focus on something above': (host) => host.run(() => {
    const row = document.getElementById('agent').shadowRoot.querySelector('[part~="message"]');
    row.tabIndex = -1;
    row.focus();
  }),
};

for (const [name, go] of Object.entries(UPWARDS)) {
  test(`${name} leaves the end at once`, async () => {
    const { host, run, log } = await long();
    await go(host);
    await staysAt(host, run, log, await rests(host, log));
    assert.ok((await away(log)) > 2);
  });
}

test('a finger that pulls down leaves the end at once, and nothing moves below it', async () => {
  const { host, run, log } = await long({ context: { hasTouch: true, viewport: { width: 400, height: 600 } } });
  const session = await host.profile.newCDPSession(host.page);
  const touch = (type, y) => session.send('Input.dispatchTouchEvent', { type, touchPoints: y === undefined ? [] : [{ x: 200, y }] });
  await touch('touchStart', 250);
  await more(host, run);
  assert.ok((await away(log)) > 100, 'it stands still below the finger');
  const before = await top(log);
  for (const y of [255, 262, 270, 280]) await touch('touchMove', y);
  await until(async () => (await top(log)) < before, 'the view to follow the finger');
  await touch('touchEnd');
  await staysAt(host, run, log, await rests(host, log));
});

test('a finger that only rests holds the view, and it goes on afterwards', async () => {
  const { host, run, log } = await long({ context: { hasTouch: true, viewport: { width: 400, height: 600 } } });
  const session = await host.profile.newCDPSession(host.page);
  await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x: 200, y: 250 }] });
  await more(host, run);
  assert.ok((await away(log)) > 100);
  await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await until(async () => (await away(log)) <= 2, 'the view at the end');
});

test('selecting text holds the view, and it stays where the selection is', async () => {
  const { host, run, log } = await long();
  const box = await host.panel.host.getByText('And so it begins.').boundingBox();
  await host.page.mouse.move(box.x + 4, box.y + box.height / 2);
  await host.page.mouse.down();
  await host.page.mouse.move(box.x + 60, box.y + box.height / 2, { steps: 4 });
  const place = await top(log);
  await more(host, run);
  assert.equal(await top(log), place, 'while the button is down');
  await host.page.mouse.up();
  await staysAt(host, run, log, place);
  const selected = await host.run(() => String(document.getElementById('agent').shadowRoot.getSelection?.() ?? getSelection()));
  assert.match(selected, /^A?nd so/);
});

test('a click into the transcript changes nothing', async () => {
  const { host, run, log } = await long();
  await host.panel.host.getByText('And so it begins.').click();
  await more(host, run);
  assert.ok((await away(log)) <= 2);
});

test('a wheel that turns a box inside the transcript, or zooms, does not leave the end', async () => {
  const { host, run, log } = await long();
  await host.run(() => {
    const body = [...document.getElementById('agent').shadowRoot.querySelectorAll('[part~="message__body"]')].at(-1);
    const box = document.createElement('div');
    box.id = 'inner';
    box.style.cssText = 'height: 60px; overflow: auto';
    box.append(Object.assign(document.createElement('div'), { style: 'height: 900px' }));
    body.prepend(box);
    box.scrollTop = 300;
  });
  await frames(host);
  const turn = (selector, init) => host.run(([selector, init]) => document.getElementById('agent').shadowRoot.querySelector(selector)
    .dispatchEvent(new WheelEvent('wheel', { bubbles: true, composed: true, ...init })), [selector, init]);
  await turn('#inner', { deltaY: -50 });
  await turn('[role=log]', { deltaY: -50, ctrlKey: true });
  await turn('[role=log]', { deltaX: -50 });
  await turn('textarea', { deltaY: -50 });
  await more(host, run);
  assert.ok((await away(log)) <= 2, 'it still follows');
  await turn('[role=log]', { deltaY: -50 });
  const place = await top(log);
  await more(host, run);
  assert.equal(await top(log), place);
});

test('only the real end attaches again', async () => {
  const { host, run, log } = await long();
  await log.evaluate((e) => { e.scrollTop -= 400; });
  await frames(host);
  await log.evaluate((e) => { e.scrollTop = e.scrollHeight - e.clientHeight - 20; });
  await frames(host);
  const place = await top(log);
  await more(host, run);
  assert.equal(await top(log), place, '20 pixels above it is not the end');
  await log.evaluate((e) => { e.scrollTop = e.scrollHeight; });
  await frames(host);
  await more(host, run);
  assert.ok((await away(log)) <= 2);
});

test('content that gets shorter takes nobody to the end', async () => {
  const { host, run, log } = await long();
  const grow = (height) => host.run((height) => {
    const list = document.getElementById('agent').shadowRoot.querySelector('[role=log]');
    list.querySelector('#extra')?.remove();
    if (height) list.append(Object.assign(document.createElement('div'), { id: 'extra', style: `flex: none; height: ${height}px` }));
  }, height);
  await grow(200);
  await more(host, run, 1);
  await log.evaluate((e) => { e.scrollTop = e.scrollHeight - e.clientHeight - 60; });
  await frames(host);
  await grow(0);
  await frames(host);
  assert.ok((await away(log)) <= 2, 'the end came to the reader');
  await more(host, run);
  assert.ok((await away(log)) > 50, 'who was reading still is');
});

test('the composer grows and shrinks below a reader, and below the end', async () => {
  const { host, run, log } = await long();
  const lines = 'a\nb\nc\nd\ne\nf';
  await host.panel.input.fill(lines);
  await frames(host);
  assert.ok((await away(log)) <= 2, 'the end stays in view');
  await log.evaluate((e) => { e.scrollTop -= 10; });
  await frames(host);
  const place = await top(log);
  await host.panel.input.focus();
  await host.page.keyboard.type('more');
  await host.panel.input.fill('');
  await host.panel.input.fill(lines);
  await frames(host);
  assert.equal(await top(log), place);
  await more(host, run);
  assert.equal(await top(log), place);
});

test('another size of the panel takes nobody from the end', async () => {
  const { host, run, log } = await long({ head: '<style>mindset-agent { width: 100% }</style>' });
  run.say(`${'A paragraph that takes more lines where there is less room. '.repeat(60)}\n\n`);
  await more(host, run);
  for (const size of [[360, 600], [1000, 900], [300, 400], [1000, 720]]) {
    await host.page.setViewportSize({ width: size[0], height: size[1] });
    await host.run((height) => { document.getElementById('agent').style.height = `${height}px`; }, size[1] - 80);
    await rests(host, log);
    assert.ok((await away(log)) <= 2, `the end stays in view at ${size}`);
  }
  run.finish();
});

const jump = (host) => host.panel.host.getByRole('button', { name: /New messages/ });

test('the button says how many came, glides there, and goes; the focus is not lost', async () => {
  const { host, run, log } = await long();
  run.finish();
  await host.saw('agent-idle', 3);
  await log.evaluate((e) => { e.scrollTop -= 300; });
  await frames(host);
  assert.equal(await jump(host).isVisible(), false, 'nothing is new yet');
  s.runtime.onRun = (run) => run.start().say('One.').endMessage().say('Two.').finish();
  await host.send('what else?', { silent: true });
  await jump(host).waitFor();
  assert.equal((await jump(host).innerText()).replace(/\s+/g, ' '), 'New messages 2');
  await jump(host).focus();
  await log.evaluate((e) => {
    window.tops = [];
    e.addEventListener('scroll', () => window.tops.push(e.scrollTop));
  });
  await host.page.keyboard.press('Enter');
  await jump(host).waitFor({ state: 'hidden' });
  await until(async () => (await away(log)) <= 2, 'the view at the end');
  assert.ok((await host.run(() => window.tops.length)) > 3, 'it glides');
  assert.equal(await host.run(() => document.getElementById('agent').shadowRoot.activeElement?.role), 'log');
  s.runtime.onRun = (run) => run.start().say('line\n\n'.repeat(30)).finish();
  await host.send('and on', { silent: true });
  await frames(host);
  assert.ok((await away(log)) <= 2, 'it follows again');
});

test('the way down ends at the end although the answer goes on, and without motion it is there at once', async () => {
  for (const reducedMotion of ['no-preference', 'reduce']) {
    const { host, run, log } = await long({ context: { reducedMotion } });
    await log.evaluate((e) => { e.scrollTop -= 500; });
    await frames(host);
    await more(host, run, 1);
    await jump(host).click();
    if (reducedMotion === 'reduce') assert.ok((await away(log)) <= 2);
    for (let i = 0; i < 10; i += 1) await more(host, run, 2);
    await until(async () => (await away(log)) <= 2, 'the view at the end');
    await more(host, run);
    assert.ok((await away(log)) <= 2, 'it follows');
  }
});

test('a way down that the reader breaks off is broken off', async () => {
  const { host, run, log } = await long();
  await log.evaluate((e) => { e.scrollTop = 0; });
  await frames(host);
  await more(host, run, 1);
  await jump(host).click();
  await log.hover();
  await host.page.mouse.wheel(0, -300);
  await staysAt(host, run, log, await rests(host, log));
});

test('what a person sends brings the view to the end, what the page sends does not', async () => {
  const { host, run, log } = await long();
  run.finish();
  await host.saw('agent-idle', 3);
  s.runtime.onRun = (run) => run.start().say('Answered.').finish();
  await log.evaluate((e) => { e.scrollTop -= 300; });
  await frames(host);
  const place = await top(log);
  await host.send('from the page');
  await frames(host);
  assert.equal(await top(log), place);
  await host.panel.say('from me');
  await until(async () => (await away(log)) <= 2, 'the view at the end');
});

test('a question does not move the reader, and the button leads to it', async () => {
  const { host, run, log } = await long();
  run.finish();
  await host.saw('agent-idle', 3);
  await host.run(() => document.getElementById('agent').setPageTools([{ name: 'pay', description: 'd', confirm: 'Pay now?', handler: () => 1 }]));
  s.runtime.asksFor([['pay']]);
  await log.evaluate((e) => { e.scrollTop -= 300; });
  await frames(host);
  const place = await top(log);
  await host.start('go', { silent: true });
  await host.panel.host.getByRole('alert').waitFor({ state: 'attached' });
  await frames(host);
  assert.equal(await top(log), place);
  await jump(host).click();
  await host.panel.allowButton.click();
  assert.equal((await host.late(1)).status, 'finished');
});

test('a scrolled page around the panel stands still through all of it', async () => {
  const { host, run, log } = await long({ head: TALL, elements: '<div class="above"></div><mindset-agent id="agent" agent-uid="support"></mindset-agent><div class="below"></div>' });
  await host.run(() => scrollTo(0, 500));
  await host.panel.input.focus();
  const place = await host.run(() => scrollY);
  await more(host, run);
  await log.evaluate((e) => { e.scrollTop -= 50; });
  await more(host, run);
  await jump(host).click();
  await until(async () => (await away(log)) <= 2, 'the view at the end');
  run.finish();
  await host.panel.say('next');
  await frames(host);
  assert.equal(await host.run(() => scrollY), place);
  assert.equal(await log.evaluate((e) => getComputedStyle(e).overscrollBehaviorY), 'contain');
});
