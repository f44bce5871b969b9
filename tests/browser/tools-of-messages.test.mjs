// Tools of messages: copy, feedback, another try, suggestions, thinking, steps, saving.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const button = (host, name) => host.panel.host.getByRole('button', { name, exact: true });
const bars = (host) => host.panel.host.locator('[part~="message__tools"]');
/** Adds the hash of what was announced to nothing: the words themselves. */
const announced = (host) => host.page.evaluate(() => document.querySelector('#agent').shadowRoot.querySelector('[role=status].unseen').textContent);

async function answered(text = 'hello') {
  const host = await s.ready();
  await host.send(text);
  await until(async () => (await bars(host).count()) > 0, 'the bar of the last answer');
  return host;
}

test('copies the source of an answer and of a message of one’s own, and says so once', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.start().say('**Bold** & <b>').finish();
  await host.send('my *words*');
  await host.page.evaluate(() => {
    window.copied = [];
    Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => void window.copied.push(text) } });
  });
  await button(host, 'Copy message').last().click();
  await host.panel.shows('Copied');
  assert.equal(await announced(host), 'Copied');
  await host.panel.messages.first().hover();
  await host.panel.messages.first().getByRole('button', { name: 'Copy message' }).click();
  await until(async () => (await host.page.evaluate(() => window.copied.length)) === 2, 'both copies');
  assert.deepEqual(await host.page.evaluate(() => window.copied), ['**Bold** & <b>', 'my *words*']);
});

test('without a clipboard a text box copies, and the focus stays', async () => {
  const host = await answered();
  await host.page.evaluate(() => {
    Object.defineProperty(navigator, 'clipboard', { value: undefined });
    document.addEventListener('copy', () => (window.copied = getSelection().toString() || document.activeElement.value));
  });
  await button(host, 'Copy message').last().focus();
  await host.page.keyboard.press('Enter');
  await until(() => host.page.evaluate(() => window.copied), 'the copy');
  assert.equal(await host.page.evaluate(() => window.copied), 'You said: hello.');
  assert.equal(await host.page.evaluate(() => document.querySelector('#agent').shadowRoot.activeElement.dataset.act), 'copy');
});

test('all bars are one stop of the Tab key; arrows lead between buttons and messages', async () => {
  const host = await answered();
  for (let n = 0; n < 4; n += 1) await host.send(`more ${n}`);
  await until(async () => (await host.panel.host.locator('.action[tabindex="0"]').count()) === 1, 'one stop');
  const at = () => host.page.evaluate(() => {
    const { activeElement } = document.querySelector('#agent').shadowRoot;
    return `${activeElement.closest('.row')?.querySelector('.body').textContent} ${activeElement.dataset.act}`;
  });
  await host.panel.host.locator('.action[tabindex="0"]').focus();
  assert.equal(await at(), 'You said: more 3. copy');
  await host.page.keyboard.press('ArrowRight');
  assert.equal(await at(), 'You said: more 3. good');
  await host.page.keyboard.press('End');
  assert.equal(await at(), 'You said: more 3. bad');
  await host.page.keyboard.press('ArrowUp');
  assert.equal(await at(), 'more 3 copy');
  await host.page.keyboard.press('ArrowUp');
  assert.equal(await at(), 'You said: more 2. copy');
  assert.equal(await host.panel.host.locator('.action[tabindex="0"]').count(), 1);
});

test('thumbs are told, stored, pressed, and taken back; a comment may follow', async () => {
  const host = await answered();
  await host.page.evaluate(() => {
    window.told = [];
    document.addEventListener('mindset:feedback', ({ detail }) => window.told.push(detail));
  });
  await button(host, 'Bad answer').click();
  assert.equal(await button(host, 'Bad answer').getAttribute('aria-pressed'), 'true');
  await host.panel.host.getByRole('textbox', { name: /wrong/ }).fill('Too short.');
  await button(host, 'Send comment').click();
  await until(() => s.runtime.feedback.length === 2, 'the comment');
  await button(host, 'Bad answer').click();
  await until(() => s.runtime.feedback.length === 3, 'the end of it');
  assert.equal(await button(host, 'Bad answer').getAttribute('aria-pressed'), 'false');
  const { threadId: conversationId } = s.runtime.runs[0].input;
  const [[messageId]] = s.runtime.feedback;
  const bodies = [{ rating: 'down' }, { rating: 'down', comment: 'Too short.' }, { rating: null }];
  assert.deepEqual(s.runtime.feedback, bodies.map((body) => [messageId, body]));
  assert.deepEqual(await host.page.evaluate(() => window.told), bodies.map((body) => ({ conversationId, messageId, ...body })));
});

