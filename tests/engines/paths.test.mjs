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
