// The main paths in Chromium, Firefox and WebKitGTK, under the strict policy.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { ENGINES } from '../support/engines.mjs';
import { html } from '../support/host.mjs';
import { ScriptedRuntime } from '../support/scripted-runtime.mjs';
import { until } from '../support/wait.mjs';

const RECORDER = readFileSync(fileURLToPath(new URL('../support/recorder.js', import.meta.url)), 'utf8');

// What runs in the page: plain functions of one argument.
const names = () => window.recorded.events.map((event) => event.name);
const texts = () =>
  [...document.getElementById('agent').shadowRoot.querySelectorAll('[part~="message__body"]')].map((body) => body.textContent.trim());
const focus = () => document.getElementById('agent').shadowRoot.querySelector('textarea').focus();
const draft = () => document.getElementById('agent').shadowRoot.querySelector('textarea').value;
const focused = () => {
  const { activeElement } = document.getElementById('agent').shadowRoot;
  return activeElement?.getAttribute('aria-label') || activeElement?.textContent || '';
};
/** Presses what has this name, in the drawer if it is open. */
const press = (name) => {
  const root = document.getElementById('agent').shadowRoot;
  const within = root.querySelector('[role=dialog]') ?? root;
  const named = [...within.querySelectorAll('button')].find((one) => (one.getAttribute('aria-label') ?? one.textContent).startsWith(name));
  named?.focus();
  named?.click();
  return Boolean(named);
};
const titles = () => [...document.getElementById('agent').shadowRoot.querySelectorAll('[part~="drawer__title"] > span:first-child')].map((title) => title.textContent);
const isOpen = () => document.getElementById('agent').shadowRoot.querySelector('[role=dialog]') !== null;
const trouble = () => [...window.recorded.violations, ...window.recorded.errors];