test('feedback that is not stored is not shown as if it were', async () => {
  const host = await answered();
  s.runtime.refusesFeedback = true;
  await button(host, 'Good answer').click();
  await host.panel.shows('The feedback could not be stored. Try again.');
  assert.equal(await button(host, 'Good answer').getAttribute('aria-pressed'), 'false');
});

test('feedback="off" shows no thumbs', async () => {
  const host = await answered();
  await host.page.evaluate(() => document.querySelector('#agent').setAttribute('feedback', 'off'));
  assert.equal(await button(host, 'Good answer').count(), 0);
  assert.equal(await button(host, 'Copy message').count() > 0, true);
});

test('a stopped turn offers another try under its message', async () => {
  const host = await s.ready();
  s.runtime.hold();
  await host.panel.say('hello');
  const run = await s.runtime.nextRun();
  run.start().say('Half');
  await host.panel.reads('hello', 'Half');
  await host.panel.stopButton.click();
  await host.saw('agent-idle', 2);
  s.runtime.onRun = (again) => again.start().say('Whole.').finish();
  await button(host, 'Retry').click();
  await host.panel.reads('hello', 'Whole.');
  await until(async () => (await button(host, 'Retry').count()) === 0, 'no more offer');
});

test('a message is changed and sent anew by call', async () => {
  const host = await s.ready();
  await host.send('one');
  await host.send('two');
  const id = s.runtime.runs[0].input.messages.at(-1).id;
  const result = await host.page.evaluate((id) => document.querySelector('#agent').editAndResend(id, 'one, better'), id);
  assert.equal(result.text, 'You said: one, better.');
  await host.panel.reads('one, better', 'You said: one, better.');
  const { messages, forwardedProps } = s.runtime.runs[2].input;
  assert.deepEqual([messages.at(-1).id, forwardedProps.mindset.replaceFrom], [id, id]);
});

test('suggestions are chips that say themselves, until the next message', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.start().say('Well.').event({ type: 'CUSTOM', name: 'mindset.suggestions', value: { items: ['Tell me <b>more</b>', 'Stop here'] } }).finish();
  await host.send('hello');
  await button(host, 'Tell me <b>more</b>').click();
  await until(() => s.runtime.runs.length === 2, 'the message');
  assert.equal(s.runtime.runs[1].text, 'Tell me <b>more</b>');
  s.runtime.onRun = (run) => run.start().say('Bye.').finish();
  await host.saw('agent-idle', 3);
  await host.send('bye');
  assert.equal(await host.panel.host.locator('[part~="suggestion"]').count(), 0);
});

test('thinking is folded, ends with its time, and is in no export', async () => {
  const host = await s.ready();
  s.runtime.hold();
  await host.panel.say('hello');
  const run = await s.runtime.nextRun();
  run.start().event({ type: 'REASONING_MESSAGE_CHUNK', messageId: 'z', delta: 'Let me <i>see</i>.' });
  await button(host, 'Thinking…').waitFor();
  run.say('Well.').finish();
  await host.saw('agent-idle', 2);
  const fold = host.panel.host.getByRole('button', { name: /^Thought for \d+ s$/ });
  assert.equal(await fold.getAttribute('aria-expanded'), 'false');
  await fold.click();
  await host.panel.shows('Let me <i>see</i>.');
  await host.panel.reads('hello', 'Well.');
  assert.equal(await announced(host), 'Well.');
  const text = await host.page.evaluate(() => document.querySelector('#agent').exportTranscript('json'));
  assert.doesNotMatch(text, /see/);
});

test('what a page tool was given is there to look at, and many steps become one', async () => {
  const host = await s.ready();
  await host.page.evaluate(() => document.querySelector('#agent').setPageTools([
    { name: 'look', description: 'looks', readOnly: true, completedDescription: 'Looked', parameters: { type: 'object', properties: { at: { type: 'string' } } }, handler: () => 'result text' },
  ]));
  s.runtime.asksFor([['look', { at: 'the moon' }], ['look', { at: 'the sun' }]]);
  await host.send('hello');
  const steps = button(host, '2 steps');
  await steps.click();
  await button(host, 'Details').first().click();
  await host.panel.shows('the moon');
  assert.equal((await host.panel.host.innerText()).includes('result text'), false);
  await steps.click();
  assert.equal(await host.panel.host.getByText('Looked').first().isVisible(), false);
});

