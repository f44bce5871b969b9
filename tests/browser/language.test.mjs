// The panel in the languages of its readers.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';

import { ENGLISH } from '../../src/dom/texts.js';
import { nearest } from '../../src/element/language.js';
import { html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();
const FOLDER = new URL('../../src/lazy/', import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => /^texts-.*\.js$/.test(name));

/** Notices have no English of their own: the core says it. */
const isNotice = (key) => key === 'notice' || key.startsWith('notice-') || key === 'fallback';
const places = (words) => [...words.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort().join();

test('seventeen languages beside English', () => assert.equal(FILES.length, 17));

for (const file of FILES) {
  const locale = file.slice('texts-'.length, -'.js'.length);
  test(`${locale}: every text, every value in it, every form of number`, async () => {
    const { default: table } = await import(new URL(file, FOLDER));
    assert.deepEqual(Object.keys(ENGLISH).filter((key) => !(key in table)), [], 'missing');
    assert.deepEqual(Object.keys(table).filter((key) => !(key in ENGLISH) && !isNotice(key)), [], 'unknown');
    const forms = new Intl.PluralRules(locale).resolvedOptions().pluralCategories;
    for (const [key, english] of Object.entries(ENGLISH)) {
      const words = table[key];
      if (typeof words === 'object') assert.deepEqual(Object.keys(words).sort(), [...forms].sort(), key);
      const whole = words.other ?? words;
      assert.equal(places(whole), places(english.other ?? english), key);
      assert.ok(whole.trim() === whole && whole, key);
    }
  });
}

test('the nearest language of what is wanted', () => {
  for (const [tags, name] of [
    [['de-AT'], 'de'], [['zh'], 'zh-Hans'], [['zh-TW'], 'zh-Hant'], [['zh-HK'], 'zh-Hant'], [['iw'], 'he'], [['sv', 'fr'], 'fr'],
    [['en-GB', 'de'], 'en'], [['no such tag', 'tr'], 'tr'], [[], 'en'], [['sv'], 'en'],
  ]) assert.equal(nearest(tags).name, name, tags.join());
});

const element = (attributes) => `<mindset-agent id="agent" agent-uid="support" ${attributes}></mindset-agent>`;
const placeholder = (host) => host.panel.input.getAttribute('placeholder');
const frame = (host) => host.run(() => {
  const { lang, dir } = document.getElementById('agent').shadowRoot.querySelector('.panel');
  return { lang, dir };
});

test('the attribute speaks, and the draft stays when it changes', async () => {
  const host = await s.ready({ elements: element('locale="de"') });
  assert.equal(await placeholder(host), 'Nachricht schreiben');
  assert.deepEqual(await frame(host), { lang: 'de', dir: 'ltr' });
  await host.panel.input.click();
  await host.page.keyboard.type('halb');
  await host.run(() => document.getElementById('agent').setAttribute('locale', 'ar'));
  await until(async () => (await frame(host)).dir === 'rtl', 'the panel from right to left');
  assert.equal((await frame(host)).lang, 'ar');
  assert.equal(await host.panel.input.inputValue(), 'halb');
  await host.run(() => document.getElementById('agent').removeAttribute('locale'));
  await until(async () => (await frame(host)).dir === 'ltr', 'the panel from left to right');
});

test('another language takes nothing away: files, an edit, the caret, the place of the reader', async () => {
  const host = await s.ready({ elements: element('uploads') });
  const { page, panel, run } = { page: host.page, panel: host.panel, run: (fn, arg) => host.run(fn, arg) };
  const speak = async (locale) => {
    await run((locale) => document.getElementById('agent').setAttribute('locale', locale), locale);
    await until(async () => (await frame(host)).lang === locale, locale);
  };
  s.runtime.onRun = (turn) => turn.start().say(Array.from({ length: 60 }, (_, at) => `Line ${at}.`).join('\n\n')).finish();
  await host.send('Tell me everything');
  await panel.host.locator('input[type=file]').setInputFiles([{ name: 'plan.png', mimeType: 'image/png', buffer: Buffer.from('x') }]);
  await until(() => s.runtime.uploads.length, 'the upload');
  await panel.host.locator('[part=attachment__progress]').waitFor({ state: 'hidden' });
  const line = () => panel.host.getByText('Line 20.', { exact: true }).evaluate((row) => {
    const log = row.closest('[role=log]');
    return row.getBoundingClientRect().top - log.getBoundingClientRect().top;
  });
  await panel.host.getByText('Line 20.', { exact: true }).evaluate((row) => row.scrollIntoView());
  await until(() => panel.log.evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight > 100), 'the reader above');
  await panel.input.click();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowLeft');
  await speak('de');
  await panel.host.getByText('plan.png').first().waitFor();
  await until(async () => Math.abs(await line()) < 60, 'the place of the reader');
  assert.equal(s.runtime.uploads.length, 1, 'what has arrived is not sent again');
  assert.equal(await panel.input.inputValue(), 'Tell me everything');
  await page.keyboard.type('!');
  await page.keyboard.press('Enter');
  await until(() => s.runtime.runs.length === 2, 'the message');
  assert.equal(s.runtime.runs[1].text, 'Tell me everythin!g');
  assert.equal(s.runtime.runs[1].input.messages.filter(({ role }) => role === 'user').length, 1, 'an edit');
});

test('without an attribute init speaks, and the browser without init', async () => {
  const given = await s.ready({ init: { locale: 'fr-CA' } });
  assert.deepEqual(await frame(given), { lang: 'fr-CA', dir: 'ltr' });
  const browser = await s.ready({ context: { locale: 'ja-JP' } });
  assert.equal((await frame(browser)).lang, 'ja-JP');
});

test("the page's own words go first, in English too", async () => {
  const host = await s.ready({ init: { strings: { emptyTitle: 'Ask the bank', placeholder: 'Your question' } } });
  await host.panel.shows('Ask the bank');
  assert.equal(await placeholder(host), 'Your question');
});

test('an error is said in the language of the reader, and to the page in English', async () => {
  const host = await s.ready({ elements: element('locale="de"') });
  s.runtime.onRun = (run) => run.refuse(429, 'rate-limited', 'too many requests', true);
  const result = await host.send('hallo');
  assert.match(result.error.message, /too many/);
  const { default: german } = await import(new URL('texts-de.js', FOLDER));
  await host.panel.shows(german['notice-rate-limited']);
});

test('texts that cannot be loaded: English, and the chat works', async () => {
  const host = await s.open(s.runtime.page('/', html({ elements: element('locale="de"') })), {
    before: (page) => page.route('**/mindset-texts-de-*', (route) => route.fulfill({ status: 404, body: '' })),
  });
  await host.saw('agent-idle');
  assert.equal((await host.send('hello')).text, 'You said: hello.');
  assert.equal((await frame(host)).lang, 'en');
});

test('a locale that is none, and strings that are none: init says so', async () => {
  for (const init of [{ locale: 'not a tag' }, { strings: { send: 3 } }]) {
    const host = await s.open(s.runtime.page('/', html({ init })));
    const error = await until(() => host.run(() => window.initError && { code: window.initError.code, message: window.initError.message }), 'init to refuse');
    assert.equal(error.code, 'invalid-config');
    assert.match(error.message, new RegExp(Object.keys(init)[0]));
  }
});