for (const [engine, launch] of Object.entries(ENGINES)) {
  describe(engine, { timeout: 120_000 }, () => {
    let runtime;
    let browser;
    let page;

    before(async () => {
      runtime = await ScriptedRuntime.start();
      browser = await launch();
    });
    afterEach(async () => {
      const found = await page?.run(trouble);
      await page?.close();
      page = undefined;
      runtime.reset();
      assert.deepEqual(found ?? [], [], 'violations and errors of the page');
    });
    after(async () => {
      await browser?.close();
      await runtime?.stop();
    });

    const saw = (name, count = 1) =>
      until(async () => (await page.run(names)).filter((seen) => seen === name).length >= count, `${count} x ${name}`);
    const reads = async (...expected) => {
      let seen;
      await until(async () => {
        seen = await page.run(texts);
        return JSON.stringify(seen) === JSON.stringify(expected);
      }, 'the transcript').catch(() => assert.deepEqual(seen, expected));
    };
    const open = async (options) => {
      page = await browser.open(runtime.page('/', html({ head: `<script>${RECORDER}</script>`, ...options })));
      await saw('agent-idle');
      await page.run(focus);
    };

    test('typed text and Enter reach the server, and the answer is drawn', async () => {
      await open();
      await page.type('hello');
      await page.press('Enter');
      await reads('hello', 'You said: hello.');
      assert.equal(runtime.runs[0].text, 'hello');
    });

    test('a page tool runs once and its result goes back', async () => {
      await open();
      await page.run(() => document.getElementById('agent').setPageTools([
        { name: 'add', description: 'Adds', parameters: { type: 'object', properties: { a: { type: 'number' } } }, handler: ({ a }) => (window.ran = (window.ran ?? 0) + a) },
      ]));
      runtime.asksFor([['add', { a: 2 }]], 'Added.');
      await page.type('add');
      await page.press('Enter');
      await reads('add', 'Added.');
      assert.equal(await page.run(() => window.ran), 2);
      assert.equal(runtime.results.length, 1);
    });

    test('the view follows an answer, and whoever scrolls up stays', async () => {
      await open();
      runtime.hold();
      await page.type('long');
      await page.press('Enter');
      const run = await runtime.nextRun();
      const scroller = () => {
        const { scrollTop, scrollHeight, clientHeight } = document.getElementById('agent').shadowRoot.querySelector('[role=log]');
        return { top: Math.round(scrollTop), left: Math.round(scrollHeight - scrollTop - clientHeight), room: scrollHeight - clientHeight };
      };
      const paragraph = `${'words '.repeat(60)}\n\n`;
      run.start();
      for (let i = 0; i < 10; i += 1) run.say(paragraph);
      await until(async () => (await page.run(texts))[1]?.length > 10 * 300, 'ten paragraphs');
      await until(async () => { const { room, left } = await page.run(scroller); return room > 300 && left <= 3; }, 'the view at the end');
      await page.run(() => { document.getElementById('agent').shadowRoot.querySelector('[role=log]').scrollTop -= 60; });
      await page.run(() => new Promise((done) => setTimeout(done, 100)));
      const { top } = await page.run(scroller);
      for (let i = 0; i < 5; i += 1) run.say(paragraph);
      run.finish();
      await saw('agent-idle', 2);
      await page.run(() => new Promise((done) => setTimeout(done, 100)));
      const { top: now } = await page.run(scroller);
      assert.ok(Math.abs(now - top) <= 1, `the view was at ${top} and is at ${now}`);
    });

    test('the Enter of an input method sends nothing', async () => {
      await open();
      await page.type('nihon');
      await page.run(() => {
        const input = document.getElementById('agent').shadowRoot.querySelector('textarea');
        const key = (init) => input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, composed: true, cancelable: true, ...init }));
        input.dispatchEvent(new CompositionEvent('compositionstart', { bubbles: true }));
        key({ isComposing: true });
        input.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true }));
        key({ keyCode: 229 });
      });
      assert.equal(await page.run(draft), 'nihon');
      assert.equal(runtime.runs.length, 0);
      await page.press('Enter');
      await reads('nihon', 'You said: nihon.');
      assert.equal(runtime.runs.length, 1);
    });

    test('moved in the document while an answer streams: answer and draft go on', async () => {
      await open();
      runtime.hold();
      await page.type('go');
      await page.press('Enter');
      const run = await runtime.nextRun();
      run.start().say('One ');
      await reads('go', 'One');
      await page.type('draft');
      await page.run(() => {
        const box = document.createElement('div');
        document.body.append(box);
        box.append(document.getElementById('agent'));
      });
      run.say('two.').finish();
      await reads('go', 'One two.');
      assert.equal(await page.run(draft), 'draft');
      assert.equal(runtime.runs.length, 1);
    });

    test('the drawer: open, begin anew, switch back, rename, delete; the focus is never lost', async () => {
      for (const at of [1, 2]) {
        runtime.conversations.set(`c-${at}`, { title: `Talk ${at}`, updatedAt: `2026-01-0${at}T10:00:00Z`, messages: [{ id: `m-${at}`, role: 'user', content: `question ${at}` }] });
      }
      await open({ elements: '<mindset-agent id="agent" agent-uid="support" conversation-id="c-2"></mindset-agent>' });
      await reads('question 2');
      const pressed = (name) => until(() => page.run(press, name), `a button ${name}`);
      const listed = async (...expected) => {
        await pressed('Conversations');
        await until(async () => JSON.stringify(await page.run(titles)) === JSON.stringify(expected), `the list ${expected}`);
      };
      const has = (name) => until(async () => (await page.run(focused)).startsWith(name), `the focus on ${name}`);
      // Who has no mouse gets no keyboard over the screen.
      const after = (await page.run(() => matchMedia('(pointer: fine)').matches)) ? 'Write a message' : 'Conversations';
      const closed = () => until(async () => !(await page.run(isOpen)), 'the drawer to close');
      await listed('Talk 1', 'Talk 2');
      await has('New conversation');
      await pressed('New conversation');
      await closed();
      await reads();
      await has(after);
      await page.run(focus);
      await page.type('hello');
      await page.press('Enter');
      await reads('hello', 'You said: hello.');
      await listed('Talk 1', 'Talk 2');
      await pressed('Talk 2');
      await closed();
      await reads('question 2');
      await has(after);
      await listed('Talk 1', 'Talk 2');
      await pressed('Rename Talk 1');
      await has('Title');
      await page.type('Renamed');
      await page.press('Enter');
      await until(async () => runtime.conversations.get('c-1').title === 'Renamed', 'the new title to arrive');
      await has('Renamed');
      await pressed('Delete Renamed');
      await has('Cancel');
      await page.press('Escape');
      await has('Renamed');
      await pressed('Delete Renamed');
      await pressed('Delete');
      await until(async () => !runtime.conversations.has('c-1'), 'the conversation to be deleted');
      await has('Talk 2');
      await page.press('Escape');
      await closed();
      await has('Conversations');
      await reads('question 2');
    });

    test('the strict policy of these pages is in force, and the panel needs no more', async () => {
      await open();
      await page.run(() => {
        const style = document.createElement('style');
        style.textContent = 'body { color: rgb(1, 2, 3) }';
        document.head.append(style);
      });
      const seen = await page.run(() => ({
        color: getComputedStyle(document.body).color === 'rgb(1, 2, 3)',
        styled: getComputedStyle(document.getElementById('agent').shadowRoot.querySelector('[part~="panel"]')).display,
      }));
      assert.deepEqual(seen, { color: false, styled: 'flex' });
      await until(async () => (await page.run(() => window.recorded.violations.length)) === 1, 'the violation of the test itself');
      await page.run(() => { window.recorded.violations.length = 0; });
      await page.type('hello');
      await page.press('Enter');
      await reads('hello', 'You said: hello.');
    });

    test('hostile text stays text and asks for nothing', async () => {
      await open();
      const hostile = '<img src=x onerror="window.owned=1"> ![p](http://127.0.0.1:9/leak) [x](javascript:window.owned=1)';
      runtime.onRun = (run) => run.start().say(hostile).finish();
      await page.type('hi');
      await page.press('Enter');
      await saw('agent-idle', 2);
      const found = await page.run(() => ({
        owned: window.owned ?? null,
        nodes: document.getElementById('agent').shadowRoot.querySelectorAll('img, script, iframe, a[href^="javascript"]').length,
        asked: performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => !name.startsWith(location.origin)),
      }));
      assert.deepEqual(found, { owned: null, nodes: 0, asked: [] });
    });
  });
}