test('the conversation is saved as a file, and nothing in it is more than it was', async () => {
  const host = await s.ready();
  s.runtime.onRun = (run) => run.start().say('**Bold** <img src=x onerror=alert(1)>\n\n```js\nlet a = "<b>";').finish();
  await host.send('<script>alert(1)</script> # *no*');
  await host.panel.host.getByRole('button', { name: 'Save conversation' }).click();
  const [download] = await Promise.all([host.page.waitForEvent('download'), host.page.keyboard.press('Enter')]);
  assert.match(download.suggestedFilename(), /^conversation-\d{4}-\d\d-\d\d\.md$/);
  const text = await readFile(await download.path(), 'utf8');
  assert.match(text, /\\<script\\>alert\\\(1\\\)\\<\/script\\> \\# \\\*no\\\*/);
  assert.match(text, /\*\*Bold\*\* \\<img src=x/);
  assert.match(text, /```js\nlet a = "<b>";\n```\n/);
  const json = JSON.parse(await host.page.evaluate(() => document.querySelector('#agent').exportTranscript('json')));
  assert.deepEqual(json.messages.map(({ role }) => role), ['user', 'assistant']);
  assert.equal(json.isWhole, true);
});

test('the saved conversation speaks the language of the element', async () => {
  const host = await s.ready({ elements: '<mindset-agent id="agent" agent-uid="support" locale="de"></mindset-agent>' });
  s.runtime.onRun = (run) => run.start().say('Gut.').fail('No.', { reason: 'model_error', retryable: true, effects: [] });
  await host.send('hello');
  const text = await host.page.evaluate(() => document.querySelector('#agent').exportTranscript());
  assert.match(text, /^# Unterhaltung\n/);
  assert.match(text, /^## Sie/m);
  assert.match(text, /^## Assistent/m);
  assert.match(text, /^\*Unvollst\u00e4ndig\*$/m);
});

test('a bar that shows covers neither its message nor the ones beside it, and moves nothing', async () => {
  for (const context of [{}, { hasTouch: true, isMobile: true, viewport: { width: 375, height: 700 } }, { locale: 'ar' }]) {
    const host = await s.ready({ context, head: '<meta name="viewport" content="width=device-width">', elements: `<mindset-agent id="agent" agent-uid="support" ${context.locale ? 'locale="ar"' : ''}></mindset-agent>` });
    s.runtime.onRun = (run) => run.start().say('A short answer.').finish();
    await host.send('One question');
    await host.send('And another one that is long enough to need more than one line of the panel, which makes it as wide as it gets');
    await until(async () => (await bars(host).count()) > 0, 'the bar of the last answer');
    for (let at = 0; at < 4; at += 1) {
      const boxes = () => host.run((at) => {
        const rows = [...document.querySelector('#agent').shadowRoot.querySelectorAll('.row')];
        const box = (node) => (({ left, top, right, bottom }) => ({ left, top, right, bottom }))(node.getBoundingClientRect());
        return { bodies: rows.map((row) => box(row.querySelector('.body'))), bar: [...rows[at].querySelectorAll('.action')].filter((button) => button.offsetParent).map(box) };
      }, at);
      const before = (await boxes()).bodies;
      await host.panel.messages.nth(at).hover();
      await until(async () => (await boxes()).bar.length, 'its bar');
      const { bodies, bar } = await boxes();
      if (!context.hasTouch) assert.deepEqual(bodies, before, `message ${at} moved`);
      for (const button of bar) {
        assert.ok(button.left >= 0 && button.right <= (context.viewport?.width ?? 1000), `message ${at}: a button is outside, ${JSON.stringify(button)}`);
        for (const [of, body] of bodies.entries()) {
          const apart = button.left >= body.right || button.right <= body.left || button.top >= body.bottom || button.bottom <= body.top;
          // On touch screens buttons are larger than what is seen of them.
          assert.ok(apart || (context.hasTouch && of === at + 1), `the bar of message ${at} covers message ${of}`);
        }
      }
    }
    await host.close();
  }
});
